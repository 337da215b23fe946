"""A sum: a row more at the bound that is farther from 0, and a row that goes from one bound to the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import discrete_law
from discreet.mechanisms import Sum
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]


def _law(mechanism: Sum, rows: Sequence[int]) -> dict[int, float]:
    """Whole numbers: noise for the farther bound, or for the distance of the bounds."""
    low, high = int(mechanism.lower), int(mechanism.upper)
    moved = max(abs(low), abs(high), 0 if mechanism.neighbors is NeighborRelation.ADD_REMOVE else high - low)
    scale = moved / float(mechanism.claim.epsilon)  # type: ignore[union-attr]  # the laws are of pure ones
    clamped = [min(max(row, low), high) for row in rows]
    return discrete_law(lambda z: math.exp(-abs(z) / scale), int(math.fsum(clamped)), -60, 60)


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    whole, changed = {"lower": -3, "upper": 2, "epsilon": 1, "grid": 1}, NeighborRelation.CHANGE_ONE
    exchanged = Sum(**whole, size=2, neighbors=changed)  # type: ignore[arg-type]
    return (
        Case("a row more", Sum(**whole), [0, 1], [0, 1, -3], law=_law),  # type: ignore[arg-type]
        Case("a row far outside", Sum(**whole), [0, 1], [0, 1, -(10**12)], law=_law),  # type: ignore[arg-type]
        Case("a row to the other bound", exchanged, [0, -3], [0, 2], law=_law),
        Case("with rho", Sum(lower=0, upper=1, rho=1, grid="1/4"), [0.0], [0.0, 1.0]),
    )
