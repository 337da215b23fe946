"""A quantile with smooth sensitivity: neighbors between which the median jumps, and ones whose noise differs most."""

from __future__ import annotations

from discreet.checks.audits.case import Case
from discreet.mechanisms.instances.smooth_quantile import SmoothQuantile
from discreet.privacy import NeighborRelation

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    changed = NeighborRelation.CHANGE_ONE
    facts = {"lower": 0, "upper": 8, "grid": "1/4"}
    plain = SmoothQuantile("1/2", **facts, epsilon=2)  # type: ignore[arg-type]
    exchanged = SmoothQuantile("1/2", **facts, epsilon=2, neighbors=changed)  # type: ignore[arg-type]
    return (
        Case("the median jumps", plain, [0, 0, 8, 8], [0, 0, 8, 8, 8], draws=400),
        Case("the noise widens", plain, [4] * 9, [4] * 8, draws=400),
        Case("a row exchanged", exchanged, [0, 0, 8], [0, 8, 8], draws=400),
    )
