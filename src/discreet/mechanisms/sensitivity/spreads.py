"""Bounds on the local sensitivity by distance, and the smooth bound that they make.

A list U_0, U_1, … of functions of the data makes a t-smooth bound S = max_k exp(-t k) U_k if U_0 bounds the local
sensitivity and U_k(x) <= U_(k+1)(x') for all neighbors x, x': then exp(-t k) U_k(x) <= exp(t) exp(-t (k+1)) U_(k+1)(x')
(Nissim, Raskhodnikova, Smith 2007). The true maxima over all data at most k steps away are such a list;
so are coarser ones that keep the inequality, which each statistic derives beside its code.

Everything here is private: it feeds noise, and no number of it may be shown.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.exact import float_down

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FINEST_SMOOTHING", "eased", "ranked", "reach", "rounded_up", "smooth_maximum", "spreads", "widest_window"]

_SLACK = 2.0**-36
"""What rounding may do to a bound: sums of 2**14 floats and a dozen operations stay within 2**-38 of the truth."""
_LONGEST = 1 << 14
FINEST_SMOOTHING = Fraction(1, 1 << 20)
"""Smoothings below are refused: the slack would be a visible part of them."""


def reach(smoothing: Fraction) -> int:
    """Return up to which distance bounds are worked out: there exp(-t k) is below 2**-32; at most 2**14.

    It depends on public numbers only, so that the time it takes does too.

    >>> reach(Fraction(1, 8))
    178
    """
    return min(math.ceil(32 * math.log(2) / smoothing), _LONGEST)


def spreads(rows: NDArray[np.int64], top: int, bottom: int, width: int, most: int) -> NDArray[np.int64]:
    """Return for k from 0 to `most` the largest x_(top + i) - x_(bottom - j) with i + j = k.

    Rows are sorted and lie in [0, width]; x_1 is the first, those before are 0 and those after `width`.

    >>> spreads(np.array([1, 5, 6]), 2, 2, 10, 2).tolist()
    [0, 4, 5]
    """
    above = ranked(rows, top + np.arange(most + 1), width)
    below = ranked(rows, bottom - np.arange(most + 1), width)[::-1]
    widest = [int((above[: k + 1] - below[most - k :]).max()) for k in range(most + 1)]
    return np.array(widest, dtype=np.int64)


def widest_window(rows: NDArray[np.int64], rank: int, width: int, length: int) -> int:
    """Return the largest x_(rank + i) - x_(rank - j) with i + j = length, as `spreads` does for all lengths.

    >>> widest_window(np.array([1, 5, 6]), 2, 10, 2)
    5
    """
    ends = np.arange(length + 1)
    return int((ranked(rows, rank + ends, width) - ranked(rows, rank - ends[::-1], width)).max())


def ranked(rows: NDArray[np.int64], ranks: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return the rows of these ranks, 0 below rank 1 and `width` above the last.

    >>> ranked(np.array([3, 4]), np.array([0, 1, 2, 3]), 9).tolist()
    [0, 3, 4, 9]
    """
    padded = np.concatenate([[0], rows, [width]])
    values: NDArray[np.int64] = padded[np.clip(ranks, 0, rows.size + 1)]
    return values


def smooth_maximum(bounds: NDArray[np.float64], beyond: float, smoothing: Fraction) -> Fraction:
    """Return max_k exp(-t k) U_k, rounded up, with U_k = `beyond` for every k that is not listed.

    `beyond` must be at least every U_k at all data, so that the list keeps the inequality where it ends. It is worked
    out with a smoothing that is 2**-34 smaller and rounded up by 2**-36 of itself: the result is between the true bound
    of that smoothing and 1 + 2**-35 times it, hence t-smooth.

    >>> 1 <= smooth_maximum(np.array([1.0, 1.0]), 8.0, Fraction(2)) < 1.0001
    True
    """
    t = eased(smoothing)
    weighted = bounds * np.exp(-t * np.arange(bounds.size))
    tail = beyond * math.exp(-t * bounds.size)
    return rounded_up(max(float(weighted.max()), tail))


def eased(smoothing: Fraction) -> float:
    """Return the smoothing to work out a bound with, 2**-34 smaller, so that rounding has room.

    >>> 0 < Fraction(1, 8) - Fraction(eased(Fraction(1, 8))) < 1e-9
    True
    """
    return float_down(smoothing) - 4 * _SLACK


def rounded_up(bound: float) -> Fraction:
    """Return a bound that rounding cannot have brought below the truth.

    >>> rounded_up(1.0) > 1
    True
    """
    return Fraction(bound * (1 + _SLACK))
