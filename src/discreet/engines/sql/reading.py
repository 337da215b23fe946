"""A stored table as a relation: each cell read as its declared kind, clamped, and rows without a unit dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.engines.sql.dialect import Unread
from discreet.engines.sql.expressions import converted
from discreet.engines.sql.words import SQL, all_of, binary, call, case, clamp, is_null, listed, not_null, string
from discreet.errors import ParameterError, QueryRefused
from discreet.exact import float_down, float_up
from discreet.plans.expressions import Cast
from discreet.plans.expressions.expression import Facts
from discreet.tables.kinds import Kind, as_date, as_timestamp

if TYPE_CHECKING:
    from discreet.engines.sql.dialect import Writing
    from discreet.tables import Column, Table, Value

__all__ = ["castable", "conditions", "read_cell", "read_number", "unread_cell"]

_DECIMALS = ("decimal", "numeric")


def read_cell(column: Column, raw: SQL, stored: str, rows: Writing, *, unit: bool = False) -> SQL:
    """Read one column: what cannot be read is NULL; a column of a type that is never read is refused at opening.

    A unit is not rounded: 1.4 is no unit where units are whole numbers.
    """
    read = rows.dialect.stored(raw, stored, rows)
    if read is None or not castable(read[1], column.kind):
        msg = (
            f"column {column.name!r} is stored as {stored} and declared as {column.kind.value}; such values cannot be "
            "read. Declare another type, or store the column as text."
        )
        raise ParameterError(msg)
    value, kind = read
    low, high = column.bounds.lower, column.bounds.upper
    if unit and kind is Kind.FLOAT and stored.lower().startswith(_DECIMALS):
        return _whole_decimal(raw, rows)
    if kind is Kind.FLOAT and column.kind is Kind.FLOAT and low is not None and high is not None:
        return rows.dialect.read_bounded(value, float_up(low), float_down(high), rows)
    if kind is Kind.TEXT and (number := read_number(column, value, rows, unit=unit)) is not None:
        return _listed(column, _clamped(column, number, rows), rows)
    if kind is Kind.TEXT and not unit and (column.trimmed or column.kind is not Kind.TEXT):
        value = rows.dialect.trimmed(value)
        value = _truth(rows.bind(rows.dialect.lower(value))) if column.kind is Kind.BOOLEAN else value
    if kind is Kind.FLOAT:
        value = rows.dialect.read_float(value, rows)
        if unit and column.kind is Kind.INTEGER:  # rounding would make one unit of two
            x = rows.bind(value)
            whole = binary("=", x, rows.dialect.truncated(x, rows))
            value = case((whole, x), default=rows.dialect.literal(None, Kind.FLOAT))
    value = _shortened(column, converted(value, kind, column.kind, rows), kind, rows, unit=unit)
    return _listed(column, _clamped(column, value, rows), rows)


def _truth(text: SQL) -> SQL:
    """Write 1 and 0, as many files hold truth values, as words; pandas writes 1.0 where others are missing."""
    spelled = {"true": ("1", "1.0"), "false": ("0", "0.0")}
    digits = [(binary("=", text, string(number)), string(word)) for word, given in spelled.items() for number in given]
    return case(*digits, default=text)


_WHOLE = "[+-]?[0-9]{1,18}[.]0{1,18}"
_SHORT_EXPONENT = "[+-]?[0-9]([.][0-9]{1,14})?[eE][+]?[0-9]{1,2}"
_LARGEST_EXACT = 2.0**53


def read_number(column: Column, value: SQL, rows: Writing, *, unit: bool) -> SQL | None:
    """Read a text as a number by its value, however it is written: '15400.0', '1e3' and ' 7 ' are integers.

    A fraction is rounded to the nearest integer, halves to even; a unit is not, as two would become one: it is a whole
    number that doubles tell apart from others, or none. None for columns of other kinds.
    """
    if column.kind not in {Kind.INTEGER, Kind.FLOAT}:
        return None
    dialect = rows.dialect
    x = rows.bind(dialect.trimmed(value))
    if column.kind is Kind.FLOAT:
        return converted(x, Kind.TEXT, Kind.FLOAT, rows)
    nothing = dialect.literal(None, Kind.TEXT)
    whole = rows.bind(case((dialect.matches(x, _WHOLE), x), default=nothing))
    spelled = rows.bind(case((dialect.matches(x, _SHORT_EXPONENT), x), default=nothing)) if unit else x
    near = rows.bind(converted(spelled, Kind.TEXT, Kind.FLOAT, rows))
    if unit:
        told = all_of(
            [
                binary("=", near, dialect.truncated(near, rows)),
                binary("<", call("abs", near), dialect.float(_LARGEST_EXACT)),
            ]
        )
        near = rows.bind(case((told, near), default=dialect.literal(None, Kind.FLOAT)))
    ways = (converted(x, Kind.TEXT, Kind.INTEGER, rows), dialect.read_whole(whole, rows))
    return call("coalesce", *ways, converted(near, Kind.FLOAT, Kind.INTEGER, rows))


def _whole_decimal(raw: SQL, rows: Writing) -> SQL:
    """Read a decimal that is a whole number as that; others are NULL. As doubles, long ones would be one unit."""
    x = rows.bind(raw)
    text = rows.bind(rows.dialect.to(x, Kind.TEXT))
    whole = case((rows.dialect.matches(text, "-?[0-9]{1,19}([.]0+)?"), x))
    return rows.dialect.narrowed(rows.bind(whole), rows)


def unread_cell(column: Column, raw: SQL, stored: str, rows: Writing) -> Unread | None:
    """Give a stored double that `read_cell` reads into bounds, for rules that do both at once."""
    number = rows.dialect.stored(raw, stored, rows) if column.kind is Kind.FLOAT else None
    low, high = column.bounds.lower, column.bounds.upper
    if number is None or number[1] is not Kind.FLOAT or low is None or high is None or not rows.dialect.reads_late:
        return None
    return Unread(number[0], float_up(low), float_down(high))


def castable(given: Kind, wanted: Kind) -> bool:
    """Tell whether values of a kind can be read as another.

    >>> castable(Kind.INTEGER, Kind.FLOAT), castable(Kind.BOOLEAN, Kind.DATE)
    (True, False)
    """
    try:
        Cast((), wanted).derive((Facts(given),))
    except QueryRefused:
        return False
    return True


def _clamped(column: Column, value: SQL, rows: Writing) -> SQL:
    """Clamp into the bounds: floats to the nearest doubles inside."""
    low, high = column.bounds.lower, column.bounds.upper
    if low is None or high is None:
        return value
    ends: tuple[Value, Value]
    if column.kind is Kind.FLOAT:
        ends = float_up(low), float_down(high)
    elif column.kind is Kind.INTEGER:
        ends = int(low), int(high)
    else:
        back = as_date if column.kind is Kind.DATE else as_timestamp
        ends = back(low), back(high)
    return clamp(rows.bind(value), *(rows.dialect.literal(end, column.kind) for end in ends))


def _shortened(column: Column, value: SQL, kind: Kind, rows: Writing, *, unit: bool) -> SQL:
    """Cut a text to its public length. A unit that is longer is none: two that begin alike would become one."""
    most = column.max_length
    if most is None or Cast((), Kind.TEXT).derive((Facts(kind),)).length <= most:
        return value  # a number or a date is short
    x = rows.bind(value)
    if unit:
        return case((rows.dialect.within(x, most), x), default=rows.dialect.literal(None, Kind.TEXT))
    # What is none of the keys becomes `other`, whatever its length.
    return value if column.other is not None else rows.dialect.cut(x, most)


def _listed(column: Column, value: SQL, rows: Writing) -> SQL:
    """Turn what is not among the keys into `other`, if that is declared; NULL stays NULL."""
    if column.other is None:
        return value
    x = rows.bind(value)
    keys = [rows.dialect.literal(key, column.kind) for key in column.keys or () if key is not None]
    nothing = rows.dialect.literal(None, column.kind)
    return case((is_null(x), nothing), (listed(x, keys), x), default=rows.dialect.literal(column.other, column.kind))


def conditions(table: Table, cells: dict[str, SQL]) -> list[SQL]:
    """What a row must fulfill to be there: a unit, and a value in these cells wherever NULL is not allowed."""
    needed = [described.name for described in table.columns if not described.nullable or described.name == table.unit]
    return [not_null(cells[name]) for name in needed if name in cells]
