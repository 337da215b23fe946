"""Graphs: how far an edge or a node moves each statistic, tried on all small graphs; reading; refusals."""

from __future__ import annotations

import itertools
import math
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.checks.audits.cases import graphs as cases
from discreet.database import Database
from discreet.engines import BoundedRows
from discreet.errors import ParameterError
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.methods.graphs import (
    EDGES,
    NODES,
    DegreeHistogram,
    DegreeSequence,
    EdgeCount,
    Graph,
    GraphStatistic,
    KStars,
    Triangles,
    projected_degrees,
    release_graph,
)
from discreet.methods.graphs.tables import _graph
from discreet.privacy import NeighborRelation, Pure
from discreet.tables import Column, Policy, Table
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

Edges = frozenset[tuple[int, int]]
PAIRS = list(itertools.combinations(range(5), 2))
STATISTICS: list[GraphStatistic] = [
    EdgeCount(epsilon=1),
    EdgeCount(epsilon=1, neighbors="node", degree_limit=3),
    DegreeHistogram(4, epsilon=1),
    DegreeHistogram(4, epsilon=1, neighbors=NODES, degree_limit=3),
    DegreeSequence(5, epsilon=1),
    Triangles(5, epsilon=1),
    Triangles(5, epsilon=1, delta="1e-3"),
    Triangles(5, epsilon=1, fitting="global"),
    KStars(2, 5, epsilon=1),
]


@cache
def graphs() -> tuple[Edges, ...]:
    """All graphs on five nodes."""
    every = itertools.product((False, True), repeat=len(PAIRS))
    return tuple(frozenset(pair for pair, there in zip(PAIRS, kept, strict=True) if there) for kept in every)


def made(edges: Edges, nodes: int = 5) -> Graph:
    return Graph.of(np.array(sorted(edges), dtype=np.int64).reshape(-1, 2), nodes=nodes)


def one_edge_less() -> Iterator[tuple[Edges, Edges]]:
    """Every 31st pair of graphs that differ in an edge."""
    pairs = ((edges, edges - {edge}) for edges in graphs() for edge in sorted(edges))
    return itertools.islice(pairs, 0, None, 31)


def without(edges: Edges, node: int) -> Graph:
    """Remove a node; those after it keep their order under other numbers."""
    left = [edge for edge in edges if node not in edge]
    return Graph.of(np.array(left, dtype=np.int64).reshape(-1, 2), nodes=[n for n in range(5) if n != node])


def brute(edges: Edges) -> tuple[int, int]:
    """Triangles, and the most common neighbors of two nodes, by looking at all."""
    near = {node: {a + b - node for a, b in edges if node in (a, b)} for node in range(5)}
    count = sum({(a, b), (a, c), (b, c)} <= edges for a, b, c in itertools.combinations(range(5), 3))
    return count, max(len(near[a] & near[b]) for a, b in PAIRS)


def distance(statistic: GraphStatistic, first: Graph, second: Graph) -> float:
    return float(np.abs(np.asarray(statistic.measured(first)) - np.asarray(statistic.measured(second))).sum())


def test_triangles_and_common_neighbors_are_those_of_all_small_graphs() -> None:
    for edges in graphs()[::3]:
        graph = made(edges)
        assert (graph.triangles(), graph.common_neighbors()) == brute(edges)


def test_triangles_of_a_larger_graph() -> None:
    """The trace of the third power, and the largest entry of the second one beside the diagonal."""
    drawn = np.random.default_rng(5).integers(0, 60, (700, 2))
    graph = Graph.of(drawn, nodes=60)
    matrix = np.zeros((60, 60), dtype=np.int64)
    matrix[graph.edges[:, 0], graph.edges[:, 1]] = 1
    matrix += matrix.T
    square = matrix @ matrix
    assert graph.triangles() == np.trace(square @ matrix) // 6
    assert graph.common_neighbors() == (square - np.diag(np.diag(square))).max()


