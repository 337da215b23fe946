"""Cells and a few weighted sums of them, found by descent: the best that is known for Laplace noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.methods.workloads.strategies.dense import Dense, snapped
from discreet.methods.workloads.strategies.descent import descend
from discreet.methods.workloads.strategies.strategy import STEPS

if TYPE_CHECKING:
    from discreet.methods.workloads.algebra.workload import Floats, Workload

__all__ = ["p_identity"]

_STARTS = ((0, "even"), (1, "blocks"))
_WRITTEN = 512


def p_identity(workload: Workload, *, sums: int | None = None, rounds: int = 300, steps: int = STEPS) -> Dense:
    """Measure [I; T] D: every cell, and p weighted sums of cells, each column scaled to add up to 1.

    McKenna, Miklau, Hay & Machanavajjhala 2018, "Optimizing error of high-dimensional statistical queries under
    differential privacy" (arXiv:1808.03537), section 5.2, propose the form and gradient descent over T >= 0. Here the
    workload enters by products with its Gram matrix alone, which take O(n p) for prefixes and ranges, so a step costs
    O(n p**2): with S = D^-1 and K = I + T T', the inverse of A'A is S (I - T' K^-1 T) S (Woodbury), and the error
    tr(S G S) - tr(K^-1 T S G S T').

    >>> from discreet.methods.workloads import Prefix
    >>> found = p_identity(Prefix(16))
    >>> found.total * found.reach.l1**2 < 0.8 * 16 * 17 / 2
    True
    """
    size = workload.cells
    count = max(1, size // 16 if size >= 64 else size // 4) if sums is None else sums
    best: Floats | None = None
    least = np.inf
    for seed, kind in _STARTS if size <= 256 else _STARTS[:1]:
        found, error = _descend(workload, _start(count, size, seed, kind), rounds)
        if error < least:
            best, least = found, error
    if best is None:
        best = np.zeros((1, size))
    scale = 1 + best.sum(axis=0)
    return Dense(workload, snapped(np.vstack([np.eye(size), best]) / scale, steps), "p-identity")


def _start(count: int, size: int, seed: int, kind: str) -> Floats:
    """Begin with sums that differ: quasi-random weights (a lattice of golden ratios), or blocks of cells."""
    if kind == "blocks":
        width = -(-size // count)
        blocks: Floats = (np.arange(size) // width == np.arange(count)[:, None]) + 0.01
        return blocks
    golden = (np.sqrt(5) - 1) / 2
    rows, columns = np.arange(count)[:, None], np.arange(size)
    # The fractional parts of a quadratic sequence are spread evenly over [0, 1), with no pattern along rows or columns.
    start: Floats = ((columns + 1 + seed) ** 2 * golden * (rows + 1) + rows * np.sqrt(2)) % 1.0
    return start


def _descend(workload: Workload, start: Floats, rounds: int) -> tuple[Floats, float]:
    """Minimize over the weights of the sums, none negative."""
    from scipy import linalg

    count, size = start.shape
    diagonal, eye = workload.gram_diagonal(), np.eye(count)
    gram = workload.gram() if size <= _WRITTEN else None

    def multiplied(rows: Floats) -> Floats:
        """Multiply by the Gram matrix, which is written out where it is small."""
        return workload.gram_dot(rows) if gram is None else rows @ gram

    def error(weights: Floats) -> tuple[float, Floats]:
        """The error and its slope by each weight."""
        sums = weights.reshape(count, size)
        scale = 1 + sums.sum(axis=0)
        seen = multiplied(sums * scale) * scale
        factor = linalg.cho_factor(eye + sums @ sums.T)
        solved, back = linalg.cho_solve(factor, sums), linalg.cho_solve(factor, seen)
        own = diagonal * scale**2
        slope = -2 * (back - (back @ sums.T) @ solved) + 2 * (own - (sums * back).sum(axis=0)) / scale
        return float(own.sum() - (solved * seen).sum()), slope.ravel()

    found, least = descend(error, start, (0.0, None), rounds)
    return found.reshape(count, size), least
