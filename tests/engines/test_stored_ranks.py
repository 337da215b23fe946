"""PostgreSQL and Spark store limited rows once for a version, where the owner says, and answer the same with them."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Barrier

import psycopg
import pyarrow.parquet as pq
import pytest

from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.engines.spark.store import SparkStore
from discreet.engines.sql.relations import kept_mark, kept_name
from discreet.errors import EngineError
from discreet.files import PrivateFolder
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table
from tests.engines.conformance import differences
from tests.engines.databases import KEY, arrow_tables, key_rank, row_rank, typed_database
from tests.engines.servers import fill_postgres, postgres, spark_session
from tests.plans import interpreter
from tests.plans.hospital import POLICY, TOML, database

LATER = Policy.from_toml('dataset = { version = "2" }\n' + TOML)
QUESTION = plan_sql(POLICY, "SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward").aggregate
KEPT = kept_name(POLICY, "visits", 3)
ROWS = typed_database(POLICY, database(Random("stored"), units=8))


@pytest.fixture(autouse=True)
def _same_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "rank", row_rank)
    monkeypatch.setattr(interpreter, "key_rank", key_rank)


@pytest.fixture
def reader() -> str:
    """Fill a schema, and give the address of a role that may read it and nothing else."""
    fill_postgres(postgres(), "ranked", POLICY, ROWS)
    with psycopg.connect(postgres()) as connection:
        connection.execute("DROP SCHEMA IF EXISTS discreet CASCADE")
        for role in ("reading", "curious"):
            connection.execute(f"DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN END $$")
        connection.execute("GRANT USAGE ON SCHEMA ranked TO reading, curious")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA ranked TO reading, curious")
    return as_role("reading")


def as_role(role: str) -> str:
    return psycopg.conninfo.make_conninfo(postgres(), user=role)


def stored() -> set[str]:
    with psycopg.connect(postgres()) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'discreet'").fetchall()
    return {str(name) for (name,) in found}


@pytest.mark.engine
def test_postgres_answers_the_same_from_its_store(reader: str) -> None:
    with Postgres(POLICY, reader, schema="ranked", rank_key=KEY, store=postgres()) as engine:
        assert list(differences(engine, ROWS, 10, exact_only=True)) == []
        assert any(name.startswith(f"{KEPT}_") for name in stored())
        engine.drop_ranks()
        assert stored() == {"about"}
    with pytest.raises(EngineError, match="check that the engine is open"):
        engine.drop_ranks()


@pytest.mark.engine
def test_postgres_keeps_rows_and_key_for_a_version(reader: str) -> None:
    with Postgres(POLICY, reader, schema="ranked", store=postgres()) as engine:
        engine.prepare(QUESTION).run()
        key = engine._kept.key  # type: ignore[union-attr]
    name = f"{KEPT}_{kept_mark(POLICY, key, 'ranked')}"
    with Postgres(POLICY, reader, schema="ranked", store=postgres()) as engine:
        assert stored() == {"about", name}
        assert engine._kept.key == key  # type: ignore[union-attr]
    with psycopg.connect(as_role("curious")) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT * FROM discreet.{name}")
    with psycopg.connect(reader) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT rank_key FROM discreet.about")
    with Postgres(LATER, reader, schema="ranked", store=postgres()) as engine:
        assert stored() == {"about"}
        assert engine._kept.key != key  # type: ignore[union-attr]


TURNED = Table("t", unit="id", rows_per_unit=2, columns=[Column("ward", type="integer"), Column("id", type="integer")])
STRAIGHT = Table(
    "t", unit="id", rows_per_unit=2, columns=[Column("id", type="integer"), Column("ward", type="integer")]
)


@pytest.mark.engine
def test_an_engine_of_an_earlier_policy_does_not_read_the_rows_of_a_later_one(reader: str) -> None:
    """Their columns stand elsewhere: ten rows of a unit would be kept where there may be two."""
    with psycopg.connect(postgres()) as connection:
        connection.execute(
            "CREATE TABLE ranked.t AS SELECT i AS id, 7 AS ward FROM generate_series(1, 5) i, (SELECT 1) a"
        )
        connection.execute("INSERT INTO ranked.t SELECT 6, 7 FROM generate_series(1, 10)")
        connection.execute("GRANT SELECT ON ranked.t TO reading")
    policies = [Policy([STRAIGHT], epsilon=1), Policy([TURNED], epsilon=1, version="2")]
    wanted = plan_sql(policies[0], "SELECT COUNT(*), COUNT(DISTINCT id) FROM t").aggregate
    with Postgres(policies[0], reader, schema="ranked", store=postgres()) as earlier:
        question = earlier.prepare(wanted)
        question.run()
        with Postgres(policies[1], reader, schema="ranked", store=postgres()) as later:
            later.prepare(plan_sql(policies[1], "SELECT COUNT(*) FROM t").aggregate).run()
            found = question.run()
        assert [found.unprotected(place).item() for place in (0, 1)] == [7, 6]
        assert len(stored()) == 3
    with Postgres(policies[1], reader, schema="ranked", store=postgres()) as later:
        assert stored() == {"about", f"kept_0_2_{kept_mark(policies[1], later._kept.key, 'ranked')}"}  # type: ignore[union-attr]


@pytest.mark.engine
def test_rows_that_one_role_had_stored_are_read_by_another(reader: str) -> None:
    for role in (reader, as_role("curious")):
        with Postgres(POLICY, role, schema="ranked", store=postgres(), store_schema="100 %s") as engine:
            engine.prepare(QUESTION).run()


@pytest.mark.engine
def test_several_engines_open_a_new_store_at_once(reader: str) -> None:
    def key(_: int) -> bytes:
        with Postgres(POLICY, reader, schema="ranked", store=postgres()) as engine:
            engine.prepare(QUESTION).run()
            return engine._kept.key  # type: ignore[union-attr]

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(key, range(6)))) == 1


@pytest.mark.engine
def test_nobody_else_reads_a_store_whatever_is_granted_by_default(reader: str) -> None:
    """Roles that let others read all tables that they will ever make granted copies of private rows, and the key."""
    with psycopg.connect(postgres(), autocommit=True) as connection:
        connection.execute("CREATE SCHEMA discreet")
        connection.execute("GRANT ALL ON SCHEMA discreet TO PUBLIC")
        connection.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO curious, PUBLIC")
    try:
        with Postgres(POLICY, reader, schema="ranked", store=postgres()) as engine:
            engine.prepare(QUESTION).run()
            name = next(each for each in stored() if each.startswith("kept_"))
    finally:
        with psycopg.connect(postgres(), autocommit=True) as connection:
            connection.execute("ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM curious, PUBLIC")
            connection.execute("GRANT USAGE ON SCHEMA discreet TO curious")
    for query in (f"SELECT * FROM discreet.{name}", "SELECT rank_key FROM discreet.about"):
        with psycopg.connect(as_role("curious")) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(query.encode())
    with psycopg.connect(postgres()) as connection:
        query = "SELECT has_schema_privilege('public', 'discreet', 'USAGE')"
        assert connection.execute(query).fetchone() == (False,)


@pytest.mark.engine
def test_rows_of_an_earlier_version_are_in_no_file_of_the_server(reader: str) -> None:
    """Nor is the key of their ranks. The server's log of changes and its backups are its keeper's."""
    mark = "erased-7f3a9c"
    table = Table("t", unit="id", rows_per_unit=2, columns=[Column("id", type="text")])
    first, second = (Policy([table], epsilon=1, version=version) for version in "12")
    with psycopg.connect(postgres(), autocommit=True) as connection:
        connection.execute("CREATE TABLE ranked.t AS SELECT 'p' || i AS id FROM generate_series(1, 5) i")
        connection.execute(f"INSERT INTO ranked.t SELECT '{mark}' FROM generate_series(1, 5)")
        connection.execute("GRANT SELECT ON ranked.t TO reading")
        ((where,),) = connection.execute("SHOW data_directory").fetchall()
    base = Path(str(where)) / "base"

    def holders(text: bytes) -> int:
        with psycopg.connect(postgres(), autocommit=True) as connection:
            connection.execute("CHECKPOINT")
        return sum(text in each.read_bytes() for each in base.rglob("*") if each.is_file())

    with Postgres(first, reader, schema="ranked", store=postgres()) as engine:
        engine.prepare(plan_sql(first, "SELECT COUNT(*) FROM t").aggregate).run()
        key = engine._kept.key  # type: ignore[union-attr]
    assert (holders(mark.encode()), holders(key)) == (2, 1)  # the source, and the store
    with Postgres(second, reader, schema="ranked", store=postgres()):
        assert (holders(mark.encode()), holders(key)) == (1, 0)


@pytest.mark.engine
def test_who_owns_the_schema_of_a_store_need_not_be_able_to_create_one(reader: str) -> None:
    with psycopg.connect(postgres()) as connection:
        connection.execute("CREATE SCHEMA discreet AUTHORIZATION curious")
    with Postgres(POLICY, reader, schema="ranked", store=as_role("curious")) as engine:
        engine.prepare(QUESTION).run()


@pytest.mark.engine
def test_a_role_that_may_not_write_is_no_store(reader: str) -> None:
    with pytest.raises(EngineError, match="store_schema"):
        Postgres(POLICY, reader, schema="ranked", store=reader)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_answers_the_same_from_its_store(tmp_path: Path) -> None:
    for name, table in arrow_tables(POLICY, ROWS).items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    store = tmp_path / "store"
    with Spark(POLICY, spark_session(), folder=tmp_path, rank_key=KEY, store=store) as engine:
        assert list(differences(engine, ROWS, 2, exact_only=True)) == []
        written = {path.name: path.stat().st_mtime_ns for path in store.glob("kept_*")}
        assert f"{KEPT}_{kept_mark(POLICY, KEY)}" in written
        engine.prepare(QUESTION).run()
        assert {path.name: path.stat().st_mtime_ns for path in store.glob("kept_*")} == written
    assert stat.S_IMODE((store / "about.json").stat().st_mode) == 0o600
    with Spark(LATER, spark_session(), folder=tmp_path, store=store) as engine:
        assert list(store.glob("kept_*")) == []
        assert engine._kept.key != KEY  # type: ignore[union-attr]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_spark_engines_fill_one_store_at_once(tmp_path: Path) -> None:
    """Both wrote into one folder: one of them failed a question that was paid, and rows could have been kept twice."""
    for name, table in arrow_tables(POLICY, ROWS).items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    store, gate = tmp_path / "store", Barrier(2)

    def asked(engine: Spark) -> list[list[int]]:
        question = engine.prepare(QUESTION)
        gate.wait()
        found = question.run()
        return [found.unprotected(place)[:, 0].tolist() for place in range(2)]

    sessions = [spark_session(), spark_session().newSession()]
    engines = [Spark(POLICY, each, folder=tmp_path, rank_key=KEY, store=store) for each in sessions]
    with engines[0], engines[1], ThreadPoolExecutor(2) as pool:
        first, second = pool.map(asked, engines)
    with Spark(POLICY, sessions[0], folder=tmp_path, rank_key=KEY) as engine, ThreadPoolExecutor(1) as pool:
        gate = Barrier(1)
        assert [first, second] == [*pool.map(asked, [engine])] * 2
    assert list(store.glob("discreet-private-*")) == []


@pytest.mark.parametrize("left", ["", "{", "[]", "{}", '{"version": "1", "rank_key": "no"}'])
def test_a_store_whose_description_is_broken_is_begun_anew(left: str, tmp_path: Path) -> None:
    """A crash or another engine at the wrong moment left an empty file, and a raw error at every opening."""
    (tmp_path / "about.json").write_text(left)
    (tmp_path / "kept_0_1_old").mkdir()
    begun = SparkStore(tmp_path, POLICY, None, "first")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["about.json"]
    assert SparkStore(tmp_path, POLICY, None, "second").key == begun.key
    assert stat.S_IMODE((tmp_path / "about.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode, private", [(0o755, 0o700), (0o777, 0o770), (0o2770, 0o2770)])
def test_nobody_but_its_group_may_read_a_folder_that_was_there(tmp_path: Path, mode: int, private: int) -> None:
    """Workers of a cluster may be other users; Spark's files have the mask of whoever writes them."""
    tmp_path.chmod(mode)
    SparkStore(tmp_path, POLICY, None, "first")
    assert stat.S_IMODE(tmp_path.stat().st_mode) == private


def test_what_killed_processes_left_in_a_store_is_swept(tmp_path: Path) -> None:
    """Also within a version: rows that nobody reads would stay as long as it does."""
    begun = SparkStore(tmp_path, POLICY, None, "first")
    kept = f"kept_0_1_{kept_mark(POLICY, begun.key)}"
    for name in (kept, "kept_0_1_0123456789abcdef", "unfinished_kept_0_1_x", "discreet-private-1-abcdefgh"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows").write_text("erased")
    (tmp_path / "about_0123.json").write_text("{}")
    with PrivateFolder(tmp_path) as living:
        SparkStore(tmp_path, POLICY, None, "second")
        assert {each.name for each in tmp_path.iterdir()} == {"about.json", kept, living.name}
    begun.drop()
    assert [each.name for each in tmp_path.iterdir()] == ["about.json"]
