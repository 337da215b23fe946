"""Discreet: the functions that a user calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from benchmarks.questions import DECILES, DELTA, TOP, Question, Statistic
from discreet import mechanisms as dp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.questions import Way

DISTRIBUTIONS = ("discreet",)


def _threshold(question: Question) -> Mapping[str, Way]:
    counts = {str(i): int(count) for i, count in enumerate(question.data)}
    mechanism = dp.PartitionSelection(epsilon=question.epsilon, delta=DELTA)
    return {"PartitionSelection": lambda: [int(key) for key in mechanism.release(counts).value]}


def ways(question: Question) -> Mapping[str, Way]:  # noqa: PLR0911  one case after the other
    """Return what the package offers; every one keeps the number of rows private (add/remove)."""
    data, epsilon, bounds = np.array(question.data), question.epsilon, question.bounds
    match question.statistic:
        case Statistic.MEDIAN:
            return {
                "dp.median": lambda: dp.median(data, bounds=bounds, epsilon=epsilon).value,
                "dp.median, grid=128": lambda: dp.median(data, bounds=bounds, epsilon=epsilon, grid=128).value,
            }
        case Statistic.DECILES:
            return {
                "dp.quantiles": lambda: list(dp.quantiles(data, DECILES, bounds=bounds, epsilon=epsilon).value),
            }
        case Statistic.MEAN:
            return {"dp.mean": lambda: dp.mean(data, bounds=bounds, epsilon=epsilon).value}
        case Statistic.TRIMMED_MEAN:
            return {
                "dp.trimmed_mean": lambda: dp.trimmed_mean(data, bounds=bounds, epsilon=epsilon).value,
                "median": lambda: dp.median(data, bounds=bounds, epsilon=epsilon).value,
            }
        case Statistic.VARIANCE:
            return {"dp.variance": lambda: dp.variance(data, bounds=bounds, epsilon=epsilon).value}
        case Statistic.TOP_K:
            best = dp.TopK(TOP, sensitivity=1, epsilon=epsilon, monotone=True)
            return {"TopK": lambda: cast("list[int]", best.release(data).value)}
        case Statistic.ARGMAX:
            first = dp.NoisyMax(1, epsilon=epsilon, monotone=True)
            return {"NoisyMax": lambda: cast("int", first.release(data).value)}
        case _:
            return _threshold(question)
