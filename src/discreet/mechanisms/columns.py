"""Private columns: every row clamped to public bounds and snapped to a public grid, each on its own.

What is decided before any row is seen, for every statistic:

- a row below the lower bound, or minus infinity, counts as the lower bound; so on the other side;
- NaN, None and whatever is no real number is *missing*: left out, or counted as a value that the statistic names;
- every other row counts as its nearest grid point.

Each row becomes a whole number by a function of that row alone, so that one row more or less, or another one, is all
that two neighbors differ by, and sums of them are exact whatever their order (Casacuberta, Shoemate, Vadhan & Wagaman
2022, arXiv:2207.10635). Types and shapes are public; no value makes anything here raise.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, float_down, float_up, rational, shown
from discreet.mechanisms.additive import read_grid

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number

__all__ = [
    "Clamp",
    "default_grid",
    "exact_sum",
    "points_below",
    "read_bounds",
    "read_column",
    "read_points",
    "whole_numbers",
]

_FLOAT_BITS = 52  # bounds are at most 2**52 steps from 0, so that floats count steps exactly
_MOST_STEPS = 1 << 62
_EXACT_IN_FLOATS = 2.0**53


def read_bounds(bounds: tuple[Number, Number] | None) -> tuple[Fraction, Fraction]:
    """Read a pair of public bounds.

    >>> read_bounds((0, "0.5"))
    (Fraction(0, 1), Fraction(1, 2))
    """
    try:
        lower, upper = bounds  # type: ignore[misc]
    except (TypeError, ValueError):
        msg = (
            f"bounds is {shown(bounds)}; it must be a pair such as bounds=(0, 100): without bounds one row can move "
            "the answer without limit. Take the numbers from outside knowledge, not from the data."
        )
        raise ParameterError(msg) from None
    low, high = rational(lower, name="the lower bound"), rational(upper, name="the upper bound")
    if low >= high:
        msg = f"bounds is ({shown(lower)}, {shown(upper)}); the lower bound must be below the upper one."
        raise ParameterError(msg)
    return low, high


def read_column(values: ArrayLike) -> NDArray[Any]:
    """Read one number per row: arrays by their type, lists row by row.

    Integers stay integers of any size; None and what is no number become NaN. One odd row never changes how another
    one is read, so lists of mixed types become arrays of objects.

    >>> read_column([1, None, "x", 2.5]).tolist()
    [1, nan, nan, 2.5]
    >>> read_column(np.array([True, False])).dtype
    dtype('int64')
    """
    listed = isinstance(values, list | tuple | range)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        array = _objects(values)
    if listed and not _plain(array):
        array = _objects(values)
    if array.ndim != 1 and array.size:
        msg = f"the data have {array.ndim} dimensions; a column has one."
        raise ParameterError(msg)
    if array.dtype.kind == "O":
        return np.array([*map(_number, array.ravel().tolist()), None], dtype=object)[:-1]
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        msg = f"the data are of type {array.dtype}; a column of numbers is needed."
        raise ParameterError(msg)
    return array.ravel() if array.dtype.itemsize >= 8 else array.ravel().astype(f"{array.dtype.kind}8")


def _plain(array: NDArray[Any]) -> bool:
    """Tell whether NumPy read a list without changing a row: all whole, or floats too small to be rounded integers."""
    if array.dtype.kind in "iub":
        return True
    return array.dtype.kind == "f" and not bool((np.abs(array) >= _EXACT_IN_FLOATS).any())


def _objects(values: ArrayLike) -> NDArray[np.object_]:
    rows = list(values)  # type: ignore[arg-type]
    return np.array([*rows, None], dtype=object)[:-1]


def _number(row: object) -> int | float | Fraction:
    """Read one row; what is no real number is missing."""
    if isinstance(row, Integral):
        return int(row)
    if isinstance(row, float | np.floating | Fraction):
        return row if isinstance(row, Fraction) else float(row)
    try:
        return float(row) if isinstance(row, Real) or hasattr(row, "as_tuple") else math.nan  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def whole_numbers(values: ArrayLike) -> bool:
    """Tell whether the data are declared as whole numbers: an array of an integer type. A list declares nothing.

    >>> whole_numbers(np.array([1, 2])), whole_numbers([1, 2])
    (True, False)
    """
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    return kind in tuple("iub")


def default_grid(lower: Fraction, upper: Fraction, *, bits: int, whole: bool = False) -> Grid:
    """Choose a grid from public bounds: about 2**bits steps between them, at most 2**52 from 0, or whole numbers.

    >>> default_grid(Fraction(0), Fraction(1000), bits=10).step
    Fraction(1, 2)
    >>> default_grid(Fraction(0), Fraction(9), bits=9, whole=True).step
    Fraction(1, 1)
    """
    fine = Grid.below(upper - lower, bits=bits)
    if whole and lower.denominator == upper.denominator == 1:
        return fine if fine.step >= 1 else Grid(1)
    farthest = max(abs(lower), abs(upper))
    coarse = Grid.below(farthest, bits=_FLOAT_BITS - 1)
    return fine if fine.step >= coarse.step else coarse


@dataclass(frozen=True, slots=True)
class Clamp:
    """Public bounds on a public grid: rows become whole numbers from 0 (the lower bound) to `width` (the upper one).

    >>> ages = Clamp.of(Fraction(0), Fraction(100), Grid(1))
    >>> ages.steps([-5, 17.3, float("nan"), float("inf"), None]).tolist(), ages.steps([3, None], missing=50).tolist()
    ([0, 17, 100], [3, 50])
    """

    low: int
    high: int
    grid: Grid

    @staticmethod
    def of(lower: Fraction, upper: Fraction, grid: Grid | Number) -> Clamp:
        """Snap the bounds; sensitivities are computed from what comes out."""
        points = read_grid(grid)
        low, high = points.steps(lower), points.steps(upper)
        if low >= high:
            msg = f"the bounds ({lower}, {upper}) are the same point on a grid of {points.step}; take a finer grid."
            raise ParameterError(msg)
        if high - low >= _MOST_STEPS:
            msg = f"the bounds ({lower}, {upper}) are 2**62 or more steps of {points.step} apart; take a coarser grid."
            raise ParameterError(msg)
        return Clamp(low, high, points)

    @property
    def width(self) -> int:
        """How many steps the bounds are apart."""
        return self.high - self.low

    def steps(self, values: ArrayLike, *, missing: int | None = None) -> NDArray[np.int64]:
        """Clamp and snap every row, counted from the lower bound; leave missing rows out, or count them as given."""
        column = read_column(values)
        if column.dtype.kind == "f":
            return self._floats(column.astype(np.float64, copy=False), missing)
        if column.dtype.kind == "O":
            return self._objects(column.tolist(), missing)
        return self._whole(column)

    def _floats(self, column: NDArray[np.float64], missing: int | None) -> NDArray[np.int64]:
        lost = np.isnan(column)
        if missing is None and lost.any():
            column, lost = column[~lost], np.zeros(1, dtype=np.bool_)
        if max(abs(self.low), abs(self.high)) > 1 << (_FLOAT_BITS + 1):  # floats are no finer than such a grid
            return self._objects(column.tolist(), missing)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scaled = np.rint(np.ldexp(column, -self.grid.exponent))
            scaled = np.clip(scaled, self.low, self.high) - self.low
        if missing is not None:
            scaled = np.where(lost, missing, scaled)
        return scaled.astype(np.int64)

    def _objects(self, rows: list[Any], missing: int | None) -> NDArray[np.int64]:
        found = [missing if _is_missing(row) else self._one(row) for row in rows]
        return np.array([each for each in found if each is not None], dtype=np.int64)

    def _one(self, row: float | Fraction) -> int:
        if isinstance(row, float) and math.isinf(row):
            return self.width if row > 0 else 0
        return max(0, min(round(Fraction(row) / self.grid.step) - self.low, self.width))

    def _whole(self, column: NDArray[np.int64] | NDArray[np.uint64]) -> NDArray[np.int64]:
        """Snap integers by shifts of unsigned differences, which are exact wherever the bounds lie."""
        info, exponent = np.iinfo(column.dtype), self.grid.exponent
        first, last = math.ceil(self.low * self.grid.step), math.floor(self.high * self.grid.step)
        below, above = column < max(first, info.min), column > min(last, info.max)
        below, above = below | (first > info.max), above | (last < info.min)
        anchor = max(first, info.min)
        rest = anchor - self.low * self.grid.step  # from the lower bound to the anchor, at least 0
        if max(min(last, info.max) - anchor + rest, rest) >= 2**64 or exponent < -62:  # beyond what 64 bits count
            return self._objects(column.tolist(), None)
        inside = column.astype(np.uint64) - np.uint64(anchor % 2**64)  # modulo 2**64: the true difference
        if exponent <= 0:
            found = (inside << np.uint64(-exponent)) + np.uint64(int(rest / self.grid.step))
        else:
            half = np.uint64(exponent - 1)
            moved = inside + np.uint64(int(rest))
            found = ((moved >> half) + np.uint64(1)) >> np.uint64(1)
        counted: NDArray[np.int64] = np.where(above, self.width, np.where(below, 0, found.astype(np.int64)))
        return np.clip(counted, 0, self.width)

    def point(self, steps: int) -> float | int:
        """Return a grid point by its number, as an integer where the grid has only whole numbers."""
        if self.grid.step >= 1:
            return int((self.low + steps) * self.grid.step)
        return self.grid.value(self.low + steps)

    def sum(self, steps: NDArray[np.int64]) -> int:
        """Add up rows from 0 to `width` exactly."""
        return exact_sum(steps, self.width)


def _is_missing(row: object) -> bool:
    return isinstance(row, float) and math.isnan(row)


def exact_sum(rows: NDArray[np.int64], most: int) -> int:
    """Add up integers of magnitude at most `most`: in blocks that 64 bits hold, which are added without limit.

    >>> exact_sum(np.full(5, 2**62), 2**62) == 5 * 2**62
    True
    """
    block = max(1, (2**63 - 1) // max(most, 1))
    return sum(int(rows[start : start + block].sum()) for start in range(0, rows.size, block))


def read_points(points: Sequence[Number], *, name: str, least: int) -> tuple[Fraction, ...]:
    """Read public points that rise strictly.

    >>> read_points([0, "0.5", 1], name="edges", least=2)
    (Fraction(0, 1), Fraction(1, 2), Fraction(1, 1))
    """
    found = tuple(rational(point, name=f"a number of {name}") for point in points)
    if len(found) < least or any(a >= b for a, b in pairwise(found)):
        msg = f"{name} is {shown(list(points))}; it must hold at least {least} numbers, each above the one before."
        raise ParameterError(msg)
    return found


def points_below(column: NDArray[Any], points: Sequence[Fraction], *, at: bool) -> NDArray[np.int64]:
    """Count for every row how many of the points lie below it, or `at` it too; -1 where the row is missing.

    Comparisons are exact: a float is above a number exactly if it is above the largest float that is not above it.

    >>> points_below(np.array([0.1, 0.5, np.nan]), [Fraction(1, 10), Fraction(1, 2)], at=True).tolist()
    [1, 2, -1]
    """
    if column.dtype.kind == "O":
        found = [-1 if _is_missing(row) else (bisect_right if at else bisect_left)(points, row) for row in column]
        return np.array(found, dtype=np.int64)
    if column.dtype.kind == "f":
        ends = np.array([float_up(point) if at else float_down(point) for point in points])
        places = np.searchsorted(ends, column, side="right" if at else "left")
        return np.where(np.isnan(column), -1, places).astype(np.int64)
    info = np.iinfo(column.dtype)
    whole = [math.ceil(point) if at else math.floor(point) for point in points]
    ends = np.array([max(info.min, min(each, info.max)) for each in whole], dtype=column.dtype)
    places = np.searchsorted(ends, column, side="right" if at else "left").astype(np.int64)
    low, high = sum(each < info.min for each in whole), sum(each > info.max for each in whole)
    return np.clip(places, low, len(whole) - high)
