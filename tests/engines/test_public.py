"""A public table that states no columns has those of its source: types, keys and bounds, alike on every engine."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import discreet as dp
from discreet.apps.cli import main
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.errors import QueryRefused
from discreet.privacy import Pure
from discreet.privacy.costs import total
from discreet.tables import Column, Policy, Table
from discreet.tables.kinds import Kind
from tests.engines.servers import fill_postgres, postgres, spark_session

if TYPE_CHECKING:
    from pathlib import Path

WARDS = Table("wards", public=True, unique=["ward"])
VISITS = Table("visits", unit="id", rows_per_unit=2, columns=[Column("ward", keys=["a", "b"])])
POLICY = Policy([VISITS, WARDS], epsilon=100)
TEXTS: dict[str, list[str | None]] = {
    "ward": ["a", "b", "c"],
    "beds": ["12", " 7 ", "1e1"],
    "zip": ["01067", "99999", "10115"],
    "share": ["0.5", "2", None],
    "city": ["Oslo", "Rome", "Rome"],
    "open": ["true", "false", None],
    "built": ["2024-02-01", "1820-01-01", "1999-12-31"],
    "moved": ["2024-02-01 10:00:00", "2024-02-01 11:00:00", None],
    "empty": [None, None, None],
    "_hidden": ["1", "2", "3"],
}
MOMENT = dt.datetime(2024, 2, 1, 10)  # noqa: DTZ001 - timestamps carry no zone
READ = (
    Column("ward", keys=["a", "b", "c"]),
    Column("beds", lower=7, upper=12),
    Column("zip", keys=["01067", "10115", "99999"]),
    Column("share", lower=Fraction(1, 2), upper=2),
    Column("city", keys=["Oslo", "Rome"]),
    Column("open", type="boolean"),
    Column("built", lower=dt.date(1820, 1, 1), upper=dt.date(2024, 2, 1)),
    Column("moved", lower=MOMENT, upper=MOMENT.replace(hour=11)),
    Column("empty", type="text"),
)
VISITED = {"id": ["1", "2", "3"], "ward": ["a", "b", "a"]}
JOINED = "SELECT w.city, COUNT(*) AS n, SUM(beds) AS s FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.city"


def frames(wards: dict[str, list[str | None]] = TEXTS) -> dict[str, pa.Table]:
    return {
        "visits": pa.table(VISITED),
        "wards": pa.table({name: pa.array(cells, pa.string()) for name, cells in wards.items()}),
    }


def write_files(folder: Path, wards: dict[str, list[str | None]] = TEXTS) -> None:
    for name, cells in (("visits", VISITED), ("wards", wards)):
        rows = [list(cells), *([cell or "" for cell in row] for row in zip(*cells.values(), strict=True))]
        (folder / f"{name}.csv").write_text("".join(",".join(row) + "\n" for row in rows))


def test_columns_of_a_public_table_are_read_in_duckdb(tmp_path: Path) -> None:
    write_files(tmp_path)
    for source in (frames(), tmp_path):
        with DuckDB(POLICY, source) as engine:
            assert engine.policy.table("wards").columns == READ
            assert engine.policy.table("visits") == VISITS


@pytest.mark.engine
def test_columns_of_a_public_table_are_read_in_postgres() -> None:
    stated = Table("wards", public=True, columns=[Column(name, type="text") for name in TEXTS if name != "_hidden"])
    rows = {
        name: [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
        for name, cells in (("visits", VISITED), ("wards", TEXTS))
    }
    fill_postgres(postgres(), "public_columns", Policy([VISITS, stated], epsilon=1), rows, text=True)
    with Postgres(POLICY, postgres(), schema="public_columns") as engine:
        assert engine.policy.table("wards").columns == READ


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_columns_of_a_public_table_are_read_in_spark(tmp_path: Path) -> None:
    write_files(tmp_path)
    with Spark(POLICY, spark_session(), folder=tmp_path) as engine:
        assert engine.policy.table("wards").columns == READ


def test_stored_types_are_those_of_the_columns() -> None:
    wards = pa.table({"ward": ["a"], "beds": [3], "share": [0.1], "built": [dt.date(2024, 2, 1)], "gone": [[1]]})
    with DuckDB(POLICY, {"visits": pa.table(VISITED), "wards": wards}) as engine:
        columns = engine.policy.table("wards").named
    assert {name: column.kind for name, column in columns.items()} == {
        "ward": Kind.TEXT,
        "beds": Kind.INTEGER,
        "share": Kind.FLOAT,
        "built": Kind.DATE,
    }
    assert columns["share"].bounds.lower == Fraction(0.1)  # the double itself, so that no value is moved


def test_many_texts_are_no_keys() -> None:
    many = {"ward": [str(number) + "x" for number in range(1001)]}
    with DuckDB(POLICY, {"visits": pa.table(VISITED), "wards": pa.table(many)}) as engine:
        assert engine.policy.table("wards").columns == (Column("ward", type="text"),)


def test_stated_columns_are_all_there_are() -> None:
    stated = Table("wards", public=True, columns=[Column("ward", type="text")])
    with DuckDB(Policy([VISITS, stated], epsilon=1), frames()) as engine:
        assert engine.policy.table("wards") == stated


def test_a_private_table_without_columns_is_never_read() -> None:
    private = Policy([Table("wards", unit="ward", rows_per_unit=1), VISITS], epsilon=1)
    with dp.Database(private, frames()) as db:
        assert [column.name for column in db.policy.table("wards").columns] == ["ward"]
        with pytest.raises(QueryRefused, match="beds"):
            db.sql("SELECT SUM(beds) FROM wards")
    rows = Table("wards", row_is_unit=True)
    with DuckDB(Policy([rows], epsilon=1), frames()) as engine:
        assert engine.policy.tables == (rows,)
        assert not rows.columns


def test_questions_join_what_was_read() -> None:
    with dp.Database(POLICY, frames()) as db:
        rows = db.sql(JOINED).release(epsilon=99).to_dicts()
        assert [(row["city"], round(row["n"]), round(row["s"])) for row in rows] == [("Oslo", 2, 24), ("Rome", 1, 7)]
        with pytest.raises(QueryRefused, match="'Rome'; the keys are 'Oslo', 'Rome'"):
            db.sql("SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward WHERE w.city = 'Romw'")


def test_a_public_table_that_changed_makes_its_questions_new_and_no_others(tmp_path: Path) -> None:
    count = "SELECT COUNT(*) AS n FROM visits"
    ledger = tmp_path / "ledger.sqlite"
    keys = []
    for moved in (False, False, True):
        wards = TEXTS | ({"city": ["Oslo", "Rome", "Bonn"]} if moved else {})
        with dp.Database(POLICY, frames(wards), ledger=ledger) as db:
            asked, plain = db.sql(JOINED), db.sql(count)
            keys.append((asked.plan.key, plain.plan.key))
            before = db.remaining
            asked.release(epsilon=10)
            plain.release(epsilon=1)
            charged = Pure([11, 0, 10][len(keys) - 1])
            assert total(db.remaining, charged) == before
            lines = [line for line in db.ledger.entries(kind="reserved") if line.question == asked.plan.key]
            assert [line.body["details"]["read"] for line in lines] == [asked.plan.read]
            assert [line.kind for line in db.ledger.entries(kind="policy")] == []  # the policy is what it was
    assert keys[0] == keys[1] != keys[2]
    assert keys[1][1] == keys[2][1]


def test_what_is_read_does_not_depend_on_private_rows() -> None:
    read = []
    for visits in (VISITED, {"id": ["1"], "ward": ["zzz"]}):
        with DuckDB(POLICY, frames() | {"visits": pa.table(visits)}) as engine:
            read.append(engine.policy)
    assert read[0] == read[1]
    assert read[0].to_json() == POLICY.to_json()


def test_check_records_what_was_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(tmp_path)
    policy = tmp_path / "hospital.toml"
    policy.write_text(
        '[source]\nurl = "."\n[budget]\nepsilon = 1\n[tables.visits]\nunit = "id"\nrows_per_unit = 2\n'
        '[tables.visits.columns]\nward = { keys = ["a", "b"] }\n[tables.wards]\npublic = true\nunique = ["ward"]\n'
    )
    assert main(["check", str(policy)]) == 0
    capsys.readouterr()
    assert main(["log", str(policy), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (note,) = [line for line in lines if line["kind"] == "check"]
    assert note["read"] == {"wards": [[column.name, column.describe()] for column in READ]}
