"""Noisy numbers, linear combinations of them, and how far the noise of a combination reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.exact import float_up, sqrt_upper
from discreet.mechanisms.adding.reach import rounded_gaussian_reach
from discreet.mechanisms.inputs.parameters import miss
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.mechanisms.adding.sums import Integers, Noise, Terms

__all__ = [
    "NoisyNumbers",
    "combined",
    "laplace_sum_reach",
    "like_laplace_reach",
    "many_laplace_reach",
    "reach_of",
    "rounding_of",
    "small_pair_reach",
]

_SMALL = 64  # the scale of a draw whose values are followed one by one
_FEW = 8  # with more terms of like size the sum of single bounds is far above Chernoff's, and slow to find
_APART = 1e-3
_ULP = 2.0**-50  # a few roundings of each term


@dataclass(frozen=True, eq=False)
class NoisyNumbers:
    """For each block an array of integers with noise: one row per group, one column per number.

    Before a release there are no numbers yet, only their noises. A block that was chosen and got no noise has no terms.

    >>> from fractions import Fraction
    >>> from discreet.mechanisms import DiscreteLaplace
    >>> numbers = NoisyNumbers((np.array([[5], [7]]),), (DiscreteLaplace(1, epsilon=1),))
    >>> numbers.values(((0, 0, Fraction(2)),)), numbers.reach(((0, 0, Fraction(2)),), 0.95)
    ([10.0, 14.0], 6.0)
    """

    blocks: tuple[Integers, ...]
    noises: tuple[Any, ...]
    _known: dict[tuple[Terms, float], float] = field(default_factory=dict, compare=False, repr=False)

    def array(self, terms: Terms) -> NDArray[np.float64]:
        """Evaluate a linear combination for all groups; the numbers are noisy, so floats do."""
        total = np.zeros(len(self.blocks[0]))
        for block, column, coefficient in terms:
            total += float(coefficient) * self.blocks[block][:, column].astype(np.float64)
        return total

    def values(self, terms: Terms) -> list[float]:
        """Give the same as Python's numbers."""
        listed: list[float] = self.array(terms).tolist()
        return listed

    def reach(self, terms: Terms, confidence: float) -> float:
        """Return how far the noise of a linear combination reaches, with this probability."""
        if (terms, confidence) not in self._known:
            self._known[terms, confidence] = reach_of(terms, self.noises, confidence)
        return self._known[terms, confidence]

    def least_count(self, terms: Terms) -> float:
        """What a noisy count must exceed to say something: 1/2, and what noise alone reaches with probability 0.95.

        One row counts where there is next to no noise; no row is less than half of one.
        """
        return max(self.reach(terms, 0.95), 0.5)


def rounding_of(terms: Terms) -> float:
    """By how much a combination of whole numbers is moved by rounding it: nothing if it is whole, else half at most.

    >>> rounding_of(((0, 0, Fraction(1)), (0, 1, Fraction(-2)))), rounding_of(((0, 0, Fraction(1, 3)),))
    (0.0, 0.5)
    """
    return 0.0 if all(coefficient.denominator == 1 for _, _, coefficient in terms) else 0.5


def combined(*parts: tuple[Terms, int | Fraction]) -> Terms:
    """Add up linear combinations, each times a number.

    >>> one = ((0, 0, Fraction(1)),)
    >>> combined((one, 2), (one, 3))
    ((0, 0, Fraction(5, 1)),)
    """
    total: dict[tuple[int, int], Fraction] = {}
    for terms, factor in parts:
        for block, column, coefficient in terms:
            total[block, column] = total.get((block, column), Fraction(0)) + coefficient * factor
    return tuple((block, column, coefficient) for (block, column), coefficient in total.items() if coefficient)


@lru_cache(maxsize=4096)
def reach_of(terms: Terms, noises: tuple[Any, ...], confidence: float) -> float:
    """Bound the noise of a linear combination, with this probability.

    One number: its own law. Gaussian noise: the combination is Gaussian with the sum of the variances, plus half a step
    of rounding for each. Few numbers of one Laplace block with equal coefficients: the law of their sum. Others:
    the least of these: each of k numbers stays within its own bound, all of them with this probability, and the bounds
    are added; the law of the continuous sum (`laplace_sum_reach`); or, for many, the bound of `many_laplace_reach`. For
    two draws of small scales also the law itself (`small_pair_reach`).

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> laplace = (DiscreteLaplace(1, epsilon="0.1"),)
    >>> x, y, less = (0, 0, Fraction(1, 2)), (0, 1, Fraction(1, 2)), (0, 1, Fraction(-1, 4))
    >>> reach_of((x, y), laplace, 0.95), round(reach_of((x, less), laplace, 0.95), 6)
    (20.5, 16.25)
    """
    coefficients = [abs(coefficient) for _, _, coefficient in terms]
    used: list[Noise] = [noises[block] for block, _, _ in terms]
    if not terms:
        miss(confidence)
        return 0.0
    if len(terms) == 1:
        return float(coefficients[0]) * used[0].error(confidence)
    laplace = [noise for noise in used if isinstance(noise, DiscreteLaplace)]
    if not laplace:
        spread = sqrt_upper(sum(((c * n.sigma) ** 2 for c, n in zip(coefficients, used, strict=True)), Fraction(0)))  # type: ignore[union-attr]
        return float_up(rounded_gaussian_reach(spread, miss(confidence)) + sum(coefficients) / 2)
    if len(laplace) < len(terms):  # two releases of one question, combined: each part within its own bound
        kinds = [tuple(t for t in terms if isinstance(noises[t[0]], DiscreteLaplace) is kind) for kind in (True, False)]
        return math.fsum(reach_of(part, noises, (1 + confidence) / 2) for part in kinds)
    if len(terms) <= _FEW and len(set(coefficients)) == 1 and len({noise.scale for noise in laplace}) == 1:
        reach = like_laplace_reach(len(terms), float(laplace[0].scale), float(miss(confidence)))
        return float(coefficients[0]) * reach
    return _laplace_reach(coefficients, laplace, confidence)


