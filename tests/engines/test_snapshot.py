"""Several questions are computed in one snapshot: what is written between them changes none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pytest

from discreet.database import Database
from discreet.engines import Snapshot
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.postgres import engine as of_postgres
from discreet.errors import EngineError, ParameterError
from discreet.plans import plan_sql
from discreet.privacy import Pure
from discreet.tables import Column, Policy, Table
from tests.engines.servers import fill_postgres, postgres

if TYPE_CHECKING:
    from collections.abc import Iterator

VISITS = Table(
    "visits", unit="id", rows_per_unit=1, columns=[Column("id", type="integer"), Column("cost", lower=0, upper=9)]
)
POLICY = Policy([VISITS], epsilon=9999)
ASKED = ["SELECT COUNT(*) AS n FROM visits", "SELECT COUNT(DISTINCT id) AS n FROM visits"]
ROWS = [{"id": place, "cost": 3} for place in range(7)]
DATA = {"visits": pa.table({"id": [row["id"] for row in ROWS], "cost": [row["cost"] for row in ROWS]})}


@pytest.fixture
def written_between(monkeypatch: pytest.MonkeyPatch) -> Iterator[Postgres]:
    """A table that has one more row after each statement."""
    fill_postgres(postgres(), "snapshot", POLICY, {"visits": ROWS})
    honest = of_postgres._columns

    def columns(cursor: Any, *given: Any) -> Any:  # noqa: ANN401 - as the engine's own
        read = honest(cursor, *given)
        with psycopg.connect(postgres(), autocommit=True) as other:
            other.execute("INSERT INTO snapshot.visits SELECT 1 + max(id), 3 FROM snapshot.visits")
        return read

    with Postgres(POLICY, postgres(), schema="snapshot") as engine:
        monkeypatch.setattr(of_postgres, "_columns", columns)
        yield engine


@pytest.mark.engine
def test_questions_that_are_asked_together_are_about_the_same_rows(written_between: Postgres) -> None:
    with Database(POLICY, written_between) as db:
        together = [answer.to_dicts()[0]["n"] for answer in db.ask_all(ASKED).release(epsilon=999)]
        assert together[0] == together[1] >= 7
        one, other = (db.sql(sql).release(epsilon=1999).to_dicts()[0]["n"] for sql in ASKED)
        assert one < other  # the partner: asked one by one, they are not


def test_duckdb_runs_them_in_one_transaction_and_one_by_one_in_two() -> None:
    number = ["SELECT txid_current()::BIGINT AS x"]
    with DuckDB(POLICY, DATA) as engine:
        together = engine._results(number, number)
        apart = [engine._results(number), engine._results(number)]
    assert together is not None
    assert [int(str(columns[0][0])) for columns in together] == [int(str(together[0][0][0]))] * 2
    assert str(apart[0]) != str(apart[1])


def test_if_one_fails_none_is_shown_and_all_stay_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    with DuckDB(POLICY, DATA) as engine, Database(POLICY, engine) as db:
        honest = engine._results
        monkeypatch.setattr(engine, "_results", lambda *texts: honest(*texts[:-1], ["SELECT no_such_column"]))
        with pytest.raises(EngineError, match="could not compute the question"):
            db.ask_all(ASKED).release(epsilon=999)
        assert db.remaining == Pure(9000)
        assert [*db.ledger.entries(kind="recorded")] == []


def test_a_snapshot_is_of_one_engine_and_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    aggregates = [plan_sql(POLICY, sql).aggregate for sql in ASKED]
    with DuckDB(POLICY, DATA) as engine, DuckDB(POLICY, DATA) as other:
        with pytest.raises(ParameterError, match="prepared by another engine"):
            engine.run([other.prepare(aggregates[0])])
        snapshot = Snapshot(engine)
        exact = [snapshot.add(engine.prepare(aggregate)) for aggregate in aggregates]
        assert exact[1]().unprotected(0).tolist() == [[7]]
        monkeypatch.setattr(engine, "_results", lambda *_: None)
        assert exact[0]().unprotected(0).tolist() == [[7]]
