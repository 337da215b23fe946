r"""Sum w_j exp(i k h x_j) for many frequencies k = 0..n-1 at once (a nonuniform Fourier transform of type 1).

Each point belongs to the nearest of N >= 4n points of a grid, at a distance d of at most half a cell. With
phi = 2 pi k / N <= pi / 2,

    exp(i k h x) = exp(i phi (x's grid point)) sum_p (i phi d)^p / p!,

so one fast transform of the moments sum w d^p of the cells for each power p gives all sums (Anderson & Dahleh 1996,
doi:10.1137/0917061). The error relative to sum |w_j| is at most

    remainder:  (pi / 4)^P / P! for P powers, as for the sine and cosine
    rounding:   8 ULP (log2(N) + P) for products, transforms and the sum over p, 1.1 m ULP for sums in which a weight
                goes through at most m additions (docs/proofs/privacy/contour.md)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.numerics.losses.loss import ULP

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.privacy.numerics.losses.loss import Complexes, Reals

DIRECT = 1 << 17
"""Below this many terms the sum is taken directly."""

AT_ONCE = 1 << 14
"""Numbers that are transformed at once."""

CROWD = 64
"""So many weights are added one after the other."""

REMAINDER = 2.0**-53
"""What the powers that are left out may weigh."""


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
    nearest = np.rint(positions)
    cells = nearest.astype(np.int64) & (size - 1)
    powers = _powers(math.pi * count / size)
    gather, additions = _gathered(cells, size)
    sums = _transformed(gather, positions - nearest, weights, powers, count)
    return sums, phase + mass * (REMAINDER + ULP * (8 * (math.log2(size) + powers) + 1.1 * additions))


def _gathered(cells: NDArray[np.int64], size: int) -> tuple[Callable[[Reals], Reals], int]:
    """Return what sums numbers over cells, and how many additions one number goes through at most.

    Crowded cells are summed in two steps: neighbors in the list that fall into one cell, CROWD at most, then these.
    """
    most = int(np.bincount(cells).max())
    if most <= CROWD:
        return lambda weights: np.asarray(np.bincount(cells, weights=weights, minlength=size), dtype=np.float64), most
    first = np.arange(len(cells)) % CROWD == 0
    first[1:] |= cells[1:] != cells[:-1]
    groups, heads = np.cumsum(first) - 1, cells[first]

    def gather(weights: Reals) -> Reals:
        sums = np.bincount(groups, weights=weights)
        return np.asarray(np.bincount(heads, weights=sums, minlength=size), dtype=np.float64)

    return gather, CROWD + int(np.bincount(heads).max())


def _powers(largest: float) -> int:
    """Return how many powers of a phase of at most `largest` < 1 leave a remainder below the tolerance."""
    powers, rest = 1, largest
    while rest > REMAINDER:
        powers += 1
        rest *= largest / powers
    return powers


def _transformed(
    gather: Callable[[Reals], Reals], offsets: Reals, weights: Reals, powers: int, count: int
) -> Complexes:
    """Return sum_p (i turn)^p / p! times the transform of the cells' sums of w d^p, given each point's d and w.

    A few powers are transformed at once: memory that was just freed is fetched again, more would be asked for anew.
    """
    current = weights
    cells = gather(current)
    size = len(cells)
    turn = (2 * math.pi / size) * np.arange(count)
    factor = np.ones(count)
    # rfft turns the other way, so its conjugate is wanted: sum (-i turn)^p / p! times it, even and odd p apart.
    sums = np.zeros((2, count), dtype=np.complex128)
    rows = max(AT_ONCE // size, 1)
    moments = np.empty((rows, size))
    for first in range(0, powers, rows):
        for p in range(first, min(first + rows, powers)):
            moments[p - first] = cells if p == 0 else gather(current)
            current = current * offsets
        parts = np.fft.rfft(moments[: powers - first])[:, :count]
        for p in range(first, min(first + rows, powers)):
            sums[p % 2] += parts[p - first] * (factor if p % 4 < 2 else -factor)
            factor *= turn / (p + 1)
    return np.asarray((sums[0] - 1j * sums[1]).conj())
