"""The Gaussian pair N(mu, 1) against N(0, 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.loss import ULP, Loss

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Complexes, Reals

_HALF = np.array(
    [
        (0.1252334085114689, 0.24914704581340277),
        (0.3678314989981802, 0.2334925365383548),
        (0.5873179542866175, 0.20316742672306592),
        (0.7699026741943047, 0.16007832854334622),
        (0.9041172563704749, 0.10693932599531843),
        (0.9815606342467192, 0.04717533638651183),
    ]
)

NODES = np.concatenate([-_HALF[::-1, 0], _HALF[:, 0]])
WEIGHTS = np.concatenate([_HALF[::-1, 1], _HALF[:, 1]])
"""The rule of Gauss and Legendre with twelve nodes on (-1, 1)."""


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

    def solve(self, delta: float) -> tuple[float, float]:
        """Return roughly the epsilon of this delta; see `gaussian_epsilon`."""
        return gaussian_epsilon(self.mu, delta)

    def moment(self, order: float) -> float:
        """K(s) = s (s + 1) mu^2 / 2."""
        return 0.5 * self.mu * self.mu * order * (order + 1)

    def roughs(self, orders: Reals) -> Reals:
        """K at many orders."""
        return 0.5 * self.mu * self.mu * orders * (orders + 1)

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


def gaussian_epsilon(mu: float, delta: float) -> tuple[float, float]:
    """Return roughly the epsilon >= 0 at which the Gaussian pair has this delta, and -d log(delta) / de there.

    Newton's steps are taken on log delta. That is concave in epsilon, and delta is at most
    Phi(mu/2 - e/mu) <= exp(-(e/mu - mu/2)^2 / 2) / 2: from where this is delta, the steps descend to the crossing.

    >>> round(gaussian_epsilon(1.0, 0.126937)[0], 4)
    1.0
    """
    from scipy.special import erfcx

    root = math.sqrt(0.5)
    epsilon = mu * (0.5 * mu + math.sqrt(2 * max(-math.log(2 * delta), 0.0)))
    rate = 0.0
    for _ in range(60):
        z = epsilon / mu - 0.5 * mu
        beyond = 0.5 * float(erfcx((z + mu) * root))
        if z < -37:  # exp(z^2 / 2) overflows soon: epsilon is far below the crossing, or so large that z is rounding
            break
        # in units of exp(-z^2 / 2)
        here = (0.5 * float(erfcx(z * root)) if z > 0 else 0.5 * math.erfc(z * root) * math.exp(0.5 * z * z)) - beyond
        if not 0 < here < math.inf:
            break
        rate = beyond / here
        move = (math.log(here) - 0.5 * z * z - math.log(delta)) / rate
        epsilon = max(epsilon + move, 0.0)
        if abs(move) <= 1e-12 * epsilon or epsilon == 0:
            break
    return epsilon, rate


def _positive_delta(mu: float, epsilon: Reals) -> Reals:
    """Return delta at epsilon >= 0."""
    from scipy.special import erfcx, ndtr

    z = epsilon / mu - 0.5 * mu
    with np.errstate(under="ignore"):
        density = np.exp(-0.5 * z * z)
        if mu < 0.5:
            falls = _mills_fall(z[..., None] + 0.5 * mu * (NODES + 1))
            return np.asarray(density / math.sqrt(2 * math.pi) * 0.5 * mu * (falls @ WEIGHTS))
        root = math.sqrt(0.5)
        beyond = erfcx((z + mu) * root)
        tail = 0.5 * density * (erfcx(np.maximum(z, 0.0) * root) - beyond)
        return np.asarray(np.where(z > 0, tail, ndtr(-z) - 0.5 * density * beyond))


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
