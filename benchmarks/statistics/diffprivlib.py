"""diffprivlib: its tools take the length of the data as public; choices by its mechanisms."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from diffprivlib import mechanisms, tools

from benchmarks.questions import DECILES, TOP, Question, Statistic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.questions import Way

DISTRIBUTIONS = ("diffprivlib",)

warnings.simplefilter("ignore")  # it warns that numpy's randomness replaces its own


def _chosen(question: Question, count: int) -> list[int]:
    """Peel: the best of all, then the best of the rest."""
    left = dict(enumerate(question.data))
    found = []
    for _ in range(count):
        names = list(left)
        mechanism = mechanisms.PermuteAndFlip(
            epsilon=question.epsilon / count, sensitivity=1, monotonic=True, utility=list(left.values())
        )
        found.append(names[mechanism.randomise()])
        del left[found[-1]]
    return found


def ways(question: Question) -> Mapping[str, Way]:  # noqa: PLR0911  one case after the other
    """Return what the library offers."""
    data = np.array(question.data)
    given = {"epsilon": question.epsilon, "bounds": question.bounds}
    mean: Mapping[str, Way] = {"mean, n public": lambda: float(tools.mean(data, **given))}
    middle: Mapping[str, Way] = {"median": lambda: float(tools.median(data, **given))}
    match question.statistic:
        case Statistic.MEDIAN:
            return middle
        case Statistic.DECILES:
            return {"quantile": lambda: [float(x) for x in tools.quantile(data, list(DECILES), **given)]}
        case Statistic.MEAN:
            return mean
        case Statistic.TRIMMED_MEAN:
            return {**mean, **middle}
        case Statistic.VARIANCE:
            return {"var, n public": lambda: float(tools.var(data, **given))}
        case Statistic.TOP_K:
            return {"permute and flip, peeled": lambda: _chosen(question, TOP)}
        case Statistic.ARGMAX:
            return {"permute and flip": lambda: _chosen(question, 1)[0]}
        case _:
            return {}
