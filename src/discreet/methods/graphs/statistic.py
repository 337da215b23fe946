"""What statistics of graphs share: a mechanism that carries the promise, and what it is given of the graph."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.exact.rational import read_choice
from discreet.mechanisms.inputs.parameters import assign
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.methods.graphs.graph import Graph
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import SupportsIndex

    from discreet.mechanisms.promise import Claim, Error
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["EDGES", "NODES", "GraphStatistic", "read_level", "read_nodes"]

EDGES = NeighborRelation.ADD_REMOVE.of(Unit.EDGE)
"""One edge more or less; who the nodes are is public."""

NODES = NeighborRelation.ADD_REMOVE.of(Unit.NODE)
"""One node more or less, with all its edges; who the nodes are, and how many, is private."""


def read_nodes(nodes: SupportsIndex, *, least: int = 1) -> int:
    """Read how many nodes a graph has: public, where edges are protected.

    >>> read_nodes(5)
    5
    """
    return integer(nodes, name="nodes", least=least, most=1 << 31)


def read_level(neighbors: Relation | str) -> Relation:
    """Read whether edges or nodes are protected.

    >>> read_level("edge") == EDGES, read_level(NODES) == NODES
    (True, True)
    """
    if isinstance(neighbors, str):
        return NeighborRelation.ADD_REMOVE.of(read_choice(Unit, neighbors, "neighbors"))
    if neighbors not in {EDGES, NODES}:
        msg = (
            f"neighbors is {shown(neighbors)}; a promise about graphs is for add_remove/edge or add_remove/node: "
            "discreet.methods.graphs.EDGES or NODES."
        )
        raise ParameterError(msg)
    return neighbors


@dataclass(frozen=True, slots=True, init=False)
class GraphStatistic(Mechanism[Graph, Any]):
    """A statistic of a graph: what it measures, given to the mechanism that protects it.

    >>> from discreet.methods.graphs import EdgeCount
    >>> EdgeCount(epsilon=1).inner.scale
    Fraction(1, 1)
    """

    _assumes: ClassVar[tuple[str, ...]] = ()

    neighbors: Relation

    def protect(self, neighbors: Relation | str, *, only: Relation | None = None) -> None:
        """Set whom it protects; for constructors alone."""
        level = read_level(neighbors)
        if only is not None and level != only:
            msg = f"neighbors is {level.value}; this statistic has a bound for {only.value} alone."
            raise ParameterError(msg)
        assign(self, neighbors=level)

    @property
    @abstractmethod
    def inner(self) -> Mechanism[Any, Any]:
        """The mechanism that keeps the promise."""

    @abstractmethod
    def measured(self, graph: Graph) -> Any:  # noqa: ANN401  what the inner mechanism takes
        """Return the exact statistic, with its local sensitivity or bound where the mechanism takes one; private."""

    @property
    def privacy(self) -> Curve:
        """That of the inner mechanism."""
        return self.inner.privacy

    @property
    def claim(self) -> Claim:
        """That of the inner mechanism."""
        return self.inner.claim

    @property
    def argument(self) -> tuple[str, ...]:
        """How far an edge or a node moves the statistic, and what follows."""
        return (f"{self.guarantee} ({self.source})", *self.inner.argument)

    def error(self, confidence: float = 0.95) -> Error:
        """That of the inner mechanism."""
        return self.inner.error(confidence)

    def error_of(self, value: Any, details: Mapping[str, object], confidence: float = 0.95) -> Error:  # noqa: ANN401
        """That of the inner mechanism."""
        return self.inner.error_of(value, details, confidence)

    def require_nodes(self, graph: Graph, nodes: int) -> None:
        """Refuse a graph with another number of nodes, which is public where edges are protected."""
        if not graph.stated:
            msg = f"nobody said who the nodes of this graph are, which is public: Graph.of(edges, nodes={nodes})."
            raise ParameterError(msg)
        if graph.nodes != nodes:
            msg = f"nodes is {nodes}, and the graph was made with {graph.nodes}; say the same in both."
            raise ParameterError(msg)

    def finished(self, value: Any) -> Any:  # noqa: ANN401
        """Post-process what the mechanism released."""
        return value

    def release(self, value: Graph, *, bits: BitSource = SYSTEM) -> Release[Any]:
        """Return the private statistic of a graph."""
        if not isinstance(value, Graph):
            msg = f"value is of type {type(value).__name__}; it must be a Graph: Graph.of(edges, nodes=…)."
            raise ParameterError(msg)
        noisy = self.inner.release(self.measured(value), bits=bits)
        return Release(self.finished(noisy.value), self, noisy.details)
