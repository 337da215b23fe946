"""A ledger in a PostgreSQL database, for several machines at once."""

from __future__ import annotations

import os
import selectors
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from discreet.errors import LedgerError, ParameterError
from discreet.exact import shown
from discreet.ledgers.forking import renew_lock
from discreet.ledgers.ledger import Ledger
from discreet.ledgers.line import FORMAT
from discreet.ledgers.page import HeadFile
from discreet.ledgers.paths import read_path
from discreet.ledgers.records import require_policy
from discreet.ledgers.tables import TablePage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from psycopg import Connection, Cursor

    from discreet.ledgers.vaults import Lease
    from discreet.tables import Policy

__all__ = ["PostgresLedger"]

_SCHEMA = "discreet_ledger"
_WAIT_SECONDS = 30
_TABLES = """
CREATE TABLE lines (
    number bigint PRIMARY KEY, kind text NOT NULL, hash text NOT NULL, question text, reservation bigint,
    line text NOT NULL
);
CREATE INDEX answers ON lines (question) WHERE kind = 'recorded';
CREATE UNIQUE INDEX once ON lines (reservation) WHERE kind = 'recorded';
CREATE INDEX kinds ON lines (kind, number) WHERE kind NOT IN ('reserved', 'recorded', 'part');
CREATE TABLE facts (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE state (
    one integer PRIMARY KEY CHECK (one = 0), number bigint NOT NULL, hash text NOT NULL, time text NOT NULL
);
CREATE TABLE format (version integer NOT NULL);
"""
_SESSIONS = """
CREATE INDEX parts ON lines (reservation, number) WHERE kind = 'part';
CREATE TABLE sealed (
    reservation bigint PRIMARY KEY, seal text NOT NULL, content bytea NOT NULL
);
REVOKE ALL ON sealed FROM PUBLIC;
"""
"""What format 2 added."""
_SUMS = """
CREATE TABLE sums (
    topic text NOT NULL, scope text NOT NULL, name text NOT NULL, certificate integer NOT NULL,
    loss bigint NOT NULL, delta bigint NOT NULL,
    PRIMARY KEY (topic, scope, name, certificate)
);
"""
"""What format 3 added; before, sums were texts in the table `amounts`."""
_WRITING = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE"
"""Whatever the role's own default is: who has waited for a lock must see what was written meanwhile."""
_LEFT_BEHIND: list[object] = []
"""Connections that a fork brought along; they belong to the parent."""


class _Page(TablePage):
    """A transaction on a PostgreSQL connection."""

    def __init__(self, cursor: Cursor[tuple[Any, ...]]) -> None:
        super().__init__(lambda query, values: cursor.execute(query.replace("?", "%s").encode(), values))

    def close_sealed(self) -> None:
        """Take from all roles but the owner what a grant of all tables, now or by default, gave them."""
        asked = (
            "SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END "
            "FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = 'sealed'::regclass AND a.grantee <> c.relowner"
        )
        for (grantee,) in self._all(asked):
            self._run(f"REVOKE ALL ON sealed FROM {grantee}", ())

    def put_sealed(self, number: int, seal: str, content: bytes) -> None:
        query = (
            "INSERT INTO sealed VALUES (?, ?, ?) ON CONFLICT (reservation) "
            "DO UPDATE SET seal = excluded.seal, content = excluded.content"
        )
        self._run(query, (number, seal, content))

    def drop_sealed(self, number: int) -> None:
        self._run("DELETE FROM sealed WHERE reservation = ?", (number,))

    def sealed(self, number: int, seal: str) -> bytes | None:
        row = self._one("SELECT content FROM sealed WHERE reservation = ? AND seal = ?", number, seal)
        return None if row is None else bytes(cast("bytes", row[0]))


class _TableVault:
    """Sealed states in a table that only the ledger's role may read; they are written with the part they belong to.

    The lease is a lock of the connection, which the server gives back when the connection ends. Should it end while the
    holder lives, somebody else may take the session over: the fence then keeps the former holder from writing.
    """

    def __init__(self, ledger: PostgresLedger) -> None:
        self._ledger = ledger
        self._held: set[int] = set()  # the server lets one connection take its own lock again

    def hold(self, number: int) -> Lease | None:
        if number in self._held:
            return None
        if not self._lock("SELECT pg_try_advisory_lock(hashtext(%s), %s)", number):
            return None
        self._held.add(number)
        return _TableLease(self, number)

    def give_back(self, number: int) -> None:
        self._held.discard(number)
        self._lock("SELECT pg_advisory_unlock(hashtext(%s), %s)", number)

    def _lock(self, query: str, number: int) -> bool:
        return self._ledger._advise(query, f"session {number >> 31}", number & 0x7FFFFFFF)  # noqa: SLF001 - its own vault

    def put(self, page: _Page, number: int, seal: str, content: bytes) -> None:
        page.close_sealed()
        page.put_sealed(number, seal, content)

    def get(self, page: _Page, number: int, seal: str) -> bytes | None:
        return page.sealed(number, seal)

    def settle(self, number: int, seal: str) -> None:
        """Forget the state of a session that was closed; else the one row was overwritten with its part."""
        if not seal:
            self._ledger._forget_sealed(number)  # noqa: SLF001 - its own vault


