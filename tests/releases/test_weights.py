"""Weights that follow a histogram of all groups: what they are, what they cost, and that choices follow them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from random import Random

import numpy as np
import pytest

from discreet.mechanisms import DiscreteLaplace
from discreet.mechanisms.choosing.joint import Joint
from discreet.mechanisms.choosing.rank_choice import POOLED_SHARE, RankChoice, choose
from discreet.mechanisms.choosing.weights import FLOOR_BITS, Weights, ties_of
from discreet.plans import plan_sql
from discreet.plans.expressions import Column
from discreet.plans.nodes.aggregate import Sensitivity
from discreet.plans.statistics import RankedCells, Snapped
from discreet.plans.statistics.marks import Marks
from discreet.privacy import NeighborRelation
from discreet.releases.noise.protection import Price, Protection
from discreet.releases.noise.recipe import Recipe, windows_of
from tests.noise.replay import ReplayBits
from tests.plans.hospital import POLICY
from tests.plans.interpreter import cells_of
from tests.releases.test_choices import chi_square

CELLS = 4
GRID = RankedCells(Snapped(Column("x"), 0, CELLS - 1, 0, Fraction(1)))
ONE, TWO = Sensitivity(1, 1, 1), Sensitivity(2, 2, 4)
HALF = (Fraction(1, 2),)
UNEVEN = Weights(np.array([0, 1, 2, 3]), np.array([0, 2, 1, 0]), CELLS - 1)
Rows = tuple[int, ...]


def cells(rows: Rows, grid: RankedCells = GRID) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array(cells_of(grid, [{"x": row} for row in rows]), dtype=np.int64).reshape(-1, 4)


@lru_cache(maxsize=1000)
def learned(counts: tuple[int, ...], scale: float = 20.0) -> Weights:
    return Weights.learned(range(len(counts)), len(counts) - 1, counts, scale)


def test_points_and_cells_are_told_from_each_other() -> None:
    draw = Random(5)
    for _ in range(200):
        starts = sorted(draw.sample(range(-500, 500), draw.randint(1, 40)))
        upper = starts[-1] + draw.randint(0, 30)
        found = Weights(np.array(starts), np.array([draw.randint(0, 9) for _ in starts]), upper)
        every = np.arange(starts[0], upper + 2)
        first = found.first(every)
        assert first[0] == 0
        assert first[-1] == found.points
        assert (np.diff(first) == 1 << found.digits_of(every[:-1])).all()
        assert (found.cells(first[:-1]) == every[:-1]).all()
        assert (found.cells(first[1:] - 1) == every[:-1]).all()


def test_no_cell_weighs_too_little_and_all_together_no_more_than_alike() -> None:
    draw = Random(7)
    for _ in range(300):
        marks = Marks.of(0, draw.choice([3, 90, 255, 256, 5000, 2**36]), Fraction(1, draw.choice([1, 8, 2**30])))
        upper = draw.choice([255, 2**37]) if marks.rate == 0 else max(marks.starts)
        marks = Marks.of(0, upper, Fraction(1, 16))
        counts = [draw.choice([0, -90, 40, 10**5, draw.randint(-60, 400)]) for _ in marks.starts]
        found = Weights.learned(marks.starts, upper, counts, draw.choice([0.01, 20.0, 1e9]))
        ties = ties_of(upper)
        assert found.points <= (upper + 1) << ties
        assert found.digits.min() >= ties - FLOOR_BITS  # what a rank error is computed from


def test_noise_alone_leaves_cells_alike_and_what_many_rows_share_stands_out() -> None:
    noise = DiscreteLaplace(1, scale=20)
    bits = ReplayBits(11)
    changed = 0
    for _ in range(60):
        counts = tuple(int(noise.release(0, bits=bits).value) for _ in range(101))
        changed += int(np.ptp(learned(counts).digits) > 1)
    assert changed < 40  # of 60; were every difference believed, all would be
    counts = tuple(int(noise.release(2000 if place == 40 else 10, bits=bits).value) for place in range(101))
    found = learned(counts)
    assert found.digits[40] - np.median(found.digits) >= 5


def test_marks_part_the_grid_as_they_say() -> None:
    grids = [(0, 1000, Fraction(1)), (-77, 4000, Fraction(1, 8)), (5, 2**37, Fraction(1, 2**30)), (3, 9, Fraction(4))]
    for lower, upper, step in grids:
        marks = Marks.of(lower, upper, step)
        draw = Random(3)
        places = list(range(lower, min(upper, lower + 3000) + 1)) + [draw.randint(lower, upper) for _ in range(3000)]
        places += [min(max(start + off, lower), upper) for start in marks.starts for off in (-1, 0, 1)]
        for cell in places:
            place = marks.place(cell)
            ends = [*marks.starts, upper + 1]
            assert ends[place] <= cell < ends[place + 1]
        assert len(marks.starts) <= 2 * 131
    wide = Marks.of(0, 50_000, Fraction(1))
    assert [wide.place(cell) for cell in (499, 500, 501, 1000)] == [1, 2, 3, 4]


def test_whole_numbers_and_doubles_say_the_same_of_bins() -> None:
    draw, whole = Random(4), 0
    for _ in range(400):
        step = Fraction(1, 2 ** draw.choice([0, 3, 18, 30, 40])) if draw.random() < 0.8 else Fraction(2**9)
        width = draw.choice([256, 300, draw.randint(256, 2**20), draw.randint(256, 2**36), 2**44 - 1])
        lower = draw.choice([0, -5, -width // 2, draw.randint(-(2**40), 2**40)])
        marks = Marks.of(lower, lower + width, step)
        assert marks.rate * width > 50
        whole += bool(marks.every)
        doubles = replace(marks, every=0)
        cells = [lower, lower + width, *(draw.randint(lower, lower + width) for _ in range(20))]
        cells += [min(max(start + off, lower), lower + width) for start in marks.starts[::9] for off in (-1, 0, 1)]
        assert [marks.place(cell) for cell in cells] == [doubles.place(cell) for cell in cells]
    assert 100 < whole < 400


def test_a_mark_between_two_cells_keeps_the_one_that_its_rows_are_in() -> None:
    step, lower = Fraction(2**23), 0  # the grid of integers up to 10**18; marks are 10**16 apart
    marks = Marks.of(lower, round(10**18 / step), step)
    for mark in range(101):
        assert marks.place(round(mark * 10**16 / step)) == 2 * mark


def test_a_price_too_small_for_a_histogram_buys_the_points_alone() -> None:
    for price in ({"epsilon": Fraction(1, 10**17)}, {"rho": Fraction(1, 10**34)}):
        choice = RankChoice.of(HALF, 100, ONE, NeighborRelation.ADD_REMOVE, several=True, **price)
        assert choice.pooled is None
        assert choice.epsilon == price.get("epsilon", choice.epsilon)
        assert choice.rho <= price.get("rho", choice.rho)


def laws(weights: Weights, choice: RankChoice, groups: tuple[Rows, ...]) -> list[list[float]]:
    """The chance of each cell in each group from the definition, given the weights."""
    (window,), (scale,) = choice.windows, choice.scales
    found = []
    for rows in groups:
        chances = []
        for cell, digits in enumerate(weights.digits_of(np.arange(CELLS)).tolist()):
            below, equal = sum(row < cell for row in rows), rows.count(cell)
            miss = int(window.distance(below, equal, len(rows) - below - equal))
            chances.append(2**digits * math.exp(-min(miss, window.reach) / scale))
        found.append([chance / sum(chances) for chance in chances])
    return found


def loss(choice: RankChoice, noise: DiscreteLaplace, first: tuple[Rows, ...], second: tuple[Rows, ...]) -> float:
    """The most that a noisy histogram and the chosen cells together tell about which of two neighbors they are of."""
    counted = [Counter(itertools.chain.from_iterable(groups)) for groups in (first, second)]
    most = 0.0
    for noisy in itertools.product((-30, 3, 300), repeat=CELLS):
        weights = learned(noisy, float(noise.scale))
        away = [sum(abs(noisy[cell] - counts[cell]) for cell in range(CELLS)) for counts in counted]
        told = (away[1] - away[0]) / float(noise.scale)
        ratios = [
            [math.log(a / b) for a, b in zip(one, two, strict=True)]
            for one, two in zip(laws(weights, choice, first), laws(weights, choice, second), strict=True)
        ]
        most = max(most, told + sum(map(max, ratios)), -told - sum(map(min, ratios)))
    return most


def neighbors() -> list[tuple[tuple[Rows, ...], tuple[Rows, ...]]]:
    """Two groups; a unit with a row in each is there or not."""
    some = [(), (1, 2), (0, 3, 3)]
    pairs = itertools.product(some, some, range(CELLS), range(CELLS))
    return [((one, two), ((*one, a), (*two, b))) for one, two, a, b in pairs if a <= b]


@pytest.mark.slow
def test_histogram_and_choices_together_tell_no_more_than_their_price() -> None:
    choice = RankChoice.of(HALF, CELLS - 1, TWO, NeighborRelation.ADD_REMOVE, epsilon=Fraction(2), several=True)
    assert choice.pooled is not None
    assert choice.pooled.sensitivity == 2
    assert choice.epsilon == 2
    pairs = neighbors()
    losses = [loss(choice, choice.pooled, *pair) for pair in pairs]
    assert max(losses) <= 2 + 1e-9
    unpaid = DiscreteLaplace(1, scale=Fraction(1, 2))  # the price of the whole question again, for the histogram alone
    assert max(loss(choice, unpaid, *pair) for pair in pairs[:20]) > 2


@pytest.mark.parametrize("relation", [NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE])
def test_the_histogram_takes_its_share_of_either_price(relation: NeighborRelation) -> None:
    levels = (Fraction(0), Fraction(1, 4), Fraction(3, 4), Fraction(1))
    moved = Sensitivity(3, 7, 19)
    paid = RankChoice.of(levels, 1000, moved, relation, epsilon=Fraction(1), several=True)
    assert paid.pooled is not None
    assert paid.pooled.claim.epsilon == POOLED_SHARE
    assert Fraction(99, 100) < paid.epsilon <= 1
    assert paid.privacy.epsilon(0) <= 1 + 1e-12
    cheap = RankChoice.of(levels, 1000, moved, relation, rho=Fraction(1, 50), several=True)
    assert Fraction(98, 5000) < cheap.rho <= Fraction(1, 50)
    free = replace(paid, pooled=replace(paid.pooled, scale=paid.pooled.scale / 2))
    assert free.epsilon > 1
    assert free.privacy.epsilon(0) > 1


def test_one_group_unknown_groups_and_extremes_buy_no_histogram() -> None:
    for sql, bought in (
        ("SELECT MEDIAN(cost) FROM visits", False),
        ("SELECT diagnosis, MEDIAN(cost) FROM visits GROUP BY diagnosis", False),
        ("SELECT ward, MIN(cost), MAX(cost) FROM visits GROUP BY ward", False),
        ("SELECT ward, MIN(cost), MEDIAN(cost) FROM visits GROUP BY ward", True),
    ):
        made = Protection.of(Recipe.of(plan_sql(POLICY, sql)), Price.read(POLICY, epsilon=1, delta=1e-7))
        (choice,) = (noise for noise in made.noises if isinstance(noise, RankChoice))
        assert (choice.pooled is not None) is bought


def test_cells_are_drawn_by_their_weights(seed: int) -> None:
    rows, draws = (0, 1, 3, 3), 4000
    choice = RankChoice.of(HALF, CELLS - 1, ONE, NeighborRelation.ADD_REMOVE, epsilon=Fraction(1), several=True)
    assert choice.pooled is not None
    # So many rows that noise changes nothing: the weights are those of the counts.
    pooled = np.array([100, 50_000, 400, 10**6])
    weights = learned(tuple(pooled.tolist()), float(choice.pooled.scale))
    found = choose(choice, GRID, [cells(rows)] * draws, ReplayBits(seed), pooled)
    counts = np.bincount(found[:, 0], minlength=CELLS)
    assert chi_square(counts, laws(weights, choice, (rows,))[0]) < 45.0  # below 1e-9 for three degrees of freedom
    assert chi_square(counts, laws(Weights.even(0, CELLS - 1, 0), choice, (rows,))[0]) > 45.0


@pytest.mark.slow
def test_tuples_are_drawn_by_their_weights(seed: int) -> None:
    """Against the definition: rows at any points of their cells, and every tuple of points by its miss."""
    rows, levels, draws = (1, 1, 2), (Fraction(1, 4), Fraction(3, 4)), 3000
    joint = Joint(levels, CELLS - 1, Fraction(8))
    wanted: Counter[tuple[int, int]] = Counter()
    first = UNEVEN.first(np.arange(CELLS + 1)).tolist()
    spreads = list(itertools.product(*(range(first[row], first[row + 1]) for row in rows)))
    for spread in spreads:
        law: Counter[tuple[int, int]] = Counter()
        for pair in itertools.product(range(UNEVEN.points), repeat=2):
            low, high = sorted(pair)
            off = [sum(row < p for row in spread) - q * len(rows) for p, q in zip((low, high), levels, strict=True)]
            miss = joint.unit * (abs(off[0]) + abs(off[1] - off[0]) + abs(off[1]))
            a, b = UNEVEN.cells(np.array([low, high])).tolist()
            law[a, b] += math.exp(-miss / joint.scale)  # type: ignore[assignment]
        for pair, weight in law.items():
            wanted[pair] += weight / law.total() / len(spreads)  # type: ignore[assignment]
    bits = ReplayBits(seed)
    found = Counter(tuple(joint.chosen(cells(rows), UNEVEN, bits).tolist()) for _ in range(draws))
    pairs = sorted(wanted)
    counts = np.array([found[pair] for pair in pairs])
    assert counts.sum() == draws
    assert chi_square(counts, [wanted[pair] for pair in pairs]) < 66.0  # below 1e-9 for nine degrees of freedom
    bits = ReplayBits(seed)
    even = Counter(tuple(joint.chosen(cells(rows), Weights.even(0, CELLS - 1, 1), bits).tolist()) for _ in range(draws))
    assert chi_square(np.array([even[pair] for pair in pairs]), [wanted[pair] for pair in pairs]) > 66.0


@pytest.mark.parametrize("levels", [HALF, (Fraction(1, 4), Fraction(3, 4))])
def test_rank_errors_hold_where_other_groups_lie_elsewhere(levels: tuple[Fraction, ...], seed: int) -> None:
    """Nearly all rows of other groups are far from this one's: its cells have the least weights there are."""
    grid = RankedCells(Snapped(Column("x"), 0, 9999, 0, Fraction(1)))
    rows = tuple(range(0, 400, 2))
    choice = RankChoice.of(levels, grid.width, ONE, NeighborRelation.ADD_REMOVE, epsilon=Fraction(1), several=True)
    pooled = np.zeros(len(grid.marks.starts), dtype=np.int64)
    pooled[grid.marks.place(9000)] = 10**6
    near = cells(rows, replace(grid, windows=windows_of(choice)))
    found = choose(choice, grid, [near] * 300, ReplayBits(seed), pooled)
    for place, level in enumerate(levels):
        within = choice.rank_error(place, 0.95)
        misses = [abs(sum(row < point for row in rows) - level * 200) - 1 for point in found[:, place].tolist()]
        assert sum(miss > within for miss in misses) <= 45  # of 300 at 5 percent: more has a chance below 1e-9


