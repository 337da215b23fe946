"""The same doors on every engine: failures, logs, representations, the order of rows, and questions that want out."""

from __future__ import annotations

import pickle
import traceback
from random import Random
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.errors import EngineError, QueryRefused
from discreet.plans import plan_sql
from tests.engines.conformance import FIXED, opened
from tests.engines.databases import KEY, arrow_tables, typed_database
from tests.engines.servers import fill_postgres, postgres, spark_session
from tests.plans.hospital import POLICY, database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from discreet.engines.sql.running import SQLEngine
    from tests.plans.interpreter import Database

SECRET = "the-secret-of-ann"  # noqa: S105 - a diagnosis
ROWS = typed_database(POLICY, database(Random("doors"), units=6))
ROWS["visits"].append({**ROWS["visits"][0], "patient_id": "ann", "diagnosis": SECRET})
ENGINES = [
    "duckdb",
    pytest.param("postgres", marks=pytest.mark.engine),
    pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.filterwarnings("ignore")]),
]


@pytest.fixture
def opener(tmp_path: Path) -> Callable[[str, Database], SQLEngine]:
    def open_one(kind: str, rows: Database) -> SQLEngine:
        if kind == "duckdb":
            return DuckDB(POLICY, arrow_tables(POLICY, rows), rank_key=KEY)
        if kind == "postgres":
            fill_postgres(postgres(), "every", POLICY, rows)
            return Postgres(POLICY, postgres(), schema="every", rank_key=KEY)
        for name, table in arrow_tables(POLICY, rows).items():
            pq.write_table(table, tmp_path / f"{name}.parquet")
        return Spark(POLICY, spark_session(), folder=tmp_path, rank_key=KEY)

    return open_one


def failing(engine: SQLEngine) -> str:
    """A statement whose error message quotes a private cell."""
    scan = engine._emitter._catalog.raw(POLICY.table("visits")).source.sql(engine._emitter.dialect.name)
    return f"SELECT CAST(diagnosis AS INTEGER) FROM {scan} WHERE diagnosis = '{SECRET}'"


@pytest.mark.parametrize("kind", ENGINES)
def test_a_failure_says_nothing_about_rows(
    kind: str,
    opener: Callable[[str, Database], SQLEngine],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    with opener(kind, ROWS) as engine:
        question = engine.prepare(plan_sql(POLICY, FIXED[0]).aggregate)
        bad, honest = failing(engine), type(engine)._results
        assert honest(engine, [bad]) is None  # it fails, and not for want of rows:
        assert honest(engine, [bad.replace(SECRET, "nobody")]) is not None
        monkeypatch.setattr(engine, "_results", lambda _: honest(engine, [bad]))
        with pytest.raises(EngineError, match="could not compute") as raised:
            question.run()
    error = raised.value
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = "".join(traceback.format_exception(error)).replace(__file__, "")
    # At its lowest level py4j writes the whole conversation with the JVM, this test's own statement included.
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("py4j")]
    assert SECRET not in shown + "".join(logged)