def _laplace_reach(coefficients: list[Fraction], laplace: list[DiscreteLaplace], confidence: float) -> float:
    """Bound a combination of Laplace draws of any scales: the least of what is known."""
    scales = [float(c * n.scale) for c, n in zip(coefficients, laplace, strict=True)]
    chernoff = many_laplace_reach(scales, float(miss(confidence)))
    if len(scales) > _FEW:
        return chernoff
    bounds = (float(c) * n.error(confidence, together=len(scales)) for c, n in zip(coefficients, laplace, strict=True))
    # A discrete draw exceeds a continuous one by at most 1: 2 r^m / (1 + r) <= r^(m - 1), r = exp(-1 / scale).
    exact = laplace_sum_reach(scales, float(miss(confidence))) + float(sum(coefficients))
    bounds_known = [math.fsum(bounds), chernoff, exact * (1 + 1e-9)]
    draws = [(float(c), float(n.scale)) for c, n in zip(coefficients, laplace, strict=True)]
    if len(draws) == 2 and min(scale for _, scale in draws) <= _SMALL:  # where that 1 counts
        bounds_known.append(small_pair_reach(draws[0], draws[1], float(miss(confidence))))
    return min(bounds_known)


def like_laplace_reach(count: int, scale: float, chance: float) -> int:
    r"""Return the smallest m that the sum of some discrete Laplace draws of one scale exceeds with at most this chance.

    A draw is the difference of two geometric ones with r = exp(-1/scale), so the sum of k is X - Y with X and Y
    negative binomial: Pr[X = n] = C(n + k - 1, n) (1 - r)^k r^n. X is at least N if fewer than k of N + k - 1 trials
    succeed, each with probability 1 - r: Pr[X >= N] is the sum over j < k of C(N + k - 1, j) (1 - r)^j r^(N + k - 1 -
    j). With N = m + Y the factor r^Y makes Y negative binomial with r^2, by Vandermonde C(m + Y + k - 1, j) is the sum
    over i of C(m + k - 1, j - i) C(Y, i), and the mean of C(Y, i) is then C(k + i - 1, i) (r^2 / (1 - r^2))^i. So

    $$Pr[sum >= m] = (1 + r)^{-k} r^{m + k - 1} \sum_{j < k} ((1 - r)/r)^j \sum_{i <= j} C(m + k - 1, j - i)
    C(k + i - 1, i) (r^2 / (1 - r^2))^i,$$

    and Pr[|sum| > m] = 2 Pr[sum >= m + 1]. All terms are positive: floats are off by less than a millionth of it,
    which is taken off the chance.

    >>> like_laplace_reach(1, 10.0, 0.05), like_laplace_reach(2, 10.0, 0.05), like_laplace_reach(4, 10.0, 0.05)
    (30, 41, 57)
    """
    gap = -math.expm1(-1 / scale)
    r = 1 - gap
    moment = r * r / (gap * (1 + r))

    def tail(m: int) -> float:
        places = [float(math.comb(m + count, j)) for j in range(count)]
        means = [math.comb(count + i - 1, i) * moment**i for i in range(count)]
        inner = (math.fsum(places[j - i] * means[i] for i in range(j + 1)) for j in range(count))
        weights = (gap**j * math.exp((j - m - count) / scale) for j in range(count))  # r itself may be 0 in floats
        return 2 * (1 + r) ** -count * math.fsum(a * b for a, b in zip(weights, inner, strict=True))

    wanted = chance * (1 - 1e-6)
    high = 1
    while tail(high) > wanted:
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(middle) <= wanted else (middle, high)
    return high


def many_laplace_reach(scales: list[float], chance: float) -> float:
    r"""Bound the sum of independent Laplace draws of these scales, discrete ones included, with this probability.

    Laplace noise of scale b has the moment generating function 1/(1 - (b t)^2), discrete noise one that is no larger
    for t <= 1/b: sinh(t/2)/(t/2) grows in t. As -ln(1 - x) <= 2 x for x <= 1/2, Pr[|sum| > s] <= 2 exp(2 V t^2 - s t)
    with V the sum of b^2, for every t up to 1/(sqrt(2) max b); solved for s at the best such t (Chernoff). A millionth
    is added for float rounding.

    >>> round(many_laplace_reach([1.0] * 100, 0.05), 1)
    54.3
    """
    squares, widest, level = math.fsum(b * b for b in scales), max(scales), math.log(2 / chance)
    t = min(math.sqrt(level / (2 * squares)), 1 / (math.sqrt(2) * widest))
    return (2 * squares * t + level / t) * (1 + 1e-6)


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
    (c, scale), (d, other) = sorted((first, second), key=lambda draw: draw[1])
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
