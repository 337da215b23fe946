"""Arrow files and single files are sources like folders of CSV files; the owner's check tells what is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from discreet.engines import open_engine
from discreet.engines.duckdb import DuckDB
from discreet.engines.spark.engine import _viewed
from discreet.engines.sql.checks import Declared
from discreet.errors import EngineError, ParameterError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = [Column("ward", keys=["a", "b"]), Column("cost", lower=0, upper=9)]
VISITS = Table("visits", unit="id", rows_per_unit=2, columns=COLUMNS)
POLICY = Policy([VISITS], epsilon=1)
DATA = pa.table({"id": ["x", "x", "y", None], "ward": ["a", "b", "a", "a"], "cost": [1, 99, 3, 4]})
QUESTION = plan_sql(POLICY, "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward")


def write(path: Path) -> None:
    if path.suffix == ".csv":
        path.write_text("id,ward,cost\nx,a,1\nx,b,99\ny,a,3\n,a,4\n")
    elif path.suffix == ".parquet":
        pq.write_table(DATA, path)
    else:
        feather.write_feather(DATA, path, compression="lz4" if path.suffix == ".feather" else "uncompressed")


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "feather"])
def test_a_file_is_read_in_its_folder_and_by_itself(tmp_path: Path, ending: str) -> None:
    write(tmp_path / f"visits.{ending}")
    for source in (tmp_path, tmp_path / f"visits.{ending}"):
        with open_engine(POLICY, source) as engine:
            found = engine.prepare(QUESTION.aggregate).run()
            sums = {found.unprotected(place).ravel().tolist()[0] for place in range(len(QUESTION.statistics))}
            assert found.groups == (("a",), ("b",))
            assert sums == {2, 4}  # of ward a: two rows with a unit, and their costs together


def test_a_file_alone_is_one_table(tmp_path: Path) -> None:
    write(tmp_path / "visits.csv")
    write(tmp_path / "others.csv")
    both = Policy([VISITS, Table("others", unit="id", rows_per_unit=1)], epsilon=1)
    with open_engine(both, tmp_path):
        pass
    with pytest.raises(ParameterError, match="no table 'others'; it has visits"):
        open_engine(both, tmp_path / "visits.csv")


def test_a_file_that_is_no_arrow_file_is_refused_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "visits.arrow").write_text("SECRET" * 100)
    with pytest.raises(ParameterError, match=r"visits\.arrow is no Arrow file") as raised:
        open_engine(POLICY, tmp_path)
    assert "SECRET" not in str(raised.value)
    assert raised.value.__context__ is None


@pytest.mark.parametrize("name", ["a[b]", "st*r", "wh?"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_path_that_means_other_files_is_refused_before_a_question_is_paid(
    tmp_path: Path, name: str, ending: str
) -> None:
    folder = tmp_path / name
    for each in (folder, tmp_path / "ab"):
        each.mkdir()
        write(each / f"visits.{ending}")
    with pytest.raises(ParameterError, match=r"holds one of"):
        open_engine(POLICY, folder)
    with open_engine(POLICY, tmp_path / "ab"):
        pass
    with pytest.raises(ParameterError, match=r"holds one of"):
        _viewed(None, VISITS, folder, "view")  # before the session is asked for anything


@pytest.mark.parametrize(
    "ids, rows, unique",
    [
        (["x", "y", "z"], True, True),
        (["x", "x", "z"], True, False),
        (["x", "x", "x"], False, False),
        ([None, None, None], True, True),
    ],
)
def test_declared_facts_are_verified_in_all_rows(ids: list[str | None], *, rows: bool, unique: bool) -> None:
    data = {"visits": pa.table({"id": pa.array(ids, pa.string()), "ward": ["a"] * 3, "cost": [1] * 3})}
    with open_engine(POLICY, data) as engine:
        assert dict(engine.verify(POLICY)) == {Declared("visits", ("id",), 2): rows}
    alone = Policy([Table("visits", unit="id", unique=["id", ["ward", "cost"]], columns=COLUMNS)], epsilon=1)
    with open_engine(alone, data) as engine:
        assert dict(engine.verify(alone)) == {
            Declared("visits", ("id",), 1): unique,
            Declared("visits", ("ward", "cost"), 1): not any(ids),  # rows without a unit are no rows
        }


@pytest.mark.engine
def test_a_server_verifies_declared_facts_too() -> None:
    """The first column is a truth value, of which PostgreSQL has no MAX; counts of it have one."""
    from discreet.engines.postgres import Postgres
    from tests.engines.servers import fill_postgres, postgres

    columns = [Column("sick", keys=[False, True]), Column("day", type="date")]
    policy = Policy([Table("t", unit="id", rows_per_unit=2, unique=[["sick", "day"]], columns=columns)], epsilon=1)
    rows = [{"id": "x", "sick": True, "day": None}, {"id": "x", "sick": True, "day": None}]
    fill_postgres(postgres(), "declared", policy, {"t": rows})
    with Postgres(policy, postgres(), schema="declared") as engine:
        assert list(engine.verify(policy).values()) == [True, True]
    public = Policy([Table("t", public=True, unique=[["sick", "day"]], columns=columns)], epsilon=1)
    with Postgres(public, postgres(), schema="declared") as engine:
        assert list(engine.verify(public).values()) == [True]


@pytest.mark.parametrize("view", ["SELECT * FROM '{}'", "SELECT * FROM gone"])
def test_a_view_that_cannot_be_read_is_refused_before_a_question_is_paid(view: str, tmp_path: Path) -> None:
    """The engine reads the file of the database and no other, so each question would fail."""
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "other.parquet")
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE gone (id VARCHAR)")
        connection.execute("CREATE VIEW t AS " + view.format(tmp_path / "other.parquet"))
        connection.execute("DROP TABLE gone")
    with pytest.raises(ParameterError, match=r"'t' (is a view that reads files|cannot be read)"):
        DuckDB(Policy([Table("t", unit="id", rows_per_unit=1)], epsilon=1), tmp_path / "a.duckdb")


def test_a_view_of_tables_is_read_like_a_table(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE there AS SELECT 'a' AS id")
        connection.execute("CREATE VIEW t AS SELECT id FROM there")
    policy = Policy([Table("t", unit="id", rows_per_unit=1)], epsilon=1)
    with DuckDB(policy, tmp_path / "a.duckdb") as engine:
        found = engine.prepare(plan_sql(policy, "SELECT COUNT(*) FROM t").aggregate).run()
        assert found.unprotected(0).tolist() == [[1]]


def test_a_broken_public_file_is_said_to_be_broken_in_our_words(tmp_path: Path) -> None:
    path = tmp_path / "wards.parquet"
    pq.write_table(pa.table({"ward": [f"w{place}" for place in range(5000)]}), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[40:400] = bytes(each ^ 90 for each in content[40:400])
    path.write_bytes(content)
    with pytest.raises(EngineError, match="could not read a public table"):
        DuckDB(Policy([Table("wards", public=True, unique=["ward"])], epsilon=1), path)
