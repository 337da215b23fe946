"""Keep the rows that have, or do not have, a partner in another relation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from discreet.plans.nodes.join import on_unit, require_joinable
from discreet.plans.nodes.node import Node, Part
from discreet.plans.refusals import refuse

__all__ = ["Keep", "SemiJoin"]


class Keep(Enum):
    """Which rows a semi-join keeps.

    >>> Keep("matched") is Keep.MATCHED
    True
    """

    MATCHED = "matched"
    """Those with at least one partner: IN, EXISTS."""
    UNMATCHED = "unmatched"
    """Those without a partner: NOT EXISTS; NOT IN after NULLs were filtered out."""


@dataclass(frozen=True)
class SemiJoin(Part):
    """The left rows for which some right row (or no right row) is equal in all `on` columns; NULL equals nothing.

    Stability. A right side that is public is the same for all neighbors. A private right side must be joined on the
    unit: then whether a row is kept depends on its own unit's rows only. Either way a unit keeps a part of its left
    rows.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> SemiJoin(visits, visits, (("id", "id"),)).rows
    20
    """

    left: Node
    right: Node
    on: tuple[tuple[str, str], ...]
    keep: Keep = Keep.MATCHED

    def __post_init__(self) -> None:
        """Refuse to compare a unit's rows with other units' rows."""
        super().__post_init__()
        require_joinable(self.left, self.right, self.on)
        if self.right.private and not (self.left.private and on_unit(self.left, self.right, self.on)):
            refuse(
                "IN or EXISTS",
                why="It compares a row with the rows of other units.",
                instead="a comparison of the unit columns, such as patient_id IN (SELECT patient_id FROM …).",
            )

    @property
    def compared(self) -> tuple[str, ...]:
        """The left side's columns that are compared."""
        return tuple(ours for ours, _ in self.on)

    def canonical(self) -> list[object]:
        """What is kept, the equalities in order, both sides."""
        pairs = sorted([ours, theirs] for ours, theirs in self.on)
        return ["semi_join", self.keep.value, pairs, self.left.canonical(), self.right.canonical()]

    def describe(self) -> str:
        """Name the equalities."""
        return f"keep rows {self.keep.value} on {', '.join(f'{a} = {b}' for a, b in self.on)}"
