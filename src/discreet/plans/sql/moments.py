"""How functions of dates, times and spans are spelled, as rules of `discreet.plans.sql.expressions`.

Most are put together from few operations: EXTRACT(epoch …) is a number of microseconds divided, a difference in months
is one of years and months, a time of day is what is left of the microseconds of whole days.
"""

from __future__ import annotations

import datetime as dt
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans import expressions as e
from discreet.plans.normal import aligned, simplified
from discreet.plans.sql.constants import text_of
from discreet.plans.sql.intervals import span_of
from discreet.plans.sql.reading import only, refuse_part
from discreet.tables.kinds import EARLIEST, EPOCH, Kind

if TYPE_CHECKING:
    from typing import NoReturn

    from discreet.plans.expressions import Expression
    from discreet.plans.sql.rules import Rule, Translator

__all__ = ["MOMENTS", "compared", "counted_moment", "date_sub", "part_of_span", "time_bucket"]

_SECOND = 10**6
_SIZES = {"second": _SECOND, "minute": 60 * _SECOND, "hour": 3600 * _SECOND, "day": 86400 * _SECOND}
_SIZES |= {"week": 7 * _SIZES["day"], "millisecond": 1000, "microsecond": 1}
_BEFORE = 719_162 * _SIZES["day"]
"""From the year 1 to 1970: added to a moment it makes it positive, and as whole days it moves no boundary."""

_CODES = {
    "Y": "year",
    "m": "month",
    "d": "day",
    "H": "hour",
    "M": "minute",
    "S": "second",
    "j": "doy",
    "u": "isodow",
} | {
    "w": "dow",
    "V": "week",
    "B": "monthname",
    "b": "monthname3",
    "h": "monthname3",
    "A": "dayname",
    "a": "dayname3",
}
_TO_CHAR = {"YYYY": "year", "yyyy": "year", "MM": "month", "DD": "day", "dd": "day", "HH24": "hour", "HH": "hour"} | {
    "MI": "minute",
    "mm": "minute",
    "SS": "second",
    "ss": "second",
    "DDD": "doy",
    "Q": "quarter",
    "IW": "week",
    "ID": "isodow",
    "FMMonth": "monthname",
    "Month": "monthname",
    "Mon": "monthname3",
    "FMDay": "dayname",
    "Day": "dayname",
    "Dy": "dayname3",
}
_TOKENS = re.compile("|".join(sorted(_TO_CHAR, key=len, reverse=True)) + '|"[^"]*"|[^A-Za-z"]')
_MANGLED = {
    "spark": (("strict", ""),),
    "postgres": (
        *(("FM%uay", "%A"), ("TM%uay", "%A"), ("%uay", "%A"), ("%uy", "%a"), ("FM%B", "%B"), ("TM%B", "%B")),
        *(("TM%b", "%b"), ("I%W", "%V"), ("ID", "%u")),
    ),
}
"""What the parser makes of another dialect's codes that it does not know, or marks; and what is meant."""
_FINEST = (
    ("second", {"second"}),
    ("minute", {"minute"}),
    ("hour", {"hour"}),
    ("day", {"day", "doy", "dow", "isodow", "dayname", "dayname3", "week"}),
    ("month", {"month", "monthname", "monthname3"}),
    ("quarter", {"quarter"}),
    ("year", {"year"}),
)


def _value(scalars: Translator, node: exp.Expression) -> tuple[Expression, Kind]:
    value = aligned(scalars.translate(node), scalars.schema)
    return value, value.facts(scalars.schema).kind


def _whole(number: int) -> e.Literal:
    return e.Literal(number, Kind.INTEGER)


