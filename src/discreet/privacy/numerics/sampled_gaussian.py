"""The Poisson-subsampled Gaussian pair, both directions.

With noise sigma per unit of sensitivity, rate q and z ~ N(0, 1), let

    l = z / sigma - 1 / (2 sigma^2),    1 + x = 1 - q + q exp(l)    (the ratio of the mixture to the base density).

Remove: P is the mixture, Q the base; L = log(1 + x) and M(s) = E[(1 + x)^(s + 1)].
Add:    P is the base, Q the mixture; L = -log(1 + x) and M(s) = E[(1 + x)^(-s)].
So M(s) = E[(1 + x)^a] with a = s + 1 or a = -s. (Mironov, Talwar & Zhang 2019, arXiv:1908.10530; Zhu, Dong & Wang 2022,
arXiv:2106.08567, Theorem 11 for the pair of each direction.)

The moments of the remove direction grow like a log-normal's, faster than any exponential. Where that spoils the
saddle point, the loss is trimmed: a share 1 - w(z), w(z) = Phi((cut - z) / soft), of the mass is sent to infinity,
which bounds
the truth from above, and left out altogether, which bounds it from below. The sums live in
`sampled_nodes`. Proofs: docs/proofs/privacy/sampled.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.loss import ULP, Loss
from discreet.privacy.numerics.sampled_nodes import Nodes, Sketch
from discreet.privacy.numerics.sampled_pair import SOFTEST, SampledPair
from discreet.privacy.numerics.sampled_tail import Tail

if TYPE_CHECKING:
    from discreet.privacy.numerics.loss import Complexes, Reals


@dataclass(frozen=True)
class SampledGaussianLoss(SampledPair, Loss):
    """One direction of the subsampled Gaussian, 0 < rate < 1."""

    @property
    def top(self) -> float:  # type: ignore[override]
        """The add direction is bounded by -log(1 - q)."""
        return -math.log1p(-self.rate) * (1 + 4 * ULP) if self.add else math.inf

    @property
    def infinity(self) -> float:  # type: ignore[override]
        """What was trimmed, rounded up: E[(1 - w) (1 + x)]."""
        if math.isinf(self.cut):
            return 0.0
        plain, shifted = self.lost
        return ((1 - self.rate) * plain + self.rate * shifted) * (1 + 2.0**-40)

    @property
    def certain(self) -> float:
        """Nothing is at infinity for sure: what was trimmed may lie anywhere."""
        return 0.0

    def trimmed(self, mass: float, order: float) -> SampledGaussianLoss:
        """Send at most this P-mass of the largest losses to infinity.

        Beyond a soft edge the tilted mass has its peak soft^2 a p / sigma further out; half a standard deviation is
        allowed.
        """
        if self.add or not mass > 0:
            return self
        from scipy.special import ndtri_exp

        soft = min(SOFTEST, 0.7 * math.sqrt(self.sigma / (order + 1)))
        # Both terms of `infinity` below half of the mass.
        spread = math.hypot(1.0, soft)
        deep = -spread * float(ndtri_exp(min(math.log(0.49 * mass / self.rate), -1e-3))) + 1 / self.sigma
        plain = -spread * float(ndtri_exp(min(math.log(0.49 * mass), -1e-3)))
        return replace(self, cut=max(deep, plain, 1.0), soft=soft)

    def cut_above(self, level: float, spare: float, order: float) -> SampledGaussianLoss:
        """Take out losses of at least this level; of smaller ones at most a Q-probability of exp(-spare).

        With v the z of the level, E[1 - w; z < v] <= exp(-v^2/2 - (cut - v)^2 / (2 soft^2)) if cut >= v (1 + soft^2).
        """
        edge = max(self.z_of(level), 1.0)
        soft = min(SOFTEST, 0.7 * math.sqrt(self.sigma / (order + 1)))
        cut = max(edge * (1 + soft * soft), edge + soft * math.sqrt(2 * max(spare - 0.5 * edge * edge, 0.0)))
        return replace(self, cut=cut, soft=soft)

    def z_of(self, loss: float) -> float:
        """Return the z at which the remove direction has this loss."""
        from discreet.privacy.numerics.thinned import base_epsilon

        return self.sigma * float(base_epsilon(self.rate, np.asarray([loss]), add=False)[0]) + 0.5 / self.sigma

    @property
    def missing(self) -> float:
        """The Q-probability of what was taken out."""
        return 0.0 if math.isinf(self.cut) else self.lost[0]

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

    def rough(self, order: float) -> float:
        """K on the real axis without an error bound, for searches."""
        if not self.add and math.isinf(self.cut):
            return self.moment(order)
        return self._sketch.moment(self.exponent(order))

    @cached_property
    def _sketch(self) -> Sketch:
        return Sketch.of(self)

    def moment(self, order: float) -> float:
        """K on the real axis, rounded up."""
        nodes = Nodes.at(self, order, 0.0)
        return nodes.log_moment[1] if nodes.affordable else math.inf

    def affordable(self, real: float, height: float) -> bool:
        """Whether a line up to this height can be summed."""
        return Nodes.at(self, real, height).affordable and Nodes.at(self, real, 0.0).affordable

    def line(self, real: float, heights: Reals) -> tuple[Complexes, Reals]:
        """K on a vertical line; many heights must be multiples of the first positive one."""
        return Nodes.at(self, real, float(heights[-1])).log_moments(heights)

    def tail(self, real: float, height: float) -> float:
        """Bound |M(c + it)| for all t >= height by moving the path of integration; see `sampled_tail`."""
        if not Nodes.at(self, real, 0.0).affordable:
            return math.inf
        if real not in self._tails:
            self._tails.clear()
            self._tails[real] = Tail.at(self, real)
        return self._tails[real].above(height)

    @cached_property
    def _tails(self) -> dict[float, Tail]:
        return {}
