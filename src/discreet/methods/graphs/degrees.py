"""How many edges a graph has, and how they are spread over its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.inference import isotonic
from discreet.mechanisms.inputs.parameters import assign, miss, read_positive
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.methods.graphs.projection import projected_degrees
from discreet.methods.graphs.statistic import EDGES, NODES, GraphStatistic, read_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction
    from typing import Any, SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.mechanisms.promise import Error
    from discreet.methods.graphs.graph import Graph
    from discreet.privacy.relations import Relation

__all__ = ["DegreeHistogram", "DegreeSequence", "EdgeCount"]

_DAY = "Day, Li & Lyu 2016, doi:10.1145/2882903.2926745"


def _read_limit(limit: SupportsIndex | None, neighbors: Relation) -> int | None:
    """Read the largest degree that is kept: needed for nodes, and meaningless for edges."""
    if (limit is None) != (neighbors == EDGES):
        msg = (
            f"degree_limit is {shown(limit)}; under {NODES.value} it says how many edges of a node are kept at most, "
            f"and under {EDGES.value} it is left out."
        )
        raise ParameterError(msg)
    return None if limit is None else integer(limit, name="degree_limit", least=1, most=1 << 31)


@dataclass(frozen=True, slots=True, init=False)
class EdgeCount(GraphStatistic):
    r"""Release the number of edges.

    Sensitivity. An edge moves it by 1. A node may have any number of edges, so under node privacy the edges of the
    graph's projection to a largest degree D are counted, which a node moves by at most D: it takes part in at most D
    itself, and moves the degrees of others by at most as many in total (`projected_degrees`), so the edges, half the
    degrees, by between 0 and D. What the projection leaves out is a bias, whose size is private.

    >>> EdgeCount(epsilon=1).error(0.95), EdgeCount(epsilon=1, neighbors="node", degree_limit=50).inner.scale
    (3.0, Fraction(50, 1))
    """

    kind: ClassVar[str] = "edge_count"
    guarantee: ClassVar[str] = (
        "One edge moves the number of edges by 1; one node moves that of the projection to a largest degree D by D."
    )
    accuracy: ClassVar[str] = "that of discrete Laplace noise; under node privacy besides what the projection left out"
    source: ClassVar[str] = _DAY
    no_error_because: ClassVar[str] = "how many edges the projection leaves out is private."

    epsilon: Fraction
    degree_limit: int | None

    def __init__(
        self, *, epsilon: Number, neighbors: Relation | str = EDGES, degree_limit: SupportsIndex | None = None
    ) -> None:
        self.protect(neighbors)
        assign(self, epsilon=read_positive(epsilon, "epsilon", zero="no finite noise reaches it"))
        assign(self, degree_limit=_read_limit(degree_limit, self.neighbors))

    @property
    def inner(self) -> DiscreteLaplace:
        """Noise for a move of 1, or of D."""
        return DiscreteLaplace(self.degree_limit or 1, epsilon=self.epsilon, neighbors=self.neighbors)

    def error(self, confidence: float = 0.95) -> Error:
        """That of the noise; None under node privacy."""
        return None if self.degree_limit else self.inner.error(confidence)

    def error_of(self, value: int, details: Mapping[str, object], confidence: float = 0.95) -> Error:
        """That of the noise; None under node privacy."""
        del value, details
        return self.error(confidence)

    def measured(self, graph: Graph) -> int:
        """Count the edges, those of the projection under node privacy."""
        if self.degree_limit is None:
            return len(graph.edges)
        return int(projected_degrees(graph, self.degree_limit).sum()) // 2


@dataclass(frozen=True, slots=True, init=False)
class DegreeHistogram(GraphStatistic):
    r"""Release how many nodes have each degree, from 0 to the last bin, in which all larger ones are counted.

    Sensitivity. An edge moves its two nodes from one bin to another: 4 in L1. A node that comes moves the degrees of
    others in the projection to a largest degree D by at most D in total, each of which takes a node out of one bin and
    puts it into another, and enters a bin itself: 2 D + 1 (Day, Li & Lyu 2016, with the argument of
    `projected_degrees`).

    >>> DegreeHistogram(100, epsilon=1).inner.sensitivity
    Fraction(4, 1)
    >>> DegreeHistogram(20, epsilon=1, neighbors="node", degree_limit=20).inner.sensitivity
    Fraction(41, 1)
    """

    kind: ClassVar[str] = "degree_histogram"
    guarantee: ClassVar[str] = (
        "One edge moves two nodes from one bin to another, 4 in L1; one node moves the histogram of the projection to "
        "a largest degree D by at most 2 D + 1."
    )
    accuracy: ClassVar[str] = "that of discrete Laplace noise in each bin; under node privacy besides the projection"
    source: ClassVar[str] = _DAY
    no_error_because: ClassVar[str] = "how far the projection moves a bin is private."

    last: int
    epsilon: Fraction
    degree_limit: int | None

    def __init__(
        self,
        last: SupportsIndex,
        *,
        epsilon: Number,
        neighbors: Relation | str = EDGES,
        degree_limit: SupportsIndex | None = None,
    ) -> None:
        self.protect(neighbors)
        assign(self, last=integer(last, name="last", least=0, most=1 << 31))
        assign(self, epsilon=read_positive(epsilon, "epsilon", zero="no finite noise reaches it"))
        assign(self, degree_limit=_read_limit(degree_limit, self.neighbors))

    @property
    def inner(self) -> DiscreteLaplace:
        """Noise in each bin."""
        moved = 4 if self.degree_limit is None else 2 * self.degree_limit + 1
        return DiscreteLaplace(moved, epsilon=self.epsilon, dimensions=self.last + 1, neighbors=self.neighbors)

    def error(self, confidence: float = 0.95) -> Error:
        """That of the noise in each bin; None under node privacy."""
        return None if self.degree_limit else self.inner.error(confidence)

    def error_of(self, value: NDArray[np.int64], details: Mapping[str, object], confidence: float = 0.95) -> Error:
        """That of the noise in each bin; None under node privacy."""
        del value, details
        return self.error(confidence)

    def measured(self, graph: Graph) -> NDArray[np.int64]:
        """Count the nodes of each degree."""
        limit = self.degree_limit
        degrees = graph.degrees if limit is None else projected_degrees(graph, limit)
        return np.bincount(np.minimum(degrees, self.last), minlength=self.last + 1)


@dataclass(frozen=True, slots=True, init=False)
class DegreeSequence(GraphStatistic):
    r"""Release the degrees of all nodes in falling order, without saying whose they are.

    Sensitivity. With one edge more two degrees grow by 1, and so do two places of the ordered sequence, each the first
    of those with its degree: 2 in L1. The noisy sequence is made to fall by isotonic regression, which is free and
    often ten times closer: where many degrees are alike, their noise is averaged.

    Error. Isotonic regression is a maximum of minima of averages, so it is off at no place by more than the largest
    noise at any place.

    Hay, Li, Miklau & Jensen 2009 (doi:10.1109/ICDM.2009.11).

    >>> made = DegreeSequence(3, epsilon=90)
    >>> from discreet.methods.graphs import Graph
    >>> made.release(Graph.of([(0, 1), (1, 2)], nodes=3)).value.tolist()
    [2.0, 1.0, 1.0]
    """

    kind: ClassVar[str] = "degree_sequence"
    guarantee: ClassVar[str] = "One edge moves the ordered degrees by 2 in L1, and what orders them again is free."
    accuracy: ClassVar[str] = "at most the largest of all places' noises"
    source: ClassVar[str] = "Hay, Li, Miklau & Jensen 2009, doi:10.1109/ICDM.2009.11"

    nodes: int
    epsilon: Fraction

    def __init__(self, nodes: SupportsIndex, *, epsilon: Number, neighbors: Relation | str = EDGES) -> None:
        self.protect(neighbors, only=EDGES)
        assign(self, nodes=read_nodes(nodes))
        assign(self, epsilon=read_positive(epsilon, "epsilon", zero="no finite noise reaches it"))

    @property
    def inner(self) -> DiscreteLaplace:
        """Noise at each place."""
        return DiscreteLaplace(2, epsilon=self.epsilon, dimensions=self.nodes, neighbors=self.neighbors)

    def error(self, confidence: float = 0.95) -> Error:
        """Return what no place is off by more than, together, with this probability."""
        return self.inner.error(float(1 - miss(confidence, together=self.nodes)))

    def error_of(self, value: NDArray[np.float64], details: Mapping[str, object], confidence: float = 0.95) -> Error:
        """Return what no place is off by more than, together, with this probability."""
        del value, details
        return self.error(confidence)

    def measured(self, graph: Graph) -> NDArray[np.int64]:
        """Order the degrees."""
        self.require_nodes(graph, self.nodes)
        return np.sort(graph.degrees)[::-1]

    def finished(self, value: NDArray[Any]) -> NDArray[np.float64]:
        """Make them fall, within what degrees can be."""
        return np.clip(isotonic(value, falling=True), 0, self.nodes - 1)
