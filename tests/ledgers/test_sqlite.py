"""What can befall a file: each failure a sentence that says what to do, nothing lost, nothing spent twice."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from discreet.errors import BudgetError, LedgerError
from discreet.ledgers import Entry, MemoryLedger, SQLiteLedger, lock
from discreet.ledgers import sqlite as sqlite_module
from discreet.ledgers.line import FORMAT
from discreet.ledgers.page import Head, HeadFile
from discreet.privacy import Pure
from discreet.tables import Policy, Table
from tests.ledgers.stores import COUNT, POLICY, Text

if TYPE_CHECKING:
    from pathlib import Path


def test_the_file_is_durable_and_in_write_ahead_mode(file: Path) -> None:
    with SQLiteLedger(file) as ledger:
        run = ledger._connected().execute
        assert run("PRAGMA journal_mode").fetchone() == ("wal",)
        assert run("PRAGMA synchronous").fetchone() == (1,)  # NORMAL: the ledger forces the log itself
        assert run("PRAGMA user_version").fetchone() == (FORMAT,)
    assert file.with_suffix(".head").read_text().split()[0].lstrip("0") == "2"
    assert not list(file.parent.glob("*.new*"))


def on_disk(file: Path, folder: Path) -> SQLiteLedger:
    """The ledger as a power cut would leave it that comes right now: the file and the log alone."""
    folder.mkdir()
    for name in (file.name, f"{file.name}-wal"):
        shutil.copy(file.with_name(name), folder)
    return SQLiteLedger(folder / file.name)


def test_what_is_given_was_forced_to_disk_before(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever had been written when the disk was last told to keep it holds every reservation and answer so far."""
    copies: list[Path] = []
    heads: list[str] = []

    def forced(handle: int) -> None:
        if not os.path.samestat(os.fstat(handle), file.with_name(f"{file.name}-wal").stat()):
            return  # that of a copy, which is looked at below
        copies.append(tmp_path / f"copy{len(copies)}")
        heads.append(file.with_suffix(".head").read_text())
        with on_disk(file, copies[-1]) as copy:
            assert copy.verify().ok

    with SQLiteLedger(file) as ledger:
        monkeypatch.setattr(sqlite_module, "_to_disk", forced)
        before = file.with_suffix(".head").read_text()
        paid = ledger.reserve(Pure(1), COUNT)
        assert heads == [before]  # the head is written when its entry is safe, not before
        with SQLiteLedger(copies[-1] / file.name) as copy:
            assert copy.verify().head == paid.head
        told = ledger.record(paid, Text(8))
        with SQLiteLedger(copies[-1] / file.name) as copy:
            assert copy.verify().head == told
        count = len(copies)
        assert ledger.find(Pure(1), COUNT) is not None  # what another process recorded may not be on disk yet
        assert len(copies) > count
        assert str(ledger.head) == told


def test_a_disk_that_keeps_nothing_gives_no_reservation(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with SQLiteLedger(file) as ledger:
        before = file.with_suffix(".head").read_text()
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_module, "_to_disk", failed)
            with pytest.raises(
                LedgerError, match=r"failed \(Input/output error\); nothing was released. Check the disk"
            ):
                ledger.reserve(Pure(1), COUNT)
            with pytest.raises(LedgerError, match="nothing was released"):
                _ = ledger.head
        assert file.with_suffix(".head").read_text() == before
        assert ledger.remaining == Pure("1.5")  # it stays spent
        assert ledger.verify().ok


def test_a_file_with_another_journal_forces_each_commit(file: Path) -> None:
    """Somebody's database browser may change it."""
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    with SQLiteLedger(file) as ledger:
        assert ledger._connected().execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        ledger.record(ledger.reserve(Pure(1), COUNT), Text(8))
        assert ledger.find(Pure(1), COUNT) is not None
        assert ledger.head.number == 4
        assert ledger.verify().ok


