"""Orderings: the nearest sequence that never falls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.inference.trees import Floats

__all__ = ["isotonic"]


def isotonic(values: ArrayLike, *, weights: ArrayLike | None = None, falling: bool = False) -> Floats:
    """Return the nearest sequence that never falls (or, with `falling`, never rises), by weighted least squares.

    Pool adjacent violators: neighbors in the wrong order are replaced by their weighted mean until none is left; O(n).
    For counts that are known to be sorted, such as the degrees of a graph from the lowest to the highest, most of the
    noise goes away wherever the truth is flat (Hay, Rastogi, Miklau & Suciu 2010, arXiv:0904.0942, Theorem 2).

    Barlow, Bartholomew, Bremner & Brunk 1972, "Statistical inference under order restrictions".

    >>> isotonic([1, 5, 3, 4, 9]).tolist()
    [1.0, 4.0, 4.0, 4.0, 9.0]
    """
    numbers = np.asarray(values, dtype=np.float64)
    certain = np.ones_like(numbers) if weights is None else np.asarray(weights, dtype=np.float64)
    if numbers.ndim != 1 or not numbers.size or certain.shape != numbers.shape:
        msg = "values must be a list of numbers, at least one, and weights, if given, as many."
        raise ParameterError(msg)
    if not np.isfinite(numbers).all() or not (np.isfinite(certain) & (certain > 0)).all():
        msg = "values must be finite numbers, and weights finite numbers above 0."
        raise ParameterError(msg)
    from scipy.optimize import isotonic_regression

    fitted: Floats = isotonic_regression(numbers, weights=certain, increasing=not falling).x
    return fitted
