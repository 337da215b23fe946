"""Sums for the moments of the subsampled Gaussian: a trapezoidal rule in z with its error bounded.

The error of the rule is at most 2 / (exp(2 pi d / step) - 1) times the integral of the absolute integrand on the lines
Im z = +-d (Trefethen & Weideman 2014, Theorem 5.1). The integrand is analytic for d < pi sigma, where 1 + x has its
first zeros. With theta = d / sigma the absolute integrand on the line is, point by point,

    phi(z) exp(d^2 / 2) |1 - q + q exp(l + i theta)|^a exp(t arg(...)) |w(z + i d)|

with |w(z + id)| <= w(z) exp(d^2 / (2 soft^2)),
the last because w is a normal distribution function. It is evaluated on a coarse grid, not estimated.

On the real axis E[x] = 0 gives M - 1 = E[w ((1 + x)^a - 1 - a x)] - E[1 - w] - a E[(1 - w) x], which does not cancel;
above it M(c + it) = M(c) + sum v (exp(itL) - 1) with the tilted weights v, which does not cancel either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.elementary import exp_minus, log1p, log1p_minus
from discreet.privacy.numerics.losses.loss import ULP, within
from discreet.privacy.numerics.search import climb
from discreet.privacy.numerics.transform import exponential_sums

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Complexes, Reals
    from discreet.privacy.numerics.losses.sampled_pair import SampledPair

REACH = 9.2
"""Normal mass beyond this many standard deviations is below 2^-63."""

BLOCK = 1 << 17
"""Sines evaluated at once; more are left to the fast transform."""

PIECE = 1 << 15
"""Products of matrices that are summed at once: libraries of linear algebra start threads for more."""

FRACTIONS = (0.97, 0.7, 0.45, 0.3, 0.2, 0.12, 0.07, 0.04, 0.02, 0.01, 0.005, 0.0025, 0.001, 3e-4, 1e-4, 1e-5)
"""Lines tried, as shares of pi sigma."""

BEYOND = 250, 1500
"""Cells to the right of the window that are looked at; the larger number where the smaller is too few."""

TWELFTHS = np.arange(12) / 11
"""Points of a window that are looked at."""

FARTHEST, LARGEST = 1e4, 1e20
"""Where modes may lie farther out than this z, or the exponent is larger than this, nothing is summed."""

ENOUGH = 2.0**-40
"""M - 1 is formed from exp(aL) - 1 and ax where their rounding errors are at most this share of it."""

MOST_NODES = 1 << 17
"""The largest number of nodes in z that is worth a sum."""

LEAK = math.exp(-38.0)
"""The error of the rule relative to the integral of the absolute integrand on the real line."""


def window(loss: SampledPair, a: float) -> tuple[float, float, bool]:
    """Return an interval of z outside which the integrand of M is below exp(-45) of its largest value.

    It has its modes where z = a p(z) / sigma, p = q exp(l) / (1 + x), all between 0 and a / sigma. For a < 0 it is
    log-concave with curvature at least 1, so its single mode is enclosed and REACH added. For a > 0 the logarithm is
    scanned up to REACH beyond `last_mode`, in steps of at most 0.4 and 3 / sqrt(k): its curvature is at least -k, k
    being `stretch`, so between two points it exceeds the larger by at most 9/8. Also returned is whether M - 1 is to be
    computed instead of M: nothing is left out, and nowhere do the logarithms grow large.
    """
    move = a / loss.sigma
    if a < 0:
        low, high = move, 0.0
        log_odds = math.log(loss.rate) - math.log1p(-loss.rate) - 0.5 / loss.sigma**2
        for _ in range(40):
            middle = 0.5 * (low + high)
            odds = math.exp(min(max(log_odds + middle / loss.sigma, -700.0), 700.0))
            low, high = (low, middle) if move * odds / (1 + odds) < middle else (middle, high)
            if high - low < 0.1:
                break
        low, high = low - REACH, high + REACH
        z: Reals = low + (high - low) * TWELFTHS
        powers = a * loss.rough_ratio(z)
    else:
        limit = last_mode(loss, a) + REACH
        pieces = int(max(2.5, math.sqrt(loss.stretch) / 3) * (limit + REACH)) + 1
        if pieces > MOST_NODES:  # all of it: that many nodes are not worth a sum
            return -REACH, limit, False
        z = (limit + REACH) / pieces * np.arange(pieces + 1) - REACH
        powers = a * loss.rough_ratio(z)
        log = powers - 0.5 * z * z + loss.kept(z)
        keep = np.flatnonzero(log >= float(log.max()) - 45)  # at enormous orders the largest value alone
        first, last = max(int(keep[0]) - 1, 0), min(int(keep[-1]) + 1, pieces)
        low, high = float(z[first]), float(z[last])
        z, powers = z[first : last + 1], powers[first : last + 1]
    edges = math.isfinite(loss.start) or bool(loss.higher)
    return low, high, not edges and _tame(powers, z, loss.sigma)


_window = lru_cache(maxsize=64)(window)


def last_mode(loss: SampledPair, a: float) -> float:
    """Return a z beyond which the integrand of M, a > 0, falls at least like a normal density around it.

    Its logarithm has the slope -z + a p / sigma without edges, p <= 1, which is negative beyond a / sigma. Beyond an
    upper edge that adds at most -(z - edge) / width^2, so that the slope is negative beyond edge + width^2 a / sigma as
    well, and below -(z - that) in either case; further edges only make it steeper. A lower edge is between 1/2 and 1
    beyond its start, so it lifts the integrand there by a factor of at most 2.
    """
    move = a / loss.sigma
    return min([max(move, loss.start), *(max(edge, loss.start) + width**2 * move for edge, width in loss.ends)])


def _tame(powers: Reals, z: Reals, sigma: float) -> bool:
    """Whether neither exp(aL) nor exp(l) nor the integrand grows large at increasing points z."""
    return float(powers.max()) < 300 and float(z[-1]) < 300 * sigma and float((powers - 0.5 * z * z).max()) < 5


@dataclass(frozen=True, eq=False)
class Sketch:
    """A picture of a loss that is good for a few digits of its moments at all orders."""

    ratio: Reals
    x: Reals
    weights: Reals
    logs: Reals
    whole: bool
    """Whether nothing is left out below, so that M may be near 1."""

    @staticmethod
    def of(loss: SampledPair) -> Sketch:
        """Draw it: a trimmed loss ends with its cut; the mode of the add direction lies left of 0, but not far."""
        upper = 10.0 if loss.add else min([loss.cut + 3 * REACH * loss.soft, *(e + REACH * w for e, w in loss.higher)])
        z = np.arange(-25.0 if loss.add else -10.0, upper, max(min(0.4, loss.sigma, 1.5 * loss.sharpest), 0.06))
        ratio = loss.rough_ratio(z)
        logs = loss.kept(z) - 0.5 * z * z + math.log((z[1] - z[0]) / math.sqrt(2 * math.pi))
        return Sketch(ratio, np.expm1(np.minimum(ratio, 690.0)), np.exp(logs), logs, math.isinf(loss.start))

    def moment(self, a: float) -> float:
        """Return log M on the real axis."""
        powers = a * self.ratio
        peak = float((powers + self.logs).max())
        if self.whole and peak < 1:  # near M = 1 the difference from 1 counts
            beyond = float((np.expm1(np.minimum(powers, 600.0)) - a * self.x) @ self.weights)
            return math.log1p(max(beyond, 0.0))
        return peak + math.log(float(np.exp(powers + (self.logs - peak)).sum()))

    def moving(self, a: float, height: float) -> float:
        """Return the share of the tilted law whose phase differs from that of its mode by more than 1."""
        logs = a * self.ratio + self.logs
        mode = int(logs.argmax())
        masses = np.exp(logs - logs[mode])
        away = np.abs(self.ratio - self.ratio[mode]) * height > 1
        return float(masses[away].sum() / masses.sum())

    def moments(self, tilts: Reals) -> Reals:
        """Return log M for many exponents."""
        powers = np.multiply.outer(tilts, self.ratio)
        logs = powers + self.logs
        peaks = logs.max(axis=1)
        logs -= peaks[:, None]
        moments = peaks + np.log(np.exp(logs, out=logs).sum(axis=1))
        near = (peaks < 1) & self.whole
        if near.any():  # as above
            few = powers[near]
            beyond = (np.expm1(np.minimum(few, 600.0, out=few), out=few) * self.weights).sum(axis=1)
            beyond -= tilts[near] * float((self.x * self.weights).sum())
            moments[near] = np.log1p(np.maximum(beyond, 0.0))
        return np.asarray(moments)


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes in z for one line Re s = c, fine enough for heights up to a maximum."""

    loss: SampledPair
    tilt: float
    lower: float
    upper: float
    step: float
    near: bool
    """Whether M - 1 is computed instead of M."""

    @staticmethod
    @lru_cache(maxsize=16)
    def at(loss: SampledPair, real: float, height: float) -> Nodes:
        """Choose the nodes; those used last are kept, with what was computed at them."""
        return Nodes(loss, loss.exponent(real), *_placed(loss, real, height))

    @property
    def affordable(self) -> bool:
        """Whether the nodes are few enough to be summed."""
        return self.step > 0 and (self.upper - self.lower) < MOST_NODES * self.step

    @cached_property
    def z(self) -> Reals:
        """The nodes."""
        count = math.ceil((self.upper - self.lower) / self.step) + 1
        return self.lower + self.step * np.arange(count)

    @cached_property
    def ratio(self) -> Reals:
        """log(1 + x) at the nodes."""
        return self.loss.ratio(self.z)

    @cached_property
    def kept(self) -> Reals:
        """Logarithm of what the edges leave at the nodes."""
        return self.loss.kept(self.z)

    @cached_property
    def _slip(self) -> Reals:
        """How far the exponent l = z / sigma - 1 / (2 sigma^2) may be off at each node, that of z included.

        For a small sigma its two terms are far larger than their difference.
        """
        return (3 * ULP) * (np.abs(self.z) / self.loss.sigma + 0.5 / self.loss.sigma**2)

    @cached_property
    def _slope(self) -> Reals:
        """The derivative of log(1 + x) with respect to l: q exp(l) / (1 + x), between 0 and 1."""
        return np.asarray(-np.expm1(np.minimum(math.log1p(-self.loss.rate) - self.ratio, 0.0)))

    @cached_property
    def slack(self) -> Reals:
        """How far log(1 + x) may be off at each node."""
        # x is off by an ulp or two of itself, and dL = dx / (1 + x); |x| / (1 + x) = |exp(-L) - 1|.
        return self._slope * self._slip + 2 * ULP * self._size

    @cached_property
    def _size(self) -> Reals:
        """max(|L|, |x| / (1 + x)): the latter is larger where x is negative."""
        return np.maximum(np.abs(self.ratio), np.expm1(np.maximum(-self.ratio, 0.0)))

    @cached_property
    def log_moment(self) -> tuple[float, float]:
        """K(c), between two ends."""
        if self.near:
            total, error = self._beyond_one()
            return math.log1p(total - error) if total - error > -1 else -math.inf, math.log1p(total + error)
        log = -0.5 * self.z * self.z + self.tilt * self.ratio + self.kept
        peak = float(log.max())
        pieces = np.exp(log - peak)
        mass = float(pieces.sum())
        size = (
            abs(peak)
            + abs(self.tilt) * float(pieces @ np.abs(self.ratio)) / mass
            + 0.5 * float(pieces @ self.z**2) / mass
        )
        error = 8 * ULP * (4 + size) + 2 * LEAK + abs(self.tilt) * float(pieces @ self.slack) / mass
        value = peak + math.log(mass * self.step / math.sqrt(2 * math.pi))
        return value - error, value + error

    def _beyond_one(self) -> tuple[float, float]:
        """Return M(c) - 1 and its error bound."""
        a, z = self.tilt, self.z
        x = self.loss.rate * np.expm1(z / self.loss.sigma - 0.5 / self.loss.sigma**2)
        weights = np.exp(-0.5 * z * z + self.kept) * (self.step / math.sqrt(2 * math.pi))
        powers, size = a * self.ratio, np.abs(x)
        risen = np.expm1(powers)
        # |exp(w) - 1| <= |w| exp(max(w, 0))
        swing = abs(a) * self._size * (np.maximum(risen, 0.0) + 1)
        total = float((risen - a * x) @ weights)
        error = 32 * ULP * (float(swing @ weights) + abs(a) * float(size @ weights))
        if error > ENOUGH * total:
            total, error = self._without_cancellation(x, weights)
        error += (8 + len(z)) * ULP * total
        # d/dl of a piece is a p (exp(a ratio) - 1 - x) with p = d ratio / dl.
        error += abs(a) * float((self._slope * self._slip * (swing + size)) @ weights)
        # Off the real line the pieces are about a^2 x^2 / 2 with |x| <= q (exp(l) + 1), and (exp(l) + 1)^2 is
        # (exp(l) - 1)^2 + 4 exp(l): whatever is trimmed, E[w exp(l)] <= 1, so that is 2 (aq)^2 more than on the line.
        error += LEAK * (4 * total + 6 * (a * self.loss.rate) ** 2)
        if math.isfinite(self.loss.cut):
            plain, shifted = self.loss.lost
            missing = self.loss.rate * (shifted - plain)
            total -= plain + a * missing
            error += 2.0**-40 * (plain + abs(a) * self.loss.rate * (shifted + plain))
        return total, error

    def _without_cancellation(self, x: Reals, weights: Reals) -> tuple[float, float]:
        """Return E[w ((1 + x)^a - 1 - ax)], all of whose pieces are positive, and the rounding error."""
        a = self.tilt
        bend = log1p_minus(x, self.ratio)
        pieces = exp_minus(a * self.ratio) + a * bend
        total = float(pieces @ weights)
        # The error of a * ratio moves exp(a ratio) - 1 - a ratio by at most |a ratio| |exp(a ratio) - 1| ulps.
        second = float((self.ratio**2 * np.exp(np.maximum(a * self.ratio, 0.0))) @ weights)
        return total, 8 * ULP * total + 4 * ULP * (a * a * second + abs(a) * float(np.abs(bend) @ weights))

    def log_moments(self, heights: Reals) -> tuple[Complexes, Reals]:
        """Return K at real + i heights and the error bounds."""
        real = Nodes.at(self.loss, -self.tilt if self.loss.add else self.tilt - 1, 0.0).log_moment
        center, spread = 0.5 * (real[0] + real[1]), 0.5 * (real[1] - real[0])
        values = self.ratio
        log = -0.5 * self.z * self.z + self.tilt * values + self.kept
        weights = np.exp(np.minimum(log - center, 700.0)) * (self.step / math.sqrt(2 * math.pi))
        # Each weight's logarithm is off by a few ulps of its terms.
        blurs = ULP * (8 + 0.5 * self.z * self.z + np.abs(self.tilt * values) + abs(center))
        blurs = weights * (blurs + abs(self.tilt) * self.slack)
        keep = weights > 0
        values, weights, blurs, slack = values[keep], weights[keep], blurs[keep], self.slack[keep]
        sums, errors = _all_turns(values, weights, blurs, heights)
        errors = errors + heights * float(slack @ weights)
        if self.loss.add:
            sums = sums.conj()
        noise = spread + 2 * ULP * abs(center)
        errors = errors + np.abs(sums) * noise + LEAK
        logs, errors = within(log1p(sums), errors / np.maximum(np.abs(1 + sums), 1e-300))
        return center + logs, errors + noise


