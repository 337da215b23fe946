"""From the expressions of plans to SQL: one small rule for each class."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlglot import exp

from discreet.engines.sql.dialect import DATE, FLOAT, INTEGER, TIMESTAMP, TypedSQL
from discreet.engines.sql.words import (
    SQL,
    all_of,
    any_of,
    between,
    binary,
    call,
    case,
    clamp,
    is_null,
    join,
    listed,
    negated,
    number,
    string,
)
from discreet.plans import expressions as e
from discreet.plans.expressions.dates import MOMENTS
from discreet.plans.expressions.expression import Facts
from discreet.tables.kinds import EARLIEST, LATEST, Kind, as_timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.engines.sql.dialect import Writing

__all__ = ["below", "converted", "emitted"]

_Rule: TypeAlias = "Callable[[Any, list[TypedSQL], Facts, Writing], SQL]"

_LARGEST_WHOLE = 2.0**63


def emitted(expression: e.Operation, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    """Write an operation on operands that are written already."""
    return _RULES[type(expression)](expression, cells, facts, rows)


def _double(cell: TypedSQL, rows: Writing) -> SQL:
    return cell.sql if cell.kind is Kind.FLOAT else rows.dialect.to(cell.sql, Kind.FLOAT)


def _arithmetic(operation: e.Operation, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    """Integers directly where the bounds exclude an overflow, else with a check; floats settled."""
    symbol = operation.symbol
    if facts.kind is Kind.INTEGER:
        if facts.bounds.finite:
            return binary(symbol, cells[0].sql, cells[1].sql)
        return rows.dialect.whole(symbol, cells[0].sql, cells[1].sql, rows)
    return rows.dialect.settled(binary(symbol, *(_double(cell, rows) for cell in cells)), facts, rows)


def _negate(_: e.Negate, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    """0 - x: never -0."""
    zero = rows.dialect.literal(0.0 if facts.kind is Kind.FLOAT else 0, facts.kind)
    if facts.kind is Kind.INTEGER and not facts.bounds.finite:
        return rows.dialect.whole("-", zero, cells[0].sql, rows)
    return binary("-", zero, cells[0].sql)


def _divide(_: e.Divide, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    quotient = rows.dialect.divided(_double(cells[0], rows), _double(cells[1], rows))
    return rows.dialect.settled(quotient, facts, rows)


def _integer_divide(_: e.IntegerDivide, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    return rows.dialect.whole("//", cells[0].sql, cells[1].sql, rows)


def _remainder(_: e.Remainder, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    if facts.kind is Kind.INTEGER:
        return rows.dialect.whole("%", cells[0].sql, cells[1].sql, rows)
    return rows.dialect.settled(rows.dialect.remainder(_double(cells[0], rows), _double(cells[1], rows)), facts, rows)


def aligned(cells: list[TypedSQL], rows: Writing) -> list[SQL]:
    """Bring operands to one kind: integers beside floats to doubles, dates beside timestamps to midnights."""
    kinds = {cell.kind for cell in cells}
    for kind in (Kind.FLOAT, Kind.TIMESTAMP):
        if kind in kinds:
            return [cell.sql if cell.kind is kind else rows.dialect.to(cell.sql, kind) for cell in cells]
    return [cell.sql for cell in cells]


def _compare(operation: e.Operation, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    return binary(operation.symbol, *aligned(cells, rows))


def _in(operation: e.In, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    """Constants of the operand's kind in one list; others are compared one by one."""
    x = TypedSQL(rows.bind(cells[0].sql), cells[0].facts)
    if {Kind.of(choice) for choice in operation.choices} == {x.kind}:
        return listed(x.sql, [rows.dialect.literal(choice, x.kind) for choice in operation.choices])
    choices = [rows.cell(e.Literal(choice, Kind.of(choice))) for choice in operation.choices]
    return any_of([binary("=", *aligned([x, choice], rows)) for choice in choices])


