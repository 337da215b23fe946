"""A SQLite ledger forces its log itself: whatever happens to the file, the log or the disk, nothing is told before."""

from __future__ import annotations

import errno
import gc
import os
import sqlite3
import sys
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from discreet.errors import LedgerError
from discreet.ledgers import Entry, SQLiteLedger, lock
from discreet.ledgers import sqlite as sqlite_module
from discreet.privacy import Pure
from discreet.tables import Policy
from tests.ledgers.stores import COUNT, NESTED, VISITS, Text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType


def test_a_ledger_that_a_link_leads_to_is_forced_too(file: Path, tmp_path: Path) -> None:
    """SQLite names the log after the file, not after the link."""
    link = tmp_path / "elsewhere" / "linked.ledger.sqlite"
    link.parent.mkdir()
    link.symlink_to(file)
    link.with_name(f"{link.name}-wal").touch()  # whatever lies beside the link is not the log
    with SQLiteLedger(link) as ledger:
        ledger.record(ledger.reserve(Pure(1), COUNT), Text(8))
        assert ledger.find(Pure(1), COUNT) is not None
        assert ledger._log is not None
        assert os.path.samestat(os.fstat(ledger._log.fileno()), file.with_name(f"{file.name}-wal").stat())
        assert ledger.verify().ok