@pytest.mark.parametrize(
    "statistic, most",
    [
        (EdgeCount(epsilon=1), 1),
        (DegreeHistogram(4, epsilon=1), 4),
        (DegreeHistogram(2, epsilon=1), 4),
        (DegreeSequence(5, epsilon=1), 2),
        (Triangles(5, epsilon=1, fitting="global"), 3),
    ],
)
def test_an_edge_moves_as_far_as_stated_and_no_further(statistic: GraphStatistic, most: int) -> None:
    moved = max(distance(statistic, made(a), made(b)) for a, b in one_edge_less())
    assert moved == most == statistic.inner.sensitivity  # type: ignore[attr-defined]


def test_local_sensitivities_bound_every_move_and_are_steep_by_one() -> None:
    bound = Triangles(5, epsilon=1, delta="1e-3")
    for a, b in one_edge_less():
        (here, local), (there, near) = bound.measured(made(a)), bound.measured(made(b))
        assert abs(here - there) <= min(local, near)
        assert abs(local - near) <= 1


@pytest.mark.parametrize("statistic", [Triangles(5, epsilon=1), KStars(2, 5, epsilon=1), KStars(3, 5, epsilon=2)])
def test_smooth_bounds_are_bounds_and_smooth(statistic: Any) -> None:  # noqa: ANN401
    room = math.exp(statistic.inner.smoothing)
    for a, b in one_edge_less():
        (here, local), (there, near) = (statistic.measured(made(edges)) for edges in (a, b))
        assert abs(here - there) <= min(local, near)
        assert local <= room * float(near) * (1 + 1e-12)
        assert near <= room * float(local) * (1 + 1e-12)


def moved_by_nodes(measure: Callable[[Graph], NDArray[np.int64] | int]) -> float:
    """How far one node less moves a statistic of any graph on five nodes."""
    moves = []
    for edges in graphs()[::2]:
        whole = np.asarray(measure(made(edges)))
        moves += [float(np.abs(whole - measure(without(edges, node))).sum()) for node in range(0, 5, 2)]
    return max(moves)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_node_moves_projections_no_further_than_stated(limit: int) -> None:
    histogram = DegreeHistogram(4, epsilon=1, neighbors="node", degree_limit=limit)
    edges = EdgeCount(epsilon=1, neighbors="node", degree_limit=limit)
    assert moved_by_nodes(edges.measured) == limit == edges.inner.sensitivity
    assert 2 * limit - 1 <= moved_by_nodes(histogram.measured) <= 2 * limit + 1 == histogram.inner.sensitivity


