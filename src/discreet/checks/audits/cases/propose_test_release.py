"""Propose, test, release: neighbors that break the bound, and neighbors within it at the edge of the test."""

from __future__ import annotations

from fractions import Fraction

from discreet.checks.audits.case import Case
from discreet.mechanisms.instances.propose_test_release import ProposeTestRelease

__all__ = ["cases"]


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    twentieth = Fraction(1, 20)
    made = ProposeTestRelease(1, epsilon=2, delta=twentieth)
    edge = made.test.threshold
    return (
        Case("the bound is broken", made, (0.0, 0), (50.0, 0), delta=twentieth, draws=4_000),
        Case("at the edge of the test", made, (0.0, edge), (1.0, edge + 1), delta=twentieth),
    )
