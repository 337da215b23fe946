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

Between two nodes v of the law of the cut, phi (1 + x)^a psi exceeds the larger end by less than a tenth (its
logarithm has curvature above -(1 + 1/soft^2) and the step is below 0.75 soft) and alpha grows with v, so 2.2 times
the sum with each alpha taken one node earlier bounds the mean over v.

The integral is a trapezoidal sum like those of `sampled_nodes`. Off the real axis by d = psi sigma the new factor
becomes exp(-t arg(theta + psi) / 2 - t arg(theta - psi) / 2), at most 1 because arg is odd and grows with the angle,
so the growth is that of the real axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.sampled_nodes import FRACTIONS, Nodes, stretch

if TYPE_CHECKING:
    from discreet.privacy.numerics.loss import Reals
    from discreet.privacy.numerics.sampled_pair import SampledPair

ANGLES = 0.5 * math.pi * 0.6 ** np.arange(26)
"""From a right angle down to 4.5e-6."""

OUTSIDE = 1e-18
"""More than what lies outside the window of the nodes, relative to M(c)."""


@dataclass(frozen=True, eq=False)
class Tail:
    """The integrands on lines of several angles, relative to M(c)."""

    log_moment: float
    weights: Reals
    """Angle by node: what the node weighs at t = 0."""
    angles: Reals
    """Angle by node: what multiplies -t."""
    edges: Reals
    """Angle by node: what the end of the path weighs at t = 0, where the loss is trimmed."""
    rates: Reals
    leak: Reals

    @staticmethod
    def at(loss: SampledPair, real: float) -> Tail:
        """Evaluate the integrands."""
        nodes = Nodes.at(loss, real, 0.0)
        a, sigma, z = nodes.tilt, loss.sigma, nodes.z
        low, high = nodes.log_moment
        theta = ANGLES[ANGLES * sigma < 36.0][:, None]
        odds = np.exp(np.minimum(z / sigma - 0.5 / sigma**2 + math.log(loss.rate) - math.log1p(-loss.rate), 600.0))
        along, across = 1 + odds * np.cos(theta), odds * np.sin(theta)
        angles = np.arctan2(across, along)
        scale = math.log(nodes.step / math.sqrt(2 * math.pi)) - low + a * math.log1p(-loss.rate)
        log = -0.5 * z * z + scale + 0.5 * (theta * sigma) ** 2
        weights = np.exp(np.minimum(log + (0.5 * a) * np.log(along * along + across * across) + loss.kept(z), 600.0))
        edges, rates = _ends(loss, a, z, odds, theta, log, angles)
        return Tail(high, weights, angles, edges, rates, _leak(loss, a, theta[:, 0], nodes.step))

    def above(self, height: float) -> float:
        """Return log of a bound on |M(c + it)| for all t >= height."""
        with np.errstate(under="ignore"):
            sizes = (self.weights * np.exp(-height * self.angles)).sum(axis=1) + self.leak
            if self.edges.size:
                fall = np.maximum(height * self.rates, 1e-12)
                sizes = sizes + (self.edges * (-np.expm1(-fall) / fall)).sum(axis=1)
        best = float(sizes.min())
        return self.log_moment + min(math.log(best) if best > 0 else -math.inf, 0.0)


def _ends(  # noqa: PLR0913, PLR0917  the arrays that the caller has at hand
    loss: SampledPair, a: float, z: Reals, odds: Reals, theta: Reals, log: Reals, angles: Reals
) -> tuple[Reals, Reals]:
    """Return the weights of the ends of the paths, over the law of the cut, and their rates of decay."""
    if math.isinf(loss.cut):
        return np.zeros((len(theta), 0)), np.zeros((len(theta), 0))
    edge = -0.5 * ((z - loss.cut) / loss.soft) ** 2 - math.log(loss.soft * math.sqrt(2 * math.pi))
    edges = 2.2 * theta * loss.sigma * np.exp(np.minimum(log + a * np.log1p(odds) + edge, 600.0))
    rates = np.minimum(angles, theta * (odds / (1 + odds)))
    return edges, np.concatenate([np.zeros_like(theta), rates[:, :-1]], axis=1)


def _leak(loss: SampledPair, a: float, theta: Reals, step: float) -> Reals:
    """Bound the error of the trapezoidal sum at each angle, relative to M(c)."""
    shift = np.minimum(np.multiply.outer(math.pi - theta, FRACTIONS), 9.5 / loss.sigma)
    away = theta[:, None]
    growth = 0.5 * (shift * loss.sigma) ** 2 * stretch(loss) + 0.5 * (away * loss.sigma) ** 2
    if a < 0:
        growth = growth + 0.5 * a * np.log(np.cos(0.5 * (shift + away)) * np.cos(0.5 * (shift - away)))
    best = (growth - (2 * math.pi * loss.sigma / step) * shift).min(axis=1)
    return np.asarray(2.1 * np.exp(np.minimum(best, 300.0)) + OUTSIDE)
