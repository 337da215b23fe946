"""Hints where the best Renyi order lies: floats that no bound depends on, as every order gives a valid one."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["allowance_order", "best_order", "float_log"]

_FARTHEST = 600.0  # exponents up to this leave room for products of two exponentials


def float_log(value: Fraction) -> float:
    """Return the logarithm of a positive fraction of any size.

    >>> round(float_log(Fraction(1, 10**400)), 6)
    -921.034037
    """
    return math.log(value.numerator) - math.log(value.denominator)


def best_order(rho: Fraction, delta: Fraction) -> Fraction:
    """Return a nearly optimal order at which rho-zCDP becomes (epsilon, delta).

    The bound to be minimized over the order a is rho a + log(1 - 1/a) - (log(delta) + log(a)) / (a - 1).

    >>> 5 < best_order(Fraction(1, 2), Fraction(1, 10**6)) < 7
    True
    """
    target, size = -float_log(delta), float_log(rho)

    def epsilon(shift: float) -> float:
        above = math.exp(shift)  # order - 1
        order = 1 + above
        return _exp(size + math.log(order)) - math.log1p(1 / above) + (target - math.log(order)) / above

    start = 0.5 * (math.log(max(target, 1.0)) - size)
    return 1 + Fraction(math.exp(_golden(epsilon, start - 8, start + 8)))


def allowance_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a nearly optimal order at which a budget (epsilon, delta) becomes a rho.

    >>> 20 < allowance_order(Fraction(1), Fraction(1, 10**6)) < 40
    True
    """
    target = -float_log(delta)
    size = float_log(epsilon) if epsilon else -_FARTHEST

    def loss(shift: float) -> float:
        above = math.exp(shift)
        order = 1 + above
        penalty = -math.log1p(1 / above) + (target - math.log(order)) / above
        return -(_exp(size) - penalty) / order

    start = math.log(max(target, 1.0)) - size
    return 1 + Fraction(math.exp(_golden(loss, start - 12, start + 12)))


def _exp(value: float) -> float:
    """Return the exponential, capped where a float ends."""
    return math.exp(min(value, 700.0))


def _golden(function: Callable[[float], float], low: float, high: float) -> float:
    """Minimize by golden-section search within what exponentials can hold."""
    low, high = (min(max(end, -_FARTHEST), _FARTHEST) for end in (low, high))
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    while high - low > 1e-9:
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
    return (low + high) / 2
