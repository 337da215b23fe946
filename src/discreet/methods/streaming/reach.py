"""How far the noise of one running sum reaches: bounds on sums of independent noises."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

__all__ = ["gaussian_sum_reach", "laplace_count_reach", "laplace_sum_reach"]

_MOST_COUNTED = 300


def gaussian_sum_reach(spread: float, least: float, miss: float) -> float:
    """Bound a weighted sum of discrete Gaussians with the sum of squares spread**2, up to this chance.

    Each is subgaussian with its sigma (Canonne, Kamath & Steinke 2020, arXiv:2004.00010, Corollary 17), so the sum
    exceeds spread * sqrt(2 ln(2 / miss)) with at most this chance. Where each sigma is at least 4 steps of its lattice
    (`least`), a draw and a uniform one from its cell together are normal up to exp(-300), with variance 1/12 more.

    >>> round(gaussian_sum_reach(1.0, 1000, 0.05), 3), round(gaussian_sum_reach(1.0, 1, 0.05), 3)
    (1.96, 2.716)
    """
    certain = spread * math.sqrt(2 * math.log(2 / miss))
    if least < 4:
        return certain
    return min(certain, spread * math.sqrt(1 + 1 / (12 * least**2)) * -NormalDist().inv_cdf(miss / 2))


def laplace_sum_reach(squares: float, largest: float, miss: float) -> float:
    """Bound a sum of Laplace noises, the squares of whose scales sum to `squares`, none larger than `largest`.

    E exp(x Z) = 1 / (1 - x^2 b^2), whose logarithm is convex in b^2 and 0 at 0, so all of them together have at most
    squares / largest^2 times the logarithm at the largest. So for every x below 1 / largest = 1 / m the sum exceeds
    (ln(2 / miss) - squares / m^2 ln(1 - x^2 m^2)) / x with at most this chance. Discrete noise has a smaller moment:
    (cosh(x) - 1) / (cosh(1/b) - 1) is at most x^2 b^2.

    >>> round(laplace_sum_reach(100.0, 1.0, 0.05), 1)
    38.8
    """
    if not squares:
        return 0.0
    target = math.log(2 / miss)
    rates = [place / 200 / largest for place in range(1, 200)]
    best = min(rates[-1], math.sqrt(target / squares))
    count = squares / largest**2
    return min((target - count * math.log1p(-((x * largest) ** 2))) / x for x in (*rates, best))


@lru_cache(maxsize=1024)
def laplace_count_reach(count: int, miss: float) -> float:
    r"""Bound the sum of so many Laplace noises of scale 1, exactly up to 300 of them.

    It is the difference of two Gamma(n) variables. The first exceeds the second by a if fewer than n points of a
    Poisson process fall into a + the second: $\sum_{i + m < n} e^{-a} a^i / i! \binom{n + m - 1}{m} 2^{-(n + m)}$.

    >>> round(laplace_count_reach(1, 0.05), 3) == round(math.log(20), 3)
    True
    """
    if count > _MOST_COUNTED:
        return laplace_sum_reach(float(count), 1.0, miss)
    shares = [math.comb(count + m - 1, m) / 2 ** (count + m) for m in range(count)]
    sums = [math.fsum(shares[: count - i]) for i in range(count)]

    def above(a: float) -> float:
        return math.fsum(math.exp(-a + i * math.log(a) - math.lgamma(i + 1)) * sums[i] for i in range(count))

    low, high = 1e-12, laplace_sum_reach(float(count), 1.0, miss)
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * above(middle) > miss else (low, middle)
    return high
