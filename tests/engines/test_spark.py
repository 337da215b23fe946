"""Spark on a cluster of a master and two workers gives the reference's integers."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from discreet.engines.spark import Spark
from tests.engines.conformance import differences
from tests.engines.databases import KEY, arrow_tables, key_rank, row_rank, text_database, typed_database, write_csv
from tests.engines.servers import spark_session
from tests.plans import interpreter
from tests.plans.hospital import POLICY, database

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]  # pyspark warns of its own doings


@pytest.fixture(autouse=True)
def _same_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "rank", row_rank)
    monkeypatch.setattr(interpreter, "key_rank", key_rank)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_every_source_gives_the_integers_of_the_reference(kind: str, tmp_path: Path) -> None:
    given = database(Random(kind), units=6)
    if kind == "csv":
        texts, read = text_database(POLICY, given)
        write_csv(tmp_path, POLICY, texts)
    else:
        read = typed_database(POLICY, given)
        for name, table in arrow_tables(POLICY, read).items():
            pq.write_table(table, tmp_path / f"{name}.parquet")
    with Spark(POLICY, spark_session(), folder=tmp_path, rank_key=KEY) as engine:
        assert engine.alive()
        count, fixed = (24, None) if kind == "parquet" else (8, 7)  # of files of texts, it is the reading that differs
        assert list(differences(engine, read, count, exact_only=True, fixed=fixed)) == []
