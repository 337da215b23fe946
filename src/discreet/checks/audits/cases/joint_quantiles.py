"""Quantiles drawn jointly: a row more at an end, and a row that went from one end to the other."""

from __future__ import annotations

from discreet.checks.audits.case import Case
from discreet.mechanisms import JointQuantiles
from discreet.privacy import NeighborRelation

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs; a release takes long, so there are few."""
    exchanged = JointQuantiles(["1/2"], lower=0, upper=1, grid=1, epsilon=2, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("a row more", JointQuantiles(["1/2"], lower=0, upper=1, grid=1, epsilon=2), [0, 1], [0, 1, 1], draws=200),
        Case("a row exchanged", exchanged, [0, 0, 1], [0, 1, 1], draws=200),
    )
