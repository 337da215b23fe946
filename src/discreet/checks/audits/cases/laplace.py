"""Laplace noise on a grid: neighbors a whole sensitivity apart, also where snapping moves them further apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case, summed
from discreet.checks.audits.laws import rounded_law
from discreet.mechanisms import Laplace

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["cases"]


def _law(mechanism: Laplace, value: float) -> dict[float, float]:
    """Rounding to a grid, values on the grid: noise in steps."""
    step, ratio = float(mechanism.grid.step), float(mechanism.scale / mechanism.grid.step)
    steps = rounded_law(lambda x: math.exp(-x / ratio) / 2, round(value / step), -60, 60)
    return {k * step: chance for k, chance in steps.items()}


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    wide: Fraction | str = "1/2"
    return (
        Case("a number", Laplace(1, epsilon=1), 0.0, 1.0),
        Case("a number on a coarse grid", Laplace(1, epsilon=1, grid=wide), 0.0, 1.0, law=_law),
        # 0.24 and 1.26 are 1.02 apart and are snapped to 0 and 1.5: the step is part of the promise.
        Case("neighbors that snapping moves apart", Laplace("1.02", epsilon=2, grid=wide), 0.24, 1.26, law=_law),
        Case("two numbers", Laplace(2, epsilon=1, dimensions=2), [0.0, 0.0], [1.0, 1.0], summed, draws=2_000),
    )
