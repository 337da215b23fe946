"""Exact quantiles of the noise: how far it reaches with a stated probability."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.exact import Interval, exp_lower, exp_upper

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "discrete_gaussian_above",
    "discrete_gaussian_reach",
    "discrete_laplace_above",
    "discrete_laplace_reach",
    "rounded_gaussian_reach",
    "rounded_laplace_reach",
    "staircase_reach",
]

_SUMMED = 2_000  # discrete Gaussian weights are added up to this sigma
_SLACK = 1e-12  # relative, for the errors of erfc and of sums


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


def rounded_gaussian_reach(sigma: Fraction, miss: Fraction) -> int:
    """Return the smallest m with Pr[|N| > m] <= miss for N the integer nearest to normal noise of this sigma.

    |N| > m means |Z| > m + 1/2, of probability erfc((m + 1/2) / (sigma sqrt(2))).

    >>> rounded_gaussian_reach(Fraction(100), Fraction(1, 20))
    196
    """
    width = float(sigma) * math.sqrt(2)
    return _smallest(lambda m: math.erfc((m + 0.5) / width) <= float(miss) * (1 + _SLACK))


def discrete_gaussian_reach(sigma: Fraction, miss: Fraction) -> int:
    """Return the smallest m with Pr[|Z| > m] <= miss for Pr[Z = z] proportional to exp(-z**2 / (2 sigma**2)).

    Up to a sigma of 2000 the weights are added. Beyond, the tail is bounded by that of the rounded normal law, which
    gives the same m or one more: exp(-x**2 / (2 sigma**2)) is convex from sigma on, where a weight is at most the
    integral over its cell, and concave below, where it is at least that; and the weights' sum is sigma sqrt(2 pi)
    (1 + 2 exp(-2 pi**2 sigma**2) + ...), by Poisson summation.

    >>> discrete_gaussian_reach(Fraction(1), Fraction(1, 20))
    2
    """
    width = float(sigma)
    if width > _SUMMED:
        return rounded_gaussian_reach(sigma, miss)
    most = math.ceil(40 * width) + 1  # exp(-800) of the largest weight
    weights = np.exp(-((np.arange(most + 1) / width) ** 2) / 2)
    tails = 2 * np.cumsum(weights[::-1])[::-1]  # at m: twice the sum from m on; small terms are added first
    total = float(tails[1]) + 1.0
    fits = tails[1:] / total <= float(miss) * (1 + _SLACK)
    return int(np.argmax(fits)) if fits.any() else most


def staircase_reach(epsilon: Fraction, sensitivity: int, near: int, miss: Fraction) -> int:
    """Return the smallest m with Pr[|Z| > m] <= miss for the staircase law on the integers.

    With b = exp(-epsilon) and S = near + (sensitivity - near) b, the weights b**k and b**(k+1) of the magnitudes
    k * sensitivity + j, j below near or not, sum to S / (1 - b), and those from k * sensitivity + j on to
    b**k (max(near - j, 0) + b (sensitivity - max(j, near))) + b**(k+1) S / (1 - b).
    All magnitudes but 0 have two signs.

    >>> staircase_reach(Fraction(1, 10), 1, 1, Fraction(1, 20)) == discrete_laplace_reach(Fraction(10), Fraction(1, 20))
    True
    """
    rate, whole = float(epsilon), float(sensitivity)
    fall, rest = math.exp(-rate), -math.expm1(-rate)
    period = near + (whole - near) * fall
    total = 2 * period / rest - 1

    def fits(m: int) -> bool:
        k, j = divmod(m + 1, sensitivity)
        here = max(near - j, 0) + fall * (sensitivity - max(j, near))
        return 2 * math.exp(-rate * k) * (here + fall * period / rest) <= float(miss) * total * (1 + _SLACK)

    return _smallest(fits)


def _smallest(fits: Callable[[int], bool]) -> int:
    """Return the smallest whole number that fits, where all larger ones do."""
    high = 1
    while not fits(high - 1):
        high *= 2
    low = high // 2 - 1  # -1, or a number that does not fit
    high -= 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _ceiling(bound: Callable[[int], Interval]) -> int:
    """Round up what is enclosed ever more closely, until both ends agree (Ziv 1991)."""
    precision = 128
    while True:
        ends = bound(precision)
        low, high = math.ceil(ends.lower), math.ceil(ends.upper)
        if low == high or precision >= 1 << 14:  # at equality, which no precision decides, the larger one is safe
            return high
        precision *= 2


def discrete_laplace_above(scale: Fraction, distance: int) -> Fraction:
    """Return Pr[Z >= distance] for Pr[Z = z] proportional to exp(-|z| / scale), rounded up to a float.

    With r = exp(-1/scale) it is r**distance / (1 + r) from 1 on, 1 - r**(1 - distance) / (1 + r) below.

    >>> float(discrete_laplace_above(Fraction(1), 0)) + float(discrete_laplace_above(Fraction(1), 1)) >= 1
    True
    """
    ratio_low, ratio_high = exp_lower(-1 / scale), exp_upper(-1 / scale)
    if distance >= 1:
        return min(exp_upper(-distance / scale) / (1 + ratio_low), Fraction(1))
    return 1 - exp_lower((distance - 1) / scale) / (1 + ratio_high)


def discrete_gaussian_above(sigma: Fraction, distance: int) -> Fraction:
    """Bound Pr[Z >= distance] for Pr[Z = z] proportional to exp(-z**2 / (2 sigma**2)), rounded up.

    Up to a sigma of 2000 the weights are added, of which all beyond 40 sigma together are below exp(-799); a relative
    1e-12 is added for rounding. Beyond, the tail of the rounded normal law is a bound (see `discrete_gaussian_reach`).

    >>> 0.5 < discrete_gaussian_above(Fraction(1), 0) < 0.7
    True
    """
    width = float(sigma)
    if distance <= 0:
        return 1 - _gaussian_tail_low(sigma, 1 - distance)
    if width > _SUMMED:
        tail = math.erfc((distance - 0.5) / (width * math.sqrt(2))) / 2
    else:
        most = math.ceil(40 * width) + 1
        weights = np.exp(-((np.arange(most + 1) / width) ** 2) / 2)
        tail = float(np.sum(weights[distance:][::-1])) / (2 * float(np.sum(weights[1:][::-1])) + 1.0) + 1e-300
    return min(Fraction(tail) * (1 + Fraction(1, 10**12)) + Fraction(1, 10**300), Fraction(1))


def _gaussian_tail_low(sigma: Fraction, distance: int) -> Fraction:
    """Bound Pr[Z >= distance] from below, for distances from 1 on; 0 where the weights are not added."""
    width = float(sigma)
    if width > _SUMMED:
        return Fraction(0)
    weights = np.exp(-((np.arange(math.ceil(40 * width) + 2) / width) ** 2) / 2)
    tail = float(np.sum(weights[distance:][::-1])) / (2 * float(np.sum(weights[1:][::-1])) + 1.0)
    return Fraction(tail) * (1 - Fraction(1, 10**12))
