"""Several quantiles at once: the law of their tuples is the one that is derived, on tiny domains to the last digit."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.mechanisms.choosing.joint import Chain, Joint
from discreet.mechanisms.choosing.rank_choice import RankChoice, choose
from discreet.plans.expressions import Column
from discreet.plans.nodes.aggregate import Sensitivity
from discreet.plans.statistics import RankedCells, Snapped
from discreet.privacy import NeighborRelation
from discreet.releases.noise.recipe import windows_of
from tests.noise.replay import ReplayBits
from tests.plans.interpreter import cells_of

if TYPE_CHECKING:
    from collections.abc import Iterator

POINTS = 5
QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
ENDS = (Fraction(1, 10), Fraction(9, 10))
Rows = tuple[int, ...]


@dataclass(frozen=True)
class Tiny(Joint):
    """A joint choice whose cells are not divided, with a reach of the test's own."""

    limit: int = 10**9

    @property
    def ties(self) -> int:
        return 0

    @property
    def reach(self) -> int:
        return self.limit


def tiny(levels: tuple[Fraction, ...], scale: Fraction, limit: int = 10**9) -> Tiny:
    return Tiny(levels, POINTS - 1, scale, limit)


@lru_cache(maxsize=10_000)
def law(joint: Tiny, rows: Rows) -> dict[Rows, float]:
    """The probability of each sorted tuple, from the definition: every unsorted tuple by its miss."""
    found: dict[Rows, float] = {}
    for points in itertools.product(range(POINTS), repeat=len(joint.levels)):
        below = [sum(row < point for row in rows) for point in sorted(points)]
        off = [Fraction(0), *(b - q * len(rows) for b, q in zip(below, joint.levels, strict=True)), Fraction(0)]
        miss = joint.unit * sum(abs(b - a) for a, b in itertools.pairwise(off))
        key = tuple(sorted(points))
        found[key] = found.get(key, 0.0) + math.exp(-min(miss, joint.reach) / joint.scale)
    total = sum(found.values())
    return {points: weight / total for points, weight in found.items()}


def drawn(joint: Joint, rows: Rows, draws: int, seed: int) -> Counter[Rows]:
    bits = ReplayBits(seed)
    places, numbers = np.array(sorted(rows), dtype=np.int64), np.arange(1, len(rows) + 1)
    chain = Chain(joint, places, numbers, len(rows), joint.points)
    return Counter(tuple(chain.draw(bits)) for _ in range(draws))


def distance(found: Counter[Rows], wanted: dict[Rows, float]) -> tuple[float, float]:
    """A chi-square over tuples that are expected at least five times, and what it stays below but for 1e-9."""
    draws = found.total()
    rare = sum(chance for chance in wanted.values() if chance * draws < 5)
    pairs = [(found[points], chance * draws) for points, chance in wanted.items() if chance * draws >= 5]
    pairs.append((draws - sum(count for count, _ in pairs), max(rare * draws, 1e-9)))
    degrees = len(pairs) - 1
    size = sum((count - mean) ** 2 / mean for count, mean in pairs if mean > 1e-6)
    # Laurent & Massart 2000, Lemma 1: Pr[chi2 >= k + 2 sqrt(k x) + 2 x] <= exp(-x), x = 21; doubled for small counts
    return size, 2 * (degrees + 2 * math.sqrt(degrees * 21) + 42)


CASES = [
    ((), QUARTILES, 10**9),
    ((2,), ENDS, 10**9),
    ((0, 1, 1, 3, 4, 4, 4), QUARTILES, 10**9),
    ((0, 1, 1, 3, 4, 4, 4), ENDS, 60),  # a reach that clips: the other way to draw takes part
    ((1, 1, 1, 1, 1, 1, 1, 1), QUARTILES, 24),
    ((0, 0, 2, 3), (Fraction(1, 2), Fraction(2, 3)), 18),
]


@pytest.mark.slow
@pytest.mark.parametrize("rows, levels, limit", CASES)
def test_tuples_are_drawn_by_their_law(rows: Rows, levels: tuple[Fraction, ...], limit: int, seed: int) -> None:
    joint = tiny(levels, Fraction(2 * math.lcm(*(level.denominator for level in levels))), limit)
    found = drawn(joint, rows, 1500, seed)
    size, most = distance(found, law(joint, rows))
    assert size < most
    if rows and len(set(rows)) > 1:
        wrong = tiny(levels, joint.scale / 3, limit)
        size, most = distance(found, law(wrong, rows))
        assert size > most  # a third of the noise is seen


