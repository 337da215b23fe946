"""SmartNoise SQL on a pandas frame. It has no medians, quantiles and no keys that are known beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from snsql import Privacy, from_df

from benchmarks.queries_cases import DELTA, EPSILON, Rows, Statistic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.queries_cases import Way

DISTRIBUTIONS = ("smartnoise-sql", "opendp", "pandas")

MEASURES = {
    Statistic.COUNT: "COUNT(*)",
    Statistic.SUM: "SUM(value)",
    Statistic.MEAN: "AVG(value)",
    Statistic.VARIANCE: "VAR(value)",
}
PARTS = {Statistic.COUNT: 1, Statistic.SUM: 1, Statistic.MEAN: 2, Statistic.VARIANCE: 3}
"""A question costs its epsilon so often; `_reader` checks it against what the library says that it costs."""


def _reader(rows: Rows, query: str, parts: int) -> Any:  # noqa: ANN401  the library has no types
    """Open the frame so that the whole question costs EPSILON.

    Groups with few units are not censored: for known keys that is not needed, and the others show all of theirs.
    """
    table: dict[str, Any] = {
        "rows": len(rows.keys),
        "censor_dims": False,
        "key": {"type": "int"},
        "value": {"type": "float", "lower": rows.bounds[0], "upper": rows.bounds[1]},
    }
    if rows.rows_per_unit is None:
        table["row_privacy"] = True
    else:
        table |= {"max_ids": rows.rows_per_unit, "sample_max_ids": True, "unit": {"type": "int", "private_id": True}}
    frame = pd.DataFrame({"key": rows.keys, "value": rows.values, "unit": rows.units})  # noqa: PD011  arrays
    privacy = Privacy(epsilon=EPSILON / parts, delta=DELTA)
    reader = from_df(frame, privacy=privacy, metadata={"": {"s": {"visits": table}}})
    spent = float(reader.get_privacy_cost(query)[0])
    if not 0.99 * EPSILON <= spent <= 1.01 * EPSILON:
        message = f"the question would cost epsilon {spent}, not {EPSILON}"
        raise ValueError(message)
    return reader


def ways(rows: Rows, statistic: Statistic) -> Mapping[str, Way]:
    """Return what the library offers."""
    if statistic not in MEASURES:
        return {}
    query = f"SELECT key, {MEASURES[statistic]} AS v FROM s.visits GROUP BY key"  # noqa: S608  our own names
    reader = _reader(rows, query, PARTS[statistic])

    def answer() -> list[float | None]:
        found = {int(key): value for key, value in reader.execute(query)[1:]}
        return [found.get(key) for key in range(rows.groups)]

    return {MEASURES[statistic]: answer}


def together(rows: Rows) -> Callable[[], object]:
    """Count, sum and mean."""
    query = "SELECT key, COUNT(*) AS n, SUM(value) AS s, AVG(value) AS m FROM s.visits GROUP BY key"
    reader = _reader(rows, query, 3)
    return lambda: reader.execute(query)
