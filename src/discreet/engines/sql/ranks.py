"""The rank that decides which of a unit's rows are kept: a keyed hash of an encoding that all engines share.

The encoding of a row is the concatenation of its cells', each of which says where it ends:

    NULL n · boolean b0 b1 · integer i<decimal>; · text t<code points>:<text>
    date d<days since 1970>; · timestamp s<microseconds since 1970>; · float f0; or f<sign><mantissa>p<exponent>;

A float is written as ±m · 2**(e - 52) with 2**52 <= m < 2**53, which takes divisions by powers of two only, so that no
engine's way of printing doubles matters. The rank is SHA-256 of the key, a tag, the unit's encoding and the row's. The
key stands first and has a fixed length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.sql.words import SQL, binary, call, case, cast, join, string
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.engines.sql.binding import Cell
    from discreet.engines.sql.writing import Writing

__all__ = ["rank"]


def rank(tag: str, unit: Cell, cells: list[Cell], key: bytes, rows: Writing) -> SQL:
    """Hash the unit and some cells."""
    parts = [_encoded(cell, rows) for cell in (unit, *cells)]
    return rows.dialect.hashed(binary("||", string(f"{key.hex()}{tag}"), _joined(parts)))


def _joined(parts: list[SQL]) -> SQL:
    """Concatenate by halves: from left to right, each step would copy everything so far."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return binary("||", _joined(parts[:middle]), _joined(parts[middle:]))


def _encoded(cell: Cell, rows: Writing) -> SQL:
    x = rows.bind(cell.sql)
    return call("coalesce", _ENCODINGS[cell.kind](x, rows), string("n"))


def _number(letter: str, value: SQL, rows: Writing) -> SQL:
    return join("||", [string(letter), rows.dialect.to(value, Kind.TEXT), string(";")])


def _boolean(x: SQL, _: Writing) -> SQL:
    return case(
        (binary("=", x, exp.Boolean(this=True)), string("b1")), (binary("=", x, exp.Boolean(this=False)), string("b0"))
    )


def _text(x: SQL, rows: Writing) -> SQL:
    length = rows.dialect.to(rows.dialect.length(x), Kind.TEXT)
    return join("||", [string("t"), length, string(":"), x])


def _float(x: SQL, rows: Writing) -> SQL:
    """The exponent is guessed by logarithms, which may be off by one in either direction, and then put right."""
    dialect = rows.dialect
    zero, one, two = (dialect.float(value) for value in (0.0, 1.0, 2.0))
    size = rows.bind(case((binary("<>", x, zero), call("abs", x)), default=dialect.literal(None, Kind.FLOAT)))
    guess = rows.bind(dialect.floor(binary("/", call("ln", size), call("ln", two)), rows))
    share = rows.bind(binary("/", size, call("power", two, guess)))
    exponent = rows.bind(
        case(
            (binary(">=", share, two), binary("+", guess, one)),
            (binary("<", share, one), binary("-", guess, one)),
            default=guess,
        )
    )
    mantissa = binary("*", binary("/", size, call("power", two, exponent)), dialect.float(2.0**52))
    whole = [dialect.to(cast(value, dialect.types[Kind.INTEGER]), Kind.TEXT) for value in (mantissa, exponent)]
    sign = case((binary("<", x, zero), string("-")), default=string("+"))
    written = join("||", [string("f"), sign, whole[0], string("p"), whole[1], string(";")])
    return case((binary("=", x, zero), string("f0;")), default=written)


_ENCODINGS: dict[Kind, Callable[[SQL, Writing], SQL]] = {
    Kind.BOOLEAN: _boolean,
    Kind.INTEGER: lambda x, rows: _number("i", x, rows),
    Kind.TEXT: _text,
    Kind.FLOAT: _float,
    Kind.DATE: lambda x, rows: _number("d", rows.dialect.days(x, Kind.DATE), rows),
    Kind.TIMESTAMP: lambda x, rows: _number("s", rows.dialect.microseconds(x), rows),
}
