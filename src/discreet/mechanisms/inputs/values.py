"""Private numbers that a caller holds: each read by itself, exactly, and without an error that depends on it.

What is decided before any number is seen: NaN, None, the nulls of other libraries, masked cells and, in lists and
arrays of objects, whatever else is no real number are *missing*, and each mechanism says what a missing number counts
as. The type of an array, the number of its dimensions and its size are public.
"""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms.inputs.rows import is_absent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Grid

__all__ = [
    "FARTHEST",
    "as_given",
    "exact_integers",
    "is_integer",
    "limited",
    "private_number",
    "quietly",
    "read_pair",
    "snapped",
    "unmasked",
    "whole_number",
]

FARTHEST = (1 << 62) - 1
"""Values, and sums with noise, are clamped to this many steps either side of 0.

Clamping values moves no two neighbors further apart, and clamping sums is post-processing. Noise held in 64 bits ends
at 2**63 - 1, and a value of at most 2**62 - 1 with such noise is beyond 2**62 - 1 in any case: the law is that of
unbounded noise, clamped.
"""

_FAR = 1000  # decimal digits: beyond all grids
_DOUBLE = 8  # bytes: wider floats are read exactly


def private_number(value: object) -> float | Fraction:
    """Read one number exactly: a fraction, an infinity, or NaN where it is missing or no real number. Never raises.

    Decimals beyond 10**1000 are infinite and their inverses 0, before they fill memory.

    >>> private_number(np.float32(0.5)), private_number(None), private_number(Decimal("-1e999999"))
    (Fraction(1, 2), nan, -inf)
    """
    try:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = None if np.ma.getmaskarray(value).any() else value.item()
        return _number(value) if isinstance(value, Real | Decimal | np.bool_) else math.nan
    except Exception:  # noqa: BLE001  what a private value can do is unknown
        return math.nan


def _number(value: Real | Decimal | np.bool_) -> float | Fraction:
    if isinstance(value, np.timedelta64):  # NumPy counts it among the integers
        return math.nan
    if isinstance(value, Integral | np.bool_):
        return Fraction(int(value))
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, Fraction):
        return Fraction(value.numerator, value.denominator)
    number = value if isinstance(value, np.floating) else float(value)
    return Fraction(*number.as_integer_ratio()) if np.isfinite(number) else float(number)


def _decimal(value: Decimal) -> float | Fraction:
    if value.is_nan():
        return math.nan
    if value.is_infinite() or value.adjusted() > _FAR:
        return -math.inf if value.is_signed() else math.inf
    return Fraction(0) if value.adjusted() < -_FAR else Fraction(value)


def whole_number(value: object) -> int:
    """Read one count: rounded down, below 2**62 on either side, and 0 where it is missing.

    >>> whole_number(3), whole_number(2.9), whole_number(2**70) == 2**62 - 1, whole_number(None)
    (3, 2, True, 0)
    """
    number = private_number(value)
    if isinstance(number, float):
        return 0 if math.isnan(number) else FARTHEST if number > 0 else -FARTHEST
    return limited(math.floor(number))


def limited(steps: int) -> int:
    """Clamp a whole number to below 2**62 on either side.

    >>> limited(-(2**70)) == 1 - 2**62
    True
    """
    return max(-FARTHEST, min(steps, FARTHEST))