def test_a_head_never_steps_back(tmp_path: Path) -> None:
    """Entries are safe in their order, but who wrote them may be told so in another."""
    file = HeadFile(tmp_path / "hospital.ledger.head")
    for number, kept in ((3, 3), (5, 5), (4, 5), (5, 5), (6, 6)):
        file.write(Head(number, f"{number:064x}"))
        assert file.read() == Head(kept, f"{kept:064x}")
    file.path.write_text("9" * 20 + " no head at all, and much longer than one: " + "x" * 100)
    file.write(Head(7, f"{7:064x}"))
    assert file.read() == Head(7, f"{7:064x}")


def test_who_creates_a_ledger_while_another_does_opens_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen with eight processes on a busy machine: one saw no ledger, and then the head file of the one just made."""
    file, refuse = tmp_path / "hospital.ledger.sqlite", SQLiteLedger._refuse_to_forget

    def late(ledger: SQLiteLedger, policy: Policy | None, heads: HeadFile) -> None:
        monkeypatch.setattr(SQLiteLedger, "_refuse_to_forget", refuse)
        with SQLiteLedger(file, POLICY) as faster:
            faster.reserve(Pure(1), COUNT)
        refuse(ledger, policy, heads)

    monkeypatch.setattr(SQLiteLedger, "_refuse_to_forget", late)
    with SQLiteLedger(file, POLICY) as ledger:
        assert ledger.remaining == Pure(2)
        assert ledger.verify().ok


def test_another_program_that_locks_the_file_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_module, "_WAIT_SECONDS", 0.05)
    with closing(sqlite3.connect(file, isolation_level=None)) as browser, SQLiteLedger(file) as ledger:
        browser.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"locked by another program .* nothing was written. Close that program"):
            ledger.reserve(Pure(1), COUNT)
        browser.execute("ROLLBACK")
        assert ledger.remaining == Pure("2.5")
        ledger.reserve(Pure(1), COUNT)
        assert ledger.verify().ok


STOPPED = """
import os, signal, sys
from pathlib import Path
from discreet.ledgers.lock import turn
with turn(Path(sys.argv[1]), 30):
    print("held", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows stops no process")
def test_a_program_that_is_stopped_in_its_turn_is_not_waited_for_for_ever(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-Z, or a debugger, in the middle of a write: the system keeps its locks."""
    monkeypatch.setattr(sqlite_module, "_WAIT_SECONDS", 0.05)
    words = [sys.executable, "-c", STOPPED, str(file)]
    with SQLiteLedger(file) as ledger, subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        for _ in range(2):  # who gave up holds up nobody
            with pytest.raises(LedgerError, match=r"locked by another program .* nothing was written. Close that"):
                ledger.reserve(Pure(1), COUNT)
        assert ledger.remaining == Pure("2.5")
        os.kill(other.pid, signal.SIGCONT)
        other.wait()
        ledger.reserve(Pure(1), COUNT)
        assert ledger.verify().ok


def test_a_file_that_cannot_be_written_spends_nothing_and_can_be_read(file: Path) -> None:
    with SQLiteLedger(file) as ledger:
        ledger._connected().execute("PRAGMA query_only = ON")
        with pytest.raises(LedgerError, match=r"cannot be written; nothing was spent. Give this user the right"):
            ledger.reserve(Pure(1), COUNT)
        assert ledger.remaining == Pure("2.5")
        assert ledger.verify().ok


def test_a_full_disk_spends_nothing(file: Path) -> None:
    with SQLiteLedger(file) as ledger:
        run = ledger._connected().execute
        pages = run("PRAGMA page_count").fetchone()[0]
        run(f"PRAGMA max_page_count = {pages}")
        paid = ledger.reserve(Pure("0.25"), COUNT)
        with pytest.raises(LedgerError, match=r"no space left on its disk; nothing was written. Free some space"):
            ledger.record(paid, Text(list(range(50_000))))
        assert ledger.remaining == Pure("2.25")
        run("PRAGMA max_page_count = 1000000")
        ledger.record(paid, Text(8))
        assert ledger.verify().ok


@pytest.mark.parametrize("size", [0, 100, 5000, 9000])
def test_a_truncated_file_is_refused_and_not_replaced(file: Path, size: int) -> None:
    os.truncate(file, size)
    for policy in (None, POLICY):
        with pytest.raises(LedgerError, match=r"damaged .* Restore the newest backup"):
            SQLiteLedger(file, policy).verify()
    assert file.stat().st_size == size


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.ledger.sqlite"
    text.write_text("a shopping list " * 500)
    with pytest.raises(LedgerError, match="damaged"):
        SQLiteLedger(text, POLICY)
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(LedgerError, match=r"is no ledger of Discreet. Give the right file"):
        SQLiteLedger(other, POLICY)


def test_a_newer_format_asks_for_an_upgrade(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(LedgerError, match=r"written by a newer Discreet. Upgrade"):
        SQLiteLedger(file, POLICY)


@pytest.mark.parametrize(
    "error, sentence",
    [
        (PermissionError(errno.EACCES, "no"), "cannot be written; nothing was spent"),
        (OSError(errno.EROFS, "read-only"), "cannot be written; nothing was spent"),
        (OSError(errno.ENOSPC, "full"), "no space left"),
        (FileNotFoundError(errno.ENOENT, "gone"), "is gone; nothing was spent. Restore it"),
        (OSError(errno.EIO, "broken"), "failed (broken); nothing was released. Check the disk"),
        (sqlite3.OperationalError("odd"), "failed (odd)"),
    ],
)
def test_what_the_system_says_becomes_a_sentence(
    file: Path, error: Exception, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise error

    with SQLiteLedger(file) as ledger:
        monkeypatch.setattr(sqlite_module, "turn", failing)  # where lock files are opened
        with pytest.raises(LedgerError) as caught:
            ledger.reserve(Pure(1), COUNT)
    assert sentence in str(caught.value)


def test_a_ledger_that_vanishes_is_not_made_anew(file: Path) -> None:
    ledger = SQLiteLedger(file)
    ledger.close()
    file.unlink()
    with pytest.raises(LedgerError, match="is gone"):
        ledger.reserve(Pure(1), COUNT)
    assert not file.exists()


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"cannot be created .* The folder must exist"):
        SQLiteLedger(tmp_path / "nowhere" / "x.ledger.sqlite", POLICY)


def test_a_deleted_ledger_is_not_replaced_by_a_fresh_budget(file: Path) -> None:
    file.unlink()
    with pytest.raises(LedgerError, match=r"head file .* is there: the ledger was moved or deleted"):
        SQLiteLedger(file, POLICY)
    assert not file.exists()


def test_an_older_copy_is_refused(file: Path) -> None:
    old = file.read_bytes()
    with SQLiteLedger(file) as ledger:
        ledger.reserve(Pure(1), COUNT)
    file.write_bytes(old)
    with pytest.raises(LedgerError, match=r"ends at entry 2, and .* knows an entry 3 that is not in it"):
        SQLiteLedger(file, POLICY)
    file.with_suffix(".head").unlink()  # the owner's word that nothing is missing
    with SQLiteLedger(file, POLICY) as ledger:
        assert ledger.remaining == Pure("2.5")


def test_an_older_export_is_no_substitute(file: Path) -> None:
    with SQLiteLedger(file) as ledger:
        old = list(ledger.export())
        ledger.reserve(Pure(1), COUNT)
        new = list(ledger.export())
    file.unlink()
    with pytest.raises(LedgerError, match="entries are missing or changed"):
        SQLiteLedger(file, export=old)
    assert not file.exists()  # an empty file would be a ledger with nothing spent
    with SQLiteLedger(file, export=new) as ledger:
        assert ledger.remaining == Pure("1.5")


@pytest.mark.parametrize("wrong", [["junk"], [], ["{}"]])
def test_a_refused_export_leaves_no_ledger_behind(tmp_path: Path, wrong: list[str]) -> None:
    """Else the next to open the file would find the whole budget there."""
    file = tmp_path / "moved.ledger.sqlite"
    with pytest.raises(LedgerError):
        SQLiteLedger(file, POLICY, export=wrong)
    assert not list(tmp_path.glob("moved.ledger.sqlite"))


def test_another_spelling_is_no_other_table(tmp_path: Path) -> None:
    file = tmp_path / "hospital.ledger.sqlite"
    with SQLiteLedger(file, Policy([Table("visits", unit="id")], epsilon=1, dataset="h")) as ledger:
        ledger.reserve(Pure("0.1"), Entry("", ("visits",)))
    with pytest.raises(LedgerError, match="the unit of table visits was"):
        SQLiteLedger(file, Policy([Table("Visits", row_is_unit=True)], epsilon=1, dataset="h"))


def test_a_head_file_that_a_power_cut_emptied_is_written_again(file: Path) -> None:
    head = file.with_suffix(".head")
    head.write_bytes(b"\0" * 86)
    with SQLiteLedger(file, POLICY) as ledger:
        assert ledger.verify().ok
        ledger.reserve(Pure("0.1"), COUNT)
        assert head.read_text().split()[1] == ledger.head.hash
    head.write_text("nonsense")
    with pytest.raises(LedgerError, match="head is no hash"):
        SQLiteLedger(file, POLICY)


def test_two_objects_on_one_file_are_one_ledger(file: Path) -> None:
    with SQLiteLedger(file) as first, SQLiteLedger(file) as second:
        first.reserve(Pure(1), COUNT)
        assert second.remaining == Pure("1.5")
        second.reserve(Pure(1), COUNT)
        assert first.remaining == Pure("0.5")


def test_an_interrupt_in_the_middle_of_a_write_undoes_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with SQLiteLedger(file) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_module._Page, "append", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.reserve(Pure(1), COUNT)
        assert ledger.remaining == Pure("2.5")
        ledger.reserve(Pure(1), COUNT)
        assert ledger.verify().ok


@pytest.mark.parametrize("where", ["BEGIN IMMEDIATE", "BEGIN", "COMMIT"])
def test_an_interrupt_right_after_a_transaction_began_or_ended_leaves_none_open(file: Path, where: str) -> None:
    """Else the file would stay locked for everybody as long as the program runs."""

    class Interrupted:
        in_transaction = property(lambda _: real.in_transaction)

        def execute(self, text: str, *values: object) -> sqlite3.Cursor:
            found = real.execute(text, *values)  # type: ignore[arg-type]
            if text == where:
                raise KeyboardInterrupt
            return found

        def close(self) -> None:
            real.close()

    with SQLiteLedger(file) as ledger:
        real = ledger._connected()
        ledger._connection = Interrupted()  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            _ = ledger.remaining if where == "BEGIN" else ledger.reserve(Pure(1), COUNT)
        ledger._connection = real
        assert not real.in_transaction
        assert ledger.remaining == Pure("1.5" if where == "COMMIT" else "2.5")
        ledger.reserve(Pure(1), COUNT)
        assert ledger.verify().ok


FORKED = """
import os, sys
from discreet.errors import ParameterError
from discreet.ledgers import SQLiteLedger
from discreet.privacy import Pure
from discreet.ledgers import Entry
from tests.ledgers.stores import COUNT, POLICY, Text
ledger = SQLiteLedger(sys.argv[1], POLICY)
paid = ledger.reserve(Pure("0.5"), Entry("q", ("visits",)))
child = os.fork()
try:
    ledger.record(paid, Text(os.getpid()))
    os.write(1, b"shown\\n")  # in one piece: the other process writes too
except ParameterError:
    os.write(1, b"refused\\n")
for number in range(5):
    ledger.reserve(Pure("0.1"), Entry("", ("visits",)))
ledger.close()
if child:
    os.waitpid(child, 0)
    with SQLiteLedger(sys.argv[1]) as after:
        print(after.remaining, after.verify().ok)
else:
    os._exit(0)
"""


@pytest.mark.slow
def test_after_a_fork_one_reservation_still_pays_for_one_answer(tmp_path: Path) -> None:
    file = tmp_path / "hospital.ledger.sqlite"
    run = subprocess.run([sys.executable, "-c", FORKED, str(file)], check=True, capture_output=True, text=True)
    lines = run.stdout.splitlines()
    assert sorted(lines[:-1]) == ["refused", "shown"]
    assert lines[-1] == "Pure(epsilon=1.5) True"


RAW = """
import ctypes, os, sys
from discreet.errors import LedgerError
from discreet.ledgers import SQLiteLedger
from discreet.privacy import Pure
from discreet.ledgers import Entry
from tests.ledgers.stores import POLICY
ledger = SQLiteLedger(sys.argv[1], POLICY)
child = ctypes.PyDLL(None).fork()
if child:
    os.waitpid(child, 0)
    print(ledger.reserve(Pure(1), Entry("", ("visits",))).number, ledger.verify().ok)
else:
    try:
        ledger.reserve(Pure(1), Entry("", ("visits",)))
    except LedgerError as error:
        os.write(1, f"{error}\\n".encode())
    os._exit(0)
"""


@pytest.mark.slow
def test_a_fork_behind_pythons_back_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "hospital.ledger.sqlite"
    run = subprocess.run([sys.executable, "-c", RAW, str(file)], check=True, capture_output=True, text=True)
    refusal, after = run.stdout.splitlines()
    assert "was in use when this process was forked" in refusal
    assert after == "1 True"


CREATED = """
import sys
from discreet.ledgers import SQLiteLedger
from tests.ledgers.stores import POLICY
with SQLiteLedger(sys.argv[1], POLICY) as ledger:
    print(ledger.head)
"""


@pytest.mark.slow
def test_processes_that_create_at_once_create_one_ledger(tmp_path: Path) -> None:
    file = tmp_path / "hospital.ledger.sqlite"
    command = [sys.executable, "-c", CREATED, str(file)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    heads = {run.communicate()[0] for run in runs}
    assert [run.returncode for run in runs] == [0] * 6
    assert len(heads) == 1
    with SQLiteLedger(file) as ledger:
        assert [line.kind for line in ledger.entries()] == ["opened"]


def test_without_file_locks_sqlites_own_lock_keeps_the_budget(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, where there is no flock: less fair, and just as safe."""
    monkeypatch.setattr(lock, "fcntl", None)
    before = sorted(each.name for each in file.parent.iterdir())

    def spend(number: int) -> int:
        with SQLiteLedger(file) as ledger:  # a connection each, as programs have
            for place in range(8):
                try:
                    ledger.reserve(Pure("0.1"), Entry(f"{number} {place}", ("visits",)))
                except BudgetError:
                    return place
        return 8

    with ThreadPoolExecutor(6) as pool:
        bought = sum(pool.map(spend, range(6)))
    with SQLiteLedger(file) as ledger:
        left = ledger.remaining
        assert isinstance(left, Pure)
        assert left.epsilon < Fraction(1, 10)
        assert bought == sum(line.kind == "reserved" for line in ledger.entries()) - 1
        assert ledger.verify().ok
    assert sorted(each.name for each in file.parent.iterdir()) == before


def test_a_ledger_stays_where_it_was_opened_whatever_the_working_folder_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "there")
    SQLiteLedger("hospital.ledger.sqlite", POLICY).close()
    monkeypatch.chdir(tmp_path / "here")
    with SQLiteLedger("hospital.ledger.sqlite", POLICY) as ledger:
        monkeypatch.chdir(tmp_path / "there")
        ledger.reserve(Pure(1), COUNT)
        ledger.close()
        ledger.reserve(Pure(1), COUNT)
        assert ledger.remaining == Pure(1)
        assert ledger.verify().ok
    for name, left in (("here", Pure(1)), ("there", Pure(3))):
        with SQLiteLedger(tmp_path / name / "hospital.ledger.sqlite") as ledger:
            assert ledger.remaining == left


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_ledger_in_memory_is_not_spent_twice_by_a_fork() -> None:
    ledger = MemoryLedger(POLICY)
    ledger.reserve(Pure(1), COUNT)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ledger.reserve(Pure(1), COUNT)
            os.write(write, b"spent")
        except LedgerError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as told:
        assert b"forked" in told.read()
    assert ledger.remaining == Pure(2)
