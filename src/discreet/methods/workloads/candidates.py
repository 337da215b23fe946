"""Which strategies a workload is answered with, and the bound that none of their kind passes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms.adding.grids import Norm
from discreet.methods.workloads.algebra.compounds import Kron, products_of
from discreet.methods.workloads.algebra.lines import Identity, Total
from discreet.methods.workloads.algebra.workload import MOST_CELLS, MOST_DENSE
from discreet.methods.workloads.strategies.dense import Dense
from discreet.methods.workloads.strategies.fixed_point import fixed_point, solve
from discreet.methods.workloads.strategies.haar import haar
from discreet.methods.workloads.strategies.identity import Cells
from discreet.methods.workloads.strategies.itself import Itself, Separately
from discreet.methods.workloads.strategies.margins import asked_sets, best_margins
from discreet.methods.workloads.strategies.p_identity import p_identity
from discreet.methods.workloads.strategies.product import Product
from discreet.methods.workloads.strategies.residual import residual
from discreet.methods.workloads.strategies.strategy import Strategy
from discreet.methods.workloads.strategies.tree import best_tree, hierarchical

if TYPE_CHECKING:
    from discreet.methods.workloads.algebra.workload import Workload

__all__ = ["Makers", "candidates", "changed"]

Makers: TypeAlias = list[Callable[[], Strategy]]

_FEW = 1 << 14
_MEASURED = 1 << 22
_DENSE_LINE, _DENSE_UNION = 1536, 512


def candidates(workload: Workload, norms: list[Norm]) -> tuple[Makers, float]:
    """Return the strategies to consider, and the bound tr(G X^-1) for every X = A'A with a diagonal of at most 1.

    >>> from discreet.methods.workloads import Prefix
    >>> makers, bound = candidates(Prefix(8), [Norm.L2])
    >>> [make().name for make in makers][-1], 0 < bound < 36
    ('fixed point', True)
    """
    makers: Makers = []
    if workload.queries <= _FEW and workload.cells <= _FEW:
        makers += [partial(Separately, workload), partial(Itself, workload)]
    if workload.cells <= _MEASURED:
        makers.append(partial(Cells, workload))
    if asked_sets(workload):
        return _marginals(workload, norms, makers)
    if isinstance(workload, Kron):
        return _product(workload, norms, makers)
    return _others(workload, norms, makers)


def _others(workload: Workload, norms: list[Norm], makers: Makers) -> tuple[Makers, float]:
    """One axis: trees, wavelets, and what is found by solving over few cells. Unions of products: residuals as well."""
    most = _DENSE_LINE
    if len(workload.shape) == 1:
        makers.append(partial(hierarchical, workload))
        for norm in norms:
            makers += [partial(haar, workload, norm), partial(best_tree, workload, norm)]
    elif products_of(workload):
        makers.append(partial(residual, workload))
        most = _DENSE_UNION
    if workload.cells > most:
        return makers, _singular(workload)
    solved = solve(workload.gram())
    if Norm.L2 in norms:
        makers.append(lambda: fixed_point(workload, solved))
    if Norm.L1 in norms:
        makers.append(partial(p_identity, workload))
    return makers, solved.bound


def _singular(workload: Workload) -> float:
    """The bound by singular values; nothing where they are not known."""
    try:
        return workload.singular_sum() ** 2 / workload.cells * (1 - 1e-9)
    except ParameterError:
        return _trivial(workload)


def _trivial(workload: Workload) -> float:
    """A bound without solving anything: G at i, i, as X^-1 is at least e e' / X at i, i for a unit vector e."""
    return float(workload.gram_diagonal().max())


def _marginals(workload: Workload, norms: list[Norm], makers: Makers) -> tuple[Makers, float]:
    """Marginals: residuals for Gaussian noise, weighted marginals for Laplace noise; the bound is the residuals'."""
    best = residual(workload)
    needed = best.total * float(best.reach.l2_squared)
    if Norm.L2 in norms:
        makers.append(lambda: best)
    makers += [partial(best_margins, workload, norm) for norm in norms]
    return makers, needed * (1 - 1e-6)


def _product(workload: Kron, norms: list[Norm], makers: Makers) -> tuple[Makers, float]:
    """Products: for each axis the best of its own queries; error and bound are products, too."""
    if any(size > MOST_DENSE for size in workload.shape):
        return makers, workload.singular_sum() ** 2 / workload.cells * (1 - 1e-9)
    solved = [None if isinstance(axis, Identity | Total) else solve(axis.gram()) for axis in workload.factors]
    steps = 1 << (24 // max(1, sum(one is not None for one in solved)))

    def built(norm: Norm) -> Product:
        axes = []
        for axis, one in zip(workload.factors, solved, strict=True):
            if one is None:
                rows = np.eye(axis.cells) if isinstance(axis, Identity) else np.ones((1, axis.cells))
                axes.append(Dense(axis, rows.astype(np.int64), "exactly"))
            elif norm is Norm.L2:
                axes.append(fixed_point(axis, one, steps=steps))
            else:
                axes.append(p_identity(axis, steps=steps))
        return Product(workload, axes)

    bound = math.prod(
        (float(axis.cells) if isinstance(axis, Identity) else 1.0) if one is None else one.bound
        for axis, one in zip(workload.factors, solved, strict=True)
    )
    return [*makers, *(partial(built, norm) for norm in norms)], bound


def changed(workload: Workload, root: float) -> float:
    """Turn a bound for columns of length 1 into one for columns at distance 1 of each other, as under change-one.

    Only the centered columns count then: the average squared distance of two is twice their average squared length, so
    that is less than 1/2, and the bound by singular values is 2 (tr (P G P)^(1/2))**2 / n, P taking the mean out. By
    interlacing the trace loses at most the largest singular value, and that is at most the root of the largest sum of
    a row of G, which has no negative entries. The bound `root` is at least (tr G^(1/2))**2 / n.

    >>> from discreet.methods.workloads import Identity
    >>> changed(Identity(100), 100.0) < 200
    True
    """
    if workload.cells > MOST_CELLS:
        share = residual(workload).weights.get((), 0.0) ** 2
        return 2 * root * (1 - share) ** 2 * (1 - 1e-6)
    try:
        singular = workload.singular_sum()
    except ParameterError:
        return 0.0
    largest = math.sqrt(float(workload.gram_dot(np.ones((1, workload.cells))).max()))
    return 2 * max(0.0, singular - largest) ** 2 / workload.cells * (1 - 1e-6)