@pytest.mark.parametrize("kind", ENGINES)
def test_engines_and_questions_show_no_key_and_no_rows(
    kind: str, opener: Callable[[str, Database], SQLEngine], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    with opener(kind, ROWS) as engine:
        question = engine.prepare(
            plan_sql(POLICY, "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis").aggregate
        )
        answer = question.run()
        for each in (engine, question):
            assert KEY.hex() not in repr(each) + str(each)
            with pytest.raises(TypeError):
                pickle.dumps(each)
        with pytest.raises(TypeError):
            repr(answer)
    assert SECRET not in "".join(record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("kind", ENGINES[:2])
def test_the_order_of_rows_does_not_matter(kind: str, opener: Callable[[str, Database], SQLEngine]) -> None:
    answers = []
    for seed in range(2):
        rows = {name: Random(seed).sample(list(each), len(each)) for name, each in ROWS.items()}
        with opener(kind, rows) as engine:
            plans = [plan_sql(POLICY, sql).aggregate for sql in FIXED]
            answers.append([opened(engine.prepare(each).run(), each) for each in plans])
    assert answers[0] == answers[1]


DOORS = [
    "SELECT * FROM visits",
    "SELECT cost FROM visits LIMIT 1",
    "SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id",
    "SELECT MIN(diagnosis) FROM visits",
    "SELECT COUNT(*) FROM (SELECT * FROM visits LIMIT 5) t",
    "SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY cost) AS r FROM visits) t WHERE r < 3",
    "SELECT COUNT(*) FROM visits v WHERE cost > (SELECT cost FROM visits LIMIT 1)",
    "SELECT COUNT(*) FROM visits v WHERE cost >= ALL (SELECT w.cost FROM visits w WHERE w.ward = v.ward)",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT read_text('/etc/passwd') FROM visits",
    "SELECT COUNT(*) FROM visits; DROP TABLE visits",
    "SELECT COUNT(*) FROM visits; SELECT * FROM visits",
    "SELECT COUNT(*) /* */ FROM visits -- \n ; SELECT 1",
    "SELECT pg_sleep(5), COUNT(*) FROM visits",
    "SELECT java_method('java.lang.System', 'exit', 1), COUNT(*) FROM visits",
    "SELECT my_udf(cost), COUNT(*) FROM visits GROUP BY 1",
    "SELECT error('x'), COUNT(*) FROM visits",
    "SELECT STRING_AGG(diagnosis, ',') FROM visits",
    "SELECT LIST(cost) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE regexp_matches(diagnosis, '(')",
    "SELECT SUM(random()) FROM visits",
    "SELECT COUNT(*) FROM visits TABLESAMPLE 10 ROWS",
    "SELECT COUNT(*) FROM information_schema.tables",
    "SELECT COUNT(*) FROM pg_catalog.pg_stats",
    "COPY visits TO '/tmp/x'",
    "ATTACH 'x.duckdb'",
    "SET enable_external_access = true",
    "EXPLAIN ANALYZE SELECT COUNT(*) FROM visits",
    "CREATE TABLE t AS SELECT * FROM visits",
]


class Untouched:
    """Stands in the way of everything that would look at rows."""

    def __call__(self, *_: object) -> object:
        message = "an engine was asked"
        raise AssertionError(message)


@pytest.fixture(scope="module")
def with_and_without_rows() -> Iterator[list[DuckDB]]:
    """The same tables with rows and with none; a question that is refused leaves no trace in an engine."""
    tables, nothing = arrow_tables(POLICY, ROWS), arrow_tables(POLICY, {name: [] for name in ROWS})
    with DuckDB(POLICY, tables) as full, DuckDB(POLICY, nothing) as empty:
        yield [full, empty]


@pytest.mark.parametrize("sql", DOORS)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_questions_that_want_out_are_refused_before_rows_are_touched(
    sql: str, dialect: str, with_and_without_rows: list[DuckDB], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal is the same with other rows, and with none: it says nothing about them."""
    messages = set()
    for engine in with_and_without_rows:
        monkeypatch.setattr(engine, "_results", Untouched())
        monkeypatch.setattr(engine, "_store", Untouched())
        with pytest.raises(QueryRefused) as raised:
            dp.Database(POLICY, engine).sql(sql, dialect=dialect)
        messages.add(str(raised.value))
    (message,) = messages
    assert SECRET not in message


def test_a_question_that_is_answered_does_reach_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The partner: what stands in the way above is asked by a question that is no door."""
    with DuckDB(POLICY, arrow_tables(POLICY, ROWS)) as engine:
        monkeypatch.setattr(engine, "_results", Untouched())
        with pytest.raises(AssertionError, match="an engine was asked"):
            dp.Database(POLICY, engine).sql("SELECT COUNT(*) AS n FROM visits").release(epsilon="0.1")
