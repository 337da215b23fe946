"""How wrong and how fast statistics of graphs are: `python -m benchmarks.graphs --data FOLDER [--strict]`.

`FOLDER` holds `ca-GrQc.txt` and `facebook_combined.txt` (SNAP), a line for each edge. Relative errors are means of the
absolute error over the truth, ε = 1, and seconds processor time.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.methods.graphs import DegreeHistogram, DegreeSequence, EdgeCount, Graph, KStars, Triangles

if TYPE_CHECKING:
    from discreet.methods.graphs import GraphStatistic

NAMES = ("ca-GrQc", "facebook_combined")
ROUNDS = 20


def read(path: Path) -> Graph:
    """Read a file of edges."""
    edges = np.loadtxt(path, dtype=np.int64, comments="#")
    return Graph.of(edges, nodes=np.unique(edges).tolist())  # taken to be public here


def statistics(nodes: int) -> dict[str, GraphStatistic]:
    """Name what is compared."""
    delta: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
    return {
        "triangles, private bound (δ = 1e-6)": Triangles(nodes, **delta),
        "triangles, smooth (δ = 1e-6)": Triangles(nodes, **delta, fitting="smooth"),
        "triangles, smooth (δ = 0)": Triangles(nodes, epsilon=1),
        "triangles, global sensitivity": Triangles(nodes, epsilon=1, fitting="global"),
        "2-stars, smooth (δ = 0)": KStars(2, nodes, epsilon=1),
        "3-stars, smooth (δ = 0)": KStars(3, nodes, epsilon=1),
        "edges": EdgeCount(epsilon=1),
        "edges, nodes protected, limit 64": EdgeCount(epsilon=1, neighbors="node", degree_limit=64),
    }


def relative(statistic: GraphStatistic, graph: Graph, truth: float) -> tuple[float, float]:
    """Measure the mean relative error, and the seconds of one release."""
    begun = time.process_time()
    exact = statistic.measured(graph)
    inner = statistic.inner
    errors = [abs(float(inner.release(exact).value) - truth) / truth for _ in range(ROUNDS)]
    return float(np.mean(errors)), time.process_time() - begun


def stars(graph: Graph, k: int) -> int:
    """Count k-stars."""
    return KStars(k, graph.nodes, epsilon=1).measured(graph)[0]


def large(edges: int = 10**6, nodes: int = 10**5) -> tuple[float, int]:
    """Time the common neighbors of a graph whose degrees fall by a power law."""
    random = np.random.default_rng(1)
    graph = Graph.of((random.pareto(1.5, (2 * edges, 2)) * 3000).astype(np.int64) % nodes, nodes=nodes)
    graph = Graph(nodes, graph.edges[:edges])
    begun = time.process_time()
    graph.common_neighbors()
    return time.process_time() - begun, len(graph.edges)


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--strict", action="store_true", help="fail where a target is missed")
    wanted = options.parse_args()
    missed: list[str] = []
    for name in NAMES:
        graph = read(wanted.data / f"{name}.txt")
        truths = {"triangles": graph.triangles(), "2-stars": stars(graph, 2), "3-stars": stars(graph, 3)}
        truths["edges"] = len(graph.edges)
        print(f"{name}: {graph.nodes:,} nodes, {len(graph.edges):,} edges, {truths['triangles']:,} triangles, ε = 1")
        for label, statistic in statistics(graph.nodes).items():
            error, spent = relative(statistic, graph, truths[label.split(",")[0].split(" ")[0]])
            missed += [f"{label} of {name} in 10 s"] if spent > 10 else []
            print(f"  {label:38} relative error {error:10.5f}   {spent:6.2f} s")
        ordered = np.sort(graph.degrees)[::-1]
        sequence = DegreeSequence(graph.nodes, epsilon=1)
        noisy = np.asarray(sequence.inner.release(sequence.measured(graph)).value)
        near = sequence.finished(noisy)
        both = [float(np.sqrt(np.mean((values - ordered) ** 2))) for values in (noisy, near)]
        print(f"  {'degree sequence, rms: noisy, isotonic':38} {both[0]:9.3f} {both[1]:9.3f}")
        histogram = DegreeHistogram(64, epsilon=1, neighbors="node", degree_limit=64)
        off = np.abs(
            np.asarray(histogram.release(graph).value) - np.bincount(np.minimum(graph.degrees, 64), minlength=65)
        )
        print(f"  {'degree histogram, nodes protected':38} mean error of a bin {off.mean():9.1f}\n")
    spent, edges = large()
    missed += ["common neighbors of a million edges in 10 s"] if spent > 10 else []
    print(f"most common neighbors of {edges:,} edges, power law: {spent:.1f} s")
    print(f"\nmissed: {', '.join(missed) or 'none'}")
    sys.exit(1 if wanted.strict and missed else 0)


if __name__ == "__main__":
    main()
