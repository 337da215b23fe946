"""Moments as numbers and texts: microseconds since 1970, dates as they are written, equally long periods."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.plans.expressions.dates import MOMENTS, PARTS
from discreet.plans.expressions.expression import ENUMERABLE, Facts, Strict, require_kind
from discreet.plans.refusals import refuse
from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.kinds import Kind, as_date, as_number, as_timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.tables.kinds import Value

__all__ = ["DAYS", "MONTHS", "FormatDate", "Microseconds", "MomentOf", "Period"]

_TEMPORAL = {Kind.DATE, Kind.TIMESTAMP}
_SECOND = 10**6
_DAY = 24 * 60 * 60 * _SECOND

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _as_timestamp(value: dt.date) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())


class Microseconds(Strict):
    """How many microseconds lie between 1970 and x; a date is its midnight.

    >>> Microseconds(()).apply(dt.datetime(1970, 1, 1, 0, 0, 2, 5))
    2000005
    """

    __slots__ = ()
    symbol: ClassVar[str] = "microseconds"

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """The ends, in microseconds; no more than the calendar has."""
        require_kind(given, _TEMPORAL, self.symbol)
        bounds = given[0].bounds
        if given[0].kind is Kind.DATE:
            bounds = bounds * Bounds(_DAY, _DAY)
        return Facts(Kind.INTEGER, bounds.clamped(MOMENTS), nullable=given[0].nullable)

    def compute(self, *values: dt.date) -> Value:
        """Count."""
        return int(as_number(_as_timestamp(values[0])))


_WIDTHS = {"year": 4, "month": 2, "day": 2, "hour": 2, "minute": 2, "second": 2, "quarter": 1, "week": 2, "doy": 3} | {
    "dow": 1,
    "isodow": 1,
}
_NAMES = {"monthname": ("month", MONTHS), "dayname": ("isodow", DAYS)} | {
    "monthname3": ("month", tuple(name[:3] for name in MONTHS)),
    "dayname3": ("isodow", tuple(name[:3] for name in DAYS)),
}
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class FormatDate(Strict):
    """A date as a text of its parts: each piece is (part, "") or ("", text).

    Parts have as many digits as their largest value, and English names of months and days are spelled out or cut to
    three letters; so the text has a length that is known.

    >>> FormatDate((), (("year", ""), ("", "-"), ("month", ""))).apply(dt.date(2024, 2, 29))
    '2024-02'
    """

    symbol: ClassVar[str] = "format_date"

    pieces: tuple[tuple[str, str], ...]

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """A text as long as all pieces together."""
        require_kind(given, _TEMPORAL, self.symbol)
        if not 1 <= len(self.pieces) <= _LONGEST:
            refuse("a format of dates", why="It is empty, or too long.", instead="'%Y-%m-%d'")
        longest = {part: max(map(len, names)) for part, (_, names) in _NAMES.items()} | _WIDTHS
        length = sum(longest[part] if part else len(text) for part, text in self.pieces)
        return Facts(Kind.TEXT, UNBOUNDED, given[0].nullable, self._listed(), length=length)

    def _listed(self) -> tuple[Value, ...] | None:
        """All texts there are, in the order of the calendar, if there is one part and it is not the year."""
        parts = [part for part, _ in self.pieces if part]
        if len(parts) != 1 or parts[0] in {"year", "second"}:
            return None
        of, _, _, _ = _piece(parts[0], "")
        low, high, _ = PARTS[of]
        return tuple(self._text({of: number}) for number in range(low, high + 1))

    def _text(self, numbers: Mapping[str, int]) -> str:
        texts = []
        for part, digits, names, text in self.written:
            texts.append(text if not part else names[numbers[part] - 1] if names else f"{numbers[part]:0{digits}}")
        return "".join(texts)

    @property
    def weight(self) -> int:
        """One part for each piece, and for each name to choose from."""
        return 1 + sum(len(_NAMES[part][1]) if part in _NAMES else 1 for part, _ in self.pieces)

    @property
    def written(self) -> tuple[tuple[str, int, tuple[str, ...], str], ...]:
        """For each piece: the part of the date, its digits, its names by its number from 1, or a plain text.

        >>> FormatDate((), (("day", ""), ("", "."))).written
        (('day', 2, (), ''), ('', 0, (), '.'))
        """
        return tuple(_piece(part, text) for part, text in self.pieces)

    def compute(self, *values: dt.date) -> Value:
        """Write the pieces one after the other."""
        moment = _as_timestamp(values[0])
        return self._text({part: PARTS[part][2](moment) for part, *_ in self.written if part})


def _piece(part: str, text: str) -> tuple[str, int, tuple[str, ...], str]:
    if part in _NAMES:
        of, names = _NAMES[part]
        return of, 0, names, ""
    return part, _WIDTHS.get(part, 0), (), text


@dataclass(frozen=True, slots=True)
class Period(Strict):
    """TIME_BUCKET(width, x): the start of the period that x lies in; periods are equally many days, or seconds, long.

    They are counted from Monday, 2000-01-03, as DuckDB and TimescaleDB count them. Of a date it is a date, and its
    width whole days. NULL where the period starts before the year 1.

    >>> Period((), 7 * 24 * 3600).apply(dt.date(2024, 2, 29))
    datetime.date(2024, 2, 26)
    """

    symbol: ClassVar[str] = "period"

    seconds: int

    ORIGIN: ClassVar[int] = int(as_number(dt.datetime(2000, 1, 3))) // _SECOND  # noqa: DTZ001 - without zones
    LONGEST: ClassVar[int] = 36_600 * 24 * 3600

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """Starts are monotone: those of the ends; all between them are known keys if they are few."""
        require_kind(given, _TEMPORAL, self.symbol)
        days = self.seconds % (24 * 3600) == 0
        if not 1 <= self.seconds <= self.LONGEST or (given[0].kind is Kind.DATE and not days):
            refuse(
                f"a period of {self.seconds} seconds",
                why="A period has at least a second and at most a hundred years, and of dates whole days.",
                instead="TIME_BUCKET(INTERVAL '7 days', x)",
            )
        facts = given[0]
        back = as_date if facts.kind is Kind.DATE else as_timestamp
        low, high = facts.bounds.lower, facts.bounds.upper
        first = None if low is None else self._start(back(low))
        last = None if high is None else self._start(back(high))
        nullable = facts.nullable or first is None
        if first is None or last is None:
            return Facts(facts.kind, UNBOUNDED, nullable=nullable)
        step = Fraction(self.seconds * _SECOND, _DAY if facts.kind is Kind.DATE else 1)
        count = (as_number(last) - as_number(first)) / step + 1
        places = range(int(count)) if count <= ENUMERABLE else range(0)
        starts = tuple(back(as_number(first) + step * place) for place in places)
        bounds = Bounds(as_number(first), as_number(last))
        return Facts(facts.kind, bounds, nullable=nullable, domain=starts or None)

    def compute(self, *values: dt.date) -> Value:
        """The start of the period."""
        return self._start(values[0])

    def _start(self, value: dt.date) -> dt.date | None:
        seconds = int(as_number(_as_timestamp(value)) // _SECOND) - self.ORIGIN
        start = Fraction(seconds // self.seconds * self.seconds + self.ORIGIN)
        if start * _SECOND < as_number(dt.date.min) * _DAY:
            return None
        moment = as_timestamp(start * _SECOND)
        return moment if isinstance(value, dt.datetime) else moment.date()


@dataclass(frozen=True, slots=True)
class MomentOf(Strict):
    """The date so many days after 1970, or the timestamp so many seconds; NULL outside of the years 1 to 9999.

    >>> MomentOf((), Kind.DATE).apply(59), MomentOf((), Kind.TIMESTAMP).apply(-1)
    (datetime.date(1970, 3, 1), datetime.datetime(1969, 12, 31, 23, 59, 59))
    """

    symbol: ClassVar[str] = "moment_of"

    kind: Kind

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last number that the calendar has."""
        first, last = (int(as_number(end)) for end in (dt.date.min, dt.date.max))
        return (first, last) if self.kind is Kind.DATE else (first * 86400, last * 86400 + 86399)

    def derive(self, given: tuple[Facts, ...]) -> Facts:
        """The ends as moments, as far as the calendar goes."""
        require_kind(given, {Kind.INTEGER}, self.symbol)
        ends = Bounds(*self.ends)
        bounds = given[0].bounds.clamped(ends)
        nullable = given[0].nullable or not given[0].bounds.within(ends)
        size = 1 if self.kind is Kind.DATE else _SECOND
        return Facts(self.kind, bounds * Bounds(size, size), nullable=nullable)

    def compute(self, *values: int) -> Value:
        """Count from 1970."""
        first, last = self.ends
        if not first <= values[0] <= last:
            return None
        return as_date(values[0]) if self.kind is Kind.DATE else as_timestamp(values[0] * _SECOND)
