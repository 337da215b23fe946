"""Exact quantiles of the noise: how far it reaches with a stated probability."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.exact import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["discrete_laplace_reach", "rounded_laplace_reach"]


def discrete_laplace_reach(scale: Fraction, miss: Fraction) -> int:
    """Return the smallest m with Pr[|Z| > m] <= miss for Pr[Z = z] proportional to exp(-|z| / scale).

    With r = exp(-1/scale), Pr[|Z| > m] = 2 r**(m+1) / (1 + r), which is at most miss from
    m + 1 >= scale * ln(2 / (miss (1 + r))) on.

    >>> discrete_laplace_reach(Fraction(10), Fraction(1, 20))
    30
    """

    def bound(precision: int) -> Interval:
        ratio = Interval.of(-1 / scale, precision).exp()
        whole = Interval.of(2, precision) / (ratio + ratio.constant(1)).scaled(miss)
        return whole.log().scaled(scale)

    return max(_ceiling(bound) - 1, 0)


def rounded_laplace_reach(scale: Fraction, miss: Fraction) -> int:
    """Return the smallest m with Pr[|N| > m] <= miss for N the integer nearest to Laplace noise of this scale.

    |N| > m means |Z| > m + 1/2, of probability exp(-(m + 1/2) / scale).

    >>> rounded_laplace_reach(Fraction(10), Fraction(1, 20))
    30
    """

    def bound(precision: int) -> Interval:
        return (-Interval.of(miss, precision).log()).scaled(scale) - Interval.of(Fraction(1, 2), precision)

    return max(_ceiling(bound), 0)


def _ceiling(bound: Callable[[int], Interval]) -> int:
    """Round up what is enclosed ever more closely, until both ends agree (Ziv 1991)."""
    precision = 128
    while True:
        ends = bound(precision)
        low, high = math.ceil(ends.lower), math.ceil(ends.upper)
        if low == high or precision >= 1 << 14:  # at equality, which no precision decides, the larger one is safe
            return high
        precision *= 2
