"""What the sums over a subsampled Gaussian need to know of it: its parameters and its integrand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.privacy.numerics.loss import Reals

SOFTEST = 0.4
"""The largest width of a trimmed edge, in standard deviations: softer edges need fewer nodes."""


@dataclass(frozen=True)
class SampledPair:
    """One direction of the subsampled Gaussian, 0 < rate < 1; see `sampled_gaussian` for the symbols."""

    sigma: float
    rate: float
    add: bool
    cut: float = math.inf
    """Where the trimmed edge lies, in z; inf if nothing is trimmed."""
    soft: float = SOFTEST
    """The width of the trimmed edge."""

    @cached_property
    def lost(self) -> tuple[float, float]:
        """E[1 - w] and E[(1 - w) exp(l)]: Phi(-cut / r) and Phi((1/sigma - cut) / r) with r^2 = 1 + soft^2."""
        from scipy.special import ndtr

        spread = math.hypot(1.0, self.soft)
        return float(ndtr(-self.cut / spread)), float(ndtr((1 / self.sigma - self.cut) / spread))

    def exponent(self, order: float) -> float:
        """Return a, with M(s) = E[(1 + x)^a]."""
        return -order if self.add else order + 1

    def ratio(self, z: Reals) -> Reals:
        """Return log(1 + x) at each z."""
        exponent = z / self.sigma - 0.5 / self.sigma**2
        inside = np.log1p(self.rate * np.expm1(np.minimum(exponent, 30.0)))
        if float(z[-1]) / self.sigma < 30.0:
            return np.asarray(inside)
        outside = (
            math.log(self.rate) + exponent + np.log1p((1 - self.rate) / self.rate * np.exp(-np.maximum(exponent, 30.0)))
        )
        return np.asarray(np.where(exponent < 30.0, inside, outside))

    def kept(self, z: Reals) -> Reals:
        """Return log w at each z; 0 where nothing is trimmed."""
        if math.isinf(self.cut):
            return np.zeros_like(z)
        from scipy.special import log_ndtr

        return np.asarray(log_ndtr((self.cut - z) / self.soft))
