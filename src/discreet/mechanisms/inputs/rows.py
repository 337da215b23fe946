"""Rows out of containers: what holds them is accepted or refused by its type and its shape alone, which are public.

An array is taken by its declared type. Everything else becomes one Python object per row, so that a row that is
missing never changes how another one is written: pandas, Polars and NumPy turn whole numbers into floats where they
have to hold a null, and floats end at 53 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

__all__ = ["codes", "identity", "is_absent", "listed", "present", "read_rows", "require_numbers"]

_NULLS = frozenset({"NAType", "NaTType"})  # pandas' own, known by name as pandas need not be there
_NEITHER = (str, bytes, bytearray, memoryview)
_POLARS_EXTRA = frozenset({"Boolean", "Null", "Object"})


def read_rows(values: object) -> NDArray[Any] | list[Any]:
    """Return the rows of a column: arrays as they are, all else as a list with one object per row.

    >>> read_rows((1, None, "x")), read_rows(np.ma.array([1, 2], mask=[0, 1]))
    ([1, None, 'x'], [1, None])
    >>> read_rows(np.ones((2, 2)))
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: the data have 2 dimensions; a column has one.
    """
    _require_flat(values)
    if isinstance(values, np.ma.MaskedArray):
        return list(values.tolist())
    if isinstance(values, np.ndarray):
        return np.asarray(values)
    if isinstance(values, Sequence) and not isinstance(values, _NEITHER):
        return list(values)
    dtype = getattr(values, "dtype", None)
    for name in () if isinstance(dtype, np.dtype) else ("tolist", "to_list", "to_pylist"):
        if hasattr(values, name):
            return list(getattr(values, name)())
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        _require_flat(array)
        return array
    msg = f"the data are of type {type(values).__name__}; a column is a list, a tuple, an array or a series."
    raise ParameterError(msg)


def _require_flat(values: object) -> None:
    """Refuse tables and single numbers; how many dimensions there are is public."""
    shape = getattr(values, "shape", None)
    dimensions = len(shape) if isinstance(shape, tuple) else getattr(values, "ndim", 1)
    if hasattr(type(values), "num_columns"):  # tables of Arrow
        dimensions = 2
    if dimensions != 1:
        msg = f"the data have {dimensions} dimensions; a column has one."
        raise ParameterError(msg)


def require_numbers(values: object) -> None:
    """Refuse a column whose declared type is none of numbers; a list declares nothing.

    >>> require_numbers(np.array(["a"]))
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: the data are of type <U1; a column of numbers is needed.
    """
    dtype: Any = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype):
        good = dtype.kind in "biufO"
    elif hasattr(dtype, "is_numeric"):
        good = dtype.is_numeric() or str(dtype) in _POLARS_EXTRA
    elif hasattr(dtype, "kind"):
        good = dtype.kind in "biuf" or getattr(dtype, "type", None) is Decimal
    else:
        good = True
    if not good:
        msg = f"the data are of type {dtype}; a column of numbers is needed."
        raise ParameterError(msg)


def is_absent(row: object) -> bool:
    """Tell whether a row holds no value at all: None, NaN of any type, a null of pandas, a masked cell.

    >>> [is_absent(row) for row in (None, np.float32("nan"), Decimal("nan"), np.datetime64("NaT"), "nan", 0)]
    [True, True, True, True, False, False]
    """
    if isinstance(row, np.ndarray) and row.ndim == 0:
        row = None if np.ma.getmaskarray(row).any() else row.item()
    if row is None or type(row).__name__ in _NULLS:
        return True
    if isinstance(row, np.datetime64 | np.timedelta64):
        return bool(np.isnat(row))
    if isinstance(row, Decimal):
        return row.is_nan()
    return isinstance(row, float | complex | np.inexact) and bool(np.isnan(row))


def present(values: object) -> int:
    """Count the rows that are there.

    >>> present([1, None, float("nan"), "x"]), present(np.array([1.5, np.nan]))
    (2, 1)
    """
    rows = read_rows(values)
    if isinstance(rows, np.ndarray) and rows.dtype.kind != "O":
        if rows.dtype.kind in "fc":
            return int(rows.size - np.isnan(rows).sum())
        return int(rows.size - (np.isnat(rows).sum() if rows.dtype.kind in "mM" else 0))
    return sum(not is_absent(row) for row in rows)


def listed(values: object, *, name: str = "value") -> list[Any]:
    """Return rows that need not be numbers, one object each, from a column or from anything that holds them one by one.

    >>> listed({"a": 1}.keys()), listed("ab"), listed(np.array([1.5]))
    (['a'], ['a', 'b'], [1.5])
    """
    if not isinstance(values, Iterable) or (isinstance(values, np.ndarray) and values.ndim == 0):
        kind = type(values).__name__
        msg = f"{name} is of type {kind}; it must hold the values, one per row, as a list or an array."
        raise ParameterError(msg)
    _require_flat(values)
    if isinstance(values, np.ndarray) and values.dtype.kind not in "mM":  # a date as a number would hide a null
        return list(values.tolist())
    return list(values.to_pylist() if hasattr(values, "to_pylist") else values)


def codes(rows: Iterable[object], categories: Iterable[Hashable]) -> NDArray[np.int64]:
    """Number rows by public categories; -1 where a row equals none of them.

    Each row is looked up by itself and never held against another one: where equality is no equivalence, as between
    some numbers of NumPy and of Python, a row could otherwise change what its neighbors are counted as. Dates and times
    are compared as moments, whichever library made them; a date is its midnight.

    >>> codes(["b", "c", ["a"]], "ab").tolist()
    [1, -1, -1]
    """
    numbers = {_moment(_plain(category)): number for number, category in enumerate(categories)}

    def code(row: object) -> int:
        try:
            return numbers.get(_moment(_plain(row)), -1)
        except Exception:  # noqa: BLE001  a row that cannot be hashed or compared equals no category
            return -1

    with np.errstate(all="ignore"):
        return np.array([code(row) for row in rows], dtype=np.int64)


def _plain(row: object) -> Any:  # noqa: ANN401  a row can be anything
    """Return a scalar of NumPy as Python's: its comparisons round numbers, and would make unequal ones equal to it."""
    return row.item() if isinstance(row, np.generic) and not isinstance(row, np.datetime64 | np.timedelta64) else row


