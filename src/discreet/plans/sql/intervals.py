"""Spans of time that are added to dates: INTERVAL 30 DAY."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.expressions import AddDays, AddSeconds, Literal
from discreet.plans.sql.constants import text_of, whole_of
from discreet.plans.sql.reading import only, refuse_part
from discreet.plans.sql.refused import OTHER_DATE
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression

__all__ = ["Span", "moved", "span_of"]

_MOST = 10**6
"""More of any unit leads out of the calendar, or is not meant."""
_SPAN = re.compile(r"([+-]?[0-9]{1,7}) *([a-z]+)", re.IGNORECASE)
_SPANS = re.compile(rf" *{_SPAN.pattern}( +{_SPAN.pattern})* *", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time: months, days and seconds are kept apart, as none of them is a fixed number of another."""

    months: int = 0
    days: int = 0
    seconds: int = 0

    def times(self, count: int) -> Span:
        """So many of it."""
        return Span(self.months * count, self.days * count, self.seconds * count)

    def __add__(self, other: Span) -> Span:
        return Span(self.months + other.months, self.days + other.days, self.seconds + other.seconds)

    def after(self, moment: dt.date) -> dt.date:
        """Add months first, at most to the last day of a month, then days, then seconds, as engines do.

        A date stays one unless seconds are added to its midnight.
        """
        years, month = divmod(moment.year * 12 + moment.month - 1 + self.months, 12)
        if not dt.MINYEAR <= years <= dt.MAXYEAR:
            raise OverflowError
        day = min(moment.day, calendar.monthrange(years, month + 1)[1])
        later = moment.replace(year=years, month=month + 1, day=day) + dt.timedelta(days=self.days)
        if self.seconds and not isinstance(later, dt.datetime):
            later = dt.datetime.combine(later, dt.time())
        return later + dt.timedelta(seconds=self.seconds)


_UNITS = {
    "year": Span(months=12),
    "quarter": Span(months=3),
    "month": Span(months=1),
    "week": Span(days=7),
    "day": Span(days=1),
    "hour": Span(seconds=3600),
    "minute": Span(seconds=60),
    "second": Span(seconds=1),
}


def moved(node: exp.Expression, value: Expression, kind: Kind, by: exp.Expression, sign: int) -> Expression:
    """Add an interval to a date, or take it away: any to a constant, to a column no months."""
    span = span_of(by).times(sign)
    if not kind.temporal:
        refuse_part(node, f"An interval is added to dates and timestamps; this is of kind {kind.value}.", OTHER_DATE)
    if isinstance(value, Literal) and isinstance(value.value, dt.date):
        try:
            later = span.after(value.value)
        except OverflowError:
            refuse_part(node, "It lies outside of the years 1 to 9999.", OTHER_DATE)
        return Literal(later, Kind.of(later))
    if span.months or (kind is Kind.DATE and span.seconds):
        refuse_part(node, "To a column no months are added, and to a date only days and weeks.", OTHER_DATE)
    if kind is Kind.DATE:
        return AddDays((value,), span.days)
    return AddSeconds((value,), span.days * 86400 + span.seconds)


def span_of(node: exp.Expression) -> Span:
    """Read an interval: a number and a unit, or a text with several of both."""
    only(node, "this", "unit")
    unit, amount = node.args.get("unit"), node.this
    if isinstance(amount, exp.Paren):
        only(amount, "this")
        amount = amount.this
    text = text_of(amount) if isinstance(amount, exp.Literal) and amount.is_string else str(whole_of(amount))
    if unit is not None:
        if not isinstance(unit, exp.Var):
            refuse_part(node, "This unit is not read.", "INTERVAL 30 DAY")
        text = f"{text} {unit.name}"
    if _SPANS.fullmatch(text) is None:
        refuse_part(node, "This interval is not read.", "INTERVAL 30 DAY, or INTERVAL '1 month'.")
    span = Span()
    for count, name in _SPAN.findall(text):
        known = _UNITS.get(name.lower()) or _UNITS.get(name.lower().removesuffix("s"))
        if known is None or abs(int(count)) > _MOST:
            refuse_part(node, f"Intervals are up to {_MOST} of {', '.join(_UNITS)}.", "INTERVAL 30 DAY")
        span += known.times(int(count))
    return span