def _all_turns(values: Reals, weights: Reals, blurs: Reals, heights: Reals) -> tuple[Complexes, Reals]:
    """Return sum v (exp(itL) - 1): small phases by their power series, few others directly, many by a fast transform.

    The transform's error is a share of the weights that it gets, so it should not get the bulk of a rarely sampled
    loss.
    """
    small = np.abs(values) * float(heights[-1]) <= 0.5
    sums, errors = _series(values[small], weights[small], blurs[small], heights)
    if small.all():
        return sums, errors
    values, weights, blurs = values[~small], weights[~small], blurs[~small]
    if len(heights) * len(values) <= BLOCK:
        more, other = _turns(values, weights, blurs, heights)
    else:
        more, other = exponential_sums(values, weights, float(heights[1]), len(heights))
        more, other = more - float(weights.sum()), other + 2 * float(blurs.sum())
    return sums + more, errors + other


def _series(values: Reals, weights: Reals, blurs: Reals, heights: Reals) -> tuple[Complexes, Reals]:
    """Return sum v (exp(itL) - 1) for |tL| <= 1/2 by the moments of L.

    14 terms leave less than 2^-54 of the first.
    """
    powers = np.ones(len(values))
    top = max(float(heights[-1]), 1e-300)
    scaled, turn = values * top, heights / top
    total = np.zeros(len(heights), dtype=np.complex128)
    factor = np.ones(len(heights), dtype=np.complex128)
    for k in range(1, 15):
        powers = powers * (scaled / k)
        factor = factor * (1j * turn)
        total += factor * float(powers @ weights)
    size = float(np.abs(scaled) @ weights)
    return total, turn * ((8 + len(values)) * ULP * size + 2 * float(np.abs(scaled) @ blurs))


