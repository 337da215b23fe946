"""What reading loses of the stored rows, counted exactly: for the owner, who can correct the policy or the data."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.sql.reading import read_cell, read_number
from discreet.engines.sql.relations import UNIT
from discreet.engines.sql.rows import Rows, count_distinct, count_rows, count_values
from discreet.engines.sql.words import (
    SQL,
    alias,
    all_of,
    binary,
    call,
    case,
    column,
    is_null,
    listed,
    negated,
    not_null,
    number,
    select,
)
from discreet.plans.nodes import Scan
from discreet.tables import Column
from discreet.tables.kinds import Kind, as_date, as_timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.engines.sql.relations import Emitter
    from discreet.engines.sql.statements import Columns
    from discreet.tables import Policy, Table, Value

__all__ = ["SPOILED", "ColumnLosses", "TableLosses", "fraction", "losses"]

SPOILED = 0.02
"""From this share of the rows on, what is lost will spoil answers."""


@dataclass(frozen=True, slots=True)
class ColumnLosses:
    """How many rows of a column are read as something else than what is stored.

    >>> ColumnLosses("cost", null=3, above=40).total
    43
    """

    name: str
    null: int = 0
    """Nothing is stored."""
    unreadable: int = 0
    """It is no value of the declared type, and read as NULL."""
    rounded: int = 0
    """It is a fraction in a column of integers."""
    outside: int = 0
    """It is none of the keys: `other`, or in no group."""
    below: int = 0
    """It is read as the lower bound."""
    above: int = 0
    """It is read as the upper bound."""

    @property
    def total(self) -> int:
        """All of them together."""
        return sum(getattr(self, field.name) for field in fields(self)[1:])


@dataclass(frozen=True, slots=True)
class TableLosses:
    """What reading loses of a table.

    >>> lost = TableLosses("visits", 1000, columns=(ColumnLosses("cost", above=40),), cut=5)
    >>> lost.share(lost.cut), lost.spoils(40), lost.spoils(5)
    (0.005, True, False)
    """

    name: str
    rows: int
    columns: tuple[ColumnLosses, ...] = ()
    no_unit: int = 0
    """Rows whose unit is missing or cannot be read; they are dropped."""
    cut: int = 0
    """Rows beyond `rows_per_unit`; they are dropped."""
    unread: int = 0
    """Rows of a file of text with bytes that are no UTF-8; questions that read such a column drop them."""
    near: int = 0
    """Units, in all tables of their kind, that another differs from in spaces, case or the way a number is written."""

    def share(self, rows: int) -> float:
        """So many rows as a share of all."""
        return rows / self.rows if self.rows else 0.0

    def spoils(self, rows: int) -> bool:
        """Tell whether so many rows are enough to spoil answers."""
        return bool(rows) and self.share(rows) >= SPOILED


def losses(
    policy: Policy, emitter: Emitter, execute: Callable[[Sequence[str]], Sequence[Columns]]
) -> tuple[TableLosses, ...]:
    """Count what reading loses of each table of a policy, in one snapshot."""
    tables = policy.tables
    limited = [table for table in tables if table.unit is not None and table.rows_per_unit is not None]
    kinds = {table.unit_kind: table.column(table.unit).kind for table in tables if table.unit is not None}
    texts = [kind for kind, of in kinds.items() if of is Kind.TEXT]
    statements = [
        *(_cells_text(table, emitter) for table in tables),
        *(_rows_text(table, emitter) for table in tables),
        *(_cut_text(table, emitter) for table in limited),
        *(_near_text([table for table in tables if table.unit_kind == kind], emitter) for kind in texts),
    ]
    counts = iter([[int(str(cells[0])) for cells in columns] for columns in execute(statements)])
    cells = {table.name: next(counts) for table in tables}
    stored = {table.name: next(counts)[0] for table in tables}
    cut = {table.name: next(counts)[0] for table in limited}
    near = {kind: ids - different for kind, (ids, different) in zip(texts, counts, strict=True)}
    return tuple(
        replace(
            _table_losses(table, cells[table.name], max(0, stored[table.name] - cells[table.name][0])),
            cut=cut.get(table.name, 0),
            near=near.get(table.unit_kind, 0),
        )
        for table in tables
    )


_COUNTED = tuple(node.name for node in fields(ColumnLosses)[1:])


def _table_losses(table: Table, cells: list[int], unread: int) -> TableLosses:
    """Name the counts of a table's statements."""
    rows, *parts = cells
    width = len(_COUNTED)
    columns = tuple(
        ColumnLosses(declared.name, **dict(zip(_COUNTED, parts[width * place : width * (place + 1)], strict=True)))
        for place, declared in enumerate(table.columns)
    )
    no_unit = sum(declared.null + declared.unreadable for declared in columns if declared.name == table.unit)
    return TableLosses(table.name, rows + unread, columns, no_unit, unread=unread)


