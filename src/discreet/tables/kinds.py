"""The kinds of values that a column may hold, and how a public value of each kind is read."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.tables.bounds import Bounds

__all__ = [
    "EARLIEST",
    "EPOCH",
    "INT64",
    "LARGEST_FLOAT",
    "LATEST",
    "LONGEST_TEXT",
    "SMALLEST_FLOAT",
    "Kind",
    "Value",
    "is_of_kind",
    "is_writable",
    "read_value",
]

Value: TypeAlias = bool | int | float | str | dt.date | dt.datetime | None
"""What one cell may hold; None is SQL's NULL. There is no NaN and no infinity."""

INT64 = Bounds(-(2**63), 2**63 - 1)
"""What an integer may be: 64 bits."""

LARGEST_FLOAT = math.ldexp(1.0, 500)
"""No float is larger: a product or quotient of two such floats is still finite, on every engine."""

SMALLEST_FLOAT = math.ldexp(1.0, -500)
"""No positive float is smaller: a product of two such floats does not underflow, which some engines call an error."""

LONGEST_TEXT = 4096
"""No text has more code points: what a text costs, in memory and in time, is then bounded for every row."""

EARLIEST, LATEST = dt.date(1, 1, 1), dt.date(9999, 12, 31)
"""Dates outside are NULL."""

EPOCH = dt.date(1970, 1, 1)
"""From which dates are counted."""
_MIDNIGHT = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - timestamps here carry no zone
_MICROSECOND = dt.timedelta(microseconds=1)


class Kind(Enum):
    """The type of a column or an expression.

    >>> Kind("integer").numeric, Kind.TEXT.numeric
    (True, False)
    """

    BOOLEAN = "boolean"
    INTEGER = "integer"
    """64 bits; an operation that leaves them gives NULL."""
    FLOAT = "float"
    """A double; NaN is NULL, infinities and everything beyond 2**500 are ±2**500, below 2**-500 is 0."""
    TEXT = "text"
    """Unicode, compared by code point."""
    DATE = "date"
    """From year 1 to year 9999."""
    TIMESTAMP = "timestamp"
    """Microseconds, without a time zone."""

    @property
    def numeric(self) -> bool:
        """Whether arithmetic is defined."""
        return self in {Kind.INTEGER, Kind.FLOAT}

    @property
    def temporal(self) -> bool:
        """Whether date parts are defined."""
        return self in {Kind.DATE, Kind.TIMESTAMP}

    @staticmethod
    def of(value: Value) -> Kind:
        """Return the kind of a value that is not NULL.

        >>> Kind.of(True), Kind.of(dt.date(2024, 1, 1))
        (<Kind.BOOLEAN: 'boolean'>, <Kind.DATE: 'date'>)
        """
        known = _PYTHON.get(type(value))
        if known is None:
            msg = f"a value is of type {type(value).__name__}; columns hold {', '.join(kind.value for kind in Kind)}."
            raise ParameterError(msg)
        return known


_PYTHON: dict[type, Kind] = {
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.FLOAT,
    str: Kind.TEXT,
    dt.date: Kind.DATE,
    dt.datetime: Kind.TIMESTAMP,
}


def is_of_kind(value: Value, kind: Kind) -> bool:
    """Tell whether a cell may stand in a column of a kind; NULL may stand anywhere.

    >>> is_of_kind(None, Kind.DATE), is_of_kind(3, Kind.TEXT), is_of_kind(float("nan"), Kind.FLOAT)
    (True, False, False)
    """
    if value is None:
        return True
    if type(value) not in _PYTHON or Kind.of(value) is not kind:
        return False
    if isinstance(value, float):
        return value == 0 or SMALLEST_FLOAT <= abs(value) <= LARGEST_FLOAT
    return kind is not Kind.INTEGER or INT64.contains(int(value))  # type: ignore[arg-type]  # an integer by its kind


def is_writable(text: str) -> bool:
    r"""Tell whether every engine can be told a text: it is Unicode, without the character 0.

    >>> is_writable("Ärzte"), is_writable("a\0b"), is_writable("\ud800")
    (True, False, False)
    """
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates is no character
        return False


def read_value(value: object, kind: Kind, *, name: str) -> Value:
    """Read one public value, such as a key, as a value of a kind; texts are read as dates where a date is meant.

    >>> read_value("2024-02-01", Kind.DATE, name="lower"), read_value(1, Kind.FLOAT, name="key")
    (datetime.date(2024, 2, 1), 1.0)
    """
    read = _converted(value, kind)
    if read is None or not is_of_kind(read, kind) or (isinstance(read, str) and not is_writable(read)):
        msg = f"{name} is {shown(value)}; it must be a value of kind {kind.value}, such as {_EXAMPLES[kind]}."
        raise ParameterError(msg)
    return read


_EXAMPLES = {
    Kind.BOOLEAN: "true",
    Kind.INTEGER: "12",
    Kind.FLOAT: "0.5",
    Kind.TEXT: '"cardiology"',
    Kind.DATE: "2024-02-01",
    Kind.TIMESTAMP: "2024-02-01T12:00:00",
}


def _converted(value: object, kind: Kind) -> Value:
    """Convert what TOML and Python write for a kind; None if it is something else."""
    try:
        if kind is Kind.DATE and isinstance(value, str):
            return dt.date.fromisoformat(value)
        if kind is Kind.TIMESTAMP and isinstance(value, str):
            return dt.datetime.fromisoformat(value)
        if kind is Kind.FLOAT and isinstance(value, int | float | Fraction | Decimal) and not isinstance(value, bool):
            return float(rational(value))
    except (ValueError, OverflowError):
        return None
    # A time zone would make the same instant two different values.
    zoned = isinstance(value, dt.datetime) and value.tzinfo is not None
    return value if type(value) in _PYTHON and not zoned else None  # type: ignore[return-value]  # by its type


def as_number(value: dt.date | dt.datetime) -> Fraction:
    """Count days (a date) or microseconds (a timestamp) since 1970, the form in which temporal bounds are kept.

    >>> as_number(dt.date(1970, 1, 31))
    Fraction(30, 1)
    """
    if isinstance(value, dt.datetime):
        return Fraction((value - _MIDNIGHT) // _MICROSECOND)
    return Fraction((value - EPOCH).days)


def as_date(days: Fraction | int) -> dt.date:
    """Return the date so many days after 1970-01-01.

    >>> as_date(30)
    datetime.date(1970, 1, 31)
    """
    return EPOCH + dt.timedelta(days=int(days))


def as_timestamp(microseconds: Fraction | int) -> dt.datetime:
    """Return the timestamp so many microseconds after 1970.

    >>> as_timestamp(10**6)
    datetime.datetime(1970, 1, 1, 0, 0, 1)
    """
    return _MIDNIGHT + dt.timedelta(microseconds=int(microseconds))
