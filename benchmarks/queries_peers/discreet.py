"""Discreet: questions to a database, in SQL and in Python."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.queries_cases import EPSILON, LEVELS, Rows, Statistic
from discreet.database import Database
from discreet.plans import aggregates as agg
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.queries_cases import Way
    from discreet.releases import Question

DISTRIBUTIONS = ("discreet", "duckdb")

MEASURES = {
    Statistic.COUNT: "COUNT(*)",
    Statistic.SUM: "SUM(value)",
    Statistic.MEAN: "AVG(value)",
    Statistic.VARIANCE: "VAR_POP(value)",
    Statistic.MEDIAN: "MEDIAN(value)",
}
_OPENED: dict[tuple[str, int], Database] = {}


def policy(groups: int, bounds: tuple[float, float], rows_per_unit: int | None) -> Policy:
    """State the public facts; the budget is large enough for every repetition."""
    low, high = bounds
    columns = [
        Column("key", keys=range(groups)),
        Column("value", type="float", lower=low, upper=high, nullable=False),
        Column("unit", type="integer"),
    ]
    if rows_per_unit is None:
        table = Table("visits", columns=columns, row_is_unit=True)
    else:
        table = Table("visits", columns=columns, unit="unit", rows_per_unit=rows_per_unit)
    return Policy([table], epsilon=10**9, most_groups=max(groups, 100_000))


def database(rows: Rows) -> Database:
    """Open the rows where they are, once; closed at the end of the process."""
    name = (rows.name, len(rows.keys))
    if name not in _OPENED:
        data = pa.table({"key": rows.keys, "value": rows.values, "unit": rows.units})
        _OPENED[name] = Database(policy(rows.groups, rows.bounds, rows.rows_per_unit), {"visits": data})
        atexit.register(_OPENED[name].close)
    return _OPENED[name]


def ways(rows: Rows, statistic: Statistic) -> Mapping[str, Way]:
    """Ask with the defaults; the number of rows of a group is private throughout."""
    source = database(rows)
    question: Question
    if statistic is Statistic.QUANTILES:
        question = source.table("visits").group_by("key").agg(v=agg.quantile("value", *LEVELS))
        name = "agg.quantile, four levels"
    else:
        name = MEASURES[statistic]
        question = source.sql(f"SELECT key, {name} AS v FROM visits GROUP BY key")  # noqa: S608  our own names

    def answer() -> list[float | None]:
        found: list[float | None] = question.release(epsilon=EPSILON).to_arrow()["v"].to_pylist()
        return found

    return {name: answer}


def together(rows: Rows) -> Callable[[], object]:
    """Count, sum and mean in one question, planned anew each time."""
    source = database(rows)
    text = "SELECT key, COUNT(*) AS n, SUM(value) AS s, AVG(value) AS m FROM visits GROUP BY key"
    return lambda: source.sql(text).release(epsilon=EPSILON).to_arrow()
