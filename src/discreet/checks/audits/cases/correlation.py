"""A correlation: a row more in a corner of the two bounds, where one of the sums moves by all that may move."""

from __future__ import annotations

from discreet.checks.audits.case import Case, everything
from discreet.mechanisms import Correlation
from discreet.privacy import NeighborRelation

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    unit, changed = {"first": (0, 1), "second": (0, 1), "grids": (1, 1)}, NeighborRelation.CHANGE_ONE
    plain = Correlation(**unit, epsilon=3)  # type: ignore[arg-type]
    exchanged = Correlation(**unit, epsilon=2, size=2, neighbors=changed)  # type: ignore[arg-type]
    return (
        Case("a row more", plain, ([0, 1], [0, 1]), ([0, 1, 1], [0, 1, 1]), everything),
        Case("a row exchanged", exchanged, ([0, 1], [0, 1]), ([0, 0], [0, 0]), everything),
    )
