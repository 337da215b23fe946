"""A graph without direction, loops or weights, from whatever holds pairs of nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.mechanisms.inputs.rows import is_absent

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

__all__ = ["Graph"]

_BLOCK = 1 << 23


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph:
    """Nodes 0, ..., nodes - 1, and each edge once as (a, b) with a < b, in rising order.

    What is private of it, its edges or its nodes with their edges, is up to the promise of a statistic; it shows
    neither.

    >>> graph = Graph.of([("ann", "bob"), ("bob", "ann"), ("bob", "bob"), ("bob", "eve")])
    >>> graph.nodes, graph.edges.tolist(), graph
    (3, [[0, 1], [1, 2]], Graph())
    """

    nodes: int
    edges: NDArray[np.int64]
    stated: bool = True
    """Whether somebody said who the nodes are; else they are whoever has an edge, and their number is private."""

    @staticmethod
    def of(edges: Any, *, nodes: SupportsIndex | Iterable[Hashable] | None = None) -> Graph:  # noqa: ANN401
        """Read pairs: an array of two columns, an Arrow table or a data frame, a networkx graph, a list.

        `nodes` says who is there: how many, called 0, 1, 2, …; or their names, in their order. Left out, it is whom a
        networkx graph names, and otherwise whoever has an edge, in the order of their names; how many these are is as
        private as the edges, so statistics that need the number of nodes ask for it.

        An edge that stands there twice, or both ways, is one edge. An edge of a node with itself is none, and neither
        is one with a missing end, or with an end that is not among the nodes: one row cannot raise an error.
        """
        if hasattr(edges, "edges") and hasattr(edges, "nodes") and not isinstance(edges, Graph):
            nodes = list(edges.nodes()) if nodes is None else nodes
            edges = list(edges.edges())
        stated = nodes is not None or (isinstance(edges, Graph) and edges.stated)
        first, second = _columns(edges)
        count, ends = _coded(first, second, nodes)
        ends = np.sort(ends[:, (ends >= 0).all(axis=0) & (ends[0] != ends[1])], axis=0)
        codes = np.unique(ends[0] * max(count, 1) + ends[1])
        return Graph(count, np.stack(np.divmod(codes, max(count, 1)), axis=1), stated)

    @property
    def degrees(self) -> NDArray[np.int64]:
        """How many edges each node has."""
        return np.bincount(self.edges.ravel(), minlength=self.nodes)

    def _adjacency(self, order: NDArray[np.int64], *, both: bool) -> csr_array[Any]:
        """The matrix of edges between nodes in another order; from the earlier to the later one, or both ways."""
        from scipy.sparse import csr_array

        rank = np.empty(self.nodes, dtype=np.int64)
        rank[order] = np.arange(self.nodes)
        ends = np.sort(rank[self.edges], axis=1)
        rows, columns = (np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]]))
        upto = rows.size if both else len(ends)
        ones = np.ones(upto, dtype=np.int64)
        return csr_array((ones, (rows[:upto], columns[:upto])), shape=(self.nodes, self.nodes))

    def triangles(self) -> int:
        """Count triangles: each once, from its node of the least degree, so that no hub is looked at from itself."""
        if not len(self.edges):
            return 0
        onward = self._adjacency(np.argsort(self.degrees, kind="stable"), both=False)
        total = 0
        for part in _parts(onward, onward):
            total += int(((onward[part] @ onward).multiply(onward[part])).sum())
        return total

    def common_neighbors(self) -> int:
        """Return the largest number of neighbors that two nodes have in common, whether they share an edge or not.

        Nodes are taken in falling order of their degrees: two nodes have no more common neighbors than the lower of
        their degrees, so the search ends at the degree that is no larger than what was found.
        """
        order = np.argsort(-self.degrees, kind="stable")
        ordered, best = self.degrees[order], 0
        if not len(self.edges):
            return 0
        matrix = self._adjacency(order, both=True)
        for part in _parts(matrix, matrix):
            reaching = int(np.searchsorted(-ordered, -best))  # from here on degrees are at most the best
            if part.start >= reaching:
                break
            common = (matrix[part.start : min(part.stop, reaching)] @ matrix[:, :reaching]).tocoo()
            apart = common.data[common.row + part.start != common.col]
            best = max(best, int(apart.max(initial=0)))
        return best

    def __repr__(self) -> str:
        return "Graph()"


def _parts(left: csr_array[Any], right: csr_array[Any]) -> Iterable[slice]:
    """Cut the rows of a product into slices of bounded work."""
    work = np.concatenate([[0], np.cumsum(left @ np.diff(right.indptr))])
    start, rows = 0, left.shape[0]
    while start < rows:
        stop = max(start + 1, int(np.searchsorted(work, work[start] + _BLOCK, side="right")) - 1)
        yield slice(start, min(stop, rows))
        start = stop


def _columns(edges: Any) -> tuple[NDArray[Any], NDArray[Any]]:  # noqa: ANN401
    """Return the two ends of all pairs as arrays."""
    if isinstance(edges, Graph):
        return edges.edges[:, 0], edges.edges[:, 1]
    names = getattr(edges, "column_names", None) or getattr(edges, "columns", None)
    if names is not None:
        if len(names) != 2:
            msg = f"edges has {len(names)} columns; a graph has two, the ends of each edge. Select them."
            raise ParameterError(msg)
        columns = [edges[name] for name in names]
        listed = [column.to_pylist() if hasattr(column, "to_pylist") else list(column) for column in columns]
        first, second = (np.array(column, dtype=object) for column in listed)
        return first, second
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] != 2:
            msg = f"edges has the shape {edges.shape}; it must be (m, 2), the two ends of each edge."
            raise ParameterError(msg)
        return edges[:, 0], edges[:, 1]
    if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
        msg = f"edges is of type {type(edges).__name__}; give pairs of nodes: an array, a table, a list, a graph."
        raise ParameterError(msg)
    pairs = [tuple(pair) for pair in edges]
    if any(len(pair) != 2 for pair in pairs):
        msg = "edges must be pairs of nodes."
        raise ParameterError(msg)
    ends = np.empty((2, len(pairs)), dtype=object)
    for place, pair in enumerate(pairs):
        ends[0, place], ends[1, place] = pair
    return ends[0], ends[1]


def _coded(
    first: NDArray[Any], second: NDArray[Any], nodes: SupportsIndex | Iterable[Hashable] | None
) -> tuple[int, NDArray[np.int64]]:
    """Number the nodes; -1 stands for what is none."""
    whole = first.dtype.kind in "iu" and second.dtype.kind in "iu"
    if isinstance(nodes, SupportsIndex):
        count = integer(nodes, name="nodes", least=1, most=1 << 31)
        ends = np.stack([first, second]) if whole else np.array([[_number(x) for x in end] for end in (first, second)])
        ends = ends.reshape(2, -1)
        return count, np.where((ends >= 0) & (ends < count), ends, -1).astype(np.int64)
    if nodes is None and whole:
        known, codes = np.unique(np.stack([first, second]), return_inverse=True)
        return len(known), codes.reshape(2, -1).astype(np.int64)
    names: Sequence[Any]
    if nodes is None:
        there = {x for end in (first, second) for x in end.tolist() if not is_absent(x)}
        names = sorted(there, key=lambda name: ("" if isinstance(name, Real) else type(name).__name__, name))
    else:
        names = list(nodes)
    place = {name: number for number, name in enumerate(names)}
    if len(place) != len(names) or not names:
        msg = f"nodes is {shown(nodes)}; it must name at least one node, and each once."
        raise ParameterError(msg)
    return len(names), np.array([[place.get(x, -1) for x in end.tolist()] for end in (first, second)]).reshape(2, -1)


def _number(value: object) -> int:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return int(value) if whole and 0 <= value < 1 << 31 else -1  # type: ignore[call-overload, operator]
