"""Promises and curves of every kind, for tests that hold for all of them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from discreet import privacy as p
from discreet.privacy import GDP, RDP, ZCDP, Approximate, NeighborRelation, Pure

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from discreet.privacy import Curve
    from discreet.privacy.currencies import Currency

costs = st.fractions(min_value=0, max_value=20, max_denominator=1000)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**9)
neighbors = st.sampled_from([*NeighborRelation, NeighborRelation.ADD_REMOVE.group(3)])
orders = st.lists(
    st.fractions(min_value=Fraction(11, 10), max_value=256, max_denominator=100), min_size=1, max_size=6, unique=True
).map(sorted)


@st.composite
def rdps(draw: st.DrawFn) -> RDP:
    listed = draw(orders)
    values = draw(st.lists(costs, min_size=len(listed), max_size=len(listed)))
    return RDP(listed, values, neighbors=draw(neighbors))


promises: st.SearchStrategy[Currency] = st.one_of(
    st.builds(Pure, costs, neighbors=neighbors),
    st.builds(Approximate, costs, deltas, neighbors=neighbors),
    st.builds(ZCDP, costs, deltas, neighbors=neighbors),
    st.builds(GDP, costs, neighbors=neighbors),
    st.builds(lambda square, n: GDP(mu_squared=square, neighbors=n), costs, neighbors),
    rdps(),
)


def number(source: random.Random, low: float, high: float) -> str:
    """Return a number of four digits, spread evenly on the logarithmic scale."""
    return f"{math.exp(source.uniform(math.log(low), math.log(high))):.4g}"


def finite(source: random.Random) -> Curve:
    """Two laws on a few outcomes; some of them are possible for one neighbor only."""
    size, leaks = source.randint(2, 6), source.random() < 0.3
    laws = [[source.randint(0 if leaks else 1, 50) for _ in range(size)] for _ in range(2)]
    over, under = ([Fraction(weight, sum(law) or 1) for weight in law] for law in laws)
    return p.finite_pair(over, under) if sum(laws[0]) and sum(laws[1]) else p.pure(1)


ALONE: dict[str, Callable[[random.Random, NeighborRelation], Curve]] = {
    "gaussian": lambda s, n: p.gaussian(number(s, 0.3, 50), neighbors=n),
    "laplace": lambda s, n: p.laplace(number(s, 0.2, 100), neighbors=n),
    "pure": lambda s, n: p.pure(number(s, 1e-3, 5), neighbors=n),
    "approximate": lambda s, n: p.approximate(number(s, 1e-3, 3), number(s, 1e-20, 1e-3), neighbors=n),
    "zcdp": lambda s, n: p.zcdp(number(s, 1e-4, 2), neighbors=n),
    "approximate zcdp": lambda s, n: p.zcdp(number(s, 1e-4, 2), number(s, 1e-20, 1e-4), neighbors=n),
    "rdp": lambda s, n: p.rdp([2, 8, 32], [number(s, 1e-3, 0.1), number(s, 0.1, 0.5), number(s, 0.5, 3)], neighbors=n),
    "staircase": lambda s, n: p.staircase(number(s, 1e-2, 4), number(s, 0.1, 0.9), neighbors=n),
    "exponential": lambda s, n: p.exponential(number(s, 1e-2, 5), neighbors=n),
    "permute and flip": lambda s, n: p.permute_and_flip(number(s, 1e-2, 5), neighbors=n),
    "sparse vector": lambda s, n: p.sparse_vector(number(s, 1e-2, 5), neighbors=n),
    "binary response": lambda s, n: p.randomized_response(number(s, 1e-3, 6), neighbors=n),
    "k-ary response": lambda s, n: p.randomized_response(number(s, 1e-3, 6), s.choice([3, 12, 1000]), neighbors=n),
    "discrete laplace": lambda s, n: p.discrete_laplace(number(s, 0.2, 100), s.choice([1, 2, 7]), neighbors=n),
    "discrete gaussian": lambda s, n: p.discrete_gaussian(number(s, 0.5, 50), s.choice([1, 2, 7]), neighbors=n),
    "partition selection": lambda s, n: p.partition_selection(
        number(s, 0.5, 10), s.randint(20, 200), s.choice([1, 3]), neighbors=n
    ),
}
"""Every mechanism that is described by itself."""

ADD_REMOVE, CHANGE_ONE = NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE


SLOW = ("zcdp", "approximate zcdp", "rdp", "partition selection")
"""Their profiles are searches, or long lists, at every point: sampled or put side by side they take seconds."""


def alone(source: random.Random, neighbors: NeighborRelation = ADD_REMOVE, slow: float = 0.25) -> Curve:
    """Return one mechanism of a random kind, a slow one with this chance."""
    few = source.random() < slow
    return ALONE[source.choice([kind for kind in ALONE if (kind in SLOW) is few])](source, neighbors)


def several(source: random.Random, neighbors: NeighborRelation = ADD_REMOVE, slow: float = 0.25) -> Curve:
    """Return two or three mechanisms, some of them several times."""
    total = alone(source, neighbors, slow) * source.choice([1, 1, 3])
    for _ in range(source.randint(1, 2)):
        total += alone(source, neighbors, slow) * source.choice([1, 1, 2])
    return total


def sampled(source: random.Random, neighbors: NeighborRelation = ADD_REMOVE) -> Curve:
    """Return one mechanism on a sample."""
    return alone(source, neighbors, 0.003).subsample(number(source, 1e-3, 0.9))


def sampled_as_one(source: random.Random, neighbors: NeighborRelation = ADD_REMOVE) -> Curve:
    """Return several mechanisms on one sample."""
    return several(source, neighbors, 0.02).subsample(number(source, 1e-3, 0.9))


def beside(source: random.Random) -> Curve:
    """Return two mechanisms on parts of the data."""
    return alone(source, slow=0.05).parallel(alone(source, slow=0.05))


def sampled_gaussian(source: random.Random) -> Curve:
    """Return Gaussian noise on a sample."""
    return ALONE["gaussian"](source, ADD_REMOVE).subsample(number(source, 1e-3, 0.9))


SHAPES: dict[str, tuple[int, Callable[[random.Random], Curve]]] = {
    "alone": (1600, lambda s: alone(s) * s.choice([1, 1, 2, 5, 50])),
    "finite": (1700, lambda s: finite(s) * s.choice([1, 1, 2, 5])),
    "summed": (300, lambda s: several(s) * s.choice([1, 1, 4])),
    "sampled": (450, lambda s: sampled(s) * s.choice([1, 1, 1, 5, 50])),
    "sampled, of fixed size": (150, lambda s: sampled(s, CHANGE_ONE) * s.choice([1, 1, 5])),
    "sampled as one": (8, lambda s: sampled_as_one(s) * s.choice([1, 3, 10])),
    "sampled as one, of fixed size": (3, lambda s: sampled_as_one(s, CHANGE_ONE) * s.choice([1, 3])),
    "sampled twice": (40, lambda s: sampled(s).subsample(number(s, 0.01, 0.9)) * s.choice([1, 1, 1, 3])),
    "samples summed": (25, lambda s: sampled(s) * s.choice([1, 4]) + sampled(s)),
    "grouped": (400, lambda s: alone(s).group(s.randint(2, 5))),
    "grouped, several uses": (12, lambda s: alone(s, slow=0.1).group(s.randint(2, 5)) * s.choice([2, 3])),
    "summed, grouped": (40, lambda s: several(s).group(s.randint(2, 4))),
    "sampled, grouped": (200, lambda s: sampled(s).group(s.randint(2, 4))),
    "sampled, grouped, several uses": (8, lambda s: sampled(s).group(s.randint(2, 4)) * s.choice([2, 5])),
    "sampled Gaussians, grouped": (12, lambda s: sampled_gaussian(s).group(s.randint(2, 4)) * s.choice([1, 2, 5])),
    "parallel": (10, lambda s: beside(s) * s.choice([1, 2, 5])),
    "parallel sums": (3, lambda s: beside(s).parallel(several(s, slow=0.05)) * s.choice([1, 2])),
    "parallel samples": (6, lambda s: sampled(s).parallel(alone(s, slow=0.05)) * s.choice([1, 2])),
    "parallel, sampled": (8, lambda s: beside(s).subsample(number(s, 0.01, 0.9)) * s.choice([1, 3])),
    "parallel, grouped": (5, lambda s: beside(s).group(2) * s.choice([1, 3])),
    "drawn inexactly": (120, lambda s: alone(s).with_sampling_error("1e-15") * s.choice([1, 5])),
}
"""How mechanisms are put together, and how many of each a whole sweep draws: fewer of those that take seconds."""
