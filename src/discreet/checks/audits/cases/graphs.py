"""Graphs: an edge, or a node with its edges, where it moves a statistic furthest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks.audits.case import Case
from discreet.checks.audits.cases.local_sensitivity_bound import law_of_bound
from discreet.checks.audits.laws import cells_law, laplace_law, polyplace_above
from discreet.mechanisms.release import Release
from discreet.methods.graphs import DegreeHistogram, DegreeSequence, EdgeCount, Graph, KStars, Triangles

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.methods.graphs import GraphStatistic
    from discreet.noise import BitSource

__all__ = ["cases"]

_FAR = 40


def _looking_at(seen: Callable[[Any], object]) -> Any:  # noqa: ANN401  how a case draws
    """Measure once, release often, and look at this of each release."""

    def draw(statistic: GraphStatistic, graph: Graph, count: int, bits: BitSource) -> NDArray[Any]:
        exact, inner = statistic.measured(graph), statistic.inner
        noisy = [inner.release(exact, bits=bits) for _ in range(count)]
        return np.array([seen(Release(statistic.finished(one.value), statistic, one.details)) for one in noisy])

    return draw


def _cells(edges: list[float]) -> Any:  # noqa: ANN401  how a case draws
    return _looking_at(lambda release: np.searchsorted(np.array(edges), release.value, side="right"))


def _graph(*edges: tuple[int, int], nodes: int) -> Graph:
    return Graph.of(np.array(edges, dtype=np.int64).reshape(-1, 2), nodes=nodes)


def _counted(count: Callable[[Graph], int], moved: int) -> Callable[[GraphStatistic, Graph], dict[int, float]]:
    """A count with Laplace noise for how far it moves."""

    def law(statistic: Any, graph: Graph) -> dict[int, float]:  # noqa: ANN401
        return laplace_law(moved / float(statistic.epsilon), count(graph), -_FAR, _FAR)

    return law


def _ordered(statistic: DegreeSequence, graph: Graph) -> dict[str, float]:
    """Two nodes: where the second is above the first both are their mean; then within 0 and 1."""
    one = laplace_law(2 / float(statistic.epsilon), len(graph.edges), -_FAR, _FAR)
    law: dict[str, float] = {}
    for a, chance in one.items():
        for b, other in one.items():
            pair = (a, b) if a >= b else ((a + b) / 2, (a + b) / 2)
            name = str([float(min(max(x, 0), 1)) for x in pair])
            law[name] = law.get(name, 0.0) + chance * other
    return law


def _fitted(count: int, local: int, nodes: int, statistic: Any, edges: list[float]) -> dict[int, float]:  # noqa: ANN401
    """A count with noise for the largest exp(-t k) (local + k), as far as n - 2."""
    noise, t = statistic.inner.noise, float(statistic.inner.smoothing)
    bound = max(math.exp(-t * k) * min(local + k, nodes - 2) for k in range(400))
    return cells_law(polyplace_above(float(noise.shape)), count, float(noise.stretch) * bound, edges)


_TRIANGLE = {0: (0, 1), 1: (1, 1)}  # of three nodes, with and without one edge: the count, and common neighbors


def _closed(graph: Graph) -> int:
    return int(len(graph.edges) == 3)


def _stars(statistic: KStars, graph: Graph) -> dict[int, float]:
    """2-stars on three nodes: one for a path, three for a triangle; a bound of d1 + d2 + 2 k, each at most 1."""
    count = {2: 1, 3: 3}[len(graph.edges)]
    noise = statistic.inner.noise
    return cells_law(polyplace_above(float(noise.shape)), count, float(noise.stretch) * 2, _EDGES)


_EDGES = [0.5, 1.5, 2.5]


def _last(release: Any) -> int:  # noqa: ANN401
    """What the hub's arrival moves: how many nodes have the largest degree, less those that have none."""
    return int(np.clip(release.value[-1] - release.value[0], -_FAR, _FAR))


def _moved_bins(statistic: DegreeHistogram, graph: Graph) -> dict[int, float]:
    """The difference of two bins, each with noise for all that moves: 4, or 2 D + 1."""
    moved = 4 if statistic.degree_limit is None else 2 * statistic.degree_limit + 1
    one = laplace_law(moved / float(statistic.epsilon), 0, -4 * _FAR, 4 * _FAR)
    counts = np.bincount(np.minimum(graph.degrees, statistic.last), minlength=statistic.last + 1)
    law: dict[int, float] = {}
    for a, chance in one.items():
        for b, other in one.items():
            seen = min(max(int(counts[-1] - counts[0]) + a - b, -_FAR), _FAR)
            law[seen] = law.get(seen, 0.0) + chance * other
    return law


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    path, triangle = _graph((0, 1), (1, 2), nodes=3), _graph((0, 1), (1, 2), (0, 2), nodes=3)
    apart, joined = _graph(nodes=2), _graph((0, 1), nodes=2)
    matched, hub = _graph(nodes=3), _graph((0, 3), (1, 3), (2, 3), nodes=4)
    clipped = _looking_at(lambda release: min(max(int(release.value), -_FAR), _FAR))
    listed = _looking_at(lambda release: str(release.value.tolist()))
    last = _looking_at(_last)
    everything = _looking_at(lambda release: f"{release.value} {dict(release.details)}")
    edges, nodes = EdgeCount(epsilon=2), EdgeCount(epsilon=2, neighbors="node", degree_limit=3)
    bins = DegreeHistogram(1, epsilon=4), DegreeHistogram(1, epsilon=4, neighbors="node", degree_limit=1)
    worst, bounded = Triangles(3, epsilon=2, fitting="global"), Triangles(3, epsilon=6, delta="0.05")
    smooth = Triangles(3, epsilon=2)

    def of_smooth(statistic: Triangles, graph: Graph) -> dict[int, float]:
        return _fitted(*_TRIANGLE[_closed(graph)], 3, statistic, [0.5])

    def of_bound(statistic: Triangles, graph: Graph) -> dict[str, float]:
        return law_of_bound(statistic.inner, _TRIANGLE[_closed(graph)])  # type: ignore[arg-type]

    size = _counted(lambda graph: len(graph.edges), 1)
    return (
        Case("an edge more", edges, apart, joined, clipped, law=size),
        Case("a hub more", nodes, matched, hub, clipped, law=_counted(lambda graph: len(graph.edges), 3)),
        Case("an edge more", bins[0], apart, joined, last, law=_moved_bins, coarse=True),
        Case("a node more", bins[1], _graph(nodes=1), joined, last, law=_moved_bins, coarse=True, draws=2_000),
        Case("an edge more", DegreeSequence(2, epsilon=2), apart, joined, listed, law=_ordered),
        Case("an edge more, at worst", worst, path, triangle, clipped, law=_counted(_closed, 1)),
        Case("an edge more, bounded", bounded, path, triangle, everything, "0.05", law=of_bound),
        Case("an edge more, smooth", smooth, path, triangle, _cells([0.5]), law=of_smooth, coarse=True, draws=2_000),
        Case("an edge more", KStars(2, 3, epsilon=2), path, triangle, _cells(_EDGES), law=_stars, coarse=True),
    )
