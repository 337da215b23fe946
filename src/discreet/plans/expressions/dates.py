"""Parts, truncation and differences of dates and timestamps, in the proleptic Gregorian calendar without zones."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.plans.expressions.expression import ENUMERABLE, Facts, Strict, require_kind
from discreet.plans.refusals import refuse
from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.kinds import Kind, as_date, as_number, as_timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.tables.kinds import Value

__all__ = ["MOMENTS", "PARTS", "UNITS", "AddDays", "AddSeconds", "DatePart", "DateTrunc", "DaysBetween"]

_TEMPORAL = {Kind.DATE, Kind.TIMESTAMP}
_DAY = 24 * 60 * 60 * 10**6  # in microseconds
_LONGEST = (dt.date.max - dt.date.min).days
MOMENTS = Bounds(as_number(dt.date.min) * _DAY, (as_number(dt.date.max) + 1) * _DAY - 1)
"""The first and the last microsecond of the calendar."""


def _midnight(moment: dt.datetime) -> dt.datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


PARTS: dict[str, tuple[int, int, Callable[[dt.datetime], int]]] = {
    "year": (1, 9999, lambda t: t.year),
    "quarter": (1, 4, lambda t: (t.month + 2) // 3),
    "month": (1, 12, lambda t: t.month),
    "day": (1, 31, lambda t: t.day),
    "hour": (0, 23, lambda t: t.hour),
    "minute": (0, 59, lambda t: t.minute),
    "second": (0, 59, lambda t: t.second),
    "dow": (0, 6, lambda t: t.isoweekday() % 7),
    "isodow": (1, 7, lambda t: t.isoweekday()),
    "doy": (1, 366, lambda t: t.timetuple().tm_yday),
    "week": (1, 53, lambda t: t.isocalendar()[1]),
}
"""Each part with its least and largest value. dow: Sunday is 0; isodow: Monday is 1, Sunday 7; week: of ISO 8601."""

UNITS: dict[str, Callable[[dt.datetime], dt.datetime]] = {
    "year": lambda t: _midnight(t).replace(month=1, day=1),
    "quarter": lambda t: _midnight(t).replace(month=(t.month - 1) // 3 * 3 + 1, day=1),
    "month": lambda t: _midnight(t).replace(day=1),
    "week": lambda t: _midnight(t) - dt.timedelta(days=t.weekday()),
    "day": _midnight,
    "hour": lambda t: t.replace(minute=0, second=0, microsecond=0),
    "minute": lambda t: t.replace(second=0, microsecond=0),
}
"""What a timestamp is cut down to; a week starts on Monday (0001-01-01 is one)."""


def _as_timestamp(value: dt.date) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())


def _days(facts: Facts) -> Bounds:
    """The bounds of a date or timestamp in days; a timestamp lies within its days."""
    low, high = facts.bounds.lower, facts.bounds.upper
    if facts.kind is Kind.DATE:
        return facts.bounds
    return Bounds(None if low is None else low // _DAY, None if high is None else high // _DAY)


@dataclass(frozen=True, slots=True)
class DatePart(Strict):
    """EXTRACT(part FROM x), an integer.

    >>> DatePart((), "isodow").apply(dt.date(2023, 1, 1))
    7
    """

    symbol: ClassVar[str] = "date_part"

    part: str

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """The range of the part; years as far as the bounds of x tell."""
        require_kind(given, _TEMPORAL, self.symbol)
        if self.part not in PARTS:
            refuse(f"EXTRACT({self.part} …)", why="This part is not known.", instead=f"one of {', '.join(PARTS)}.")
        low, high, _ = PARTS[self.part]
        bounds = Bounds(low, high)
        days = _days(given[0])
        if self.part == "year" and days.lower is not None and days.upper is not None:
            bounds = Bounds(as_date(days.lower).year, as_date(days.upper).year)
        return Facts(Kind.INTEGER, bounds, nullable=given[0].nullable)

    def compute(self, *values: dt.date) -> Value:
        """The part of the date; a date is its midnight."""
        return PARTS[self.part][2](_as_timestamp(values[0]))


@dataclass(frozen=True, slots=True)
class DateTrunc(Strict):
    """DATE_TRUNC(unit, x): the start of the year, quarter, month, ISO week, day, hour or minute; of x's kind.

    >>> DateTrunc((), "month").apply(dt.date(2024, 2, 29))
    datetime.date(2024, 2, 1)
    """

    symbol: ClassVar[str] = "date_trunc"

    unit: str

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """Truncation is monotone: the truncated ends; the starts between them are known keys if they are few."""
        require_kind(given, _TEMPORAL, self.symbol)
        if self.unit not in UNITS:
            refuse(
                f"DATE_TRUNC('{self.unit}', …)", why="This unit is not known.", instead=f"one of {', '.join(UNITS)}."
            )
        facts = given[0]
        if facts.bounds.lower is None or facts.bounds.upper is None:
            return Facts(facts.kind, UNBOUNDED, nullable=facts.nullable)
        back = as_date if facts.kind is Kind.DATE else as_timestamp
        first, last = self._cut(back(facts.bounds.lower)), self._cut(back(facts.bounds.upper))
        return Facts(
            facts.kind,
            Bounds(as_number(first), as_number(last)),
            nullable=facts.nullable,
            domain=self._starts(first, last),
        )

    def compute(self, *values: dt.date) -> Value:
        """The start of the period."""
        return self._cut(values[0])

    def _cut(self, value: dt.date) -> dt.date:
        start = UNITS[self.unit](_as_timestamp(value))
        return start if isinstance(value, dt.datetime) else start.date()

    def _starts(self, first: dt.date, last: dt.date) -> tuple[Value, ...] | None:
        """List the starts of periods from the first to the last, if there are at most so many."""
        step = dt.timedelta(**{_STEPS[self.unit]: 1}) if isinstance(first, dt.datetime) else dt.timedelta(days=1)
        starts, moment = [first], first
        try:
            while moment < last and len(starts) <= ENUMERABLE:
                # The next start is the cut of a moment safely inside the next period.
                moment = self._cut(moment + _LENGTHS.get(self.unit, 1) * step)
                starts.append(moment)
        except OverflowError:  # the last period of year 9999
            return None
        return tuple(starts) if len(starts) <= ENUMERABLE else None


_LENGTHS = {
    "year": 366,
    "quarter": 92,
    "month": 31,
    "week": 7,
}  # days; no period is longer
_STEPS = {"year": "days", "quarter": "days", "month": "days", "week": "days", "day": "days"} | {
    "hour": "hours",
    "minute": "minutes",
}


class DaysBetween(Strict):
    """DATE_DIFF('day', x, y): how many midnights lie between x and y; negative if y is earlier.

    >>> DaysBetween(()).apply(dt.date(2024, 2, 28), dt.date(2024, 3, 1))
    2
    """

    __slots__ = ()
    symbol: ClassVar[str] = "days_between"

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """[c, d] - [a, b] in days; never more than the calendar is long."""
        require_kind(given, _TEMPORAL, self.symbol)
        bounds = (_days(given[1]) - _days(given[0])).clamped(Bounds(-_LONGEST, _LONGEST))
        return Facts(Kind.INTEGER, bounds, nullable=self.may_be_null(given))

    def compute(self, *values: dt.date) -> Value:
        """The difference of the day numbers."""
        start, end = (value.toordinal() for value in values)
        return end - start


def _moved(by: Strict, domain: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    """The known values, moved; none if one of them leaves the calendar."""
    moved = tuple(map(by.apply, domain or ()))
    return None if not moved or None in moved else moved


_CALENDAR = Bounds(as_number(dt.date.min), as_number(dt.date.max))


@dataclass(frozen=True, slots=True)
class AddDays(Strict):
    """The date so many days later, or earlier; NULL outside of the years 1 to 9999.

    >>> AddDays((), 1).apply(dt.date(2024, 2, 28))
    datetime.date(2024, 2, 29)
    >>> AddDays((), 1).apply(dt.date(9999, 12, 31)) is None
    True
    """

    symbol: ClassVar[str] = "add_days"

    days: int

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """The moved ends, as far as the calendar goes: what would lie beyond is NULL, and nothing else is."""
        require_kind(given, {Kind.DATE}, self.symbol)
        if abs(self.days) > _LONGEST:
            why = "Every date plus so many days lies outside of the years 1 to 9999."
            refuse(f"{self.days} days", why=why, instead="a number of days within the calendar.")
        days = Fraction(self.days)
        ends = given[0].bounds.clamped(_CALENDAR) + Bounds(days, days)
        null = given[0].nullable or not ends.within(_CALENDAR)
        return Facts(Kind.DATE, ends.clamped(_CALENDAR), nullable=null, domain=_moved(self, given[0].domain))

    def compute(self, *values: dt.date) -> Value:
        """Count the days on."""
        number = values[0].toordinal() + self.days
        return dt.date.fromordinal(number) if 1 <= number <= dt.date.max.toordinal() else None


@dataclass(frozen=True, slots=True)
class AddSeconds(Strict):
    """The timestamp so many seconds later, or earlier; NULL outside of the years 1 to 9999.

    >>> AddSeconds((), 86400).apply(dt.datetime(2024, 2, 28, 8, 30))
    datetime.datetime(2024, 2, 29, 8, 30)
    """

    symbol: ClassVar[str] = "add_seconds"

    seconds: int

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """The moved ends, as far as the calendar goes: what would lie beyond is NULL, and nothing else is."""
        require_kind(given, {Kind.TIMESTAMP}, self.symbol)
        if abs(self.seconds) > _LONGEST * 86400:
            why = "Every timestamp plus so many seconds lies outside of the years 1 to 9999."
            refuse(f"{self.seconds} seconds", why=why, instead="a span within the calendar.")
        by = Fraction(self.seconds * 10**6)
        ends = given[0].bounds.clamped(MOMENTS) + Bounds(by, by)
        null = given[0].nullable or not ends.within(MOMENTS)
        return Facts(Kind.TIMESTAMP, ends.clamped(MOMENTS), nullable=null, domain=_moved(self, given[0].domain))

    def compute(self, *values: dt.datetime) -> Value:
        """Count the seconds on."""
        try:
            return values[0] + dt.timedelta(seconds=self.seconds)
        except OverflowError:
            return None
