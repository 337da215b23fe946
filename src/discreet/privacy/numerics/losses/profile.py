"""Turn a privacy profile into finite pairs: one that dominates it, one that it dominates.

Above. Between two points of exp(epsilon) a convex profile lies below its chord. The piecewise linear function through
the points is the profile of a finite pair with the points as values (Doroshenko, Ghazi, Kamath, Kumar & Manurangsi
2022, arXiv:2207.04380, "connect the dots"); where only upper bounds of the profile are known, their lower convex hull
serves.

Below. Replacing the law of exp(L) under Q within each cell by its mean lowers every convex expectation (Jensen), so the
pair with one value log(P[cell] / Q[cell]) per cell is dominated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.finite import FiniteLoss
from discreet.privacy.numerics.losses.loss import SLACK

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Loss, Reals

ACCURACY = 1e-11

FARTHEST_CHAIN = 600.0
"""The largest loss of a chain of neighbors that a table holds: exp(600), with a factor for each step, is a float."""

LOG_FLOOR = math.log(1e-40)
"""What is left of a chain's profile at the end of its table."""


def collapse(loss: Loss, edges: Reals) -> tuple[FiniteLoss, FiniteLoss]:
    """Return (below, above) for a loss whose profile and its slope are formulas; edges increase."""
    profile = loss.delta(edges)
    slope = loss.slope(edges)
    ratio = np.exp(edges)
    survival = profile - loss.infinity + ratio * slope
    under = np.maximum(np.append(1.0, slope) - np.append(slope, 0.0), 0.0)
    over = np.maximum(np.append(1 - loss.infinity, survival) - np.append(survival, 0.0), 0.0)
    return _below(loss, edges, under, over), _above(loss, edges, under, over)


def _below(loss: Loss, edges: Reals, under: Reals, over: Reals) -> FiniteLoss:
    """One value per cell, at the mean."""
    lowest = np.append(-np.inf, edges)
    highest = np.append(edges, np.inf)
    keep = (over > 0) & (under > 0)
    with np.errstate(divide="ignore"):
        values = np.log(over[keep]) - np.log(under[keep])
    values = np.clip(values, lowest[keep], highest[keep])
    masses = over[keep] * (1 - ACCURACY)
    return FiniteLoss(values, masses, loss.infinity, 0.0, 0.0, ACCURACY, cutoff=loss.unsure)


def _above(loss: Loss, edges: Reals, under: Reals, over: Reals) -> FiniteLoss:
    """Each cell split onto its ends, keeping both masses; what lies above the last edge goes to infinity."""
    inner_under, inner_over = under[1:-1], over[1:-1]
    gap = np.expm1(np.diff(edges))
    start = np.exp(-edges[:-1])
    right = np.clip((inner_over * start - inner_under) / gap, 0.0, inner_under)
    left = inner_under - right
    ratio = np.exp(edges)
    masses = np.zeros(len(edges))
    masses[:-1] += left * ratio[:-1]
    masses[1:] += right * ratio[1:]
    masses[0] += over[0]
    infinity = min(loss.infinity + over[-1], 1.0)
    return FiniteLoss(edges, masses, infinity, 0.0, 0.0, ACCURACY)


def hull(edges: Reals, bounds: Reals, infinity: float) -> FiniteLoss:
    """Return a finite pair whose profile is at least every convex profile below `bounds` at the edges.

    The edges must reach from a point where the profile is 1 - exp(e) (or where that is used as the bound) to the
    largest loss; the bound at the last edge goes to infinity.
    """
    ratio = np.append(0.0, np.exp(edges))
    values = np.append(1.0, np.minimum(bounds * (1 + ACCURACY), 1.0))
    values[-1] = max(float(values[-1]), infinity)
    corners = corner_points(ratio, values)
    x, y = ratio[corners], values[corners]
    slopes = np.append(np.maximum((y[:-1] - y[1:]) / np.diff(x), 0.0), 0.0)
    under = np.maximum(slopes[:-1] - slopes[1:], 0.0)
    masses = under * x[1:]
    return FiniteLoss(np.log(x[1:]), masses, float(y[-1]), 0.0, 0.0, ACCURACY)


def corner_points(x: Reals, y: Reals) -> list[int]:
    """Return the indices of the corners of the lower convex hull of points in increasing order of x."""
    corners = [0]
    for i in range(1, len(x)):
        while len(corners) > 1 and _turns(x, y, corners[-2], corners[-1], i):
            corners.pop()
        corners.append(i)
    return corners


def _turns(x: Reals, y: Reals, a: int, b: int, c: int) -> bool:
    """Whether the middle point lies on or above the chord of its neighbors."""
    return bool((y[b] - y[a]) * (x[c] - x[a]) >= (y[c] - y[a]) * (x[b] - x[a]))


def reach(loss: Loss, floor: float = 1e-80) -> float:
    """Return an epsilon at which the profile has fallen to its mass at infinity, or below the floor."""
    if math.isfinite(loss.top):
        return loss.top
    high, rest = 1.0, loss.infinity * (1 + 2 * SLACK) + floor  # a bound may exceed the mass at infinity by its slack
    while float(loss.delta(np.asarray([high]))[0]) > rest:
        high *= 1.5
    return high


def chain_reach(loss: Loss, size: int) -> float:
    """Return the loss of one step at which a chain's profile, at most exp((size - 1) e) times its own, is negligible.

    It is the largest loss where there is one, and infinity where floats do not reach so far. Profiles that leak, or
    that are no formula, are followed to their own end only: what a chain makes of the rest goes to infinity.
    """
    high = reach(loss, 1e-60)
    if math.isfinite(loss.top) or loss.infinity > 0 or not loss.closed:
        return high
    while size * high <= FARTHEST_CHAIN:
        rest = float(loss.delta(np.asarray([high]))[0]) - loss.infinity
        if math.log(max(rest, 1e-320)) + (size - 1) * high < LOG_FLOOR:
            return high
        high *= 1.2
    return math.inf
