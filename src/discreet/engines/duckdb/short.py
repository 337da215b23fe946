"""Numbering the rows of each unit by a short key: 32 bits for the unit, and the first 16 of the rank.

DuckDB sorts keys of eight bytes in two thirds of the time that a whole unit and a whole rank take, and only half of the
rank has to be computed. Eight bytes hold a number of 32 bits and one of 16, each with a byte for NULL.

What is kept is exactly what whole ranks would keep. Let h be the first bits of the rank, so that ranks whose h differ
have the order of their h. A row stays here if fewer than k rows of its unit have a smaller h. Each of the k rows of
least rank does: a row with a smaller h has a smaller rank, and fewer than k rows have. So at least these stay, and
others only if they have the h of the k-th row: then more than k rows of the unit stay, and one of them is not among
the first k in any order by h, which marks it. Units with a mark are cut down to k rows by whole ranks; what they need
for it has stayed. The bound does not rest on the sort of h being right either: a unit without a mark has no row
numbered above k, and row numbers of a unit are different.

The least and the largest of all integers are looked up before: whether units fit in 32 bits, which limbs of the rank
are 0 in all rows and can be left out, and in how few bytes other columns are carried through the sort. Nothing of it
changes what is kept, as long as the source stays as it was. Should it change in between, rows of other units are left
out, other numbers that do not fit become NULL, and the limit holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from discreet.engines.sql.ranks import PRIME
from discreet.engines.sql.relations import UNIT, Emitter, Relation
from discreet.engines.sql.rows import count_rows
from discreet.engines.sql.words import (
    SQL,
    alias,
    between,
    binary,
    call,
    case,
    cast,
    column,
    number,
    over,
    select,
    try_cast,
)
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.plans.expressions.expression import Facts

__all__ = ["MARK", "Short"]

MARK = "x"
"""A column of what is kept at first: whether the row makes its unit have too many."""
_UNITS = 2**32
_HASH_BITS = 16


_TYPES = {"UTINYINT": 2**8, "USMALLINT": 2**16, "UINTEGER": 2**32}

_Run: TypeAlias = "Callable[[SQL], list[tuple[int | None, ...]]]"


@dataclass(frozen=True, slots=True)
class Short:
    """How rows are numbered by a short key: the least and the largest unit, and the same of all integers."""

    low: int
    high: int
    spans: Mapping[str, Bounds]

    @staticmethod
    def of(child: Relation, sampled: SQL, limit: int, run: _Run) -> Short | None:
        """Look whether it can be done and is worth it; it is not where whole ranks would have to decide after all."""
        integers = {name: of for name, of in child.names.items() if child.schema[name].kind is Kind.INTEGER}
        own = next((name for name, of in integers.items() if of == child.own), None)
        if own is None:
            return None
        ends = [call(end, column(of)) for of in integers.values() for end in ("min", "max")]
        (columns,) = run(select([alias(end, f"e{place}") for place, end in enumerate(ends)], child.query))
        pairs = zip(integers, zip(columns[::2], columns[1::2], strict=True), strict=True)
        spans = {name: Bounds(*pair) for name, pair in pairs if None not in pair}
        if own not in spans:
            return None
        low, high = (int(end) for end in (spans[own].lower, spans[own].upper) if end is not None)
        if high - low >= _UNITS or _often_repeated(child, sampled, limit, run):
            return None
        return Short(low, high, spans)

    def numbered(self, emitter: Emitter, child: Relation, limit: int) -> SQL:
        """Write the rows that stay, with a mark."""
        ends = [emitter.dialect.literal(end, Kind.INTEGER) for end in (self.low, self.high)]
        others = {of: name for name, of in child.names.items() if of != child.own}
        carried = [alias(self._packed(column(of), name), of) for of, name in others.items()]
        unit = cast(binary("-", column(UNIT), ends[0]), "UINTEGER")
        first = try_cast(binary(">>", column("r"), number(PRIME.bit_length() - _HASH_BITS)), "USMALLINT")
        inside = between(column(UNIT), *ends)
        rows = emitter.led(self._spanned(child))
        keyed = select([*carried, alias(unit, "v"), alias(first, "h")], rows, where=inside)
        v, h = column("v"), column("h")
        places = [alias(over(call(name), [v], [h]), at) for name, at in (("rank", "q"), ("row_number", "m"))]
        below = select([*(column(of) for of in others), v, *places], keyed)
        cells = {of: self._unpacked(column(of), name, child.schema[name]) for of, name in others.items()}
        cells[str(child.own)] = binary("+", cast(v, "BIGINT"), ends[0])
        columns = [alias(cells[of], of) for of in child.names.values()]
        mark = alias(binary(">", column("m"), number(limit)), MARK)
        return select([*columns, mark], below, where=binary("<=", column("q"), number(limit)))

    def _spanned(self, child: Relation) -> Relation:
        """Leave limbs out of the rank that are 0 in all rows."""
        schema = {
            name: replace(facts, bounds=self.spans[name]) if name in self.spans else facts
            for name, facts in child.schema.items()
        }
        assert child.unit is not None  # noqa: S101 - `of` found its column
        return replace(child, schema=schema, unit=replace(child.unit, bounds=Bounds(self.low, self.high)))

    def _type(self, name: str) -> str | None:
        """Give the shortest type that holds a column, None to leave it as it is."""
        span = self.spans.get(name)
        if span is None or span.lower is None or span.upper is None or span.lower < 0:
            return None
        return next((kind for kind, end in _TYPES.items() if span.upper < end), None)

    def _packed(self, value: SQL, name: str) -> SQL:
        kind = self._type(name)
        return value if kind is None else try_cast(value, kind)

    def _unpacked(self, value: SQL, name: str, facts: Facts) -> SQL:
        """Give the number back; a column that cannot hold NULL holds none, even if the source has changed."""
        if self._type(name) is None:
            return value
        back = cast(value, "BIGINT")
        return back if facts.nullable else call("coalesce", back, number(0))


def _often_repeated(child: Relation, sampled: SQL, limit: int, run: _Run) -> bool:
    """Tell whether whole ranks would have to decide too often, as more than a third of the rows are like others.

    Of n rows with d different ones, n - d of n - 1 places for a cut lie between equal rows. Counted are sampled units
    with too many rows.
    """
    cells = call("hash", *(column(of) for of in child.names.values()))
    alike = select([column(UNIT), alias(cells, "w")], child.query, where=sampled)
    counted = select([column(UNIT), alias(count_rows(), "n")], alike, group=[column(UNIT), column("w")])
    n = column("n")
    units = select([alias(call("sum", n), "n"), alias(count_rows(), "d")], counted, group=[column(UNIT)])
    extra = case((binary(">", n, number(limit)), binary("-", n, column("d"))), default=number(0))
    sums = [alias(call("sum", part), f"r{at}") for at, part in enumerate((n, extra))]
    ((rows, repeated),) = run(select(sums, units))
    return 3 * (repeated or 0) > (rows or 0)
