"""What reading loses is counted alike on every engine, and nothing else changes."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.apps.cli.spoiling import spoiled
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.engines.sql.losses import ColumnLosses, TableLosses
from discreet.tables import Column, Policy, Table
from tests.engines.databases import KEY, write_csv
from tests.engines.servers import fill_postgres, postgres, spark_session

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines import Engine
    from tests.plans.interpreter import Database

VISITS = Table(
    "visits",
    unit="id",
    rows_per_unit=2,
    columns=[
        Column("id", type="text"),
        Column("cost", lower=0, upper=100),
        Column("dose", lower="0.5", upper=10),
        Column("ward", keys=["a", "b"], other="rest"),
        Column("code", keys=["x"], exact=True),
        Column("day", lower=dt.date(2020, 1, 1), upper=dt.date(2021, 1, 1)),
    ],
)
WARDS = Table("wards", unit="id", rows_per_unit=1, columns=[Column("id", type="text"), Column("n", lower=0, upper=9)])
POLICY = Policy([VISITS, WARDS], epsilon=1)
CELLS = {
    "id": ["7", "7.0", " 7 ", "A", "a", None, "b", "b", "b", "b"],
    "cost": ["1", "2.5", "x", None, "101", "-5", "100", "0", "1e3", "7.0"],
    "dose": ["1", "0.1", "11", "nan", None, "5", "5", "5", "0.5", "10"],
    "ward": ["a", " a", "c", None, "b", "rest", "b", "b", "b", "b"],
    "code": ["x", " x", "x ", "x", "x", "x", "x", "x", "x", None],
    "day": ["2020-01-01", "2019-12-31", "2022-01-01", "zz", None, *["2020-05-05"] * 5],
}
ROWS: Database = {
    "visits": [dict(zip(CELLS, cells, strict=True)) for cells in zip(*CELLS.values(), strict=True)],
    "wards": [{"id": "07", "n": "1"}, {"id": "b", "n": "1"}],
}
LOST = (
    TableLosses(
        "visits",
        10,
        (
            ColumnLosses("id", null=1),
            ColumnLosses("cost", null=1, unreadable=1, rounded=1, below=1, above=2),
            ColumnLosses("dose", null=1, unreadable=1, below=1, above=1),
            ColumnLosses("ward", null=1, outside=2),
            ColumnLosses("code", null=1, outside=2),
            ColumnLosses("day", null=1, unreadable=1, below=1, above=1),
        ),
        no_unit=1,
        cut=2,
        near=4,  # 7.0, ' 7 ' and 07 beside 7, and a beside A
    ),
    TableLosses("wards", 2, (ColumnLosses("id"), ColumnLosses("n")), near=4),
)


def counted(engine: Engine) -> tuple[TableLosses, ...]:
    return engine.losses(POLICY)


def test_duckdb_counts_what_reading_loses(tmp_path: Path) -> None:
    write_csv(tmp_path, POLICY, ROWS)
    with DuckDB(POLICY, tmp_path, rank_key=KEY) as engine:
        assert counted(engine) == LOST


@pytest.mark.engine
def test_postgres_counts_what_reading_loses() -> None:
    fill_postgres(postgres(), "losses", POLICY, ROWS, text=True)
    with Postgres(POLICY, postgres(), schema="losses", rank_key=KEY) as engine:
        assert counted(engine) == LOST


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_counts_what_reading_loses(tmp_path: Path) -> None:
    write_csv(tmp_path, POLICY, ROWS)
    with Spark(POLICY, spark_session(), folder=tmp_path, rank_key=KEY) as engine:
        assert counted(engine) == LOST


def test_typed_columns_lose_by_the_same_rules() -> None:
    """A double in an integer column is rounded and counted; a fraction is no unit; NaN cannot be read."""
    table = Table("t", unit="id", columns=[Column("id", type="integer"), Column("x", lower=0, upper=9)])
    policy = Policy([table], epsilon=1)
    frame = pa.table({"id": [1.0, 1.5, None, 2.0], "x": [0.5, 3.0, float("nan"), 11.0]})
    with DuckDB(policy, {"t": frame}) as engine:
        lost = engine.losses(policy)[0]
    assert (lost.no_unit, lost.near) == (2, 0)
    assert lost.columns == (
        ColumnLosses("id", null=1, unreadable=1),
        ColumnLosses("x", unreadable=1, rounded=1, above=1),
    )


def test_a_fraction_agrees_with_no_other_unit() -> None:
    policy = Policy([Table("t", unit="id")], epsilon=1)
    with DuckDB(policy, {"t": pa.table({"id": ["7.1", "7", "6.9", "8.0", "8"]})}) as engine:
        assert engine.losses(policy)[0].near == 1


def test_rows_with_bytes_that_are_no_text_are_counted(tmp_path: Path) -> None:
    """A file in Latin-1 with an umlaut in each row has no rows for a question about that column."""
    rows = [f"{place},{'München' if place % 4 else 'Bonn'},{place % 9}" for place in range(400)]
    (tmp_path / "people.csv").write_bytes("\n".join(["id,city,cost", *rows, ""]).encode("latin-1"))
    columns = [Column("city", keys=["Bonn", "München"]), Column("cost", lower=0, upper=9)]
    policy = Policy([Table("people", unit="id", rows_per_unit=1, columns=columns)], epsilon=1)
    with DuckDB(policy, tmp_path, rank_key=KEY) as engine:
        (lost,) = engine.losses(policy)
    assert (lost.rows, lost.unread, lost.no_unit) == (400, 300, 0)
    assert any("75.0 % of the rows hold bytes that are no UTF-8" in text for text in spoiled(policy, [lost]))
