"""Multiplicative weights: a public guess at a histogram, bent towards noisy answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.methods.workloads.algebra.workload import Floats

__all__ = ["bent", "read_queries", "read_query", "updates_needed"]

_MOST, _STEPS = 1 << 22, 1 << 16


def read_query(query: ArrayLike, cells: int) -> Floats:
    """Read a linear query: for each cell how much a row in it counts, from 0 to 1, in multiples of 2**-16.

    So floats add up exactly what up to 2**37 rows count.

    >>> read_query([1, 0, 0.5], 3).tolist()
    [1.0, 0.0, 0.5]
    """
    weights = np.asarray(query, dtype=np.float64)
    if weights.shape != (cells,) or not ((weights >= 0) & (weights <= 1)).all():
        msg = f"query must hold {cells} numbers from 0 to 1: for each cell how much a row in it counts."
        raise ParameterError(msg)
    return np.rint(weights * _STEPS) / _STEPS


def read_queries(queries: ArrayLike) -> Floats:
    """Read a list of linear queries over the same cells.

    >>> read_queries([[1, 0], [1, 1]]).shape
    (2, 2)
    """
    rows = np.atleast_2d(np.asarray(queries, dtype=np.float64))
    if rows.ndim != 2 or not 0 < rows.size <= _MOST or not ((rows >= 0) & (rows <= 1)).all():
        msg = f"queries must be a list of rows of numbers from 0 to 1, of at most {_MOST} numbers in all."
        raise ParameterError(msg)
    return np.rint(rows * _STEPS) / _STEPS


def bent(guess: Floats, query: Floats, answer: float, total: float, rate: float = 0.5) -> Floats:
    """Bend a guess towards a noisy answer: each cell times exp(rate * (answer - guess's) / total * query), rescaled.

    The step of Hardt & Rothblum 2010 (doi:10.1109/FOCS.2010.85), with the size of Hardt, Ligett & McSherry 2012
    (arXiv:1012.4763), where it is half the error as a share of all rows.

    >>> bent(np.array([5.0, 5.0]), np.array([1.0, 0.0]), 9.0, 10.0).round(2).tolist()
    [5.5, 4.5]
    """
    step = rate * (answer - float(query @ guess)) / total
    moved: Floats = guess * np.exp(np.clip(step, -50.0, 50.0) * query)
    rescaled: Floats = moved * (total / moved.sum())
    return rescaled


def updates_needed(cells: int, error: float) -> int:
    """How many updates bring every query within a share `error` of all rows, if each was off by more.

    Each lowers the relative entropy of the truth to the guess, at first at most ln(cells), by error**2 / 4.

    >>> updates_needed(100, 0.1)
    1843
    """
    return int(np.ceil(4 * np.log(cells) / error**2))
