"""What the sums over a subsampled Gaussian need to know of it: its parameters and its integrand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Reals

SOFTEST = 0.4
"""The largest width of a trimmed edge, in standard deviations: softer edges need fewer nodes."""

FAR = 30.0
"""From this exponent l on, 1 + x is formed from exp(l) itself."""


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
    start: float = -math.inf
    """Where an edge lies below which everything is left out, in z; -inf if nothing is. See `split`."""
    rise: float = SOFTEST
    """The width of that edge."""
    higher: tuple[tuple[float, float], ...] = ()
    """Where more edges above the trimmed one lie, in z, and their widths; the losses kept are those below all."""

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
        """Return log(1 + x) at each z, in increasing order."""
        exponent = z / self.sigma - 0.5 / self.sigma**2
        if float(exponent[-1]) < FAR:
            return np.asarray(np.log1p(self.rate * np.expm1(exponent)))
        far = int(exponent.searchsorted(FAR))
        beyond = exponent[far:]
        outside = math.log(self.rate) + beyond + np.log1p((1 - self.rate) / self.rate * np.exp(-beyond))
        return np.concatenate([np.log1p(self.rate * np.expm1(exponent[:far])), outside])

    def rough_ratio(self, z: Reals) -> Reals:
        """Return log(1 + x) with a small absolute error."""
        shift = math.log(self.rate) - 0.5 / self.sigma**2
        return np.asarray(np.logaddexp(math.log1p(-self.rate), z / self.sigma + shift))

    def kept(self, z: Reals) -> Reals:
        """Return the logarithm of what the edges leave at each z; 0 where there are none."""
        kept = np.zeros_like(z)
        if self.whole:
            return kept
        from scipy.special import log_ndtr

        for edge, width in self.ends:
            kept = kept + log_ndtr((edge - z) / width)
        if math.isfinite(self.start):
            kept = kept + log_ndtr((z - self.start) / self.rise)
        return np.asarray(kept)

    @cached_property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """The edges above which losses are left out, each with its width."""
        return ((self.cut, self.soft), *self.higher) if math.isfinite(self.cut) else ()

    @cached_property
    def widths(self) -> list[float]:
        """The widths of all edges."""
        lower = [self.rise] if math.isfinite(self.start) else []
        return [*(width for _, width in self.ends), *lower]

    @cached_property
    def whole(self) -> bool:
        """Whether there are no edges."""
        return not self.widths

    @property
    def rising(self) -> float:
        """The factor of d^2 / 2 in log of the growth of the lower edge on the line Im z = d."""
        return 0.0 if math.isinf(self.start) else self.rise**-2

    @cached_property
    def stretch(self) -> float:
        """The factor of d^2 / 2 in log of the growth of phi(z) and the edges on the line Im z = d."""
        return 1.0 + math.fsum(width**-2 for width in self.widths)

    @cached_property
    def sharpest(self) -> float:
        """The width of the sharpest edge; inf if there is none."""
        return min(self.widths, default=math.inf)
