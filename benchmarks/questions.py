"""What every library is asked for, and how its answers are scored; the standard library alone, for peers' environments.

All libraries get the same data and the same public facts: bounds, the candidates, epsilon, and where a library works on
a grid of candidates, GRID equally spaced points between the bounds.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum
from functools import cache
from math import sqrt
from statistics import fmean, median, pvariance
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Answer = float | int | Sequence[float] | Sequence[int]
    Way = Callable[[], Answer]

SIZE = 1_000
GRID = 10_001
DECILES = tuple(i / 10 for i in range(1, 10))
CANDIDATES = 100
TOP = 5
KEYS = 300
DELTA = 1e-6


class Statistic(Enum):
    """What is asked for, with the unit of its error."""

    MEDIAN = "median, LN(10, 1) in [0, 1e6]"
    DECILES = "9 deciles, LN(10, 1) in [0, 1e6]"
    MEAN = "mean, N(170, 10) in [0, 1000]"
    TRIMMED_MEAN = "trimmed mean, N(170, 10) in [0, 1000]"
    VARIANCE = "variance, N(170, 10) in [100, 250]"
    TOP_K = "top 5 of 100 counts"
    ARGMAX = "largest of 100 counts"
    THRESHOLD = "which of 300 keys may be shown"

    @property
    def unit(self) -> str:
        """Say what the figure is.

        >>> Statistic.ARGMAX.unit
        'RMS counts lost'
        """
        if self in {Statistic.TOP_K, Statistic.ARGMAX}:
            return "RMS counts lost"
        return {Statistic.DECILES: "mean rank error", Statistic.THRESHOLD: "RMS keys lost"}.get(self, "RMSE")


@dataclass(frozen=True, slots=True)
class Question:
    """A statistic at an epsilon."""

    statistic: Statistic
    epsilon: float

    def __str__(self) -> str:
        return f"{self.statistic.value}, ε={self.epsilon:g}"

    @property
    def bounds(self) -> tuple[float, float]:
        """The public bounds of a value.

        >>> Question(Statistic.MEAN, 1.0).bounds
        (0.0, 1000.0)
        """
        if self.statistic in {Statistic.MEDIAN, Statistic.DECILES}:
            return 0.0, 1e6
        return (100.0, 250.0) if self.statistic is Statistic.VARIANCE else (0.0, 1000.0)

    @property
    def grid(self) -> list[float]:
        """Equally spaced candidates between the bounds, for libraries that need some.

        >>> Question(Statistic.MEDIAN, 1.0).grid[:2]
        [0.0, 100.0]
        """
        low, high = self.bounds
        return [low + (high - low) * i / (GRID - 1) for i in range(GRID)]

    @property
    def data(self) -> list[float]:
        """The private values: measurements, or the counts of candidates and keys."""
        return list(_data(self))


QUESTIONS = tuple(Question(statistic, epsilon) for statistic in Statistic for epsilon in (0.1, 1.0))


@cache
def _data(question: Question) -> tuple[float, ...]:
    draw, statistic = random.Random(2024), question.statistic  # noqa: S311  test data, the same for every library
    if statistic in {Statistic.MEDIAN, Statistic.DECILES}:
        # An error of about 55 at epsilon 1, as sometimes quoted, belongs to LN(10, 0.5), whose rows lie twice as dense.
        return tuple(min(draw.lognormvariate(10, 1), 1e6) for _ in range(SIZE))
    if statistic in {Statistic.TOP_K, Statistic.ARGMAX}:  # few enough that choosing is hard
        return tuple(float(round(30 / question.epsilon / (rank + 4))) for rank in draw.sample(range(100), CANDIDATES))
    if statistic is Statistic.THRESHOLD:  # a tenth of them below the threshold, whatever epsilon
        return tuple(float(1 + int(i / (10 * question.epsilon))) for i in range(KEYS))
    return tuple(draw.gauss(170, 10) for _ in range(SIZE))


def error(question: Question, answer: Answer) -> float:
    """Score one answer; what is aimed at is a fact of the data, and 0 is perfect.

    >>> question = Question(Statistic.ARGMAX, 1.0)
    >>> error(question, question.data.index(max(question.data)))
    0.0
    """
    data = question.data
    if isinstance(answer, int | float):
        if question.statistic is Statistic.ARGMAX:
            return max(data) - data[int(answer)]
        truth = {Statistic.MEDIAN: median, Statistic.VARIANCE: pvariance}.get(question.statistic, fmean)
        return float(answer) - truth(data)
    if question.statistic is Statistic.DECILES:
        ordered = sorted(data)
        ranks = [bisect_right(ordered, value) / SIZE for value in answer]
        return fmean(abs(rank - q) for rank, q in zip(ranks, DECILES, strict=True))
    if question.statistic is Statistic.TOP_K:
        return sum(sorted(data)[-TOP:]) - sum(data[int(i)] for i in set(answer))
    return float(KEYS - len(answer))


def summary(question: Question, errors: Sequence[float]) -> tuple[float, float]:
    """Return the figure and its standard error.

    RMSE has the standard error sd(squares) / (2 RMSE sqrt(runs)); the mean rank error is a mean.

    >>> summary(Question(Statistic.MEAN, 1.0), [3.0, -3.0])
    (3.0, 0.0)
    """
    if question.statistic is Statistic.DECILES:
        return fmean(errors), sqrt(pvariance(errors) / len(errors))
    squares = [each * each for each in errors]
    root = sqrt(fmean(squares))
    return root, sqrt(pvariance(squares) / len(squares)) / (2 * root) if root else 0.0


class Library(Protocol):
    """A module of `benchmarks.statistics`."""

    DISTRIBUTIONS: tuple[str, ...]

    def ways(self, question: Question) -> Mapping[str, Way]:
        """Return each way in which the library answers a question, none if it has none."""
        ...
