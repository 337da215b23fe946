"""What the benchmarks of the local model and of graphs measure."""

from __future__ import annotations

from benchmarks.graphs import large, relative, statistics
from benchmarks.local import central_and_local, oracle_row
from discreet.methods.graphs import Graph
from discreet.methods.local import Hadamard


def test_oracles_are_measured_beside_their_theory() -> None:
    oracle = Hadamard(1024, epsilon=1)
    client, server, error = oracle_row(oracle, 2000)
    assert client >= 0
    assert server >= 0
    assert 0.8 < error / oracle.variance() < 1.2
    ((count, central, local),) = central_and_local((400,), rounds=10)
    assert count == 400
    assert central < local


def test_statistics_of_graphs_are_measured() -> None:
    graph = Graph.of([(0, 1), (1, 2), (0, 2), (2, 3)], nodes=70)
    for statistic in statistics(70).values():
        error, spent = relative(statistic, graph, 1)
        assert error >= 0
        assert spent >= 0
    assert large(edges=1000, nodes=100)[1] <= 1000
