"""Least squares on a tree of sums: noisy totals of nested blocks, made consistent in one pass up and one down."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

__all__ = ["tree"]

Floats: TypeAlias = NDArray[np.float64]


def tree(levels: Sequence[ArrayLike], *, branching: int = 2, variances: Sequence[float] | None = None) -> list[Floats]:
    """Make noisy sums of a complete tree consistent: each node the sum of its children, by weighted least squares.

    `levels` holds the noisy numbers from the leaves up to the root, each level `branching` times shorter than the one
    below; `variances` the variance of each level's noise (1 by default; infinite for a level that was not measured).
    One pass up combines each node with the sum of its children by inverse variance; one pass down spreads what is left
    evenly, as the nodes of a level are equally uncertain. The result is the estimate of least squares, which among all
    unbiased linear ones has the least variance for every sum of leaves (Gauss and Markov); O(n).

    Hay, Rastogi, Miklau & Suciu 2010, "Boosting the accuracy of differentially private histograms through consistency"
    (arXiv:0904.0942), Theorem 3, here with a variance for each level.

    >>> [level.tolist() for level in tree([[1, 2], [6]])]
    [[2.0, 3.0], [5.0]]
    """
    noisy, spread = _read(levels, branching, variances)
    means, left = [noisy[0]], [spread[0]]
    for level, own in zip(noisy[1:], spread[1:], strict=True):
        below = means[-1].reshape(-1, branching).sum(axis=1)
        from_children = branching * left[-1]
        share = from_children / (from_children + own) if np.isfinite(own) else 0.0
        means.append(below + share * (level - below))
        left.append(from_children * (1 - share))
    fitted = [means[-1]]
    for level in reversed(means[:-1]):
        children = level.reshape(-1, branching)
        excess = (fitted[-1] - children.sum(axis=1)) / branching
        fitted.append((children + excess[:, None]).ravel())
    return fitted[::-1]


def _read(
    levels: Sequence[ArrayLike], branching: int, variances: Sequence[float] | None
) -> tuple[list[Floats], list[float]]:
    noisy = [np.atleast_1d(np.asarray(level, dtype=np.float64)) for level in levels]
    sizes = [level.size for level in noisy]
    if branching < 2 or not sizes or any(a != branching * b for a, b in itertools.pairwise(sizes)):
        msg = f"levels have the sizes {sizes}; each must be branching={branching} times the one above it, leaves first."
        raise ParameterError(msg)
    spread = [1.0] * len(noisy) if variances is None else [float(variance) for variance in variances]
    if len(spread) != len(noisy) or not all(variance > 0 for variance in spread) or not np.isfinite(spread[0]):
        msg = (
            f"variances is {shown(variances)}; give one above 0 for each of {len(noisy)} levels, finite for the "
            "leaves: what was not measured below is not determined."
        )
        raise ParameterError(msg)
    return noisy, spread
