"""A proposed bound on a median: rows between which the median jumps."""

from __future__ import annotations

from fractions import Fraction

from discreet.checks.audits.case import Case
from discreet.mechanisms.instances.proposed_median import ProposedMedian
from discreet.privacy import NeighborRelation

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    twentieth, facts = Fraction(1, 20), {"lower": 0, "upper": 100, "grid": 1, "epsilon": 2, "delta": "0.05"}
    made = ProposedMedian(1, **facts)  # type: ignore[arg-type]
    exchanged = ProposedMedian(1, **facts, neighbors=NeighborRelation.CHANGE_ONE)  # type: ignore[arg-type]
    return (
        Case("the median jumps", made, [0, 100], [0, 100, 100], delta=twentieth),
        Case("a row exchanged", exchanged, [50] * 5, [50, 50, 50, 50, 100], delta=twentieth),
    )
