"""The most frequent value: a row is missing, or was exchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import flipped
from discreet.mechanisms import Mode
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["cases"]


def _law(mechanism: Mode, rows: Sequence[Hashable]) -> dict[Hashable, float]:
    factor = 1 if mechanism.neighbors is NeighborRelation.ADD_REMOVE else 2
    counts = [rows.count(each) for each in mechanism.candidates]
    chances = flipped(counts, float(factor / mechanism.epsilon))
    return dict(zip(mechanism.candidates, chances, strict=True))


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    changed = NeighborRelation.CHANGE_ONE
    return (
        Case("a row missing", Mode("abc", epsilon=1), list("aabc"), list("aab"), law=_law),
        Case(
            "a row exchanged",
            Mode("ab", epsilon=2, neighbors=changed),
            list("aaab"),
            list("aabb"),
            law=_law,
            draws=2_400,
        ),
        Case("far behind", Mode("ab", epsilon=2, neighbors=changed), list("aaaab"), list("aaabb"), law=_law),
    )
