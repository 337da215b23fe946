"""Rungs around a number: values as far apart as the first bound, with the law written out."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import normalized
from discreet.mechanisms import InverseSensitivity

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cases"]


def _law(mechanism: InverseSensitivity, value: tuple[float, Sequence[float]]) -> dict[float, float]:
    """Weigh every point of the grid by its rung."""
    center, bounds = value
    step = float(mechanism.grid.step)
    reaches = [0.0, *accumulate(math.ceil(bound / step) * step for bound in bounds)]
    points = [i * step for i in range(round(float(mechanism.lower) / step), round(float(mechanism.upper) / step) + 1)]
    rungs = [next((k for k, far in enumerate(reaches) if abs(y - center) <= far), len(reaches)) for y in points]
    return normalized(
        {y: math.exp(-float(mechanism.epsilon) * rung / 2) for y, rung in zip(points, rungs, strict=True)}
    )


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    made = InverseSensitivity(lower=0, upper=8, grid=1, epsilon=2)
    fine = InverseSensitivity(lower=0, upper=8, grid="1/2", epsilon=1)
    return (
        Case("small steps", made, (4.0, (1, 1, 2)), (5.0, (1, 1, 1)), law=_law),
        Case("one step to either end", made, (0.0, (8,)), (8.0, (8,)), law=_law),
        Case("between points of the grid", fine, (2.25, (1, 2, 3)), (3.25, (1, 1, 2)), law=_law),
    )