def _rows_text(table: Table, emitter: Emitter) -> str:
    """Write the question how many rows there are, whatever is in them: no column is read."""
    return emitter.dialect.written(select([alias(count_rows(), "n")], emitter.raw(table).source))


def _cells_text(table: Table, emitter: Emitter) -> str:
    """Write the question how many cells of each column are lost in which way."""
    raw = emitter.raw(table)
    given = [alias(column(declared.name), f"x{place}") for place, declared in enumerate(table.columns)]
    rows = Rows(select(given, raw.source), {}, {}, emitter.dialect)
    counts = [count_rows()]
    for place, declared in enumerate(table.columns):
        lost = _lost(declared, column(f"x{place}"), raw.columns[declared.name], rows, unit=declared.name == table.unit)
        counts += [number(0) if when is None else count_values(case((when, number(1)))) for when in lost]
    columns = [alias(count, f"n{place}") for place, count in enumerate(counts)]
    return emitter.dialect.written(select(columns, rows.computed()))


def _lost(declared: Column, raw: SQL, stored: str, rows: Rows, *, unit: bool) -> list[SQL | None]:
    """Write when a cell counts, in the order of `_COUNTED`; None where it never does.

    What is read here is the value before it is clamped and before what is none of the keys becomes `other`.
    """
    keys = [key for key in declared.keys or () if key is not None and key != declared.other]
    plain = Column(
        declared.name,
        type=declared.kind,
        keys=keys or None,
        exact=declared.exact,
        max_length=declared.max_length,
    )
    read = rows.bind(read_cell(plain, raw, stored, rows, unit=unit))
    below, above = _outside_bounds(declared, read, rows)
    known = [rows.dialect.literal(key, declared.kind) for key in keys]
    return [
        is_null(raw),
        all_of([not_null(raw), is_null(read)]),
        None if unit else fraction(declared, raw, stored, rows),
        all_of([not_null(read), negated(listed(read, known))]) if known else None,
        below,
        above,
    ]


def fraction(declared: Column, raw: SQL, stored: str, rows: Rows) -> SQL | None:
    """Write when a number that is read as an integer is none."""
    read = rows.dialect.stored(raw, stored, rows)
    if declared.kind is not Kind.INTEGER or read is None or read[1] not in {Kind.TEXT, Kind.FLOAT}:
        return None
    value = rows.bind(read_cell(Column(declared.name, type=Kind.FLOAT), raw, stored, rows))
    return binary("<>", value, rows.dialect.truncated(value, rows))


def _outside_bounds(declared: Column, read: SQL, rows: Rows) -> tuple[SQL | None, SQL | None]:
    """Write when a value is clamped to the lower bound, and to the upper one."""
    low, high = declared.bounds.lower, declared.bounds.upper
    if low is None or high is None:
        return None, None
    kinds: dict[Kind, Callable[..., Value]] = {
        Kind.FLOAT: float,
        Kind.INTEGER: int,
        Kind.DATE: as_date,
        Kind.TIMESTAMP: as_timestamp,
    }
    back = kinds[declared.kind]
    ends = [rows.dialect.literal(back(end), declared.kind) for end in (low, high)]
    return binary("<", read, ends[0]), binary(">", read, ends[1])


def _units(table: Table, emitter: Emitter) -> exp.Select:
    """Write the units of a table as u, each with its number of rows as n."""
    unit = column(UNIT)
    return select([unit, alias(count_rows(), "n")], emitter.relation(Scan(table)).query, group=[unit])


def _cut_text(table: Table, emitter: Emitter) -> str:
    """Write the question how many rows are beyond those of their unit that count."""
    over = binary("-", column("n"), number(table.rows_per_unit or 0))
    beyond = case((binary("<", number(0), over), over), default=number(0))
    total = alias(emitter.dialect.short_total(beyond), "n")
    return emitter.dialect.written(select([total], _units(table, emitter)))


def _near_text(tables: list[Table], emitter: Emitter) -> str:
    """Write the question how many units there are, and how many by their value: 7, 7.0 and ' 7 ' are one, A1 and a1."""
    dialect = emitter.dialect
    units = [select([alias(column(UNIT), "x")], _units(table, emitter)) for table in tables]
    together: SQL = units[0]
    for near in units[1:]:
        together = exp.Union(this=together, expression=near, distinct=False)
    rows = Rows(select([column("x")], together), {}, {}, dialect)
    read = read_number(Column("unit", type=Kind.INTEGER), column("x"), rows, unit=True)
    assert read is not None  # noqa: S101 - of an integer
    whole = rows.bind(read)
    alike = rows.bind(call("coalesce", dialect.to(whole, Kind.TEXT), dialect.lower(dialect.trimmed(column("x")))))
    counts = [alias(count_distinct(column("x")), "n0"), alias(count_distinct(alike), "n1")]
    return dialect.written(select(counts, rows.computed()))
