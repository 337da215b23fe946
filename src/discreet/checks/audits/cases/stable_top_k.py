"""A stable list of the most frequent: a row decides which comes first."""

from __future__ import annotations

from fractions import Fraction

from discreet.checks.audits.case import Case
from discreet.mechanisms.instances.stable_top_k import StableTopK
from discreet.privacy import NeighborRelation

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    tenth, changed = Fraction(1, 10), NeighborRelation.CHANGE_ONE
    made = StableTopK("ab", 1, epsilon=1, delta=tenth)
    two = StableTopK("abc", 2, epsilon=1, delta=tenth)
    exchanged = StableTopK("ab", 1, epsilon=1, delta=tenth, neighbors=changed)
    return (
        Case("a row breaks a tie", made, list("ab"), list("abb"), delta=tenth, draws=4_000),
        Case("a row widens a lead", two, list("aaaabbb"), list("aaaabbbb"), delta=tenth, draws=4_000),
        Case("a row exchanged", exchanged, list("aab"), list("abb"), delta=tenth, draws=4_000),
    )
