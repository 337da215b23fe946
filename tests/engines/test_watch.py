"""What takes too long is interrupted, by one thread per connection that ends with it."""

from __future__ import annotations

import gc
import threading
import weakref

import pyarrow as pa

from discreet.engines.duckdb import DuckDB
from discreet.engines.sql.running import TimeWatch
from discreet.tables import Column, Policy, Table

POLICY = Policy([Table("people", row_is_unit=True, columns=[Column("age", lower=0, upper=120)])], epsilon=1)
DATA = {"people": pa.table({"age": [50]})}
ENDLESS = "SELECT SUM(a.range * b.range) AS s FROM range(10000000) a, range(10000000) b"


def watches() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "discreet-watch"]


def test_a_question_without_end_is_interrupted_and_the_next_one_answered() -> None:
    with DuckDB(POLICY, DATA, seconds=1) as engine:
        assert engine._results([ENDLESS]) is None
        assert engine.alive()
        assert engine._results(["SELECT 1::BIGINT AS one"]) is not None


def test_one_thread_watches_all_questions_and_ends_with_the_connection() -> None:
    before = watches()  # of engines that other tests leave open
    with DuckDB(POLICY, DATA) as engine:
        for _ in range(5):
            assert engine._results(["SELECT 1::BIGINT AS one"]) is not None
        (own,) = [each for each in watches() if each not in before]
    assert own not in watches()


def test_a_later_question_has_its_own_limit() -> None:
    stopped = threading.Event()
    watch = TimeWatch(0.05, stopped.set)
    for _ in range(20):
        with watch.limited():
            pass
    stopped.clear()  # a slow machine may have been interrupted before
    with watch.limited():
        assert stopped.wait(60)
    watch.close()


def test_what_goes_on_is_interrupted_again() -> None:
    """An interrupt between two statements stops neither; Spark cancels jobs, and the next one may not have begun."""
    times = threading.Semaphore(0)
    watch = TimeWatch(0.01, times.release)
    with watch.limited():
        assert all(times.acquire(timeout=60) for _ in range(2))
    watch.close()


def test_the_watch_keeps_no_engine_alive() -> None:
    engine = DuckDB(POLICY, DATA)
    assert engine._results(["SELECT 1::BIGINT AS one"]) is not None
    seen, watch, opened = weakref.ref(engine), engine._watch, engine._opened
    del engine
    gc.collect()
    assert seen() is None
    watch.close()
    opened.close()
