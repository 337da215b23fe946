r"""Groups of units under sampled Gaussian noise: mixtures of Gaussians, one for each way in which a group splits.

Of k units let a be present in one dataset only and b = k - a in the other only. Given the rest of the sample, the laws
are mixtures over how many of them were sampled. Pull the noise's scale to 1, mu = 1/sigma: a test that accuses with
probability alpha where none of them was sampled does so with at most Phi(z + j mu) where j of the a were, and with at
least Phi(z - i mu) where i of the b were, z = Phi^-1(alpha) (group privacy of Gaussian noise: Dong, Roth & Su 2022,
arXiv:1905.02383). So no test has more power than a threshold for x between

    P = sum of Bin(a, q)(j) N(j mu, 1)    and    Q = sum of Bin(b, q)(i) N(-i mu, 1),

whose likelihood ratio N / D rises with x: this pair dominates, and the count of the a less that of the b attains it.
For b = 0 it is the pair of Ganesh 2024 (arXiv:2401.10294). With w and v the chances, x where N = y D, and
e_j = j mu x - (j mu)^2/2, f_i = -i mu x - (i mu)^2/2,

    delta = sum of w_j G_j(e_j) + y sum of v_i exp(f_i) G_i(-f_i),

G_j the profile of two Gaussians j mu apart: all terms are positive. Proof: docs/proofs/privacy/sampled.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.gaussian import gaussian_delta
from discreet.privacy.numerics.losses.profile import hull, reach
from discreet.privacy.numerics.losses.sampled import CutLoss, Formula
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Loss, Reals

MOST_UNITS = 8
"""Larger groups are chained: every split of a group takes sums over both of its parts."""

FARTHEST = 300.0
"""Tables hold exp(L) of losses up to this."""

POINTS = 2048

HALVINGS = 20
"""How often the interval of a threshold is halved, before Newton's last steps."""

NEWTON = 5


@dataclass(frozen=True)
class Split:
    """The pair of a group of which `present` units are in the first dataset only and `absent` in the second only."""

    mu: float
    rate: float
    present: int
    absent: int

    @cached_property
    def over(self) -> Reals:
        """How likely so many of the present units are sampled."""
        return _binomial(self.present, self.rate)

    @cached_property
    def under(self) -> Reals:
        """How likely so many of the absent units are sampled."""
        return _binomial(self.absent, self.rate)

    def delta(self, epsilon: Reals) -> Reals:
        """Return the profile at each epsilon, of either sign."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        inside = self._inside(epsilon)
        x = self._threshold(np.where(inside, epsilon, 0.0))
        above, below = np.zeros_like(x), np.zeros_like(x)
        for j in range(1, self.present + 1):
            shift = j * self.mu
            above += self.over[j] * gaussian_delta(shift, shift * x - 0.5 * shift * shift)
        for i in range(1, self.absent + 1):
            shift = i * self.mu
            ratio = -shift * x - 0.5 * shift * shift
            below += self.under[i] * np.exp(np.minimum(ratio + epsilon, 700.0)) * gaussian_delta(shift, -ratio)
        # Outside, a threshold accuses always or never.
        return np.asarray(np.where(inside, np.minimum(above + below, 1.0), -np.expm1(np.minimum(epsilon, 0.0))))

    def slope(self, epsilon: Reals) -> Reals:
        """Return Q of what lies beyond the threshold."""
        from scipy.special import ndtr

        epsilon = np.asarray(epsilon, dtype=np.float64)
        inside = self._inside(epsilon)
        x = self._threshold(np.where(inside, epsilon, 0.0))
        beyond = sum((weight * ndtr(-x - i * self.mu) for i, weight in enumerate(self.under)), np.zeros_like(x))
        return np.asarray(np.where(inside, beyond, np.where(epsilon < 0, 1.0, 0.0)))

    def _inside(self, epsilon: Reals) -> Reals:
        """Whether some outcomes have a larger loss and some a smaller one."""
        least = -math.inf if self.absent else self.present * math.log1p(-self.rate)
        most = math.inf if self.present else -self.absent * math.log1p(-self.rate)
        return np.asarray((epsilon > least) & (epsilon < most))

    def _threshold(self, epsilon: Reals) -> Reals:
        """Return x where the likelihood ratio is exp(epsilon): halve an interval, then take Newton's steps."""
        low = -_beyond(self.mu, self.rate, self.absent, self.present, -epsilon)
        high = _beyond(self.mu, self.rate, self.present, self.absent, epsilon)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            larger = self._ratio(middle)[0] > epsilon
            low, high = np.where(larger, low, middle), np.where(larger, middle, high)
        x = 0.5 * (low + high)
        for _ in range(NEWTON):
            value, rise = self._ratio(x)
            x = np.clip(x - (value - epsilon) / np.maximum(rise, 1e-300), low, high)
        return np.asarray(x)

    def _ratio(self, x: Reals) -> tuple[Reals, Reals]:
        """Return log(N / D) at each x, and how fast it rises."""
        value, rise = np.zeros_like(x), np.zeros_like(x)
        for weights, sign in ((self.over, 1.0), (self.under, -1.0)):
            shifts = sign * self.mu * np.arange(len(weights))
            logs = np.multiply.outer(x, shifts) + (np.log(weights) - 0.5 * shifts * shifts)
            peak = logs.max(axis=-1)
            sizes = np.exp(logs - peak[..., None])
            total = sizes.sum(axis=-1)
            value += sign * (peak + np.log(total))
            rise += sign * (sizes @ shifts) / total
        return value, rise


