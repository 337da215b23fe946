"""The pair that dominates every mechanism of bounded range: the exponential mechanism.

A mechanism is epsilon-BR if for every pair of neighbors all losses lie in an interval of length epsilon (Dong, Durfee &
Rogers 2020, arXiv:1909.13830). Its worst pairs have, as they show, the two losses t and t - epsilon, 0 <= t <= epsilon,
with Q[L = t] = (exp(-t) - exp(-epsilon)) / (1 - exp(-epsilon)). At exp(a) the best t is
(a + epsilon) / 2, which gives

    delta(a) = (1 - exp((a - epsilon) / 2))^2 / (1 - exp(-epsilon)),   |a| <= epsilon.

This function of exp(a) is convex, falls from 1 and stays above 1 - exp(a), so it is itself the profile of a pair (Zhu,
Dong & Wang 2022, arXiv:2106.08567): L has the density exp((L - epsilon) / 2) / (2 (1 - exp(-epsilon))) on (-epsilon,
epsilon), and M(s) = sinh(v epsilon) / (2 v sinh(epsilon / 2)) with v = s + 1/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.elementary import log1p, sinhc_minus
from discreet.privacy.numerics.losses.finite import FiniteLoss, two_point
from discreet.privacy.numerics.losses.loss import ULP, Loss

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Complexes, Reals


@dataclass(frozen=True)
class BoundedRangeLoss(Loss):
    """The dominating pair of epsilon-bounded range; both directions are the same."""

    epsilon: float
    attained = False

    @property
    def top(self) -> float:  # type: ignore[override]
        """Epsilon."""
        return self.epsilon

    def delta(self, epsilon: Reals) -> Reals:
        """(1 - exp((a - e) / 2))^2 / (1 - exp(-e)) inside."""
        a = np.asarray(epsilon, dtype=np.float64)
        root = np.expm1(0.5 * (np.clip(a, -self.epsilon, self.epsilon) - self.epsilon))
        inside = root * root / -math.expm1(-self.epsilon)
        return np.asarray(np.where(a < -self.epsilon, -np.expm1(np.minimum(a, 0.0)), inside))

    def slope(self, epsilon: Reals) -> Reals:
        """(exp(-(a + e) / 2) - exp(-e)) / (1 - exp(-e)) inside."""
        a = np.clip(np.asarray(epsilon, dtype=np.float64), -self.epsilon, self.epsilon)
        return np.asarray(math.exp(-self.epsilon) * np.expm1(0.5 * (self.epsilon - a)) / -math.expm1(-self.epsilon))

    def moment(self, order: float) -> float:
        """K on the real axis."""
        values, errors = self.line(order, np.zeros(1))
        return float(values[0].real + errors[0])

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """K = log(sinhc(v e) / sinhc(e / 2))."""
        e = self.epsilon
        x = (real + 0.5 + 1j * heights) * e
        if (real + 1) * e < 0.5:
            above, under = sinhc_minus(x), sinhc_minus(np.asarray([0.5 * e + 0j]))
            total = (above - under) / (1 + under)
            size = (np.abs(above) + np.abs(under)) / np.abs(1 + total)
            return log1p(total), 24 * ULP * (size + np.abs(total) + heights * e * np.abs(total))
        bottom = 0.5 * e + math.log(-math.expm1(-e) / e)
        values = x + np.log(-np.expm1(-2 * x.real) + np.exp(-2 * x.real) * (1 - np.exp(-2j * x.imag))) - np.log(2 * x)
        return values - bottom, ULP * (24 + 4 * np.abs(x))

    def tail(self, real: float, height: float) -> float:
        """|sinh(v e)| <= cosh(Re(v) e), and 1/|v| falls with the height."""
        e = self.epsilon
        x = (real + 0.5) * e
        top = x + math.log1p(math.exp(-2 * x)) - math.log(2 * math.hypot(x, height * e))
        return min(top - 0.5 * e - math.log(-math.expm1(-e) / e) + 8 * ULP, self.moment(real))

    def renyi(self, order: float) -> float:
        """Maximize the two-point moment over t: log of exp((a-1) t) (1 - exp(-a e)) / (a (1 - exp(-e))), a = order + 1.

        The best t has exp(t) = (a - 1)(1 - exp(-a e)) / (a (exp(-e) - exp(-a e))). Losses within an interval of length
        e also satisfy K <= s (s + 1) e^2 / 8 (Cesar & Rogers 2021, arXiv:2004.07223, Lemma 3.4).
        """
        e, a = self.epsilon, order + 1
        hoeffding = order * (order + 1) * e * e / 8 * (1 + 8 * ULP)
        if order * e < 1e-2 or e < 1e-2:
            return hoeffding
        log_t = math.log(order / a) + math.log(-math.expm1(-a * e)) + e - math.log(-math.expm1(-order * e))
        value = order * log_t + math.log(-math.expm1(-a * e)) - math.log(a) - math.log(-math.expm1(-e))
        return min(value + 64 * ULP * (1 + abs(order * log_t)), hoeffding)

    leans = True

    def lean(self, share: float) -> FiniteLoss:
        """The losses t and t - epsilon with t = share * epsilon: P[L = t] = (1 - exp(t - e)) / (1 - exp(-e))."""
        e, t = self.epsilon, share * self.epsilon
        whole = -math.expm1(-e)
        masses = np.array([math.exp(-e) * math.expm1(t), -math.expm1(t - e)]) / whole
        return FiniteLoss(np.array([t - e, t]), masses, 0.0, e)

    def below(self) -> Loss:
        """The symmetric member of the family, t = epsilon / 2: randomized response."""
        return two_point(0.5 * self.epsilon)
