"""Tumult Analytics on a local Spark with two threads."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, AddRowsWithID, KeySet, MaxRowsPerID, PureDPBudget, QueryBuilder, Session

from benchmarks.queries_cases import EPSILON, LEVELS, Rows, Statistic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.queries_cases import Way

DISTRIBUTIONS = ("tmlt.analytics", "tmlt.core", "pyspark")


@cache
def _spark() -> Any:  # noqa: ANN401  the library has no types
    os.environ["PYSPARK_PYTHON"] = sys.executable
    warehouse = tempfile.TemporaryDirectory(prefix="discreet-warehouse-")
    atexit.register(warehouse.cleanup)
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": warehouse.name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _session(rows: Rows) -> Any:  # noqa: ANN401
    frame = pd.DataFrame({"key": rows.keys, "value": rows.values, "unit": rows.units})  # noqa: PD011  arrays
    data = _spark().createDataFrame(frame).cache()
    data.count()
    builder = Session.Builder().with_privacy_budget(PureDPBudget(float("inf")))
    if rows.rows_per_unit is None:
        return builder.with_private_dataframe("visits", data, protected_change=AddOneRow()).build()
    change = AddRowsWithID("unit", "units")
    return builder.with_private_dataframe("visits", data, protected_change=change).with_id_space("units").build()


def _grouped(rows: Rows) -> Any:  # noqa: ANN401
    query = QueryBuilder("visits")
    if rows.rows_per_unit is not None:
        query = query.enforce(MaxRowsPerID(rows.rows_per_unit))
    return query.groupby(KeySet.from_dict({"key": list(range(rows.groups))}))


def _values(session: Any, query: Any, epsilon: float) -> list[float | None]:  # noqa: ANN401
    found = session.evaluate(query, PureDPBudget(epsilon)).toPandas().sort_values("key")
    return list(found[found.columns[-1]])


def ways(rows: Rows, statistic: Statistic) -> Mapping[str, Way]:
    """Return what the library offers; each of several quantiles gets an equal part."""
    session, grouped, (low, high) = _session(rows), _grouped(rows), rows.bounds
    queries: dict[Statistic, list[Any]] = {
        Statistic.COUNT: [grouped.count()],
        Statistic.SUM: [grouped.sum("value", low, high)],
        Statistic.MEAN: [grouped.average("value", low, high)],
        Statistic.VARIANCE: [grouped.variance("value", low, high)],
        Statistic.MEDIAN: [grouped.median("value", low, high)],
        Statistic.QUANTILES: [grouped.quantile("value", level, low, high) for level in LEVELS],
    }
    asked = queries[statistic]

    def answer() -> list[list[float | None]]:
        columns = [_values(session, query, EPSILON / len(asked)) for query in asked]
        return [list(row) for row in zip(*columns, strict=True)]

    return {statistic.value: answer}


def together(rows: Rows) -> Callable[[], object]:
    """Three queries with a third of epsilon each: it answers one measure at a time."""
    session, grouped, (low, high) = _session(rows), _grouped(rows), rows.bounds
    asked = [grouped.count(), grouped.sum("value", low, high), grouped.average("value", low, high)]
    return lambda: [_values(session, query, EPSILON / len(asked)) for query in asked]
