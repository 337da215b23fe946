"""The Poisson-subsampled Gaussian pair, both directions.

With noise sigma per unit of sensitivity, rate q and z ~ N(0, 1), let

    l = z / sigma - 1 / (2 sigma^2),    1 + x = 1 - q + q exp(l)    (the ratio of the mixture to the base density).

Remove: P is the mixture, Q the base; L = log(1 + x) and M(s) = E[(1 + x)^(s + 1)].
Add:    P is the base, Q the mixture; L = -log(1 + x) and M(s) = E[(1 + x)^(-s)].
So M(s) = E[(1 + x)^a] with a = s + 1 or a = -s. (Mironov, Talwar & Zhang 2019, arXiv:1908.10530; Zhu, Dong & Wang 2022,
arXiv:2106.08567, Theorem 11 for the pair of each direction.)

The moments of the remove direction grow like a log-normal's, faster than any exponential. Where that spoils the
saddle point, the loss is trimmed: a share 1 - w(z), w(z) = Phi((cut - z) / soft), of the mass is sent to infinity,
which bounds the truth from above, and left out altogether, which bounds it from below. The sums live in
`sampled_nodes`. Proofs: docs/proofs/privacy/sampled.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.loss import ULP, Loss
from discreet.privacy.numerics.losses.sampled_nodes import Nodes, Sketch
from discreet.privacy.numerics.losses.sampled_pair import FAR, SOFTEST, SampledPair
from discreet.privacy.numerics.losses.sampled_tail import Tail

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Complexes, Reals


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

        How soft the edge is decides how far out the tilted mass reaches, and so how many nodes are needed; no more.
        """
        if self.add or not mass > 0:
            return self
        return self.edged(mass, min(SOFTEST, 0.7 * math.sqrt(self.sigma / (order + 1))))

    def edged(self, mass: float, soft: float) -> SampledGaussianLoss:
        """Send at most this P-mass of the largest losses to infinity, by an edge of this width."""
        return replace(self, cut=self._edge(mass, soft), soft=soft)

    def _edge(self, mass: float, soft: float) -> float:
        """Return where an edge of this width cuts off at most this P-mass."""
        from scipy.special import ndtri_exp

        # Both terms of `infinity` below half of the mass.
        deep = -float(ndtri_exp(min(math.log(0.49 * mass / self.rate), -1e-3)))
        plain = -float(ndtri_exp(min(math.log(0.49 * mass), -1e-3)))
        spread = math.hypot(1.0, soft)
        return max(spread * deep + 1 / self.sigma, spread * plain, 1.0)

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
        if loss < 36:  # as in `base_epsilon`, for one number
            inner = math.expm1(loss) / self.rate
            base = math.log1p(inner) if inner > -1 else -math.inf
        else:
            base = loss - math.log(self.rate) + math.log1p(-(1 - self.rate) * math.exp(-loss))
        return self.sigma * base + 0.5 / self.sigma

    @property
    def missing(self) -> float:
        """The Q-probability of what was taken out."""
        return 0.0 if math.isinf(self.cut) else self.lost[0]

    # -- single use ---------------------------------------------------------------------------------------------

    def delta(self, epsilon: Reals) -> Reals:
        """Reduce to the Gaussian: q G(log((y - 1 + q) / q)), or (1 - y (1 - q)) G(log(y q / (1 - y (1 - q))))."""
        from discreet.privacy.numerics.losses.gaussian import gaussian_delta
        from discreet.privacy.numerics.losses.thinned import sampled_delta

        return sampled_delta(lambda e: gaussian_delta(1 / self.sigma, e), self.rate, epsilon, add=self.add)

    def solve(self, delta: float) -> tuple[float, float] | None:
        """Return roughly the epsilon of a single use where a record is removed, from that of the Gaussian."""
        if self.add or delta >= self.rate:
            return None
        from discreet.privacy.numerics.losses.gaussian import gaussian_epsilon

        base, rate = gaussian_epsilon(1 / self.sigma, delta / self.rate)
        share = self.rate + (1 - self.rate) * math.exp(-base)  # epsilon = base + log(share)
        epsilon = base + math.log(share) if base > FAR else math.log1p(self.rate * math.expm1(base))
        return epsilon, rate * share / self.rate

    def rough_delta(self, epsilon: float) -> float:
        """Return the profile at one epsilon >= 0, but for what cancels."""
        if self.add and epsilon >= self.top:
            return 0.0
        z = self.z_of(-epsilon if self.add else epsilon)
        plain, shifted = (0.5 * math.erfc((sign * (z - move)) * math.sqrt(0.5)) for sign, move in self._sides)
        sampled = (1 - self.rate) * plain + self.rate * shifted
        first, second = (plain, sampled) if self.add else (sampled, plain)
        return max(first - math.exp(min(epsilon, 700.0)) * second, 0.0)

    @property
    def _sides(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """On which side of a threshold large losses lie, and how far the mixture's second part is moved."""
        sign = -1.0 if self.add else 1.0
        return (sign, 0.0), (sign, 1 / self.sigma)

    def slope(self, epsilon: Reals) -> Reals:
        """Q[L > e] by the normal distribution function."""
        from scipy.special import ndtr

        from discreet.privacy.numerics.losses.thinned import base_epsilon

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

    def roughs(self, orders: Reals) -> Reals:
        """K at many orders, from one picture of the loss."""
        if not self.add and math.isinf(self.cut):
            return super().roughs(orders)
        return self._sketch.moments(-orders if self.add else orders + 1)

    def moving(self, order: float, height: float) -> float:
        """Return roughly the share of the tilted law whose phase at this height is not that of the likeliest loss."""
        return self._sketch.moving(self.exponent(order), height)

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
