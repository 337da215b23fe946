"""Ctrl-C while an engine computes or opens is an interrupt, whatever the driver makes of it."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb import engine as duckdb_engine
from discreet.engines.sql.running import Aside, _Job
from discreet.errors import EngineError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POLICY = Policy([Table("people", unit="id", rows_per_unit=1, columns=[Column("age", lower=0, upper=120)])], epsilon=1)
DATA = {"people": pa.table({"id": [1, 1, 2], "age": [50, 51, 52]})}
ENDLESS = "SELECT SUM(a.range * b.range) AS s FROM range(10000000) a, range(10000000) b"


class Alarm(Exception):  # noqa: N818 - what a program's own handler may raise
    """Not an interrupt of the keyboard."""


@contextmanager
def signaled(when: Callable[[], bool], handler: Callable[..., object] = signal.default_int_handler) -> Iterator[None]:
    """Send this process a SIGINT as soon as something is true."""
    ended = threading.Event()

    def send() -> None:
        while not when() and not ended.is_set():
            time.sleep(0.001)
        if not ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, handler)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        signal.signal(signal.SIGINT, before)


def running(engine: DuckDB) -> Callable[[], bool]:
    """Whether a question has begun. It has no end, so it is interrupted on the way, whenever that is."""

    def begun() -> bool:
        time.sleep(0.1)
        return engine._watch._until is not None

    return begun


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("texts", [[ENDLESS], ["SELECT 1::BIGINT AS one", ENDLESS]], ids=["one", "two"])
def test_an_interrupt_while_duckdb_computes_is_an_interrupt(threads: int, texts: list[str]) -> None:
    with DuckDB(POLICY, DATA, threads=threads) as engine:
        with signaled(running(engine)), pytest.raises(KeyboardInterrupt):
            engine._results(texts)
        assert engine.alive()
        assert engine._results(["SELECT 1::BIGINT AS one", "SELECT 2::BIGINT AS two"]) is not None


def test_an_interrupt_while_the_source_is_asked_whether_it_lives_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And not a source that does not answer."""
    begun = threading.Event()

    class Slow:
        def execute(self, _: str) -> object:
            begun.set()
            return real.execute(ENDLESS)

        def interrupt(self) -> None:
            real.interrupt()

    with DuckDB(POLICY, DATA) as engine:
        real = engine._connection
        with monkeypatch.context() as patch:
            patch.setattr(engine, "_connection", Slow())
            with signaled(begun.is_set), pytest.raises(KeyboardInterrupt):
                engine.alive()
        assert engine.alive()


def test_what_a_programs_own_handler_raises_is_raised() -> None:
    def alarmed(*_: object) -> None:
        raise Alarm

    with DuckDB(POLICY, DATA) as engine, signaled(running(engine), alarmed), pytest.raises(Alarm):
        engine._results([ENDLESS])


def test_a_handler_that_raises_nothing_lets_the_question_go_on() -> None:
    heard = threading.Event()
    with DuckDB(POLICY, DATA) as engine, signaled(lambda: True, lambda *_: heard.set()):
        assert engine._aside.run(lambda: heard.wait(60))
        assert engine._results(["SELECT 1::BIGINT AS one"]) is not None


def test_an_interrupt_while_rows_are_stored_leaves_nothing_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    with DuckDB(POLICY, DATA, threads=2) as engine:
        question = engine.prepare(plan_sql(POLICY, "SELECT COUNT(*) AS n FROM people").aggregate)
        with monkeypatch.context() as patch:
            patch.setattr(engine._kept, "_guess", lambda *_: engine._connection.execute(ENDLESS).fetchall())
            with signaled(running(engine)), pytest.raises(KeyboardInterrupt):
                question.run()
        assert question.run().groups == ((),)


@pytest.mark.parametrize("what", ["attach", "Store", "require_readable", "repeated"])
def test_an_interrupt_while_a_source_is_opened_is_an_interrupt(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    before = {each for each in threading.enumerate() if each.name.startswith("discreet")}

    def endless(*_: object, **__: object) -> None:
        connection = duckdb_engine._connected.found[-1]  # type: ignore[attr-defined]
        begun.set()
        connection.execute(ENDLESS).fetchall()

    real = duckdb_engine._connected

    def remembering(*given: object, **named: object) -> object:
        found = real(*given, **named)  # type: ignore[arg-type]
        remembering.found.append(found)  # type: ignore[attr-defined]
        return found

    remembering.found = []  # type: ignore[attr-defined]
    monkeypatch.setattr(duckdb_engine, "_connected", remembering)
    monkeypatch.setattr(duckdb_engine, what, endless)
    with signaled(begun.is_set), pytest.raises(KeyboardInterrupt):
        DuckDB(POLICY, DATA)
    monkeypatch.undo()
    with DuckDB(POLICY, DATA) as engine:
        assert engine.alive()
    for thread in threading.enumerate():
        if thread.name.startswith("discreet") and thread not in before:
            thread.join(60)
            assert not thread.is_alive()


def test_work_that_had_not_begun_is_withdrawn() -> None:
    """An interrupt may come before the other thread has looked at the work."""
    free, done = threading.Event(), []
    aside = Aside(lambda: None)
    aside.run(lambda: None)
    jobs = aside._jobs
    assert jobs is not None
    jobs.put(_Job(free.wait))
    while not jobs.empty():
        time.sleep(0.001)
    with signaled(lambda: not jobs.empty()), pytest.raises(KeyboardInterrupt):
        aside.run(lambda: done.append(1))
    free.set()
    aside.run(lambda: None)
    assert done == []
    aside.close()


def test_other_threads_do_their_work_themselves() -> None:
    found: list[threading.Thread] = []
    aside = Aside(lambda: None)
    thread = threading.Thread(target=lambda: aside.run(lambda: found.append(threading.current_thread())))
    thread.start()
    thread.join()
    assert found == [thread]
    aside.run(lambda: found.append(threading.current_thread()))
    assert found[1].name == "discreet-engine"
    aside.close()


@pytest.mark.engine
def test_an_interrupt_while_postgres_computes_is_an_interrupt() -> None:
    from discreet.engines.postgres import Postgres
    from tests.engines.servers import postgres

    slow = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b"
    with Postgres(Policy([], epsilon=1), postgres()) as engine:
        for texts in ([slow], ["SELECT 1", slow], ["SELECT pg_sleep(1000)"]):
            begun = time.monotonic()
            with (
                signaled(lambda begun=begun: time.monotonic() > begun + 0.3),  # type: ignore[misc]
                pytest.raises(KeyboardInterrupt),
            ):
                engine._results(texts)
            assert engine.alive()
            assert engine._results(["SELECT 1", "SELECT 2"]) is not None


def test_a_temporary_folder_without_space_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise duckdb.IOException

    monkeypatch.setattr(duckdb, "connect", full)
    with pytest.raises(EngineError, match=r"a temporary store cannot be made in .* Free some space"):
        DuckDB(POLICY, DATA)
