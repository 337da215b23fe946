"""Promises about Renyi divergences alone: zCDP and RDP have no single worst pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.gaussian import GaussianLoss
from discreet.privacy.numerics.losses.loss import ULP, Loss
from discreet.privacy.numerics.solvers.account import upper_profile

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Complexes, Reals


class _Pairless(Loss):
    """A loss of which only K on the real axis is bounded."""

    pairless = True
    closed = False
    attained = False

    def delta(self, epsilon: Reals) -> Reals:
        """Convert the bounds on K at each epsilon; improved conversion."""
        return upper_profile(self, epsilon)

    def slope(self, epsilon: Reals) -> Reals:
        """Not known: there is no pair."""
        raise TypeError(epsilon)

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """Not known: there is no pair."""
        raise TypeError(real, heights)


@dataclass(frozen=True)
class ConcentratedLoss(_Pairless):
    """K(s) <= rho s (s + 1) for all s > 0, off a mass at infinity (Bun & Steinke 2016, arXiv:1605.02065)."""

    rho: float
    infinity: float = 0.0

    def moment(self, order: float) -> float:
        """Rho s (s + 1)."""
        return self.rho * order * (order + 1) * (1 + 8 * ULP)

    def below(self) -> Loss | None:
        """The Gaussian mechanism with mu^2 / 2 = rho keeps the promise."""
        return GaussianLoss(math.sqrt(2 * self.rho)) if self.rho > 0 and self.infinity == 0 else None


@dataclass(frozen=True)
class RenyiLoss(_Pairless):
    """Bounds at listed orders. K is convex with K(0) = 0, so between them it lies below the chords; above, unknown."""

    orders: tuple[float, ...]
    """s = alpha - 1, increasing."""
    bounds: tuple[float, ...]
    """K(s) = s times the Renyi divergence."""

    def moment(self, order: float) -> float:
        """Interpolate linearly between the listed orders; inf above the last."""
        if order > self.orders[-1]:
            return math.inf
        bound = float(np.interp(order, (0.0, *self.orders), (0.0, *self.bounds)))
        return bound * (1 + 8 * ULP)