def test_naive_truncation_is_refuted_by_a_hub() -> None:
    """The broken partner: without its nodes of degree above 2, a ring whose every node has a hub more loses all."""
    ring = [(node, (node + 1) % 30) for node in range(30)]
    wheel = ring + [(node, 30) for node in range(30)]

    def truncated(edges: list[tuple[int, int]]) -> int:
        graph = Graph.of(edges)
        small = graph.degrees <= 2
        return int((small[graph.edges[:, 0]] & small[graph.edges[:, 1]]).sum())

    assert abs(truncated(wheel) - truncated(ring)) == 30, "far more than 2"
    projected = [projected_degrees(Graph.of(edges), 2).sum() // 2 for edges in (wheel, ring)]
    assert abs(projected[0] - projected[1]) <= 2


def test_degrees_in_order_come_close_by_isotonic_regression(seed: int) -> None:
    ring = Graph.of([(node, (node + 1) % 400) for node in range(400)], nodes=400)
    made_for = DegreeSequence(400, epsilon="1/2")
    released = made_for.release(ring, bits=ReplayBits(seed))
    noisy = made_for.inner.release(made_for.measured(ring), bits=ReplayBits(seed)).value
    assert np.abs(released.value - 2).mean() < np.abs(np.asarray(noisy) - 2).mean() / 2
    assert (np.abs(released.value - 2) <= released.error(1 - 1e-9)).all()
    assert (np.diff(released.value) <= 0).all()


@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
def test_statistics_travel_and_release(statistic: GraphStatistic) -> None:
    released = statistic.release(made(graphs()[-1]))
    assert Release.from_json(released.to_json()) == released
    assert Mechanism.from_record(statistic.record()) == statistic
    assert released.privacy == statistic.inner.privacy
    assert statistic.neighbors in {EDGES, NODES}
    assert str(statistic.neighbors.value) in released.explain()


def test_every_statistic_has_a_case() -> None:
    assert {type(case.mechanism) for case in cases.cases()} == {type(each) for each in STATISTICS}


def test_graphs_are_read_from_whatever_holds_pairs() -> None:
    pairs = [("b", "a"), ("a", "b"), ("c", "c"), ("c", "b"), (None, "a")]
    ends = {"from": [pair[0] for pair in pairs], "to": [pair[1] for pair in pairs]}
    like_networkx = SimpleNamespace(edges=lambda: [("a", "b"), ("b", "c")], nodes=lambda: ["a", "b", "c", "d"])
    expected = [[0, 1], [1, 2]]
    assert Graph.of(pairs).edges.tolist() == Graph.of(pa.table(ends)).edges.tolist() == expected
    assert Graph.of(like_networkx).edges.tolist() == expected
    assert Graph.of(like_networkx).nodes == 4
    assert Graph.of(np.array([[7, 9], [9, 7], [9, 11], [7, 7]])).edges.tolist() == expected
    assert Graph.of([(0, 1), (1, 2), (2, 3), (-1, 0), (1.5, 0)], nodes=3).edges.tolist() == expected
    assert Graph.of(pairs, nodes=["c", "b", "a"]).edges.tolist() == expected
    assert Graph.of(Graph.of(pairs), nodes=3).edges.tolist() == expected


def test_a_graph_with_one_node_has_no_edge() -> None:
    alone = Graph.of([("a", "a")], nodes=["a"])
    assert (alone.nodes, len(alone.edges), alone.triangles(), alone.common_neighbors()) == (1, 0, 0, 0)
    assert DegreeSequence(1, epsilon=1).release(alone).value.tolist() == [0.0]
    assert len(DegreeHistogram(3, epsilon=1).release(alone).value) == 4
    assert Graph.of(np.empty((0, 2), dtype=np.int64)).nodes == 0
    with pytest.raises(ParameterError, match="nodes is 1"):
        Triangles(1, epsilon=1)


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: Graph.of("ab"), "edges is of type str"),
        (lambda: Graph.of([(1, 2, 3)]), "pairs of nodes"),
        (lambda: Graph.of(np.zeros((2, 3))), "shape"),
        (lambda: Graph.of(pa.table({"a": [1]})), "1 columns"),
        (lambda: Graph.of([(1, 2)], nodes=0), "nodes is 0"),
        (lambda: Graph.of([(1, 2)], nodes=["a", "a"]), "each once"),
        (lambda: EdgeCount(epsilon=0), "epsilon is 0"),
        (lambda: EdgeCount(epsilon=1, degree_limit=3), "degree_limit is 3"),
        (lambda: EdgeCount(epsilon=1, neighbors="node"), "degree_limit is None"),
        (lambda: EdgeCount(epsilon=1, neighbors=NeighborRelation.ADD_REMOVE), "neighbors is"),
        (lambda: Triangles(9, epsilon=1, neighbors="node"), "add_remove/edge alone"),
        (lambda: Triangles(9, epsilon=1, fitting="bound"), "a bound needs a delta"),
        (lambda: Triangles(9, epsilon=1, delta=0), "delta is 0"),
        (lambda: Triangles(9, epsilon=1).release(Graph.of([(0, 1)], nodes=8)), "made with 8"),
        (lambda: Triangles(3, epsilon=1).release(Graph.of([(0, 1), (1, 2)])), "nobody said who the nodes"),
        (lambda: Triangles(9, epsilon=1).release([(0, 1)]), "must be a Graph"),  # type: ignore[arg-type]
        (lambda: KStars(1, 9, epsilon=1), "k is 1"),
        (lambda: KStars(30, 10**6, epsilon=1), "beyond"),
    ],
)
def test_nonsense_is_refused(call: Callable[[], object], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        call()


def friends(pairs: list[tuple[int, int]]) -> dict[str, pa.Table]:
    ids = [f"unit of {a}" for a, _ in pairs]
    return {"friends": pa.table({"id": ids, "node": [a for a, _ in pairs], "friend": [b for _, b in pairs]})}


def lists(rows: int, **how: Any) -> Policy:  # noqa: ANN401
    ends = [Column(name, lower=0, upper=9, type="integer") for name in ("node", "friend")]
    return Policy([Table("friends", unit="id", rows_per_unit=rows, columns=ends)], epsilon=500, **how)


def test_an_edge_of_a_table_counts_if_both_of_its_nodes_list_it() -> None:
    """So a unit that leaves takes all of its edges with it, and nothing else."""
    pairs = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (4, 0), (0, 4), (4, 4), (7, 3)]
    counted = EdgeCount(epsilon=100, neighbors="node", degree_limit=5)
    for gone, expected in ((None, 3), (0, 1), (1, 1), (3, 3)):
        with Database(lists(5), friends([pair for pair in pairs if pair[0] != gone])) as db:
            loan = db.table("friends").select("node", "friend").rows()
            found = release_graph(counted, loan, source="node", target="friend")
            assert found.value == expected
            assert release_graph(counted, loan, source="node", target="friend") == found, "asked again it is free"
            assert db.remaining == Pure(400)


