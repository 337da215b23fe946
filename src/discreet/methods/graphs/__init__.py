"""Statistics of graphs: edges or whole nodes protected.

>>> from discreet.methods.graphs import EdgeCount, Graph
>>> EdgeCount(epsilon=90).release(Graph.of([("ann", "bob"), ("bob", "eve")])).value
2
"""

from __future__ import annotations

from discreet.methods.graphs.degrees import DegreeHistogram, DegreeSequence, EdgeCount
from discreet.methods.graphs.graph import Graph
from discreet.methods.graphs.projection import projected_degrees
from discreet.methods.graphs.statistic import EDGES, NODES, GraphStatistic
from discreet.methods.graphs.subgraphs import Fitting, KStars, Triangles
from discreet.methods.graphs.tables import release_graph

__all__ = [
    "EDGES",
    "NODES",
    "DegreeHistogram",
    "DegreeSequence",
    "EdgeCount",
    "Fitting",
    "Graph",
    "GraphStatistic",
    "KStars",
    "Triangles",
    "projected_degrees",
    "release_graph",
]
