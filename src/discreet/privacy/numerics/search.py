"""Search along one line: the least value of a quasi-convex function, the best of a list, a crossing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def minimize(bound: Callable[[float], float]) -> tuple[float, float]:
    """Return (order, minimum) of a quasi-convex function: bracket by factors of four, then golden section."""
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


def climb(value: Callable[[int], float], count: int, first: int) -> tuple[float, int]:
    """Return the best value found by walking over 0..count-1 from `first` as long as it rises, and its place.

    Zeros are walked away from towards smaller places. Nothing says that a better value is not farther away: only use it
    where every value is valid and the best is merely wanted.
    """
    place, best = first, value(first)
    while best <= 0 < place:
        place -= 1
        best = value(place)
    for way in (1, -1):
        while 0 <= place + way < count:
            found = value(place + way)
            if not found > best:
                break
            best, place = found, place + way
    return best, place


def crossing(excess: Callable[[float], float], above: float, rate: float) -> float:
    """Return a point near the zero of a decreasing function with excess(above) <= 0, or 0 if it is negative there.

    First steps down from `above` guided by the rate of decrease, doubling, until the sign turns; then the Illinois
    variant
    of regula falsi, with bisection whenever it stalls. Functions with kinks are welcome.
    """
    high, at_high = above, excess(above)
    if at_high > 0:
        return above
    step = max(-at_high / rate, 1e-9 * above)
    low = max(high - 1.1 * step, 0.0)
    at_low = excess(low)
    while at_low < 0 and low > 0:
        high, at_high = low, at_low
        step *= 2
        low = max(low - step, 0.0)
        at_low = excess(low)
    if at_low <= 0:
        return low
    side = 0
    for turn in range(60):
        if high - low <= 1e-12 * high:
            break
        slope = at_low - at_high
        middle = low + (high - low) * (0.5 if turn % 8 == 7 or not slope < math.inf else at_low / slope)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        value = excess(middle)
        if abs(value) < 1e-12:
            return middle
        if value > 0:
            low, at_low = middle, value
            at_high *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            high, at_high = middle, value
            at_low *= 0.5 if side == -1 else 1.0
            side = -1
    return high