def _turns(values: Reals, weights: Reals, blurs: Reals, heights: Reals) -> tuple[Complexes, Reals]:
    """Return sum v (exp(itL) - 1), and the error of the sums; for heights t = kh, k = 0, 1, ..., from few waves.

    With k = mi + j, a = mihL and b = jhL, exp(i(a + b)) - 1 = (exp(ia) - 1) exp(ib) + (exp(ib) - 1). Each wave minus 1
    is -2 sin^2 + 2i sin cos of half its phase, so that errors are relative to the sines. Sums of N products are granted
    8 + N ulps, which holds in any order.
    """
    count, step = len(heights), float(heights[1]) if len(heights) > 1 else 0.0
    grant = ((8 + len(values)) * ULP) * weights + 2 * blurs
    phases = 2 * ULP * heights * float(np.abs(values) @ weights)
    if not np.array_equal(heights, step * np.arange(count)):
        wave, sine = _waves(heights, values)
        return (wave * weights).sum(axis=1), np.einsum("ij,j->i", np.abs(sine), 2 * grant) + phases
    small = max(math.isqrt(count), 1)
    wave, sine = _waves(step * np.arange(small), values)
    far, rise = _waves((step * small) * np.arange(-(-count // small)), values)
    sums = _product(far * weights, 1 + wave) + (wave * weights).sum(axis=1)
    errors = np.add.outer(np.einsum("ij,j->i", np.abs(rise), 2 * grant), np.einsum("ij,j->i", np.abs(sine), 2 * grant))
    return sums.ravel()[:count], errors.ravel()[:count] + phases


def _product(left: Complexes, right: Complexes) -> Complexes:
    """Return left @ right.T in pieces that stay on one core: threads for so little cost more than they save."""
    pieces = max(PIECE // (len(left) * len(right)), 1)
    total = np.zeros((len(left), len(right)), dtype=np.complex128)
    for first in range(0, left.shape[1], pieces):
        total += left[:, first : first + pieces] @ right[:, first : first + pieces].T
    return total


def _waves(heights: Reals, values: Reals) -> tuple[Complexes, Reals]:
    """Return exp(itL) - 1 = 2i sin (cos + i sin) of half the phase, and the sines."""
    half = np.multiply.outer(0.5 * heights, values)
    sine = np.sin(half)
    double = 2 * sine
    waves = np.empty(half.shape, dtype=np.complex128)
    np.multiply(double, np.cos(half, out=half), out=waves.imag)
    np.multiply(double, -sine, out=waves.real)
    return waves, sine


@lru_cache(maxsize=1024)
def _placed(loss: SampledPair, real: float, height: float) -> tuple[float, float, float, bool]:
    """Return the ends of the nodes, their step, and what is computed: little, kept for many more losses than nodes."""
    tilt = loss.exponent(real)
    if tilt > 0 and (last_mode(loss, tilt) > FARTHEST or tilt > LARGEST):
        return 0.0, 1.0, 0.0, False  # no step: not affordable
    lower, upper, near = _window(loss, tilt)
    if near:
        lower, upper = min(lower, -REACH), max(upper, min(REACH + 1 / loss.sigma, loss.cut + REACH))
        z = lower + (upper - lower) * TWELFTHS
        near = _tame(tilt * loss.rough_ratio(z), z, loss.sigma)
    step = _real_step(loss, tilt) if height == 0 else _step(loss, tilt, lower, upper, height)
    return lower, upper, step, near


def _real_step(loss: SampledPair, a: float) -> float:
    """Return a step for the real axis, where the growth is known in closed form.

    With a > 0, |1 - q + q exp(l + i theta)| <= 1 + x. With a < 0, it is at least cos(theta / 2) (1 + x).
    """
    if a > 0:  # the best of all lines: d^2 stretch / 2 = 41
        away = min(math.sqrt(82.0 / loss.stretch), 0.97 * math.pi * loss.sigma, 9.5)
        return 2 * math.pi * away / (0.5 * away * away * loss.stretch + 41.0)
    best = 0.0
    for fraction in FRACTIONS:
        theta = min(math.pi * fraction, 9.5 / loss.sigma)
        growth = 0.5 * (theta * loss.sigma) ** 2 * loss.stretch - a * -math.log(math.cos(0.5 * theta))
        step = 2 * math.pi * theta * loss.sigma / (growth + 41.0)
        if step < best:  # smaller lines are worse still
            break
        best = step
    return best


def _step(loss: SampledPair, a: float, lower: float, upper: float, height: float) -> float:
    """Return the largest step whose error is below LEAK of M(c), by evaluating the integrand on several lines.

    Off the real axis the factor exp(t arg) grows to the right of the window as well: the grid goes on until even
    exp(t theta) cannot lift the integrand above exp(-45) of the largest value. Within a cell arg is taken at the
    right end.
    """
    angles = [math.pi * fraction for fraction in FRACTIONS] + [k / height for k in (160.0, 80.0, 40.0, 20.0, 10.0)]
    usable = sorted(theta for theta in angles if theta <= 0.97 * math.pi and theta * loss.sigma <= 40)
    if not usable:
        return 0.0
    # On the real axis d^2 stretch / 2 = 41 would be best, and higher up it is a little less.
    likely = math.log(0.7 * math.sqrt(82.0 / loss.stretch) / loss.sigma)
    first = min(range(len(usable)), key=lambda i: abs(math.log(usable[i]) - likely))
    best = 0.0
    for beyond in BEYOND:
        lines = _Lines.beside(loss, a, height, (lower, upper, beyond))
        best = max(best, climb(lambda i, lines=lines: lines.step(usable[i]), len(usable), first)[0])  # type: ignore[misc]
        if not lines.reached_end:
            break
    return best


@dataclass(eq=False)
class _Lines:
    """The integrand on lines off the real axis, on a coarse grid."""

    loss: SampledPair
    a: float
    height: float
    odds: Reals
    normal: Reals
    largest: Reals
    inside: int
    """Cells within the window."""
    center: float
    total: float
    """Logarithms of the largest value and of the sum on the real axis."""
    reached_end: bool = False
    """Whether the grid did not reach far enough for some line."""

    @staticmethod
    def beside(loss: SampledPair, a: float, height: float, span: tuple[float, float, int]) -> _Lines:
        """Prepare the grid over a window and at least so many cells beyond it, with all modes of the integrand."""
        lower, upper, beyond = span
        width = min(0.3, 0.5 * loss.sharpest, 0.3 * max(loss.sigma, 0.1))
        end = max(upper + beyond * width, last_mode(loss, a) + width if a > 0 else upper)
        z = np.arange(lower, end, width)
        shift = -0.5 / loss.sigma**2 + math.log(loss.rate) - math.log1p(-loss.rate)
        odds = np.exp(np.minimum(z / loss.sigma + shift, 300.0))
        normal = loss.kept(z) - 0.5 * z * z
        inside = int((upper - lower) / width) + 2
        growing = np.log1p(odds)
        base = normal[:inside] + a * growing[:inside]
        center = float(base.max())
        total = math.log(float(np.exp(base - center).sum())) + center
        return _Lines(loss, a, height, odds, normal, normal + max(a, 0.0) * growing, inside, center, total)

    def step(self, theta: float) -> float:
        """Return the step for the line at this angle; 0 where the grid does not reach far enough to tell."""
        loss, height = self.loss, self.height
        above = np.flatnonzero(self.largest + height * theta >= self.center - 45)
        if not len(above) or above[-1] + 2 >= len(self.largest):
            self.reached_end = True
            return 0.0
        end = max(int(above[-1]) + 2, self.inside)
        odds = self.odds[:end]
        real, imag = 1 + odds * math.cos(theta), odds * math.sin(theta)
        turn = height * np.arctan2(imag, real)
        line = self.normal[:end] + (0.5 * self.a) * np.log(real * real + imag * imag)
        line[:-1] += turn[1:]
        line[-1] += turn[-1]
        top = float(line.max())
        growth = math.log(float(np.exp(line - top).sum())) + top - self.total
        growth = max(growth, 0.0) + 0.5 * (theta * loss.sigma) ** 2 * loss.stretch
        return 2 * math.pi * theta * loss.sigma / (growth + 41.0)
