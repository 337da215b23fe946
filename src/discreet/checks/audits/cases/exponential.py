"""The exponential mechanism: one score rises while the others fall, and one count rises alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import softmax
from discreet.mechanisms import Exponential

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]


def _law(mechanism: Exponential, scores: Sequence[float]) -> dict[int, float]:
    factor = 1 if mechanism.monotone else 2
    return dict(enumerate(softmax(scores, float(factor * mechanism.sensitivity / mechanism.epsilon))))


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    return (
        Case("one up, the other down", Exponential(1, epsilon=2), [2, 0], [1, 1], draws=2_400, law=_law),
        Case("one up, thirty down", Exponential(1, epsilon=2), [4, *[0] * 30], [5, *[-1] * 30], law=_law),
        Case("a count up", Exponential(1, epsilon=1, monotone=True), [3, 3, 2], [3, 4, 2], law=_law),
    )
