"""Randomized response: two truths."""

from __future__ import annotations

import math

from discreet.checks.audits.case import Case
from discreet.mechanisms import RandomizedResponse

__all__ = ["cases"]


def _law(mechanism: RandomizedResponse, truth: int) -> dict[int, float]:
    """The truth with weight e^epsilon, every other answer with weight 1; or with the stated chance."""
    others = mechanism.answers - 1
    kept = math.exp(float(mechanism.epsilon)) / (math.exp(float(mechanism.epsilon)) + others)
    if mechanism.truth is not None:
        kept = float(mechanism.truth)
    return {answer: kept if answer == truth else (1 - kept) / others for answer in range(mechanism.answers)}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    return (
        Case("yes or no", RandomizedResponse(2, epsilon=1), 0, 1, law=_law, tight=True, draws=5_000),
        Case("two coins", RandomizedResponse(2, truth="3/4"), 1, 0, law=_law, tight=True),
        Case("five answers", RandomizedResponse(5, epsilon=1), 0, 3, law=_law, tight=True, draws=5_000),
    )
