"""Chains of neighbors: the profile of a group from the profile of one step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.profile import chain_reach, hull
from discreet.privacy.numerics.losses.sampled import CutLoss, Formula

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Loss, Reals

POINTS = 2048


def grouped_pair(forward: Loss, backward: Loss, size: int) -> tuple[Loss, Loss]:
    """Return the losses of a chain of `size` steps; a step may go either way, so the worse profile is chained."""

    def step(epsilon: Reals) -> Reals:
        return (
            forward.delta(epsilon)
            if forward is backward
            else np.maximum(forward.delta(epsilon), backward.delta(epsilon))
        )

    def profile(epsilon: Reals) -> Reals:
        # D_k(y^k) <= (1 + y + ... + y^(k-1)) D(y); below 0 by symmetry of the chained bound.
        share = np.abs(np.asarray(epsilon, dtype=np.float64)) / size
        factor = np.exp(np.minimum(np.multiply.outer(share, np.arange(size)), 700.0)).sum(axis=-1)
        chained = np.minimum(factor * step(share), 1.0)
        size_ = np.abs(epsilon)
        return np.asarray(np.where(np.asarray(epsilon) < 0, -np.expm1(-size_) + np.exp(-size_) * chained, chained))

    high = size * max(chain_reach(forward, size), chain_reach(backward, size))
    points = high * np.linspace(0.0, 1.0, POINTS) ** 2
    edges = np.append(-points[:0:-1], points)
    top = size * max(forward.top, backward.top)
    leaks = forward.leaks or backward.leaks  # then no finite epsilon need hold, and an infinite one is an answer
    infinity = float(profile(np.asarray([high]))[0]) if leaks or math.isfinite(top) else 0.0
    source = Formula(profile, profile, infinity, top, real=leaks)
    loss = CutLoss.around(source, hull(edges, profile(edges), infinity), None)
    return loss, loss
