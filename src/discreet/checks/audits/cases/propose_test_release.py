"""Propose, test, release: neighbors that break the bound, and neighbors within it at the edge of the test."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.checks.audits.case import Case, shown_in_cells
from discreet.checks.audits.laws import cells_law, law_if_shown, shown_chance
from discreet.mechanisms.instances.propose_test_release import ProposeTestRelease

__all__ = ["cases"]

_EDGES = [-1.5, -0.5, 0.5, 1.5, 25.5, 49.5, 50.5]


def _law(mechanism: ProposeTestRelease, value: tuple[float, int]) -> dict[str, float]:
    """A test with half of epsilon, and Laplace noise for the bound, and for a step of its grid, with the other half."""
    half = float(mechanism.epsilon) / 2
    step = 2.0 ** math.floor(math.log2(float(mechanism.bound) * min(1.0, 1 / half))) * 2.0**-20
    cells = cells_law(lambda x: math.exp(-x) / 2, value[0], (float(mechanism.bound) + step) / half, _EDGES)
    return law_if_shown(shown_chance(half, float(mechanism.delta), value[1]), cells)


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    twentieth = Fraction(1, 20)
    made = ProposeTestRelease(1, epsilon=2, delta=twentieth)
    edge, seen = made.test.threshold, shown_in_cells(_EDGES)
    return (
        Case(
            "the bound is broken", made, (0.0, 0), (50.0, 0), seen, delta=twentieth, draws=4_000, law=_law, coarse=True
        ),
        Case(
            "at the edge of the test", made, (0.0, edge), (1.0, edge + 1), seen, delta=twentieth, law=_law, coarse=True
        ),
    )
