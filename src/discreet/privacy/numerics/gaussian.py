"""The Gaussian pair N(mu, 1) against N(0, 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.loss import ULP, Loss

if TYPE_CHECKING:
    from discreet.privacy.numerics.loss import Complexes, Reals


@dataclass(frozen=True)
class GaussianLoss(Loss):
    """L ~ N(mu^2 / 2, mu^2); both directions are the same.

    Balle & Wang 2018 (arXiv:1805.06530), Theorem 8; K(s) = s (s + 1) mu^2 / 2.
    """

    mu: float

    def delta(self, epsilon: Reals) -> Reals:
        """Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu), by the scaled tail where the difference cancels."""
        return gaussian_delta(self.mu, epsilon)

    def slope(self, epsilon: Reals) -> Reals:
        """Q[L > e] = Phi(-mu/2 - e/mu)."""
        from scipy.special import ndtr

        return np.asarray(ndtr(-0.5 * self.mu - np.asarray(epsilon) / self.mu))

    def moment(self, order: float) -> float:
        """K(s) = s (s + 1) mu^2 / 2."""
        return 0.5 * self.mu * self.mu * order * (order + 1)

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """K on a vertical line."""
        orders = real + 1j * heights
        values = (0.5 * self.mu * self.mu) * orders * (orders + 1)
        return values, 6 * ULP * np.abs(values)

    def tail(self, real: float, height: float) -> float:
        """Log |M(c + it)| = mu^2 (c (c + 1) - t^2) / 2, falling in t."""
        return 0.5 * self.mu * self.mu * (real * (real + 1) - height * height)


def gaussian_delta(mu: float, epsilon: Reals) -> Reals:
    """Return delta of the Gaussian pair at each epsilon with small relative error.

    With z = e/mu - mu/2 and w = z + mu, exp(e) phi(w) = phi(z), so delta = phi(z) (R(z) - R(w)) with the Mills ratio
    R(x) = Phi(-x) / phi(x) = sqrt(pi/2) erfcx(x / sqrt 2). Where mu is small the difference of the ratios is the
    integral of -R'(x) = 1 - x R(x) over (z, w), taken by Gauss-Legendre.
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    size = np.abs(epsilon)
    positive = _positive_delta(mu, size)
    if np.all(epsilon >= 0):
        return positive
    # The pair is symmetric, so delta(e) = 1 - exp(e) + exp(e) delta(-e).
    negative = np.exp(-size) * positive - np.expm1(-size)
    return np.asarray(np.where(epsilon < 0, negative, positive))


def _positive_delta(mu: float, epsilon: Reals) -> Reals:
    """Return delta at epsilon >= 0."""
    from scipy.special import erfcx, ndtr

    z = epsilon / mu - 0.5 * mu
    with np.errstate(under="ignore"):
        density = np.exp(-0.5 * z * z)
        if mu < 0.5:
            nodes, weights = _legendre()
            falls = _mills_fall(z[..., None] + 0.5 * mu * (nodes + 1))
            return np.asarray(density / math.sqrt(2 * math.pi) * 0.5 * mu * (falls @ weights))
        root = math.sqrt(0.5)
        beyond = erfcx((z + mu) * root)
        tail = 0.5 * density * (erfcx(np.maximum(z, 0.0) * root) - beyond)
        return np.asarray(np.where(z > 0, tail, ndtr(-z) - 0.5 * density * beyond))


@cache
def _legendre() -> tuple[Reals, Reals]:
    nodes, weights = np.polynomial.legendre.leggauss(12)
    return nodes, weights


def _mills_fall(x: Reals) -> Reals:
    """Return 1 - x R(x), without cancellation for large x by its continued fraction.

    R(x) = 1/(x + 1/(x + 2/(x + ...))), so 1 - x R(x) = t/(x + t) with t = 1/(x + 2/(x + 3/(x + ...))).
    """
    from scipy.special import erfcx

    far = x > 4.0
    if not far.any():
        return np.asarray(1 - x * math.sqrt(0.5 * math.pi) * erfcx(x * math.sqrt(0.5)))
    large = np.where(far, x, 4.0)
    # The tail of the fraction at depth k moves it by less than exp(-2 x sqrt(2 k)): 60 levels at x = 4, 12 at x = 16.
    levels = 60 if float(large.min()) < 8 or not far.all() else 24
    fraction = np.zeros_like(large)
    for k in range(levels, 0, -1):
        fraction = k / (large + fraction)
    fraction = fraction / (large + fraction)
    if far.all():
        return np.asarray(fraction)
    return np.asarray(np.where(far, fraction, 1 - x * math.sqrt(0.5 * math.pi) * erfcx(x * math.sqrt(0.5))))
