"""Sums over private rows that are exact in any order: of whole numbers, at the speed of floats.

A sum of floats depends on the order of its terms, so that one row less may move it by more than that row (Casacuberta,
Shoemate, Vadhan & Wagaman 2022, arXiv:2207.10635). Products of whole numbers below 2**53 are exact in floats, and so is
every partial sum of them: what a matrix product gives is then *the* sum, however it is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.methods.learning.tabular.training import Step, movers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.methods.learning.tabular.training import Goal
    from discreet.noise import BitSource

__all__ = ["blocks", "noisy_sums", "product", "shares"]

_ROWS = 1 << 20
_EXACT = 1 << 53


def blocks(rows: int) -> Iterator[slice]:
    """Part rows into pieces of at most 2**20.

    >>> [(piece.start, piece.stop) for piece in blocks(3)]
    [(0, 3)]
    """
    for start in range(0, rows, _ROWS):
        yield slice(start, min(start + _ROWS, rows))


def product(left: NDArray[np.float64], right: NDArray[np.float64], *, most: int) -> NDArray[np.int64]:
    """Return left.T @ right for whole numbers whose products are at most `most` in size, exactly.

    2**20 products of at most 2**32 stay below 2**53; the pieces are added in 64 bits.

    >>> product(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), most=8).tolist()
    [[11]]
    """
    assert most * _ROWS < _EXACT  # noqa: S101 - of the callers' constants alone
    total = np.zeros((left.shape[1], right.shape[1]), dtype=np.int64)
    for piece in blocks(left.shape[0]):
        total += (left[piece].T @ right[piece]).astype(np.int64)
    return total


def shares(units: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return of each row one divided by the number of rows of its unit.

    >>> shares(np.array([5, 7, 7])).tolist()
    [1.0, 0.5, 0.5]
    """
    _, places, counts = np.unique(units, return_inverse=True, return_counts=True)
    return 1 / counts[places].astype(np.float64)


def noisy_sums(  # noqa: PLR0913 - each is a thing of its own
    rows: NDArray[np.float64],
    groups: NDArray[np.int64],
    count: int,
    *,
    length: int,
    goal: Goal,
    share: Fraction,
    times: int,
    bits: BitSource,
    name: str,
) -> tuple[NDArray[np.float64], Step]:
    """Release the sums of rows of whole numbers by group; each row is at most `length` long and in one group.

    The whole numbers are below 2**26 in size, so that floats add up 2**26 of them exactly, in any order.

    >>> from discreet.methods.learning.tabular.training import Goal
    >>> from fractions import Fraction
    >>> from discreet.noise import SYSTEM
    >>> told = {"length": 1, "goal": Goal.of(rho=1000), "share": Fraction(1), "times": 1, "name": "rows"}
    >>> sums, step = noisy_sums(np.ones((9, 1)), np.array([0] * 6 + [1] * 3), 2, **told, bits=SYSTEM)
    >>> np.rint(sums).tolist()
    [[6.0], [3.0]]
    """
    exact = np.zeros((count, rows.shape[1]))
    np.add.at(exact, groups, rows)
    mechanism = goal.gaussian(movers(goal.claim.neighbors) * length, share=share, times=times, dimensions=exact.size)
    noisy = np.asarray(mechanism.release(exact.astype(np.int64), bits=bits).value, dtype=float)
    return noisy.reshape(exact.shape), Step(name, mechanism, times)
