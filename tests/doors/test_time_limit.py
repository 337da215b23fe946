"""A question whose time is over stays charged, says public things only, and is told to the owner."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.apps.cli import main
from discreet.database import Database
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.errors import EngineError, PolicyError, TimeLimitError
from discreet.ledgers import SQLiteLedger
from discreet.tables import Column, Policy, Table
from tests.engines.servers import fill_postgres, postgres, spark_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from discreet.engines.sql.running import SQLEngine

POLICY = Policy(
    [Table("people", unit="id", rows_per_unit=1, columns=[Column("id", type="integer")])], epsilon=1, seconds=1
)
ROWS = [{"id": each} for each in range(5)]
ENDLESS = "SELECT SUM(a.range * b.range) AS s FROM range(10000000) a, range(10000000) b"
SENTENCE = "the question took longer than 1 seconds, which is the limit, and was stopped. What it cost stays spent, "


def stopped(engine: SQLEngine, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a question whose statement never ends, twice: charged, told, and open for the next one."""
    slow: Callable[..., object] = type(engine)._results
    monkeypatch.setattr(type(engine), "_results", lambda self, _: slow(self, [text]))
    with Database(POLICY, engine, ledger="memory", analyst="ann") as db:
        monkeypatch.setattr(type(engine), "alive", lambda _: True)
        for count in (1, 2):
            with pytest.raises(TimeLimitError) as raised:
                db.sql("SELECT COUNT(*) AS n FROM people").release(epsilon="0.25")
            assert str(raised.value).startswith(SENTENCE)
            assert raised.value.__cause__ is None
            assert raised.value.__context__ is None
            told = [line.body for line in db.ledger.entries(kind="stopped")]
            paid = [line.number for line in db.ledger.entries(kind="reserved")]
            assert [(body["entry"], body["seconds"]) for body in told] == [(number, 1) for number in paid]
            assert len(paid) == count
            assert repr(db.remaining) == f"Pure(epsilon={1 - count * 0.25:g})"
        monkeypatch.setattr(type(engine), "_results", slow)
        db.sql("SELECT COUNT(*) AS n FROM people").release(epsilon="0.25")


def test_a_late_question_stays_charged_and_is_told_on_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(DuckDB(POLICY, {"people": pa.Table.from_pylist(ROWS)}), ENDLESS, monkeypatch)


@pytest.mark.engine
def test_a_late_question_stays_charged_and_is_told_on_postgres(monkeypatch: pytest.MonkeyPatch) -> None:
    fill_postgres(postgres(), "late", POLICY, {"people": ROWS})
    stopped(Postgres(POLICY, postgres(), schema="late"), "SELECT pg_sleep(3600)", monkeypatch)


@pytest.mark.engine
def test_all_statements_of_a_question_share_its_time_on_postgres() -> None:
    fill_postgres(postgres(), "late", POLICY, {"people": ROWS})
    with Postgres(POLICY, postgres(), schema="late", seconds=3600) as engine:
        engine._seconds = 0  # as if the first statement had taken all of it
        assert engine._results(["SELECT 1", "SELECT pg_sleep(10)"]) is None
        assert engine._expired


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_a_late_question_stays_charged_and_is_told_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "people.parquet")
    endless = "SELECT SUM(a.id % 7 * b.id) AS s FROM range(10000000) a, range(10000000) b"
    with Spark(POLICY, spark_session(), folder=tmp_path, seconds=1) as engine:
        slow = engine._results
        monkeypatch.setattr(engine, "_results", lambda _: slow([endless]))
        monkeypatch.setattr(engine, "alive", lambda: True)
        question = Database(POLICY, engine, ledger="memory").sql("SELECT COUNT(*) AS n FROM people")
        with pytest.raises(TimeLimitError, match="longer than 1 seconds"):
            question.release(epsilon="0.25")


def test_a_failure_that_is_no_expiry_is_not_called_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with DuckDB(POLICY, {"people": pa.Table.from_pylist(ROWS)}) as engine:
        engine._expired = True  # of an earlier question
        monkeypatch.setattr(engine, "_results", lambda _: None)
        db = Database(POLICY, engine, ledger="memory")
        with pytest.raises(EngineError, match="could not compute") as raised:
            db.sql("SELECT COUNT(*) AS n FROM people").release(epsilon="0.25")
        assert not isinstance(raised.value, TimeLimitError)
        assert list(db.ledger.entries(kind="stopped")) == []


def test_the_ledger_is_told_which_entry_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    with DuckDB(POLICY, {"people": pa.Table.from_pylist(ROWS)}) as engine:
        db = Database(POLICY, engine, ledger="memory")

        def late(_: object) -> None:
            engine._expired = True

        monkeypatch.setattr(engine, "_results", late)
        with pytest.raises(TimeLimitError):
            db.sql("SELECT COUNT(*) AS n FROM people").release(epsilon="0.25")
        (paid,) = db.ledger.entries(kind="reserved")
        assert [line.body["entry"] for line in db.ledger.entries(kind="stopped")] == [paid.number]


def test_the_owner_reads_it_in_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "people.csv").write_text("id\n1\n")
    text = '[source]\nurl = "."\n[limits]\nseconds = 60\n[budget]\nepsilon = 1\n'
    (tmp_path / "town.toml").write_text(f"{text}[tables.people]\nrow_is_unit = true\ncolumns.id.type = 'integer'")
    file = tmp_path / "town.toml"
    assert Policy.read(file).seconds == 60
    with SQLiteLedger(tmp_path / "town.ledger.sqlite", policy=Policy.read(file)) as ledger:
        ledger.note("stopped", "entry 1 took longer than 60 seconds", {"entry": 1, "seconds": 60})
    assert main(["log", str(file)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "entry 1 took longer than 60 seconds" in shown
    assert "1 question took longer than the policy lets them" in shown


def test_the_time_is_public_and_shapes_no_answer() -> None:
    longer = Policy(POLICY.tables, epsilon=1)
    assert longer.seconds == 3600
    assert longer == POLICY
    assert longer.hash == POLICY.hash
    with pytest.raises(PolicyError, match=r"limits\.seconds"):
        Policy([], epsilon=1, seconds=0)


def test_the_error_crosses_a_process() -> None:
    again = pickle.loads(pickle.dumps(TimeLimitError(7)))  # noqa: S301 - our own
    assert (again.seconds, str(again)) == (7, str(TimeLimitError(7)))