class _TableLease:
    """A lock of a connection."""

    def __init__(self, vault: _TableVault, number: int) -> None:
        self._vault, self._number = vault, number

    def close(self) -> None:
        self._vault.give_back(self._number)


class PostgresLedger(Ledger):
    """A ledger in a schema of a PostgreSQL database (16 or newer), for many processes on many machines.

    The schema is `discreet_ledger`, or the one that `?schema=…` in the address names: one ledger each. Writers queue
    for a lock that the server grants in turn, and wait for the server to have the entry on disk (`synchronous_commit`).
    Each machine may keep the head in a file of its own, `head_file`. Give a role that owns the schema and nothing else.

    >>> from discreet.tables import Policy
    >>> PostgresLedger("postgresql://nobody@127.0.0.1:1/nothing", Policy([], epsilon=1))
    Traceback (most recent call last):
    ...
    discreet.errors.LedgerError: the ledger postgresql://127.0.0.1:1/nothing does not answer ...
    """

    def __init__(
        self,
        address: str,
        policy: Policy | None = None,
        *,
        head_file: str | Path | None = None,
        export: Iterable[str] | None = None,
    ) -> None:
        require_policy(policy)
        self._attach(address, head_file, group=None if policy is None else policy.ledger_group)
        super().__init__(policy, name=self._named, heads=self._heads, export=export)

    def _attach(self, address: str, head_file: str | Path | None, *, group: bool | None = None) -> None:
        """Know the server, without asking it."""
        self._address, self._schema, self._named = _parts(address)
        self._thread_lock = threading.RLock()
        self._connection: Connection[tuple[Any, ...]] | None = None
        self._process = 0
        heads = None if head_file is None else read_path(head_file, name="head_file")
        self._heads: HeadFile | None = None if heads is None else HeadFile(heads, group)
        self._vault = _TableVault(self)  # type: ignore[assignment]  # the pages it gets are of this ledger
        renew_lock(self)

    def _advise(self, query: str, name: str, number: int) -> bool:
        """Take or give back an advisory lock of the connection, which is open: a page is, or was just now."""
        with self._thread_lock:
            if self._connection is None or self._connection.closed or self._process != os.getpid():
                return False
            row = self._connection.execute(query.encode(), (f"discreet {self._schema} {name}", number)).fetchone()
            return row is not None and bool(row[0])

    def _forget_sealed(self, number: int) -> None:
        with self._page(write=True) as page:
            page.drop_sealed(number)

    @classmethod
    def unjoined(cls, address: str, head_file: str | Path | None = None) -> PostgresLedger:
        """Open a ledger for `verify` alone, whatever is wrong with it."""
        ledger = cls.__new__(cls)
        ledger._attach(address, head_file)  # noqa: SLF001 - of its own class
        return ledger

    @property
    def name(self) -> str:
        """The address without user and password."""
        return self._named

    def close(self) -> None:
        """Close the connection."""
        with self._thread_lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _connected(self) -> Connection[tuple[Any, ...]]:
        import psycopg

        if self._connection is not None and self._process != os.getpid():
            _LEFT_BEHIND.append(self._connection)
            self._connection = None
        idle = psycopg.pq.TransactionStatus.IDLE
        if self._connection is not None and self._connection.info.transaction_status != idle:
            # An interrupt left a transaction open: what is written in it would not be durable when its block ends.
            self._connection.close()
        if self._connection is not None and not self._connection.closed and _is_ended(self._connection):
            self._connection.close()
        if self._connection is not None and self._connection.closed:
            self._connection = None
        if self._connection is None:
            connection = psycopg.connect(self._address, connect_timeout=10)
            self._connection, self._process = connection, os.getpid()
            try:
                with connection.transaction(), connection.cursor() as cursor:
                    self._prepare(cursor)
            except BaseException:
                self.close()
                raise
        return self._connection

    def _prepare(self, cursor: Cursor[tuple[Any, ...]]) -> None:
        """Set the session up, and create the tables once."""
        from psycopg import sql

        place = sql.Identifier(self._schema)
        cursor.execute(_WRITING)
        cursor.execute("SET synchronous_commit TO on")
        cursor.execute(f"SET lock_timeout TO '{_WAIT_SECONDS}s'")
        cursor.execute(sql.SQL("SET search_path TO {}, pg_catalog").format(place))
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"discreet {self._schema}",))
        cursor.execute("SELECT to_regclass(%s)", (f'"{self._schema}".format',))
        if cursor.fetchone() == (None,):
            cursor.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(place))
            for tables in (_TABLES, _SESSIONS, _SUMS):
                cursor.execute(tables.encode())
            cursor.execute(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {} FROM PUBLIC").format(place))
            cursor.execute("INSERT INTO format VALUES (%s)", (FORMAT,))
        version = cursor.execute("SELECT max(version) FROM format").fetchone()
        if version in {(1,), (2,)}:
            if version == (1,):
                cursor.execute(_SESSIONS.encode())
            cursor.execute(_SUMS.encode())
            kept = cursor.execute("SELECT scope, name, amount FROM amounts WHERE topic = ''").fetchall()
            _Page(cursor).rebuild(kept)
            cursor.execute("DROP TABLE amounts; REVOKE ALL ON sums FROM PUBLIC")
            cursor.execute("UPDATE format SET version = %s", (FORMAT,))
        elif version != (FORMAT,):
            msg = f"the ledger {self._named} was written by a newer Discreet. Upgrade Discreet to use it."
            raise LedgerError(msg)

    def _settle(self) -> None:
        """Do nothing: the server shows a commit to nobody before it is on disk."""

    @contextmanager
    def _page(self, *, write: bool) -> Iterator[_Page]:
        import psycopg

        with self._thread_lock:
            try:
                connection = self._connected()
                with connection.transaction(), connection.cursor() as cursor:
                    if write:
                        cursor.execute(_WRITING)
                        cursor.execute("LOCK TABLE state IN EXCLUSIVE MODE")
                    else:
                        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    page = _Page(cursor)
                    yield page
                self._keep_head(page)
            except psycopg.errors.LockNotAvailable:
                msg = (
                    f"the ledger {self._named} is locked by another program for more than {_WAIT_SECONDS} seconds; "
                    "nothing was written. End the transaction that holds it and try again."
                )
                raise LedgerError(msg) from None
            except psycopg.errors.InsufficientPrivilege:
                msg = (
                    f"the ledger {self._named} cannot be written by this role; nothing was spent. Let the role own the "
                    f"schema {self._schema}."
                )
                raise LedgerError(msg) from None
            except psycopg.errors.DiskFull:
                msg = (
                    f"the server of the ledger {self._named} has no space left on its disk; nothing was released. Free "
                    "some space and try again; what was written before stays spent."
                )
                raise LedgerError(msg) from None
            except psycopg.Error as error:
                msg = (
                    f"the ledger {self._named} does not answer or failed ({type(error).__name__}); nothing was "
                    "released. Check host, port, database, role and password, and try again; what the server had "
                    "already written stays spent."
                )
                raise LedgerError(msg) from None


def _is_ended(connection: Connection[tuple[Any, ...]]) -> bool:
    """Whether the server has ended an idle connection, as at a restart: it says nothing else on one unasked.

    Nothing is under way on it, so a new connection takes its place; an answer that was computed for an hour is not lost
    because the ledger's server was restarted meanwhile.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return bool(selector.select(0))


def _parts(address: str) -> tuple[str, str, str]:
    """The address for the driver, the schema, and a name without user and password."""
    if not isinstance(address, str) or not address.startswith(("postgresql://", "postgres://")):
        msg = f"address is {'a text' if isinstance(address, str) else shown(address)}; it must be postgresql://host/database."
        raise ParameterError(msg)  # a text may hold a password
    try:
        parts = urlsplit(address)
    except ValueError:
        msg = "address is not readable; it must be postgresql://host/database."
        raise ParameterError(msg) from None
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    schema = query.pop("schema", _SCHEMA)
    if not schema.isidentifier():
        msg = f"schema is {shown(schema)}; it must be a name of letters, digits and underscores."
        raise ParameterError(msg)
    host = parts.netloc.rpartition("@")[2]
    named = f"{parts.scheme}://{host}{parts.path}" + ("" if schema == _SCHEMA else f"?schema={schema}")
    return urlunsplit(parts._replace(query=urlencode(query))), schema, named
