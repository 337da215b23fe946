"""A standard deviation: a row more at a bound."""

from __future__ import annotations

from discreet.checks.audits.case import Case, everything
from discreet.mechanisms import StandardDeviation
from discreet.privacy import NeighborRelation

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    unit = StandardDeviation(lower=0, upper=1, epsilon=3, grid=1)
    exchanged = StandardDeviation(lower=0, upper=1, epsilon=2, grid=1, size=3, neighbors=NeighborRelation.CHANGE_ONE)
    return (
        Case("a row more above", unit, [0, 1, 1, 0], [0, 1, 1, 0, 1], everything, draws=3_000),
        Case("a row to the other bound", exchanged, [0, 0, 0], [0, 0, 1], everything),
    )
