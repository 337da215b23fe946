r"""Sum w_j exp(i k h x_j) for many frequencies k = 0..n-1 at once (a nonuniform Fourier transform of type 1).

Each weight is spread onto a grid of N >= 2 (2n) points by a Gaussian of variance tau^2 (in grid units), cut at +-J/2; one
FFT follows, and the known transform of the Gaussian is divided out (Greengard & Lee 2004,
doi:10.1137/S003614450343200X). With xi = k/N <= 1/4 the error relative to sum |w_j| is at most

    alias:       2 sum_{m>=1} exp(-2 pi^2 tau^2 ((m - xi)^2 - xi^2))              <= 2.1 exp(-pi^2 tau^2)
    truncation:  2 sum_{|u|>J/2} exp(-u^2/(2 tau^2)) / (tau sqrt(2 pi)) exp(2 pi^2 tau^2 xi^2)
    FFT:         8 ULP log2(N) exp(2 pi^2 tau^2 xi^2)

J = 28 and tau^2 = 3.15 make the first two smaller than 1.3e-13 altogether.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.loss import ULP

if TYPE_CHECKING:
    from discreet.privacy.numerics.loss import Complexes, Reals

WIDTH = 28
VARIANCE = 3.15
DIRECT = 1 << 17
"""Below this many terms the sum is taken directly."""


def exponential_sums(points: Reals, weights: Reals, step: float, count: int) -> tuple[Complexes, float]:
    """Return the sums for k = 0..count-1 and one bound on the error of each."""
    mass = float(np.abs(weights).sum())
    reach = float(np.abs(points).max(initial=0.0))
    phase = 2 * ULP * step * count * reach
    if count * len(points) <= DIRECT:
        waves = np.exp(1j * np.multiply.outer(step * np.arange(count), points))
        return waves @ weights, mass * (phase + 16 * ULP * math.log2(len(points) + 2))
    size = 1 << max(6, math.ceil(math.log2(4 * count)))
    positions = points * (step * size / (2 * math.pi))
    spread = _spread(positions, weights, size)
    sums = np.fft.rfft(spread)[:count].conj()
    ratio = np.arange(count) / size
    correction = np.exp(2 * math.pi**2 * VARIANCE * ratio * ratio)
    error = 1.3e-13 + 8 * ULP * math.log2(size) * float(correction[-1]) + phase
    return sums * correction, mass * error


def _spread(positions: Reals, weights: Reals, size: int) -> Reals:
    """Spread weights onto a periodic grid by the Gaussian."""
    nearest = np.floor(positions)
    offset = positions - nearest
    base = nearest.astype(np.int64) - (WIDTH // 2 - 1)
    spread = np.zeros(size)
    scale = 1 / math.sqrt(2 * math.pi * VARIANCE)
    first = offset + (WIDTH // 2 - 1)
    current = weights * scale * np.exp(-(first * first) / (2 * VARIANCE))
    growth = np.exp(first / VARIANCE)
    for j in range(WIDTH):
        # exp(-(f - j)^2 / 2v) = exp(-f^2 / 2v) exp(f / v)^j exp(-j^2 / 2v), updated one factor at a time
        spread += np.bincount((base + j) % size, weights=current, minlength=size)
        current = current * (growth * math.exp(-(2 * j + 1) / (2 * VARIANCE)))
    return spread
