"""Questions to a PostgreSQL server: one read-only connection, one snapshot per question."""

from __future__ import annotations

import itertools
import time
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING

from discreet.engines.keys import read_key
from discreet.engines.postgres.dialect import PostgresDialect
from discreet.engines.postgres.store import PostgresStore
from discreet.engines.sql.checks import repeated, require_readable
from discreet.engines.sql.public import with_public_columns
from discreet.engines.sql.relations import Emitter, Raw
from discreet.engines.sql.running import SQLEngine
from discreet.engines.sql.statements import BATCH, Growing, by_columns, listed_rows
from discreet.engines.sql.words import column as cell
from discreet.engines.sql.words import select
from discreet.engines.sql.words import table as named
from discreet.errors import EngineError, ParameterError
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection, Cursor

    from discreet.engines.sql.running import Results
    from discreet.engines.sql.statements import Columns, Take
    from discreet.engines.sql.words import SQL
    from discreet.plans.nodes import Node
    from discreet.tables import Policy, Table

__all__ = ["SETTINGS", "Postgres", "connected"]

SETTINGS = {
    "datestyle": "ISO, YMD",
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "repeatable read",
    "extra_float_digits": "1",  # a role may have fewer: two keys would be read as one, and either's rows as the group's
    "search_path": "pg_catalog",  # no function of another schema stands in for one of PostgreSQL's own
    "standard_conforming_strings": "on",
    "TimeZone": "UTC",
    "log_parameter_max_length_on_error": "0",
}
_WRITING = SETTINGS | {"default_transaction_read_only": "off"}
_COLUMNS = """
SELECT a.attname, CASE t.typtype WHEN 'e' THEN 'enum' ELSE format_type(a.atttypid, a.atttypmod) END
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND a.attnum > 0
AND NOT a.attisdropped
"""
_ENCODINGS = {"UTF8", "LATIN1"}
"""Those in which every text that can be stored is one of Unicode."""


class Postgres(SQLEngine):
    """Questions to the tables of a PostgreSQL database (16 or newer).

    `address` is a connection string. Each question runs in a read-only transaction of its own, in one snapshot
    (REPEATABLE READ), for at most `seconds` (or the policy's). Give a role that may only read the policy's tables: the
    engine asks for nothing else, and the role makes sure. Tables are in `schema` unless their names say `other.table`.

    Without `store`, nothing is written to the server, and rows are ranked for each question that limits them. `store`
    is the address of the same database for a second role, which may create a schema: there (`store_schema`) the kept
    rows of each limit are stored once for a version. They are copies of private rows; the two roles alone may see them.

    >>> from discreet.tables import Policy
    >>> Postgres(Policy([], epsilon=1), "postgresql://nobody@127.0.0.1:1/nothing")
    Traceback (most recent call last):
    ...
    discreet.errors.EngineError: PostgreSQL does not answer at the given address; check host, port, database, ...
    """

    def __init__(  # noqa: PLR0913 - each says something of its own about the source or the store
        self,
        policy: Policy,
        address: str,
        *,
        schema: str = "public",
        seconds: int | None = None,
        rank_key: bytes | None = None,
        store: str | None = None,
        store_schema: str = "discreet",
    ) -> None:
        super().__init__(policy, seconds)
        with ExitStack() as opened:
            self._connection = opened.enter_context(closing(connected(address, self._seconds, SETTINGS)))
            self._kept = None
            if store is not None:
                writer = opened.enter_context(closing(connected(store, self._seconds, _WRITING)))
                self._kept = _opened_store(writer, store_schema, policy, (self._connection, schema), rank_key)
            self._catalog = _Catalog(self._connection, policy, schema, self._kept)
            _require_granted(self._connection, policy, self._catalog, "address")
            if store is not None:
                _require_granted(writer, policy, self._catalog, "store")
            key = read_key(rank_key) if self._kept is None else self._kept.key
            self._emitter = Emitter(PostgresDialect(), self._catalog, key)
            require_readable(policy, self._emitter)
            self.policy = with_public_columns(policy, self._emitter, self._checked)
            repeated(self.policy, self._emitter, self._checked)
            self._opened = opened.pop_all()

    def _store(self, node: Node) -> bool:
        """Limited rows that are missing in the store are stored first."""
        import psycopg

        try:
            return self._kept is None or self._kept.fill(node, self._emitter.dialect, self._catalog)
        except psycopg.errors.QueryCanceled:
            self._expired = True
            return False

    def drop_ranks(self) -> None:
        """Remove the stored rows."""
        with self._lock:
            if self._kept is not None and not self._kept.drop():
                msg = (
                    "PostgreSQL could not remove the stored rows; check that the engine is open, and the store's role."
                )
                raise EngineError(msg)

    def _checked(self, text: str) -> list[tuple[object, ...]]:
        answers = self._results([text])
        if answers is None:
            msg = "PostgreSQL could not read a public table; check that the role may."
            raise EngineError(msg)
        return list(listed_rows(answers[0]))

    def _results(self, *questions: Sequence[str], take: Take | None = None) -> Results | None:
        """Run texts in one read-only transaction."""
        import psycopg

        try:
            if self._connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                self._connection.rollback()  # an interrupt left a transaction open, and its snapshot is old
            with self._connection.transaction(), self._connection.cursor() as cursor:
                results: Results = []
                for texts in questions:
                    until = time.monotonic() + self._seconds
                    for text in texts:
                        if results:  # the server limits each statement, and a question may have several
                            left = max(1, int(1000 * (until - time.monotonic())))
                            cursor.execute(f"SET LOCAL statement_timeout = {left}".encode())
                        results.append(_columns(cursor, text, take))
                return results
        except psycopg.errors.QueryCanceled:
            self._expired = True
            return None
        except (psycopg.Error, OSError):  # or of whoever takes the rows: no space on the disk
            return None

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._opened.close()


