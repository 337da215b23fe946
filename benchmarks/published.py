"""The best published algorithms, from their formulas: exact errors where the output law can be written.

Nothing here is safe to release with: these are yardsticks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.questions import DECILES, DELTA, TOP, Question, Statistic, error, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


def quantile_law(question: Question, q: float, epsilon: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the edges of the intervals between the sorted values, and the chance of each.

    Smith 2011 (doi:10.1145/1993636.1993743): the exponential mechanism with the score -|rank - q n|. Adding or removing
    a value moves the score by at most max(q, 1 - q), and not all scores the same way.
    """
    edges = np.array([question.bounds[0], *sorted(question.data), question.bounds[1]])
    ranks = np.arange(len(edges) - 1)
    weights = -epsilon * np.abs(ranks - q * (len(edges) - 2)) / (2 * max(q, 1 - q))
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges)) + weights
    chances = np.exp(logs - logs.max())
    return edges, chances / chances.sum()


def median_error(question: Question) -> float:
    """The exact RMSE: the output is uniform within its interval."""
    edges, chances = quantile_law(question, 0.5, question.epsilon)
    center = float(np.median(question.data))
    a, b = edges[:-1] - center, edges[1:] - center
    return math.sqrt(float((chances * (a * a + a * b + b * b) / 3).sum()))


def recursive_deciles(question: Question, runs: int, draw: np.random.Generator) -> float:
    """Kaplan, Schnapp & Stemmer 2022 (arXiv:2110.05429): the middle quantile first, then each half with its own data.

    Each level costs epsilon once under add/remove, as the halves are disjoint; nine quantiles need four levels.
    """
    share = question.epsilon / math.ceil(math.log2(len(DECILES) + 1))

    def solve(data: NDArray[np.float64], low: float, high: float, targets: Sequence[float]) -> list[float]:
        if not targets:
            return []
        middle = len(targets) // 2
        edges = np.concatenate([[low], data, [high]])
        wanted = targets[middle] * len(data)
        widths = np.maximum(np.diff(edges), 1e-300)
        q = targets[middle]
        logs = np.log(widths) - share * np.abs(np.arange(len(widths)) - wanted) / (2 * max(q, 1 - q))
        cell = int(np.argmax(logs + draw.gumbel(size=len(logs))))
        cut = edges[cell] + draw.random() * (edges[cell + 1] - edges[cell])
        left = [each / q for each in targets[:middle]]
        right = [(each - q) / (1 - q) for each in targets[middle + 1 :]]
        below = data[data <= cut]
        return [*solve(below, low, cut, left), cut, *solve(data[len(below) :], cut, high, right)]

    data = np.sort(question.data)
    errors = [error(question, solve(data, *question.bounds, DECILES)) for _ in range(runs)]
    return summary(question, errors)[0]


def argmax_error(question: Question) -> float:
    """McKenna & Sheldon 2020 (arXiv:2010.12603): permute-and-flip, the exact RMS loss.

    It is the largest of scores with exponential noise (Ding et al. 2021, arXiv:2105.07260), of scale 1 / epsilon for
    counts under add/remove. The winner's chance is an integral over its noise.
    """
    scores = np.array(question.data) * question.epsilon
    place = np.linspace(0, 60 + np.ptp(scores), 60_001)
    total, squares = 0.0, 0.0
    for value in np.unique(scores):
        with np.errstate(divide="ignore"):
            others = np.log(-np.expm1(-np.maximum(place[:, None] + value - scores, 0)))
            own = np.log(-np.expm1(-place))
        chance = np.trapezoid(np.exp(-place + others.sum(axis=1) - np.where(place > 0, own, 0)), place)
        chance *= (scores == value).sum()
        total += chance
        squares += chance * ((scores.max() - value) / question.epsilon) ** 2
    return math.sqrt(squares / total)


def top_error(question: Question, runs: int, draw: np.random.Generator) -> float:
    """Durfee & Rogers 2019 (arXiv:1905.04273): one-shot Gumbel noise, epsilon / k each, counts under add/remove."""
    scores = np.array(question.data)
    noisy = scores + draw.gumbel(scale=TOP / question.epsilon, size=(runs, len(scores)))
    chosen = np.argsort(-noisy, axis=1)[:, :TOP]
    return summary(question, [error(question, row.tolist()) for row in chosen])[0]


def kept(epsilon: float, delta: float, most: int) -> list[float]:
    """Desfontaines, Voss, Gipson & Mandayam 2022 (arXiv:2006.03684), Theorem 1: the best chances to keep n units' key.

    pi(n) = min(e^epsilon pi(n-1) + delta, 1 - e^-epsilon (1 - pi(n-1) - delta), 1).

    >>> [round(each, 4) for each in kept(1.0, 0.01, 3)]
    [0.0, 0.01, 0.0372, 0.1111]
    """
    found = [0.0]
    for _ in range(most):
        last = found[-1]
        found.append(min(math.exp(epsilon) * last + delta, 1 - math.exp(-epsilon) * (1 - last - delta), 1.0))
    return found


def threshold_error(question: Question) -> float:
    """The exact RMS number of keys lost by the optimal selection."""
    counts = [int(count) for count in question.data]
    table = kept(question.epsilon, DELTA, max(counts))
    lost = sum(1 - table[count] for count in counts)
    return math.sqrt(lost**2 + sum(table[count] * (1 - table[count]) for count in counts))


def laplace_error(question: Question) -> float:
    """Laplace noise on a mean or a variance of n values, n public, change-one.

    A mean moves by (upper - lower) / n, a variance by (upper - lower)^2 (n - 1) / n^2; the RMSE is sqrt(2) / epsilon
    times that.
    """
    width, n = question.bounds[1] - question.bounds[0], len(question.data)
    moved = width**2 * (n - 1) / n**2 if question.statistic is Statistic.VARIANCE else width / n
    return math.sqrt(2) * moved / question.epsilon


def published(question: Question, runs: int) -> tuple[str, float]:
    """Return the name and the error of the best published algorithm."""
    draw = np.random.default_rng(7)
    found: dict[Statistic, tuple[str, Callable[[], float]]] = {
        Statistic.MEDIAN: ("exponential mechanism, exact", lambda: median_error(question)),
        Statistic.DECILES: ("recursive exponential mechanism", lambda: recursive_deciles(question, runs, draw)),
        Statistic.ARGMAX: ("permute-and-flip, exact", lambda: argmax_error(question)),
        Statistic.TOP_K: ("one-shot Gumbel", lambda: top_error(question, runs, draw)),
        Statistic.THRESHOLD: ("optimal selection, exact", lambda: threshold_error(question)),
    }
    name, compute = found.get(question.statistic, ("Laplace, n public, exact", lambda: laplace_error(question)))
    return name, compute()
