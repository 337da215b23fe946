"""Trimmed means: which rows stay, how far the mean can move at each distance, and how much to trim."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.inputs.columns import exact_sum
from discreet.mechanisms.sensitivity.smooth_mechanism import changes_one, require_smoothing
from discreet.mechanisms.sensitivity.smooth_noise import chosen, loosest
from discreet.mechanisms.sensitivity.spreads import FINEST_SMOOTHING, ranked, spreads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.privacy import ZCDP, Approximate, Pure

__all__ = ["best_trim", "left_out", "move_bounds", "trimmed_mean"]

_BLOCK = 256
_SHARES = (4, 5, 6, 7, 8, 10, 12, 16, 24, 32)


def left_out(count: int, trim: int) -> int:
    """Return how many rows are left out at either end; one or two always stay.

    >>> left_out(10, 3), left_out(6, 3), left_out(5, 3)
    (3, 2, 2)
    """
    return min(trim, (count - 1) // 2)


def trimmed_mean(rows: NDArray[np.int64], trim: int, width: int) -> Fraction:
    """Return the mean of the sorted rows that stay, exactly; the middle of [0, width] where there is none.

    >>> trimmed_mean(np.array([0, 1, 3, 9]), 1, 10)
    Fraction(2, 1)
    """
    if not rows.size:
        return Fraction(width, 2)
    out = left_out(rows.size, trim)
    return Fraction(exact_sum(rows[out : rows.size - out], width), rows.size - 2 * out)


def move_bounds(rows: NDArray[np.int64], trim: int, width: int, most: int, *, exchanged: bool) -> NDArray[np.float64]:
    """Return U_0 to U_most for the trimmed mean of sorted rows in [0, width], as derived at `TrimmedMean`; private.

    >>> move_bounds(np.array([1, 2, 3, 4, 5]), 1, 6, 1, exchanged=True).tolist()
    [1.0, 1.3333333333333333]
    """
    if not rows.size:
        return np.full(most + 1, float(width))
    bounds = _exchange_bounds if exchanged else _count_bounds
    return bounds(rows, trim, width, most)


def _exchange_bounds(rows: NDArray[np.int64], trim: int, width: int, most: int) -> NDArray[np.float64]:
    """W_(k+1) / N, where rows are exchanged."""
    out = left_out(rows.size, trim)
    windows = spreads(rows, rows.size - out, out + 1, width, most + 1)[1:]
    return windows.astype(np.float64) / (rows.size - 2 * out)


def _count_bounds(rows: NDArray[np.int64], trim: int, width: int, most: int) -> NDArray[np.float64]:
    """The smaller of U_k and V_k, where rows come and go; never above the distance of the bounds."""
    count, ranks, distances = rows.size, np.arange(most + 2), np.arange(most + 1)
    kept, total = count - 2 * trim, 0
    windows = spreads(rows, count - trim, trim + 1, width, most + 1).astype(np.float64)
    halves = windows
    if kept > 0:
        total = int(rows[trim : count - trim].sum())  # fewer than 2**36 rows of at most 2**27 steps
        # kept * (row - mean) as exact 64-bit integers
        above = ranked(rows, count - trim + ranks, width) * kept - total
        below = total - ranked(rows, trim + 1 - ranks, width) * kept
        halves = np.maximum(above, below).astype(np.float64) / kept
    inner = (count - distances - 1) // 2
    middles = ranked(rows, count + 1 - inner, width) - ranked(rows, inner, width)
    small = np.where(count - distances <= 2 * trim, middles, 0).astype(np.float64)
    whole = np.minimum(np.maximum(_worst(windows, np.zeros(most + 1), kept), small), float(width))
    moved = np.cumsum(whole) - whole
    return np.minimum(whole, np.maximum(_worst(halves, moved, kept), small))


def _worst(reaches: NDArray[np.float64], moved: NDArray[np.float64], kept: int) -> NDArray[np.float64]:
    """Return for every k the largest (reach_(c+1) + moved_k) / max(1, N + 2c - k - 1) over c <= k with N + 2c > k."""
    most = moved.size
    worst = np.empty(most)
    came = np.arange(most)
    for start in range(0, most, _BLOCK):  # a block of distances at a time, so that the table stays small
        k = np.arange(start, min(start + _BLOCK, most))[:, None]
        columns = came[: int(k[-1, 0]) + 1]
        left = kept + 2 * columns - k
        ratio = (reaches[1 : columns.size + 1] + moved[k]) / np.maximum(left - 1, 1)
        worst[start : start + k.size] = np.where((columns <= k) & (left > 0), ratio, 0.0).max(axis=1)
    return worst


@lru_cache(maxsize=1024)
def best_trim(count: int, spread: float, claim: Pure | Approximate | ZCDP) -> tuple[int, Fraction]:
    """Return the trim and the smoothing with the least mean squared error at ideal normal rows between 0 and 1.

    >>> from discreet.privacy import Pure
    >>> best_trim(1000, 1 / 64, Pure(1))
    (25, Fraction(1, 7))
    """
    root = loosest(claim)
    exchanged = changes_one(claim.neighbors)
    trims = np.array(sorted({min(round(1.15**i), int(0.49 * count)) for i in range(150)} | {0}))
    require_smoothing(root / _SHARES[0])
    best = (math.inf, 0, root / _SHARES[0])
    for share in (tried for tried in _SHARES if root / tried >= FINEST_SMOOTHING):
        rms = chosen(claim, root / share).rms
        errors = (rms * _ideal_bound(count, trims, spread, float(root / share), exchanged=exchanged)) ** 2
        errors += _ideal_sampling(count, trims, spread)
        at = int(np.argmin(errors))
        best = min(best, (float(errors[at]), int(trims[at]), root / share))
    return best[1], best[2]


def _ideal_sampling(count: int, trims: NDArray[np.int64], spread: float) -> NDArray[np.float64]:
    """The variance of a trimmed mean of normal rows: their winsorized variance over (1 - 2 a)**2 n, a = m / n."""
    from scipy.special import ndtri

    share = trims / count
    cut = -ndtri(np.maximum(share, 1e-12))
    density = np.exp(-(cut**2) / 2) / math.sqrt(2 * math.pi)
    kept: NDArray[np.float64] = 1 - 2 * share
    return spread**2 * (kept - 2 * cut * density + 2 * share * cut**2) / kept**2 / count


def _ideal_bound(
    count: int, trims: NDArray[np.int64], spread: float, smoothing: float, *, exchanged: bool
) -> NDArray[np.float64]:
    """The smooth bound at ideal normal rows, at some distances and splits only: it guides a choice, no promise."""
    from scipy.special import ndtri

    trim = trims[:, None].astype(np.float64)

    def place(beyond: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far above the middle the row is that so many ranks are beyond the last kept one."""
        share = (trim - beyond) / count
        inside = np.minimum(-spread * ndtri(np.maximum(share, 1e-300)), 0.5)
        return np.where(share > 0, inside, 1.0)  # the middle may be off: all the way to a bound

    kept = np.maximum(count - 2 * trim, 1)
    steps = np.unique(np.rint(1.1 ** np.arange(0, math.log(30 / smoothing) / math.log(1.1))))
    # besides distances for all, those at which just this trim is used up by rows that came, or all that stay went
    shape = trims.size, 3 * steps.size
    k = np.hstack([np.broadcast_to(np.tile(steps, 3), shape), trim, 2 * trim, kept])
    came = np.hstack([np.broadcast_to(np.outer((0.0, 0.5, 1.0), steps).ravel(), shape), trim, trim, 0 * trim])
    if exchanged:
        bounds = (place(k - came + 1) + place(came)) / kept
    else:
        left = kept + 2 * came - k
        inner = trim - np.minimum(trim, np.maximum((count - k) / 2, 0))  # ranks by which the median has widened
        bounds = np.where(left > 0, place(came + 1) / np.maximum(left - 1, 1), 2 * place(inner))
    worst: NDArray[np.float64] = (np.minimum(bounds, 1) * np.exp(-smoothing * k)).max(axis=1)
    return worst
