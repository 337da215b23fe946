"""Casts, all of them total: what cannot be read is NULL."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.plans.expressions.arithmetic import as_floats, held, numeric_facts
from discreet.plans.expressions.expression import Facts, Strict, refuse_kinds
from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.kinds import INT64, LONGEST_TEXT, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.tables.kinds import Value

__all__ = ["Cast", "without_zone"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?")
_DAY = 24 * 60 * 60 * 10**6


def _whole(value: float) -> Value:
    """Round to the nearest integer, halves to even; NULL beyond 64 bits."""
    return round(value) if abs(value) < 2.0**63 else None


def _read_date(text: str) -> Value:
    try:
        return dt.date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def _read_timestamp(text: str) -> Value:
    if _DATE.fullmatch(text):
        text += " 00:00:00"
    if not _TIMESTAMP.fullmatch(text):
        return None
    whole, point, fraction = text.partition(".")
    try:
        return dt.datetime.fromisoformat(whole + point + fraction.ljust(6, "0") if point else whole)
    except ValueError:
        return None


_UTC = re.compile(r"(?<=[0-9])( ?UTC|Z|[+-]00(:?00)?)$")


def without_zone(text: str) -> str:
    """Leave out that a constant is in UTC: there are no zones here.

    >>> without_zone("2024-02-01T00:00:00Z"), without_zone("2024-02-01 00:00:00+02")
    ('2024-02-01T00:00:00', '2024-02-01 00:00:00+02')
    """
    return _UTC.sub("", text)


_MEANING: dict[tuple[Kind, Kind], Callable[..., Value]] = {
    (Kind.BOOLEAN, Kind.INTEGER): int,
    (Kind.BOOLEAN, Kind.TEXT): lambda x: "true" if x else "false",
    (Kind.INTEGER, Kind.BOOLEAN): lambda x: x != 0,
    (Kind.INTEGER, Kind.FLOAT): float,
    (Kind.INTEGER, Kind.TEXT): str,
    (Kind.FLOAT, Kind.INTEGER): _whole,
    (Kind.TEXT, Kind.INTEGER): lambda x: int(x) if _INTEGER.fullmatch(x) else None,
    (Kind.TEXT, Kind.FLOAT): lambda x: float(x) if _FLOAT.fullmatch(x) else None,
    (Kind.TEXT, Kind.BOOLEAN): {"true": True, "false": False}.get,
    (Kind.TEXT, Kind.DATE): _read_date,
    (Kind.TEXT, Kind.TIMESTAMP): _read_timestamp,
    (Kind.DATE, Kind.TEXT): dt.date.isoformat,
    (Kind.DATE, Kind.TIMESTAMP): lambda x: dt.datetime.combine(x, dt.time()),
    (Kind.TIMESTAMP, Kind.DATE): dt.datetime.date,
}
"""What each cast means. Others are refused: a float as text, for one, is printed differently by every engine."""


@dataclass(frozen=True, slots=True)
class Cast(Strict):
    """x as another kind; texts are read in one spelling only, everything else is NULL.

    Integers: an optional sign and up to 18 digits. Floats: up to 18 digits before a point and 24 after, an exponent of
    up to two digits. Dates: YYYY-MM-DD. Timestamps: the same, a space or T, HH:MM:SS, up to six decimals; or a date.
    Truth values: true, false. A float becomes the nearest integer, halves to even.

    >>> Cast((), Kind.INTEGER).apply("12x") is None, Cast((), Kind.INTEGER).apply(2.5)
    (True, 2)
    """

    symbol: ClassVar[str] = "cast"

    kind: Kind

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """Numbers keep their interval; what is read from a text has none."""
        facts, pair = given[0], (given[0].kind, self.kind)
        if facts.kind is self.kind:
            return facts.computed()
        if pair not in _MEANING:
            refuse_kinds("CAST", f"{facts.kind.value} cannot be cast to {self.kind.value}")
        if pair == (Kind.INTEGER, Kind.FLOAT):
            return numeric_facts(Kind.FLOAT, as_floats(facts), nullable=facts.nullable)
        if pair == (Kind.FLOAT, Kind.INTEGER):
            return _rounded(facts)
        if pair == (Kind.BOOLEAN, Kind.INTEGER):
            return Facts(Kind.INTEGER, Bounds(0, 1), facts.nullable)
        if pair in {(Kind.DATE, Kind.TIMESTAMP), (Kind.TIMESTAMP, Kind.DATE)}:
            return Facts(self.kind, _in_days(facts.bounds, self.kind), facts.nullable)
        length = _written(facts) if self.kind is Kind.TEXT else LONGEST_TEXT
        return Facts(self.kind, UNBOUNDED, nullable=facts.nullable or facts.kind is Kind.TEXT, length=length)

    def compute(self, *values: Value) -> Value:
        """Read or convert."""
        value = values[0]
        if Kind.of(value) is self.kind:
            return value
        return _MEANING[Kind.of(value), self.kind](value)


def _written(facts: Facts) -> int:
    """How long the text of a value is: true or false, YYYY-MM-DD, or digits with a sign; ends are the longest."""
    if facts.kind is Kind.INTEGER:
        held = facts.bounds if facts.bounds.finite else INT64
        return max(len(str(int(end))) for end in (held.lower, held.upper) if end is not None)
    return len("false") if facts.kind is Kind.BOOLEAN else len("2024-02-01")


def _rounded(facts: Facts) -> Facts:
    """The interval of a float rounded to integers; NULL where it leaves 64 bits."""
    bounds = held(facts)
    low = None if bounds.lower is None else Fraction(round(bounds.lower))
    high = None if bounds.upper is None else Fraction(round(bounds.upper))
    rounded = Bounds(low, high)
    inside = rounded.within(INT64)
    return Facts(Kind.INTEGER, rounded if inside else UNBOUNDED, nullable=facts.nullable or not inside)


def _in_days(bounds: Bounds, kind: Kind) -> Bounds:
    """Turn days into microseconds, or microseconds into the days that they lie in."""

    def turned(end: Fraction | None) -> Fraction | None:
        if end is None:
            return None
        return end * _DAY if kind is Kind.TIMESTAMP else Fraction(end // _DAY)

    return Bounds(turned(bounds.lower), turned(bounds.upper))
