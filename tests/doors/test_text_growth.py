"""No text is longer than its public bound, in any engine, on rows made for it; `make fuzz` asks by the thousands."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from discreet.plans.expressions import Concat, Lower, Substring
from discreet.plans.expressions.text import _TextToText
from tests.doors.growth import BATCH, POLICY, grown, rows, without_attacked, wrong
from tests.engines.databases import KEY, arrow_tables
from tests.engines.servers import fill_postgres, postgres, spark_session

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines.sql.running import SQLEngine
    from tests.plans.interpreter import Database

NEIGHBORS = [rows(), without_attacked(rows())]


def all_wrong(engines: list[SQLEngine], seed: int, count: int) -> list[str]:
    """Ask engines of both neighbors for expressions in batches: all are answered, none is too long."""
    expressions = list(grown(Random(seed), count))
    found: list[str] = []
    for start in range(0, count, BATCH):
        for engine, given in zip(engines, NEIGHBORS, strict=True):
            found += wrong(engine, expressions[start : start + BATCH], given)
    return found


def duckdb(given: Database) -> DuckDB:
    return DuckDB(POLICY, arrow_tables(POLICY, given), rank_key=KEY, threads=1)


def on_postgres(given: Database, place: int) -> Postgres:
    fill_postgres(postgres(), f"growth{place}", POLICY, given)
    return Postgres(POLICY, postgres(), schema=f"growth{place}", rank_key=KEY)


def test_no_text_is_longer_than_its_bound_on_duckdb() -> None:
    with duckdb(NEIGHBORS[0]) as one, duckdb(NEIGHBORS[1]) as two:
        assert all_wrong([one, two], 15, 60) == []


@pytest.mark.parametrize("kind", [Concat, Substring])
def test_the_check_sees_a_length_that_is_derived_too_small(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rule of LOWER, x || y would be as long as x; SUBSTRING would still be right, but say too much."""
    monkeypatch.setattr(kind, "derive", _TextToText.derive)
    with duckdb(NEIGHBORS[0]) as one, duckdb(NEIGHBORS[1]) as two:
        assert bool(all_wrong([one, two], 15, 60)) is (kind is Concat)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(6))
def test_no_text_of_thousands_is_longer_than_its_bound_on_duckdb(seed: int) -> None:
    with duckdb(NEIGHBORS[0]) as one, duckdb(NEIGHBORS[1]) as two:
        assert all_wrong([one, two], 100 + seed, 100) == []


@pytest.mark.fuzz
@pytest.mark.engine
def test_no_text_is_longer_than_its_bound_on_postgres() -> None:
    with on_postgres(NEIGHBORS[0], 0) as one, on_postgres(NEIGHBORS[1], 1) as two:
        assert all_wrong([one, two], 15, 100) == []


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
def test_no_text_is_longer_than_its_bound_on_spark(tmp_path: Path) -> None:
    engines: list[SQLEngine] = []
    for place, given in enumerate(NEIGHBORS):
        folder = tmp_path / str(place)
        folder.mkdir()
        pq.write_table(arrow_tables(POLICY, given)["notes"], folder / "notes.parquet")
        engines.append(Spark(POLICY, spark_session(), folder=folder, rank_key=KEY))
    assert all_wrong(engines, 15, 20) == []


def test_a_rule_for_every_function_of_texts() -> None:
    drawn = {type(part) for each in grown(Random(15), 300) for part in each.walk()}
    assert {Concat, Lower, Substring} <= drawn
