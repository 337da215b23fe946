r"""A proved decay of the subsampled Gaussian's moments along a vertical line.

Moving the path of integration from Im z = 0 to Im z = eta = theta sigma, 0 < theta <= pi/2, turns the oscillating
factor exp(it log(1 + x)) into one that falls with t (Cauchy; the integrand is analytic for theta < pi):

    |M(c + it)| <= exp(eta^2 / 2) \int phi |1 - q + q exp(l + i theta)|^a exp(-t arg(1 - q + q exp(l + i theta))) dz,

for the add direction with the path below the axis. The right side falls in t, so its value at one height bounds all
higher ones.

A trimmed loss is a mixture of losses cut sharply at v ~ N(cut, soft^2). The path for a sharp cut ends with the piece
from v + i eta down to v, where |integrand| <= phi(v) (1 + x)^a exp(eta^2/2 - t arg) (a > 0); arg is at least y / eta
times alpha = min(arg at eta, theta p), p = q exp(l) / (1 + x), so that the piece is at most
eta phi(v) (1 + x)^a exp(eta^2 / 2) (1 - exp(-t alpha)) / (t alpha).

With several edges the path ends at the lowest v, whose density is the sum over the edges of each one's normal density
times the chance that all others are higher, a product of normal distribution functions.

Between two nodes v of the law of the cut, phi (1 + x)^a psi exceeds the larger end by less than a tenth (its
logarithm has curvature above -k, k = 1 plus 1/width^2 of every edge, and the step is below 0.75 / sqrt(k))
and alpha grows with v, so 2.2 times the sum with each alpha taken one node earlier bounds the mean over v.

The integral is a trapezoidal sum like those of `sampled_nodes`. Off the real axis by d = psi sigma, psi <= pi/2, the
new factor becomes exp(-t arg(theta + psi) / 2 + t arg(psi - theta) / 2), at most 1: beyond a right angle, pi - (theta
+ psi) has the same imaginary part, a larger real part and so a smaller arg, and it is at least psi - theta. The
growth is that of the real axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.sampled_nodes import FRACTIONS, REACH, Nodes, last_mode
from discreet.privacy.numerics.search import climb

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Reals
    from discreet.privacy.numerics.losses.sampled_pair import SampledPair

ANGLES = 0.5 * math.pi * 0.5 ** np.arange(19)
"""From a right angle down to 6e-6."""

BLOCK = 1 << 9
"""Entries of one block of lines."""

USUAL = 4
"""The place of the angle at which a search begins."""

OUTSIDE = 1e-19
"""More than exp(9/8 - 45): the height of the integrand outside the window of the nodes, relative to its peak."""


@dataclass(frozen=True, eq=False)
class Tail:
    """The integrands on lines of several angles, relative to M(c); a block of lines is evaluated when first wanted."""

    nodes: Nodes
    angles: Reals
    """The angles that are tried, a right angle first: any of them gives a bound."""
    leak: Reals
    outside: Reals
    """What lies outside the window of the nodes, at heights where the path does not add to it."""
    odds: Reals
    base: Reals
    """Logarithm of the part of the integrand that is the same on all lines."""
    brink: Reals | None
    """The same for the end of the path, where the loss is trimmed."""
    blocks: dict[int, NodeBlock]

    @staticmethod
    def at(loss: SampledPair, real: float) -> Tail:
        """Prepare the lines."""
        nodes = Nodes.at(loss, real, 0.0)
        sigma, z = loss.sigma, nodes.z
        angles = ANGLES[ANGLES * sigma < 36.0]
        odds = np.exp(np.minimum(z / sigma - 0.5 / sigma**2 + math.log(loss.rate) - math.log1p(-loss.rate), 600.0))
        a = nodes.tilt
        scale = math.log(nodes.step / math.sqrt(2 * math.pi)) - nodes.log_moment[0] + a * math.log1p(-loss.rate)
        log = scale - 0.5 * z * z
        brink = None
        if math.isfinite(loss.cut):
            brink = log + a * np.log1p(odds) + _log_ends(loss, z)
        leak, rest = _leak(loss, a, angles, nodes.step), outside(loss, a)
        rest = rest * np.exp(np.minimum(0.5 * (angles * sigma) ** 2 * (1 + loss.rising), 300.0))
        return Tail(nodes, angles, leak, rest, odds, log + nodes.kept, brink, {})

    @property
    def _size(self) -> int:
        """How many lines one block has."""
        return max(BLOCK // len(self.odds), 1)

    def above(self, height: float) -> float:
        """Return log of a bound on |M(c + it)| for all t >= height."""
        count = math.ceil(len(self.angles) / self._size)
        first = next(reversed(self.blocks), min(USUAL // self._size, count - 1))
        with np.errstate(under="ignore", over="ignore"):
            best, place = climb(lambda i: -self._bound(i, height), count, first)
        self.blocks[place] = self.blocks.pop(place)  # the next search starts here
        return self.nodes.log_moment[1] + min(math.log(-best) if best < 0 else -math.inf, 0.0)

    def _bound(self, place: int, height: float) -> float:
        """Bound |M(c + it)| / M(c) with the best line of one block."""
        part = slice(place * self._size, (place + 1) * self._size)
        block = self.blocks.get(place)
        if block is None:
            block = self.blocks[place] = self._block(self.angles[part, None])
        sizes = (block.weights * np.exp(-height * block.angles)).sum(axis=1) + self.leak[part]
        theta, steep = self.angles[part], max(-self.nodes.tilt, 0.0)
        # below a height of -a tan(theta / 2), a < 0, |1 + x|^a may grow by more than exp(-t arg) falls
        excess = np.maximum(steep * np.tan(0.5 * theta) - height, 0.0) * theta
        sizes = sizes + self.outside[part] * np.exp(np.minimum(excess, 300.0))
        if block.edges is None:
            return float(sizes.min())
        fall = np.maximum(height * block.rates, 1e-12)
        ends = (block.edges * (-np.expm1(-fall) / fall)).sum(axis=1)
        return float(np.minimum(sizes + ends, sizes * block.growth).min())

    def _block(self, theta: Reals) -> NodeBlock:
        """Evaluate the integrand on lines of these angles."""
        loss, odds = self.nodes.loss, self.odds
        along, across = 1 + odds * np.cos(theta), odds * np.sin(theta)
        angles = np.arctan2(across, along)
        lift = 0.5 * (theta * loss.sigma) ** 2 * (1 + loss.rising)
        log = self.base + lift + (0.5 * self.nodes.tilt) * np.log(along * along + across * across)
        weights = np.exp(np.minimum(log, 600.0))
        if self.brink is None:
            return NodeBlock(weights, angles, None, angles, np.ones(1))
        edges = 2.2 * theta * loss.sigma * np.exp(np.minimum(self.brink + lift, 600.0))
        rates = np.minimum(angles, theta * (odds / (1 + odds)))
        sharp = math.fsum(width**-2 for _, width in loss.ends)
        growth = np.exp(0.5 * (theta[:, 0] * loss.sigma) ** 2 * sharp)  # infinite where that is no use
        return NodeBlock(weights, angles, edges, np.concatenate([np.zeros_like(theta), rates[:, :-1]], axis=1), growth)


@dataclass(frozen=True, eq=False)
class NodeBlock:
    """Lines of several angles: one row each, one column a node."""

    weights: Reals
    """What each node weighs at t = 0."""
    angles: Reals
    """What multiplies -t."""
    edges: Reals | None
    """What the end of the path weighs at t = 0, where the loss is trimmed."""
    rates: Reals
    growth: Reals
    """How much more the integrand may be if the trimmed edge is carried along instead of cut off."""


def _log_ends(loss: SampledPair, z: Reals) -> Reals:
    """Return the logarithm of the density of where a path ends: at the cut, or at the lowest of several."""
    from scipy.special import log_ndtr

    sizes = np.full(len(z), -np.inf)
    for place, (edge, width) in enumerate(loss.ends):
        density = -0.5 * ((z - edge) / width) ** 2 - math.log(width * math.sqrt(2 * math.pi))
        others = [log_ndtr((other - z) / soft) for i, (other, soft) in enumerate(loss.ends) if i != place]
        sizes = np.logaddexp(sizes, density + sum(others, start=np.zeros(len(z))))
    return np.asarray(sizes)


def _leak(loss: SampledPair, a: float, theta: Reals, step: float) -> Reals:
    """Bound the error of the trapezoidal sum at each angle, relative to M(c)."""
    shift = np.minimum(np.multiply.outer(math.pi - theta, FRACTIONS), min(9.5 / loss.sigma, 0.5 * math.pi))
    away = theta[:, None]
    growth = 0.5 * (shift * loss.sigma) ** 2 * loss.stretch + 0.5 * (away * loss.sigma) ** 2 * (1 + loss.rising)
    if a < 0:
        growth = growth + 0.5 * a * np.log(np.cos(0.5 * (shift + away)) * np.cos(0.5 * (shift - away)))
    best = (growth - (2 * math.pi * loss.sigma / step) * shift).min(axis=1)
    return np.asarray(2.1 * np.exp(np.minimum(best, 300.0)))


def outside(loss: SampledPair, a: float) -> float:
    """Bound the integral of the integrand on the real axis outside the window of the nodes, relative to M(c).

    For a < 0 it is log-concave with curvature of at least 1, and the window reaches REACH from its mode. For a > 0 the
    window's scan leaves out what is below OUTSIDE times the peak, over a length of at most last_mode + 2 REACH; what
    lies beyond the scan counts as three more. The peak is at most sqrt(k / (2 pi)) M(c), as the curvature is above -k.
    """
    if a < 0:
        return OUTSIDE
    return OUTSIDE * (last_mode(loss, a) + 2 * REACH + 3) * math.sqrt(loss.stretch / (2 * math.pi))
