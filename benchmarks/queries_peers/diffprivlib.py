"""diffprivlib: functions on arrays, called group by group; units with several rows are beyond it.

Its mean, variance and quantiles take a group's number of rows as public, which ours keeps private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from diffprivlib import tools

from benchmarks.queries_cases import EPSILON, LEVELS, Rows, Statistic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from benchmarks.queries_cases import Way

DISTRIBUTIONS = ("diffprivlib", "numpy")


def ways(rows: Rows, statistic: Statistic) -> Mapping[str, Way]:
    """Return what the library offers."""
    if rows.rows_per_unit is not None:
        return {}
    groups, bounds, epsilon = list(rows.by_group()), rows.bounds, EPSILON
    if statistic is Statistic.COUNT:
        # Over all rows: its noise is cut off at the length of the array, which would be the truth for a group alone.
        members = [rows.keys == key for key in range(rows.groups)]
        return {"count_nonzero": lambda: [float(tools.count_nonzero(each, epsilon=epsilon)) for each in members]}
    found: dict[Statistic, tuple[str, Callable[[NDArray[np.float64]], Any]]] = {
        Statistic.SUM: ("sum", lambda values: tools.sum(values, epsilon=epsilon, bounds=bounds)),
        Statistic.MEAN: ("mean, n public", lambda values: tools.mean(values, epsilon=epsilon, bounds=bounds)),
        Statistic.VARIANCE: ("var, n public", lambda values: tools.var(values, epsilon=epsilon, bounds=bounds)),
        Statistic.MEDIAN: ("median, n public", lambda values: tools.median(values, epsilon=epsilon, bounds=bounds)),
        Statistic.QUANTILES: (
            "quantile, four times, n public",
            lambda values: tools.quantile(values, LEVELS, epsilon=epsilon, bounds=bounds),
        ),
    }
    name, compute = found[statistic]
    return {name: lambda: np.array([np.atleast_1d(compute(values)) for values in groups], dtype=np.float64)}


def together(rows: Rows) -> None:
    """It knows no tables."""
