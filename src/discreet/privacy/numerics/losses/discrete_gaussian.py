"""Discrete Gaussian noise against its shift by an integer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.elementary import log1p
from discreet.privacy.numerics.losses.finite import FiniteLoss
from discreet.privacy.numerics.losses.loss import ULP, Loss
from discreet.privacy.numerics.solvers.account import upper_profile

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Complexes, Reals

REACH = 21.0
"""Mass beyond this many standard deviations is below exp(-220); it is sent to infinity."""

LARGE = 60.0
"""From this sigma on, the theta function replaces the list of values."""

SMOOTH = 2.0
"""From this sigma on, the theta function gives the moments of the list."""

INSIDE = 12.0
"""Up to this order times shift / sigma the tilted law keeps nine standard deviations away from the ends of the list."""


def discrete_gaussian_loss(sigma: float, shift: int) -> Loss:
    """Return the loss of N_Z(0, sigma^2) against N_Z(shift, sigma^2); both directions are the same.

    L(x) = (shift^2 - 2 x shift) / (2 sigma^2): a lattice of step shift / sigma^2 (Canonne, Kamath & Steinke 2020,
    arXiv:2004.00010, Theorem 7 for the exact profile).
    """
    if sigma >= LARGE:
        return DiscreteGaussianLoss(sigma, shift)
    bound = math.ceil(REACH * sigma) + 2
    x = np.arange(bound, -bound - 1, -1, dtype=np.float64)
    weights = np.exp(x * x * (-0.5 / (sigma * sigma)))
    masses = weights / float(np.add.reduce(weights))
    span = shift / sigma**2
    outside = 2 * math.exp(-0.5 * REACH * REACH)
    theta = DiscreteGaussianLoss(sigma, shift) if sigma >= SMOOTH else None
    # Exponents are off by three roundings and by twice that of sigma; from 745 on their exponentials are 0.
    largest = min(0.5 * (bound / sigma) ** 2, 745.0)
    accuracy = ULP * (16 + 4 * largest)
    return _Table(span * (0.5 * shift - x), masses, outside, span, outside, accuracy, cutoff=outside, theta=theta)


@dataclass(frozen=True, eq=False)
class _Table(FiniteLoss):
    """The list of values; what lies beyond it is negligible but counted as infinite.

    The tilted law is discrete Gaussian around -s shift. Beyond a distance d of its center there is at most 2 exp(-d^2 /
    (2 sigma^2)) of it (sigma >= 2), so up to that share of M(c) the list has the moments of the whole law.
    """

    theta: DiscreteGaussianLoss | None = None
    leaks = False

    def _inside(self, real: float) -> DiscreteGaussianLoss | None:
        """Return the whole law where its moments stand for the list's."""
        theta = self.theta
        return theta if theta is not None and real * theta.shift <= INSIDE * theta.sigma else None

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """K by the theta function where the list holds all that counts."""
        whole = self._inside(real)
        if whole is None:
            return super().line(real, heights)
        values, errors = whole.line(real, heights)
        missing = 4 * math.exp(-0.5 * (REACH - real * whole.shift / whole.sigma) ** 2)
        return values, errors + missing * np.exp(np.minimum(whole.moment(real) - values.real, 600.0))

    def rough(self, order: float) -> float:
        """K by the theta function."""
        whole = self._inside(order)
        return whole.moment(order) if whole is not None else super().rough(order)

    def roughs(self, orders: Reals) -> Reals:
        """K by the theta function; where the list ends too early for that, a search has no business."""
        return self.theta.roughs(orders) if self.theta is not None else super().roughs(orders)

    def moment(self, order: float) -> float:
        """K on the real axis; that of the whole law is larger."""
        whole = self._inside(order)
        return whole.moment(order) if whole is not None else super().moment(order)

    @property
    def full_top(self) -> float:
        """The law does not end where the list does."""
        return math.inf

    def renyi(self, order: float) -> float:
        """S (s + 1) mu^2 / 2 bounds K (Canonne, Kamath & Steinke 2020, for shifts); span^2 sigma^2 = mu^2."""
        shift = 2 * float(self.values[len(self.values) // 2]) / self.span
        return 0.5 * shift * self.span * order * (order + 1) * (1 + 16 * ULP)


@dataclass(frozen=True)
class DiscreteGaussianLoss(Loss):
    """The same for large sigma, through K.

    Completing the square, M(s) = exp(s (s + 1) mu^2 / 2) T(s shift) / T(0), mu = shift / sigma, where T(a) is the sum
    over integers x of exp(-(x + a)^2 / (2 sigma^2)). Poisson summation gives T(a) proportional to
    1 + 2 sum_m exp(-2 pi^2 sigma^2 m^2) cos(2 pi m a); for heights within half a period only m = 1 counts. Heights
    beyond are brought back by the period 2 pi / span, which multiplies M by exp(i pi shift) each time.
    """

    sigma: float
    shift: int
    closed = False

    @property
    def span(self) -> float:  # type: ignore[override]
        """The step of the lattice."""
        return self.shift / self.sigma**2

    @property
    def offset(self) -> float:  # type: ignore[override]
        """The loss at x = 0."""
        return 0.5 * self.shift * self.span

    def delta(self, epsilon: Reals) -> Reals:
        """Sum over the lattice by the contour."""
        return upper_profile(self, epsilon)

    def slope(self, epsilon: Reals) -> Reals:
        """Q[L > e], summed over the integers below the threshold."""
        out = []
        for e in np.ravel(epsilon):
            last = math.ceil(0.5 * self.shift - e / self.span) - 1
            start = min(last, self.shift) - math.ceil(REACH * self.sigma)
            x = np.arange(start, last + 1, dtype=np.float64) - self.shift
            out.append(float(np.exp(-x * x / (2 * self.sigma**2)).sum()) / (self.sigma * math.sqrt(2 * math.pi)))
        return np.asarray(out).reshape(np.shape(epsilon))

    def moment(self, order: float) -> float:
        """K on the real axis; the theta quotient differs from 1 by less than exp(-2 pi^2 sigma^2 + 2)."""
        mu = self.shift / self.sigma
        return 0.5 * mu * mu * order * (order + 1) * (1 + 8 * ULP)

    def roughs(self, orders: Reals) -> Reals:
        """K at many orders."""
        mu = self.shift / self.sigma
        return 0.5 * mu * mu * orders * (orders + 1)

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """K on a vertical line."""
        period = 2 * math.pi / self.span
        turns = np.round(heights / period)
        inner = heights - turns * period
        orders = real + 1j * inner
        mu = self.shift / self.sigma
        base = 0.5 * mu * mu * orders * (orders + 1)
        exponent = -2 * (math.pi * self.sigma) ** 2 + 2 * math.pi * self.shift * np.abs(inner)
        sign = np.where(inner < 0, 1.0, -1.0)
        wave = np.exp(np.minimum(exponent, 1.0)) * np.exp(1j * sign * 2 * math.pi * ((real * self.shift) % 1.0))
        values = base + log1p(wave) + 1j * math.pi * ((turns * self.shift) % 2)
        # Bringing a height back is off by a few ulps of the height itself, which moves base and exponent.
        moved = 4 * ULP * heights * np.where(turns > 0, 1.0, 0.0)
        size = 8 * ULP * (1 + np.abs(exponent)) + 2 * math.pi * self.shift * moved
        noise = 6 * ULP * np.abs(base) + mu * mu * np.abs(orders + 0.5) * moved
        noise = noise + size * np.exp(np.minimum(exponent, 1.0))
        return values, noise / np.maximum(np.abs(1 + wave), 1e-12)
