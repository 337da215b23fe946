"""The best lower bound on a test's false negative rate that points of a privacy profile give."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def best_tradeoff(delta: Callable[[float], float], fpr: float) -> float:
    """Maximize max(0, 1 - delta(e) - exp(e) x, exp(-e) (1 - delta(e) - x)) over e >= 0.

    Every e gives a valid bound, so the search need not be perfect. The first form is concave in exp(e); the second is
    searched on the same points.
    """

    def bound(epsilon: float) -> float:
        rest = 1 - delta(epsilon)
        first = rest - math.exp(min(epsilon, 700.0)) * fpr
        return max(first, math.exp(-epsilon) * (rest - fpr), 0.0) * (1 - 2.0**-50)

    points, values = [0.0], [bound(0.0)]
    for k in range(-8, 8):
        points.append(2.0**k)
        values.append(bound(points[-1]))
        fell = values[-1] < values[-2] and values[-1] < 0.9 * max(values)
        if fell or delta(points[-1]) < 1e-12:  # beyond, no epsilon gives a better bound by more than 1e-12
            break
    best = max(range(len(points)), key=values.__getitem__)
    low, high = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    highest = values[best]
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(14):
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = bound(left), bound(right)
        highest = max(highest, at_left, at_right)
        if at_left > at_right:
            high = right
        else:
            low = left
    return highest
