"""Staircase noise: whole sensitivities apart, where whole stairs are crossed."""

from __future__ import annotations

import math

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import discrete_law
from discreet.mechanisms import Staircase

__all__ = ["cases"]


def _law(mechanism: Staircase, value: float) -> dict[float, float]:
    """Geng & Viswanath 2014: the mass falls by exp(-epsilon) once a period, at `near` steps into it."""
    step = 1.0 if mechanism.grid is None else float(mechanism.grid.step)
    width, near, rate = mechanism.width, mechanism.near, float(mechanism.epsilon)

    def weight(z: int) -> float:
        stairs, rest = divmod(abs(z), width)
        return math.exp(-rate * (stairs + (rest >= near)))

    law = discrete_law(weight, round(value / step), -80, 80)
    return {k * step: chance for k, chance in law.items()}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    return (
        Case("a count", Staircase(1, epsilon=1), 0, 1, law=_law, tight=True),
        Case("a sum of up to 5", Staircase(5, epsilon=1), 0, 5, law=_law, tight=True),
        Case("half of what may move", Staircase(5, epsilon=1), 0, 3, law=_law),
        Case("a number on a grid", Staircase(1, epsilon=2, grid="1/4"), 0.0, 1.0, law=_law),
    )
