"""Gaussian noise on a grid: a number, and a vector whose whole move the sum of coordinates shows."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.checks.audits.case import Case, summed
from discreet.checks.audits.laws import rounded_law
from discreet.mechanisms import Gaussian

__all__ = ["cases"]


def _law(mechanism: Gaussian, value: float) -> dict[float, float]:
    step, ratio = float(mechanism.grid.step), float(mechanism.sigma / mechanism.grid.step)
    steps = rounded_law(lambda x: math.erfc(x / ratio / math.sqrt(2)) / 2, round(value / step), -60, 60)
    return {k * step: chance for k, chance in steps.items()}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    tenth = Fraction(1, 10)
    return (
        Case("a number", Gaussian(1, epsilon=1, delta="0.1"), 0.0, 1.0, delta=tenth, draws=4_000),
        Case("a number on a coarse grid", Gaussian(1, sigma=1, grid="1/2"), 0.0, 1.0, delta=tenth, law=_law),
        Case("moved apart by the snap", Gaussian("1.02", sigma=1, grid="1/2"), 0.24, 1.26, delta=tenth, law=_law),
        Case("four numbers", Gaussian(2, sigma=2, dimensions=4), [0.0] * 4, [1.0] * 4, summed, tenth, 2_000),
    )
