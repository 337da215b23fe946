"""Sums over private rows that are exact in any order: of whole numbers, at the speed of floats.

A sum of floats depends on the order of its terms, so that one row less may move it by more than that row (Casacuberta,
Shoemate, Vadhan & Wagaman 2022, arXiv:2207.10635). Products of whole numbers below 2**53 are exact in floats, and so is
every partial sum of them: what a matrix product gives is then *the* sum, however it is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["blocks", "product"]

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
