"""Graphs without nodes of large degree, in a way that one node moves little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.methods.graphs.graph import Graph

__all__ = ["projected_degrees"]


def projected_degrees(graph: Graph, limit: int) -> NDArray[np.int64]:
    r"""Return the degrees after edges were added in order, each where both of its nodes have fewer than `limit`.

    Sensitivity. Let G' have one node v more than G, with its edges, and let the edges of G stand in the same order in
    both: they do, as they are ordered by the names of their nodes. Go through the edges of G', and let $\Phi = \sum_u
    |d_u - d'_u|$ over the nodes u of G, of the degrees so far. An edge of v that is added raises $\Phi$ by at most 1,
    and at most `limit` are. Another edge {a, b} moves $\Phi$ only if one graph adds it and the other does not: then
    one of its nodes, say a, is full in the other graph and not in this one, so $|d_a - d'_a|$ falls by 1 while
    $|d_b - d'_b|$ grows by at most 1. So $\Phi \le$ `limit` in the end, and v has at most that degree.

    It keeps far more edges than removing all nodes of larger degrees ("naive truncation"), which one node more can
    empty: a hub's neighbors may all be at the limit without it.

    Day, Li & Lyu 2016 (doi:10.1145/2882903.2926745), projection by edge addition.

    >>> from discreet.methods.graphs import Graph
    >>> projected_degrees(Graph.of([(0, 1), (0, 2), (0, 3), (2, 3)]), 2).tolist()
    [2, 1, 2, 1]
    """
    room = [limit] * graph.nodes
    for first, second in graph.edges.tolist():
        if room[first] and room[second]:
            room[first] -= 1
            room[second] -= 1
    return limit - np.array(room, dtype=np.int64)
