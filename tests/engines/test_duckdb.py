"""DuckDB gives the reference's integers, from every kind of source."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDB
from tests.engines.conformance import differences
from tests.engines.databases import KEY, arrow_tables, key_rank, row_rank, text_database, typed_database, write_csv
from tests.plans import interpreter
from tests.plans.hospital import POLICY, database

if TYPE_CHECKING:
    from pathlib import Path

    from tests.plans.interpreter import Database

QUESTIONS = {"arrow": 120, "csv": 80}


@pytest.fixture(autouse=True)
def _same_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "rank", row_rank)
    monkeypatch.setattr(interpreter, "key_rank", key_rank)


def frames(kind: str, tables: dict[str, pa.Table]) -> dict[str, object]:
    if kind == "pandas":
        import pandas as pd

        kinds = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}  # without them, a NULL makes it an object
        return {name: table.to_pandas(types_mapper=kinds.get) for name, table in tables.items()}
    if kind == "polars":
        import polars as pl

        return {name: pl.from_arrow(table) for name, table in tables.items()}
    return dict(tables)


def stored(kind: str, folder: Path, given: Database) -> tuple[object, Database]:
    """Store a database in one of the ways that DuckDB reads; give the source and what the reference reads."""
    if kind == "csv":
        texts, read = text_database(POLICY, given)
        write_csv(folder, POLICY, texts)
        return folder, read
    read = typed_database(POLICY, given)
    tables = arrow_tables(POLICY, read)
    if kind == "parquet":
        for name, table in tables.items():
            pq.write_table(table, folder / f"{name}.parquet")
        return folder, read
    if kind == "database":
        with duckdb.connect(str(folder / "source.duckdb")) as connection:
            for name, table in tables.items():
                connection.register("given", table)
                connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
        return folder / "source.duckdb", read
    return frames(kind, tables), read


@pytest.mark.parametrize("kind", ["arrow", "csv", "parquet", "database", "polars", "pandas"])
def test_every_source_gives_the_integers_of_the_reference(kind: str, tmp_path: Path) -> None:
    source, read = stored(kind, tmp_path, database(Random(kind), units=6))
    with DuckDB(POLICY, source, rank_key=KEY) as engine:  # type: ignore[arg-type]
        assert list(differences(engine, read, QUESTIONS.get(kind, 30))) == []
