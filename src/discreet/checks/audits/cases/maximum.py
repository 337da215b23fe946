"""The maximum: rows come and go at either end of the grid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.mechanisms import Maximum
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]


def _law(mechanism: Maximum, rows: Sequence[int]) -> dict[int, float]:
    """Every point by how many rows more or fewer than the rank lie beyond it; one row moves that by at most 1."""
    weights = {}
    for point in range(int(mechanism.lower), int(mechanism.upper) + 1):
        beyond = sum(row > point for row in rows)
        missed = max(0, beyond - mechanism.rank, mechanism.rank - beyond - rows.count(point))
        weights[point] = math.exp(-float(mechanism.epsilon) * missed / 2)
    return {point: weight / math.fsum(weights.values()) for point, weight in weights.items()}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    plain = Maximum(lower=0, upper=3, grid=1, epsilon=3)
    exchanged = Maximum(lower=0, upper=3, grid=1, epsilon=3, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("a row more above", plain, [0, 1], [0, 1, 3], law=_law),
        Case("a row more below", plain, [3, 3], [0, 3, 3], law=_law),
        Case("the only row", plain, [], [3], law=_law, also=([0, 1, 3],)),
        Case("a row exchanged", exchanged, [0, 0, 3], [0, 3, 3], law=_law),
    )
