"""Private columns: every row clamped to public bounds and snapped to a public grid, each on its own.

What is decided before any row is seen, for every statistic:

- a row below the lower bound, or minus infinity, counts as the lower bound; so on the other side;
- NaN, None and whatever is no real number is *missing*: left out, or counted as a value that the statistic names;
- every other row counts as its nearest grid point, of two equally near ones the even one.

Each row becomes a whole number by a function of that row alone, so that one row more or less, or another one, is all
that two neighbors differ by, and sums of them are exact whatever their order (Casacuberta, Shoemate, Vadhan & Wagaman
2022, arXiv:2207.10635). Types and shapes are public; no value makes anything here raise.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, counted, rational, shown
from discreet.mechanisms.inputs.parameters import read_grid
from discreet.mechanisms.inputs.rows import read_rows, require_numbers
from discreet.mechanisms.inputs.values import private_number

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
_SHIFTS = 62  # on grids so coarse or so fine, integers of 64 bits are snapped one by one
_FLOATS = frozenset({float, np.float64, type(None)})
_WHOLE = frozenset({int, bool, np.int64, np.bool_})


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

    Integers stay integers of any size, decimals and fractions stay exact; None and what is no number become NaN. One
    odd row never changes how another one is read, so lists of mixed types become arrays of objects.

    >>> read_column([1, None, "x", 2.5]).tolist()
    [1, nan, nan, 2.5]
    >>> read_column(np.array([True, False])).dtype
    dtype('int64')
    """
    require_numbers(values)
    rows = read_rows(values)
    if isinstance(rows, list):
        return _listed(rows)
    require_numbers(rows)
    kind = rows.dtype.kind
    if kind == "b":
        return rows.astype(np.int64)
    if kind == "f":
        with np.errstate(over="ignore"):  # what is beyond all floats is beyond all bounds
            return rows.astype(np.float64, copy=False)
    return _objects(rows.tolist()) if kind == "O" else rows.astype(f"{kind}8", copy=False)


def _listed(rows: list[Any]) -> NDArray[Any]:
    """Read a list: in one go where all rows are of types that NumPy reads one by one alike, else one by one."""
    types = set(map(type, rows))
    if types <= _FLOATS:
        return np.array(rows, dtype=np.float64)  # None becomes NaN
    if types <= _WHOLE:
        try:
            return np.array(rows, dtype=np.int64)
        except OverflowError:
            return _objects(rows)
    return _objects(rows)


def _objects(rows: list[Any]) -> NDArray[np.object_]:
    objects = np.empty(len(rows), dtype=object)
    objects[:] = [_number(row) for row in rows]
    return objects


def _number(row: object) -> int | float | Fraction:
    """Read one row; what is no real number is missing. Never raises: what a row can do is unknown, so all is caught."""
    if isinstance(row, np.ndarray) and row.ndim == 0:
        row = None if np.ma.getmaskarray(row).any() else row.item()
    if isinstance(row, str | None | np.ndarray | np.timedelta64):  # NumPy counts timedelta64 among the integers
        return math.nan
    try:
        if isinstance(row, Integral | np.bool_):
            return int(row)
        if isinstance(row, Fraction):
            return Fraction(row.numerator, row.denominator)
        if isinstance(row, Decimal):
            return private_number(row)
        return float(row) if isinstance(row, Real) else math.nan
    except Exception:  # noqa: BLE001
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
    try:
        fine = Grid.below(upper - lower, bits=bits)
    except ParameterError:
        msg = (
            f"bounds is ({shown(lower)}, {shown(upper)}); the bounds are so close or so far apart that no grid between "
            "2**-1000 and 2**900 lies between them. Count in other units."
        )
        raise ParameterError(msg) from None
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

    @property
    def middle(self) -> Fraction:
        """How many steps the middle of the bounds is above the lower one."""
        return Fraction(self.width, 2)

    def between(self, lower: Fraction, upper: Fraction) -> int:
        """How many steps the grid point nearest to the middle of these bounds, as stated, is above the lower one.

        >>> Clamp.of(Fraction(2, 5), Fraction(17, 5), Grid(1)).between(Fraction(2, 5), Fraction(17, 5))
        2
        """
        return self._one((lower + upper) / 2)

    @property
    def span(self) -> float:
        """How far the snapped bounds are apart."""
        return float(self.width * self.grid.step)

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
            scaled = np.where(lost, self.low, np.clip(scaled, self.low, self.high))
        steps: NDArray[np.int64] = scaled.astype(np.int64) - self.low  # in integers: a difference may need 54 bits
        return steps if missing is None else np.where(lost, missing, steps)

    def _objects(self, rows: list[Any], missing: int | None) -> NDArray[np.int64]:
        steps = [missing if _is_missing(row) else self._one(row) for row in rows]
        return np.array([step for step in steps if step is not None], dtype=np.int64)

    def _one(self, row: float | Fraction) -> int:
        if isinstance(row, float) and math.isinf(row):
            return self.width if row > 0 else 0
        return max(0, min(round(Fraction(row) / self.grid.step) - self.low, self.width))

    def _whole(self, column: NDArray[np.int64] | NDArray[np.uint64]) -> NDArray[np.int64]:
        """Snap integers by shifts of unsigned differences, which are exact wherever the bounds lie."""
        info, finer = np.iinfo(column.dtype), max(0, -self.grid.exponent)
        if abs(self.grid.exponent) >= _SHIFTS:
            return self._objects(column.tolist(), None)
        if self.grid.exponent > 0:
            column = _halved(column, self.grid.exponent)
        first, last = -(-self.low >> finer), self.high >> finer  # the whole numbers between the bounds
        least, most = max(first, int(info.min)), min(last, int(info.max))
        if least > most:  # none of them, or none of this type: every row is on one side
            split = max(int(info.min), min(first, int(info.max)))
            above = column >= split if first <= info.max else np.zeros(column.shape, dtype=np.bool_)
            return np.where(above, self.width, 0).astype(np.int64)
        inside = np.clip(column, least, most).astype(np.uint64) - np.uint64(least % 2**64)  # the true difference
        steps = (inside << np.uint64(finer)).astype(np.int64) + ((least << finer) - self.low)
        return np.where(column > most, self.width, np.where(column < least, 0, steps)).astype(np.int64)

    def point(self, steps: int) -> float | int:
        """Return a grid point by its number, as an integer where the grid has only whole numbers."""
        if self.grid.step >= 1:
            return int((self.low + steps) * self.grid.step)
        return self.grid.value(self.low + steps)

    def sum(self, steps: NDArray[np.int64]) -> int:
        """Add up rows from 0 to `width` exactly."""
        return exact_sum(steps, self.width)