def moved(levels: tuple[Fraction, ...], relation: NeighborRelation) -> RankChoice:
    sensitivity = Sensitivity(1, 1, 1) if relation is NeighborRelation.ADD_REMOVE else Sensitivity(1, 2, 2)
    return RankChoice.of(levels, POINTS - 1, sensitivity, relation, epsilon=Fraction(2))


def neighbors(relation: NeighborRelation) -> Iterator[tuple[Rows, Rows]]:
    for count in range(4):
        for rows in itertools.combinations_with_replacement(range(POINTS), count):
            for more in range(POINTS):
                if relation is NeighborRelation.ADD_REMOVE:
                    yield rows, (*rows, more)
                else:
                    yield from (((*rows, other), (*rows, more)) for other in range(more))


def loss(joint: Tiny, first: Rows, second: Rows) -> float:
    one, two = law(joint, tuple(sorted(first))), law(joint, tuple(sorted(second)))
    return max(abs(math.log(one[points] / two[points])) for points in one)


@pytest.mark.parametrize("levels", [ENDS, QUARTILES[:2], (Fraction(1, 2), Fraction(2, 3))])
@pytest.mark.parametrize("limit", [10**9, 40, 12])
def test_no_pair_of_neighbors_tells_a_tuple_better_than_epsilon(levels: tuple[Fraction, ...], limit: int) -> None:
    choice = moved(levels, NeighborRelation.ADD_REMOVE)
    assert choice.parts == (tuple(range(len(levels))),)
    joint = tiny(levels, choice.scales[0], limit)
    losses = [loss(joint, *pair) for pair in neighbors(NeighborRelation.ADD_REMOVE)]
    assert max(losses) <= 2 + 1e-12
    if limit > 10**8:
        assert max(loss(tiny(levels, joint.scale / 3), *pair) for pair in neighbors(NeighborRelation.ADD_REMOVE)) > 2


@pytest.mark.parametrize("levels", [ENDS, (Fraction(1, 2), Fraction(2, 3))])
def test_a_changed_unit_is_hidden_in_one_group_and_in_two(levels: tuple[Fraction, ...]) -> None:
    choice = moved(levels, NeighborRelation.CHANGE_ONE)
    joint = tiny(levels, choice.scales[0])
    assert max(loss(joint, *pair) for pair in neighbors(NeighborRelation.CHANGE_ONE)) <= 2 + 1e-12
    apart = max(loss(joint, *pair) for pair in neighbors(NeighborRelation.ADD_REMOVE))
    assert 2 * apart <= 2 + 1e-12  # it leaves one group and enters another


def test_levels_of_both_kinds_share_a_price() -> None:
    levels = (Fraction(0), *(Fraction(each, 40) for each in range(1, 40)), Fraction(1))
    for relation in (NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE):
        choice = RankChoice.of(levels, 1000, Sensitivity(3, 7, 19), relation, epsilon=Fraction(1))
        assert sorted(itertools.chain.from_iterable(choice.parts)) == list(range(41))
        assert max(map(len, choice.parts)) <= 10
        assert Fraction(99, 100) < choice.epsilon <= 1
        cheap = RankChoice.of(levels, 1000, Sensitivity(3, 7, 19), relation, rho=Fraction(1, 50))
        assert Fraction(99, 5000) < cheap.rho <= Fraction(1, 50)
    fine = (Fraction(333_333, 10**6), Fraction(1, 7), Fraction(1, 11))
    assert len(RankChoice.of(tuple(sorted(fine)), 9, Sensitivity(1, 1, 1), relation, epsilon=Fraction(1)).parts) == 2