def _binomial(count: int, rate: float) -> Reals:
    """Return the chances of 0 to `count` sampled units."""
    return np.array(
        [math.comb(count, j) * rate**j * math.exp((count - j) * math.log1p(-rate)) for j in range(count + 1)]
    )


def _beyond(mu: float, rate: float, present: int, absent: int, epsilon: Reals) -> Reals:
    """Return an x at which the loss exceeds epsilon, which it does somewhere.

    For x >= 0, D <= 1, and N is at least the term of one sampled unit. Without a present one N = 1, and D is at most
    its limit v for large x and (1 - v) exp(-mu x).
    """
    if present:
        one = math.log(present * rate) + (present - 1) * math.log1p(-rate)
        return np.asarray(np.maximum((epsilon - one) / mu + 0.5 * mu, 0.0))
    limit = math.exp(absent * math.log1p(-rate))
    room = np.maximum(np.exp(-epsilon) - limit, 1e-300)
    return np.asarray(np.maximum(-np.log(np.minimum(room / (1 - limit), 1.0)) / mu, 0.0))


def mixture_pair(forward: Loss, backward: Loss, size: int) -> tuple[Loss, Loss] | None:
    """Return the losses of a group under sampled Gaussian noise; None where it is none, or beyond tables.

    How a group splits is the same for all mechanisms that are composed, so splits may be taken apart: the first loss is
    that of a group whose units are all present in the first dataset, which is attained; the second dominates all other
    splits. A single use has the larger of their profiles: at every epsilon some split does.
    """
    if not isinstance(forward, SampledGaussianLoss) or not isinstance(backward, SampledGaussianLoss):
        return None
    if size > MOST_UNITS:
        return None
    *others, whole = (Split(1 / forward.sigma, forward.rate, present, size - present) for present in range(size + 1))

    def profile(epsilon: Reals) -> Reals:
        return np.asarray(np.max([split.delta(epsilon) for split in others], axis=0))

    source = Formula(whole.delta, whole.slope, 0.0, math.inf)
    high = reach(source)
    if high > FARTHEST:
        return None
    points = high * np.linspace(0.0, 1.0, POINTS) ** 2
    edges = np.append(-points[:0:-1], points)
    bound = hull(edges, profile(edges), 0.0)
    rest = CutLoss.around(Formula(profile, profile, 0.0, math.inf), bound, None, reached=True)
    return CutLoss.of(source, edges), rest
