"""A proposed bound on a scale: a row that makes the range between quartiles jump."""

from __future__ import annotations

from fractions import Fraction

from discreet.checks.audits.case import Case
from discreet.mechanisms.instances.proposed_scale import ProposedScale
from discreet.privacy import NeighborRelation

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    twentieth, facts = Fraction(1, 20), {"lower": 0, "upper": 100, "grid": 1, "epsilon": 2, "delta": "0.05"}
    made = ProposedScale(2, **facts)  # type: ignore[arg-type]
    exchanged = ProposedScale(2, **facts, neighbors=NeighborRelation.CHANGE_ONE)  # type: ignore[arg-type]
    return (
        Case("a row far away", made, [0, 1], [0, 1, 100], delta=twentieth),
        Case("a row exchanged", exchanged, [0, 1, 1, 2], [0, 1, 100, 1], delta=twentieth),
    )
