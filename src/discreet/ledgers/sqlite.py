"""A ledger in a file, by the driver of the standard library."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from contextlib import closing, contextmanager, suppress
from functools import cache
from io import FileIO
from typing import TYPE_CHECKING

from discreet.errors import LedgerError
from discreet.files import made, narrowed
from discreet.ledgers.forking import rest_before
from discreet.ledgers.ledger import Ledger
from discreet.ledgers.line import FORMAT
from discreet.ledgers.lock import turn
from discreet.ledgers.page import HeadFile
from discreet.ledgers.paths import HEAD, read_ledger_path
from discreet.ledgers.records import require_policy
from discreet.ledgers.tables import TablePage
from discreet.ledgers.transfer import checked, written
from discreet.ledgers.vaults import FileVault

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from pathlib import Path

    from discreet.tables import Policy

__all__ = ["SQLiteLedger"]

_APPLICATION = 0x44504C47
_WAIT_SECONDS = 30.0
_CHECKPOINT_PAGES = 8000  # the same few pages change with each entry: a longer log copies them less often
_to_disk = getattr(os, "fdatasync", os.fsync)
_LOG_MODE = "r" if os.name == "posix" else "r+"
_FORKED = (
    "the ledger {} was in use when this process was forked, and SQLite cannot be used here any more; nothing was "
    "spent. Fork first and open the database then, or start a new process."
)
_PARTS = "CREATE INDEX parts ON lines (reservation, number) WHERE kind = 'part'"
_SUMS = """CREATE TABLE sums (
    topic TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL, certificate INTEGER NOT NULL,
    loss INTEGER NOT NULL, delta INTEGER NOT NULL,
    PRIMARY KEY (topic, scope, name, certificate)
) STRICT, WITHOUT ROWID"""
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {FORMAT};
CREATE TABLE lines (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    hash TEXT NOT NULL,
    question TEXT,
    reservation INTEGER,
    line TEXT NOT NULL
) STRICT;
CREATE INDEX answers ON lines (question) WHERE kind = 'recorded';
CREATE UNIQUE INDEX once ON lines (reservation) WHERE kind = 'recorded';
CREATE INDEX kinds ON lines (kind, number) WHERE kind NOT IN ('reserved', 'recorded', 'part');
{_PARTS};
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
{_SUMS};
CREATE TABLE state (
    only INTEGER PRIMARY KEY CHECK (only = 0), number INTEGER NOT NULL, hash TEXT NOT NULL, time TEXT NOT NULL
) STRICT;
"""
_CODES: dict[int | None, int] = {
    errno.EAGAIN: sqlite3.SQLITE_BUSY,
    errno.EACCES: sqlite3.SQLITE_PERM,
    errno.EPERM: sqlite3.SQLITE_PERM,
    errno.EROFS: sqlite3.SQLITE_READONLY,
    errno.ENOSPC: sqlite3.SQLITE_FULL,
    errno.EDQUOT: sqlite3.SQLITE_FULL,
}
"""What the system says of lock files, in SQLite's words."""


class _Page(TablePage):
    """A transaction on a SQLite connection."""

    def damage(self) -> list[str]:
        faults = [str(row[0]) for row in self._all("PRAGMA integrity_check(10)") if row[0] != "ok"]
        said = [f"the file is damaged: {' '.join(fault.split())}." for fault in faults]
        if _schema(self._all) != _expected_schema():
            said.append("the tables or indexes of the file are not those that a ledger makes: they were edited.")
        return said


def _schema(run: Callable[[str], Iterable[tuple[object, ...]]]) -> set[tuple[object, ...]]:
    return {tuple(row) for row in run("SELECT type, name, tbl_name, sql FROM sqlite_schema")}


@cache
def _expected_schema() -> set[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCHEMA)
        return _schema(connection.execute)


