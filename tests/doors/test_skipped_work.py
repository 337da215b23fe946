"""A row of one person never decides whether the rows of everybody are computed: the time would tell of it.

Engines skip one side of a join where the other has no rows, or pass over rows outside of what the other side has. Here
one person may have a value that nobody else has, and every operator must read as many rows whether or not it is so.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb import engine as duckdb_engine
from discreet.engines.postgres import Postgres
from discreet.engines.postgres.dialect import PostgresDialect
from discreet.engines.spark import Spark
from discreet.errors import TimeLimitError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table
from tests.engines.databases import KEY
from tests.engines.servers import fill_postgres, postgres, spark_session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.engines.sql.running import SQLEngine
    from tests.plans.interpreter import Database

_COLUMNS = [Column("id", type="integer"), Column("dx", keys=["hiv", "flu"]), Column("note", type="text")]
POLICY = Policy([Table("visits", unit="id", rows_per_unit=1, columns=_COLUMNS)], epsilon=1)
PEOPLE = 3000

_AIMED = "(SELECT id FROM visits WHERE dx = 'hiv')"
_ALL = "(SELECT id FROM visits WHERE note LIKE '%a_%b%' OR note <> 'x')"
QUESTIONS = [
    f"SELECT COUNT(*) FROM visits WHERE dx = 'hiv' AND id IN {_ALL}",
    f"SELECT COUNT(*) FROM visits WHERE dx = 'hiv' AND id NOT IN {_ALL}",
    f"SELECT COUNT(*) FROM {_AIMED} AS a JOIN {_ALL} AS b ON a.id = b.id",
    f"SELECT COUNT(*) FROM {_ALL} AS a JOIN {_AIMED} AS b ON a.id = b.id",
    f"SELECT COUNT(*) FROM {_AIMED} AS a LEFT JOIN {_ALL} AS b ON a.id = b.id",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.id = b.id WHERE a.dx = 'hiv' AND b.note LIKE '%a_%b%'",
    f"SELECT COUNT(*) FROM {_AIMED} AS a JOIN (SELECT id, COUNT(*) AS n FROM visits GROUP BY id) AS b ON a.id = b.id",
    f"SELECT COUNT(*) FROM (SELECT id FROM visits WHERE id > 5) AS a JOIN {_AIMED} AS b ON a.id = b.id",
    f"SELECT COUNT(*) FROM visits WHERE id > 5 AND id < 2900 AND id IN {_AIMED}",
    f"SELECT COUNT(*) FROM (SELECT id FROM visits WHERE UPPER(note) = 'AAB') AS a JOIN {_AIMED} AS b ON a.id = b.id",
]


def cells(attacked: str) -> Database:
    """Everybody has the flu, but for one person who is attacked."""
    rows = [{"id": each, "dx": attacked if each == 42 else "flu", "note": "aab"} for each in range(PEOPLE)]
    return {"visits": rows}


def _operators(plan: dict[str, Any], inside: str) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get(inside, []):
        yield from _operators(each, inside)


def text_of(engine: SQLEngine, question: str) -> str:
    """Write a question, after it was asked: what an engine keeps of the tables is there."""
    prepared = engine.prepare(plan_sql(POLICY, question).aggregate)
    prepared.run()
    (text,) = prepared._statements.texts
    return text


def rows_in_duckdb(engine: DuckDB, question: str) -> list[int]:
    """Say how many rows each operator gave."""
    text = f"EXPLAIN (ANALYZE, FORMAT json) {text_of(engine, question)}"
    ((_, found),) = engine._connection.execute(text).fetchall()
    (plan,) = json.loads(found)["operator"]
    return [int(each["intermediate_rows"]) for each in _operators(plan, "children")]


def seen_in_duckdb(question: str) -> int:
    """By how many rows some operator differs between two tables that differ in one person."""
    counts = []
    for attacked in ("hiv", "flu"):
        tables = {name: pa.Table.from_pylist(rows) for name, rows in cells(attacked).items()}
        with DuckDB(POLICY, tables, rank_key=KEY, threads=1) as engine:
            counts.append(rows_in_duckdb(engine, question))
    there, missing = counts
    if len(there) != len(missing):
        return PEOPLE  # another plan
    return max(abs(one - other) for one, other in zip(there, missing, strict=True))


@pytest.mark.parametrize("question", QUESTIONS)
def test_one_row_changes_the_work_by_one_row_in_duckdb(question: str) -> None:
    assert seen_in_duckdb(question) <= 1


@pytest.fixture(scope="module")
def without() -> Iterator[Postgres]:
    fill_postgres(postgres(), "skipped", POLICY, cells("flu"))
    with Postgres(POLICY, postgres(), schema="skipped", rank_key=KEY) as engine:
        yield engine


def skipped_in_postgres(engine: Postgres, question: str) -> list[str]:
    """Name the operators that never ran."""
    with psycopg.connect(postgres()) as connection:
        text = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {text_of(engine, question)}"
        ((((plan,),),),) = [connection.execute(text.encode()).fetchall()]
    return [each["Node Type"] for each in _operators(plan["Plan"], "Plans") if not each["Actual Loops"]]


@pytest.mark.engine
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_side_of_a_join_is_skipped_in_postgres(without: Postgres, question: str) -> None:
    assert skipped_in_postgres(without, question) == []


@pytest.mark.engine
def test_the_checks_see_a_side_that_is_skipped(without: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as fences and rules keep it from being an inner one, a join of all rows is computed as a whole."""
    monkeypatch.setattr(PostgresDialect, "fenced", lambda _, layer: layer)
    assert any(skipped_in_postgres(without, question) for question in QUESTIONS)
    monkeypatch.setattr(duckdb_engine, "_DISABLED", ())
    assert any(seen_in_duckdb(question) > 1 for question in QUESTIONS)


@pytest.mark.engine
def test_an_empty_result_takes_no_statement_more(without: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psycopg.Cursor, "execute", lambda *_: pytest.fail("a statement more"))
    aggregate = plan_sql(POLICY, "SELECT note, COUNT(*) FROM visits WHERE dx = 'hiv' GROUP BY note").aggregate
    assert without.prepare(aggregate).run().unprotected_groups() == []


@pytest.mark.engine
def test_a_question_that_waits_for_a_lock_is_stopped_in_time(without: Postgres) -> None:
    """How many columns it has is asked before it runs, and the server may wait there already."""
    question = without.prepare(plan_sql(POLICY, QUESTIONS[0]).aggregate)
    with psycopg.connect(postgres()) as other:
        other.execute(b"LOCK TABLE skipped.visits IN ACCESS EXCLUSIVE MODE")
        without._connection.execute(b"SET statement_timeout = 100")
        without._connection.commit()
        with pytest.raises(TimeLimitError):
            question.run()
    without._connection.execute(b"SET statement_timeout = 0")
    without._connection.commit()
    question.run()


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_no_side_of_a_join_can_be_skipped_in_spark(tmp_path: Path) -> None:
    """A join of all rows reads both sides; Spark's plans show what it made of it."""
    (table,) = [pa.Table.from_pylist(rows) for rows in cells("flu").values()]
    pq.write_table(table, tmp_path / "visits.parquet")
    with Spark(POLICY, spark_session(), folder=tmp_path, rank_key=KEY) as engine:
        for question in QUESTIONS:
            plan = str(engine._results([f"EXPLAIN {text_of(engine, question)}"]))
            assert re.findall(r"Join \[.*?\], \[.*?\], (\w+)", plan) == ["FullOuter"], plan
