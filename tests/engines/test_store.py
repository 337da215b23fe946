"""Limited rows are stored once for a version of the data, and answers are the same with and without the store."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError, ParameterError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines import Engine

VISITS = Table("visits", unit="id", rows_per_unit=3, columns=[Column("cost", lower=0, upper=10**6)])
POLICY = Policy([VISITS], epsilon=1)
SQL = "SELECT COUNT(*) AS n, SUM(cost) AS total FROM visits"


def data(seed: int, rows: int = 200) -> dict[str, pa.Table]:
    random = Random(seed)
    ids = [f"p{random.randrange(20)}" for _ in range(rows)]
    return {"visits": pa.table({"id": ids, "cost": [random.randrange(10**6) for _ in ids]})}


def answer(engine: Engine, policy: Policy = POLICY) -> list[int]:
    found = engine.prepare(plan_sql(policy, SQL).aggregate).run()
    return [int(found.unprotected(place)[0, 0]) for place in (0, 1)]


def kept(engine: DuckDB) -> set[str]:
    found = engine._connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    return {name for (name,) in found if name.startswith("kept_")}


def test_kept_rows_are_reused_and_dropped(tmp_path: Path) -> None:
    store = tmp_path / "store.duckdb"
    with DuckDB(POLICY, data(1), store=store) as engine:
        first = answer(engine)
        assert kept(engine) == {"kept_0_3"}
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    with DuckDB(POLICY, data(1), store=store) as engine:
        assert kept(engine) == {"kept_0_3"}  # the same version: nothing is computed again
        assert answer(engine) == first
        engine.drop_ranks()
        assert kept(engine) == set()
        assert answer(engine) == first  # the key is the same, so are the rows


def places(engine: DuckDB) -> set[str]:
    """Where kept rows are: in memory, or in the database of the engine's file."""
    query = "SELECT if(temporary, 'memory', 'file') FROM duckdb_tables() WHERE starts_with(table_name, 'kept_')"
    return {place for (place,) in engine._connection.execute(query).fetchall()}


def test_kept_rows_stay_in_memory_while_they_fit_and_no_file_is_wanted(tmp_path: Path) -> None:
    """By the sample of one unit in 64; both places give the same answers, and can be emptied."""
    answers = set()
    many = {"visits": pa.table({"id": [f"p{place % 70_000}" for place in range(280_000)], "cost": range(280_000)})}
    given = [({}, "memory"), ({"store": tmp_path / "store.duckdb"}, "file"), ({"memory": 16, "threads": 1}, "file")]
    for options, place in given:
        with DuckDB(POLICY, many, rank_key=bytes(32), **options) as engine:  # type: ignore[arg-type]
            answers.add(tuple(answer(engine)))
            assert places(engine) == {place}
            engine.drop_ranks()
            assert kept(engine) == set()
            answers.add(tuple(answer(engine)))
            assert places(engine) == {place}
    assert len(answers) == 1
    assert next(iter(answers))[0] == 3 * 70_000


def test_memory_for_kept_rows_is_taken_once() -> None:
    """What one table takes is not there for the next."""
    columns = [Column("cost", lower=0, upper=10**6)]
    tables = [Table(name, unit="id", rows_per_unit=3, columns=columns) for name in ("visits", "stays")]
    policy = Policy(tables, epsilon=1)
    rows = pa.table({"id": range(100_000), "cost": range(100_000)})
    found = []
    with DuckDB(policy, {"visits": rows, "stays": rows}, memory=16, threads=1) as engine:
        for name in ("visits", "stays"):
            engine.prepare(plan_sql(policy, f"SELECT COUNT(*) AS n FROM {name}").aggregate).run()
            found.append(places(engine))
    assert found == [{"memory"}, {"memory", "file"}]