def _moment(row: Any) -> Any:  # noqa: ANN401  a row can be anything
    """Return times of NumPy as Python's where that is exact, a date as its midnight, and all else as it is."""
    if isinstance(row, np.datetime64 | np.timedelta64):
        try:
            whole = row.astype(f"{row.dtype.kind}8[us]")
        except TypeError:  # a span of months has no length in days
            return row
        return whole.item() if whole == row and isinstance(whole.item(), datetime | timedelta) else row
    if isinstance(row, date) and not isinstance(row, datetime):
        return datetime(row.year, row.month, row.day)  # noqa: DTZ001  a date has no zone
    return row


def identity(row: object) -> Hashable:
    """Return what tells a row from others, made from this row alone; None where it is absent or cannot be hashed.

    Numbers are compared by their exact value, whatever their type, texts and bytes by their characters, tuples and
    frozen sets by what is in them, and everything else by its type and its hash. Equality of such values is an
    equivalence, as that of rows need not be.

    >>> identity(1.0) == identity(np.int8(1)) == identity(True), identity([1]), identity(float("nan"))
    (True, None, None)
    """
    try:
        with np.errstate(all="ignore"):
            return None if is_absent(row) else _identity(row)
    except Exception:  # noqa: BLE001  whatever a private row makes Python raise
        return None


def _identity(row: object) -> Hashable:
    plain = _plain(row)
    if is_absent(plain):
        return "absent", None
    for kind, exact in _EXACT.items():
        if isinstance(plain, kind):
            return exact(plain)
    if isinstance(plain, tuple):
        return "tuple", tuple(_identity(part) for part in plain)
    if isinstance(plain, frozenset):
        return "set", frozenset(_identity(part) for part in plain)
    return type(plain), hash(plain)


_EXACT: dict[type[Any], Callable[[Any], Hashable]] = {  # Python compares numbers of these types by their exact values
    int: lambda row: ("number", int.__int__(row)),
    float: lambda row: ("number", float.__float__(row)),
    complex: lambda row: ("number", complex.__pos__(row)),
    Decimal: lambda row: ("number", Decimal(row)),
    Fraction: lambda row: ("number", Fraction(row.numerator, row.denominator)),
    np.floating: lambda row: ("number", Fraction(*row.as_integer_ratio()) if np.isfinite(row) else float(row)),
    str: lambda row: ("text", str.__str__(row)),
    bytes: lambda row: ("bytes", bytes(row)),
}
