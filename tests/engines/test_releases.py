"""Whole answers, from the question to the noise, on PostgreSQL and Spark: as on DuckDB, where the noise is nothing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.errors import EngineError, ParameterError
from discreet.tables import Policy
from tests.engines.databases import KEY, arrow_tables, typed_database
from tests.engines.java import absent
from tests.engines.servers import fill_postgres, postgres, spark_connect, spark_environment, spark_master, spark_session
from tests.plans.hospital import TOML, database

if TYPE_CHECKING:
    from discreet.engines import Engine

RICH = Policy.from_toml(TOML.replace("epsilon = 3\ndelta = 1e-6", "epsilon = 1000000"))
ROWS = typed_database(RICH, database(Random("releases"), units=12))
# No median: of evenly many kept rows, every number between the two in the middle is as good an answer.
QUESTIONS = [
    "SELECT ward, COUNT(*) AS n, COUNT(cost) AS m, SUM(change) AS s FROM visits GROUP BY ward",
    "SELECT sex, city, COUNT(*) AS n, SUM(age) AS s FROM patients GROUP BY sex, city",
    "SELECT COUNT(DISTINCT patient_id) AS n, QUANTILE_CONT(change, 0.37) AS q FROM visits WHERE cost > 10",
    "SELECT floor, COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY floor",
]


def answers(engine: Engine, count: int = len(QUESTIONS)) -> list[list[dict[str, Any]]]:
    with dp.Database(RICH, engine) as db:
        return [db.sql(sql).release(epsilon=10**5).to_dicts() for sql in QUESTIONS[:count]]


@pytest.fixture(scope="module")
def reference() -> list[list[dict[str, Any]]]:
    found = answers(DuckDB(RICH, arrow_tables(RICH, ROWS), rank_key=KEY))
    assert sum(row["n"] for row in found[0]) > 6
    return found


@pytest.mark.engine
def test_postgres_answers_like_duckdb(reference: list[list[dict[str, Any]]]) -> None:
    fill_postgres(postgres(), "releases", RICH, ROWS)
    assert answers(Postgres(RICH, postgres(), schema="releases", rank_key=KEY)) == reference


@pytest.mark.engine
def test_postgres_is_opened_by_its_address() -> None:
    fill_postgres(postgres(), "public", RICH, ROWS)
    with dp.Database(RICH, postgres()) as db:
        (row,) = db.sql("SELECT COUNT(*) AS n FROM answers").release(epsilon=10**5).to_dicts()
    assert row == {"n": len(ROWS["answers"])}


def test_an_engine_of_another_policy_is_refused() -> None:
    with (
        DuckDB(RICH, arrow_tables(RICH, ROWS)) as engine,
        pytest.raises(ParameterError, match="another policy"),
    ):
        dp.Database(Policy.from_toml(TOML), engine)


@pytest.fixture(scope="module")
def folder() -> Path:
    import pyarrow.parquet as pq

    found = Path(tempfile.mkdtemp(prefix="discreet-releases-"))
    for name, table in arrow_tables(RICH, ROWS).items():
        pq.write_table(table, found / f"{name}.parquet")
    return found


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_answers_like_duckdb(folder: Path, reference: list[list[dict[str, Any]]]) -> None:
    assert answers(Spark(RICH, spark_session(), folder=folder, rank_key=KEY)) == reference


_BY_ADDRESS = """
import sys, warnings
warnings.simplefilter("ignore")
from discreet.engines.spark import Spark
from tests.engines.databases import KEY
from tests.engines.test_releases import RICH, answers
print(answers(Spark(RICH, sys.argv[1], folder=sys.argv[2], rank_key=KEY), 1))
"""


def answered_elsewhere(address: str, folder: Path) -> str:
    """Ask in a process of its own: a process has one session."""
    words = [sys.executable, "-c", _BY_ADDRESS, address, str(folder)]
    found = subprocess.run(words, capture_output=True, text=True, check=True, timeout=400, env=spark_environment())
    return found.stdout.strip().splitlines()[-1]


@pytest.mark.spark
def test_spark_is_opened_by_the_address_of_a_master(folder: Path, reference: list[list[dict[str, Any]]]) -> None:
    spark_session().stop()
    spark_session.cache_clear()
    assert answered_elsewhere(spark_master(), folder) == str(reference[:1])


@pytest.mark.spark
def test_spark_is_opened_by_the_address_of_a_connect_server(
    folder: Path, reference: list[list[dict[str, Any]]]
) -> None:
    if find_spec("grpc") is None:
        absent("Spark Connect needs the extra `spark`, with grpcio.")
    assert answered_elsewhere(spark_connect(), folder) == str(reference[:1])


def test_an_address_where_nobody_answers_is_said_to_be_so() -> None:
    with pytest.raises(EngineError, match="does not answer"):
        Postgres(RICH, "postgresql://nobody@127.0.0.1:1/nothing")
