"""python-dp (Google's C++ building blocks): quantile trees, bounded mean and variance, partition selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydp.algorithms.laplacian import BoundedMean, BoundedVariance, Median, Percentile
from pydp.algorithms.partition_selection import create_partition_strategy

from benchmarks.questions import DECILES, DELTA, Question, Statistic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.questions import Way

DISTRIBUTIONS = ("python-dp",)


def _once(algorithm: Any, question: Question, share: int = 1, **more: float) -> float:  # noqa: ANN401  no types
    low, high = question.bounds
    made = algorithm(epsilon=question.epsilon / share, lower_bound=low, upper_bound=high, dtype="float", **more)
    return float(made.quick_result(question.data))


def _threshold(question: Question) -> Mapping[str, Way]:
    counts = [int(count) for count in question.data]

    def way(name: str) -> Way:
        strategy = create_partition_strategy(name, question.epsilon, DELTA, 1)
        return lambda: [i for i, count in enumerate(counts) if strategy.should_keep(count)]

    return {name: way(name) for name in ("truncated_geometric", "laplace")}


def ways(question: Question) -> Mapping[str, Way]:  # noqa: PLR0911  one case after the other
    """Return what the library offers."""
    match question.statistic:
        case Statistic.MEDIAN:
            return {"median": lambda: _once(Median, question)}
        case Statistic.DECILES:
            share = len(DECILES)
            return {
                "percentile, each a ninth": lambda: [_once(Percentile, question, share, percentile=q) for q in DECILES]
            }
        case Statistic.MEAN:
            return {"bounded mean": lambda: _once(BoundedMean, question)}
        case Statistic.TRIMMED_MEAN:
            return {
                "bounded mean": lambda: _once(BoundedMean, question),
                "median": lambda: _once(Median, question),
            }
        case Statistic.VARIANCE:
            return {"bounded variance": lambda: _once(BoundedVariance, question)}
        case Statistic.THRESHOLD:
            return _threshold(question)
        case _:
            return {}
