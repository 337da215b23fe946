"""Poisson subsampling of a pair's privacy profile, exactly.

With rate q, y = exp(epsilon) and D the profile of the unsampled direction (Zhu, Dong & Wang 2022, arXiv:2106.08567,
Theorem 11; Balle, Barthe & Gaboardi 2018, arXiv:1807.01647, Theorem 8):

    remove: (1 - q) Q + q P against Q:   q D((y - 1 + q) / q) for y > 1 - q, else 1 - y;
    add:    P against (1 - q) P + q Q:   (1 - y (1 - q)) D(y q / (1 - y (1 - q))) for y (1 - q) < 1, else 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.numerics.losses.loss import Reals


def base_epsilon(rate: float, epsilon: Reals, *, add: bool) -> Reals:
    """Return the loss of the unsampled pair that becomes `epsilon` after sampling; +-inf outside the range."""
    epsilon = np.asarray(epsilon, dtype=np.float64)
    sign = -1.0 if add else 1.0
    # remove: exp(e) = 1 - q + q exp(l), so exp(l) - 1 = (exp(e) - 1) / q; add is the same with both signs turned.
    turned = sign * epsilon
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = np.log1p(np.maximum(np.expm1(np.minimum(turned, 36.0)) / rate, -1.0))
        far = turned - math.log(rate) + np.log1p(-(1 - rate) * np.exp(-np.maximum(turned, 36.0)))
    return np.asarray(sign * np.where(turned < 36.0, near, far))


def sampled_delta(base: Callable[[Reals], Reals], rate: float, epsilon: Reals, *, add: bool) -> Reals:
    """Return the profile after Poisson sampling."""
    epsilon = np.asarray(epsilon, dtype=np.float64)
    inner = base_epsilon(rate, epsilon, add=add)
    inside = np.isfinite(inner)
    profile = np.asarray(base(np.where(inside, inner, 0.0)))
    if add:
        factor = -np.expm1(np.minimum(epsilon + math.log1p(-rate), 0.0))
        return np.asarray(np.where(inside, factor * profile, 0.0))
    return np.asarray(np.where(inside, rate * profile, -np.expm1(np.minimum(epsilon, 0.0))))
