"""The best strategy there is for Gaussian noise, with a bound that no other one passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.methods.workloads.strategies.dense import Dense, snapped
from discreet.methods.workloads.strategies.strategy import STEPS

if TYPE_CHECKING:
    from discreet.methods.workloads.algebra.workload import Floats, Workload

__all__ = ["Solved", "fixed_point", "solve"]

_ROUNDS, _CLOSE, _LEAST = 60, 5e-4, 1e-9


@dataclass(frozen=True, eq=False)
class Solved:
    """A matrix X = A'A with a diagonal of at most 1, its error tr(G X^-1), and a lower bound for every such matrix.

    >>> found = solve(np.eye(3))
    >>> round(found.error, 6), round(found.bound, 6)
    (3.0, 3.0)
    """

    product: Floats
    error: float
    bound: float


def solve(gram: Floats, *, close: float = _CLOSE) -> Solved:
    r"""Minimize tr(G X^-1) over the positive X with a diagonal of at most 1.

    Lagrange's condition is X^-1 G X^-1 = V for a diagonal V >= 0, so with M = V^{1/2} G V^{1/2}
    X = V^{-1/2} M^{1/2} V^{-1/2}, and the diagonal of X is 1 where v = diag(M^{1/2}): a fixed point, iterated. For
    *every* v > 0, optimal or not, and every X with a diagonal of at most 1,

    tr(G X^-1) >= (tr M^{1/2})^2 / sum(v),

    as (tr M^{1/2})^2 <= tr(G X^-1) tr(V^{1/2} X V^{1/2}) (Cauchy and Schwarz for the nuclear norm of
    V^{1/2} X^{1/2} X^{-1/2} G^{1/2}), and tr(V X) <= sum(v). With v = 1 this is the bound by singular values (Li &
    Miklau 2013, "Optimal error of query sets under the differentially-private matrix mechanism", arXiv:1202.3399). The
    matrix that is returned is scaled to a diagonal of at most 1; its own error is compared with the best bound so far.
    """
    from scipy import linalg

    size = len(gram)
    v = np.ones(size)
    best, bound = None, 0.0
    for _ in range(_ROUNDS):
        root = np.sqrt(v)
        values, vectors = linalg.eigh(gram * root[:, None] * root, driver="evd")
        known = values > values[-1] * size * 1e-15
        sizes = np.sqrt(np.where(known, values, 0.0))
        trace = float(sizes.sum())
        bound = max(bound, trace**2 / float(v.sum()) * (1 - 1e-9))  # beside it, the rounding of floats is nothing
        fixed = (vectors**2) @ sizes
        diagonal = fixed / v
        inverse = ((vectors / np.where(known, sizes, np.inf)) @ vectors.T) * root[:, None] * root
        # Where some combination of cells is never asked for, X keeps it out only if all of X is scaled alike.
        scale = np.sqrt(diagonal if known.all() else np.full(size, diagonal.max()))
        error = float(np.sum(gram * scale[:, None] * scale * inverse))
        if best is None or error < best[0]:
            best = error, (((vectors * sizes) @ vectors.T) / root[:, None] / root) / scale[:, None] / scale
        if best[0] <= bound * (1 + close):
            break
        v = v * diagonal**1.5
        v = np.maximum(v, v.max() * _LEAST)
    if best is None:  # there is at least one round
        raise AssertionError
    return Solved((best[1] + best[1].T) / 2, best[0], bound)


def factored(product: Floats) -> Floats:
    """Return A with A'A = X, without the part on which X is nothing.

    >>> factored(np.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    from scipy import linalg

    try:
        upper: Floats = linalg.cholesky(product)
    except linalg.LinAlgError:
        upper = np.zeros((0, 0))
    if upper.size and np.diag(upper).min() > 1e-4:
        return upper
    values, vectors = linalg.eigh(product)
    known = values > values[-1] * 1e-10
    roots: Floats = (vectors[:, known] * np.sqrt(values[known])).T
    return roots


def fixed_point(workload: Workload, solved: Solved | None = None, *, steps: int = STEPS) -> Dense:
    """Measure what is within a small, certified gap of the best for Gaussian noise.

    >>> from discreet.methods.workloads import Prefix
    >>> strategy = fixed_point(Prefix(16))
    >>> strategy.name, strategy.measurements
    ('fixed point', 16)
    """
    found = solve(workload.gram()) if solved is None else solved
    return Dense(workload, snapped(factored(found.product), steps), "fixed point")
