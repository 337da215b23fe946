"""A stable list of the most frequent: a row decides which comes first."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import shown_chance
from discreet.mechanisms.instances.stable_top_k import StableTopK
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]


def _law(mechanism: StableTopK, rows: Sequence[str]) -> dict[str, float]:
    """The most frequent names, ties to the first, and how many rows it takes until they are others, less one."""
    names, k = [str(each) for each in mechanism.candidates], mechanism.k
    order = sorted(names, key=lambda name: (-rows.count(name), names.index(name)))
    gaps = [rows.count(a) - rows.count(b) + (names.index(b) > names.index(a)) for a in order[:k] for b in order[k:]]
    closed = 1 if mechanism.neighbors is NeighborRelation.ADD_REMOVE else 2
    shown = shown_chance(float(mechanism.epsilon), float(mechanism.delta), -(-min(gaps) // closed) - 1)
    return {str(tuple(sorted(order[:k], key=names.index))): shown, "None": 1 - shown}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    tenth, changed = Fraction(1, 10), NeighborRelation.CHANGE_ONE
    made = StableTopK("ab", 1, epsilon=1, delta=tenth)
    two = StableTopK("abc", 2, epsilon=1, delta=tenth)
    exchanged = StableTopK("ab", 1, epsilon=1, delta=tenth, neighbors=changed)
    return (
        Case("a row breaks a tie", made, list("ab"), list("abb"), delta=tenth, draws=4_000, law=_law),
        Case("a row widens a lead", two, list("aaaabbb"), list("aaaabbbb"), delta=tenth, draws=4_000, law=_law),
        Case("a row exchanged", exchanged, list("aab"), list("abb"), delta=tenth, draws=4_000, law=_law),
    )