def _columns(cursor: Cursor[tuple[object, ...]], text: str, take: Take | None) -> Columns:
    """Read a result as it comes, a batch at a time, into arrays where integers are all there, or hand it over so.

    A stream and not a cursor on the server: for those PostgreSQL plans no parallel work. How many columns there are is
    asked before, of every text, as a stream of no rows does not tell: asked only then, the time would tell of no rows.
    """
    import psycopg

    columns = [Growing() for _ in range(_width(cursor.connection, text))]
    size = BATCH if psycopg.capabilities.has_stream_chunked() else 1
    rows = cursor.stream(text.encode(), size=size)
    while batch := list(itertools.islice(rows, BATCH)):
        if take is not None:
            take(by_columns(batch, len(columns)))
            continue
        for column, cells in zip(columns, zip(*batch, strict=True), strict=True):
            column.extend(cells)
    return [column.whole() for column in columns]


def _width(connection: Connection[tuple[object, ...]], text: str) -> int:
    """Ask how many columns a text has, without planning it; who interrupts is heard, and an expiry is one."""
    from psycopg import errors, generators, pq

    server = connection.pgconn
    server.send_prepare(b"", text.encode())
    (width,) = connection.wait(generators.execute(server))
    if width.status == pq.ExecStatus.COMMAND_OK:
        server.send_describe_prepared(b"")
        (width,) = connection.wait(generators.execute(server))
    if width.status != pq.ExecStatus.COMMAND_OK:
        raise errors.error_from_result(width)
    return int(width.nfields)


class _Catalog:
    """The tables of a server, and what is kept of them."""

    def __init__(
        self,
        connection: Connection[tuple[object, ...]],
        policy: Policy,
        schema: str,
        store: PostgresStore | None,
    ) -> None:
        self._raw = {}
        self._store = store
        for table in policy.tables:
            place, name = table.name.rsplit(".", 1) if "." in table.name else (schema, table.name)
            with connection.transaction():
                rows = connection.execute(_COLUMNS, [place, name]).fetchall()
            types = {str(row[0]): str(row[1]) for row in rows}
            if not types:
                msg = f"the source has no table {name!r} in schema {place!r} that the role may see."
                raise ParameterError(msg)
            for column in table.columns:
                if column.name not in types:
                    msg = f"table {table.name!r} has no column {column.name!r}.{hint(column.name, list(types))}"
                    raise ParameterError(msg)
            self._raw[table.name] = Raw(named(place, name), types)

    def raw(self, table: Table) -> Raw:
        """Give a stored table."""
        return self._raw[table.name]

    def kept(self, table: Table, limit: int) -> SQL | None:
        """Give the table of kept rows, if there is a store."""
        return None if self._store is None else self._store.kept(table, limit)


def _require_granted(connection: Connection[tuple[object, ...]], policy: Policy, catalog: _Catalog, of: str) -> None:
    """Refuse a role that may not read the tables, of which everybody may see the names: every question would fail."""
    import psycopg

    for table in policy.tables:
        columns = select([cell(described.name) for described in table.columns], catalog.raw(table).source.copy())
        with suppress(psycopg.Error):
            with connection.transaction():
                connection.execute(f"{PostgresDialect().written(columns)} LIMIT 0".encode())
            continue
        msg = (
            f"the role of `{of}` may not read table {table.name!r}; grant it SELECT on the table, and USAGE on its "
            "schema."
        )
        raise ParameterError(msg)


def _opened_store(
    writer: Connection[tuple[object, ...]],
    schema: str,
    policy: Policy,
    reader: tuple[Connection[tuple[object, ...]], str],
    key: bytes | None,
) -> PostgresStore:
    """Open a store for whoever reads tables from a schema."""
    import psycopg

    reading, source = reader
    store = None
    with suppress(psycopg.Error):
        with reading.transaction():
            ((name,),) = reading.execute("SELECT current_user").fetchall()
        store = PostgresStore(writer, schema, policy, (str(name), source), None if key is None else read_key(key))
    if store is None:
        msg = f"store_schema is {schema!r}; the role of `store` must be able to create it, or own it."
        raise EngineError(msg)
    return store


def connected(address: str, seconds: int, common: dict[str, str]) -> Connection[tuple[object, ...]]:
    """Connect with the settings that every statement relies on; what the driver says may quote the address."""
    import psycopg

    settings = common | {"statement_timeout": f"{seconds}s"}
    options = " ".join(f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in settings.items())
    connection = None
    with suppress(psycopg.Error):
        connection = psycopg.connect(address, options=options, client_encoding="UTF8", prepare_threshold=None)
    if connection is None:
        msg = "PostgreSQL does not answer at the given address; check host, port, database, role and password."
        raise EngineError(msg)
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in _ENCODINGS:
        connection.close()
        msg = (
            f"the database holds texts as {encoding}, of which some are no Unicode: one such row would fail every "
            "question that reads it. Restore a dump into a database made with ENCODING 'UTF8'."
        )
        raise ParameterError(msg)
    return connection
