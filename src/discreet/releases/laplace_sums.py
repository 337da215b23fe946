"""How far a few Laplace draws of different scales reach together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["laplace_sum_reach", "small_pair_reach"]

_APART = 1e-3
_ULP = 2.0**-50  # a few roundings of each term


def laplace_sum_reach(scales: list[float], chance: float) -> float:
    r"""Bound the sum of independent Laplace draws of these scales with this probability; infinite where it cannot.

    The sum's moment generating function $\prod_i 1/(1 - b_i^2 t^2)$ splits, for different scales, into partial
    fractions $\sum_i A_i / (1 - b_i^2 t^2)$ with $A_i = \prod_{j \ne i} b_i^2 / (b_i^2 - b_j^2)$: the law is a signed
    mixture of Laplace laws, and Pr[|sum| > s] = sum of A_i exp(-s / b_i), exactly. Scales that are (nearly) equal are
    moved apart upward; all laws are symmetric and unimodal, so a larger scale makes every tail of the sum larger
    (Birnbaum 1948, doi:10.1214/aoms/1177730293, on peakedness). The A_i grow where scales lie close; where they are too
    large for floats the answer is infinity, and the caller has other bounds.

    >>> round(laplace_sum_reach([1.0], 0.05), 3), round(laplace_sum_reach([1.0, 2.0], 0.05), 2)
    (2.996, 6.55)
    """
    apart: list[float] = []
    for scale in sorted(scales):
        apart.append(max(scale, apart[-1] * (1 + _APART)) if apart else scale)
    weights = [math.prod(b * b / ((b - other) * (b + other)) for other in apart if other != b) for b in apart]
    lost = _ULP * math.fsum(map(abs, weights)) * len(weights)
    if lost > chance / 100:
        return math.inf

    def tail(s: float) -> float:
        return math.fsum(weight * math.exp(-s / b) for weight, b in zip(weights, apart, strict=True))

    return _where(tail, chance - lost, apart[-1])


def small_pair_reach(first: tuple[float, float], second: tuple[float, float], chance: float) -> float:
    r"""Bound c X + d Y with this probability, for two discrete Laplace draws given as (coefficient, scale).

    Pr[c X + d Y >= s] is the sum over j of Pr[X = j] Pr[Y >= (s - c j) / d]; by symmetry the sum leaves ±s with twice
    that. X is the draw of the smaller scale, followed until what is left is a ten-millionth of the chance, which
    counts in full. Quotients are lowered by more than their rounding, which only adds outcomes.

    >>> round(small_pair_reach((0.5, 1.0), (0.5, 1.0), 0.05), 6)
    2.0
    """
    (c, scale), (d, other) = sorted((first, second), key=lambda each: each[1])
    far = math.ceil(scale * math.log(1e7 / chance)) + 1
    places = np.arange(-far, far + 1)
    near, rest = math.exp(-1 / scale), math.exp(-1 / other)
    masses = (-math.expm1(-1 / scale) / (1 + near)) * np.exp(-np.abs(places) / scale)
    missing = 2 * math.exp(-(far + 1) / scale) / (1 + near)

    def tail(s: float) -> float:
        quotients = (s - c * places) / d
        least = np.ceil(quotients - 1e-9 * (1 + np.abs(quotients)))
        ends = np.exp(-np.abs(np.where(least > 0, least, 1 - least)) / other) / (1 + rest)
        return 2 * float(masses @ np.where(least > 0, ends, 1 - ends)) + missing

    return _where(tail, chance * (1 - 1e-6), max(c * scale, d * other))


def _where(tail: Callable[[float], float], chance: float, high: float) -> float:
    """Return a place from which on a falling tail is at most this chance, close to the first one."""
    while tail(high) > chance:
        high *= 2
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= chance else (middle, high)
    return high
