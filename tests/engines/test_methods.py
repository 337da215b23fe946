"""Workloads and streams give the same counts on every engine; with hardly any noise they are the true ones."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.database import Database
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.tables import Column, Policy, Table
from tests.engines.servers import fill_postgres, postgres, spark_session

if TYPE_CHECKING:
    from discreet.engines import Engine

VISITS = Table(
    "visits",
    unit="id",
    rows_per_unit=1,
    columns=[
        Column("id", type="integer"),
        Column("ward", keys=["a", "b"]),
        Column("age", lower=0, upper=9, type="integer"),
        Column("day", type="date", lower=dt.date(2024, 1, 1), upper=dt.date(2024, 12, 31)),
    ],
)
POLICY = Policy([VISITS], epsilon=9000)
ROWS: list[dict[str, Any]] = [
    {"id": place, "ward": "abx"[place % 3], "age": place % 10, "day": dt.date(2024, 1, 1 + place % 4)}
    for place in range(240)
] + [{"id": 0, "ward": "a", "age": 5, "day": dt.date(2024, 1, 2)}, {"id": 500, "ward": None, "age": None, "day": None}]


def _duckdb() -> Engine:
    return DuckDB(POLICY, {"visits": pa.Table.from_pylist(ROWS)})


def _postgres() -> Engine:
    fill_postgres(postgres(), "methods", POLICY, {"visits": ROWS})
    return Postgres(POLICY, postgres(), schema="methods")


def _spark() -> Engine:
    folder = Path(tempfile.mkdtemp(prefix="discreet-methods-"))
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "visits.parquet")
    return Spark(POLICY, spark_session(), folder=folder)


@pytest.mark.parametrize(
    "opened",
    [_duckdb, pytest.param(_postgres, marks=pytest.mark.engine), pytest.param(_spark, marks=pytest.mark.spark)],
)
@pytest.mark.filterwarnings("ignore")
def test_workloads_totals_and_streams_count_the_same(opened: Any) -> None:  # noqa: ANN401 - a function
    once = [row for row in ROWS if row["id"] != 0]  # one unit has two rows, of which one counts

    def counted(**wanted: Any) -> int:  # noqa: ANN401 - values of columns
        return sum(all(row[name] in allowed for name, allowed in wanted.items()) for row in once)

    with opened() as engine, Database(POLICY, engine) as db:
        asked = ["SELECT ward, age, COUNT(*) AS n FROM visits GROUP BY CUBE (ward, age)"]
        asked += ["SELECT COUNT(*) AS n FROM visits WHERE age < 4"]
        cube, few = db.workload(asked).release(epsilon=900)
        assert abs(few.values[0] - counted(age=range(4))) <= 1
        totals = {(row["ward"], row["age"]): row["n"] for row in cube.to_dicts()}
        released = db.sql(asked[0]).release(epsilon=900).to_dicts()
        assert {(row["ward"], row["age"]) for row in released} == set(totals)
        for row in released:
            ward = ["a", "b"] if row["ward"] is None else [row["ward"]]
            ages = range(10) if row["age"] is None else [row["age"]]
            assert abs(row["n"] - counted(ward=ward, age=ages)) <= 1
            assert abs(totals[row["ward"], row["age"]] - row["n"]) <= 1
        sql = "SELECT DATE_TRUNC('day', day) AS d, ward, COUNT(*) AS n FROM visits GROUP BY 1, ward"
        with db.stream(sql, horizon=9, rows=1, epsilon=900) as stream:
            sums = stream.advance(dt.datetime(2024, 1, 6, tzinfo=dt.UTC))
        days = [[dt.date(2024, 1, 1 + place) for place in range(last)] for last in range(1, 6)]
        for each, until in zip(sums, days, strict=True):
            wanted = [counted(ward=[ward], day=until) for ward in "ab"]
            assert all(abs(a - b) <= 1 for a, b in zip(each.value, wanted, strict=True))
