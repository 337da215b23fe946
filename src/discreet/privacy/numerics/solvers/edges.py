"""Where delta hardly exceeds the mass at infinity, or the mass of the largest loss decides: epsilon by that loss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.privacy.numerics.losses.loss import Direction
    from discreet.privacy.numerics.solvers.single import Ends


def at_zero(direction: Direction) -> Ends:
    """Delta leaves nothing beyond the mass at infinity: epsilon is the largest finite loss."""
    top = direction.top
    if math.isinf(top):
        return math.inf, math.inf
    return max(direction.least_top, 0.0), max(top, 0.0)


def near_top(direction: Direction, delta: float) -> Ends | None:
    """Use the mass at the largest loss: delta(e) - infinity >= Pr[L = top] (1 - exp(e - top))."""
    top, peak = direction.top, direction.peak
    if math.isinf(top) or peak == -math.inf:
        return None
    share = math.log(delta - direction.certain) - peak
    if share >= -1e-300 or -math.log1p(-math.exp(share)) > 1e-7 * top or direction.least_top < (1 - 1e-7) * top:
        return None
    return max(direction.least_top + math.log1p(-math.exp(share)) - 1e-14 * top, 0.0), top


def at_leak(ends: Ends, direction: Direction, leak: tuple[Fraction, Fraction] | None, delta: Fraction) -> Ends:
    """Correct an interval by bounds on the chance of an infinite loss, which floats cannot tell from delta.

    From that chance on epsilon is at most the largest finite loss, and below it infinite. At the very chance it is the
    largest finite loss if that has some mass: delta(e) exceeds the chance for every smaller e.
    """
    if leak is None:
        return ends
    least, most = leak
    if least > delta:
        return math.inf, math.inf
    if most > delta:  # between the bounds
        return ends[0], math.inf
    lower, upper = ends[0], min(ends[1], max(direction.full_top, 0.0))
    if least == delta > 0 and direction.attained and direction.peak > -math.inf:
        lower = max(lower, at_zero(direction)[0])
    return min(lower, upper), upper
