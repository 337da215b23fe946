"""What is read of public tables that state no columns, when a source is opened: columns, types, keys and bounds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.engines.sql.losses import fraction
from discreet.engines.sql.reading import castable, read_cell
from discreet.engines.sql.rows import Rows, count_distinct, count_values
from discreet.engines.sql.words import SQL, alias, case, column, not_null, number, select
from discreet.errors import PolicyError
from discreet.tables import Column
from discreet.tables.kinds import LONGEST_TEXT, Kind, as_date, as_timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.engines.sql.relations import Emitter
    from discreet.tables import Policy, Table

    Execute = Callable[[str], Sequence[tuple[Any, ...]]]

__all__ = ["MOST_KEYS", "with_public_columns"]

MOST_KEYS = 1000
"""A column of texts has known keys if it holds at most so many different ones."""

_OF_TEXTS = (Kind.INTEGER, Kind.FLOAT, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP)
_LEADING_ZERO = "[ ]*[+-]?0[0-9].*"


def with_public_columns(policy: Policy, emitter: Emitter, execute: Execute) -> Policy:
    """Read the columns of the public tables that state none; columns of a type that is never read are left out.

    Texts are of the type that fits all of them; those with a leading zero, such as 01067, stay texts. Numbers, dates
    and timestamps have the bounds of what is there, texts of at most `MOST_KEYS` values these as keys.
    """
    tables = [table for table in policy.tables if table.unstated]
    return (
        policy.with_columns({wanted.name: _columns(wanted, emitter, execute) for wanted in tables})
        if tables
        else policy
    )


def _columns(table: Table, emitter: Emitter, execute: Execute) -> list[Column]:
    """Read a table, one column after the other; of names that differ in case alone none could be asked about."""
    raw = emitter.raw(table)
    named = Counter(name.casefold() for name in raw.columns)
    columns = []
    for name, stored in raw.columns.items():
        if named[name.casefold()] == 1 and name.isprintable() and not name.startswith("_"):
            read = _Stored(name, stored, raw.source, emitter, execute).read()
            columns += [] if read is None else [read]
    return columns


@dataclass(frozen=True, slots=True)
class _Stored:
    """A stored column of a public table."""

    name: str
    stored: str
    source: SQL
    emitter: Emitter
    execute: Execute

    def read(self) -> Column | None:
        """Read its type, and what stands in it."""
        rows = self._rows()
        given = rows.dialect.stored(column("x"), self.stored, rows)
        if given is None or not castable(given[1], given[1]):
            return None
        kind = self._kind_of_texts() if given[1] is Kind.TEXT else given[1]
        plain = Column(self.name, type=kind)
        try:
            if kind is Kind.TEXT:
                return Column(self.name, type=kind, keys=self._keys())
            return plain if kind is Kind.BOOLEAN else Column(self.name, type=kind, **self._ends(kind))
        except PolicyError:  # none, too many, or of a size that a policy cannot state
            return plain

    def _kind_of_texts(self) -> Kind:
        """The first type that reads every text."""
        rows = self._rows()
        x = column("x")
        numbers = case((rows.dialect.matches(rows.bind(rows.dialect.to(x, Kind.TEXT)), _LEADING_ZERO), number(1)))
        parts = fraction(Column(self.name, type=Kind.INTEGER), x, self.stored, rows)
        counts = [count_values(x), count_values(numbers), count_values(case((parts or not_null(x), number(1))))]
        counts += [count_values(rows.bind(self._cell(kind, rows))) for kind in _OF_TEXTS]
        ((there, zeros, fractions, *fitting),) = self._asked(rows, counts)
        for kind, count in zip(_OF_TEXTS, fitting, strict=True):
            refused = (kind.numeric and zeros) or (kind is Kind.INTEGER and fractions)
            if there and count == there and not refused:
                return kind
        return Kind.TEXT

    def _keys(self) -> list[str] | None:
        """The different texts in their order, if they are few."""
        rows = self._rows()
        cell = rows.bind(self._cell(Kind.TEXT, rows))
        ((different,),) = self._asked(rows, [count_distinct(cell)])
        if not 0 < int(different) <= MOST_KEYS:
            return None
        query = select([alias(cell, "k")], rows.computed(), where=not_null(cell), group=[cell])
        return sorted(str(key) for (key,) in self.execute(rows.dialect.written(query)))

    def _ends(self, kind: Kind) -> dict[str, Any]:
        """The least and the largest value."""
        rows = self._rows()
        cell, dialect = rows.bind(self._cell(kind, rows)), rows.dialect
        counted = {Kind.DATE: lambda: dialect.days(cell, kind), Kind.TIMESTAMP: lambda: dialect.microseconds(cell)}
        value = rows.bind(dialect.to(counted[kind](), Kind.INTEGER)) if kind in counted else cell
        of = kind if kind.numeric else Kind.INTEGER
        ((low, high),) = self._asked(rows, [dialect.smallest(value, of), dialect.largest(value, of)])
        if low is None or high is None:
            return {}
        backs: dict[Kind, Callable[[Any], Any]] = {
            Kind.DATE: as_date,
            Kind.TIMESTAMP: as_timestamp,
            Kind.INTEGER: int,
            Kind.FLOAT: Fraction,
        }
        back = backs[kind]
        return {"lower": back(low), "upper": back(high)}

    def _rows(self) -> Rows:
        return Rows(select([alias(column(self.name), "x")], self.source.copy()), {}, {}, self.emitter.dialect)

    def _cell(self, kind: Kind, rows: Rows) -> SQL:
        """Read the column as a kind, texts as long as texts may be."""
        longest = LONGEST_TEXT if kind is Kind.TEXT else None
        return read_cell(Column(self.name, type=kind, max_length=longest), column("x"), self.stored, rows)

    def _asked(self, rows: Rows, values: list[SQL]) -> Sequence[tuple[Any, ...]]:
        """Ask for aggregates of all rows."""
        columns = [alias(value, f"n{place}") for place, value in enumerate(values)]
        return self.execute(rows.dialect.written(select(columns, rows.computed())))
