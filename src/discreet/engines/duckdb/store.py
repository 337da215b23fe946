"""Storage of the engine's own: tables cut down to so many rows per unit, once for each version of the data.

Which rows are kept is the same for every question, so they are found once. Mostly, units with too many rows are few:
they are found by counting, and only their rows are ranked and sorted; where they are many, all rows are. Both ways keep
the same rows. Later questions read the kept rows, already in their declared kinds, and pay nothing for the limit.

The rows are a copy and not a list of the units with too many: a source that changes under the same version would break
the limit otherwise. They are stored as they are: to compress them would take as long as to find them. Where no file is
to outlast the engine, they stay in memory as long as they fit in a part of it: to write them takes twice as long.

The file holds copies of private rows and the key of the ranks. It is dropped with the dataset's version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.duckdb.undoing import undo
from discreet.engines.keys import fresh_key
from discreet.engines.sql.keeping import described, kept_name, limits, visible
from discreet.engines.sql.relations import UNIT, Emitter, Relation
from discreet.engines.sql.statistics import count_rows
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
    from duckdb import DuckDBPyConnection

    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.relations import Raw
    from discreet.plans.nodes import Node, Scan
    from discreet.tables import Policy, Table

__all__ = ["Store"]

_HEAVY = ("temp", "heavy")
_SAMPLED = 64
"""One unit of so many is looked at before it is decided how to find the rows to keep, and where they go."""
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
        version = described(policy)
        connection.execute("CREATE TABLE IF NOT EXISTS about (version VARCHAR, rank_key BLOB)")
        about = connection.execute("SELECT version, rank_key FROM about").fetchall()
        if len(about) == 1 and about[0][0] == version and key in {None, about[0][1]}:
            self.key = bytes(about[0][1])
        else:
            self.drop()
            self.key = fresh_key() if key is None else key
            connection.execute("DELETE FROM about")
            connection.execute("INSERT INTO about VALUES (?, ?)", [version, self.key])

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
        found = self._connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND starts_with(table_name, 'kept_')"
            " AND database_name IN (current_database(), 'temp')"
        ).fetchall()
        return [str(name) for (name,) in found]

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
            found = emitter.late(scan)
            guess = self._guess(found, limit)
            size = guess.kept * sum(_TEXT if facts.kind is Kind.TEXT else _OTHER for facts in found.schema.values())
            quick = size <= self._spare
            target = f"{'TEMP ' if quick else ''}TABLE {table(name).sql('duckdb')}"
            if guess.mostly_heavy:
                kept = visible(emitter.limited(emitter.relation(scan), limit))
                connection.execute(f"CREATE {target} AS {self._dialect.written(kept)}")
            else:
                self._keep_light(emitter, scan, limit, target)
            connection.execute("COMMIT")
        except BaseException:
            undo(connection)
            raise
        self._spare -= size if quick else 0

    def _guess(self, child: Relation, limit: int) -> _Guess:
        """Look at a few units; what is guessed wrong costs time alone."""
        low = binary("&", call("hash", column(UNIT)), cast(number(_SAMPLED - 1), "UBIGINT"))
        sampled = binary("=", low, cast(number(0), "UBIGINT"))
        counted = select([alias(count_rows(), "n")], child.query, where=sampled, group=[column(UNIT)])
        n, most = column("n"), number(limit)
        many = binary(">", n, most)
        parts = [n, case((many, n), default=number(0)), case((many, most), default=n)]
        sums = [alias(call("coalesce", call("sum", part), number(0)), f"r{place}") for place, part in enumerate(parts)]
        (found,) = self._connection.execute(self._dialect.written(select(sums, counted))).fetchall()
        return _Guess(*(_SAMPLED * int(each) for each in found))

    def _keep_light(self, emitter: Emitter, scan: Scan, limit: int, target: str) -> None:
        """Copy the rows of units within the limit, then the first rows of the others."""
        connection, heavy, unit = self._connection, table(*_HEAVY), column(UNIT)

        def part(*, matched: bool) -> Relation:
            child = emitter.relation(scan)
            same = binary("=", column(UNIT, "b"), column(UNIT, "a"))
            aliased = heavy.copy()
            aliased.set("alias", exp.TableAlias(this=exp.to_identifier("b")))
            there: SQL = exp.Exists(this=select([number(1)], aliased, where=same))
            columns = [column(name, "a") for name in child.columns]
            query = select(columns, child.query, where=there if matched else negated(there), name="a")
            return Relation(query, child.schema, child.unit, own=child.own)

        # Rows that are dropped for a NULL are counted too: a unit that has too many with them is ranked for nothing.
        counted = select([alias(unit, UNIT), alias(count_rows(), "n")], emitter.late(scan).query, group=[unit])
        many = select([alias(unit, UNIT)], counted, where=binary(">", column("n"), number(limit)))
        name, counts = target.rpartition(" ")[2], heavy.sql("duckdb")
        connection.execute(f"CREATE TEMP TABLE {counts} AS {self._dialect.written(many)}")
        connection.execute(f"CREATE {target} AS {self._dialect.written(visible(part(matched=False)))}")
        rest = emitter.limited(part(matched=True), limit)
        connection.execute(f"INSERT INTO {name} {self._dialect.written(visible(rest))}")
        connection.execute(f"DROP TABLE {counts}")

    def drop(self) -> None:
        """Remove all kept rows."""
        self._there.clear()  # first: rows that an interrupt spares are found again by `fill`
        for name in self._stored():
            self._connection.execute(f"DROP TABLE {table(name).sql('duckdb')}")
