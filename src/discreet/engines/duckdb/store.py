"""Storage of the engine's own: tables cut down to so many rows per unit, once for each version of the data.

Which rows are kept is the same for every question, so they are found once. Mostly, units with too many rows are few:
they are found by counting, and only their rows are ranked and sorted; where they are many, all rows are, by short keys
where units are numbers that allow it (`discreet.engines.duckdb.short`). All ways keep the same rows. Later questions
read the kept rows, already in their declared kinds, and pay nothing for the limit.

The rows are a copy and not a list of the units with too many: a source that changes under the same version would break
the limit otherwise. They are stored as they are: to compress them would take as long as to find them. Where no file is
to outlast the engine, they stay in memory as long as they fit in a part of it: to write them takes twice as long.

The file holds copies of private rows and the key of the ranks. It belongs to one version of the dataset, and is deleted
with it: DuckDB drops a table by forgetting its blocks, and what they held would stay readable in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.duckdb.connecting import undo
from discreet.engines.duckdb.short import MARK, Short
from discreet.engines.keys import fresh_key
from discreet.engines.sql.relations import UNIT, Emitter, Relation, described, kept_name, limits, visible
from discreet.engines.sql.rows import count_rows
from discreet.engines.sql.words import (
    SQL,
    alias,
    binary,
    call,
    case,
    cast,
    column,
    negated,
    number,
    select,
    table,
)
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.relations import Raw
    from discreet.plans.nodes import Node, Scan
    from discreet.tables import Policy, Table

__all__ = ["Store", "belongs", "forget", "is_store"]

_HEAVY, _AGAIN = ("temp", "heavy"), ("temp", "again")
_MARKED, _QUICKLY_MARKED = ("marked_rows",), ("temp", "quickly_marked_rows")
"""Rows that are not kept yet, in the file and in memory; no question reads tables of such names."""
_SAMPLED = 64
"""One unit of so many is looked at before it is decided how to find the rows to keep, and where they go."""
_LOOKED = 4096
"""About so many rows are looked at more closely, if that is fewer."""
_TEXT, _OTHER = 32, 8
"""About so many bytes a cell takes."""


@dataclass(frozen=True, slots=True)
class _Guess:
    """What a few units tell about all: rows, those of units with too many, and those that are kept."""

    rows: int
    heavy: int
    kept: int

    @property
    def mostly_heavy(self) -> bool:
        """Whether most rows belong to units with too many."""
        return 2 * self.heavy > self.rows

    @property
    def share(self) -> int:
        """One unit of so many, a power of two, has about as many rows as are looked at more closely."""
        return max(_SAMPLED, 1 << (self.rows // _LOOKED).bit_length())


class Store:
    """The catalog of the engine: stored tables, and what is kept of them.

    Kept rows of so many bytes as are `spare` stay in memory, and others go to the connection's file.
    """

    def __init__(  # noqa: PLR0913 - where rows come from and go to
        self,
        connection: DuckDBPyConnection,
        raw: dict[str, Raw],
        policy: Policy,
        dialect: Dialect,
        key: bytes | None,
        *,
        spare: int = 0,
    ) -> None:
        self._connection = connection
        self._raw = raw
        self._dialect = dialect
        self._policy = policy
        self._spare = spare
        self._there = set(self._stored())
        stated = _about(connection)
        if not stated:
            stated = [(described(policy), fresh_key() if key is None else key)]
            connection.execute("CREATE TABLE about (version VARCHAR, rank_key BLOB)")
            connection.execute("INSERT INTO about VALUES (?, ?)", stated[0])
        self.key = stated[0][1]

    def raw(self, table: Table) -> Raw:
        """Give a stored table of the source."""
        return self._raw[table.name]

    def kept(self, table: Table, limit: int) -> SQL | None:
        """Give the table of kept rows; `fill` makes it before it is read."""
        if table.unit is None:
            return None
        return self._named(table.name, limit)

    def _named(self, name: str, limit: int) -> SQL:
        """Without a schema: DuckDB looks in memory first, then in the file, and nowhere else."""
        return table(kept_name(self._policy, name, limit))

    def _stored(self) -> list[str]:
        """Name the kept rows in memory and in the file; a source may have tables of the same names."""
        rows = self._connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND starts_with(table_name, 'kept_')"
            " AND database_name IN (current_database(), 'temp')"
        ).fetchall()
        return [str(name) for (name,) in rows]

    def lacks(self, node: Node) -> bool:
        """Tell whether a plan needs what is not stored."""
        return any(self._named(scan.table.name, limit).name not in self._there for scan, limit in limits(node))

    def fill(self, node: Node) -> bool:
        """Store what a plan needs and is not there; False if the engine failed, and then nothing is half done.

        What is there is whole, as it was committed: an interrupt may have come when it was, and nobody noted it.
        """
        try:
            there = self._there = set(self._stored())
            for scan, limit in limits(node):
                target = self._named(scan.table.name, limit)
                if target.name not in there:
                    self._keep(scan, limit, target.name)
                    there.add(target.name)
        except Exception:  # noqa: BLE001 - any error of the driver, whose message may quote private values
            return False
        return True

    def _keep(self, scan: Scan, limit: int, name: str) -> None:
        """Copy what is kept: where most rows belong to units with too many, by ranking all, else those units' alone."""
        emitter = Emitter(self._dialect, self, self.key)
        connection = self._connection
        try:
            connection.execute("BEGIN TRANSACTION")
            kept = emitter.late(scan)
            guess = self._guess(kept, limit)
            size = guess.kept * sum(_TEXT if facts.kind is Kind.TEXT else _OTHER for facts in kept.schema.values())
            quick = size <= self._spare
            target = f"{'TEMP ' if quick else ''}TABLE {table(name).sql('duckdb')}"
            short = Short.of(kept, _sampled(guess.share), limit, self._run) if guess.mostly_heavy else None
            if not guess.mostly_heavy:
                self._keep_light(emitter, scan, limit, target)
            elif short is None:
                self._create(target, visible(emitter.limited(emitter.relation(scan), limit)))
            else:
                marked = table(*(_QUICKLY_MARKED if quick else _MARKED))
                self._mark(marked, short.numbered(emitter, emitter.relation(scan), limit), quick=quick)
                self._settle(emitter, emitter.relation(scan), limit, marked)
                connection.execute(f"ALTER TABLE {marked.sql('duckdb')} RENAME TO {table(name).sql('duckdb')}")
            connection.execute("COMMIT")
        except BaseException:
            undo(connection)
            raise
        self._spare -= size if quick else 0

    def _guess(self, child: Relation, limit: int) -> _Guess:
        """Look at a few units; what is guessed wrong costs time alone."""
        counted = select([alias(count_rows(), "n")], child.query, where=_sampled(), group=[column(UNIT)])
        n, most = column("n"), number(limit)
        many = binary(">", n, most)
        parts = [n, case((many, n), default=number(0)), case((many, most), default=n)]
        sums = [alias(call("sum", part), f"r{place}") for place, part in enumerate(parts)]
        (sampled,) = self._run(select(sums, counted))
        return _Guess(*(_SAMPLED * int(count or 0) for count in sampled))

    def _run(self, query: SQL) -> list[tuple[int | None, ...]]:
        """Ask for a few numbers."""
        return self._connection.execute(self._dialect.written(query)).fetchall()

    def _create(self, target: str, query: SQL) -> None:
        self._connection.execute(f"CREATE {target} AS {self._dialect.written(query)}")

    def _mark(self, marked: SQL, query: SQL, *, quick: bool) -> None:
        """Store the rows that stay by short keys.

        DuckDB deletes committed rows where they are, and copies all others. In memory nothing outlasts a failure, so
        they are committed; what a failure leaves there has another name than kept rows, and is replaced.
        """
        self._create(f"{'OR REPLACE TEMP ' if quick else ''}TABLE {marked.sql('duckdb')}", query)
        if quick:
            self._connection.execute("COMMIT")
            self._connection.execute("BEGIN TRANSACTION")

    def _settle(self, emitter: Emitter, child: Relation, limit: int, marked: SQL) -> None:
        """Cut units with a mark down to the limit by whole ranks."""
        units, again, own = table(*_HEAVY), table(*_AGAIN), column(str(child.own))
        self._create(
            f"TEMP TABLE {units.sql('duckdb')}",
            select([alias(own, UNIT)], marked, where=column(MARK), group=[own]),
        )
        stored = select([*(column(query) for query in child.names.values()), alias(own, UNIT)], marked)
        tied = emitter.limited(_of(replace(child, query=stored), units), limit)
        self._create(f"TEMP TABLE {again.sql('duckdb')}", visible(tied))
        rows, few, rest = (query.sql("duckdb") for query in (marked, units, again))
        for text in (
            f"DELETE FROM {rows} WHERE {own.sql('duckdb')} IN (FROM {few})",  # noqa: S608 - our own names
            f"ALTER TABLE {rows} DROP COLUMN {MARK}",
            f"INSERT INTO {rows} FROM {rest}",
            f"DROP TABLE {few}",
            f"DROP TABLE {rest}",
        ):
            self._connection.execute(text)

    def _keep_light(self, emitter: Emitter, scan: Scan, limit: int, target: str) -> None:
        """Copy the rows of units within the limit, then the first rows of the others."""
        heavy, unit, child = table(*_HEAVY), column(UNIT), emitter.relation(scan)
        # Rows that are dropped for a NULL are counted too: a unit that has too many with them is ranked for nothing.
        counted = select([alias(unit, UNIT), alias(count_rows(), "n")], emitter.late(scan).query, group=[unit])
        many = select([alias(unit, UNIT)], counted, where=binary(">", column("n"), number(limit)))
        name, counts = target.rpartition(" ")[2], heavy.sql("duckdb")
        self._create(f"TEMP TABLE {counts}", many)
        self._create(target, visible(_of(child, heavy, matched=False)))
        rest = emitter.limited(_of(child, heavy), limit)
        self._connection.execute(f"INSERT INTO {name} {self._dialect.written(visible(rest))}")
        self._connection.execute(f"DROP TABLE {counts}")


