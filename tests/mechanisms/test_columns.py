"""Columns: every row on its own, whatever the type of the array around it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact import Grid
from discreet.mechanisms.columns import Clamp, default_grid, exact_sum, read_column


def one_by_one(clamp: Clamp, row: Any) -> int | None:  # noqa: ANN401  a row may be anything
    """Clamp and snap one row, from the definition; None where it is missing."""
    if isinstance(row, str | None) or (isinstance(row, float) and math.isnan(row)):
        return None
    if isinstance(row, float) and math.isinf(row):
        return clamp.width if row > 0 else 0
    return max(0, min(round(Fraction(row) / clamp.grid.step) - clamp.low, clamp.width))


def close(clamp: Clamp, rows: list[Any], found: list[int]) -> bool:
    """Equal, but for halves between two grid points, which integers round up and floats to even."""
    kept = [(row, one_by_one(clamp, row)) for row in rows if one_by_one(clamp, row) is not None]

    def agrees(row: Any, wanted: int | None, seen: int) -> bool:  # noqa: ANN401
        if wanted == seen:
            return True
        return abs((wanted or 0) - seen) == 1 and (Fraction(row) / clamp.grid.step).denominator == 2

    return len(kept) == len(found) and all(agrees(*pair, seen) for pair, seen in zip(kept, found, strict=True))


BOUNDS = st.tuples(st.integers(-(2**64), 2**64), st.integers(1, 2**50)).map(lambda t: (t[0], t[0] + t[1]))
STEPS = st.integers(-10, 40).map(lambda e: Grid(Fraction(2) ** e))


@given(BOUNDS, STEPS, st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_whole_numbers_of_64_bits(bounds: tuple[int, int], grid: Grid, rows: list[int]) -> None:
    lower, upper = Fraction(bounds[0]), Fraction(bounds[1])
    if grid.steps(lower) < grid.steps(upper):
        clamp = Clamp.of(lower, upper, grid)
        for kind in (np.int64, np.uint64):
            column = np.array([row % 2**63 if kind is np.uint64 else row for row in rows], dtype=kind)
            assert close(clamp, column.tolist(), clamp.steps(column).tolist())


@given(st.lists(st.one_of(st.floats(), st.none(), st.integers(), st.text(max_size=2), st.booleans())))
def test_lists_of_anything(rows: list[Any]) -> None:
    clamp = Clamp.of(Fraction(-8), Fraction(100), Grid("0.25"))
    assert close(clamp, rows, clamp.steps(rows).tolist())
    filled = clamp.steps(rows, missing=5)
    assert filled.size == len(rows)


@given(st.lists(st.floats()), st.integers(-900, 900))
def test_floats_of_any_size(rows: list[float], exponent: int) -> None:
    grid = Grid(Fraction(2) ** exponent)
    clamp = Clamp.of(-5 * grid.step, 1000 * grid.step, grid)
    assert close(clamp, rows, clamp.steps(np.array(rows, dtype=np.float64)).tolist())
    assert ((clamp.steps(rows) >= 0) & (clamp.steps(rows) <= clamp.width)).all()


def test_one_odd_row_changes_no_other() -> None:
    """NumPy reads [2**60 + 1, 0.5] as floats, which would round the first row because of the second."""
    clamp = Clamp.of(Fraction(2**60), Fraction(2**60 + 8), Grid(1))
    for other in ([], [0.5], [None], ["x"], [2**80]):
        assert clamp.steps([2**60 + 1, *other])[0] == 1


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
