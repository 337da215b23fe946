"""Rows of a graphical model, by randomized rounding: counts are as near to the model as whole rows allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.methods.synthesis.graphical import project

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.methods.synthesis.graphical import GraphicalModel
    from discreet.noise import BitSource

    Floats = NDArray[np.float64]

__all__ = ["sampled"]


def sampled(model: GraphicalModel, rows: int, bits: BitSource) -> NDArray[np.int32]:
    """Draw so many rows of cells.

    Along the tree, one column after the other: the rows that agree in the columns before it, of its clique, are a
    group. A group of m rows gets value v either floor(m p_v) or one more times, m p_v in expectation, where p_v is the
    chance of the value given the group: the differences of floor(m (p_1 + … + p_v) + u) for one uniform u. Which rows
    of the group get which value is a random order. Independent draws would err by sqrt(m p_v) instead of less than 1.

    >>> from discreet.methods.synthesis.graphical import GraphicalModel
    >>> from discreet.methods.synthesis.trees import junction_tree
    >>> from discreet.noise import SYSTEM
    >>> model = GraphicalModel(junction_tree([2], []), [np.array([0.25, 0.75])])
    >>> np.bincount(sampled(model, 8, SYSTEM)[:, 0]).tolist()
    [2, 6]
    """
    tree = model.tree
    cells = np.zeros((rows, len(tree.sizes)), dtype=np.int32)
    for clique, shared, table in zip(tree.cliques, tree.separators, model.tables, strict=True):
        known = list(shared)
        for column in clique:
            if column in shared:
                continue
            kept = tuple(sorted((*known, column)))
            joint = np.moveaxis(project(table, clique, kept), kept.index(column), -1)
            before = [c for c in kept if c != column]
            cells[:, column] = _column(cells[:, before], joint, bits)
            known.append(column)
    return cells


def _column(before: NDArray[np.int32], joint: Floats, bits: BitSource) -> NDArray[np.int64]:
    """Give each row a value of one more column, by groups of rows that agree in those before."""
    count, size = len(before), joint.shape[-1]
    flat = np.zeros(count, dtype=np.int64)
    for axis in range(before.shape[1]):
        flat = flat * joint.shape[axis] + before[:, axis]
    groups, place, sizes = np.unique(flat, return_inverse=True, return_counts=True)
    weights = joint.reshape(-1, size)[groups]
    total = weights.sum(axis=1, keepdims=True)
    even = np.full_like(weights, 1 / size)
    shares = np.divide(weights, total, out=even, where=total > 0)
    ends = np.cumsum(shares, axis=1) * sizes[:, None]
    ends[:, -1] = sizes
    ends = np.minimum(ends, sizes[:, None])
    stops = np.floor(ends + _uniform(len(groups), bits)[:, None])
    stops[:, -1] = sizes
    times = np.diff(np.minimum(stops, sizes[:, None]), axis=1, prepend=0).astype(np.int64)
    values = np.repeat(np.tile(np.arange(size), len(groups)), times.ravel())
    order = np.lexsort((bits.words64(count), place.ravel()))
    column = np.empty(count, dtype=np.int64)
    column[order] = values
    return column


def _uniform(count: int, bits: BitSource) -> Floats:
    """Draw numbers from 0 up to 1."""
    drawn: Floats = (bits.words64(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return drawn
