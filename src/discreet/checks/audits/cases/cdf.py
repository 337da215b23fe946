"""A distribution function: a row more at the first point, which every sum above holds."""

from __future__ import annotations

from discreet.checks.audits.case import Case, everything
from discreet.mechanisms import Cdf
from discreet.privacy import NeighborRelation

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    exchanged = Cdf([0, 1], epsilon=2, neighbors=NeighborRelation.CHANGE_ONE, size=2)
    return (
        Case("a row more", Cdf([0, 1], epsilon=2), [0, 1], [0, 1, 0], everything),
        Case("a row more, in a tree", Cdf([0, 1, 2], epsilon=2, branching=2), [0, 1], [0, 1, 0], everything),
        Case("a row exchanged", exchanged, [0, 1], [0, 5], everything),
    )
