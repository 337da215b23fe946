r"""Sum w_j exp(i k h x_j) for many frequencies k = 0..n-1 at once (a nonuniform Fourier transform of type 1).

Each weight is spread onto a grid of N >= 2 (2n) points by a Gaussian of variance tau^2 (in grid units), cut at
+-J/2; one
FFT follows, and the known transform of the Gaussian is divided out (Greengard & Lee 2004,
doi:10.1137/S003614450343200X). With xi = k/N <= 1/4 the error relative to sum |w_j| is at most

    alias:       2 sum_{m>=1} exp(-2 pi^2 tau^2 ((m - xi)^2 - xi^2))              <= 2.1 exp(-pi^2 tau^2)
    truncation:  2 sum_{|u|>J/2} exp(-u^2/(2 tau^2)) / (tau sqrt(2 pi)) exp(2 pi^2 tau^2 xi^2)
    FFT:         8 ULP (log2(N) + 8) exp(2 pi^2 tau^2 xi^2), spreading included (docs/proofs/privacy/contour.md)

J = 34 and tau^2 = 3.8 make the first two smaller than 2e-15 altogether.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.loss import ULP

if TYPE_CHECKING:
    from discreet.privacy.numerics.loss import Complexes, Reals

WIDTH = 34
VARIANCE = 3.8
DIRECT = 1 << 17
"""Below this many terms the sum is taken directly."""


def exponential_sums(points: Reals, weights: Reals, step: float, count: int) -> tuple[Complexes, Reals]:
    """Return the sums for k = 0..count-1 and a bound on the error of each."""
    mass = float(np.abs(weights).sum())
    # Each phase k h x is rounded by at most two ulps of itself.
    phase = (2 * ULP * step * float((np.abs(weights) * np.abs(points)).sum())) * np.arange(count)
    if count * len(points) <= DIRECT:
        waves = np.exp(1j * np.multiply.outer(step * np.arange(count), points))
        return (waves * weights).sum(axis=1), phase + mass * 16 * ULP * math.log2(len(points) + 2)
    size = 1 << max(6, math.ceil(math.log2(4 * count)))
    positions = points * (step * size / (2 * math.pi))
    spread = _spread(positions, weights, size)
    sums = np.fft.rfft(spread)[:count].conj()
    ratio = np.arange(count) / size
    correction = np.exp(2 * math.pi**2 * VARIANCE * ratio * ratio)
    error = 2e-15 + 8 * ULP * (math.log2(size) + 8) * correction
    return sums * correction, mass * error + phase


def _spread(positions: Reals, weights: Reals, size: int) -> Reals:
    """Spread weights onto a periodic grid by the Gaussian."""
    nearest = np.floor(positions)
    offset = positions - nearest
    base = nearest.astype(np.int64) - (WIDTH // 2 - 1)
    places = np.empty((WIDTH, len(positions)), dtype=np.int64)
    parts = np.empty((WIDTH, len(positions)))
    scale = 1 / math.sqrt(2 * math.pi * VARIANCE)
    first = offset + (WIDTH // 2 - 1)
    current = weights * scale * np.exp(-(first * first) / (2 * VARIANCE))
    growth = np.exp(first / VARIANCE)
    for j in range(WIDTH):
        # exp(-(f - j)^2 / 2v) = exp(-f^2 / 2v) exp(f / v)^j exp(-j^2 / 2v), updated one factor at a time
        places[j], parts[j] = (base + j) % size, current
        current = current * (growth * math.exp(-(2 * j + 1) / (2 * VARIANCE)))
    return np.asarray(np.bincount(places.ravel(), weights=parts.ravel(), minlength=size), dtype=np.float64)