def _about(connection: DuckDBPyConnection) -> list[tuple[str, bytes]]:
    """Read what the rows of a store belong to, and the key of its ranks; nothing where it is new."""
    if "about" not in _tables(connection):
        return []
    lines = connection.execute("SELECT version, rank_key FROM about").fetchall()
    return [(str(version), bytes(key)) for version, key in lines]


def _tables(connection: DuckDBPyConnection) -> set[str]:
    """Name all that the file of a connection holds."""
    listed = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() UNION ALL "
        "SELECT view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal"
    ).fetchall()
    return {str(name) for (name,) in listed}


def is_store(connection: DuckDBPyConnection) -> bool:
    """Tell whether the file of a connection holds nothing but what engines store: only such a file may be deleted.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     _ = connection.execute("CREATE TABLE patients (id INTEGER)")
    ...     is_store(connection)
    False
    """
    names = _tables(connection)
    return ("about" in names or not names) and all(
        name in {"about", *_MARKED} or name.startswith("kept_") for name in names
    )


def belongs(connection: DuckDBPyConnection, policy: Policy, key: bytes | None) -> bool:
    """Tell whether a store is new, or that of this version and policy, with this key.

    >>> import duckdb
    >>> from discreet.tables import Policy
    >>> belongs(duckdb.connect(), Policy([], epsilon=1), None)
    True
    """
    names, stated = _tables(connection), _about(connection)
    if not stated:
        return not names
    return len(stated) == 1 and stated[0][0] == described(policy) and key in {None, stated[0][1]}


def forget(path: Path) -> None:
    """Delete the file of a store and the log beside it, the log first: without its file nothing would name its version.

    >>> import pathlib
    >>> forget(pathlib.Path("nowhere.duckdb"))
    """
    for file in (path.with_name(f"{path.name}.wal"), path):
        file.unlink(missing_ok=True)


def _sampled(share: int = _SAMPLED) -> SQL:
    """Tell whether a unit is one of the few that are looked at, one of so many."""
    low = binary("&", call("hash", column(UNIT)), cast(number(share - 1), "UBIGINT"))
    return binary("=", low, cast(number(0), "UBIGINT"))


def _of(child: Relation, units: SQL, *, matched: bool = True) -> Relation:
    """Give the rows of the units in a table, or of all others."""
    listed = units.copy()
    listed.set("alias", exp.TableAlias(this=exp.to_identifier("b")))
    same = binary("=", column(UNIT, "b"), column(UNIT, "a"))
    there: SQL = exp.Exists(this=select([number(1)], listed, where=same))
    columns = [column(name, "a") for name in child.columns]
    query = select(columns, child.query, where=there if matched else negated(there), name="a")
    return Relation(query, child.schema, child.unit, own=child.own)
