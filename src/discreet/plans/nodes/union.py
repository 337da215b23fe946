"""Put two relations under each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.plans.nodes.node import Node
from discreet.plans.refusals import refuse

if TYPE_CHECKING:
    from discreet.plans.expressions.expression import Facts

__all__ = ["UnionAll"]


@dataclass(frozen=True)
class UnionAll(Node):
    """All rows of the left and of the right relation; columns are matched by position and named as on the left.

    Stability. A unit has at most k1 + k2 rows: those on the left and those on the right. Both sides are of one kind of
    unit, or both are public. The same table read twice counts twice.

    Facts. The weaker of both sides: intervals grow to their hull, known values to their union. Uniqueness and spreads
    are dropped.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> UnionAll(visits, visits).rows
    40
    """

    left: Node
    right: Node

    def __post_init__(self) -> None:
        """Refuse sides that do not fit."""
        super().__post_init__()
        ours, theirs = list(self.left.schema.values()), list(self.right.schema.values())
        if len(ours) != len(theirs) or any(a.kind is not b.kind for a, b in zip(ours, theirs, strict=False)):
            refuse(
                "UNION ALL",
                why="Both sides need the same number of columns, of the same kinds.",
                instead="CAST and AS.",
            )
        if self.left.unit_kind != self.right.unit_kind:
            refuse(
                "UNION ALL",
                why="The sides protect different units, so nobody's share can be bounded.",
                instead="two questions, one for each side.",
            )

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """The merged facts."""
        pairs = zip(self.left.schema.items(), self.right.schema.values(), strict=True)
        return {name: ours.merged(theirs) for (name, ours), theirs in pairs}

    @cached_property
    def rows(self) -> int | None:
        """The sum."""
        left, right = self.left.rows, self.right.rows
        return None if left is None or right is None else left + right

    def canonical(self) -> list[object]:
        """Both sides."""
        return ["union", self.left.canonical(), self.right.canonical()]

    def describe(self) -> str:
        """Say that rows add up."""
        return "union all"
