"""smartnoise-sql: its mechanisms, put together as its SQL does for AVG and VAR (a query takes 0.2 s)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snsql.sql._mechanisms import Laplace

from benchmarks.questions import Question, Statistic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.questions import Way

DISTRIBUTIONS = ("smartnoise-sql",)


def _noise(epsilon: float, low: float, high: float) -> Laplace:
    return Laplace(epsilon, lower=low, upper=high)


def _mean(question: Question) -> Way:
    low, high = question.bounds
    half = question.epsilon / 2
    total, number = _noise(half, low, high), _noise(half, 0, 1)
    data = [min(max(x, low), high) for x in question.data]
    sums = float(sum(data)), float(len(data))
    return lambda: total.release([sums[0]])[0] / max(1.0, number.release([sums[1]])[0])


def _variance(question: Question) -> Way:
    low, high = question.bounds
    third = question.epsilon / 3
    parts = _noise(third, low**2, high**2), _noise(third, low, high), _noise(third, 0, 1)
    data = [min(max(x, low), high) for x in question.data]
    sums = sum(x * x for x in data), sum(data), float(len(data))

    def answer() -> float:
        squares, total, number = (part.release([each])[0] for part, each in zip(parts, sums, strict=True))
        number = max(1.0, number)
        return float(squares / number - (total / number) ** 2)

    return answer


def ways(question: Question) -> Mapping[str, Way]:
    """Return what the library offers."""
    match question.statistic:
        case Statistic.MEAN | Statistic.TRIMMED_MEAN:
            return {"AVG: sum ÷ count": _mean(question)}
        case Statistic.VARIANCE:
            return {"VAR: squares, sum, count": _variance(question)}
        case _:
            return {}
