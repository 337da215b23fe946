"""The Poisson-subsampled Gaussian pair, both directions.

With noise sigma per unit of sensitivity, rate q and z ~ N(0, 1), let

    l = z / sigma - 1 / (2 sigma^2),    1 + x = 1 - q + q exp(l)    (the ratio of the mixture to the base density).

Remove: P is the mixture, Q the base; L = log(1 + x) and M(s) = E[(1 + x)^(s + 1)].
Add:    P is the base, Q the mixture; L = -log(1 + x) and M(s) = E[(1 + x)^(-s)].
So M(s) = E[(1 + x)^a] with a = s + 1 or a = -s, and since E[x] = 0,
M - 1 = E[(1 + x)^a - 1 - a x], which does not cancel. (Mironov, Talwar & Zhang 2019, arXiv:1908.10530; Zhu, Dong & Wang
2022, Theorem 11 for the pair of each direction.)

The expectation is a trapezoidal sum in z. Its error is bounded by the integral of the absolute integrand on the lines
Im z = +-d: error <= 2 * that / (exp(2 pi d / step) - 1) (Trefethen & Weideman 2014, Theorem 5.1); the integrand is
analytic for d < pi sigma, where 1 + x has its first zeros. On those lines |1 - q + q exp(l + i theta)|, theta =
d/sigma,
is evaluated, not estimated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.decay import Decay
from discreet.privacy.numerics.elementary import exp_minus, log1p, log1p_minus
from discreet.privacy.numerics.loss import ULP, Loss
from discreet.privacy.numerics.transform import exponential_sums

if TYPE_CHECKING:
    from discreet.privacy.numerics.loss import Complexes, Reals

REACH = 9.2
"""Normal mass beyond this many standard deviations is below 2^-63."""

BLOCK = 1 << 16
"""Complex exponentials evaluated at once."""

COSTLY = 1 << 12
"""A modulus that needs more nodes than this is not worth evaluating for a bound; 1 is always true."""

FAST = 1 << 19
"""From this many exponentials on, the fast transform is used."""


@dataclass(frozen=True)
class SampledGaussianLoss(Loss):
    """One direction of the subsampled Gaussian, 0 < rate < 1."""

    sigma: float
    rate: float
    add: bool

    @property
    def top(self) -> float:  # type: ignore[override]
        """The add direction is bounded by -log(1 - q)."""
        return -math.log1p(-self.rate) * (1 + 4 * ULP) if self.add else math.inf

    def exponent(self, order: complex) -> complex:
        """Return a, with M(s) = E[(1 + x)^a]."""
        return -order if self.add else order + 1

    # -- single use ---------------------------------------------------------------------------------------------

    def delta(self, epsilon: Reals) -> Reals:
        """Reduce to the Gaussian: q G(log((y - 1 + q) / q)), or (1 - y (1 - q)) G(log(y q / (1 - y (1 - q))))."""
        from discreet.privacy.numerics.gaussian import gaussian_delta
        from discreet.privacy.numerics.thinned import sampled_delta

        return sampled_delta(lambda e: gaussian_delta(1 / self.sigma, e), self.rate, epsilon, add=self.add)

    def slope(self, epsilon: Reals) -> Reals:
        """Q[L > e] by the normal distribution function."""
        from scipy.special import ndtr

        from discreet.privacy.numerics.thinned import base_epsilon

        mu = 1 / self.sigma
        inner = base_epsilon(self.rate, np.asarray(epsilon, dtype=np.float64), add=self.add)
        if not self.add:  # Q is the base, L > e iff l > inner
            return np.asarray(ndtr(-0.5 * mu - inner * self.sigma))
        # Q is the mixture; L > e iff l < -inner
        base = ndtr(0.5 * mu - inner * self.sigma)
        shifted = ndtr(-0.5 * mu - inner * self.sigma)
        return np.asarray((1 - self.rate) * base + self.rate * shifted)

    # -- moments ------------------------------------------------------------------------------------------------

    def moment(self, order: float) -> float:
        """K on the real axis."""
        values, errors = self.line(order, np.zeros(1))
        return float(values[0].real + errors[0])

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """K on a vertical line by trapezoidal rules in z, finer the higher the nodes; many by one fast transform.

        Many heights must be multiples of the first positive one.
        """
        if len(heights) > 1:
            grid = _Grid(self, real, float(heights[-1]))
            if len(heights) * len(grid.z) > FAST:
                return grid.fast_log_moments(float(heights[1]), len(heights))
        values = np.empty(len(heights), dtype=np.complex128)
        errors = np.empty(len(heights))
        start = 0
        while start < len(heights):
            stop = min(len(heights), max(24, 2 * start))
            chunk = heights[start:stop]
            values[start:stop], errors[start:stop] = _Grid(self, real, float(chunk[-1])).log_moments(chunk)
            start = stop
        return values, errors

    def tail(self, real: float, height: float) -> float:
        """Bound |M(c + it)| for all t >= height by the density of the tilted loss; see `decay`."""
        log_moment, decay = self._table(real)
        return log_moment + decay.above(height)

    def _table(self, real: float) -> tuple[float, Decay]:
        """Return K(c) and the decay of the tilted loss, whose density is bounded below between grid points of z."""
        if real not in self._tables:
            self._tables.clear()
            a = float(self.exponent(real).real)
            lower, upper = _window(self, a, whole=False)
            z = np.linspace(lower, upper, 1024)
            step = z[1] - z[0]
            ratio, p = self._ratio(z)
            log_moment = self.moment(real)
            # log of w / L' has the derivative -z + (a p - (1 - p)) / sigma: between grid points it falls by at most
            # this.
            slack = 0.5 * step * (np.abs(z) + (abs(a) + 1) / self.sigma)
            with np.errstate(under="ignore", divide="ignore", over="ignore"):
                log = -0.5 * z * z + a * ratio - log_moment - np.log(p) - slack
                density = np.exp(np.minimum(log, 600.0)) * (self.sigma / math.sqrt(2 * math.pi))

            grid = _Grid(self, real, 0.0)
            weights = np.exp(-0.5 * grid.z**2 + a * grid.ratio - log_moment) * (grid.step / math.sqrt(2 * math.pi))
            mean = float((weights * grid.ratio).sum())
            variance = float((weights * (grid.ratio - mean) ** 2).sum()) * (1 + 1e-6)
            center = float(grid.ratio[np.searchsorted(np.cumsum(weights), 0.5)])
            deviation = float((weights * np.abs(grid.ratio - center)).sum()) * (1 + 1e-2)

            def modulus(heights: Reals) -> Reals:
                fine = _Grid(self, real, float(heights[-1]))
                if len(fine.z) > COSTLY:
                    return np.ones(len(heights))
                return np.asarray(np.exp(fine.log_moments(heights)[0].real - log_moment))

            limit = 300 / max(deviation, math.sqrt(variance))
            decay = Decay(ratio, np.minimum(density[1:], density[:-1]), modulus, variance, deviation, limit)
            self._tables[real] = (log_moment, decay)
        return self._tables[real]

    @cached_property
    def _tables(self) -> dict[float, tuple[float, Decay]]:
        return {}

    def logistic(self, z: float) -> float:
        """Return p at one z."""
        log_odds = math.log(self.rate) - math.log1p(-self.rate) + z / self.sigma - 0.5 / self.sigma**2
        return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0

    def log_integrand(self, a: float, z: float) -> float:
        """Return log of exp(-z^2 / 2) (1 + x)^a at one z."""
        p = self.logistic(z)
        ratio = (
            -math.log1p(-p) + math.log1p(-self.rate)
            if p < 0.5
            else (math.log(self.rate) + z / self.sigma - 0.5 / self.sigma**2 - math.log(p))
        )
        return a * ratio - 0.5 * z * z

    def _ratio(self, z: Reals) -> tuple[Reals, Reals]:
        """Return log(1 + x) and p at each z."""
        exponent = z / self.sigma - 0.5 / self.sigma**2
        inside = np.log1p(self.rate * np.expm1(np.minimum(exponent, 30.0)))
        outside = (
            math.log(self.rate) + exponent + np.log1p((1 - self.rate) / self.rate * np.exp(-np.maximum(exponent, 30.0)))
        )
        ratio = np.where(exponent < 30.0, inside, outside)
        with np.errstate(under="ignore"):
            p = self.rate * np.exp(np.minimum(exponent - ratio, 700.0))
        return ratio, p


def _window(loss: SampledGaussianLoss, a: float, *, whole: bool = True) -> tuple[float, float]:
    """Return an interval of z outside which the integrands are negligible (below exp(-45) of the largest value).

    The integrand of M has its modes where z = a p(z) / sigma, all between 0 and a / sigma. For a < 0 it is log-concave
    with curvature at least 1, so its single mode is enclosed and REACH added. For a > 0 the logarithm is scanned in
    steps
    of 0.4: its maxima are no sharper than the normal density's. With `whole`, the normal density itself and its product
    with x, which enter M - 1, are covered too.
    """
    move = a / loss.sigma
    if a < 0:
        low, high = move, 0.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if move * loss.logistic(middle) < middle else (middle, high)
            if high - low < 0.1:
                break
        low, high = low - REACH, high + REACH
    else:
        z = np.linspace(-REACH, move + REACH, int(2.5 * (move + 2 * REACH)) + 2)
        log = a * loss._ratio(z)[0] - 0.5 * z * z  # noqa: SLF001  the window belongs to the loss
        keep = np.flatnonzero(log > float(log.max()) - 45)
        low, high = float(z[max(keep[0] - 1, 0)]), float(z[min(keep[-1] + 1, len(z) - 1)])
    if whole:
        low, high = min(low, -REACH), max(high, REACH + 1 / loss.sigma)
    return low, high


class _Grid:
    """The nodes in z for one line Re s = c, fine enough for heights up to a maximum."""

    def __init__(self, loss: SampledGaussianLoss, real: float, height: float) -> None:
        self.loss = loss
        self.real = real
        self.tilt = float(loss.exponent(real).real)
        self.lower, self.upper = _window(loss, self.tilt)
        self.near = self._is_near_one()
        if not self.near:
            self.lower, self.upper = _window(loss, self.tilt, whole=False)
        self.step, self.leak = self._choose(height)
        count = math.ceil((self.upper - self.lower) / self.step) + 1
        self.z = self.lower + self.step * np.arange(count)
        self.ratio, _ = loss._ratio(self.z)  # noqa: SLF001

    def _is_near_one(self) -> bool:
        """Decide whether M - 1 is computed instead of M."""
        ends = [self.loss.log_integrand(self.tilt, z) + 0.5 * z * z for z in (self.lower, self.upper)]
        return max(ends) < 300 and self.upper / self.loss.sigma < 300 and self._log_size() < 20

    def _log_size(self) -> float:
        """Return roughly the largest logarithm of the integrand of M."""
        inner = (self.lower + REACH, self.upper - REACH)
        points = [inner[0] + (inner[1] - inner[0]) * i / 8 for i in range(9)]
        return max(self.loss.log_integrand(self.tilt, z) for z in points)

    def _choose(self, height: float) -> tuple[float, float]:
        """Return the largest step whose error bound is below 2^-56 of M(c) (or of M(c) - 1), and the bound used."""
        loss, sigma = self.loss, self.loss.sigma
        if height == 0:
            return self._choose_real(), math.exp(-38.0)
        z = np.linspace(self.lower, self.upper, 160)
        exponent = z / sigma - 0.5 / sigma**2
        odds = np.exp(np.minimum(exponent + math.log(loss.rate) - math.log1p(-loss.rate), 600.0))
        best = 0.0
        base = -0.5 * z * z + self.tilt * (np.log1p(odds))
        center = float(base.max())
        total = math.log(float(np.exp(base - center).sum())) + center
        for fraction in (0.95, 0.75, 0.5, 0.3, 0.15, 0.07, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 1e-5):
            theta = math.pi * fraction
            if theta * sigma > 40:
                continue
            real, imag = 1 + odds * math.cos(theta), odds * math.sin(theta)
            size = 0.5 * np.log(real * real + imag * imag)
            line = -0.5 * z * z + self.tilt * size + height * np.arctan2(imag, real)
            top = float(line.max())
            growth = math.log(float(np.exp(line - top).sum())) + top - total + 0.5 * (theta * sigma) ** 2
            growth = max(growth, 0.5 * (theta * sigma) ** 2)
            best = max(best, 2 * math.pi * theta * sigma / (growth + 41.0))
        return best, math.exp(-38.0)

    def _choose_real(self) -> float:
        """Return a step for the real axis, where the growth is known in closed form.

        With a > 0, |1 - q + q exp(l + i theta)| <= 1 + x. With a < 0, it is at least cos(theta / 2) (1 + x).
        """
        best = 0.0
        for fraction in (0.97, 0.7, 0.4, 0.2, 0.1, 0.05, 0.02, 0.01):
            theta = math.pi * fraction
            if theta * self.loss.sigma > 9.5 and fraction > 0.01:
                theta = 9.5 / self.loss.sigma
            growth = 0.5 * (theta * self.loss.sigma) ** 2
            growth += max(-self.tilt, 0.0) * -math.log(math.cos(0.5 * theta))
            best = max(best, 2 * math.pi * theta * self.loss.sigma / (growth + 41.0))
        return best

    def log_moments(self, heights: Reals) -> tuple[Complexes, Reals]:
        """Return K at real + i heights and the error bounds."""
        weights = np.exp(-0.5 * self.z * self.z) * (self.step / math.sqrt(2 * math.pi))
        sums = self._near_one(heights, weights) if self.near else self._far(heights)
        values, errors = sums
        return values, errors

    def _exponents(self, heights: Reals) -> Complexes:
        direction = -1 if self.loss.add else 1
        return self.tilt + 1j * direction * heights

    def _near_one(self, heights: Reals, weights: Reals) -> tuple[Complexes, Reals]:
        """Sum (1 + x)^a - 1 - a x, accurate relative to M - 1."""
        exponent = self.z / self.loss.sigma - 0.5 / self.loss.sigma**2
        x = self.loss.rate * np.expm1(exponent)
        bend = log1p_minus(x, self.ratio)
        a = self._exponents(heights)
        total = np.empty(len(a), dtype=np.complex128)
        size = np.empty(len(a))
        rows = max(1, BLOCK // len(x))
        for start in range(0, len(a), rows):
            part = a[start : start + rows, None]
            pieces = exp_minus(part * self.ratio) + part * bend
            total[start : start + rows] = pieces @ weights
            size[start : start + rows] = np.abs(pieces) @ weights
        # Each piece is a sum of a relative error and of the error of a * ratio, which moves exp(a ratio) - 1 - a
        # ratio by at
        # most |a ratio| * |exp(a ratio) - 1| ulps; |exp(w) - 1| <= |w| exp(|Re w|).
        growth = np.exp(np.maximum(self.tilt * self.ratio, 0.0))
        second = float((self.ratio**2 * growth * weights).sum())
        error = (8 * ULP + self.leak) * size + 4 * ULP * np.abs(a) ** 2 * second
        error = error + 4 * ULP * np.abs(a) * float((np.abs(bend) * weights).sum())
        return log1p(total), error / np.maximum(np.abs(1 + total), 1e-300)

    def _far(self, heights: Reals) -> tuple[Complexes, Reals]:
        """Sum (1 + x)^a in logarithmic scale."""
        log = -0.5 * self.z * self.z + self.tilt * self.ratio
        peak = float(log.max())
        weights = np.exp(log - peak) * (self.step / math.sqrt(2 * math.pi))
        direction = -1 if self.loss.add else 1
        total = np.empty(len(heights), dtype=np.complex128)
        rows = max(1, BLOCK // len(self.z))
        for start in range(0, len(heights), rows):
            phases = np.multiply.outer(direction * heights[start : start + rows], self.ratio)
            total[start : start + rows] = np.exp(1j * phases) @ weights
        mass = float(weights.sum())
        noise = (
            ULP
            * (8 + np.abs(peak) + 2 * abs(self.tilt) + 2 * heights)
            * float((weights * (1 + np.abs(self.ratio))).sum())
        )
        error = noise + self.leak * mass
        return peak + np.log(total), error / np.abs(total)

    def fast_log_moments(self, step: float, count: int) -> tuple[Complexes, Reals]:
        """Return K at real + i k step, k = 0..count-1, by one transform."""
        log = -0.5 * self.z * self.z + self.tilt * self.ratio
        peak = float(log.max())
        weights = np.exp(log - peak) * (self.step / math.sqrt(2 * math.pi))
        points = -self.ratio if self.loss.add else self.ratio
        keep = weights > 0
        total, error = exponential_sums(points[keep], weights[keep], step, count)
        noise = ULP * (8 + abs(peak) + 2 * abs(self.tilt)) * float((weights * (1 + np.abs(self.ratio))).sum())
        bound = error + noise + self.leak * float(weights.sum())
        sizes = np.maximum(np.abs(total), 1e-300)
        return peak + np.log(np.where(total == 0, 1e-300, total)), bound / sizes