def _case(_: e.Case, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    values = [cell.sql for cell in cells]
    return case(*zip(values[:-1:2], values[1:-1:2], strict=True), default=values[-1])


def _null_if(_: e.NullIf, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    bound = [TypedSQL(rows.bind(cell.sql), cell.facts) for cell in cells]
    return case((binary("=", *aligned(bound, rows)), rows.dialect.literal(None, facts.kind)), default=bound[0].sql)


def _extreme(operation: e.Operation, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    return call(operation.symbol, *(cell.sql for cell in cells))


def _absolute(_: e.Abs, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    if facts.kind is Kind.FLOAT or facts.bounds.finite:
        return call("abs", cells[0].sql)
    x = rows.bind(cells[0].sql)
    zero = rows.dialect.literal(0, Kind.INTEGER)
    return case((binary("<", x, zero), rows.dialect.whole("-", zero, x, rows)), default=x)


def _sign(_: e.Sign, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    x = rows.bind(cells[0].sql)
    zero = rows.dialect.literal(0.0 if cells[0].kind is Kind.FLOAT else 0, cells[0].kind)
    one, none, minus = (rows.dialect.literal(value, Kind.INTEGER) for value in (1, 0, -1))
    return case((binary(">", x, zero), one), (binary("<", x, zero), minus), (binary("=", x, zero), none))


def _floor(_: e.Floor, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    if facts.kind is Kind.INTEGER:
        return cells[0].sql
    return rows.dialect.settled(rows.dialect.floor(cells[0].sql, rows), facts, rows)


def _ceil(_: e.Ceil, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    if facts.kind is Kind.INTEGER:
        return cells[0].sql
    return rows.dialect.settled(rows.dialect.ceil(cells[0].sql, rows), facts, rows)


def _round(operation: e.Round, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    """Scale, take the whole part, add 1 away from 0 if half or more was cut off, scale back."""
    if facts.kind is Kind.INTEGER:
        return cells[0].sql
    dialect, x = rows.dialect, _double(cells[0], rows)
    up, down = ("*", "/") if operation.digits >= 0 else ("/", "*")
    factor = dialect.float(float(10 ** abs(operation.digits)))
    scaled = rows.bind(binary(up, x, factor))
    whole = rows.bind(dialect.truncated(scaled, rows))
    cut, half, one = binary("-", scaled, whole), dialect.float(0.5), dialect.float(1.0)
    away = case(
        (binary(">=", cut, half), binary("+", whole, one)),
        (binary("<=", cut, dialect.float(-0.5)), binary("-", whole, one)),
        default=whole,
    )
    return dialect.settled(binary(down, away, factor), facts, rows)


def _defined(x: SQL, symbol: str, rows: Writing) -> SQL:
    """The operand where the function is defined, else NULL: no engine ever sees a bad one."""
    return case((binary(symbol, x, rows.dialect.float(0.0)), x), default=rows.dialect.literal(None, Kind.FLOAT))


def _sqrt(_: e.Sqrt, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    return call("sqrt", _defined(rows.bind(_double(cells[0], rows)), ">=", rows))


def _ln(_: e.Ln, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    return rows.dialect.settled(call("ln", _defined(rows.bind(_double(cells[0], rows)), ">", rows)), facts, rows)


def _exp(_: e.Exp, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    x = rows.bind(_double(cells[0], rows))
    return rows.dialect.settled(
        call("exp", clamp(x, rows.dialect.float(-400.0), rows.dialect.float(400.0))), facts, rows
    )


def _power(operation: e.Power, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    """Bind and settle each product, so that no text grows; nothing is known about those on the way."""
    x = power = rows.bind(_double(cells[0], rows))
    unknown = Facts(Kind.FLOAT)
    for with_base in operation.by_base:
        power = rows.bind(rows.dialect.settled(binary("*", power, x if with_base else power), unknown, rows))
    return power


def below(x: SQL, edges: tuple[float, ...], rows: Writing) -> SQL:
    """Count the edges that are not above x, by halving; NULL for NULL."""
    bound = rows.bind(x)
    kind = rows.dialect.types[Kind.INTEGER]

    def between(low: int, high: int) -> SQL:
        if low == high:
            return exp.cast(number(low), exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=kind))
        middle = (low + high) // 2
        smaller = exp.LT(this=bound.copy(), expression=rows.dialect.float(edges[middle]))
        return exp.Case(ifs=[exp.If(this=smaller, true=between(low, middle))], default=between(middle + 1, high))

    return case((is_null(bound), rows.dialect.literal(None, Kind.INTEGER)), default=between(0, len(edges)))


def _bucket(operation: e.Bucket, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    return below(_double(cells[0], rows), operation.edges, rows)


def _like(operation: e.Like, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    return rows.dialect.like(cells[0].sql, operation)


def _substring(operation: e.Substring, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    return rows.dialect.substring(cells[0].sql, operation.start, operation.length)


_SECOND, _DAY = 10**6, 24 * 60 * 60 * 10**6
_FIRST_DAY = (EARLIEST - dt.date(1970, 1, 1)).days


def _microseconds(_: e.Microseconds, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    cell = cells[0]
    if cell.kind is Kind.TIMESTAMP:
        return rows.dialect.microseconds(cell.sql)
    return binary("*", rows.dialect.days(cell.sql, Kind.DATE), rows.dialect.literal(_DAY, Kind.INTEGER))


def _format_date(operation: e.FormatDate, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    """Digits are cut from a number with a one before it: 1902 for '02' of year 902."""
    dialect, cell = rows.dialect, TypedSQL(rows.bind(cells[0].sql), cells[0].facts)
    texts = []
    for part, digits, names, text in operation.written:
        if not part:
            texts.append(dialect.text(text))
            continue
        value = rows.bind(dialect.date_part(part, cell.sql, cell.kind))
        if names:
            known = enumerate(names, start=1)
            named = [(binary("=", value, dialect.literal(at, Kind.INTEGER)), dialect.text(name)) for at, name in known]
            texts.append(case(*named, default=dialect.literal(None, Kind.TEXT)))
        else:
            long = dialect.to(binary("+", value, dialect.literal(10**digits, Kind.INTEGER)), Kind.TEXT)
            texts.append(dialect.substring(long, 2, digits))
    if all(not part for part, *_ in operation.written):  # nothing of the date, but NULL where it is
        return case((is_null(cell.sql), dialect.literal(None, Kind.TEXT)), default=join("||", texts))
    return join("||", texts)


def _period(operation: e.Period, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:
    """Count periods from one before the calendar, so that no number is negative; then back to the moment."""
    dialect, days = rows.dialect, facts.kind is Kind.DATE
    unit = _DAY if days else _SECOND
    width, origin, first = operation.seconds * _SECOND, operation.ORIGIN * _SECOND, _FIRST_DAY * _DAY
    start = origin - -(-(origin - first) // width) * width  # at or before the first moment of the calendar

    def whole(value: int) -> SQL:
        return dialect.literal(value // unit if days else value, Kind.INTEGER)

    count = dialect.days(cells[0].sql, Kind.DATE) if days else dialect.microseconds(cells[0].sql)
    since = dialect.whole("//", binary("-", count, whole(start)), whole(width), rows)
    begun = rows.bind(binary("+", binary("*", since, whole(width)), whole(start)))
    inside = case((binary(">=", begun, whole(first)), begun), default=dialect.literal(None, Kind.INTEGER))
    if days:
        return dialect.date_of(inside)
    return dialect.timestamp_of(dialect.whole("//", inside, dialect.literal(_SECOND, Kind.INTEGER), rows))


def _moment_of(operation: e.MomentOf, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    x = rows.bind(cells[0].sql)
    ends = [rows.dialect.literal(end, Kind.INTEGER) for end in operation.ends]
    known = case((between(x, *ends), x), default=rows.dialect.literal(None, Kind.INTEGER))
    return rows.dialect.date_of(known) if operation.kind is Kind.DATE else rows.dialect.timestamp_of(known)


def _days_between(_: e.DaysBetween, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    start, end = (rows.dialect.days(cell.sql, cell.kind) for cell in cells)
    return binary("-", end, start)


def _add_days(operation: e.AddDays, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    """Engines know other calendars, and fail beyond them: only dates that stay within ours are moved."""
    first, last = (end.toordinal() - operation.days for end in (EARLIEST, LATEST))
    ends = max(first, EARLIEST.toordinal()), min(last, LATEST.toordinal())
    x = rows.bind(cells[0].sql)
    inside = between(x, *(rows.dialect.literal(dt.date.fromordinal(end), Kind.DATE) for end in ends))
    return case((inside, rows.dialect.later(x, operation.days)), default=rows.dialect.literal(None, Kind.DATE))


def _add_seconds(operation: e.AddSeconds, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    """As with days: only what stays within our calendar is moved."""
    by = dt.timedelta(seconds=operation.seconds)
    nothing = dt.timedelta()
    first, last = (as_timestamp(end) for end in (MOMENTS.lower, MOMENTS.upper) if end is not None)
    ends = first - min(by, nothing), last - max(by, nothing)
    x = rows.bind(cells[0].sql)
    inside = between(x, *(rows.dialect.literal(end, Kind.TIMESTAMP) for end in ends))
    moved = rows.dialect.seconds_later(x, operation.seconds)
    return case((inside, moved), default=rows.dialect.literal(None, Kind.TIMESTAMP))


def _cast(operation: e.Cast, cells: list[TypedSQL], facts: Facts, rows: Writing) -> SQL:  # noqa: ARG001
    return converted(cells[0].sql, cells[0].kind, operation.kind, rows)


_SPELLING = {Kind.INTEGER: INTEGER, Kind.FLOAT: FLOAT, Kind.DATE: DATE, Kind.TIMESTAMP: TIMESTAMP}


def converted(value: SQL, given: Kind, wanted: Kind, rows: Writing) -> SQL:  # noqa: PLR0911 - by pair of kinds
    """Convert as `Cast` does, for the pairs of kinds that it knows."""
    dialect = rows.dialect
    if given is wanted:
        return value
    x = rows.bind(value)
    nothing = dialect.literal(None, wanted)
    if given is Kind.TEXT:
        if wanted is Kind.BOOLEAN:
            words = [(binary("=", x, string(word)), exp.Boolean(this=word == "true")) for word in ("true", "false")]
            return case(*words, default=nothing)
        fitting = case((dialect.matches(x, _SPELLING[wanted]), x), default=dialect.literal(None, Kind.TEXT))
        read = dialect.read_text(rows.bind(fitting), wanted, rows)
        # '-0' is a double that equals 0: which of the two names a group would be told by the order of its rows.
        return dialect.settled(read, Facts(Kind.FLOAT), rows) if wanted is Kind.FLOAT else read
    if given is Kind.BOOLEAN:
        yes, no = (
            dialect.literal(literal, wanted) for literal in ((1, 0) if wanted is Kind.INTEGER else ("true", "false"))
        )
        return case((x, yes), (negated(x), no), default=nothing)
    if wanted is Kind.BOOLEAN:
        return binary("<>", x, dialect.literal(0, Kind.INTEGER))
    if (given, wanted) == (Kind.FLOAT, Kind.INTEGER):
        # Doubles of at least 2**62 are whole; the nearest below 2**63 is 2**63 - 1024.
        inside = all_of([binary(symbol, x, dialect.float(end)) for symbol, end in _WHOLE_ENDS])
        return case((inside, dialect.nearest(case((inside, x), default=dialect.float(0.0)))), default=nothing)
    return dialect.to(x, wanted)


_WHOLE_ENDS = ((">", -_LARGEST_WHOLE), ("<", _LARGEST_WHOLE))


def _method(name: str) -> _Rule:
    """A rule that hands its only operand to a method of the dialect."""
    return lambda _, cells, __, rows: getattr(rows.dialect, name)(cells[0].sql)


_RULES: dict[type, _Rule] = {
    **dict.fromkeys((e.Add, e.Subtract, e.Multiply), _arithmetic),
    **dict.fromkeys((e.Equal, e.NotEqual, e.Less, e.LessOrEqual), _compare),
    **dict.fromkeys((e.Greatest, e.Least), _extreme),
    e.Negate: _negate,
    e.Divide: _divide,
    e.IntegerDivide: _integer_divide,
    e.Remainder: _remainder,
    e.IsNull: lambda _, cells, __, ___: is_null(cells[0].sql),
    e.And: lambda _, cells, __, ___: all_of([cell.sql for cell in cells]),
    e.Or: lambda _, cells, __, ___: any_of([cell.sql for cell in cells]),
    e.Not: lambda _, cells, __, ___: negated(cells[0].sql),
    e.In: _in,
    e.Case: _case,
    e.Coalesce: lambda _, cells, __, ___: call("coalesce", *(cell.sql for cell in cells)),
    e.NullIf: _null_if,
    e.Abs: _absolute,
    e.Sign: _sign,
    e.Floor: _floor,
    e.Ceil: _ceil,
    e.Round: _round,
    e.Sqrt: _sqrt,
    e.Ln: _ln,
    e.Exp: _exp,
    e.Power: _power,
    e.Bucket: _bucket,
    e.Lower: _method("lower"),
    e.Upper: _method("upper"),
    e.Trim: _method("trimmed"),
    e.Length: _method("length"),
    e.Concat: lambda _, cells, __, ___: binary("||", cells[0].sql, cells[1].sql),
    e.Substring: _substring,
    e.Like: _like,
    e.Position: lambda node, cells, _, rows: rows.dialect.position(cells[0].sql, node.sought),
    e.Replace: lambda node, cells, _, rows: rows.dialect.replaced(cells[0].sql, node.sought, node.by),
    e.SplitPart: lambda node, cells, _, rows: rows.dialect.split_part(cells[0].sql, node.sought, node.place),
    e.Matches: lambda node, cells, _, rows: rows.dialect.found(cells[0].sql, node),
    e.Microseconds: _microseconds,
    e.FormatDate: _format_date,
    e.Period: _period,
    e.MomentOf: _moment_of,
    e.DatePart: lambda node, cells, _, rows: rows.dialect.date_part(node.part, cells[0].sql, cells[0].kind),
    e.DateTrunc: lambda node, cells, _, rows: rows.dialect.date_trunc(node.unit, cells[0].sql, cells[0].kind),
    e.DaysBetween: _days_between,
    e.AddDays: _add_days,
    e.AddSeconds: _add_seconds,
    e.Cast: _cast,
}
"""One rule for each class; a test compares the keys with the classes that there are."""
