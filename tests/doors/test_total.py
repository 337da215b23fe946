"""No row makes an engine fail: each function, on every engine, gives what the reference gives for rows that provoke."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.engines.sql.expressions import _RULES
from discreet.errors import QueryRefused
from discreet.plans import expressions
from tests.doors.provocations import CASES, POLICY, asked, database, per_unit
from tests.engines.conformance import is_exact, opened
from tests.engines.databases import KEY, arrow_tables
from tests.engines.servers import fill_postgres, postgres, spark_session
from tests.plans.interpreter import groups_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.engines import Engine
    from discreet.plans.nodes import Aggregate
    from tests.plans.interpreter import Database

ROWS = database()
_TOGETHER = 8
"""So many cases share a question on servers, where the question costs more than the case."""


@pytest.fixture(scope="module")
def duckdb_engine() -> Iterator[Engine]:
    with DuckDB(POLICY, arrow_tables(POLICY, ROWS), rank_key=KEY) as engine:
        yield engine


@pytest.fixture(scope="module")
def postgres_engine() -> Iterator[Engine]:
    fill_postgres(postgres(), "doors", POLICY, ROWS)
    with Postgres(POLICY, postgres(), schema="doors", rank_key=KEY) as engine:
        yield engine


@pytest.fixture(scope="module")
def spark_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    import pyarrow.parquet as pq

    folder: Path = tmp_path_factory.mktemp("doors")
    for name, table in arrow_tables(POLICY, ROWS).items():
        pq.write_table(table, folder / f"{name}.parquet")
    with Spark(POLICY, spark_session(), folder=folder, rank_key=KEY) as engine:
        yield engine


def wrong(engine: Engine, aggregate: Aggregate, rows: Database = ROWS) -> str | None:
    """Tell how an engine differs from the reference; LN and EXP may differ in the last places, so in sums."""
    try:
        prepared = engine.prepare(aggregate)
    except QueryRefused:
        return None
    found, wanted = opened(prepared.run(), aggregate)[()], groups_of(aggregate, rows)[()]
    if not is_exact(aggregate):
        found, wanted = found[:2], wanted[:2]
    return None if found == wanted else f"{found} against {wanted}"


def all_wrong(engine: Engine) -> list[str]:
    """Tell how an engine differs: many cases in one question, one by one where the engine or the reference needs it."""
    exact = [case for case in CASES if is_exact(asked(case))]
    batches = [exact[start : start + _TOGETHER] for start in range(0, len(exact), _TOGETHER)]
    alone = [case for case in CASES if case not in exact]
    found = [wrong(engine, per_unit())]
    for batch in batches:
        try:
            engine.prepare(asked(*batch))
        except QueryRefused:
            alone += batch
            continue
        found.append(wrong(engine, asked(*batch)))
        alone += batch if found[-1] else []  # to name the case
    found += [f"{case.canonical()}: {text}" for case in alone if (text := wrong(engine, asked(case)))]
    return [text for text in found if text is not None]


def test_every_function_has_a_rule_and_a_provocation() -> None:
    kinds = {getattr(expressions, name) for name in expressions.__all__}
    functions = {
        kind for kind in kinds if issubclass(kind, expressions.Operation) and kind.__module__.count(".expression") < 2
    } - {expressions.Operation, expressions.Strict}
    assert set(_RULES) == functions
    assert {type(part) for case in CASES for part in case.walk()} >= functions


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.canonical()))
def test_duckdb_is_total(case: expressions.Expression, duckdb_engine: Engine) -> None:
    assert wrong(duckdb_engine, asked(case)) is None


def test_duckdb_is_total_per_unit(duckdb_engine: Engine) -> None:
    assert wrong(duckdb_engine, per_unit()) is None


@pytest.mark.engine
def test_postgres_is_total(postgres_engine: Engine) -> None:
    assert all_wrong(postgres_engine) == []


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_is_total(spark_engine: Engine) -> None:
    assert all_wrong(spark_engine) == []
