"""Exact answers and engines show nothing of themselves, and errors do not depend on data."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest

import discreet
from discreet.engines import open_engine
from discreet.engines.duckdb import DuckDB, describing
from discreet.engines.duckdb.owned import OwnedTable
from discreet.engines.duckdb.shell import SealedDatabase
from discreet.engines.sql.words import call, select, string, table, try_cast, written
from discreet.errors import EngineError, ParameterError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.engines import Aggregates

SECRET = 987_654_321
VISITS = Table("visits", unit="id", rows_per_unit=2, columns=[Column("cost", lower=0, upper=10**9)])
POLICY = Policy([VISITS], epsilon=1)
DATA = {"visits": pa.table({"id": ["ann"], "cost": [SECRET]})}


@pytest.fixture
def aggregates() -> Aggregates:
    with DuckDB(POLICY, DATA) as engine:
        return engine.prepare(plan_sql(POLICY, "SELECT SUM(cost) FROM visits").aggregate).run()


SHOWN: list[Callable[[Aggregates], object]] = [
    repr,
    str,
    list,
    len,
    bool,
    hash,
    copy.copy,
    copy.deepcopy,
    pickle.dumps,
    "{}".format,
    json.dumps,
    vars,
    sorted,
    dict,
    lambda it: f"{it!r}",
    lambda it: it == it,  # noqa: PLR0124 - that it is asked is the point
    lambda it: it[0],
    lambda it: SECRET in it,
]


@pytest.mark.parametrize("way", SHOWN)
def test_exact_answers_are_not_shown(way: Callable[[Aggregates], object], aggregates: Aggregates) -> None:
    with pytest.raises(TypeError) as raised:
        way(aggregates)
    assert str(SECRET) not in str(raised.value)


def test_the_one_way_out_has_a_name(aggregates: Aggregates) -> None:
    assert aggregates.unprotected(0).tolist() == [[SECRET]]
    assert aggregates.groups == ((),)
    with pytest.raises(ParameterError, match="known"):
        aggregates.unprotected_units()


def test_groups_found_in_the_data_are_not_public() -> None:
    policy = Policy([Table("visits", unit="id", rows_per_unit=2, columns=[Column("kind", type="text")])], epsilon=1)
    with DuckDB(policy, {"visits": pa.table({"id": ["ann", "bob", None], "kind": ["flu", "flu", "x"]})}) as engine:
        found = engine.prepare(plan_sql(policy, "SELECT kind, COUNT(*) FROM visits GROUP BY kind").aggregate).run()
    with pytest.raises(ParameterError, match="found in the data"):
        _ = found.groups
    assert found.unprotected_groups() == [("flu",)]
    assert found.unprotected_units().tolist() == [2]


def test_an_engine_shows_no_key_and_is_not_stored() -> None:
    key = bytes(range(32))
    with DuckDB(POLICY, DATA, rank_key=key) as engine:
        question = engine.prepare(plan_sql(POLICY, "SELECT SUM(cost) FROM visits").aggregate)
        assert key.hex() not in repr(engine) + repr(question)
        for each in (engine, question):
            with pytest.raises(TypeError):
                pickle.dumps(each)


def test_a_failing_engine_says_nothing_about_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever DuckDB says, with the row in its words, neither the error nor its parents nor its trace hold it."""
    with DuckDB(POLICY, DATA) as engine:
        question = engine.prepare(plan_sql(POLICY, "SELECT SUM(cost) FROM visits").aggregate)
        bad = ("SELECT CAST('x' || max(cost) AS INTEGER) FROM temp.\"frame visits\"",)
        with pytest.raises(duckdb.ConversionException, match=str(SECRET)):
            engine._connection.execute(bad[0]).fetchall()
        monkeypatch.setattr(engine, "_results", lambda _: DuckDB._results(engine, bad))
        with pytest.raises(EngineError) as raised:
            question.run()
        error = raised.value
        assert error.__cause__ is None
        assert error.__context__ is None
        assert str(SECRET) not in "".join(traceback.format_exception(error))
        gc.collect()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY (SELECT 1) TO '/tmp/discreet-leak.csv'",
        "ATTACH '/tmp/discreet-leak.duckdb' AS other",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "SELECT * FROM read_csv('https://example.org/a.csv')",
    ],
)
def test_the_connection_reaches_no_files_and_no_settings(text: str) -> None:
    with DuckDB(POLICY, DATA) as engine, pytest.raises(duckdb.Error):
        engine._connection.execute(text).fetchall()


