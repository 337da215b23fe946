"""tmlt.core without Spark: its quantile on a pandas series, and its noise on sums put together as its averages are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from tmlt.core.domains.numpy_domains import NumpyFloatDomain
from tmlt.core.domains.pandas_domains import PandasSeriesDomain
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise, AddLaplaceNoise
from tmlt.core.measurements.pandas_measurements.series import NoisyQuantile
from tmlt.core.measures import PureDP
from tmlt.core.utils.exact_number import ExactNumber

from benchmarks.questions import DECILES, Question, Statistic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.questions import Way

DISTRIBUTIONS = ("tmlt.core",)


def _quantile(question: Question, q: float, share: int = 1) -> NoisyQuantile:
    low, high = question.bounds
    epsilon = ExactNumber.from_float(question.epsilon, round_up=False) / ExactNumber(share)
    domain = PandasSeriesDomain(NumpyFloatDomain())
    return NoisyQuantile(domain, PureDP(), q, low, high, epsilon)


def _noise(scale: float) -> AddLaplaceNoise:
    return AddLaplaceNoise(NumpyFloatDomain(), ExactNumber.from_float(scale, round_up=True))


def _count(epsilon: float) -> AddGeometricNoise:
    return AddGeometricNoise(ExactNumber.from_float(1 / epsilon, round_up=True))


def _mean(question: Question) -> Way:
    """Deviations from the middle of the bounds and a count, half of epsilon each: as its average measurement does."""
    low, high = question.bounds
    middle, half = (low + high) / 2, question.epsilon / 2
    deviations = float(np.sum(np.clip(question.data, low, high) - middle))
    noise, count = _noise((high - low) / 2 / half), _count(half)
    n = np.int64(len(question.data))
    return lambda: middle + float(noise(np.float64(deviations))) / max(1, int(count(n)))


def _variance(question: Question) -> Way:
    """Deviations, their squares and a count, a third of epsilon each: as its variance measurement does."""
    low, high = question.bounds
    middle, third, reach = (low + high) / 2, question.epsilon / 3, (high - low) / 2
    moved = np.clip(question.data, low, high) - middle
    first, second, count = _noise(reach / third), _noise(reach**2 / third), _count(third)
    sums = np.float64(moved.sum()), np.float64((moved**2).sum())
    n = np.int64(len(moved))

    def answer() -> float:
        number = max(1, int(count(n)))
        return float(second(sums[1])) / number - (float(first(sums[0])) / number) ** 2

    return answer


def ways(question: Question) -> Mapping[str, Way]:
    """Return what the library offers without Spark."""
    data = pd.Series(question.data)
    match question.statistic:
        case Statistic.MEDIAN:
            middle = _quantile(question, 0.5)
            return {"noisy quantile": lambda: float(middle(data))}
        case Statistic.DECILES:
            many = [_quantile(question, q, len(DECILES)) for q in DECILES]
            return {"noisy quantile, each a ninth": lambda: [float(each(data)) for each in many]}
        case Statistic.MEAN:
            return {"deviations ÷ count": _mean(question)}
        case Statistic.TRIMMED_MEAN:
            center = _quantile(question, 0.5)
            return {"deviations ÷ count": _mean(question), "median": lambda: float(center(data))}
        case Statistic.VARIANCE:
            return {"deviations, squares, count": _variance(question)}
        case _:
            return {}
