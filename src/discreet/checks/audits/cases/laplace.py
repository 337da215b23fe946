"""Laplace noise on a grid: neighbors a whole sensitivity apart, also where snapping moves them further apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case, in_cells
from discreet.checks.audits.laws import cells_law, rounded_law
from discreet.mechanisms import Laplace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

__all__ = ["cases"]

_CELLS = [-3.5, -1.5, -0.7, -0.3, 0.2, 0.6, 1.1, 1.7, 2.6, 4.5]


def _law(mechanism: Laplace, value: float) -> dict[float, float]:
    """Rounding to a grid, values on the grid: noise in steps."""
    step, ratio = float(mechanism.grid.step), float(mechanism.scale / mechanism.grid.step)
    steps = rounded_law(lambda x: math.exp(-x / ratio) / 2, round(value / step), -60, 60)
    return {k * step: chance for k, chance in steps.items()}


def _law_in_cells(mechanism: Laplace, value: float) -> dict[int, float]:
    """On a grid that is so fine that rounding shows nowhere."""
    return cells_law(lambda x: math.exp(-x) / 2, value, float(mechanism.scale), _CELLS)


def _law_of_sums(mechanism: Laplace, value: Sequence[float]) -> dict[int, float]:
    """The sum of two, whose noise is above x with chance (2 + x) exp(-x) / 4."""
    return cells_law(lambda x: (2 + x) * math.exp(-x) / 4, sum(value), float(mechanism.scale), _CELLS)


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    wide: Fraction | str = "1/2"
    return (
        Case("a number", Laplace(1, epsilon=1), 0.0, 1.0, in_cells(_CELLS), law=_law_in_cells, coarse=True),
        Case("a number on a coarse grid", Laplace(1, epsilon=1, grid=wide), 0.0, 1.0, law=_law),
        # 0.24 and 1.26 are 1.02 apart and are snapped to 0 and 1.5: the step is part of the promise.
        Case("neighbors that snapping moves apart", Laplace("1.02", epsilon=2, grid=wide), 0.24, 1.26, law=_law),
        Case(
            "two numbers",
            Laplace(2, epsilon=1, dimensions=2),
            [0.0, 0.0],
            [1.0, 1.0],
            in_cells(_CELLS, sum),
            law=_law_of_sums,
            coarse=True,
        ),
    )