@pytest.mark.fixed_bits
def test_small_groups_stay_where_rows_are(seed: int) -> None:
    """Eight hundred groups of eighty, mostly with 40 hours, of which forty are seen: few points are far beyond.

    About one draw of bits in a hundred would break it.
    """
    grid = RankedCells(Snapped(Column("x"), 0, 100 * 2**30, 0, Fraction(1, 2**30)))
    draw = Random(2)
    groups = [[draw.choice([35, 40, 40, 40, 45, 50, 60]) for _ in range(80)] for _ in range(40)]
    levels = tuple(Fraction(each, 20) for each in (2, 5, 15, 18))
    tables = [[{"x": float(hours)} for hours in rows] for rows in groups]
    off = {}
    for several in (False, True):
        choice = RankChoice.of(
            levels, grid.width, ONE, NeighborRelation.ADD_REMOVE, epsilon=Fraction(1), several=several
        )
        near = [
            np.array(cells_of(replace(grid, windows=windows_of(choice)), rows), dtype=np.int64).reshape(-1, 4)
            for rows in tables
        ]
        pooled = np.zeros(len(grid.marks.starts), dtype=np.int64)
        for hours in itertools.chain.from_iterable(groups):
            pooled[grid.marks.place(hours << 30)] += 20
        found = choose(choice, grid, near, ReplayBits(seed), pooled) / 2**30
        exact = np.array([np.quantile(rows, [float(level) for level in levels]) for rows in groups])
        off[several] = float(np.sqrt(((found - exact) ** 2).mean()))
    assert 3 * off[True] < 2 * off[False]
