r"""Few uses, or rarely sampled ones: only compositions with a large loss count.

A soft edge at some z splits the law of each use: S holds the small losses, R the large ones, M = S + R. The
compositions of n uses without a large one have the transform S^n. Their share of delta is between 0 and the Renyi
bound exp(n log S(r) - r e + log_conversion(r)), any r, which is negligible for an edge that is low enough: too many
small losses would have to add up. What remains has the transform

    M(s)^n - S(s)^n = M^n (1 - (1 - R/M)^n),

which is integrated along the contour in place of M^n. It is that of a measure of mass at most 1 and is at most M(r)^n
for real r, so all that bounds the contour's aliases holds. It falls like R:

    |M^n - S^n| <= n |R| max(|M|, |S|)^(n - 1),    |S| <= min(M(c), |M| + |R|).

The nearly constant loss of uses that do not hold the record is gone from it. Where that made the plain integrand fall
too slowly to be summed, this one needs few nodes, and its rounding errors are relative to R.
Proof: docs/proofs/privacy/sampled.md.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.elementary import log1p
from discreet.privacy.numerics.losses.loss import ULP, Direction, log_conversion, log_conversions
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.losses.sampled_pair import SOFTEST
from discreet.privacy.numerics.solvers.contour import LOG_TOLERANCE, Contour, Where, integrand, nodes_up
from discreet.privacy.numerics.solvers.jumps import sampled_only

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Complexes, Reals

SHARES = (0.1, 0.04)
"""Widths of the edge in units of sigma: the sharper one where few uses leave little room between small and large."""

LEVELS = tuple(0.7 * 0.56**k for k in range(32))
"""Shares of epsilon at which the edge may lie."""

MOST_NODES = 6000
"""More nodes are left to the plain contour and the convolution."""

STRENGTHS = np.array([4.0, 7.0, 12.0, 20.0, 33.0, 55.0])
"""Orders at which small losses are bounded, times the level of the edge."""

MUCH = math.log(6.0)
"""Where there are fewer large losses than exp(this), under the tilted law, that of all losses is not looked at."""

SMALLEST = 1e-12
"""Where epsilon is smaller, no loss is large."""

VAGUE = 0.25
"""Where M is known no better than to this share of itself, R / M is not formed."""

MARGIN = 1.3
"""Smaller losses should not sum to this much of the guess."""

ABOVE = 1.15
"""The guess lies above where large losses alone would put it by this factor."""

NEARER = 0.8
"""The answer is often smaller than the epsilon that one sets out from: small losses are negligible from here on."""

Uses = list[tuple[SampledGaussianLoss, int]]


def split_through(
    direction: Direction, where: Where, epsilon: float, log_delta: float, most: int = MOST_NODES
) -> Contour | None:
    """Build the contour of the compositions with a large loss; None where no edge serves with so many nodes."""
    uses = [(loss, n) for loss, n in direction.parts if isinstance(loss, SampledGaussianLoss)]
    shares = SHARES if epsilon > SMALLEST else ()
    taken_apart = next((edge for share in shares if (edge := _edge(uses, epsilon, log_delta, share))), None)
    if taken_apart is None:
        return None
    large, spare = taken_apart

    def bound(height: float) -> float:
        return decay(uses, large, where.real, height)

    # What the bend of K says does not hold for the difference: some 150 nodes are tried first.
    where = replace(where, start=most * where.step / 40)
    nodes = nodes_up(bound, where, epsilon, log_delta, most)
    if nodes is None:
        return None
    heights, cut = nodes
    last = float(heights[-1])
    if not all(loss.affordable(where.real, last) for loss, _ in (*uses, *large)):
        return None
    return integrand(direction, where, heights, difference(uses, large, where.real, heights), cut, spare=spare)


def _edge(uses: Uses, epsilon: float, log_delta: float, width: float) -> tuple[Uses, tuple[float, float]] | None:
    """Find a high edge below which losses are negligible, by bisection; return what lies above it, and the bound."""
    target, epsilon = log_delta + LOG_TOLERANCE, NEARER * epsilon
    low, high = 0, len(LEVELS)
    best = None
    while low < high:
        middle = (low + high) // 2 if best or low else min(3, high - 1)
        small = small_losses(uses, LEVELS[middle] * epsilon, width)
        order, value = _rough_spare(small, LEVELS[middle] * epsilon, epsilon)
        if value < target:
            best, high = (small, order), middle
        else:
            low = middle + 1
    if best is None:
        return None
    small, order = best
    value = Direction(tuple(small)).moment(order) + log_conversion(order)
    if not value - order * epsilon < target + 1:
        return None
    pairs = zip(uses, small, strict=True)
    return [(replace(loss, start=edge.cut, rise=edge.soft), n) for (loss, n), (edge, _) in pairs], (order, value)


def small_losses(uses: Uses, level: float, width: float) -> Uses:
    """Return the small losses: an edge of their own, below those that there are."""
    return [
        (replace(loss, cut=loss.z_of(level), soft=min(SOFTEST, width * loss.sigma), higher=loss.ends), n)
        for loss, n in uses
    ]


def _rough_spare(small: Uses, level: float, epsilon: float) -> tuple[float, float]:
    """Return the order that bounds the share of small losses best, and the logarithm of the bound, roughly."""
    orders = STRENGTHS / level
    bounds = Direction(tuple(small)).roughs(orders) - orders * epsilon + log_conversions(orders)
    best = int(bounds.argmin())
    return float(orders[best]), float(bounds[best])


def decay(uses: Uses, large: Uses, real: float, height: float, much: float = MUCH) -> float:
    """Bound log |M^n - S^n| at all heights above this one."""
    total, share = 0.0, -math.inf
    for (loss, n), (rare, _) in zip(uses, large, strict=True):
        tail, factor = rare.tail(real, height), loss.same_moment(real)
        if math.log(n) + rare.same_moment(real) - factor > much:  # else M^n hardly falls
            factor = min(factor, float(np.logaddexp(loss.tail(real, height), tail)))
        if not math.isfinite(factor):  # nothing is known of moments at such orders
            return math.inf
        total += n * factor
        share = float(np.logaddexp(share, math.log(n) + tail - factor))
    return total + share + 1e-9


def difference(uses: Uses, large: Uses, real: float, heights: Reals) -> tuple[Complexes, Reals]:
    """Return log(M^n - S^n) on the line, and a bound on the error of each."""
    whole, power = (np.zeros(len(heights), dtype=np.complex128) for _ in range(2))
    doubt, size, moved, most = (np.zeros(len(heights)) for _ in range(4))
    share, lost = np.full(len(heights), -np.inf), np.zeros(len(heights), dtype=np.bool_)
    for (loss, n), (rare, _) in zip(uses, large, strict=True):
        values, errors = loss.line(real, heights)
        above, others = rare.line(real, heights)
        whole += n * values
        doubt += n * errors + 4 * ULP * np.abs(n * values)
        ratio = np.exp(above - values)
        # R is off by a share `others` of itself; dividing by M, which is off by `errors`, and exp add the rest.
        blur = np.expm1(np.minimum(2 * errors + ULP * (8 + 2 * np.abs(above) + 2 * np.abs(values)), 50.0))
        slip = np.abs(ratio) * (others + (1 + others) * blur)
        rest = np.abs(1 - ratio) + slip + 4 * ULP
        power += n * log1p(-ratio)
        size += n * np.log(rest)
        lost |= ~(errors < VAGUE)
        moved += n * (slip + 4 * ULP * np.abs(ratio)) / rest
        # The bound of `decay`, with what the sums say themselves.
        tail = above.real + np.log1p(others)
        factor = np.logaddexp(values.real + np.log1p(errors), tail)
        most += n * factor
        share = np.logaddexp(share, math.log(n) + tail - factor)
    # 1 - (1 - R/M)^n without cancellation, by the real and imaginary part of the exponent
    x, y = power.real, power.imag
    gap = -(np.expm1(x) * np.cos(y) - 2 * np.sin(0.5 * y) ** 2 + 1j * np.exp(x) * np.sin(y))
    slack = moved * np.exp(size) + 16 * ULP * (np.abs(gap) + (np.abs(power) + 1e-300) * np.exp(x))
    errors = doubt + slack / np.maximum(np.abs(gap), 1e-300)
    # Where nothing is known of the difference but its bound, the bound stands for it: at most twice itself away.
    lost |= ~(errors < 1)
    gap = np.where(lost, 1.0, gap)
    return np.where(lost, most + share + 1e-9, whole + np.log(gap)), np.where(lost, 3.0, errors)


def jump_guess(direction: Direction, upper: float, delta: float) -> float:
    """Return a better guess of epsilon than an upper bound where single large losses decide; else the bound itself.

    If only they counted, delta(e) would be at most the sum of the uses' own profiles. The guess is where that sum is
    delta; it is kept if the Renyi bound says that smaller losses hardly ever sum to a little more than it. Nothing
    relies on it.
    """
    if not sampled_only(direction) or upper < 1e-9:
        return upper
    uses = [(loss, n) for loss, n in direction.parts if isinstance(loss, SampledGaussianLoss)]
    if math.fsum(n * loss.rough_delta(0.5 * upper) for loss, n in uses) > delta:
        return upper  # as it will turn out below
    points = upper * 2.0 ** -np.arange(0.0, 16.0, 0.5)
    sums = np.sum([n * loss.delta(points) for loss, n in uses], axis=0)
    under = np.flatnonzero(sums <= delta)
    if not len(under) or under[-1] < 2 or under[-1] + 1 >= len(points):
        return upper
    # between two points log(delta) is nearly a line in log(e)
    high, low = int(under[-1]), int(under[-1]) + 1
    share = math.log(delta / float(sums[high])) / math.log(float(sums[low]) / float(sums[high]))
    guess = float(points[high]) * (float(points[low]) / float(points[high])) ** share * ABOVE
    bound = _rough_spare(small_losses(uses, guess, SHARES[-1]), guess, MARGIN * guess)[1]
    return min(guess, upper) if bound < math.log(delta) else upper
