"""One mechanism, used once: its own formula for delta, and its inverse."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ContradictionWarning
from discreet.privacy.numerics.losses.loss import SLACK, ULP

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.numerics.losses.loss import Loss

POWERS = np.append(np.arange(-60, 64), np.arange(64, 520, 8))
"""The powers of two among which a crossing is looked for first."""

GRID = 48
"""Points of one grid on which a profile is looked at while its crossing is searched for."""

NEAR = 0.1
"""How far, relatively, the profile may be from its target where secants take over from grids."""

NUDGE = 1e-5
"""How far, relatively, a profile is followed to see how fast it falls."""

ROUNDED = 1e-12
"""Two certified ends may pass each other by this share, and are then taken to be equal."""

SMALLEST = 5e-324
"""What is positive but too small for a float is rounded up to this."""

Ends = tuple[float, float]


def _blur(loss: Loss, epsilon: float) -> float:
    """Return how far rounding of epsilon and of the parameters can move a loss: four ulps of both."""
    return 4 * ULP * (epsilon + (loss.top if math.isfinite(loss.top) else epsilon))


def single_delta(loss: Loss, epsilon: float) -> Ends:
    """Evaluate the formula a few ulps to either side of epsilon: near the largest loss it would cancel."""
    blur = _blur(loss, epsilon)
    high, low = np.abs(loss.delta(np.asarray([max(epsilon - blur, 0.0), epsilon + blur])))
    return max(float(low) * (1 - SLACK) - loss.unsure, 0.0), max(min(float(high) * (1 + SLACK), 1.0), SMALLEST)


def meet(one: Ends, other: Ends) -> Ends:
    """Intersect two intervals around one number; should they contradict each other, which none may, take both."""
    lower, upper = max(one[0], other[0]), min(one[1], other[1])
    if lower <= upper * (1 + ROUNDED):
        return min(lower, upper), upper
    _contradict(one, other)
    return min(one[0], other[0]), max(one[1], other[1])


def ordered(lower: float, upper: float) -> Ends:
    """Join two ends that were certified apart; should they contradict each other, which they may not, swap them."""
    if lower <= upper * (1 + ROUNDED):
        return min(lower, upper), upper
    _contradict((lower, math.inf), (0.0, upper))
    return upper, lower


def _contradict(one: Ends, other: Ends) -> None:
    """Say loudly that one of two certified intervals is false; the caller goes on with the larger upper end."""
    msg = (
        f"the certified intervals {one} and {other} of one number have nothing in common, so one of them is false. "
        "The larger upper end is used. This is a bug in Discreet: please report the curve that was asked."
    )
    warnings.warn(msg, ContradictionWarning, stacklevel=4)


def invert(loss: Loss, delta: float) -> Ends:
    """Solve loss.delta(e) = delta, then step outward to where both ends of its error interval agree.

    -d log(delta) / de decides how far the granted error reaches; an estimate serves, as each end is confirmed.
    """
    solved = loss.solve(delta)
    if solved is not None:
        here, rate = solved
        ends = _confirmed(loss, here, delta, rate)
        if ends is not None:
            return ends
    start = float(loss.delta(np.zeros(1))[0])
    if start * (1 + SLACK) <= delta:
        return 0.0, 0.0
    here = _scan(loss, delta)
    near, far = (float(value) for value in loss.delta(np.asarray([here, here * (1 + NUDGE)])))
    rate = math.log(max(near, 1e-320) / max(far, 1e-320)) / (NUDGE * max(here, 1e-300))
    ends = _confirmed(loss, here, delta, rate)
    if ends is not None:
        return ends
    ends = _stepped(loss, here, delta, rate)
    return ends if solved is None else meet(ends, _stepped(loss, solved[0], delta, solved[1]))


def _stepped(loss: Loss, here: float, delta: float, rate: float) -> Ends:
    """Return both ends by steps away from the crossing, ever longer ones, until each is confirmed."""

    def at(epsilon: float) -> float:
        return float(loss.delta(np.asarray([epsilon]))[0])

    width, blur = _reach(here, rate), _blur(loss, here)
    low, high = _step(at, here, delta + loss.unsure, -width), _step(at, here, delta, width)
    return max(low - blur, 0.0), min(high + blur, loss.top)


def _reach(here: float, rate: float) -> float:
    """Return how far from the crossing the granted error reaches."""
    least = 4e-15 * max(here, 1e-12)
    width = max(2 * SLACK / rate if rate > 0 else 0.0, least)
    # On a plateau, the crossing may be a steep step in front of it.
    return width if width <= 1e-7 * max(here, 1e-3) else least


def _confirmed(loss: Loss, here: float, delta: float, rate: float) -> Ends | None:
    """Return both ends a little away from the crossing; None where the certified inequalities do not hold there."""
    width, blur = _reach(here, rate), _blur(loss, here)
    low, high = max(here - width, 0.0), here + width
    above, below = loss.delta(np.asarray([low, high])).tolist()
    # Profiles fall: where the one at `low` exceeds delta, so does that at 0.
    if not above * (1 - SLACK) >= delta + loss.unsure:
        start = above if low == 0 else float(loss.delta(np.zeros(1))[0])
        if start * (1 + SLACK) <= delta:
            return 0.0, 0.0
        if low > 0:
            return None
    if not below * (1 + SLACK) <= delta:
        return None
    return max(low - blur, 0.0), min(high + blur, loss.top)


def _scan(loss: Loss, delta: float) -> float:
    """Find the crossing of a falling profile: by powers of two, ever finer grids, each evaluated at once, then secants.

    Nothing here is certified; whatever is returned, `_step` confirms both ends.
    """
    points = np.minimum(np.ldexp(1.0, POWERS), loss.top)
    for _ in range(10):
        excess = loss.delta(points) / delta - 1
        under = excess <= 0
        last = max(int(np.argmax(under)), 1) if under.any() else len(points) - 1
        low, high = float(points[last - 1]), float(points[last])
        at_low, at_high = float(excess[last - 1]), float(excess[last])
        if at_low < NEAR or high - low < 1e-14 * high:
            break
        points = np.linspace(low, high, GRID + 1)
    side = 0
    for _ in range(12):
        if not math.inf > at_low > 0 > at_high:
            break
        middle = low + (high - low) * (at_low / (at_low - at_high))  # a product of the first two may overflow
        value = float(loss.delta(np.asarray([middle]))[0]) / delta - 1
        if abs(value) < SLACK / 8:
            return middle
        # An end that stays twice is halved, so that the other side is reached as well (Illinois).
        if value > 0:
            low, at_low, at_high = middle, value, at_high * (0.5 if side > 0 else 1.0)
        else:
            high, at_high, at_low = middle, value, at_low * (0.5 if side < 0 else 1.0)
        side = 1 if value > 0 else -1
    return high


def _step(at: Callable[[float], float], here: float, delta: float, step: float) -> float:
    """Move from the crossing in the direction of the step until the certified inequality holds."""
    sign = 1 if step > 0 else -1
    for _ in range(80):
        point = max(here + step, 0.0)
        value = at(point) * (1 + sign * SLACK)
        if (value <= delta) if sign > 0 else (value >= delta or point == 0):
            return point
        step *= 2
    return math.inf if sign > 0 else 0.0
