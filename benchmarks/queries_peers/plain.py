"""DuckDB alone, without any privacy: the floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.queries_cases import Rows, Statistic, Way

DISTRIBUTIONS = ("duckdb",)


def ways(rows: Rows, statistic: Statistic) -> Mapping[str, Way]:  # noqa: ARG001  it protects nobody
    """Nothing private."""
    return {}


def together(rows: Rows) -> Callable[[], object]:
    """Count, sum and mean."""
    connection = duckdb.connect()
    connection.register("visits", pa.table({"key": rows.keys, "value": rows.values, "unit": rows.units}))
    text = "SELECT key, COUNT(*) AS n, SUM(value) AS s, AVG(value) AS m FROM visits GROUP BY key"
    return lambda: connection.sql(text).to_arrow_table()
