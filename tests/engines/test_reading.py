"""A number is read by its value however it is written, on every engine; what cannot be told apart is no unit."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.errors import PolicyError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table
from tests.engines.conformance import opened
from tests.engines.databases import KEY, arrow_tables, text_database, write_csv
from tests.engines.servers import fill_postgres, postgres, spark_session
from tests.plans.interpreter import groups_of

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines import Engine
    from tests.plans.interpreter import Database

VISITS = Table(
    "visits",
    unit="id",
    rows_per_unit=50,
    columns=[
        Column("id", type="integer"),
        Column("cost", lower=-1000, upper=10**17),
        Column("dose", type="float", lower=-10, upper=10),
        Column("ward", keys=["a", "b c"]),
        Column("code", keys=["x", "y"], exact=True),
        Column("old", keys=[False, True]),
    ],
)
POLICY = Policy([VISITS], epsilon=1, delta=1e-6)
NUMBERS = [
    *(
        "15400.0",
        " 7 ",
        "1e3",
        "2.5",
        "3.5",
        "-3.7",
        "+4",
        "007",
        "0.0",
        "-0.0",
        "1E+2",
        "12.",
        ".5",
        "1e99",
        "abc",
        "",
    ),
    *("9007199254740993", "9007199254740993.0", "9007199254740993.000", "9.007199254740993e15", "1.5e1", "7.1", "nan"),
    *("inf", "1,000", "0x10", "1_000", "\uff17", "7 7", "\t7", "7.000000000000000001", "123456789012345678.0"),
    *("9.1e15", "1.23e1", "0.00012345678901234567", "0.000000123456789012345678", "0.0000001234567890123456789"),
]
TRUTHS = ["true", "FALSE", "1", "0", "1.0", " 0.0", "True ", "2", "-1", "yes", ""]
ROWS: Database = {
    "visits": [
        {
            "id": unit,
            "cost": NUMBERS[place % len(NUMBERS)],
            "dose": unit,
            "ward": ward,
            "code": code,
            "old": TRUTHS[place % len(TRUTHS)],
        }
        for place, (unit, ward, code) in enumerate(
            zip(NUMBERS * 2, ["a", " a", "b c ", "b  c", "A"] * 16, ["x", " x", "y", "y "] * 20, strict=False)
        )
    ]
}
QUESTIONS = [
    "SELECT COUNT(*), COUNT(DISTINCT id), COUNT(cost), SUM(cost), COUNT(dose), SUM(dose) FROM visits",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
    "SELECT code, COUNT(*) FROM visits GROUP BY code",
    "SELECT old, COUNT(*) FROM visits GROUP BY old",
    "SELECT COUNT(*) FROM visits WHERE old",
]


def wrong(engine: Engine, read: Database) -> list[str]:
    lines = []
    for question in QUESTIONS:
        aggregate = plan_sql(POLICY, question).aggregate
        here, wanted = opened(engine.prepare(aggregate).run(), aggregate), groups_of(aggregate, read)
        lines += [] if here == wanted else [f"{question}: {here} against {wanted}"]
    return lines


def test_the_reference_reads_by_value() -> None:
    """Written out by hand."""
    _, read = text_database(POLICY, ROWS)
    first = read["visits"][: len(NUMBERS)]
    costs = [row["cost"] for row in first if row["cost"] is not None]
    assert [row["cost"] for row in first[:11]] == [15400, 7, 1000, 2, 4, -4, 4, 7, 0, 0, 100]
    assert 9007199254740993 in costs
    truths = [row["old"] for row in first[: len(TRUTHS)]]
    assert truths == [True, False, True, False, True, False, True, None, None, None, None]
    units = [row["id"] for row in first]
    assert units[:6] == [15400, 7, 1000, None, None, None]
    assert units[16:22] == [9007199254740993, 9007199254740993, 9007199254740993, None, 15, None]


def test_duckdb_reads_texts_by_value(tmp_path: Path) -> None:
    texts, read = text_database(POLICY, ROWS)
    write_csv(tmp_path, POLICY, texts)
    for source in (tmp_path, arrow_tables(POLICY, texts, text=True)):
        with DuckDB(POLICY, source, rank_key=KEY) as engine:
            assert wrong(engine, read) == []


@pytest.mark.engine
def test_postgres_reads_texts_by_value() -> None:
    texts, read = text_database(POLICY, ROWS)
    fill_postgres(postgres(), "reading", POLICY, texts, text=True)
    with Postgres(POLICY, postgres(), schema="reading", rank_key=KEY) as engine:
        assert wrong(engine, read) == []


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_reads_texts_by_value(tmp_path: Path) -> None:
    texts, read = text_database(POLICY, ROWS)
    write_csv(tmp_path, POLICY, texts)
    with Spark(POLICY, spark_session(), folder=tmp_path, rank_key=KEY) as engine:
        assert wrong(engine, read) == []


def test_a_frame_is_the_same_in_every_container(tmp_path: Path) -> None:
    """What pandas writes into a CSV file (15400.0 where a column has a NULL) is what it holds."""
    frame = pd.DataFrame(
        {
            "id": [place % 3000 for place in range(20_000)],
            "cost": [None if place % 7 == 0 else place % 1000 for place in range(20_000)],
            "dose": [place / 7 - 5 if place % 5 else None for place in range(20_000)],
            "ward": [["a", "b c", "other"][place % 3] for place in range(20_000)],
            "code": [["x", "y"][place % 2] for place in range(20_000)],
            "old": [place % 3 == 0 for place in range(20_000)],
        }
    )
    assert frame["cost"].dtype == float  # a NULL makes it so, and to_csv writes 1.0
    (tmp_path / "csv").mkdir()
    (tmp_path / "parquet").mkdir()
    frame.to_csv(tmp_path / "csv" / "visits.csv", index=False)
    frame.to_parquet(tmp_path / "parquet" / "visits.parquet")
    sources: list[Path | dict[str, object]] = [
        {"visits": frame},
        {"visits": pa.Table.from_pandas(frame)},
        tmp_path / "csv",
    ]
    sources.append(tmp_path / "parquet")
    answers = []
    for source in sources:
        with DuckDB(POLICY, source, rank_key=KEY) as engine:
            aggregates = [plan_sql(POLICY, question).aggregate for question in QUESTIONS]
            answers.append([opened(engine.prepare(aggregate).run(), aggregate) for aggregate in aggregates])
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0][()][0] == (20_000,)


def test_exact_is_for_texts_with_keys() -> None:
    with pytest.raises(PolicyError, match="exact but no keys"):
        Column("ward", type="text", exact=True)
    with pytest.raises(PolicyError, match="true or false"):
        Column("ward", keys=["a"], exact="yes")  # type: ignore[arg-type]
    assert not Column("ward", keys=[" a", "b"]).trimmed
    again = Policy.from_json(POLICY.to_json())
    assert again == POLICY
    assert [column.exact for column in again.tables[0].columns] == [False, False, False, False, True, False]


def test_a_unit_is_one_however_its_tables_store_it() -> None:
    """Seven is stored as an integer, a float, a decimal and texts; a fraction is nobody; none is split or merged."""
    stored = {
        "whole": pa.array([7, 8, None], pa.int64()),
        "floats": pa.array([7.0, 7.5, float("nan")]),
        "decimals": pa.array([Decimal("7.00"), Decimal("7.50"), Decimal("8.00")]),
        "texts": pa.array([" 7 ", "7.0", "7.5"]),
    }
    unit = Column("id", type="integer")
    policy = Policy([Table(name, unit="id", rows_per_unit=9, columns=[unit]) for name in stored], epsilon=1)
    union = " UNION ALL ".join(f"SELECT id FROM {name}" for name in stored)
    joined = " JOIN ".join(["whole", *(f"{name} USING (id)" for name in stored if name != "whole")])
    with DuckDB(policy, {name: pa.table({"id": cells}) for name, cells in stored.items()}) as engine:
        for source, wanted in ((f"({union}) AS u", [(7, 2)]), (joined, [(2, 1)])):
            question = f"SELECT COUNT(*), COUNT(DISTINCT {'id' if 'AS u' in source else 'whole.id'}) FROM {source}"
            aggregate = plan_sql(policy, question).aggregate
            counts = [cells for (cells,) in opened(engine.prepare(aggregate).run(), aggregate)[()]]
            assert [tuple(counts)] == wanted
