"""The shop in each of the three engines."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import discreet as dp
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark
from tests.corpus.reading import POLICY
from tests.corpus.shop import tables
from tests.engines.servers import fill_postgres, postgres, spark_session

if TYPE_CHECKING:
    from discreet import Database

__all__ = ["ENGINES", "opened"]

ENGINES = ("duckdb", "postgres", "spark")


def opened(engine: str) -> Database:
    """Open the shop where the engine keeps it."""
    rows = {name: table.to_pylist() for name, table in tables().items()}
    if engine == "duckdb":
        return dp.Database(POLICY, tables())
    if engine == "postgres":
        fill_postgres(postgres(), "shop", POLICY, rows)
        return dp.Database(POLICY, Postgres(POLICY, postgres(), schema="shop"))
    folder = Path(tempfile.mkdtemp(prefix="discreet-shop-"))
    for name, cells in rows.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, cells[0])
            writer.writeheader()
            writer.writerows(cells)
    return dp.Database(POLICY, Spark(POLICY, spark_session(), folder=folder))