def test_only_rows_near_the_ranks_are_read(seed: int) -> None:
    grid = RankedCells(Snapped(Column("x"), -5, 10**6, 0, Fraction(1)))
    rows = [{"x": (number * number) % 200_000} for number in range(9000)]
    choice = RankChoice.of(
        QUARTILES, grid.width, Sensitivity(1, 1, 1), NeighborRelation.ADD_REMOVE, epsilon=Fraction(9)
    )
    near = np.array(cells_of(replace(grid, windows=windows_of(choice)), rows), dtype=np.int64).reshape(-1, 4)
    everything = np.array(cells_of(grid, rows), dtype=np.int64).reshape(-1, 4)
    assert 3 * len(near) < len(everything)
    found = choose(choice, grid, [near] * 20, ReplayBits(seed))
    exact = np.quantile([row["x"] for row in rows], [0.25, 0.5, 0.75])
    assert np.abs(found - exact).max() < 3000
    (ties,) = [joint.ties for joint in choice.joints if joint is not None]
    assert ties == 20


def test_many_equal_values_stay_together(seed: int) -> None:
    """Half of the rows are 0, as costs often are: levels inside them are 0, others are where they belong."""
    grid = RankedCells(Snapped(Column("x"), 0, 10**6, 0, Fraction(1)))
    rows = [{"x": 0 if number % 2 else number * 100} for number in range(2000)]
    levels = (Fraction(1, 10), Fraction(1, 4), Fraction(2, 5), Fraction(3, 4))
    choice = RankChoice.of(levels, grid.width, Sensitivity(1, 1, 1), NeighborRelation.ADD_REMOVE, epsilon=Fraction(2))
    near = np.array(cells_of(replace(grid, windows=windows_of(choice)), rows), dtype=np.int64).reshape(-1, 4)
    found = choose(choice, grid, [near] * 20, ReplayBits(seed))
    assert (found[:, :3] == 0).all()
    assert np.abs(found[:, 3] - 100_000).max() < 10_000


def test_sums_over_what_follows_are_those_of_their_definition() -> None:
    """Windows of every place and length against the sum, term by term."""
    draw = np.random.default_rng(7)
    for total, levels in itertools.product((0, 1, 7, 40, 200), (QUARTILES, ENDS, (Fraction(1, 2), Fraction(2, 3)))):
        joint = tiny(levels, Fraction(3 * math.lcm(*(level.denominator for level in levels))), limit=400)
        rows = np.sort(draw.integers(0, POINTS, total))
        chain = Chain(joint, rows, np.arange(1, total + 1), total, joint.points)
        for step, size, offset in itertools.product(range(len(levels)), (1, 5, 60), (-250, -30, -3, 0, 4)):
            weights = np.where(draw.random(size) < 0.2, -np.inf, 300 * draw.random(size))
            places = np.arange(9) + offset
            found = chain._moved(step, places, weights)
            for place, value in zip(places.tolist(), found.tolist(), strict=True):
                after = [y for y in range(size) if y > place]
                misses = chain._misses(step, np.array(after, dtype=np.int64) - place)
                terms = [weights[y] - float(miss / joint.scale) for y, miss in zip(after, misses, strict=True)]
                wanted = np.logaddexp.reduce(terms) if terms else -np.inf
                assert value == pytest.approx(wanted, abs=1e-9)


def test_rows_of_equal_values_are_not_kept_one_by_one(seed: int) -> None:
    """Thirty million rows in three cells: what is kept depends on the price, not on them."""
    total = 30_000_000
    cells: list[list[int]] = []
    for cell, count in ((3, 10**7), (500, 10**7), (900, 10**7)):
        cells.append([cell, sum(each[2] for each in cells), count, total])
    grid = RankedCells(Snapped(Column("x"), 0, 1000, 0, Fraction(1)))
    one, relation = Sensitivity(1, 1, 1), NeighborRelation.ADD_REMOVE
    choice = RankChoice.of(QUARTILES, grid.width, one, relation, epsilon=Fraction(1))
    tracemalloc.start()
    (found,) = choose(choice, grid, [np.array(cells, dtype=np.int64)], ReplayBits(seed))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tolist() == [3, 500, 900]
    assert peak < 20_000_000


def test_little_money_is_spent_level_by_level() -> None:
    one, relation = Sensitivity(20, 20, 400), NeighborRelation.ADD_REMOVE
    sizes = []
    for epsilon in ("1", "0.05", "0.005", "0.0001"):
        choice = RankChoice.of(QUARTILES, 10**9, one, relation, epsilon=Fraction(epsilon))
        assert all(joint is None or joint.numbers <= 2**23 for joint in choice.joints)
        assert Fraction(99, 100) * Fraction(epsilon) < choice.epsilon <= Fraction(epsilon)
        sizes.append(len(choice.parts))
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (1, 3)
