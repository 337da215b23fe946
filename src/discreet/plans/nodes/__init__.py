"""The nodes of a plan, one file each: what it means, what an engine must compute, why one unit's share is bounded.

>>> from discreet.plans.nodes import BoundRows, Scan
>>> from discreet.tables import Column, Table
>>> visits = Scan(Table("visits", unit="patient_id", columns=[Column("age", lower=0, upper=120)]))
>>> visits.rows, BoundRows(visits, 20).rows
(None, 20)
"""

from __future__ import annotations

from discreet.plans.nodes.aggregate import Aggregate, BoundGroups, BoundRows, GroupKey, Sensitivity
from discreet.plans.nodes.filter import Filter
from discreet.plans.nodes.join import Join, JoinKind
from discreet.plans.nodes.node import Node, Project, Scan, Spread
from discreet.plans.nodes.numbered import Numbered
from discreet.plans.nodes.per_unit import PerUnit
from discreet.plans.nodes.semi_join import Keep, SemiJoin
from discreet.plans.nodes.union import UnionAll

__all__ = [
    "Aggregate",
    "BoundGroups",
    "BoundRows",
    "Filter",
    "GroupKey",
    "Join",
    "JoinKind",
    "Keep",
    "Node",
    "Numbered",
    "PerUnit",
    "Project",
    "Scan",
    "SemiJoin",
    "Sensitivity",
    "Spread",
    "UnionAll",
]
