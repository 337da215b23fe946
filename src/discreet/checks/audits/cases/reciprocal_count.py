"""One over a count: small counts, where it moves most."""

from __future__ import annotations

import math

from discreet.checks.audits.case import Case, in_cells
from discreet.checks.audits.laws import cells_law, polyplace_above
from discreet.mechanisms.instances.reciprocal_count import ReciprocalCount
from discreet.privacy import NeighborRelation

__all__ = ["cases"]

_EDGES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


def _law(mechanism: ReciprocalCount, count: int) -> dict[int, float]:
    """The reciprocal with noise for the largest exp(-t k) times the move from a count k away."""
    t, moves = float(mechanism.smoothing), [0.0, 0.5, *(1 / (c * (c - 1)) for c in range(2, 60))]
    bound = max(math.exp(-t * abs(count - c)) * move for c, move in enumerate(moves))
    scale = float(mechanism.noise.stretch) * bound
    return cells_law(polyplace_above(float(mechanism.shape)), 1 / max(1, count), scale, _EDGES)


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    made, seen = ReciprocalCount(epsilon=2), in_cells(_EDGES)
    exchanged = ReciprocalCount(epsilon=2, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("one and two", made, 1, 2, seen, draws=1_000, law=_law, coarse=True),
        Case("two and three", made, 2, 3, seen, draws=400, law=_law, coarse=True),
        Case("exchanged", exchanged, 0, 1, seen, draws=2_000, law=_law, coarse=True),
    )
