"""Graphs in a database: rows are edges, or a node's own rows name its neighbors."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.errors import ParameterError
from discreet.ledgers import charge
from discreet.ledgers.pricing import price
from discreet.methods.graphs.graph import Graph
from discreet.methods.graphs.statistic import EDGES, GraphStatistic
from discreet.privacy import NeighborRelation
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.engines.loan import Loan
    from discreet.ledgers import Reservation
    from discreet.mechanisms.promise import Promise
    from discreet.mechanisms.release import Release

__all__ = ["release_graph"]


def release_graph(statistic: GraphStatistic, loan: Loan, *, source: str, target: str) -> Release[Any]:
    """Release a statistic of a graph whose edges are rows of a database, paid by its ledger.

    `source` and `target` are columns of whole numbers with bounds, or of known keys: the nodes. What the policy
    protects is what `neighbors` of the statistic names:

    - *edges*: each unit has one row, an edge (`row_is_unit`, or `rows_per_unit=1`). The nodes are those within the
      bounds, and public.
    - *nodes*: a unit's rows are its list of neighbors: `source` is its own name (the least one, if it gives several),
      `target` that of a neighbor. Two units share an edge if *each* lists the other's name: an edge has two owners, and
      goes with either. The nodes are the units that have rows.

    Asked again, the same release is shown for nothing.

    >>> import pyarrow as pa
    >>> from discreet.database import Database
    >>> from discreet.methods.graphs import EdgeCount
    >>> from discreet.tables import Column, Policy, Table
    >>> ends = [Column("a", lower=0, upper=9, type="integer"), Column("b", lower=0, upper=9, type="integer")]
    >>> calls = Table("calls", row_is_unit=True, columns=ends)
    >>> data = {"calls": pa.table({"a": [0, 1, 2, 2], "b": [1, 2, 3, 1]})}
    >>> with Database(Policy([calls], epsilon=99), data) as db:
    ...     loan = db.table("calls").select("a", "b").rows()
    ...     release_graph(EdgeCount(epsilon=90), loan, source="a", target="b").value, db.remaining
    (3, Pure(epsilon=9))
    """
    nodes = _nodes(loan, source, target)
    of_edges = statistic.neighbors == EDGES
    if loan.neighbors is not NeighborRelation.ADD_REMOVE:
        msg = f"the policy's neighbors are {loan.neighbors.value}; statistics of graphs are for add_remove."
        raise ParameterError(msg)
    if of_edges and loan.rows_per_unit != 1:
        msg = (
            f"a {loan.unit_kind} has up to {loan.rows_per_unit} rows, so it is no edge: protect it as a node, or bound "
            "its rows to 1 (Bounding(rows=1))."
        )
        raise ParameterError(msg)
    if getattr(statistic, "nodes", nodes) != nodes:
        msg = f"the columns allow {nodes} nodes; make the statistic for nodes={nodes}."
        raise ParameterError(msg)
    promised = SimpleNamespace(  # the policy's unit is the edge, or the node
        privacy=replace(statistic.privacy, neighbors=loan.neighbors),
        claim=replace(statistic.claim, neighbors=loan.neighbors),
    )
    cost = price(loan.ledger, cast("Promise[Any]", promised))
    name = f"{json.dumps(statistic.record(), sort_keys=True)} from {source} to {target}"

    def run(paid: Reservation) -> Release[Any]:
        rows = loan.read(paid)
        return statistic.release(_graph(rows, source, target, nodes if of_edges else None))

    if not loan.alive():
        msg = "the source does not answer; nothing was spent. Open it again."
        raise ParameterError(msg)
    return charge(loan.ledger, cost, loan.entry(name), run)


def _nodes(loan: Loan, source: str, target: str) -> int:
    """How many nodes the two columns allow: the same for both."""
    sizes = []
    for name in (source, target):
        if name not in loan.schema:
            msg = f"the rows have no column {name!r}; select it: {', '.join(loan.schema)} are there."
            raise ParameterError(msg)
        keys, facts = loan.keys(name), loan.schema[name]
        if keys is not None:
            sizes.append((keys, 0, len(keys)))
        elif facts.kind is Kind.INTEGER:
            low, high = int(facts.bounds.lower or 0), int(facts.bounds.upper or 0)
            sizes.append(((), low, high - low + 1))
        else:
            msg = f"{name} holds {facts.kind.value}s; nodes are whole numbers with bounds, or known keys."
            raise ParameterError(msg)
    if sizes[0] != sizes[1]:
        msg = f"{source} and {target} have other bounds or keys; both name the same nodes."
        raise ParameterError(msg)
    return sizes[0][2]


def _graph(rows: BoundedRows, source: str, target: str, nodes: int | None) -> Graph:
    """Make a graph whose edges are the rows; or whose nodes are units, with an edge where two list each other.

    Whether two units share an edge depends on their own rows alone, so a unit that leaves takes its edges with it and
    no other; and the numbers of the others keep their order, as the projection needs it.
    """
    own, other = (_codes(rows, name) for name in (source, target))
    if nodes is not None:
        return Graph.of(np.stack([own, other], axis=1), nodes=nodes)
    units = np.asarray(rows.units, dtype=np.int64)
    if not units.size:
        return Graph(0, np.empty((0, 2), dtype=np.int64))
    wide = int(max(own.max(), other.max())) + 2
    names = np.full(int(units.max()) + 1, wide)
    np.minimum.at(names, units, np.where(own < 0, wide, own))
    kept = np.flatnonzero((own == names[units]) & (other >= 0))
    kept = kept[np.argsort(own[kept] * wide + other[kept], kind="stable")]
    listed = own[kept] * wide + other[kept]
    wanted = other[kept] * wide + own[kept]
    first, last = (np.searchsorted(listed, wanted, side=side) for side in ("left", "right"))
    each = last - first
    places = np.repeat(first - np.concatenate([[0], np.cumsum(each)[:-1]]), each) + np.arange(each.sum())
    pairs = np.stack([np.repeat(units[kept], each), units[kept][places]], axis=1)
    return Graph.of(pairs, nodes=np.unique(units).tolist())


def _codes(rows: BoundedRows, name: str) -> NDArray[np.int64]:
    """Number the nodes of a column from 0 on; -1 where there is none."""
    codes, keys = np.asarray(rows.columns[name], dtype=np.int64), rows.keys(name)
    if keys is not None:
        return np.where(codes < len(keys), codes, -1)
    return np.where(rows.missing[name], -1, codes - int(rows.schema[name].bounds.lower or 0))
