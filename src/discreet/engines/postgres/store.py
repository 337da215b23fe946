"""A schema of the engine's own on the server: tables cut down to so many rows per unit, once for each version.

It holds copies of private rows and the key of the ranks: nobody but the engine's two roles may read it, whatever others
are granted by default. Tables are dropped and emptied as a whole, so that no row waits for a VACUUM. What an engine did
not store for this version, policy and key is removed when it is opened; one that is still open for another finds
nothing of its own then, and stores it again under its own names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.engines.keys import fresh_key
from discreet.engines.sql.relations import Emitter, described, kept_mark, kept_name, limits, visible
from discreet.engines.sql.words import SQL
from discreet.engines.sql.words import table as named

if TYPE_CHECKING:
    from psycopg import Connection

    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.relations import Catalog
    from discreet.plans.nodes import Node
    from discreet.tables import Policy, Table

__all__ = ["PostgresStore"]


class PostgresStore:
    """Stored rows in a schema; a second role writes them, the reading role may read."""

    def __init__(
        self,
        connection: Connection[tuple[object, ...]],
        schema: str,
        policy: Policy,
        reader: tuple[str, str],
        key: bytes | None,
    ) -> None:
        """Open the store for a reader: its role, and the schema that it reads tables from."""
        self._connection = connection
        self._schema = schema
        self._policy = policy
        self._role, source = reader
        place, about = _quoted(schema), self._text(named(schema, "about"))
        version = described(policy)
        with connection.transaction():
            self._take_turn()
            if not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchall():
                self._run(f"CREATE SCHEMA {place}")  # IF NOT EXISTS would ask an owner of the schema for more rights
            self._run(f"CREATE TABLE IF NOT EXISTS {about} (version text, rank_key bytea)")
            self._run(f"LOCK TABLE {about}")
            self._run(f"REVOKE ALL ON SCHEMA {place} FROM PUBLIC")
            self._revoke(about)
            lines = connection.execute(f"SELECT version, encode(rank_key, 'hex') FROM {about}".encode()).fetchall()  # noqa: S608
            known = {str(stored): bytes.fromhex(str(text)) for stored, text in lines}
            if set(known) == {version} and key in {None, known[version]}:
                self.key = known[version]
            else:
                self.key = fresh_key() if key is None else key
                self._run(f"TRUNCATE {about}")  # deleted rows, and their key, would stay in its file
                values = f"INSERT INTO {about.replace('%', '%%')} VALUES (%s, %s)"  # noqa: S608
                connection.execute(values.encode(), [version, self.key])
            self._mark = kept_mark(policy, self.key, source)
            self._empty(apart=self._mark)
            self._run(f"GRANT USAGE ON SCHEMA {place} TO {_quoted(self._role)}")

    def _take_turn(self) -> None:
        """Wait for engines that open the same store: PostgreSQL fails where two make a schema or a table at once.

        Who waited must see what they have made, so the snapshot is not taken before.
        """
        self._run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        asked = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
        self._connection.execute(asked, [f"discreet store {self._schema}"])

    def kept(self, table: Table, limit: int) -> SQL | None:
        """Give the table of kept rows; `fill` makes it before it is read."""
        return None if table.unit is None else self._named(table.name, limit)

    def _named(self, name: str, limit: int) -> SQL:
        return named(self._schema, f"{kept_name(self._policy, name, limit)}_{self._mark}")

    def fill(self, node: Node, dialect: Dialect, catalog: Catalog) -> bool:
        """Store what a plan needs and is not there; False if the server failed, and then nothing is half done.

        What the server stopped after its time is for the engine to tell.
        """
        import psycopg

        emitter = Emitter(dialect, catalog, self.key)
        try:
            for scan, limit in limits(node):
                target = self._named(scan.table.name, limit)
                with self._connection.transaction():
                    self._run(f"LOCK TABLE {self._text(named(self._schema, 'about'))}")
                    if target.name not in self._tables():
                        rows = dialect.written(visible(emitter.limited(emitter.relation(scan), limit)))
                        self._run(f"CREATE TABLE {self._text(target)} AS {rows}")
                        self._revoke(self._text(target))
                    self._grant(self._text(target))
        except psycopg.errors.QueryCanceled:
            raise
        except psycopg.Error:
            return False
        return True

    def _revoke(self, target: str) -> None:
        """Let nobody read a new table: a role may have granted all tables that it will ever make to others."""
        asked = (
            "SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END "
            "FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = %s::regclass AND a.grantee <> c.relowner"
        )
        for (grantee,) in self._connection.execute(asked, [target]).fetchall():
            self._run(f"REVOKE ALL ON {target} FROM {grantee}")

    def _grant(self, target: str) -> None:
        """Let the reader read; who made the table may have had another one."""
        asked = "SELECT has_table_privilege(%s, %s, 'SELECT')"
        ((may,),) = self._connection.execute(asked, [self._role, target]).fetchall()
        if not may:
            self._run(f"GRANT SELECT ON {target} TO {_quoted(self._role)}")

    def drop(self) -> bool:
        """Remove all kept rows; False if the server failed."""
        import psycopg

        try:
            with self._connection.transaction():
                self._empty()
        except psycopg.Error:
            return False
        return True

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _empty(self, apart: str | None = None) -> None:
        """Remove kept rows, but for those with a mark."""
        for name in self._tables():
            if name.startswith("kept_") and name.rpartition("_")[2] != apart:
                self._run(f"DROP TABLE {self._text(named(self._schema, name))}")

    def _tables(self) -> set[str]:
        listed = self._connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [self._schema])
        return {str(name) for (name,) in listed.fetchall()}

    def _run(self, text: str) -> None:
        self._connection.execute(text.encode())

    @staticmethod
    def _text(table: SQL) -> str:
        return table.sql("postgres")


def _quoted(name: str) -> str:
    return named(name).sql("postgres")
