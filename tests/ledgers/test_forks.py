"""Forks: a child never holds or lets go its parent's locks, and a parent never waits for a child."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from discreet.ledgers import Entry, SQLiteLedger
from discreet.ledgers.forking import _Gate
from discreet.ledgers.line import Draft
from discreet.ledgers.lock import turn
from discreet.privacy import Pure
from tests.ledgers.stores import POLICY

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")

MANY = """
import faulthandler, os, sys, threading
from discreet.ledgers import SQLiteLedger
from discreet.privacy import Pure
from discreet.ledgers import Entry
from discreet.tables import Policy

faulthandler.dump_traceback_later(100, exit=True)
ledgers = [SQLiteLedger(f"{sys.argv[1]}/{number}.sqlite", Policy([], epsilon=10**6)) for number in range(3)]
failed = []

def fork(number):
    for place in range(30):
        child = os.fork()
        if not child:
            try:
                ledgers[place % 3].reserve(Pure(1), Entry("", ()))
            except BaseException as error:
                os.write(2, f"{error!r}\\n".encode())
                os._exit(1)
            os._exit(0)
        if place % 2:
            ledgers[number % 3].reserve(Pure(1), Entry("", ()))
        failed.append(os.waitpid(child, 0)[1])

def open_and_close():
    for place in range(60):
        SQLiteLedger(f"{sys.argv[1]}/{place % 3}.sqlite").close()

threads = [threading.Thread(target=fork, args=(number,)) for number in range(4)]
threads.append(threading.Thread(target=open_and_close))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
spent = [10**6 - ledger.remaining.epsilon for ledger in ledgers]
print(sum(spent), sum(map(bool, failed)), [ledger.verify().ok for ledger in ledgers])
"""


@pytest.mark.slow
def test_threads_that_fork_at_once_leave_every_ledger_usable(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", MANY, str(tmp_path)], check=False, capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "180 0 [True, True, True]\n", "")


class Busy:
    """A ledger as a fork sees it."""

    def __init__(self) -> None:
        self._thread_lock = threading.RLock()
        self.rests = 0

    def _put_aside(self) -> None:
        self.rests += 1


def is_free(lock: threading.RLock) -> bool:
    found: list[bool] = []

    def look() -> None:
        found.append(lock.acquire(blocking=False))
        if found[0]:
            lock.release()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found[0]


def test_who_waits_for_a_busy_ledger_holds_no_other_meanwhile() -> None:
    gate, first, second = _Gate(), Busy(), Busy()
    for each in (first, second):
        gate.add(each)
    begun, free = threading.Event(), threading.Event()

    def use() -> None:
        with first._thread_lock:
            begun.set()
            free.wait(60)
            gate.before()  # needs the turn, while the other thread needs what is held here
            gate.after_in_parent()

    thread = threading.Thread(target=use)
    thread.start()
    begun.wait(60)
    free.set()
    gate.before()
    gate.after_in_parent()
    thread.join(60)
    assert not thread.is_alive()
    assert (first.rests, second.rests) == (2, 2)
    assert is_free(first._thread_lock)
    assert is_free(second._thread_lock)


def test_an_interrupt_before_a_fork_leaves_nothing_held() -> None:
    class Interrupted(Busy):
        def _put_aside(self) -> None:
            raise KeyboardInterrupt

    gate, calm, other = _Gate(), Busy(), Interrupted()
    gate.add(calm)
    gate.add(other)
    with pytest.raises(KeyboardInterrupt):
        gate.before()
    gate.after_in_parent()
    assert is_free(calm._thread_lock)
    assert is_free(other._thread_lock)
    assert is_free(gate._turn)


def test_a_child_finds_free_what_a_thread_of_its_parent_held() -> None:
    gate, shared = _Gate(), Busy()
    gate.add_lock(shared)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with shared._thread_lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    gate.before()  # does not wait for what may stay in use
    assert shared.rests == 0
    gate.after_in_child()  # as the child would see it
    assert is_free(shared._thread_lock)
    done.set()
    thread.join()


def test_a_child_that_is_forked_within_a_turn_does_not_end_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    entered = turn(path, 30)
    entered.__enter__()
    child = os.fork()
    if not child:
        entered.__exit__(None, None, None)  # as it would unwind
        os._exit(int(_can_lock(path)))
    assert os.waitpid(child, 0)[1] == 0
    entered.__exit__(None, None, None)
    assert _can_lock(path)


def _can_lock(path: Path) -> bool:
    import fcntl

    with path.with_name(path.name + ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_a_fork_in_a_signals_handler_spends_nothing_in_the_child(tmp_path: Path) -> None:
    """In the middle of a transaction; the child's attempt is refused and the parent's goes on."""
    file = tmp_path / "hospital.ledger.sqlite"
    told: list[int] = []

    def fork(*_: object) -> None:
        child = os.fork()
        told.append(child)
        if child:
            os.waitpid(child, 0)

    with SQLiteLedger(file, POLICY) as ledger:
        before = signal.signal(signal.SIGUSR1, fork)
        try:
            with ledger._page(write=True) as page:
                entry = Entry("", ("visits",))
                ledger._reserved(page, Pure(1), entry, Draft.of("reserved", ledger._body(Pure(1), entry)))
                signal.raise_signal(signal.SIGUSR1)
                if told == [0]:
                    os._exit(0)
        finally:
            signal.signal(signal.SIGUSR1, before)
            if told == [0]:
                os._exit(1)
        assert ledger.remaining == Pure(2)
        assert ledger.verify().ok
