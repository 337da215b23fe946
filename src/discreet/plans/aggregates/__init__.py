"""Column aggregates: what a question asks of each group.

>>> from discreet.plans import aggregates as agg
>>> agg.mean("cost").describe(), agg.count().describe()
('mean(cost)', 'count(*)')
"""

from __future__ import annotations

from discreet.plans.aggregates.measure import (
    Correlation,
    Count,
    CountDistinct,
    Covariance,
    Divisor,
    Mean,
    Measure,
    StdDev,
    Sum,
    Variance,
    corr,
    count,
    count_distinct,
    covar,
    mean,
    std,
    sum,  # noqa: A004 - agg.sum
    var,
)
from discreet.plans.aggregates.order import (
    Extreme,
    Histogram,
    Quantiles,
    histogram,
    max,  # noqa: A004 - agg.max
    median,
    min,  # noqa: A004 - agg.min
    quantile,
)
from discreet.tables.nearest import hint

_SQL = {"avg": "mean", "average": "mean", "stddev": "std", "variance": "var", "quantiles": "quantile"}


def __getattr__(name: str) -> object:
    """Say which aggregate is meant by a name that there is not."""
    words = [word for word in __all__ if word.islower()]
    near = f" Did you mean '{_SQL[name]}'?" if name in _SQL else hint(name, words)
    message = f"there is no aggregate {name}; there are {', '.join(words)}.{near}"
    raise AttributeError(message)


__all__ = [
    "Correlation",
    "Count",
    "CountDistinct",
    "Covariance",
    "Divisor",
    "Extreme",
    "Histogram",
    "Mean",
    "Measure",
    "Quantiles",
    "StdDev",
    "Sum",
    "Variance",
    "corr",
    "count",
    "count_distinct",
    "covar",
    "histogram",
    "max",
    "mean",
    "median",
    "min",
    "quantile",
    "std",
    "sum",
    "var",
]
