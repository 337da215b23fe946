"""Minimize a quasi-convex function of one positive order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def minimize(bound: Callable[[float], float]) -> tuple[float, float]:
    """Minimize a quasi-convex function of a positive order: bracket by factors of four, then golden section; return (order, minimum)."""
    center, value = 1.0, bound(1.0)
    for factor in (4.0, 0.25):
        while 1e-30 < center * factor < 1e30:
            other = bound(center * factor)
            if not other < value:
                break
            center, value = center * factor, other
    low, high = math.log(center / 4), math.log(center * 4)
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = bound(math.exp(left)), bound(math.exp(right))
    for _ in range(8):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = bound(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = bound(math.exp(right))
    best = min((value, center), (at_left, math.exp(left)), (at_right, math.exp(right)))
    return best[1], best[0]
