"""The Laplace pair: noise of scale b, shift equal to the sensitivity, epsilon_0 = sensitivity / scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.elementary import log1p, real_sinhc_minus, sinhc_minus
from discreet.privacy.numerics.losses.loss import ULP, Loss

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Complexes, Reals


@dataclass(frozen=True)
class LaplaceLoss(Loss):
    """L = e0 with mass 1/2, -e0 with mass exp(-e0)/2, and a density between; both directions are the same.

    delta(e) = 1 - exp((e - e0) / 2) for |e| <= e0 (Balle, Barthe & Gaboardi 2018; Dong, Roth & Su 2022);
    M(s) = ((s + 1) exp(s e0) + s exp(-(s + 1) e0)) / (2 s + 1) (Mironov 2017, arXiv:1702.07476, Proposition 6).
    """

    strength: float
    peak = 0.5

    @property
    def top(self) -> float:  # type: ignore[override]
        """epsilon_0."""
        return self.strength

    def delta(self, epsilon: Reals) -> Reals:
        """1 - exp((e - e0) / 2) inside, 0 above, 1 - exp(e) below."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        inside = -np.expm1(0.5 * (np.clip(epsilon, -self.strength, self.strength) - self.strength))
        return np.asarray(np.where(epsilon < -self.strength, -np.expm1(np.minimum(epsilon, 0.0)), inside))

    def slope(self, epsilon: Reals) -> Reals:
        """Q[L > e] = exp(-(e + e0) / 2) / 2 inside."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        inside = 0.5 * np.exp(-0.5 * (np.clip(epsilon, -self.strength, self.strength) + self.strength))
        return np.asarray(np.where(epsilon >= self.strength, 0.0, np.where(epsilon < -self.strength, 1.0, inside)))

    def rough(self, order: float) -> float:
        """K by the formula as it stands."""
        e0, share = self.strength, order / (2 * order + 1)
        return order * e0 + math.log1p(-share + share * math.exp(-(2 * order + 1) * e0))

    def roughs(self, orders: Reals) -> Reals:
        """K at many orders, likewise."""
        e0, shares = self.strength, orders / (2 * orders + 1)
        return np.asarray(orders * e0 + np.log1p(-shares + shares * np.exp(-(2 * orders + 1) * e0)))

    def moment(self, order: float) -> float:
        """K on the real axis: what `line` returns there, with its error added."""
        e0 = self.strength
        if (order + 1) * e0 < 0.5:
            first = 2 * math.sinh(0.5 * e0 * (order + 1)) * math.sinh(0.5 * e0 * order)
            second = 0.5 * e0 * (real_sinhc_minus((order + 0.5) * e0) - real_sinhc_minus(0.5 * e0))
            total = math.exp(-0.5 * e0) * (first + second)
            return math.log1p(total) + 24 * ULP * total
        inner = order / (order + 1) * math.exp(-(2 * order + 1) * e0)
        value = order * e0 + math.log((order + 1) / (2 * order + 1)) + math.log1p(inner)
        return value + ULP * (8 + 4 * (order + 1) * e0)

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """K through v = s + 1/2: M exp(e0/2) = cosh(v e0) + sinh(v e0) / (2 v), with M - 1 free of cancellation."""
        e0 = self.strength
        orders = real + 1j * heights
        if (real + 1) * e0 < 0.5:
            v = orders + 0.5
            first = 2 * np.sinh(0.5 * e0 * (orders + 1)) * np.sinh(0.5 * e0 * orders)
            second = 0.5 * e0 * (sinhc_minus(v * e0) - sinhc_minus(np.asarray([0.5 * e0 + 0j])))
            total = math.exp(-0.5 * e0) * (first + second)
            size = math.exp(-0.5 * e0) * (np.abs(first) + np.abs(second))
            return log1p(total), 24 * ULP * size * (1 + heights * e0) / np.abs(1 + total)
        ratio = orders / (orders + 1)
        inner = ratio * np.exp(-(2 * orders + 1) * e0)
        values = orders * e0 + np.log((orders + 1) / (2 * orders + 1)) + log1p(inner)
        return values, ULP * (8 + 4 * (np.abs(orders) + 1) * e0)

    def tail(self, real: float, height: float) -> float:
        """|M| <= |s+1|/|2s+1| exp(c e0) + |s|/|2s+1| exp(-(c+1) e0); the first falls in t, the second is below 1/2."""
        e0 = self.strength
        s = complex(real, height)
        first = abs(s + 1) / abs(2 * s + 1)
        bound = real * e0 + math.log(first + 0.5 * math.exp(-(2 * real + 1) * e0))
        return min(bound + 8 * ULP, self.same_moment(real))