def _upgrade(connection: sqlite3.Connection) -> None:
    """Bring a file of an older format up to date, once, whoever comes first."""
    connection.execute("BEGIN IMMEDIATE")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version < 2:  # had no sessions
        connection.execute(_PARTS)
    if version < FORMAT:  # kept sums as texts
        page = _Page(connection.execute)
        kept = connection.execute("SELECT scope, name, amount FROM amounts WHERE topic = ''").fetchall()
        connection.execute(_SUMS)
        page.rebuild(kept)
        connection.execute("DROP TABLE amounts")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def _is_logged(connection: sqlite3.Connection) -> bool:
    """Whether the file is in write-ahead mode now: as long as it is, an open connection keeps it so."""
    return bool(connection.execute("PRAGMA journal_mode").fetchone() == ("wal",))


def _decoded(data: bytes) -> str:
    """Read a text that somebody may have damaged: what is no UTF-8 then differs from everything that a ledger wrote."""
    return data.decode(errors="replace")


class _Log(FileIO):
    """A write-ahead log that closes itself, as the connection does, when nobody holds the ledger any more."""

    def __del__(self) -> None:
        self.close()


class SQLiteLedger(Ledger):
    """A ledger in one SQLite file, safe for many processes of one machine.

    Writes wait in a fair queue (`<file>.queue`, `<file>.lock`), are transactions in write-ahead mode and forced to disk
    before they return, those of several writers at once. The head is kept in a second file, `<stem>.head`. The folder
    must be on a local disk: SQLite's write-ahead mode does not work on network drives.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from discreet.privacy import Pure
    >>> from discreet.ledgers import Entry
    >>> from discreet.tables import Policy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "hospital.ledger.sqlite"
    ...     with SQLiteLedger(file, Policy([], epsilon=1)) as ledger:
    ...         _ = ledger.reserve(Pure("0.4"), Entry("", ("visits",)))
    ...     with SQLiteLedger(file) as ledger:
    ...         ledger.remaining, ledger.verify().ok
    (Pure(epsilon=0.6), True)
    """

    def __init__(self, path: str | Path, policy: Policy | None = None, *, export: Iterable[str] | None = None) -> None:
        require_policy(policy)  # before a file is made
        heads = self._attach(path, group=None if policy is None else policy.ledger_group)
        if not self._path.exists():
            if export is None:
                self._refuse_to_forget(policy, heads)
            else:  # an export that is refused must leave no file behind: it would be a ledger with nothing spent
                lines = checked(export)
                self._require_head_in(lines)
                export = list(written(lines))
            with self._thread_lock:  # nobody forks meanwhile
                self._begin()
        self._keep_private()
        super().__init__(policy, name=str(path), heads=heads, export=export)

    def _attach(self, path: str | Path, *, group: bool | None = None) -> HeadFile:
        """Know the file, without reading it."""
        self._path = read_ledger_path(
            path, name="path"
        ).absolute()  # it is opened again and again, whatever the working folder is then
        self._name = str(path)
        self._thread_lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._file = str(self._path)
        self._logs = True
        self._log: _Log | None = None  # the write-ahead log, while the connection is open
        self._lost = False  # whether the disk may have dropped a part of the log
        self._group = group
        self._heads: HeadFile | None = HeadFile(self._path.with_suffix(HEAD), group)
        self._vault = FileVault(self._path.with_name(f"{self._path.name}.sessions"))
        rest_before(self)
        return self._heads

    @classmethod
    def unjoined(cls, path: str | Path) -> SQLiteLedger:
        """Open a ledger for `verify` alone, whatever is wrong with it."""
        ledger = cls.__new__(cls)
        ledger._attach(path)  # noqa: SLF001 - of its own class
        if not ledger.path.exists():
            msg = f"there is no ledger {ledger.path}."
            raise LedgerError(msg)
        return ledger

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def close(self) -> None:
        """Close the file."""
        with self._thread_lock:
            # Both are forgotten before they are closed, which may be interrupted: the next log may be another file.
            log, self._log = self._log, None
            connection, self._connection = self._connection, None
            if log is not None:
                log.close()
            if connection is not None and self._process == os.getpid():
                connection.close()

    def _put_aside(self) -> None:
        """Close the connection, so that a child inherits none; a transaction of this very thread stays open.

        SQLite counts the locks of a process in memory. A child with an inherited connection believes that it holds the
        parent's locks, which the system does not pass on; the parent then takes itself for the last user of the file,
        and what the child writes is lost with the write-ahead log. Both open anew when they need it.
        """
        if self._connection is not None and not self._connection.in_transaction:
            self.close()

    def _refuse_to_forget(self, policy: Policy | None, heads: HeadFile) -> None:
        """Create nothing without a policy, nor where a ledger once was."""
        if policy is None:
            msg = f"there is no ledger {self._path}; give a policy to create it."
            raise LedgerError(msg)
        # Another process may have made both since: its ledger is there before its head file is.
        if heads.read() is not None and not self._path.exists():
            msg = (
                f"there is no ledger {self._path}, but its head file {heads.path} is there: the ledger was moved or "
                "deleted, and so would be what was spent. Restore the ledger. Only if the owner is sure that nothing "
                "was ever released: remove the head file."
            )
            raise LedgerError(msg)

    def _begin(self) -> None:
        """Make the empty file, complete under its name or not at all: whatever lies there later was a ledger."""
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}.{threading.get_ident()}.new")
        try:
            draft.unlink(missing_ok=True)  # of a process of the same number that was killed
            os.close(made(draft, os.O_RDWR | os.O_EXCL, group=self._group))  # SQLite gives its log the same mode
            with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(_SCHEMA)
            os.link(draft, self._path)
        except FileExistsError:  # another process was faster
            pass
        except (OSError, sqlite3.Error) as error:
            msg = (
                f"the ledger {self._path} cannot be created ({_reason(error)}). The folder must exist, be writable and "
                "have space."
            )
            raise LedgerError(msg) from None
        finally:
            for rest in (draft, *(draft.with_name(draft.name + end) for end in ("-wal", "-shm"))):
                rest.unlink(missing_ok=True)

    def _keep_private(self) -> None:
        """Take from others what they may do with the ledger's files, which earlier versions let everybody read.

        The file comes first: SQLite makes new logs as it is.
        """
        file = os.path.realpath(self._file)
        beside = (f"{file}-wal", f"{file}-shm", f"{self._file}.lock", f"{self._file}.queue")
        for path in (file, *beside, self._path.with_suffix(HEAD)):
            try:
                private = narrowed(path, group=self._group)
            except FileNotFoundError:
                continue
            if not private:
                msg = (
                    f"others may read or write {path}, a file of the ledger, and this user cannot change that. Its "
                    "owner can: chmod 600, on a disk that knows such rights. For several users of one group: group = "
                    "true below [ledger] in the policy."
                )
                raise LedgerError(msg)

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None:
            self._require_own()
        else:
            if self._path.stat().st_size == 0:
                msg = "it is empty"
                raise sqlite3.DatabaseError(msg)
            connection = sqlite3.connect(
                self._path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            connection.text_factory = _decoded
            try:
                # The log is forced by `_force`; a file whose journal somebody else changed forces each commit itself.
                self._logs = _is_logged(connection)
                connection.execute(f"PRAGMA synchronous = {'NORMAL' if self._logs else 'FULL'}")
                connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
                application, version = (
                    connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
                )
            except (sqlite3.Error, UnicodeDecodeError):
                connection.close()
                raise
            if application != _APPLICATION or version > FORMAT:
                connection.close()
                what = "is no ledger of Discreet" if application != _APPLICATION else "was written by a newer Discreet"
                what += ". Give the right file." if application != _APPLICATION else ". Upgrade Discreet to use it."
                msg = f"the file {self._path} {what}"
                raise LedgerError(msg)
            if version < FORMAT:
                try:
                    _upgrade(connection)
                except BaseException:
                    connection.close()  # what is half done is undone
                    raise
            self._connection, self._process = connection, os.getpid()
        return self._connection

    @contextmanager
    def _page(self, *, write: bool) -> Iterator[_Page]:
        with self._worded(), self._thread_lock:
            if write:
                with turn(self._file, _WAIT_SECONDS, group=self._group):
                    self._rescue()
                    page = yield from self._transaction("BEGIN IMMEDIATE")
                self._force()
                self._keep_head(page)
            else:
                yield from self._transaction("BEGIN")

    def _transaction(self, begin: str) -> Generator[_Page, None, _Page]:
        connection = self._connected()
        try:
            connection.execute(begin)  # an interrupt may come right after it
            if begin != "BEGIN":
                self._open_log()  # before anything is written, as it may fail
            page = _Page(connection.execute)
            yield page
            self._require_own()
            connection.execute("COMMIT")
        except BaseException:  # also Ctrl-C: what is half done is undone
            if connection.in_transaction and self._process == os.getpid():
                connection.execute("ROLLBACK")
            raise
        return page

    def _require_own(self) -> None:
        """Refuse to go on where a signal forked in the middle: the transaction is the parent's."""
        if self._process != os.getpid():
            raise LedgerError(_FORKED.format(self._path))

    def _open_log(self) -> _Log | None:
        """Open the write-ahead log, which is there, and the same, as long as the connection is open.

        SQLite names it after the file itself where the path is a link. It is None where there is none.
        """
        if self._log is None and (self._logs or _is_logged(self._connected())):
            self._log = _Log(f"{os.path.realpath(self._file)}-wal", _LOG_MODE)
        return self._log

    def _force(self) -> None:
        """Force the write-ahead log to disk, up to the last entry that this process has seen or written.

        With `synchronous = NORMAL` SQLite does all that it does with `FULL` but this one call after a commit (it does
        it, too, before it copies the log into the file and before it begins a new log). We do it after the turn is
        given back: others commit meanwhile, and the system forces the entries of several writers at once. Nothing is
        shown and no reservation is given before it returns. If it fails, the entry may be there or not; a cost that may
        be forgotten has paid for nothing then, as nobody got the reservation.
        """
        log = None
        while log is None or log.closed:  # a signal's handler that forks puts the log aside meanwhile
            self._connected()
            log = self._open_log()
            if log is None:
                return
            try:
                _to_disk(log.fileno())
            except (OSError, ValueError):
                if log.closed:
                    continue
                self._lost = True
                with suppress(sqlite3.Error):
                    self._rescue()
                raise

    def _rescue(self) -> None:
        """Copy the log into the file and begin it anew, after the disk failed to keep it.

        The system tells of a failure once, and does not write that part again: whatever follows it in the log would be
        cut off with it by a power cut, although forced to disk. So nothing follows it.
        """
        if self._lost:
            busy = self._connected().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if busy:
                msg = "its log could not be copied"
                raise sqlite3.OperationalError(msg)
            self._lost = False

    def _settle(self) -> None:
        with self._worded(), self._thread_lock:
            self._rescue()
            self._force()

    @contextmanager
    def _worded(self) -> Iterator[None]:
        """Say in a sentence what the system and SQLite say in theirs."""
        try:
            yield
        except UnicodeDecodeError:  # SQLite quotes a damaged file in its message, which the driver cannot read
            damage = sqlite3.DatabaseError("it holds what is no text")
            raise LedgerError(self._sentence(damage)) from None
        except (OSError, sqlite3.Error) as error:
            raise LedgerError(self._sentence(error)) from None

    def _sentence(self, error: Exception) -> str:
        """Say what is wrong with the file and what to do, without SQLite's own words where ours are clearer."""
        code = getattr(error, "sqlite_errorcode", None)
        primary = _CODES.get(getattr(error, "errno", None)) if code is None else code & 0xFF
        start = f"the ledger {self._path}"
        if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return (
                f"{start} is locked by another program for more than {_WAIT_SECONDS:.0f} seconds; nothing was written. "
                "Close that program (a database browser, or one that was stopped?) and try again."
            )
        if primary in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH}:
            return (
                f"{start} cannot be written; nothing was spent. Give this user the right to write to the file and "
                "its folder."
            )
        if primary == sqlite3.SQLITE_FULL:
            return f"{start} has no space left on its disk; nothing was written. Free some space and try again."
        if isinstance(error, FileNotFoundError):
            return f"{start} is gone; nothing was spent. Restore it where it was."
        if primary in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB} or type(error) is sqlite3.DatabaseError:
            return (
                f"{start} is damaged ({_reason(error)}); nothing was spent. Restore the newest backup, or import the "
                "newest export; do not delete it, as what was spent would be forgotten."
            )
        return (
            f"{start} failed ({_reason(error)}); nothing was released. Check the disk; what was written before it "
            "failed stays spent."
        )


def _reason(error: Exception) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