def test_kept_rows_that_do_not_fit_in_memory_wait_in_the_private_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample may guess too little, and later sorts need room: the answers stay the same."""
    columns = [Column("id", type="integer"), Column("cost", lower=0, upper=10**6)]
    policy = Policy([Table("visits", unit="id", rows_per_unit=3, columns=columns)], epsilon=1)
    place = np.arange(3_500_000)
    many = {"visits": pa.table({"id": place % 700_000, "cost": place * 7919 % 10**6})}
    monkeypatch.setattr("discreet.engines.duckdb.engine._SPARE", 1000)
    answers, waiting = [], []
    for memory in (1_000, 28):
        with DuckDB(policy, many, rank_key=bytes(32), memory=memory, threads=1) as engine:
            answers += [answer(engine, policy) for _ in range(2)]
            assert places(engine) == {"memory"}
            waiting += engine._connection.execute("SELECT count(*) > 0 FROM duckdb_temporary_files()").fetchall()
    assert waiting == [(False,), (True,)]
    assert answers == 4 * [answers[0]]
    assert answers[0][0] == 3 * 700_000


def test_a_source_may_have_tables_with_the_names_of_kept_rows(tmp_path: Path) -> None:
    path, rows = tmp_path / "source.duckdb", data(4)["visits"]
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", rows)
        for name in ("visits", "kept_0_3"):
            connection.execute(f"CREATE TABLE {name} AS FROM rows")
    with DuckDB(POLICY, {"visits": rows}, rank_key=bytes(32)) as engine:
        expected = answer(engine)
    with DuckDB(POLICY, path, rank_key=bytes(32)) as engine:
        assert answer(engine) == expected
        engine.drop_ranks()
        assert answer(engine) == expected


def test_nobody_else_may_read_what_is_written_beside_the_store(tmp_path: Path) -> None:
    """DuckDB keeps a log there while the store is open, with copies of rows and the key."""
    usual = os.umask(0o022)
    try:
        with DuckDB(POLICY, data(1), store=tmp_path / "kept.duckdb") as engine:
            answer(engine)
            modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
        assert modes == {"kept.duckdb": 0o600, "kept.duckdb.wal": 0o600}
        assert os.umask(0o022) == 0o022  # it is given back
    finally:
        os.umask(usual)


def test_a_new_version_drops_rows_and_key(tmp_path: Path) -> None:
    store = tmp_path / "store.duckdb"
    with DuckDB(POLICY, data(1), store=store) as engine:
        answer(engine)
        key = engine._kept.key
    later = Policy([VISITS], epsilon=1, version="2")
    with DuckDB(later, data(1), store=store) as engine:
        assert kept(engine) == set()
        assert engine._kept.key != key


def test_a_unit_alone_decides_which_of_its_rows_are_kept() -> None:
    """Removing a unit removes its own kept rows and no others; another key keeps other rows."""
    key, other = bytes(32), bytes([1]) * 32
    whole = data(2)["visits"]
    without = whole.filter(pc.not_equal(whole["id"], "p7"))
    alone = whole.filter(pc.equal(whole["id"], "p7"))
    answers = []
    for table in (whole, without, alone):
        with DuckDB(POLICY, {"visits": table}, rank_key=key) as engine:
            answers.append(answer(engine))
    assert [a - b for a, b in zip(answers[0], answers[1], strict=True)] == answers[2]
    assert answers[2][0] == 3
    with DuckDB(POLICY, {"visits": whole}, rank_key=other) as engine:
        found = answer(engine)
    assert found[0] == answers[0][0]
    assert found[1] != answers[0][1]


def test_the_order_of_rows_does_not_matter() -> None:
    table = data(3)["visits"]
    places = list(range(table.num_rows))
    answers = set()
    for seed in range(3):
        Random(seed).shuffle(places)
        with DuckDB(POLICY, {"visits": table.take(places)}, rank_key=bytes(32), threads=seed + 1) as engine:
            answers.add(tuple(answer(engine)))
    assert len(answers) == 1


@pytest.mark.parametrize("key", [b"short", "x" * 32, 7])
def test_a_wrong_key_is_refused_without_being_shown(key: object) -> None:
    with pytest.raises(ParameterError, match="32 secret bytes") as raised:
        DuckDB(POLICY, data(1), rank_key=key)  # type: ignore[arg-type]
    assert str(key) not in str(raised.value)


def test_a_store_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.duckdb").write_text("not a database" * 1000)
    with pytest.raises(ParameterError, match="store is"):
        DuckDB(POLICY, data(1), store=tmp_path / "store.duckdb")


def test_a_row_that_is_its_own_unit_needs_no_rank() -> None:
    people = Policy([Table("visits", row_is_unit=True, columns=[Column("cost", lower=0, upper=10**6)])], epsilon=1)
    with DuckDB(people, {"visits": data(1)["visits"].select(["cost"])}) as engine:
        assert answer(engine, people)[0] == 200
        assert kept(engine) == set()


class Late:
    """A connection on which an interrupt is told once, after a statement that begins with some words has run."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, words: str) -> None:
        self._connection = connection
        self._words = words

    def execute(self, text: str, *given: object) -> duckdb.DuckDBPyConnection:
        found = self._connection.execute(text, *given)
        if self._words and text.startswith(self._words):
            self._words = ""
            raise duckdb.InterruptException
        return found


@pytest.mark.parametrize("words", ["BEGIN", "CREATE", "INSERT", "DROP TABLE", "COMMIT"])
@pytest.mark.parametrize("within", ["memory", "file"])
def test_an_interrupt_that_comes_late_costs_one_question(words: str, within: str, tmp_path: Path) -> None:
    """Rows that were kept or dropped when it came are known as such afterwards, and no transaction stays open."""
    store = tmp_path / "store.duckdb" if within == "file" else None
    with DuckDB(POLICY, data(1), rank_key=bytes(32), store=store) as engine:
        expected = answer(engine)
        for before, act in ((answer, DuckDB.drop_ranks), (DuckDB.drop_ranks, answer)):
            before(engine)
            engine._kept._connection = Late(engine._connection, words)  # type: ignore[assignment]
            with suppress(EngineError, duckdb.InterruptException):
                act(engine)
            engine._kept._connection = engine._connection
            assert [answer(engine), answer(engine)] == [expected, expected]
    if store is not None:
        with DuckDB(POLICY, data(1), rank_key=bytes(32), store=store) as engine:
            assert answer(engine) == expected


def test_the_source_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "source.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", data(1)["visits"])
        connection.execute("CREATE TABLE visits AS FROM rows")
    path.chmod(0o644)
    with pytest.raises(ParameterError, match=r"store is .* the source"):
        DuckDB(POLICY, path, store=tmp_path / "." / "source.duckdb")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize("name", ["source.duckdb", "visits.parquet"])
def test_a_source_that_is_none_is_refused_in_our_words(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("neither" * 1000)
    with pytest.raises(ParameterError, match=f"{name} cannot be read"):
        DuckDB(POLICY, tmp_path / name)


def test_what_is_wrong_with_folders_and_stores_is_said_in_our_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with DuckDB(POLICY, data(1), store=":memory:") as engine:  # a name of a file like any other
        answer(engine)
    assert (tmp_path / ":memory:").is_file()
    with pytest.raises(EngineError, match="check that the engine is open"):
        engine.drop_ranks()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(EngineError, match="TMPDIR"):
        DuckDB(POLICY, data(1))
