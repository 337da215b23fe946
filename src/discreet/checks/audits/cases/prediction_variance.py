"""A prediction variance: the only row in the direction of the point comes, or is exchanged."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case, in_cells
from discreet.checks.audits.laws import cells_law, polyplace_above
from discreet.mechanisms import PredictionVariance
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]

_EDGES = [0.038, 0.042, 0.044, 0.046, 0.048, 0.05, 0.052, 0.056, 0.06]

_WIDE = [0.03, 0.06, 0.09, 0.11, 0.13, 0.16, 0.25, 0.5, 0.8]


def _law(
    mechanism: PredictionVariance, rows: Sequence[Sequence[float]], edges: Sequence[float] = tuple(_EDGES)
) -> dict[int, float]:
    """One feature, radius, ridge and point 1: 1 / (1 + sum of squares), which a row less moves by 1 / (m (m - 1))."""
    moment, t = 1 + sum(row[0] ** 2 for row in rows), float(mechanism.smoothing)
    least = [max(1.0, moment - k) for k in range(200)]
    bound = max(math.exp(-t * k) * (1 / (m * (m - 1)) if m > 1.5 else 1.0) for k, m in enumerate(least))
    scale = float(mechanism.noise.stretch) * min(bound, 1.0)
    return cells_law(polyplace_above(float(mechanism.shape)), 1 / moment, scale, edges)


def _wide_law(mechanism: PredictionVariance, rows: Sequence[Sequence[float]]) -> dict[int, float]:
    return _law(mechanism, rows, _WIDE)


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    made = PredictionVariance([1], radius=1, ridge=1, epsilon=2)
    exchanged = PredictionVariance([1], radius=1, ridge=1, epsilon=2, neighbors=NeighborRelation.CHANGE_ONE)
    many, few, wide = [[1.0]] * 20, [[1.0]] * 8, in_cells(_WIDE)
    return (
        Case("one row more of many", made, many, [*many, [1.0]], in_cells(_EDGES), draws=800, law=_law, coarse=True),
        Case("the first row", made, [], [[1.0]], wide, draws=600, law=_wide_law, coarse=True, also=(few,)),
        Case(
            "a row exchanged",
            exchanged,
            [[0.0]] * 3,
            [[0.0], [0.0], [1.0]],
            wide,
            draws=600,
            law=_wide_law,
            coarse=True,
            also=(few,),
        ),
    )
