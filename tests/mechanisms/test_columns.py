"""Columns: every row on its own, whatever the type of the array around it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact import Grid
from discreet.mechanisms.inputs.columns import Clamp, default_grid, exact_sum, points_below, read_column


def one_by_one(clamp: Clamp, row: Any) -> int | None:  # noqa: ANN401  a row may be anything
    """Clamp and snap one row, from the definition; None where it is missing."""
    if isinstance(row, str | None) or (isinstance(row, float) and math.isnan(row)):
        return None
    if isinstance(row, float) and math.isinf(row):
        return clamp.width if row > 0 else 0
    return max(0, min(round(Fraction(row) / clamp.grid.step) - clamp.low, clamp.width))


def agrees(clamp: Clamp, rows: list[Any], found: list[int]) -> bool:
    """Tell whether every row became what it becomes alone; halves between two grid points go to the even one."""
    wanted = [one_by_one(clamp, row) for row in rows]
    return [each for each in wanted if each is not None] == found


BOUNDS = st.tuples(st.integers(-(2**64), 2**64), st.integers(1, 2**50)).map(lambda t: (t[0], t[0] + t[1]))
STEPS = st.integers(-10, 40).map(lambda e: Grid(Fraction(2) ** e))


@given(BOUNDS, STEPS, st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_whole_numbers_of_64_bits(bounds: tuple[int, int], grid: Grid, rows: list[int]) -> None:
    lower, upper = Fraction(bounds[0]), Fraction(bounds[1])
    if grid.steps(lower) < grid.steps(upper):
        clamp = Clamp.of(lower, upper, grid)
        for kind in (np.int64, np.uint64):
            column = np.array([row % 2**63 if kind is np.uint64 else row for row in rows], dtype=kind)
            assert agrees(clamp, column.tolist(), clamp.steps(column).tolist())


@pytest.mark.slow
@given(st.lists(st.one_of(st.floats(), st.none(), st.integers(), st.text(max_size=2), st.booleans())))
def test_lists_of_anything(rows: list[Any]) -> None:
    clamp = Clamp.of(Fraction(-8), Fraction(100), Grid("0.25"))
    assert agrees(clamp, rows, clamp.steps(rows).tolist())
    filled = clamp.steps(rows, missing=5)
    assert filled.size == len(rows)


@given(st.lists(st.floats()), st.integers(-900, 900))
def test_floats_of_any_size(rows: list[float], exponent: int) -> None:
    grid = Grid(Fraction(2) ** exponent)
    clamp = Clamp.of(-5 * grid.step, 1000 * grid.step, grid)
    assert agrees(clamp, rows, clamp.steps(np.array(rows, dtype=np.float64)).tolist())
    assert ((clamp.steps(rows) >= 0) & (clamp.steps(rows) <= clamp.width)).all()


def test_one_odd_row_changes_no_other() -> None:
    """NumPy reads [2**60 + 1, 0.5] as floats, which would round the first row because of the second."""
    clamp = Clamp.of(Fraction(2**60), Fraction(2**60 + 8), Grid(1))
    for other in ([], [0.5], [None], ["x"], [2**80]):
        assert clamp.steps([2**60 + 1, *other])[0] == 1


ROWS = st.one_of(
    st.floats(),
    st.none(),
    st.integers(),
    st.integers(-40, 240),
    st.sampled_from([2.5, 0.5, 1.5, 5, 7, 3, 2**53 - 1, -(2**53), 2**53 + 1, 2.0**53 - 1]),
)


@given(st.lists(ROWS), ROWS, st.integers(-3, 4))
def test_no_row_changes_another(rows: list[Any], odd: Any, exponent: int) -> None:  # noqa: ANN401
    """A row more adds its own steps, whatever path the types of the others choose."""
    grid = Grid(Fraction(2) ** exponent)
    for bounds in ((-24, 104), (-(2**53), 2**53 - 8)):
        clamp = Clamp.of(Fraction(bounds[0]), Fraction(bounds[1]), grid)
        alone = [clamp.steps([row]).tolist() for row in rows]
        without = clamp.steps(rows).tolist()
        assert without == [step for each in alone for step in each]
        assert clamp.steps([*rows, odd]).tolist() == without + clamp.steps([odd]).tolist()


@given(st.lists(st.integers(-(2**53), 2**53)), st.integers(-3, 70))
def test_all_paths_round_alike(rows: list[int], exponent: int) -> None:
    """Whole numbers as 64-bit integers, as floats and as objects; with halves among them."""
    grid = Grid(Fraction(2) ** exponent)
    rows = [*rows, *(int(k * grid.step / 2) for k in range(-5, 6))]
    clamp = Clamp.of(-3 * grid.step, 3 * grid.step, grid)
    whole = [row for row in rows if -(2**63) <= row < 2**63]
    kinds = [np.array(whole, dtype=np.int64), np.array(whole, dtype=object), np.array(whole, dtype=np.float64)]
    assert all(agrees(clamp, column.tolist(), clamp.steps(column).tolist()) for column in kinds)
    naturals = np.array([row for row in whole if row >= 0], dtype=np.uint64)
    assert agrees(clamp, naturals.tolist(), clamp.steps(naturals).tolist())


def test_rounding_halves_up_is_noticed() -> None:
    """The check above rejects integers whose halves go up while those of floats go to the even point."""
    clamp = Clamp.of(Fraction(0), Fraction(100), Grid(2))
    rows = [1, 3, 5, 7]
    assert agrees(clamp, rows, clamp.steps(rows).tolist())
    assert not agrees(clamp, rows, [(row + 1) >> 1 for row in rows])


@pytest.mark.parametrize("lower", [-(2**61), -(2**54), 0, 2**40])
def test_naturals_with_bounds_far_below(lower: int) -> None:
    clamp = Clamp.of(Fraction(lower), Fraction(2**41), Grid(1))
    column = np.array([0, 1, 2**40 + 3, 2**64 - 1], dtype=np.uint64)
    assert agrees(clamp, column.tolist(), clamp.steps(column).tolist())


def test_no_integer_between_the_bounds() -> None:
    clamp = Clamp.of(Fraction(1, 4), Fraction(3, 4), Grid("0.25"))
    assert clamp.steps(np.array([-5, 0, 1, 9])).tolist() == [0, 0, 2, 2]
    assert clamp.steps(np.array([0, 1, 9], dtype=np.uint8)).tolist() == [0, 2, 2]


def test_a_float_has_at_most_width_steps() -> None:
    clamp = Clamp.of(Fraction(-(2**53)), Fraction(2**53 - 1), Grid(1))
    assert clamp.steps(np.array([2.0**53 - 1, np.inf])).tolist() == [clamp.width] * 2


POINTS = [Fraction(1, 10), Fraction(3, 10), 5 - Fraction(1, 10**30), Fraction(10) ** 400]


@given(st.lists(st.one_of(ROWS, st.sampled_from([0.1, 0.3, 5, 5.0, Decimal("0.1"), Fraction(3, 10)]))))
def test_places_among_points_are_each_rows_own(rows: list[Any]) -> None:
    for at in (True, False):
        alone = [points_below(read_column([row]), POINTS, at=at)[0] for row in rows]
        assert points_below(read_column(rows), POINTS, at=at).tolist() == alone


def test_floats_are_at_the_points_that_look_like_them() -> None:
    rows: list[Any] = [0.1, Decimal("0.1"), 0.3, Fraction(3, 10)]
    for column in (read_column(rows), read_column(rows[::2]), read_column(rows[1::2])):
        places = points_below(column, POINTS, at=True) - points_below(column, POINTS, at=False)
        assert places.tolist() == [1] * len(column)


def test_small_types_are_widened() -> None:
    assert read_column(np.array([1.5], dtype=np.float32)).dtype == np.float64
    assert read_column(np.array([200], dtype=np.uint8)).dtype == np.uint64
    assert read_column(np.array([-3], dtype=np.int8)).dtype == np.int64


@pytest.mark.parametrize("lower, upper", [(0, 1), (-1e6, 1e6), (1e15, 1e15 + 1), (0, 1e-9), (1e200, 1e201)])
def test_default_grids_fit(lower: float, upper: float) -> None:
    low, high = Fraction(lower), Fraction(upper)
    clamp = Clamp.of(low, high, default_grid(low, high, bits=40))
    assert 1 <= clamp.width <= 2**41
    assert max(abs(clamp.low), abs(clamp.high)) <= 2**53


def test_sums_are_exact() -> None:
    rows = np.full(10, 2**62 - 1)
    assert exact_sum(rows, 2**62 - 1) == 10 * (2**62 - 1)
    assert exact_sum(-rows, 2**62 - 1) == -10 * (2**62 - 1)
    assert exact_sum(np.array([], dtype=np.int64), 5) == 0
