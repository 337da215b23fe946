"""Mechanisms that keep a promise by a theorem, run on real neighbors: what they leak is never above the curve.

For fixed-size samples, groups of sampled units and the exponential mechanism the package computes a bound, not the law
of one mechanism. Here the laws of mechanisms on concrete neighbors are cut into cells. Joining outcomes
only hides (post-processing), and so does rounding losses down: what is found lies below the truth, with no code of the
package in it.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet import privacy as p
from discreet.privacy import NeighborRelation

Reals = NDArray[np.float64]
Pair = tuple[Reals, Reals]

STEP = 5e-3
"""Losses are rounded down to multiples of this."""

FARTHEST = 40.0
CELLS = 4_000
REACH = 10.0


def mixture(parts: list[tuple[float, float]], edges: Reals, sigma: float) -> Reals:
    """The masses that normal laws with these (weight, mean) leave in the cells."""
    total = np.zeros(len(edges) - 1)
    for weight, mean in parts:
        z = (edges - mean) / sigma
        low, high = ndtr(z), ndtr(-z)
        total += weight * np.where(z[1:] < 0, np.diff(low), -np.diff(high))
    return total


def gaussians(one: list[tuple[float, float]], other: list[tuple[float, float]], sigma: float) -> Pair:
    """Two mixtures of normal laws, cut into cells."""
    means = [mean for _, mean in one + other]
    inner = np.linspace(min(means) - REACH * sigma, max(means) + REACH * sigma, CELLS)
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    return mixture(one, edges, sigma), mixture(other, edges, sigma)


def lattice(pair: Pair) -> tuple[int, Reals]:
    """Round the losses of the first law down; the index of the smallest, and masses from there."""
    keep = (pair[0] > 0) & (pair[1] > 0)
    over, under = pair[0][keep], pair[1][keep]
    places = np.floor(np.clip(np.log(over / under), -FARTHEST, FARTHEST) / STEP).astype(np.int64)
    return int(places.min()), np.bincount(places - places.min(), weights=over).astype(np.float64)


def leaked(pairs: list[Pair], delta: float) -> float:
    """A lower bound of epsilon for one direction; direct convolution, as all terms are positive."""
    first, law = lattice(pairs[0])
    for pair in pairs[1:]:
        start, masses = lattice(pair)
        first, law = first + start, np.convolve(law, masses)
    values = STEP * (first + np.arange(len(law)))
    low, high = 0.0, 2 * FARTHEST
    for _ in range(50):
        middle = 0.5 * (low + high)
        found = float((law * -np.expm1(np.minimum(middle - values, 0.0))).sum())
        low, high = (middle, high) if found > delta * (1 + 1e-9) else (low, middle)
    return low


def both(pairs: list[Pair], delta: float) -> float:
    """The larger of both directions."""
    return max(leaked(pairs, delta), leaked([(under, over) for over, under in pairs], delta))


FIXED = [
    (1.0, 0.1, 0.0, 3, 1e-5),
    (0.8, 0.5, -1.0, 2, 1e-6),
    (3.0, 0.3, 0.7, 4, 1e-4),
    (2.0, 0.02, 1.0, 4, 1e-7),
]


def exchanged(sigma: float, rate: float, others: float) -> Pair:
    """A sum over a fixed-size sample: all others hold one value in [-1, 1], the unit 1 or -1."""
    rest = [(1 - rate, 0.0)]
    return gaussians([*rest, (rate, 1 - others)], [*rest, (rate, -1 - others)], sigma)


@pytest.mark.parametrize("sigma, rate, others, count, delta", FIXED)
def test_samples_of_fixed_size(sigma: float, rate: float, others: float, count: int, delta: float) -> None:
    base = p.gaussian(sigma, sensitivity=2, neighbors=NeighborRelation.CHANGE_ONE)
    truth = both([exchanged(sigma, rate, others)] * count, delta)
    assert truth > 0
    assert (base.subsample(rate) * count).epsilon(delta) >= truth


def test_the_check_sees_the_sensitivity_of_add_remove() -> None:
    sigma, rate, others, count, delta = FIXED[1]
    base = p.gaussian(sigma, sensitivity=1, neighbors=NeighborRelation.CHANGE_ONE)
    assert (base.subsample(rate) * count).epsilon(delta) < both([exchanged(sigma, rate, others)] * count, delta)


GROUPS = [(1.0, 0.1, 2, 2, 1e-5), (2.0, 0.5, 3, 2, 1e-6), (0.7, 0.01, 2, 1, 1e-4)]


def family(sigma: float, rate: float, size: int) -> Pair:
    """A sum over a Poisson sample: `size` units are there, each sampled on its own, or none of them."""
    chances = [math.comb(size, k) * rate**k * (1 - rate) ** (size - k) for k in range(size + 1)]
    return gaussians([(chance, float(k)) for k, chance in enumerate(chances)], [(1.0, 0.0)], sigma)


@pytest.mark.parametrize("sigma, rate, size, count, delta", GROUPS)
def test_groups_of_sampled_units(sigma: float, rate: float, size: int, count: int, delta: float) -> None:
    truth = both([family(sigma, rate, size)] * count, delta)
    single = p.gaussian(sigma).subsample(rate) * count
    assert single.epsilon(delta) < truth  # the partner: a promise to one unit is none to its family
    assert single.group(size).epsilon(delta) >= truth


def selection(source: random.Random, epsilon: float) -> Pair:
    """The exponential mechanism on two lists of scores that differ by at most 1 each."""
    scores = np.array([source.uniform(0, 6) for _ in range(source.choice([2, 3, 8]))])
    moved = scores + np.array([source.choice([-1.0, 1.0, 0.0]) for _ in scores])
    weights, others = np.exp(epsilon * scores / 2), np.exp(epsilon * moved / 2)
    return weights / weights.sum(), others / others.sum()


def worst(epsilon: float, largest: float) -> Pair:
    """Two outcomes with losses `largest` and `largest` - epsilon."""
    chance = math.expm1(epsilon - largest) / math.expm1(epsilon)
    return np.array([chance * math.exp(largest), 1 - chance * math.exp(largest)]), np.array([chance, 1 - chance])


@pytest.mark.parametrize("seed", range(12))
def test_the_exponential_mechanism(seed: int) -> None:
    source = random.Random(seed)
    epsilon, delta = source.choice([0.3, 1.0, 3.0]), source.choice([1e-2, 1e-4, 1e-6])
    pairs = [
        selection(source, epsilon),
        worst(epsilon, source.uniform(0.3, 0.9) * epsilon),
        worst(epsilon, epsilon / 2),
    ]
    assert (p.exponential(epsilon) * len(pairs)).epsilon(delta) >= both(pairs, delta)


def test_the_check_sees_a_range_that_is_too_short() -> None:
    pairs = [worst(1.0, 0.6)] * 4
    assert (p.exponential("0.6") * 4).epsilon(1e-4) < both(pairs, 1e-4) < (p.exponential(1) * 4).epsilon(1e-4)