def _bare(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


# --- dates as texts


def _formatted(
    scalars: Translator, node: exp.Expression, value: exp.Expression, pieces: list[tuple[str, str]]
) -> Expression:
    """Write the parts of a date; it is cut down to the finest of them first, so that its texts can be listed."""
    moment, kind = _value(scalars, value)
    if kind is Kind.TEXT:
        moment, kind = e.Cast((moment,), Kind.TIMESTAMP), Kind.TIMESTAMP
    parts = {part for part, _ in pieces if part}
    finest = next((unit for unit, among in _FINEST if parts & among), None)
    if not pieces:
        refuse_part(node, "The format is empty.", "STRFTIME(x, '%Y-%m')")
    several = len(parts) > 1 or "year" in parts
    if several and finest not in {None, "second"} and not (finest == "day" and kind is Kind.DATE):
        moment = e.DateTrunc((moment,), str(finest))
    return e.FormatDate((moment,), tuple(pieces))


def _strftime(scalars: Translator, node: exp.Expression) -> Expression:
    """STRFTIME(x, '%Y-%m'); TO_CHAR and DATE_FORMAT of other dialects come in the same codes."""
    only(node, "this", "format")
    value, written = node.this, node.args.get("format")
    if isinstance(value, exp.TimeStrToTime):
        value = value.this
    if isinstance(value, exp.Literal) and value.is_string:  # DuckDB takes both orders
        value, written = written, value
    if value is None or written is None:
        refuse_part(node, "It takes a date and a format.", "STRFTIME(x, '%Y-%m')")
    text = text_of(written)
    for given, meant in _MANGLED.get(scalars.dialect, ()):
        text = text.replace(given, meant)
    pieces: list[tuple[str, str]] = []
    place = 0
    while place < len(text):
        code = text[place + 1 : place + 2] if text[place] == "%" else None
        if code is None or code == "%":
            pieces.append(("", text[place]))
        elif code in _CODES:
            pieces.append((_CODES[code], ""))
        else:
            _unknown_format(node)
        if code is None and scalars.dialect != "duckdb" and text[place].isalpha():
            _unknown_format(node)  # what the parser left of another dialect's codes
        place += 1 if code is None else 2
    return _formatted(scalars, node, value, _merged(pieces))


def _unknown_format(node: exp.Expression) -> NoReturn:
    instead = "%Y, %m, %d, %H, %M, %S, %j, %V, %u, %B, %b, %A, %a, such as STRFTIME(x, '%Y-%m')."
    refuse_part(node, "One of the codes of this format is not read.", instead)


def _to_char(scalars: Translator, node: exp.Expression) -> Expression:
    """TO_CHAR(x, 'YYYY-MM') where the dialect has none: as PostgreSQL's."""
    only(node, "this", "format", "is_numeric")
    if node.args.get("format") is None:
        refuse_part(node, "It takes a date and a format.", "TO_CHAR(x, 'YYYY-MM')")
    text = text_of(node.args["format"])
    found = _TOKENS.findall(text)
    if "".join(found) != text:
        _unknown_format(node)
    pieces = [(_TO_CHAR[token], "") if token in _TO_CHAR else ("", token.strip('"')) for token in found]
    return _formatted(scalars, node, node.this, _merged(pieces))


def _merged(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Put plain characters that stand side by side into one piece."""
    merged: list[tuple[str, str]] = []
    for part, text in pieces:
        if not part and merged and not merged[-1][0]:
            merged[-1] = ("", merged[-1][1] + text)
        elif part or text:
            merged.append((part, text))
    return merged


def _named(part: str) -> Rule:
    """MONTHNAME and DAYNAME; Spark cuts them to three letters."""

    def rule(scalars: Translator, node: exp.Expression) -> Expression:
        only(node, "this", "abbreviated")
        short = "3" if scalars.dialect == "spark" else ""
        return e.FormatDate((aligned(scalars.translate(node.this), scalars.schema),), ((part + short, ""),))

    return rule


# --- spans and differences


def _microseconds(scalars: Translator, node: exp.Expression) -> Expression | None:
    """A difference of two moments in microseconds; None if it is another expression."""
    node = _bare(node)
    if not isinstance(node, exp.Sub) or isinstance(node.expression, exp.Interval):
        return None
    (later, one), (earlier, other) = (_value(scalars, side) for side in (node.this, node.expression))
    if not (one.temporal and other.temporal):
        return None
    return e.Subtract((e.Microseconds((later,)), e.Microseconds((earlier,))))


def part_of_span(scalars: Translator, node: exp.Expression, value: exp.Expression, name: str) -> Expression | None:
    """EXTRACT of what is no date: the epoch of one, a part of a difference, or of an AGE; None for parts of dates."""
    inner = _bare(value)
    if isinstance(inner, exp.Anonymous) and inner.name.lower() == "age":
        return _part_of_age(scalars, node, inner, name)
    span = _microseconds(scalars, value)
    if span is None and name != "epoch":
        return None
    if span is None:
        moment, kind = _value(scalars, value)
        if not kind.temporal:
            refuse_part(
                node, f"EPOCH is of dates and timestamps; this is of kind {kind.value}.", "EXTRACT(epoch FROM x)"
            )
        span = e.Microseconds((moment,))
    if name == "epoch":
        return e.Divide((span, e.Literal(float(_SECOND), Kind.FLOAT)))
    if name.removesuffix("s") in ("day", "hour"):
        unit = name.removesuffix("s")
        whole = e.IntegerDivide((span, _whole(_SIZES[unit])))
        return whole if unit == "day" else e.Remainder((whole, _whole(24)))
    return refuse_part(node, "Of a difference its days, hours and epoch are known.", "DATE_DIFF('minute', a, b)")


def _part_of_age(scalars: Translator, node: exp.Expression, age: exp.Anonymous, name: str) -> Expression:
    """Whole years or months between two dates; from today if there is one."""
    only(age, "this", "expressions")
    sides = age.expressions
    if len(sides) == 1:
        refuse_part(age, "It does not say on which day.", f"AGE(CURRENT_DATE, {sides[0].sql()})")
    if len(sides) != 2 or name not in ("year", "month"):
        refuse_part(node, "Of an age its years and months are known.", "EXTRACT(year FROM AGE(later, earlier))")
    later, earlier = (_value(scalars, side)[0] for side in sides)
    months = _whole_months(scalars, earlier, later)
    return (e.IntegerDivide if name == "year" else e.Remainder)((months, _whole(12)))


def _months(moment: Expression) -> Expression:
    year, month = (e.DatePart((moment,), part) for part in ("year", "month"))
    return e.Add((e.Multiply((year, _whole(12))), month))


def _in_month(scalars: Translator, moment: Expression) -> Expression:
    """How far a moment is into its month."""
    day = e.DatePart((moment,), "day")
    if moment.facts(scalars.schema).kind is Kind.DATE:
        return e.Multiply((day, _whole(_SIZES["day"])))
    return e.Add((e.Multiply((day, _whole(_SIZES["day"]))), _in_day(moment)))


def _in_day(moment: Expression) -> Expression:
    """How many microseconds after midnight."""
    return e.Remainder((e.Add((e.Microseconds((moment,)), _whole(_BEFORE))), _whole(_SIZES["day"])))


def _whole_months(scalars: Translator, earlier: Expression, later: Expression) -> Expression:
    """Months that are over, less than 0 if the second moment comes first."""

    def forward(start: Expression, end: Expression) -> Expression:
        over = e.Less((_in_month(scalars, end), _in_month(scalars, start)))
        months = e.Subtract((_months(end), _months(start)))
        return e.Subtract((months, e.Case((over, _whole(1), _whole(0)))))

    backward = e.Negate((forward(later, earlier),))
    return e.Case((e.Less((later, earlier)), backward, forward(earlier, later)))


def _boundaries(moment: Expression, unit: str) -> Expression | None:
    """Number the years, months, … or hours, so that a difference counts the starts between."""
    if unit == "year":
        return e.DatePart((moment,), "year")
    if unit == "month":
        return _months(moment)
    if unit == "quarter":
        year, quarter = (e.DatePart((moment,), part) for part in ("year", "quarter"))
        return e.Add((e.Multiply((year, _whole(4))), quarter))
    if unit not in _SIZES:
        return None
    if unit == "week":  # the year 1 begins on a Monday
        days = e.DaysBetween((e.Literal(EARLIEST, Kind.DATE), moment))
        return e.IntegerDivide((days, _whole(7)))
    return e.IntegerDivide((e.Add((e.Microseconds((moment,)), _whole(_BEFORE))), _whole(_SIZES[unit])))


def _difference(scalars: Translator, node: exp.Expression) -> Expression:
    """DATE_DIFF: how many starts of a unit lie between; Spark counts units that are over."""
    only(node, "this", "expression", "unit", "date_part_boundary")
    unit = node.args.get("unit")
    name = "day" if unit is None and scalars.dialect == "spark" else "" if unit is None else unit.name.lower()
    over = scalars.dialect == "spark" and unit is not None
    return _between(scalars, node, name.removesuffix("s"), node.expression, node.this, over=over)


def _between(  # noqa: PLR0913 - both ends and what is counted
    scalars: Translator, node: exp.Expression, unit: str, earlier: exp.Expression, later: exp.Expression, *, over: bool
) -> Expression:
    start, end = (_value(scalars, side)[0] for side in (earlier, later))
    dates = all(moment.facts(scalars.schema).kind is Kind.DATE for moment in (start, end))
    if unit == "day" and (dates or not over):
        return e.DaysBetween((start, end))
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
    if over and months is not None:
        return e.IntegerDivide((_whole_months(scalars, start, end), _whole(months)))
    if over and unit in _SIZES:
        span = e.Subtract((e.Microseconds((end,)), e.Microseconds((start,))))
        return e.IntegerDivide((span, _whole(_SIZES[unit])))
    numbered = [_boundaries(moment, unit) for moment in (start, end)]
    if numbered[0] is None or numbered[1] is None:
        units = "second, minute, hour, day, week, month, quarter or year"
        refuse_part(node, f"Differences are counted in {units}.", "DATE_DIFF('day', earlier, later)")
    return e.Subtract((numbered[1], numbered[0]))


def date_sub(scalars: Translator, node: exp.Anonymous) -> Expression:
    """DuckDB's DATE_SUB('month', a, b) and DATEDIFF's like: units that are over."""
    only(node, "this", "expressions")
    unit, start, end = node.expressions
    return _between(scalars, node, text_of(unit).lower().removesuffix("s"), start, end, over=True)


def counted_moment(moment: Expression, kind: Kind) -> Expression:
    """Days since 1970 of a date, whole seconds of a timestamp."""
    if kind is Kind.DATE:
        return e.DaysBetween((e.Literal(EPOCH, Kind.DATE), moment))
    whole = e.IntegerDivide((e.Add((e.Microseconds((moment,)), _whole(_BEFORE))), _whole(_SECOND)))
    return e.Subtract((whole, _whole(_BEFORE // _SECOND)))


# --- comparisons with spans and times of day


def compared(scalars: Translator, nodes: list[exp.Expression]) -> list[Expression] | None:
    """Bring both sides of a comparison to numbers where one is a time of day or an interval; None where none is."""
    if any(isinstance(_bare(node), exp.Interval) for node in nodes):
        return [_as_span(scalars, node) for node in nodes]
    if any(_is_time(node) for node in nodes):
        return [_as_time(scalars, node) for node in nodes]
    return None


def _as_span(scalars: Translator, node: exp.Expression) -> Expression:
    inner = _bare(node)
    if isinstance(inner, exp.Interval):
        span = span_of(inner)
        if span.months:
            refuse_part(node, "A month is no fixed number of days.", "INTERVAL 30 DAY")
        return _whole(span.days * _SIZES["day"] + span.seconds * _SECOND)
    difference = _microseconds(scalars, node)
    if difference is None:
        refuse_part(node, "An interval is compared with a difference of two moments.", "b - a < INTERVAL 3 DAY")
    return difference


def _is_time(node: exp.Expression) -> bool:
    inner = _bare(node)
    return isinstance(inner, exp.Cast) and inner.args["to"].this is exp.DataType.Type.TIME


_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,6}))?)?")


def _as_time(scalars: Translator, node: exp.Expression) -> Expression:
    """Microseconds after midnight, of a moment or of a constant such as '08:30'."""
    inner = _bare(node)
    if isinstance(inner, exp.Cast) and _is_time(inner):
        inner = _bare(inner.this)
        if not isinstance(inner, exp.Literal):
            moment, kind = _value(scalars, inner)
            if kind is not Kind.TIMESTAMP:
                refuse_part(node, f"A time of day is that of a timestamp; this is of kind {kind.value}.", "x::TIME")
            return _in_day(moment)
    found = _TIME.fullmatch(text_of(inner)) if isinstance(inner, exp.Literal) and inner.is_string else None
    if found is None:
        refuse_part(node, "A time of day is compared with a constant.", "CAST(x AS TIME) < '08:30'")
    hours, minutes, seconds, fraction = found.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    return _whole(whole * _SECOND + int((fraction or "0").ljust(6, "0")))


# --- periods, casts


def _bucket(scalars: Translator, node: exp.Expression) -> Expression:
    """TIME_BUCKET(width, x) and DATE_BIN(width, x, origin)."""
    only(node, "this", "expression", "unit", "origin")
    origin = node.args.get("unit") or node.args.get("origin")
    return _periods(scalars, node, node.this, node.expression, origin)


def _periods(
    scalars: Translator, node: exp.Expression, width: exp.Expression, of: exp.Expression, origin: exp.Expression | None
) -> Expression:
    interval = width if isinstance(width, exp.Interval) else exp.Interval(this=width)
    span = span_of(interval)
    moment, _ = _value(scalars, of)
    seconds = span.days * 86400 + span.seconds
    if span.months:
        unit = {1: "month", 3: "quarter", 12: "year"}.get(span.months)
        if unit is None or seconds or origin is not None:
            refuse_part(node, "Of months, 1, 3 and 12 make a period.", "DATE_TRUNC('month', x)")
        return e.DateTrunc((moment,), unit)
    if origin is not None:
        start = simplified(_value(scalars, origin)[0])
        since = e.Microseconds((start,)).evaluate({}) if isinstance(start, e.Literal) else None
        if seconds < 1 or not isinstance(since, int) or (since - e.Period.ORIGIN * _SECOND) % (seconds * _SECOND):
            refuse_part(node, "Periods are counted from Monday, 2000-01-03.", "TIME_BUCKET(INTERVAL '7 days', x)")
    return e.Period((moment,), seconds)


def time_bucket(scalars: Translator, node: exp.Anonymous) -> Expression:
    """TIME_BUCKET where the parser knows none."""
    only(node, "this", "expressions")
    width, of, *origin = node.expressions
    return _periods(scalars, node, width, of, origin[0] if origin else None)


def _date(scalars: Translator, node: exp.Expression) -> Expression:
    """DATE(x)."""
    only(node, "this")
    value, kind = _value(scalars, node.this)
    return value if kind is Kind.DATE else e.Cast((value,), Kind.DATE)


def _epoch(scalars: Translator, node: exp.Expression) -> Expression:
    """EPOCH(x)."""
    only(node, "this")
    found = part_of_span(scalars, node, node.this, "epoch")
    assert found is not None  # noqa: S101 - for an epoch there always is one
    return found


def _parsed(scalars: Translator, node: exp.Expression) -> Expression:
    """TO_TIMESTAMP('2024-01-01', 'YYYY-MM-DD') of constants; of columns a format is not read."""
    only(node, "this", "format")
    kind = Kind.DATE if isinstance(node, exp.StrToDate) else Kind.TIMESTAMP
    if isinstance(node.this, exp.Literal):
        with suppress(ValueError):
            moment = dt.datetime.strptime(text_of(node.this), text_of(node.args["format"]))  # noqa: DTZ007 - no zones
            return e.Literal(moment.date() if kind is Kind.DATE else moment, kind)
    del scalars
    return refuse_part(node, "Only constants are read by a format.", f"CAST(x AS {kind.value.upper()})")


MOMENTS: dict[type[exp.Expression], Rule] = {
    exp.TimeToStr: _strftime,
    exp.ToChar: _to_char,
    exp.Monthname: _named("monthname"),
    exp.Dayname: _named("dayname"),
    exp.DateDiff: _difference,
    exp.TimestampDiff: lambda scalars, node: _between(
        scalars, node, node.args["unit"].name.lower(), node.expression, node.this, over=True
    ),
    exp.DateBin: _bucket,
    exp.StrToTime: _parsed,
    exp.StrToDate: _parsed,
    exp.Date: _date,
    exp.TimeToUnix: _epoch,
}
