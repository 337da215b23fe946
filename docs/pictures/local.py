"""How far off a count is with a curator and without one, and how far off triangles are by each method."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms import DiscreteLaplace
from discreet.methods.graphs import Graph, Triangles
from discreet.methods.local import Direct
from discreet.noise.sealed import SealedBits
from docs.pictures.streams import BLUE, GRAY, ORANGE, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROUNDS = 60


def rings(groups: int = 40, size: int = 12) -> Graph:
    """Groups of friends that all know each other, one next to the other: the graph of the tutorial."""
    edges = [(g * size + a, g * size + b) for g in range(groups) for a in range(size) for b in range(a)]
    edges += [(g * size, (g + 1) % groups * size) for g in range(groups)]
    return Graph.of(edges, nodes=groups * size)


def counts(axes: Axes) -> None:
    """Measure a count of half of n, sixty times for each n, with fixed bits."""
    bits, sizes = SealedBits(bytes(32), 1), [100, 300, 1000, 3000, 10_000, 30_000]
    central: list[float] = []
    local: list[float] = []
    noise, coin = DiscreteLaplace(1, epsilon=1), Direct(2, epsilon=1)
    for size in sizes:
        truth, items = size // 2, np.arange(size) % 2
        by_curator = [int(noise.release(truth, bits=bits).value) - truth for _ in range(ROUNDS)]
        by_clients = [float(coin.estimate(coin.report(items, bits=bits)).counts[1]) - truth for _ in range(ROUNDS)]
        for errors, rows in ((by_curator, central), (by_clients, local)):
            rows.append(round(math.sqrt(sum(error**2 for error in errors) / ROUNDS), 3))
    axes.loglog(sizes, local, "o-", color=ORANGE, linewidth=1.2, label="every client randomizes, measured")
    theory = [round(math.sqrt(size * coin.variance(0.5)), 3) for size in sizes]
    axes.loglog(sizes, theory, color=GRAY, linewidth=0.8, label="√n · 0.96, the theory")
    axes.loglog(sizes, central, "o-", color=BLUE, linewidth=1.2, label="a curator adds noise, measured")
    axes.set_xlabel("number of people; root mean square error of a count, ε = 1")
    axes.legend(frameon=False, fontsize=7)


def triangles(axes: Axes) -> None:
    """Measure the relative error of three ways for several prices, with fixed bits."""
    bits, graph = SealedBits(bytes(32), 2), rings()
    truth, prices = graph.triangles(), [0.25, 0.5, 1.0, 2.0, 4.0]
    ways = {
        "noise for the worst graph": (GRAY, {"fitting": "global"}),
        "private bound on the local sensitivity, δ = 1e-6": (ORANGE, {"delta": "1e-6"}),
        "smooth sensitivity, δ = 0": (BLUE, {}),
    }
    for label, (color, how) in ways.items():
        errors = []
        for price in prices:
            made = Triangles(graph.nodes, epsilon=price, **how)
            exact = made.measured(graph)
            off = [abs(float(made.inner.release(exact, bits=bits).value) - truth) for _ in range(ROUNDS)]
            errors.append(round(sum(off) / ROUNDS / truth, 6))
        axes.loglog(prices, errors, "o-", color=color, linewidth=1.2, label=label)
    axes.set_xlabel("ε; mean error over the number of triangles, measured")
    axes.legend(frameon=False, fontsize=7)


def pictures() -> dict[str, str]:
    """Draw all; the settings make the same bytes on every machine."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    drawn = {}
    with mpl.rc_context({"svg.hashsalt": "discreet", "svg.fonttype": "none", "font.family": "DejaVu Sans"}):
        for name, draw in (("local-central.svg", counts), ("triangles.svg", triangles)):
            figure = Figure(figsize=(7.6, 3.2))
            draw(figure.add_axes((0.09, 0.16, 0.88, 0.78)))
            drawn[name] = written(figure)
    return drawn