def test_units_of_one_name_are_nodes_of_their_own() -> None:
    """Whoever uses another's name cannot make that one's edges come or go: an edge is of the two units that list it."""
    rows: dict[str, list[Any]] = {"id": ["a", "b", "c", "c"], "node": [0, 1, 1, 5], "friend": [1, 0, 0, 0]}
    seen = []
    for gone in (None, "c", "b", "a"):
        left = [place for place, unit in enumerate(rows["id"]) if unit != gone]
        given = {name: [cells[place] for place in left] for name, cells in rows.items()}
        declared = [Column(name, lower=0, upper=9, type="integer") for name in ("node", "friend")]
        bounded = BoundedRows.of({name: given[name] for name in ("node", "friend")}, declared, units=given["id"])
        graph = _graph(bounded, "node", "friend", None)
        seen.append((graph.nodes, graph.edges.tolist()))
    assert seen == [(3, [[0, 1], [0, 2]]), (2, [[0, 1]]), (2, [[0, 1]]), (2, [])]


def test_tables_that_are_no_graphs_are_refused_before_they_cost() -> None:
    edges, nodes = EdgeCount(epsilon=1), EdgeCount(epsilon=1, neighbors="node", degree_limit=5)
    with Database(lists(5), friends([(0, 1)])) as db:
        loan = db.table("friends").select("node", "friend").rows()
        for statistic, how, match in (
            (edges, ("node", "friend"), "it is no edge"),
            (nodes, ("node", "nobody"), "no column"),
        ):
            with pytest.raises(ParameterError, match=match):
                release_graph(statistic, loan, source=how[0], target=how[1])
        assert db.remaining == Pure(500)
    with Database(lists(1), friends([(0, 1)])) as db:
        loan = db.table("friends").select("node", "friend").rows()
        with pytest.raises(ParameterError, match="allow 10"):
            release_graph(Triangles(9, epsilon=1), loan, source="node", target="friend")
    with Database(lists(1, neighbors=NeighborRelation.CHANGE_ONE), friends([(0, 1)])) as db:
        loan = db.table("friends").select("node", "friend").rows()
        with pytest.raises(ParameterError, match="are for add_remove"):
            release_graph(edges, loan, source="node", target="friend")
