"""Rows that are gone from the data are gone from every file that an engine wrote: with the version, or when dropped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import ParameterError
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines import Engine

MARK = "erased-7f3a9c"
VISITS = Table("visits", unit="id", rows_per_unit=3, columns=[Column("note", keys=["a", "b"], other="c")])
FIRST, SECOND = (Policy([VISITS], epsilon=1, version=version) for version in "12")
SQL = "SELECT note, COUNT(*) AS n FROM visits GROUP BY note"


def rows(mark: str = MARK, count: int = 3000) -> dict[str, pa.Table]:
    """Give rows of which one in seven names somebody who is erased later; kept rows hold the unit as a text."""
    ids = [f"{mark} {place}" if place % 7 == 0 else f"p{place // 5}" for place in range(count)]
    return {"visits": pa.table({"id": ids, "note": ["a"] * count})}


def ask(engine: Engine, policy: Policy = FIRST) -> int:
    found = engine.prepare(plan_sql(policy, SQL).aggregate).run()
    return int(found.unprotected(0).sum())


def holders(folder: Path, mark: str = MARK) -> list[str]:
    """Name the files below a folder that hold a text anywhere in their bytes."""
    return sorted(each.name for each in folder.rglob("*") if each.is_file() and mark.encode() in each.read_bytes())


@pytest.mark.parametrize("count", [3000, 150_000])
def test_a_new_version_leaves_no_byte_of_the_last_one(tmp_path: Path, count: int) -> None:
    """DuckDB drops a table by forgetting its blocks: the texts of erased people stayed in the file."""
    store = tmp_path / "kept.duckdb"
    with DuckDB(FIRST, rows(count=count), store=store) as engine:
        ask(engine)
        key = engine._kept.key
    assert holders(tmp_path) == ["kept.duckdb"]
    with DuckDB(SECOND, rows("p", count=count), store=store) as engine:
        assert holders(tmp_path) == []
        assert key not in store.read_bytes()
        ask(engine, SECOND)
    assert holders(tmp_path) == []


@pytest.mark.parametrize("stored", [True, False])
def test_dropped_rows_leave_no_byte(tmp_path: Path, stored: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    """Neither in a store nor in the temporary folder, whose rows are in a file here as nothing is spared for them."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("discreet.engines.duckdb.engine._SPARE", 0)
    with DuckDB(FIRST, rows(), store=tmp_path / "kept.duckdb" if stored else None) as engine:
        before = ask(engine)
        engine._connection.execute("CHECKPOINT")
        assert holders(tmp_path)
        engine.drop_ranks()
        assert holders(tmp_path) == []
        assert ask(engine) == before  # the key is the same, so are the rows
        engine._connection.execute("CHECKPOINT")
        assert holders(tmp_path)
    assert bool(holders(tmp_path)) is stored


_KILLED = """
import os, signal, sys
from pathlib import Path
from discreet.engines.duckdb import DuckDB, store
from tests.engines.test_erasure import FIRST, SECOND, ask, rows

path, moment = Path(sys.argv[1]), sys.argv[2]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if moment == "fill":
    class Dying:
        def __init__(self, connection):
            self._connection = connection
        def execute(self, text, *given):
            if text == "COMMIT":
                die()
            return self._connection.execute(text, *given)
    with DuckDB(FIRST, rows(count=150_000), store=path) as engine:
        engine._kept._connection = Dying(engine._connection)
        ask(engine)
with DuckDB(FIRST, rows(count=150_000), store=path) as engine:
    ask(engine)
    if moment == "open":
        die()
unlink = os.unlink
def unlinked(path, *given, **named):
    if moment == "before":
        die()
    unlink(path, *given, **named)
    if moment == "after":
        die()
os.unlink = unlinked
DuckDB(SECOND, rows("p"), store=path)
"""


@pytest.mark.parametrize("moment", ["fill", "open", "before", "after"])
def test_what_a_killed_process_left_goes_with_its_version(tmp_path: Path, moment: str) -> None:
    """In the middle of a fill, with the store open, and in the middle of the change of versions."""
    store = tmp_path / "kept.duckdb"
    run = subprocess.run([sys.executable, "-c", _KILLED, str(store), moment], check=False, env={**os.environ})
    assert run.returncode == -signal.SIGKILL
    with DuckDB(SECOND, rows("p"), store=store) as engine:
        assert holders(tmp_path) == []
        ask(engine, SECOND)
    assert [each.name for each in tmp_path.iterdir()] == ["kept.duckdb"]


def test_a_log_without_its_store_is_swept(tmp_path: Path) -> None:
    (tmp_path / "kept.duckdb.wal").write_text(MARK)
    with DuckDB(FIRST, rows("p"), store=tmp_path / "kept.duckdb") as engine:
        assert holders(tmp_path) == []
        ask(engine)


def test_a_database_of_somebody_else_is_no_store_and_is_not_removed(tmp_path: Path) -> None:
    store = tmp_path / "theirs.duckdb"
    with duckdb.connect(str(store)) as connection:
        connection.execute("CREATE TABLE about (version VARCHAR, rank_key BLOB)")
        connection.execute("CREATE TABLE patients AS SELECT 1 AS id")
    with pytest.raises(ParameterError, match="of this engine's own"):
        DuckDB(FIRST, rows(), store=store)
    with duckdb.connect(str(store)) as connection:
        assert connection.execute("SELECT id FROM patients").fetchall() == [(1,)]
