"""Quantiles: a row more at an end of the grid, and a row that went from one end to the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.mechanisms.choices.quantile import Quantile
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]


def _law(mechanism: Quantile, rows: Sequence[int]) -> dict[int, float]:
    """Every point of the grid by its score: minus the rows by which it misses the rank."""
    q, n = float(mechanism.q), len(rows)
    moved = max(q, 1 - q) if mechanism.neighbors is NeighborRelation.ADD_REMOVE else 1.0
    points = range(int(mechanism.lower), int(mechanism.upper) + 1)
    weights = {}
    for point in points:
        below, upto = sum(row < point for row in rows), sum(row <= point for row in rows)
        missed = max(0.0, below - q * n, q * n - upto)
        weights[point] = math.exp(-float(mechanism.epsilon) * missed / (2 * moved))
    return {point: weight / math.fsum(weights.values()) for point, weight in weights.items()}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    changed = NeighborRelation.CHANGE_ONE

    def tiny(q: str, epsilon: int, neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE) -> Quantile:
        return Quantile(q, lower=0, upper=3, grid=1, epsilon=epsilon, neighbors=neighbors)

    return (
        Case("the median, a row more", tiny("1/2", 3), [0, 3], [0, 3, 3], law=_law),
        Case("the median, a row more where rows are", tiny("1/2", 3), [1, 3, 3], [1, 1, 3, 3], law=_law),
        Case("the ninth decile, a row more", tiny("0.9", 3), [1, 1, 1, 1, 3], [1, 1, 1, 1, 1, 3], law=_law),
        Case("the median, a row exchanged", tiny("1/2", 2, changed), [1, 1, 3, 3], [0, 1, 1, 3], law=_law),
        Case("the median of nothing", tiny("1/2", 2), [], [3], law=_law),
    )
