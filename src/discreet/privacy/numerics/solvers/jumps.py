r"""Losses so large that one of them decides: their share of delta in closed form.

Let a mechanism's use be a jump if its loss is at least J, and let the sum of all other losses be at least -a up to a
Q-probability eta. A composition with a jump then exceeds every e <= J - a, and the kernel (1 - exp(e - L))+ is
P - exp(e) Q there. So with p and q the P- and Q-probabilities of a jump in each of n uses,

    delta(e) = [1 - (1 - p)^n] - exp(e) [1 - (1 - q)^n]  +  delta of the compositions without a jump,

up to exp(e) n q eta by which the first part may be too small. The law without jumps is bounded by J, its
moments no longer explode, and nothing is given away.

For the subsampled Gaussian, remove direction, eta is bounded by Chernoff: Q[sum L < -a] <= exp(n K(r) - r a) with K the
log-moment function of the add direction, because E_Q[exp(-r L)] = E[(1 + x)^(-r)].
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.loss import Direction
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.search import minimize_at_once

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Reals

LOG_DOUBT = math.log(1e-11)
"""How unlikely it must be that the other losses outweigh a jump."""

FARTHEST_POWER = 1e3
"""Orders are tried until the loss of one use, at its least, times the order is this."""

SMALL = 0.03
"""A reserve below this share of epsilon is not worth a search for a smaller one."""


def sampled_only(direction: Direction) -> bool:
    """Whether all parts are subsampled Gaussians in the remove direction."""
    return all(isinstance(loss, SampledGaussianLoss) and not loss.add for loss, _ in direction.parts)


def reserve(direction: Direction, epsilon: float) -> float:
    """Return a: the other losses sum to less than -a with Q-probability at most exp(LOG_DOUBT).

    Losses are at least log(1 - q); where their least sum is small beside epsilon, it serves.
    """
    losses = [(loss, n) for loss, n in direction.parts if isinstance(loss, SampledGaussianLoss)]
    least = math.fsum(-n * math.log1p(-loss.rate) for loss, n in losses) * (1 + 1e-12)
    return least if least < SMALL * epsilon else _reserve(tuple((loss.sigma, loss.rate, n) for loss, n in losses))


@lru_cache(maxsize=64)
def _reserve(uses: tuple[tuple[float, float, int], ...]) -> float:
    """Return the reserve of subsampled Gaussians, given as sigma, rate and count: cuts do not change it."""
    parts = [(SampledGaussianLoss(sigma, rate, add=True), n) for sigma, rate, n in uses]
    mirror = Direction(tuple(parts))
    least = math.fsum(-n * math.log1p(-loss.rate) for loss, n in parts) * (1 + 1e-12)
    farthest = FARTHEST_POWER / max(-math.log1p(-loss.rate) for loss, _ in parts)

    def bounds(orders: Reals) -> Reals:
        # Beyond such orders (K - LOG_DOUBT) / r approaches the least sum from above or has passed its minimum.
        return np.where(orders < farthest, (mirror.roughs(orders) - LOG_DOUBT) / orders, least)

    # If the losses were normal, with their own variance, K would be that times r^2 / 2, and this the best order.
    spread = math.fsum(n * loss.rate**2 * math.expm1(min(loss.sigma**-2, 100.0)) for loss, n in parts)
    order = minimize_at_once(bounds, min(math.sqrt(-2 * LOG_DOUBT / spread), 0.1 * farthest))
    if order >= farthest:
        return least
    return min(least, (mirror.moment(order) - LOG_DOUBT) / order)


def without_jumps(direction: Direction, epsilon: float, delta: float, order: float) -> Direction:
    """Cut jumps off, if that cuts earlier than has been done; answers up to this epsilon stay exact."""
    if any(isinstance(loss, SampledGaussianLoss) and loss.z_of(epsilon) >= loss.cut for loss, _ in direction.parts):
        return direction  # whatever the reserve is
    level = epsilon + reserve(direction, epsilon)
    uses = sum(n for _, n in direction.parts)
    spare = math.log(uses / delta) + epsilon - LOG_DOUBT
    parts: list[tuple[SampledGaussianLoss, int]] = []
    for loss, n in direction.parts:
        if not isinstance(loss, SampledGaussianLoss):
            return direction
        cut = loss.cut_above(level, spare, order)
        if cut.cut >= loss.cut:
            return direction
        parts.append((cut, n))
    chance = math.fsum(n * loss.missing for loss, n in parts)
    doubt = math.exp(LOG_DOUBT) * (delta + math.exp(epsilon) * chance)
    return Direction(tuple(parts), valid=epsilon, doubt=doubt)
