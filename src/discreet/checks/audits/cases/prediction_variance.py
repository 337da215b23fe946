"""A prediction variance: the only row in the direction of the point comes, or is exchanged."""

from __future__ import annotations

from discreet.checks.audits.case import Case
from discreet.mechanisms import PredictionVariance
from discreet.privacy import NeighborRelation

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    made = PredictionVariance([1], radius=1, ridge=1, epsilon=2)
    exchanged = PredictionVariance([1], radius=1, ridge=1, epsilon=2, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("the first row", made, [], [[1.0]], draws=300),
        Case("a row exchanged", exchanged, [[0.0]] * 3, [[0.0], [0.0], [1.0]], draws=300),
    )
