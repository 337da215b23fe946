"""A shell runs alike whatever engine its cores and public tables come from; and its database keeps types and NULLs."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb.shell import SEALED, ShellTable
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.engines.sql import running
from discreet.errors import ParameterError, QueryRefused
from discreet.privacy import Pure
from discreet.tables import Column, Policy, Table
from discreet.tables.kinds import Kind
from tests.engines.servers import fill_postgres, postgres, spark_session

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines import Engine

VISITS = Table(
    "visits",
    unit="id",
    rows_per_unit=1,
    columns=[Column("ward", keys=["a", "b"]), Column("cost", lower=0, upper=9), Column("day", type="date")],
)
WARDS = Table(
    "wards",
    public=True,
    columns=[
        Column("ward", keys=["a", "b"]),
        Column("beds", lower=0, upper=99),
        Column("share", type="float"),
        Column("open", type="boolean"),
        Column("built", type="date"),
        Column("moved", type="timestamp"),
    ],
)
POLICY = Policy([VISITS, WARDS], epsilon=10_000)
MOMENT = dt.datetime(2024, 2, 1, 10, 0, 0, 5)  # noqa: DTZ001 - timestamps carry no zone
PUBLIC: dict[str, list[Any]] = {
    "ward": ["a", "b", None],
    "beds": [12, None, 7],
    "share": [0.5, 0.25, None],
    "open": [True, False, None],
    "built": [dt.date(1820, 1, 1), None, dt.date(2024, 2, 29)],
    "moved": [MOMENT, None, None],
}
PRIVATE: dict[str, list[Any]] = {
    "id": list(range(300)),
    "ward": ["a", "b", "a"] * 100,
    "cost": [1, 2, 3] * 100,
    "day": [None] * 300,
}
ASKED = [
    (
        "SELECT ward, n, n / SUM(n) OVER () AS s, beds, moved FROM "
        "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS q LEFT JOIN wards USING (ward) ORDER BY ward"
    ),
    "SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
    "SELECT * FROM wards ORDER BY beds",
    "SELECT ward, COUNT(*) AS n FROM visits WHERE ward = (SELECT MAX(ward) FROM wards) GROUP BY ward ORDER BY n DESC",
]
ANSWERED: list[list[dict[str, Any]]] = [
    [
        {"ward": "a", "n": 200, "s": 2 / 3, "beds": 12, "moved": MOMENT},
        {"ward": "b", "n": 100, "s": 1 / 3, "beds": None, "moved": None},
    ],
    [{"n": 100}],
    [dict(zip(PUBLIC, row, strict=True)) for row in list(zip(*PUBLIC.values(), strict=True))[::-1]],
    [{"ward": "b", "n": 100}, {"ward": "a", "n": 0}],
]
ANSWERED[2] = [ANSWERED[2][0], ANSWERED[2][2], ANSWERED[2][1]]


def check(engine: Engine) -> None:
    assert [list(column) for column in engine.public_rows(WARDS)] == list(PUBLIC.values())
    with pytest.raises(ParameterError, match="private"):
        engine.public_rows(VISITS)
    with dp.Database(POLICY, engine) as db:
        for text, expected in zip(ASKED, ANSWERED, strict=True):
            found = db.sql(text).release(epsilon=500).to_dicts()
            assert found == [{name: _near(value) for name, value in row.items()} for row in expected]


def _near(value: object) -> object:
    return pytest.approx(value, abs=0.01) if isinstance(value, float) else value


def test_a_shell_over_duckdb() -> None:
    with DuckDB(POLICY, {"visits": pa.table(PRIVATE), "wards": pa.table(PUBLIC)}) as engine:
        check(engine)


@pytest.mark.engine
def test_a_shell_over_postgres() -> None:
    rows = {
        name: [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
        for name, cells in (("visits", PRIVATE), ("wards", PUBLIC))
    }
    fill_postgres(postgres(), "shells", POLICY, rows)
    with Postgres(POLICY, postgres(), schema="shells") as engine:
        check(engine)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_a_shell_over_spark(tmp_path: Path) -> None:
    for name, cells in (("visits", PRIVATE), ("wards", PUBLIC)):
        rows = zip(*cells.values(), strict=True)
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
        (tmp_path / f"{name}.csv").write_text("\n".join([",".join(cells), *lines]) + "\n")
    with Spark(POLICY, spark_session(), folder=tmp_path) as engine:
        check(engine)


def test_a_public_table_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MOST_PUBLIC_ROWS", 2)
    with dp.Database(POLICY, {"visits": pa.table(PRIVATE), "wards": pa.table(PUBLIC)}) as db:
        with pytest.raises(QueryRefused, match="more than 2 rows"):
            db.sql(ASKED[0]).release(epsilon=1)
        assert db.remaining == Pure(10_000)


CELLS: dict[Kind, list[Any]] = {
    Kind.BOOLEAN: [True, None],
    Kind.INTEGER: [2**63 - 1, None],
    Kind.FLOAT: [0.1, None],
    Kind.TEXT: ["Ä'\"\n\\;--", None],
    Kind.DATE: [dt.date(9999, 12, 31), None],
    Kind.TIMESTAMP: [MOMENT, None],
}


@pytest.mark.parametrize("kind", CELLS)
def test_cells_travel_as_they_are(kind: Kind) -> None:
    cells = CELLS[kind]
    for is_list, column in ((False, cells), (True, [cells, None])):
        table = ShellTable('core "1', {"a b": (kind, is_list)}, {"a b": column})
        result = SEALED.run('SELECT "a b" FROM "core ""1"', [table])
        assert result.kinds == ((kind, is_list),)
        assert [row[0] for row in result.rows] == column


def test_arrays_travel_as_they_are() -> None:
    columns = {"n": np.array([1, 2]), "x": np.ma.masked_invalid(np.array([0.5, np.nan]))}
    table = ShellTable("core1", {"n": (Kind.INTEGER, False), "x": (Kind.FLOAT, False)}, columns)
    assert SEALED.run("SELECT n, x FROM core1", [table]).rows == [(1, 0.5), (2, None)]
    found = SEALED.arrays("SELECT n, x FROM core1", [table])
    assert np.ma.getmaskarray(found["x"]).tolist() == [False, True]


@pytest.mark.parametrize(
    "text, value",
    [
        ("1.25::DECIMAL(9, 2)", 1.25),
        ("1 / 0", None),
        ("0.0 / 0", None),
        ("'inf'::DOUBLE", None),
        ("SUM(9223372036854775807) OVER ()", 2**63 - 1),
        ("NULL", None),
        ("SUM(x) FROM (VALUES (9223372036854775807), (9223372036854775807)) AS t(x)", float(2**64)),
        ("DATE '2024-01-01' + 99999999", None),
        ("LOG10(100)", 2.0),
        ("7 // 2", 3),
        ("7 / 2", 3.5),
    ],
)
def test_numbers_are_plain(text: str, value: object) -> None:
    ((found,),) = SEALED.run(f"SELECT {text}", []).rows
    assert found == value


@pytest.mark.parametrize("text", ["INTERVAL 1 DAY", "{'a': 1}", "TIME '10:00'", "'a'::BLOB", "[[1]]", "now()"])
def test_types_that_cannot_be_shown_are_refused(text: str) -> None:
    with pytest.raises(QueryRefused, match="CAST"):
        SEALED.planned(f"SELECT {text} AS x", [])


def test_a_shell_is_remembered_with_the_columns_that_it_reads() -> None:
    """The same text over other types is another shell."""
    kinds = (Kind.INTEGER, Kind.TEXT, Kind.INTEGER)
    tables = [ShellTable("core1", {"x": (kind, False)}, {"x": []}) for kind in kinds]
    found = [SEALED.planned("SELECT MAX(x) AS most FROM core1", [table]) for table in tables]
    assert [result.kinds[0][0] for result in found] == list(kinds)
    assert found[2] is found[0]
