"""A trimmed mean with smooth sensitivity: neighbors that move it, and ones whose noise differs most."""

from __future__ import annotations

from discreet.checks.audits.case import Case
from discreet.mechanisms.instances.trimmed_mean import TrimmedMean
from discreet.privacy import NeighborRelation

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    changed = NeighborRelation.CHANGE_ONE
    facts = {"lower": 0, "upper": 8, "grid": "1/4"}
    plain = TrimmedMean(1, **facts, epsilon=2)  # type: ignore[arg-type]
    exchanged = TrimmedMean(1, **facts, epsilon=2, neighbors=changed)  # type: ignore[arg-type]
    return (
        Case("a row more", plain, [0, 0, 8, 8], [0, 0, 8, 8, 8], draws=400),
        Case("the noise widens", plain, [4] * 9, [4] * 8, draws=400),
        Case("the only row", plain, [], [8], draws=400),
        Case("a row exchanged", exchanged, [0, 0, 8], [0, 8, 8], draws=400),
    )
