"""Counts are not negative: the nearest point with no negative number, also with a known sum, or behind a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.inference.trees import Floats

__all__ = ["nonnegative", "simplex"]


def simplex(values: ArrayLike, total: float) -> Floats:
    """Return the nearest point with no negative number and a known sum.

    It subtracts one number from all values and cuts at 0; the number is found by sorting (Held, Wolfe & Crowder 1974,
    doi:10.1007/BF01580223).

    >>> simplex([5, -2, 1], total=6).tolist()
    [5.0, 0.0, 1.0]
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not numbers.size or not np.isfinite(numbers).all():
        msg = "values must be finite numbers, at least one."
        raise ParameterError(msg)
    if not (np.isfinite(total) and total >= 0):
        msg = f"total is {shown(total)}; numbers that are not negative add up to 0 or more."
        raise ParameterError(msg)
    ordered = np.sort(numbers, axis=None)[::-1]
    cuts = (np.cumsum(ordered) - total) / np.arange(1, numbers.size + 1)
    kept = max(int(np.count_nonzero(ordered > cuts)), 1)
    nearest: Floats = np.maximum(numbers - cuts[kept - 1], 0.0)
    return nearest


def nonnegative(matrix: ArrayLike, answers: ArrayLike, *, variances: ArrayLike | None = None) -> Floats:
    """Return the counts without a negative one whose answers, `matrix` times the counts, are nearest to noisy ones.

    Lawson & Hanson 1974, "Solving least squares problems", chapter 23. Each answer is divided by the deviation of its
    noise where `variances` are given.

    >>> nonnegative([[1, 0], [0, 1], [1, 1]], [4, -3, 2]).round(6).tolist()
    [3.0, 0.0]
    """
    rows, noisy = np.atleast_2d(np.asarray(matrix, dtype=np.float64)), np.asarray(answers, dtype=np.float64).ravel()
    if rows.shape[0] != noisy.size or not np.isfinite(rows).all() or not np.isfinite(noisy).all():
        msg = f"matrix has the shape {rows.shape} and there are {noisy.size} answers; each row needs a finite answer."
        raise ParameterError(msg)
    if variances is not None:
        spread = np.sqrt(np.broadcast_to(np.asarray(variances, dtype=np.float64), noisy.shape))
        if not (spread > 0).all():
            msg = "variances must be above 0; what is known exactly is a constraint: discreet.inference.constrained."
            raise ParameterError(msg)
        rows, noisy = rows / spread[:, None], noisy / spread
    from scipy.optimize import nnls

    counts: Floats = nnls(rows, noisy)[0]
    return counts
