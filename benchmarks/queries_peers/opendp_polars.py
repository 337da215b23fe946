"""OpenDP: queries to a polars frame. It has no variance of groups whose sizes are private."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import opendp.prelude as dp
import polars as pl

from benchmarks.queries_cases import EPSILON, LEVELS, Rows, Statistic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.queries_cases import Way

DISTRIBUTIONS = ("opendp", "polars")

dp.enable_features("contrib", "honest-but-curious")


def _release(rows: Rows, frame: Any, expressions: list[Any]) -> Any:  # noqa: ANN401  the library has no types
    """Ask once; a query spends its context, so each has its own."""
    limit = rows.rows_per_unit
    identifier = {} if limit is None else {"identifier": "unit"}
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1, **identifier),
        privacy_loss=dp.loss_of(epsilon=EPSILON),
        split_evenly_over=1,
        margins=[
            dp.polars.Margin(by=["key"], max_length=len(rows.keys), max_groups=rows.groups),
            dp.polars.Margin(max_length=len(rows.keys)),
        ],
    )
    query = context.query() if limit is None else context.query().truncate_per_group(limit)
    keys = pl.LazyFrame({"key": list(range(rows.groups))})
    return query.group_by("key").agg(*expressions).with_keys(keys).release().collect().sort("key")


def _frame(rows: Rows) -> Any:  # noqa: ANN401
    return pl.LazyFrame({"key": rows.keys, "value": rows.values, "unit": rows.units})


def _number() -> Any:  # noqa: ANN401
    """A column that is known to hold neither NULL nor NaN."""
    return pl.col("value").fill_nan(0.0).fill_null(0.0)


def ways(rows: Rows, statistic: Statistic) -> Mapping[str, Way]:
    """Return what the library offers."""
    frame, bounds, grid = _frame(rows), rows.bounds, rows.grid
    quantiles = [_number().dp.quantile(level, grid).alias(str(level)) for level in LEVELS]
    found: dict[Statistic, tuple[str, list[Any]]] = {
        Statistic.COUNT: ("len", [dp.len()]),
        Statistic.SUM: ("sum", [_number().dp.sum(bounds)]),
        Statistic.MEAN: ("mean", [_number().dp.mean(bounds)]),
        Statistic.MEDIAN: ("median", [_number().dp.median(grid)]),
        Statistic.QUANTILES: ("quantile, four times", quantiles),
    }
    if statistic not in found:
        return {}
    name, expressions = found[statistic]
    return {name: lambda: _release(rows, frame, expressions).drop("key").to_numpy()}


def together(rows: Rows) -> Callable[[], object]:
    """Count and sum; the mean follows from them."""
    frame = _frame(rows)
    return lambda: _release(rows, frame, [dp.len(), _number().dp.sum(rows.bounds)])
