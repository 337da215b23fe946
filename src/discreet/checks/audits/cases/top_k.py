"""The k best: two scores rise while the third falls."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import flipped, ordered, softmax
from discreet.mechanisms import TopK, TopKMethod

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]


def _law(mechanism: TopK, scores: Sequence[float]) -> dict[str, float]:
    factor = 1 if mechanism.monotone else 2
    scale = float(factor * mechanism.sensitivity / mechanism.round_epsilon)
    winner = softmax if mechanism.method is TopKMethod.GUMBEL else flipped
    law = ordered(scores, mechanism.k, lambda left: winner(left, scale))
    return {str(list(order)): chance for order, chance in law.items()}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    opposed, hundredth = ([0, 0, 2], [1, 1, 1]), Fraction(1, 100)
    return (
        Case("peeled", TopK(2, sensitivity=1, epsilon=2), *opposed, law=_law),
        Case("one shot", TopK(2, sensitivity=1, epsilon=2, method="gumbel"), *opposed, law=_law),
        Case("with a delta", TopK(2, sensitivity=1, epsilon=2, delta="0.01"), *opposed, delta=hundredth, law=_law),
        Case("a count up", TopK(2, sensitivity=1, epsilon=2, monotone=True), [1, 1, 0], [1, 1, 1], law=_law),
    )
