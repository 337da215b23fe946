"""Deltas below the smallest float: bounds on epsilon that need the logarithm of delta alone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.privacy.numerics.losses.loss import log_conversion
from discreet.privacy.numerics.losses.moments import RenyiLoss
from discreet.privacy.numerics.losses.product import simplify

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Direction

UNDERFLOW = -746.0
"""The logarithm of half the smallest float, and a little less."""

ORDERS = tuple(2.0 ** (i / 4) for i in range(-40, 69))
"""From 0.001 to 131,072, each a fifth above the one before; moments of far higher orders cost time and save little."""


def far_epsilon(direction: Direction, delta: Fraction) -> float:
    """Return an upper bound on epsilon at a positive delta of any size, in one direction.

    delta(e) <= exp(K(s) - s e + log_conversion(s)) for every order s where nothing leaks, so every order gives a bound,
    e = (K(s) + log_conversion(s) - log(delta)) / s (Canonne, Kamath & Steinke 2020, arXiv:2004.00010,
    Proposition 12). It is a few percent above the truth; the largest loss bounds it as well.
    """
    direction = simplify(direction)
    top = max(direction.top, 0.0)
    if direction.infinity > 0:
        return math.inf
    target = math.log(delta.numerator) - math.log(delta.denominator) - 1e-9
    least = math.inf
    for order in ORDERS:
        bound = (direction.renyi(order) + log_conversion(order) - target) / order
        if bound > 1.1 * least:  # the bound is quasi-convex: beyond its minimum it only rises
            break
        least = min(least, bound)
    return min(max(least * (1 + 1e-12), 0.0), top)


def vanishes(direction: Direction, epsilon: float) -> bool:
    """Whether the Renyi bound, at orders that are cheap, proves delta at this epsilon to be below the smallest float.

    exp(K(s) - s e + log_conversion(s)) bounds delta; orders of far more than these are costly for sampled mechanisms.
    """
    if direction.infinity > 0:
        return False
    bounds = (direction.renyi(order) - order * epsilon + log_conversion(order) for order in ORDERS)
    return any(bound < UNDERFLOW for bound in bounds)


def listed_epsilon(direction: Direction, delta: Fraction) -> float:
    """Return the bound on epsilon at the listed orders of Renyi promises; inf where there are none.

    A search among all orders starts at 2 and finds nothing where every listed order is smaller.
    """
    orders = [order for loss, _ in direction.parts if isinstance(loss, RenyiLoss) for order in loss.orders]
    room = delta - Fraction(direction.infinity * (1 + 1e-9))
    if room <= 0:
        return math.inf
    target = math.log(room.numerator) - math.log(room.denominator) - 1e-9
    bounds = [(direction.renyi(order) + log_conversion(order) - target) / order for order in orders]
    return max(min(bounds, default=math.inf) * (1 + 1e-12), 0.0)
