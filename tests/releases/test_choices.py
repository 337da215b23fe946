"""The law of a chosen point: exact, private to the last digit on tiny domains, whatever a window leaves out."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.exact import sqrt_upper
from discreet.mechanisms.choosing.rank_choice import RankChoice, choose, laid_out
from discreet.plans.expressions import Column
from discreet.plans.nodes.aggregate import Sensitivity
from discreet.plans.statistics import RankedCells, Snapped
from discreet.privacy import NeighborRelation
from discreet.releases.noise.recipe import windows_of
from tests.noise.replay import ReplayBits
from tests.plans.interpreter import cells_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.mechanisms.choosing.rank_choice import Cells

POINTS = 5
GRID = RankedCells(Snapped(Column("x"), 0, POINTS - 1, 0, Fraction(1)))
LEVELS = [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(3, 4), Fraction(1)]
ONE, TWO = Sensitivity(1, 1, 1), Sensitivity(2, 2, 4)


def cells(rows: tuple[int, ...], statistic: RankedCells = GRID) -> Cells:
    return np.array(cells_of(statistic, [{"x": row} for row in rows]), dtype=np.int64).reshape(-1, 4)


def law(choice: RankChoice, place: int, rows: tuple[int, ...]) -> list[float]:
    """The probability of each point, from what the lottery is given."""
    window, scale = choice.windows[place], choice.scales[place]
    starts, sizes, misses, _ = laid_out([cells(rows)], window, 0, POINTS - 1)
    found = [0.0] * POINTS
    for start, size, miss in zip(starts.tolist(), sizes.tolist(), misses.tolist(), strict=True):
        for point in range(start, start + size):
            assert found[point] == 0.0  # every point is in one run
            found[point] = math.exp(-min(miss, window.reach) / scale)
    total = sum(found)
    return [each / total for each in found]


def loss(first: list[float], second: list[float]) -> float:
    return max(abs(math.log(a / b)) for a, b in zip(first, second, strict=True))


def neighbors(relation: NeighborRelation) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for count in range(4):
        for rows in itertools.combinations_with_replacement(range(POINTS), count):
            for more in range(POINTS):
                if relation is NeighborRelation.ADD_REMOVE:
                    yield rows, (*rows, more)
                else:
                    yield from (((*rows, other), (*rows, more)) for other in range(more))


def tight(choice: RankChoice, reach: int) -> RankChoice:
    """The same choice with a small reach, so that clipping takes part."""
    found = replace(choice)
    found.__dict__["windows"] = tuple(replace(window, reach=reach + abs(window.c)) for window in choice.windows)
    return found


@pytest.mark.parametrize("relation", [NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("reach", [None, 1, 12])
def test_no_pair_of_neighbors_tells_a_point_better_than_epsilon(
    relation: NeighborRelation, level: Fraction, reach: int | None
) -> None:
    moved = ONE if relation is NeighborRelation.ADD_REMOVE else TWO
    choice = RankChoice.of((level,), POINTS - 1, moved, relation, epsilon=Fraction(2))
    choice = choice if reach is None else tight(choice, reach)
    assert choice.epsilon <= 2
    losses = [loss(law(choice, 0, one), law(choice, 0, other)) for one, other in neighbors(relation)]
    assert max(losses) <= 2 + 1e-12
    if reach is None and level == Fraction(1, 2):
        louder = replace(choice, scales=tuple(scale / 4 for scale in choice.scales))
        assert max(loss(law(louder, 0, one), law(louder, 0, other)) for one, other in neighbors(relation)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("relation", [NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE])
@pytest.mark.parametrize("level", [Fraction(0), Fraction(1)])
@pytest.mark.parametrize("most", [1, 3])
def test_an_aim_that_follows_the_number_of_rows_costs_nothing(
    relation: NeighborRelation, level: Fraction, most: int
) -> None:
    """Each number of rows around the steps of the aim, with all rows of a unit at once."""
    both = 1 if relation is NeighborRelation.ADD_REMOVE else 2
    moved = Sensitivity(most, both * most, both * most**2)
    choice = RankChoice.of((level,), POINTS - 1, moved, relation, epsilon=Fraction(2))
    assert abs(choice.windows[0].c) > 4  # beyond a quarter of the rows below
    worst = 0.0
    for low, middle, high in itertools.product(range(8), range(3), range(8)):
        rows = (0,) * low + (2,) * middle + (4,) * high
        units = [(0,) * most, (1,) * most, (*(0,) * (most - 1), 4), (4,) * most]
        others = [()] if relation is NeighborRelation.ADD_REMOVE else [(), (4,) * most]
        laws = [law(choice, 0, tuple(sorted((*rows, *other)))) for other in others]
        for unit, second in itertools.product(units, laws):
            worst = max(worst, loss(law(choice, 0, tuple(sorted((*rows, *unit)))), second))
    assert 0.4 < worst <= 2 + 1e-12


@pytest.mark.parametrize("end", [0, 1])
def test_the_end_of_few_rows_is_not_looked_for_at_the_other(end: int, seed: int) -> None:
    """A hundred rows near one end, and noise of eight rows: fifteen scales inside there are none left."""
    grid = RankedCells(Snapped(Column("x"), 0, 10**6, 0, Fraction(1)))
    rows = [{"x": abs(end * 10**6 - 600 * number)} for number in range(100)]
    choice = RankChoice.of(
        (Fraction(end),), grid.width, Sensitivity(4, 4, 16), NeighborRelation.ADD_REMOVE, epsilon=Fraction(1)
    )
    near = np.array(cells_of(replace(grid, windows=windows_of(choice)), rows), dtype=np.int64).reshape(-1, 4)
    found = choose(choice, grid, [near] * 200, ReplayBits(seed))
    assert np.median(np.abs(found[:, 0] - end * 10**6)) < 40_000  # before: the middle of the empty range


def test_the_law_is_that_of_the_rank() -> None:
    """Directly from the definition: the miss of every point, counted row by row."""
    for level in LEVELS:
        choice = RankChoice.of((level,), POINTS - 1, ONE, NeighborRelation.ADD_REMOVE, epsilon=Fraction(3))
        (window,) = choice.windows
        for rows in itertools.combinations_with_replacement(range(POINTS), 4):
            weights = []
            for point in range(POINTS):
                below, equal = sum(row < point for row in rows), rows.count(point)
                miss = int(window.distance(below, equal, len(rows) - below - equal))
                if level in {0, 1}:
                    inside = min(abs(window.c), len(rows) // 4)
                    aim = inside if level == 0 else len(rows) - inside
                    miss = max(0, below - aim, aim - below - equal)
                weights.append(math.exp(-min(miss, window.reach) / choice.scales[0]))
            assert law(choice, 0, rows) == pytest.approx([each / sum(weights) for each in weights], rel=1e-12)


def test_groups_are_laid_out_one_after_the_other() -> None:
    (window,) = RankChoice.of((Fraction(1, 3),), 40, ONE, NeighborRelation.ADD_REMOVE, epsilon=Fraction(9)).windows
    groups = [cells(rows) for rows in ((), (1, 1, 2), (), (POINTS - 1,), (0, 2), ())]
    *together, counts = laid_out(groups, window, 0, POINTS - 1)
    alone = [laid_out([group], window, 0, POINTS - 1) for group in groups]
    assert counts.tolist() == [1, 5, 1, 3, 5, 1] == [int(each[3][0]) for each in alone]
    for place, found in enumerate(together):
        assert found.tolist() == np.concatenate([each[place] for each in alone]).tolist()


def test_cells_outside_the_windows_do_not_matter() -> None:
    left_out = 0
    for level, reach in itertools.product(LEVELS, (1, 2, 5)):
        choice = tight(RankChoice.of((level,), 40, ONE, NeighborRelation.ADD_REMOVE, epsilon=Fraction(40)), reach)
        windowed = replace(GRID, windows=windows_of(choice))
        for rows in itertools.combinations_with_replacement(range(POINTS), 5):
            everything, near = cells(rows), cells(rows, windowed)
            assert len(near) > 0
            for some in (everything, near):
                found = [each.tolist() for each in laid_out([some], choice.windows[0], 0, POINTS - 1)]
                clipped = [min(miss, choice.windows[0].reach) for miss in found[2]]
                runs = [
                    (start, size, miss) for start, size, miss in zip(found[0], found[1], clipped, strict=True) if size
                ]
                if some is everything:
                    wanted = runs
            assert runs == wanted
            left_out += len(everything) - len(near)
    assert left_out > 1000


def test_points_are_drawn_by_their_law(seed: int) -> None:
    rows, draws = (0, 1, 1, 3, 4, 4, 4), 4000
    choice = RankChoice.of((Fraction(1, 2),), POINTS - 1, ONE, NeighborRelation.ADD_REMOVE, epsilon=Fraction(1))
    found = choose(choice, GRID, [cells(rows)] * draws, ReplayBits(seed))
    counts = np.bincount(found[:, 0], minlength=POINTS)
    assert chi_square(counts, law(choice, 0, rows)) < 47.0  # below 1e-9 for four degrees of freedom
    wrong = law(replace(choice, scales=(choice.scales[0] * Fraction(2, 3),)), 0, rows)
    assert chi_square(counts, wrong) > 47.0


def chi_square(counts: Cells, chances: list[float]) -> float:
    wanted = np.array(chances) * counts.sum()
    return float(((counts - wanted) ** 2 / wanted).sum())


def test_the_price_of_several_levels_and_groups_adds_up() -> None:
    moved = Sensitivity(3, 7, 19)  # at most 7 rows, 3 in a group
    levels = tuple(LEVELS)
    for relation in (NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE):
        paid = RankChoice.of(levels, 1000, moved, relation, epsilon=Fraction(1))
        assert paid.epsilon <= 1
        assert paid.epsilon > Fraction(99, 100)
        assert paid.privacy.epsilon(0) <= 1 + 1e-12
        cheap = RankChoice.of(levels, 1000, moved, relation, rho=Fraction(1, 50))
        assert Fraction(99, 5000) < cheap.rho <= Fraction(1, 50)


def test_a_point_misses_its_rank_by_no_more_than_said(seed: int) -> None:
    rows = tuple(range(0, 400, 2))
    grid = RankedCells(Snapped(Column("x"), 0, 399, 0, Fraction(1)))
    choice = RankChoice.of((Fraction(1, 4),), 399, ONE, NeighborRelation.ADD_REMOVE, epsilon=Fraction(1))
    within = choice.rank_error(0, 0.95)
    near = replace(grid, windows=windows_of(choice))
    found = choose(choice, grid, [cells(rows, near)] * 500, ReplayBits(seed))[:, 0]
    misses = [abs(sum(row < point for row in rows) - 50) - 1 for point in found.tolist()]
    assert sum(miss > within for miss in misses) <= 60  # of 500 at 5 percent, more with a probability below 1e-9
    assert sum(miss > within / 8 for miss in misses) > 60


@pytest.mark.parametrize("levels", [("1/2",), ("1/10", "1/2", "9/10")])
def test_of_no_groups_nothing_is_chosen(levels: tuple[str, ...]) -> None:
    """Of unknown keys none may have been released, which must not be an error after the price was paid."""
    asked = tuple(map(Fraction, levels))
    choice = RankChoice.of(asked, POINTS - 1, ONE, NeighborRelation.ADD_REMOVE, epsilon=Fraction(1))
    assert choose(choice, GRID, [], ReplayBits(7)).shape == (0, len(levels))


def renyi(first: list[float], second: list[float], order: float) -> float:
    return math.log(sum(a**order * b ** (1 - order) for a, b in zip(first, second, strict=True))) / (order - 1)


def true_rho(choice: RankChoice, pairs: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> float:
    """The largest divergence over its order, between the laws of all these neighbors."""
    laws = {rows: law(choice, 0, rows) for pair in pairs for rows in pair}
    orders = (1.001, 1.5, 2.0, 4.0, 16.0)
    return max(renyi(laws[a], laws[b], order) / order for a, b in pairs for order in orders)


def _repeated(rows: tuple[int, ...], times: int) -> tuple[int, ...]:
    return tuple(row for row in sorted(rows) for _ in range(times))


@pytest.mark.parametrize("relation", [NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE])
@pytest.mark.parametrize("rows", [1, 3])
def test_no_pair_of_neighbors_tells_a_point_better_than_rho(relation: NeighborRelation, rows: int) -> None:
    """Each unit has so many rows, all alike; of two that are exchanged, all may be in one group."""
    changed = relation is NeighborRelation.CHANGE_ONE
    moved = Sensitivity(rows, 2 * rows, 2 * rows**2) if changed else Sensitivity(rows, rows, rows**2)
    choice = RankChoice.of((Fraction(1, 2),), POINTS - 1, moved, relation, rho=Fraction(1, 4))
    pairs = [(_repeated(one, rows), _repeated(other, rows)) for one, other in neighbors(relation)]
    worst = true_rho(choice, pairs) / 0.25
    assert 0.6 < worst <= 1, worst
    louder = replace(choice, scales=tuple(scale / sqrt_upper(Fraction(2)) for scale in choice.scales))
    assert true_rho(louder, pairs) > 0.25, "the partner: the factor 2 of two units in one group is forgotten"
