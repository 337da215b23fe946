"""Ctrl-C in the middle of a release: it stays an interrupt, and says what is spent and what asking again costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.database import Database
from discreet.errors import LedgerError
from discreet.ledgers import Ledger, MemoryLedger
from discreet.privacy import Pure
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.engines.duckdb import DuckDB

POLICY = Policy([Table("people", row_is_unit=True, columns=[Column("age", lower=0, upper=120)])], epsilon=9)
COUNT, SUM = "SELECT COUNT(*) AS n FROM people", "SELECT SUM(age) AS s FROM people"
TAKEN = r"^interrupted; Pure\(epsilon=1\) was taken before and stays spent\. "


@pytest.fixture
def db() -> Iterator[Database]:
    with Database(POLICY, {"people": pa.table({"age": [50] * 9})}, ledger=MemoryLedger(POLICY)) as found:
        yield found


def stop(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def stopping_after(real: object) -> object:
    def done_and_stopped(*given: object) -> None:
        real(*given)  # type: ignore[operator]
        raise KeyboardInterrupt

    return done_and_stopped


def test_stopped_in_the_engine_the_cost_stays_and_asking_again_costs_again(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine: DuckDB = db._engine  # type: ignore[assignment]
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_found", stop)
        with pytest.raises(KeyboardInterrupt, match=TAKEN + "No answer was recorded: asking again costs again."):
            db.sql(COUNT).release(epsilon=1)
    assert db.remaining == Pure(8)
    again = db.sql(COUNT).release(epsilon=1)
    assert (again.repeated, db.remaining) == (False, Pure(7))


def test_stopped_after_it_was_recorded_asking_again_is_free(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(db.ledger, "record", stopping_after(db.ledger.record))
        with pytest.raises(KeyboardInterrupt, match=TAKEN + "The answer was recorded: asking again shows it and costs"):
            db.sql(COUNT).release(epsilon=1)
    again = db.sql(COUNT).release(epsilon=1)
    assert (again.repeated, db.remaining) == (True, Pure(8))


def test_stopped_while_the_cost_is_taken_the_ledger_says_whether_it_was(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for act, left in ((stop, Pure(9)), (stopping_after(db.ledger.take), Pure(8))):
        with monkeypatch.context() as patch:
            patch.setattr(db.ledger, "take", act)
            with pytest.raises(KeyboardInterrupt, match="it is spent as a whole or not at all, and the ledger says"):
                db.sql(COUNT).release(epsilon=1)
        assert db.remaining == left


def test_of_several_questions_it_counts_the_recorded_ones(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(db.ledger, "record", stopping_after(db.ledger.record))
        with pytest.raises(KeyboardInterrupt, match="Of 2 answers 1 had been recorded: free when asked again"):
            db.ask_all([COUNT, SUM]).release(epsilon=2)
    assert db.remaining == Pure(7)
    assert [db.sql(each).preview(epsilon=1).cost for each in (COUNT, SUM)]
    assert db.sql(COUNT).release(epsilon=1).repeated
    assert not db.sql(SUM).release(epsilon=1).repeated


def test_a_ledger_that_does_not_answer_then_changes_nothing(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise LedgerError

    look = Ledger.look

    def once(*given: object) -> object:
        monkeypatch.setattr(Ledger, "look", broken)
        return look(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Ledger, "look", once)
    monkeypatch.setattr(db._engine, "_found", stop)
    with pytest.raises(KeyboardInterrupt, match="What the ledger recorded is shown again for nothing; what it did not"):
        db.sql(COUNT).release(epsilon=1)


def test_a_repeat_takes_nothing_from_the_dataset(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.sql(COUNT).release(epsilon=1)
    monkeypatch.setattr("discreet.releases.asking.paying.Purchase.shown_again", stop)
    with pytest.raises(KeyboardInterrupt, match="nothing was taken from the budget of the dataset"):
        db.sql(COUNT).release(epsilon=1)
    assert db.remaining == Pure(8)