def _halved(column: NDArray[Any], times: int) -> NDArray[Any]:
    """Halve integers so many times and round once, halves to even."""
    one, shift = column.dtype.type(1), column.dtype.type(times)
    floor, rest, half = column >> shift, column & ((one << shift) - one), one << (shift - one)
    rounded: NDArray[Any] = floor + ((rest > half) | ((rest == half) & (floor & one == one))).astype(column.dtype)
    return rounded


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
    try:
        given = list(points)
    except TypeError:
        msg = f"{name} is {shown(points)}; it must be a list of numbers, such as [0, 10, 20]."
        raise ParameterError(msg) from None
    numbers = tuple(rational(point, name=f"a number of {name}") for point in given)
    if len(numbers) < least or any(a >= b for a, b in pairwise(numbers)):
        msg = f"{name} is {shown(given)}; it must hold at least {counted(least, 'number')}, each above the one before."
        raise ParameterError(msg)
    return numbers


def points_below(column: NDArray[Any], points: Sequence[Fraction], *, at: bool) -> NDArray[np.int64]:
    """Count for every row how many of the points lie below it, or `at` it too; -1 where the row is missing.

    A float is compared with the float nearest to the point: a row of 0.1 is at the point 0.1, though neither is a
    tenth. Integers, decimals and fractions are compared exactly. So each row by its own type, whatever the others are.

    >>> points_below(np.array([0.1, 0.5, np.nan]), [Fraction(1, 10), Fraction(1, 2)], at=True).tolist()
    [1, 2, -1]
    >>> points_below(np.array([0.3]), [Fraction(3, 10)], at=False).tolist()
    [0]
    """
    nearest = [_nearest(point) for point in points]
    if column.dtype.kind == "O":
        search = bisect_right if at else bisect_left
        below = [
            -1 if _is_missing(row) else search(nearest if isinstance(row, float) else points, row) for row in column
        ]
        return np.array(below, dtype=np.int64)
    if column.dtype.kind == "f":
        places = np.searchsorted(np.array(nearest), column, side="right" if at else "left")
        return np.where(np.isnan(column), -1, places).astype(np.int64)
    info = np.iinfo(column.dtype)
    whole = [math.ceil(point) if at else math.floor(point) for point in points]
    ends = np.array([max(info.min, min(whole_point, info.max)) for whole_point in whole], dtype=column.dtype)
    places = np.searchsorted(ends, column, side="right" if at else "left").astype(np.int64)
    low, high = (
        sum(whole_point < info.min for whole_point in whole),
        sum(whole_point > info.max for whole_point in whole),
    )
    return np.clip(places, low, len(whole) - high)


def _nearest(point: Fraction) -> float:
    try:
        return float(point)
    except OverflowError:
        return math.inf if point > 0 else -math.inf
