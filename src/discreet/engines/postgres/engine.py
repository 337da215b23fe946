"""Questions to a PostgreSQL server: one read-only connection, one snapshot per question."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from discreet.engines.keys import read_key
from discreet.engines.postgres.dialect import PostgresDialect
from discreet.engines.sql.checks import repeated, require_readable
from discreet.engines.sql.columns import by_columns, listed_rows
from discreet.engines.sql.relations import Emitter, Raw
from discreet.engines.sql.running import SQLEngine
from discreet.engines.sql.words import table as named
from discreet.errors import EngineError, ParameterError
from discreet.exact import integer
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection, Cursor

    from discreet.engines.sql.columns import Columns
    from discreet.engines.sql.running import Results
    from discreet.engines.sql.words import SQL
    from discreet.tables import Policy, Table

__all__ = ["Postgres"]

_SETTINGS = {
    "datestyle": "ISO, YMD",
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "repeatable read",
    "search_path": "pg_catalog",  # no function of another schema stands in for one of PostgreSQL's own
    "standard_conforming_strings": "on",
    "TimeZone": "UTC",
    "log_parameter_max_length_on_error": "0",
}
_COLUMNS = """
SELECT a.attname, CASE t.typtype WHEN 'e' THEN 'enum' ELSE format_type(a.atttypid, a.atttypmod) END
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND a.attnum > 0
AND NOT a.attisdropped
"""


class Postgres(SQLEngine):
    """Questions to the tables of a PostgreSQL database (16 or newer).

    `address` is a connection string. Each question runs in a read-only transaction of its own, in one snapshot
    (REPEATABLE READ), for at most `seconds`. Give a role that may only read the policy's tables: the engine asks
    for nothing else, and the role makes sure. Tables are in `schema` unless their names say `other.table`.

    Ranks are computed for each question, as nothing is written to the server.

    >>> from discreet.tables import Policy
    >>> Postgres(Policy([], epsilon=1), "postgresql://nobody@127.0.0.1:1/nothing")
    Traceback (most recent call last):
    ...
    discreet.errors.EngineError: PostgreSQL does not answer at the given address; check host, port, database, ...
    """

    def __init__(
        self,
        policy: Policy,
        address: str,
        *,
        schema: str = "public",
        seconds: int = 3600,
        rank_key: bytes | None = None,
    ) -> None:
        super().__init__()
        self._connection = _connected(address, integer(seconds, name="seconds", least=1, most=10**6))
        try:
            catalog = _Catalog(self._connection, policy, schema)
            self._emitter = Emitter(PostgresDialect(), catalog, read_key(rank_key))
            require_readable(policy, self._emitter)
            repeated(policy, self._emitter, self._checked)
        except BaseException:
            self._connection.close()
            raise

    def _checked(self, text: str) -> list[tuple[object, ...]]:
        found = self._results([text])
        if found is None:
            msg = "PostgreSQL could not read a public table; check that the role may."
            raise EngineError(msg)
        return list(listed_rows(found[0]))

    def _results(self, texts: Sequence[str]) -> Results | None:
        """Run texts in one read-only transaction."""
        import psycopg

        try:
            with self._connection.transaction(), self._connection.cursor() as cursor:
                return [_columns(cursor.execute(text.encode())) for text in texts]
        except psycopg.Error:
            return None

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()


def _columns(cursor: Cursor[tuple[object, ...]]) -> Columns:
    return by_columns(cursor.fetchall(), len(cursor.description or ()))


class _Catalog:
    """The tables of a server; nothing is kept."""

    def __init__(self, connection: Connection[tuple[object, ...]], policy: Policy, schema: str) -> None:
        self._raw = {}
        for table in policy.tables:
            place, name = table.name.rsplit(".", 1) if "." in table.name else (schema, table.name)
            with connection.transaction():
                rows = connection.execute(_COLUMNS, [place, name]).fetchall()
            found = {str(row[0]): str(row[1]) for row in rows}
            if not found:
                msg = f"the source has no table {name!r} in schema {place!r} that the role may see."
                raise ParameterError(msg)
            for column in table.columns:
                if column.name not in found:
                    msg = f"table {table.name!r} has no column {column.name!r}.{hint(column.name, list(found))}"
                    raise ParameterError(msg)
            self._raw[table.name] = Raw(named(place, name), found)

    def raw(self, table: Table) -> Raw:
        """Give a stored table."""
        return self._raw[table.name]

    def kept(self, table: Table, limit: int) -> SQL | None:  # noqa: ARG002 - nothing is kept
        """Nothing is written to the server."""
        return None


def _connected(address: str, seconds: int) -> Connection[tuple[object, ...]]:
    import psycopg

    settings = _SETTINGS | {"statement_timeout": f"{seconds}s"}
    options = " ".join(f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in settings.items())
    found = None
    with suppress(psycopg.Error):
        found = psycopg.connect(address, options=options, client_encoding="UTF8", prepare_threshold=None)
    if found is None:
        msg = "PostgreSQL does not answer at the given address; check host, port, database, role and password."
        raise EngineError(msg)
    return found