@contextmanager
def quietly() -> Iterator[None]:
    """Show no warning that private numbers give rise to, in functions of a caller too: it would be a release.

    >>> with quietly():
    ...     float(np.array([1.0]).mean() / np.float64(0))
    inf
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def unmasked(value: ArrayLike) -> ArrayLike:
    """Return an array whose masked cells are None: what lies under a mask is not shown, with noise or without.

    >>> unmasked(np.ma.array([1, 2], mask=[False, True])).tolist()
    [1, None]
    """
    if not isinstance(value, np.ma.MaskedArray):
        return value
    if value.dtype.kind == "V":  # records, whose cells are masked by fields; no mechanism takes them
        return value.data
    cells = np.array(value.data, dtype=object)
    cells[np.ma.getmaskarray(value)] = None
    return cells


def as_given(value: Any) -> Any:  # noqa: ANN401  containers of any library
    """Return numbers of pandas, Polars and Arrow as lists with one object per cell, NumPy's and all else as they are.

    Such containers become arrays by a type that a null changes: whole numbers beside one turn into floats or objects.
    What a column is declared as in NumPy's own types is public and stays.

    >>> import polars as pl
    >>> as_given(pl.Series([2**60 + 1, None])), as_given((1, 2))
    ([1152921504606846977, None], (1, 2))
    """
    value = unmasked(value)
    if isinstance(getattr(value, "dtype", None), np.dtype) or isinstance(value, np.generic):
        return value
    if hasattr(value, "itertuples"):  # a frame of pandas
        return list(value.itertuples(index=False, name=None))
    if hasattr(type(value), "num_columns"):  # a table of Arrow
        return list(zip(*(column.to_pylist() for column in value.columns), strict=True))
    if hasattr(value, "rows") and hasattr(value, "__array__"):  # a frame of Polars
        return value.rows()
    for name in ("to_pylist", "to_list", "tolist") if hasattr(value, "__array__") else ():
        if hasattr(value, name):
            return getattr(value, name)()
    return value


def read_pair(value: object, said: str) -> tuple[Any, Any]:
    """Read a value that is a pair; `said` names its two parts.

    >>> read_pair(5, "value, distance")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: value is of type int; it must be the pair (value, distance).
    """
    given: Any = value
    try:
        first, second = given
    except (TypeError, ValueError):
        msg = f"value is of type {type(value).__name__}; it must be the pair ({said})."
        raise ParameterError(msg) from None
    return first, second


def is_integer(value: object) -> TypeGuard[int]:
    """Tell a single whole number from all else; NumPy counts spans of time among the integers.

    >>> [is_integer(each) for each in (3, np.int8(3), True, np.timedelta64(3), 3.0)]
    [True, True, False, False, False]
    """
    return isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)


def snapped(value: ArrayLike | Fraction | Decimal, grid: Grid) -> int | NDArray[np.int64]:
    """Round numbers to the nearest grid points, counted in steps; total, so that no error depends on a value.

    Each number is rounded by itself, halves to even, from its exact value: a float beside a large integer does not make
    a float of it. From 2**62 steps on values are clamped; infinities too; what is missing counts as 0.

    >>> from discreet.exact import Grid
    >>> snapped(0.7, Grid("1/4")), snapped([float("nan"), 1e300, "x"], Grid(1)).tolist() == [0, 2**62 - 1, 0]
    (3, True)
    """
    if isinstance(value, Fraction | Decimal) or is_integer(value):
        return _one_snapped(value, grid)
    array = _numbers(value)
    if array.dtype.kind == "O":
        steps = np.array([_one_snapped(number, grid) for number in array.ravel()], dtype=np.int64).reshape(array.shape)
    elif array.dtype.kind == "i":
        steps = _snapped_integers(array.astype(np.int64), grid)
    else:
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(np.nan_to_num(array.astype(np.float64), nan=0.0), -grid.exponent)
        steps = np.rint(np.clip(scaled, -(2.0**62), 2.0**62)).astype(np.int64)
        steps = np.clip(steps, -FARTHEST, FARTHEST)
    return int(steps) if np.ndim(steps) == 0 else steps


def _numbers(value: ArrayLike) -> NDArray[Any]:
    """Read real numbers as signed integers, as floats, or each as it is; types and shapes are public."""
    value = as_given(value)
    try:
        with quietly():
            array = np.asarray(value)
            if array.dtype.kind != "i" and not isinstance(getattr(value, "dtype", None), np.dtype):
                array = _unmixed(value, array)
    except (TypeError, ValueError):
        array = np.empty(0, dtype="U1")
    if array.dtype.kind == "u" or (array.dtype.kind == "f" and array.dtype.itemsize > _DOUBLE):
        array = array.astype(object)
    single = array.dtype.kind == "O" and array.ndim == 0 and not _is_number(array.item())
    nested = array.dtype.kind == "O" and any(_is_nested(number) for number in array.ravel())
    if array.dtype.kind not in "ifO" or single or nested:
        msg = "value must be a real number, or a list or array of them, of one length in each dimension."
        raise ParameterError(msg)
    return array


def _unmixed(value: ArrayLike, array: NDArray[Any]) -> NDArray[Any]:
    """Return each number as it was given where NumPy made others of them, as floats of [2**60 + 1, 0.5]."""
    given = np.array(value, dtype=object)
    same = array.dtype.kind == "f" and all(isinstance(number, float) for number in given.ravel())
    return array if same else given


def _is_number(value: object) -> bool:
    return is_absent(value) or isinstance(value, Integral | Fraction | Decimal | float | np.floating)


def _is_nested(value: object) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _one_snapped(value: object, grid: Grid) -> int:
    """Snap one number of any type, by its exact value."""
    number = private_number(value)
    if isinstance(number, float):
        return 0 if math.isnan(number) else FARTHEST if number > 0 else -FARTHEST
    return limited(round(number / grid.step))


def _snapped_integers(array: NDArray[np.int64], grid: Grid) -> NDArray[np.int64]:
    """Snap integers without passing through floats, halves to even."""
    exponent = grid.exponent
    if exponent <= 0:
        most = FARTHEST >> -exponent
        steps: NDArray[np.int64] = np.clip(array, -most, most) << min(-exponent, 61)
        beyond: NDArray[np.int64] = np.where(array > most, FARTHEST, np.where(array < -most, -FARTHEST, steps))
        return beyond
    if exponent > 63:  # 2**63 is half a step at most
        return np.zeros_like(array)
    down, rest, half = array >> exponent, array & ((1 << exponent) - 1), 1 << (exponent - 1)
    rounded: NDArray[np.int64] = down + ((rest > half) | ((rest == half) & (down & 1 == 1)))
    return np.clip(rounded, -FARTHEST, FARTHEST)


def exact_integers(value: ArrayLike | Fraction) -> NDArray[np.int64]:
    """Read integers as 64-bit ones, clamped to below 2**62; what is missing counts as 0, other types are refused.

    Whether a list holds whole numbers is public, as it is declared for an array: rounding others would move neighbors
    apart by more than a sensitivity that was stated for whole numbers.

    >>> exact_integers([1, 2**70, None]).tolist() == [1, 2**62 - 1, 0]
    True
    """
    value = as_given(value)
    try:
        with quietly():
            array = np.asarray(value)
            if array.dtype.kind not in "iu" and array.size and not isinstance(getattr(value, "dtype", None), np.dtype):
                array = np.array(value, dtype=object)  # (2**63, -1) becomes floats in NumPy
    except (TypeError, ValueError):
        array = np.array(["of unequal lengths"])
    single = array.ndim == 0 and isinstance(array.item(), bool)
    if array.dtype.kind == "O" and not single and all(_is_whole(number) for number in array.ravel()):
        return np.array([whole_number(number) for number in array.ravel()], dtype=np.int64).reshape(array.shape)
    if array.dtype.kind not in "iu" and array.size:
        msg = (
            "value must be a whole number, or a list or array of them. For other numbers use a mechanism on a grid, "
            "such as Laplace or Gaussian."
        )
        raise ParameterError(msg)
    if array.dtype.kind == "u":
        array = np.minimum(array, np.uint64(FARTHEST))
    whole: NDArray[np.int64] = np.clip(array.astype(np.int64), -FARTHEST, FARTHEST)
    return whole


def _is_whole(value: object) -> bool:
    return is_absent(value) or isinstance(value, Integral | np.bool_)
