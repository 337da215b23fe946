"""Search along one line: the least value of a quasi-convex function, the best of a list, a crossing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.numerics.losses.loss import Reals

COARSE = 4.0 ** np.arange(-3, 9)
"""Orders among which the least value is looked for first, where no start is known."""

CLOSE = 1.5 ** np.arange(-2.0, 3.0)
"""Orders around a start, relative to it."""

BETWEEN = np.arange(-3.0, 4.0) / 4
"""Where to look between the neighbors of the best order so far."""

FIRST_STEP, LAST_STEP = 1e-12, 1e-3
"""How far, relatively, one steps up first, and last."""

JUMP = 1e-2
"""An excess beyond which the function may fall in one step, so that a step is not taken in proportion to it."""

SECANTS, SHORT = 4, 1e-7
"""How often the place is looked for more closely, and how closely it need be known, relatively."""

NEARBY = 0.02
"""How far from an order, relatively, a function is looked at to see how it bends."""


def minimize(bound: Callable[[float], float], start: float | None = None, *, rounds: int = 8) -> tuple[float, float]:
    """Return (order, minimum) of a quasi-convex function: bracket, then golden section; from a start nearby, parabolas.

    The order is good to some percent, which is what bounds need that hold for every order; with more rounds of golden
    section it is better.
    """
    factor, rounds = (4.0, rounds) if start is None else (1.6, 2)
    center = 1.0 if start is None else start
    value = bound(center)
    ends = {}
    for way in (factor, 1 / factor):
        while 1e-30 < center * way < 1e30:
            other = bound(center * way)
            if not other < value:
                ends[way] = other
                break
            ends[1 / way] = value
            center, value = center * way, other
        if way > 1 and 1 / way in ends:
            break
    low, high = math.log(center / factor), math.log(center * factor)
    if start is not None and len(ends) > 1:
        return _parabola(bound, (low, ends[1 / factor]), (math.log(center), value), (high, ends[factor]), rounds)
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = bound(math.exp(left)), bound(math.exp(right))
    for _ in range(rounds):
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


def polish(bound: Callable[[float], float], order: float, value: float) -> float:
    """Return the least value near an order that is good to some percent: at the lowest point of a parabola."""
    left, right = bound(order * (1 - NEARBY)), bound(order * (1 + NEARBY))
    bend = left + right - 2 * value
    if not 0 < bend < math.inf:
        return min(value, left, right)
    step = 0.5 * (left - right) / bend
    return min(value, left, right, bound(order * (1 + NEARBY * min(max(step, -5.0), 5.0))))


def minimize_at_once(bounds: Callable[[Reals], Reals], start: float | None = None) -> float:
    """Return the order of the least value of a quasi-convex function that is evaluated at many orders at once.

    Like `minimize`, it is good to some percent, also where the function has a cusp.
    """
    orders, factor = (COARSE, 4.0) if start is None else (start * CLOSE, 1.5)
    values = _finite(bounds(orders))
    best = int(values.argmin())
    while best in {0, len(orders) - 1} and 1e-30 < orders[best] < 1e30:  # the least value lies farther out
        orders = orders * (orders[best] / orders[len(orders) // 2])
        values = _finite(bounds(orders))
        best = int(values.argmin())
    for _ in range(2 if start is None else 1):
        orders, factor = orders[best] * factor**BETWEEN, factor**0.25
        values = _finite(bounds(orders))
        best = int(values.argmin())
    return float(orders[best])


def _finite(values: Reals) -> Reals:
    """Put infinity where there is no number."""
    return np.asarray(np.where(np.isnan(values), np.inf, values))


Point = tuple[float, float]


def _parabola(
    bound: Callable[[float], float], left: Point, middle: Point, right: Point, rounds: int
) -> tuple[float, float]:
    """Step to the lowest point of the parabola through three points (of logarithms of the order) a few times."""
    for _ in range(rounds):
        (a, at_a), (b, at_b), (c, at_c) = left, middle, right
        bend = (b - a) * (at_b - at_c) - (b - c) * (at_b - at_a)
        if not 0 < abs(bend) < math.inf:
            break
        place = b - 0.5 * ((b - a) ** 2 * (at_b - at_c) - (b - c) ** 2 * (at_b - at_a)) / bend
        if not a < place < c or abs(place - b) < 1e-2:
            break
        point = place, bound(math.exp(place))
        outer, inner = (middle, point) if point[1] > at_b else (point, middle)
        if outer is middle:  # the middle stays the lowest: the new point becomes an end
            left, right = (point, right) if place < b else (left, point)
        else:
            left, middle, right = (left, point, inner) if place < b else (inner, point, right)
    return math.exp(middle[0]), middle[1]


def climb(value: Callable[[int], float], count: int, first: int) -> tuple[float, int]:
    """Return the best value found by walking over 0..count-1 from `first` as long as it rises, and its place.

    Zeros are walked away from towards smaller places. Nothing says that a better value is not farther away: only use it
    where every value is valid and the best is merely wanted.
    """
    place, best = first, value(first)
    while best == 0 < place:
        place -= 1
        best = value(place)
    for way in (1, -1):
        while 0 <= place + way < count:
            neighbor = value(place + way)
            if not neighbor > best:
                break
            best, place = neighbor, place + way
    return best, place


def lowest_below(excess: Callable[[float], float], start: float, least: float, most: float) -> float | None:
    """Return a point where a falling function is at most 0, not much larger than the first such one.

    It begins at a start, which is taken if it serves already, and goes on along secants. What it returns was
    evaluated; None if the function is positive at `most`.
    """
    point = min(max(start, 1.02 * least), most)
    low = point, excess(point)
    if low[1] <= 0:
        return point
    point = min(point * (4.0 if low[1] > 12 else 1.5 if low[1] > 6 else 1.25), most)
    for turn in range(40):
        value = excess(point)
        if value <= 0:
            break
        if point >= most:
            return None
        slope = (low[1] - value) / (point - low[0]) if value < math.inf else 0.0
        low, guess = (point, value), point + 1.1 * value / slope if slope > 0 else math.inf
        point = most if guess > 4 * most or turn > 6 else min(max(guess, 1.5 * point), 12 * point, most)
    high = point, value
    while high[0] > 1.25 * low[0]:
        share = low[1] / (low[1] - high[1]) if low[1] < math.inf else 0.5
        line, power = low[0] + share * (high[0] - low[0]), low[0] * (high[0] / low[0]) ** share
        if high[0] < 1.15 * line:
            break
        point = min(max(1.02 * math.sqrt(line * power), 1.1 * low[0]), 0.9 * high[0])
        value = excess(point)
        low, high = ((point, value), high) if value > 0 else (low, (point, value))
    return high[0]


def crossing(excess: Callable[[float], float], above: float, rate: float) -> float:
    """Return a point near the zero of a decreasing function with excess(above) <= 0, or 0 if it is negative there.

    First steps down from `above` guided by the rate of decrease, doubling, until the sign turns; then the Illinois
    variant of regula falsi, with bisection whenever it stalls. Functions with kinks are welcome.
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


def step_up(excess: Callable[[float], float], start: float) -> float:
    """Return a place at or a little above the start where a falling function is at most 0; else the start."""
    low, at_low = start, excess(start)
    if not at_low > 0:
        return start
    unit = max(start, 1e-3)
    high = start + (FIRST_STEP if at_low > JUMP else max(FIRST_STEP, 0.1 * at_low)) * unit
    while (at_high := excess(high)) > 0:
        if high > start + LAST_STEP * unit:
            return start
        low, at_low, high = high, at_high, start + 8 * (high - start)
    for turn in range(SECANTS):
        if high - low <= SHORT * unit:
            break
        # a secant, and every other time the middle: where the function jumps to 0, secants stand still
        share = at_low / (at_low - at_high) if turn % 2 == 0 and at_high > -math.inf else 0.5
        middle = low + min(max(1.05 * share, 0.05), 0.95) * (high - low)
        value = excess(middle)
        low, at_low, high, at_high = (middle, value, high, at_high) if value > 0 else (low, at_low, middle, value)
    return high