def test_a_ledger_that_nobody_closes_leaves_no_file_open(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[int] = []
    monkeypatch.setattr(sqlite_module, "_to_disk", forced.append)
    ledger = SQLiteLedger(file)
    ledger.reserve(Pure(1), COUNT)
    del ledger
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(forced[-1])


def test_all_that_tells_of_entries_forces_them_first(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may have committed what it has not forced yet; a head that is told must outlast a power cut."""
    forced: list[int] = []
    with SQLiteLedger(file) as ledger:
        monkeypatch.setattr(sqlite_module, "_to_disk", forced.append)
        for tell in (
            lambda: ledger.head,
            lambda: ledger.statement,
            ledger.verify,
            lambda: list(ledger.entries()),
            lambda: list(ledger.export()),
        ):
            before = len(forced)
            tell()
            assert len(forced) > before


def test_nothing_follows_in_the_log_what_the_disk_did_not_keep(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system tells of a failure once: the next call succeeds, and a power cut takes all that follows the gap."""
    log = file.with_name(f"{file.name}-wal")
    kept: list[int] = []

    def failed(_: int) -> None:
        kept.append(log.stat().st_size)
        raise OSError(errno.EIO, "Input/output error")

    with SQLiteLedger(file) as ledger, SQLiteLedger(file):  # the other one keeps the log there
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_module, "_to_disk", failed)
            with pytest.raises(LedgerError, match="nothing was released"):
                ledger.reserve(Pure(1), COUNT)
        assert kept[0] > 0
        assert log.stat().st_size == 0  # it is in the file, and the log begins anew
        paid = ledger.reserve(Pure(1), COUNT)
        assert 0 < log.stat().st_size <= kept[0]
        assert ledger.verify(head=paid.head).ok
        assert ledger.remaining == Pure("0.5")


def test_a_log_that_cannot_be_copied_is_not_written_on(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that reads meanwhile keeps the log from being copied: nothing is spent until it can be."""

    def failed(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(sqlite_module, "_WAIT_SECONDS", 0.05)
    with SQLiteLedger(file) as ledger, closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM lines").fetchall()
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_module, "_to_disk", failed)
            with pytest.raises(LedgerError, match="nothing was released"):
                ledger.reserve(Pure(1), COUNT)
        for act in (lambda: ledger.reserve(Pure(1), COUNT), lambda: ledger.head):
            with pytest.raises(LedgerError, match="could not be copied"):
                act()
        reader.execute("COMMIT")
        assert ledger.head.number == 3
        ledger.reserve(Pure("0.5"), COUNT)
        assert ledger.verify().ok
        assert ledger.remaining == Pure(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_in_a_signals_handler_after_the_commit_leaves_it_to_be_forced(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fork puts the log aside; who goes on opens it again."""
    forced: list[bool] = []
    log = file.with_name(f"{file.name}-wal")

    def put_aside(handle: int) -> None:
        forced.append(os.path.samestat(os.fstat(handle), log.stat()))
        if len(forced) == 1:
            ledger._put_aside()  # what a fork does in this very thread

    with SQLiteLedger(file) as ledger, SQLiteLedger(file):
        monkeypatch.setattr(sqlite_module, "_to_disk", put_aside)
        ledger.reserve(Pure(1), COUNT)
        assert forced == [True, True]
        keep = ledger._force

        def late() -> None:
            ledger._put_aside()
            keep()

        monkeypatch.setattr(ledger, "_force", late)
        ledger.reserve(Pure(1), COUNT)
        assert forced == [True, True, True]


def test_a_journal_that_is_changed_while_the_ledger_is_open_is_forced(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who opened the file with another journal forces its own commits, but must force those of others as well."""
    forced: list[int] = []
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    with SQLiteLedger(file) as ledger:
        assert ledger.head.number == 2
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        with SQLiteLedger(file) as other:
            monkeypatch.setattr(sqlite_module, "_to_disk", forced.append)
            other.record(other.reserve(Pure(1), COUNT), Text(8))
            before = len(forced)
            assert ledger.find(Pure("1.5"), COUNT) is not None
            assert len(forced) > before


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE sums SET loss = CAST(loss AS BLOB)",
        "UPDATE sums SET delta = 'x' WHERE scope = 'analyst'",
        "UPDATE state SET hash = CAST(hash AS BLOB)",
        "UPDATE state SET time = x'00'",
    ],
)
def test_what_is_no_text_is_damage_whatever_the_tables_allow(tmp_path: Path, edit: str) -> None:
    """A ledger's tables hold each column's own type alone; somebody may have made others in their place."""
    file, asked = tmp_path / "hospital.ledger.sqlite", Entry("count", ("visits",), "ann", "research")
    with SQLiteLedger(file, NESTED) as ledger:
        ledger.record(ledger.reserve(Pure("0.5"), asked), Text(7))
    with closing(sqlite3.connect(file)) as connection:
        for table, columns in (
            ("sums", "topic, scope, name, certificate, loss, delta"),
            ("state", "only, number, hash, time"),
        ):
            connection.execute(f"ALTER TABLE {table} RENAME TO before")
            key = "topic, scope, name, certificate" if table == "sums" else "only"
            connection.execute(f"CREATE TABLE {table} ({columns}, PRIMARY KEY ({key}))")
            connection.execute(f"INSERT INTO {table} SELECT * FROM before")
            connection.execute("DROP TABLE before")
        connection.execute(edit)
        connection.commit()
    with pytest.raises(LedgerError, match=r"not readable|is damaged"), SQLiteLedger(file) as ledger:
        ledger.reserve(Pure("0.1"), asked)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # what an interrupt leaves open closes itself
@pytest.mark.parametrize("act", ["reserve", "record"])
def test_an_interrupt_at_any_line_leaves_no_lock_behind(file: Path, act: str) -> None:
    """Ctrl-C may come anywhere, also where a lock is about to be given back: others go on at once."""
    own = [module for name, module in sys.modules.items() if name.startswith("discreet.ledgers")]
    files = {str(module.__file__) for module in own}
    held = [file.with_name(f"{file.name}.queue"), file.with_name(f"{file.name}.lock"), file.with_suffix(".head")]
    entry, cost, number, told = Entry("", ("visits",)), Pure("1e-3"), 0, True
    with SQLiteLedger(file, Policy([VISITS], epsilon=10**6, dataset="hospital")) as ledger:
        while told:
            number += 1
            paid = ledger.reserve(cost, entry)
            record, reserve = partial(ledger.record, paid, Text(1)), partial(ledger.reserve, cost, entry)
            told = interrupted(files, number, record if act == "record" else reserve)
            assert not (ledger._connection is not None and ledger._connection.in_transaction)
            for path in held:
                with path.open("rb") as handle:
                    assert lock.is_free(handle.fileno())
        assert number > 100
        assert ledger.verify().ok


def interrupted(files: set[str], number: int, act: Callable[[], object]) -> bool:
    """Interrupt an act at one of the lines that it runs in some files; False if there are fewer."""
    left = number

    def trace(frame: FrameType, event: str, _: object) -> Any:  # noqa: ANN401 - what a tracer gives
        nonlocal left
        if frame.f_code.co_filename not in files:
            return None
        left -= event == "line"
        if not left:
            left = -1
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False
