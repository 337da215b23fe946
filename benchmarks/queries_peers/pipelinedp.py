"""PipelineDP on its local backend: Google's building blocks over Python iterables."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pipeline_dp as pdp

from benchmarks.queries_cases import DELTA, EPSILON, LEVELS, Rows, Statistic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.queries_cases import Way

DISTRIBUTIONS = ("pipeline-dp", "python-dp")

METRICS: dict[Statistic, list[Any]] = {
    Statistic.COUNT: [pdp.Metrics.COUNT],
    Statistic.SUM: [pdp.Metrics.SUM],
    Statistic.MEAN: [pdp.Metrics.MEAN],
    Statistic.VARIANCE: [pdp.Metrics.VARIANCE],
    Statistic.MEDIAN: [pdp.Metrics.PERCENTILE(50)],
    Statistic.QUANTILES: [pdp.Metrics.PERCENTILE(round(100 * level)) for level in LEVELS],
}
NAMES: dict[Statistic, tuple[str, ...]] = {
    Statistic.COUNT: ("count",),
    Statistic.SUM: ("sum",),
    Statistic.MEAN: ("mean",),
    Statistic.VARIANCE: ("variance",),
    Statistic.MEDIAN: ("percentile_50",),
    Statistic.QUANTILES: tuple(f"percentile_{round(100 * level)}" for level in LEVELS),
}


def _ask(rows: Rows, listed: list[tuple[int, int, float]], metrics: list[Any]) -> dict[int, Any]:
    """Aggregate all rows; the noise is Laplace, so delta is not spent."""
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    parameters = pdp.AggregateParams(
        metrics=metrics,
        noise_kind=pdp.NoiseKind.LAPLACE,
        max_partitions_contributed=rows.rows_per_unit or 1,
        max_contributions_per_partition=1,
        min_value=rows.bounds[0],
        max_value=rows.bounds[1],
        contribution_bounds_already_enforced=rows.rows_per_unit is None,
    )
    extractors = pdp.DataExtractors(
        privacy_id_extractor=None if rows.rows_per_unit is None else itemgetter(0),
        partition_extractor=itemgetter(1),
        value_extractor=itemgetter(2),
    )
    result = engine.aggregate(listed, parameters, extractors, public_partitions=list(range(rows.groups)))
    accountant.compute_budgets()
    return dict(result)


def _listed(rows: Rows) -> list[tuple[int, int, float]]:
    return list(zip(rows.units.tolist(), rows.keys.tolist(), rows.values.tolist(), strict=True))


def ways(rows: Rows, statistic: Statistic) -> Mapping[str, Way]:
    """Return what the library offers."""
    listed, metrics, names = _listed(rows), METRICS[statistic], NAMES[statistic]

    def answer() -> list[list[float]]:
        found = _ask(rows, listed, metrics)
        return [[float(getattr(found[key], name)) for name in names] for key in range(rows.groups)]

    return {", ".join(str(metric) for metric in metrics): answer}


def together(rows: Rows) -> Callable[[], object]:
    """Count, sum and mean."""
    listed = _listed(rows)
    return lambda: _ask(rows, listed, [pdp.Metrics.COUNT, pdp.Metrics.SUM, pdp.Metrics.MEAN])
