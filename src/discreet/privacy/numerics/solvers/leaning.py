"""Lower ends where each point of a profile is attained by some pair of neighbors, but not all by the same one.

A mechanism of bounded range has, for every 0 < t < epsilon, neighbors with the two losses t and t - epsilon. One use
attains its profile point by point, each with another t. In a composition the neighbors are chosen once, before any
answer: one t for each use. For equal uses Dong, Durfee & Rogers 2020 (arXiv:1909.13830) show that equal t are best, and
which; here all uses lean alike, t = share * epsilon. Adaptive composition may cost more, which only the upper end
covers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from discreet.privacy.numerics.losses.bounded_range import BoundedRangeLoss
from discreet.privacy.numerics.losses.loss import Direction
from discreet.privacy.numerics.solvers.contour import chernoff_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.numerics.losses.loss import Loss, Reals
    from discreet.privacy.numerics.solvers.single import Ends

SHARES = 1 - 0.5 * np.geomspace(1.0, 1e-9, 28)
"""How much of the interval of losses may lie above 0: half of it, up to nearly all."""

ORDERS = 2.0 ** np.linspace(-2.0, 2.0, 17)
"""Around the order that is best for the upper end, those at which the pairs are compared."""

MOST_EQUAL = 2048
"""Equal uses up to which the chances of all sums are listed for every candidate."""

NARROW = 1e-3
"""How far from where the pair was chosen, relatively, it is worth choosing again."""

ROUNDS = 2
"""How often."""


def leaning(direction: Direction, epsilon: float) -> Direction:
    """Return an attained composition whose delta at this epsilon is large; each of them gives lower ends."""
    if not any(loss.leans for loss, _ in direction.parts) or not 0 < epsilon < math.inf:
        return direction.below()
    if epsilon >= direction.top:
        return _at(direction, float(SHARES[-1]))
    loss, count = direction.parts[0]
    if len(direction.parts) == 1 and isinstance(loss, BoundedRangeLoss) and count <= MOST_EQUAL:
        return _at(direction, _best_of_equal(loss, count, epsilon))
    return _at(direction, _best_by_saddle(direction, epsilon))


def leaning_epsilon(direction: Direction, upper: float, ends: Callable[[Direction], Ends]) -> float:
    """Return the lower end of epsilon: the pair is chosen at the upper end, then again at what the last one gave."""
    place, lower = upper, ends(leaning(direction, upper))[0]
    for _ in range(ROUNDS):
        if not abs(lower - place) > NARROW * place or not any(loss.leans for loss, _ in direction.parts):
            break
        place, lower = lower, max(lower, ends(leaning(direction, lower))[0])
    return lower


def _at(direction: Direction, share: float) -> Direction:
    """Let all losses that can lean do so by the same share."""
    lower: list[tuple[Loss | None, int]] = [
        (loss.lean(share) if loss.leans else loss.below(), n) for loss, n in direction.parts
    ]
    return Direction(tuple((loss, n) for loss, n in lower if loss is not None))


def _best_of_equal(loss: BoundedRangeLoss, count: int, epsilon: float) -> float:
    """Sum delta for each of the candidates t = (a + (l + 1) e) / (k + 1), l = 0 .. k, that can be best at a.

    Between two of them the same sums k t - i e, i <= l, lie above a, and the delta of these has this one maximum
    (Dong, Durfee & Rogers 2020, arXiv:1909.13830).
    """
    e = loss.epsilon
    t = (epsilon + e * np.arange(1, count + 2)) / (count + 1)
    t = t[(t >= 0.5 * e) & (t < e)]
    if not len(t):
        return 0.5
    if len(t) > len(SHARES):  # neighbors hardly differ
        t = t[np.linspace(0, len(t) - 1, len(SHARES)).astype(int)]
    low = np.arange(count + 1)
    ways = gammaln(count + 1) - gammaln(low + 1) - gammaln(count - low + 1)
    high_mass, low_mass = np.log(-np.expm1(t - e)), np.log(-np.expm1(-t)) + t - e
    logs = ways + np.multiply.outer(high_mass, count - low) + np.multiply.outer(low_mass, low)
    logs -= count * np.log(-np.expm1(-e))
    sums = (count * t)[:, None] - low * e
    deltas = (np.exp(logs) * -np.expm1(np.minimum(epsilon - sums, 0.0))).sum(axis=1)
    return float(t[int(np.argmax(deltas))] / e)


def _best_by_saddle(direction: Direction, epsilon: float) -> float:
    """Compare the shares by exp(K(s) - s e) / (s (s + 1) sqrt(2 pi K''(s))) at the saddle, which is near delta."""
    orders = chernoff_order(direction, epsilon) * ORDERS
    fall = -orders * epsilon - np.log(orders) - np.log1p(orders)

    def size(share: float) -> float:
        curve: Reals = _at(direction, share).roughs(orders)
        slope = np.gradient(curve, orders)
        spread = np.gradient(slope, orders)
        place = int(np.argmin(curve + fall))
        return float((curve + fall)[place] - 0.5 * np.log(max(float(spread[place]), 1e-300)))

    return float(max(SHARES, key=size))
