"""One over a count: small counts, where it moves most."""

from __future__ import annotations

from discreet.checks.audits.case import Case
from discreet.mechanisms.instances.reciprocal_count import ReciprocalCount
from discreet.privacy import NeighborRelation

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    exchanged = ReciprocalCount(epsilon=2, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("one and two", ReciprocalCount(epsilon=2), 1, 2, draws=400),
        Case("two and three", ReciprocalCount(epsilon=2), 2, 3, draws=400),
        Case("exchanged", exchanged, 0, 1, draws=400),
    )
