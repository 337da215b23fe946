"""The shell of a statement reaches nothing but what was released and what is public, whatever the statement says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.engines.duckdb import shell as sealed_module
from discreet.engines.duckdb.shell import SEALED, ShellTable
from discreet.errors import DiscreetError, EngineError, QueryRefused
from discreet.privacy import Pure
from discreet.tables import Analyst, Column, Policy, Table
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet import Database

COLUMNS = [Column("ward", keys=["a", "b"]), Column("cost", lower=0, upper=500), Column("note", type="text")]
VISITS = Table("visits", unit="patient", rows_per_unit=2, columns=COLUMNS)
BEDS = Table("beds", public=True, columns=[Column("ward", keys=["a", "b"]), Column("n", lower=0, upper=99)])
POLICY = Policy([VISITS, BEDS], epsilon=1000)
DATA = {
    "visits": pa.table({"patient": ["ann", "bob"], "ward": ["a", "b"], "cost": [7, 9], "note": ["SECRET", "SECRET"]}),
    "beds": pa.table({"ward": ["a", "b"], "n": [5, 6], "hidden": ["SECRET", "SECRET"]}),
}


@pytest.fixture(scope="module")
def shared() -> Iterator[Database]:
    """For what is refused, so that nothing is ever spent."""
    with discreet.Database(POLICY, DATA) as opened:
        yield opened


@pytest.fixture
def db() -> Iterator[Database]:
    with discreet.Database(POLICY, DATA) as opened:
        yield opened


CORE = "(SELECT ward, COUNT(*) AS k FROM visits GROUP BY ward) AS q"
PRIVATE = [
    "(SELECT note FROM visits LIMIT 1)",
    "(SELECT patient FROM visits LIMIT 1)",
    "(SELECT MIN(patient) FROM visits)",
    "(SELECT ANY_VALUE(note) FROM visits)",
    "(SELECT LIST(cost) FROM visits)",
    "(SELECT STRING_AGG(note, ',') FROM visits)",
    "(SELECT ARG_MAX(note, cost) FROM visits)",
    "(SELECT v.note FROM visits v WHERE v.ward = q.ward LIMIT 1)",
    "(SELECT cost FROM (SELECT cost FROM visits) AS t ORDER BY cost LIMIT 1)",
    "EXISTS (SELECT 1 FROM visits WHERE note = 'SECRET')",
    "'SECRET' IN (SELECT note FROM visits)",
    "ARRAY(SELECT note FROM visits)",
    "(SELECT hidden FROM beds LIMIT 1)",
    "(SELECT COUNT(*) FROM core1)",
    '(SELECT COUNT(*) FROM "core1 kept")',
    "(SELECT COUNT(*) FROM q_visits)",
]
OUTSIDE = [
    "getenv('HOME')",
    "current_setting('memory_limit')",
    "version()",
    "current_user",
    "current_database()",
    "now()",
    "current_date",
    "current_timestamp",
    "random()",
    "uuid()",
    "gen_random_uuid()",
    "nextval('s')",
    "txid_current()",
    "pg_backend_pid()",
    "read_text('/etc/passwd')",
    "read_blob('/etc/passwd')",
    "getvariable('x')",
    "(SELECT COUNT(*) FROM duckdb_settings())",
    "(SELECT COUNT(*) FROM duckdb_tables())",
    "(SELECT COUNT(*) FROM duckdb_secrets())",
    "(SELECT COUNT(*) FROM information_schema.tables)",
    "(SELECT COUNT(*) FROM pg_catalog.pg_tables)",
    "(SELECT COUNT(*) FROM sqlite_master)",
    "(SELECT COUNT(*) FROM glob('*'))",
    "(SELECT COUNT(*) FROM read_csv('/etc/passwd'))",
    "(SELECT COUNT(*) FROM read_parquet('x.parquet'))",
    "(SELECT COUNT(*) FROM parquet_scan('x.parquet'))",
    "(SELECT COUNT(*) FROM '/etc/passwd')",
    '(SELECT COUNT(*) FROM "/etc/passwd")',
    "(SELECT COUNT(*) FROM query('SELECT 1'))",
    "(SELECT COUNT(*) FROM query_table('visits'))",
    "(SELECT COUNT(*) FROM pragma_table_info('core1'))",
    "(SELECT COUNT(*) FROM system.main.core1)",
    "(SELECT COUNT(*) FROM beds TABLESAMPLE 10 PERCENT)",
    "repeat('x', 2000000000)",
    "lpad('x', 2000000000)",
    "printf('%2000000000d', 1)",
    "LEN(range(1000000000))",
    "(SELECT COUNT(*) FROM UNNEST(range(q.ward)))",
    "(SELECT COUNT(*) FROM postgres_scan('a', 'b', 'c'))",
    "(SELECT COUNT(*) FROM sniff_csv('/etc/passwd'))",
]
STATEMENTS = [
    "COPY (SELECT 1) TO '/tmp/x'",
    "ATTACH '/tmp/x.duckdb'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '1TB'",
    "PRAGMA database_list",
    "CREATE TABLE t AS SELECT 1",
    "DROP TABLE visits",
    "EXPORT DATABASE '/tmp/x'",
    "CALL pragma_version()",
    "DESCRIBE visits",
    "SHOW TABLES",
    "SUMMARIZE visits",
    "SELECT 1; SELECT 2",
]


@pytest.mark.parametrize("part", [*PRIVATE, *OUTSIDE])
@pytest.mark.parametrize(
    "statement", ["SELECT ward, {} AS x FROM " + CORE, "SELECT ward FROM beds AS q WHERE {} = '5'"]
)
def test_a_shell_asks_for_nothing_else(shared: Database, statement: str, part: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        shared.sql(statement.format(part)).release(epsilon=1)
    assert "SECRET" not in str(refused.value).replace("'SECRET'", "").replace("DUCKDB_SECRETS", "")
    assert shared.remaining == Pure(1000)


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_shell_does_nothing_but_select(shared: Database, text: str) -> None:
    with pytest.raises(QueryRefused):
        shared.sql(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM visits",
        "SELECT * FROM visits UNION ALL SELECT ward, k, '', '' FROM " + CORE,
        "SELECT ward, k FROM " + CORE + " UNION SELECT ward, cost FROM visits",
        "WITH v AS (SELECT * FROM visits) SELECT * FROM v",
        "SELECT v.note, q.k FROM visits AS v JOIN " + CORE + " ON v.ward = q.ward",
        "SELECT patient, COUNT(*) AS k, RANK() OVER (ORDER BY COUNT(*)) AS r FROM visits GROUP BY patient",
        "SELECT note, k FROM (SELECT ward, note, COUNT(*) OVER () AS k FROM visits) AS t",
        "SELECT ROW_NUMBER() OVER (ORDER BY cost) AS r, cost FROM visits",
        "SELECT ward, MAX(COUNT(*)) OVER (PARTITION BY note) AS m FROM visits GROUP BY ward",
        "SELECT ward, cost, COUNT(*) OVER () AS m FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*) AS k FROM visits GROUP BY ward ORDER BY RANK() OVER (ORDER BY note)",
    ],
)
def test_rows_of_units_never_get_into_a_shell(shared: Database, text: str) -> None:
    with pytest.raises(QueryRefused):
        shared.sql(text).release(epsilon=1)
    assert shared.remaining == Pure(1000)


def test_a_public_table_shows_its_declared_columns_alone(db: Database) -> None:
    answer = db.sql("SELECT * FROM beds ORDER BY ward").release(epsilon=1)
    assert answer.to_dicts() == [{"ward": "a", "n": 5}, {"ward": "b", "n": 6}]
    assert db.remaining == Pure(1000)
    with pytest.raises(DiscreetError, match="private"):
        db._engine.public_rows(VISITS)


RAW = [
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM '{file}'",
    "COPY (SELECT 1) TO '{file}.out'",
    "ATTACH '{file}.duckdb' AS other",
    "INSTALL httpfs",
    "LOAD httpfs",
    "CREATE TABLE main.kept AS SELECT 1 AS x",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET memory_limit = '64GB'",
    "SET threads = 64",
    "EXPORT DATABASE '{file}.d'",
    "IMPORT DATABASE '{file}.d'",
    "SELECT * FROM read_text('{file}')",
    "CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')",
]


@pytest.mark.parametrize("text", RAW)
def test_the_sealed_database_reaches_nothing_whatever_runs_in_it(tmp_path: Path, text: str) -> None:
    """The list of what is allowed is not all that stands between a shell and a file."""
    file = tmp_path / "secret.csv"
    file.write_text("SECRET\n1\n")
    with pytest.raises(EngineError):
        SEALED.run(text.format(file=file), [])
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_one_statement_does_not_see_the_tables_of_another() -> None:
    table = ShellTable("core1", {"n": (Kind.INTEGER, False)}, {"n": [987654321]})
    with SEALED._connected([table]) as other:
        assert other.execute("SELECT n FROM core1").fetchall() == [(987654321,)]
        with pytest.raises(EngineError):
            SEALED.run("SELECT n FROM core1", [])
        assert SEALED.run("SELECT COUNT(*) AS k FROM duckdb_tables() WHERE estimated_size > 0", []).rows == [(0,)]
    with pytest.raises(EngineError):
        SEALED.run("SELECT n FROM core1", [])


def test_python_objects_are_out_of_reach() -> None:
    """DuckDB finds data frames by the names of local variables, unless it may not."""
    frame = pa.table({"x": [1]})
    assert frame.num_rows == 1
    with pytest.raises(EngineError):
        SEALED.run("SELECT * FROM frame", [])


@pytest.mark.parametrize(
    "text",
    [
        "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT * FROM r, " + CORE,
        "SELECT COUNT(*) FROM generate_series(1, 1000000000) AS g(x), " + CORE,
        "SELECT COUNT(*) FROM generate_series(1, 100000) AS g(x), generate_series(1, 100000) AS h(y), " + CORE,
        "SELECT COUNT(*) FROM " + ", ".join(CORE.replace("AS q", f"AS q{place}") for place in range(30)),
    ],
)
def test_what_would_have_no_end_is_refused_before_it_is_paid(db: Database, text: str) -> None:
    with pytest.raises(QueryRefused):
        db.sql(text).release(epsilon=1)
    assert db.remaining == Pure(1000)


def test_what_has_no_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed_module, "_SECONDS", 0.3)
    many = ShellTable("core1", {"n": (Kind.INTEGER, False)}, {"n": np.arange(100_000)})
    with pytest.raises(EngineError, match="longer than"):
        SEALED.run("SELECT SUM(SQRT(a.n + b.n)) FROM core1 AS a, core1 AS b", [many])
    monkeypatch.setattr(sealed_module, "_SECONDS", 20)
    monkeypatch.setattr(sealed_module, "MOST_ROWS", 1000)
    with pytest.raises(EngineError, match="more than 1,000 rows"):
        SEALED.run("SELECT a.n FROM core1 AS a", [many])
    with pytest.raises(EngineError, match="memory"):
        SEALED.run("SELECT LEN(LIST(a.n)) FROM core1 AS a, core1 AS b", [many])


def test_a_shell_that_fails_loses_nothing(db: Database) -> None:
    """What it fails by was released; the release is kept, and free for the next shell over it."""
    text = "SELECT ward, (SELECT k FROM " + CORE + ") AS one FROM beds"  # two rows where one is meant
    for _ in range(2):
        with pytest.raises(EngineError, match="one row"):
            db.sql(text).release(epsilon=1)
        assert db.remaining == Pure(999)
    answer = db.sql("SELECT SUM(k) AS s FROM " + CORE).release(epsilon=1)
    assert answer.repeated
    assert db.remaining == Pure(999)


def test_the_error_of_a_shell_depends_on_what_was_released_alone() -> None:
    """Other data with the same released values give the same error, to the letter."""
    messages = set()
    for _ in range(2):
        table = ShellTable("core1", {"n": (Kind.INTEGER, False)}, {"n": [5, 6]})
        with pytest.raises(EngineError) as failed:
            SEALED.run("SELECT (SELECT n FROM core1) AS x", [table])
        messages.add(str(failed.value))
    assert len(messages) == 1


def test_nobody_sees_tables_without_the_right_to() -> None:
    policy = Policy([VISITS, BEDS], epsilon=9, analysts=[Analyst("ann", tables=["visits"]), Analyst("bob")])
    with discreet.Database(policy, DATA) as opened:
        assert opened.as_("bob").sql("SELECT ward FROM beds").release(epsilon=1).to_dicts()
        for text in ("SELECT ward FROM beds", "SELECT q.k FROM beds JOIN " + CORE + " ON beds.ward = q.ward"):
            with pytest.raises(DiscreetError, match="beds"):
                opened.as_("ann").sql(text).release(epsilon=1)