def test_a_question_does_not_run_forever() -> None:
    with DuckDB(POLICY, DATA, seconds=1) as engine:
        assert (
            engine._results(["SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5"])
            is None
        )
        assert engine.alive()


def test_the_source_is_read_only(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "source.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 'ann' AS id, 7 AS cost")
    before = (tmp_path / "source.duckdb").read_bytes()
    with DuckDB(POLICY, tmp_path / "source.duckdb") as engine:
        engine.prepare(plan_sql(POLICY, "SELECT SUM(cost) FROM visits").aggregate).run()
        with pytest.raises(duckdb.Error, match="read-only"):
            engine._connection.execute("DELETE FROM source.visits")
    assert (tmp_path / "source.duckdb").read_bytes() == before


def test_statements_pass_a_gate() -> None:
    with pytest.raises(ValueError, match="read_text"):
        written(select([call("read_text", string("/etc/passwd"))], table("t")), "duckdb", {"sum"})
    with pytest.raises(ValueError, match="TRY_CAST"):
        written(select([try_cast(string("x"), "BIGINT")], table("t")), "spark", set())
    from sqlglot import parse_one

    with pytest.raises(ValueError, match="the argument limit of Select"):
        written(parse_one("SELECT 1 FROM t LIMIT 1"), "duckdb", set())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "source, word",
    [
        ({}, "no table 'visits'"),
        ({"visits": 3}, "data frame"),
        ({"visits": pa.table({"id": ["ann"], "price": [1]})}, "no column 'cost'"),
        ({"visits": pa.table({"id": ["ann"], "cost": [[1]]})}, "cannot be read"),
        ("nowhere", "no file or folder"),
        ("mysql://host", "postgresql://"),
        (None, "missing"),
        (3, "a int"),
    ],
)
def test_a_wrong_source_is_named(source: object, word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        open_engine(POLICY, source)


def test_a_public_table_that_repeats_is_refused() -> None:
    wards = Table("wards", public=True, unique=["ward"], columns=[Column("ward", type="text")])
    policy = Policy([wards], epsilon=1)
    DuckDB(policy, {"wards": pa.table({"ward": ["a", "b", None, None]})}).close()
    with pytest.raises(ParameterError, match="more than once"):
        DuckDB(policy, {"wards": pa.table({"ward": ["a", "b", "a"]})})


def test_no_connection_draws_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Percent and time of a private question would reach the screen of who asked; every connection is made quiet."""
    made = []
    real = duckdb.connect

    def connect(*given: object, **named: object) -> object:
        found = real(*given, **named)  # type: ignore[arg-type]
        for setting in SILENT:
            found.execute(f"SET {setting} = true")  # as in a notebook
        made.append(found)
        return found

    monkeypatch.setattr(duckdb, "connect", connect)
    with DuckDB(POLICY, DATA), describing._connected(), OwnedTable(DATA["visits"]):
        assert SealedDatabase().run("SELECT 1 AS one", []).rows == [(1,)]
        assert len(made) == 4
        for connection in made:
            settings = ", ".join(f"current_setting('{setting}')" for setting in SILENT)
            assert connection.execute(f"SELECT {settings}").fetchone() == (False, False)


SILENT = ("enable_progress_bar", "enable_progress_bar_print")


def test_all_connections_to_duckdb_are_in_four_places() -> None:
    folder = Path(discreet.__file__).parent
    made = [file.name for file in folder.rglob("*.py") if "duckdb.connect(" in _without_examples(file)]
    assert sorted(made) == ["describing.py", "engine.py", "owned.py", "shell.py"]


def _without_examples(file: Path) -> str:
    return "\n".join(line for line in file.read_text().splitlines() if not line.lstrip().startswith(">>>"))
