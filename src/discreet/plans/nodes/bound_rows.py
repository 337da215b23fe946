"""Keep at most so many rows of each unit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import counted, integer
from discreet.plans.nodes.node import Node, Spread, least

if TYPE_CHECKING:
    from discreet.plans.facts import Facts

__all__ = ["BoundRows"]


@dataclass(frozen=True)
class BoundRows(Node):
    """Of each unit, the `limit` rows of least rank; a unit with fewer keeps all.

    The rank of a row is a keyed hash of its unit and of all its cells; the key is secret and fixed for a version
    of the data. Rows that are equal in every cell have the same rank, and it does not matter which of them is kept.

    Stability. Which rows of a unit are kept depends on the unit's rows and the key, never on another unit. So a unit
    has at most `limit` rows, and no other unit's rows change.

    >>> from discreet.plans.nodes import Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> visits.limit, visits.rows
    (20, 20)
    """

    child: Node
    limit: int

    def __post_init__(self) -> None:
        """Refuse limits that keep nothing, and relations without units."""
        super().__post_init__()
        integer(self.limit, name="limit", least=1)
        if not self.child.private:
            msg = "a public relation has no units whose rows could be bounded."
            raise ParameterError(msg)

    @property
    def children(self) -> tuple[Node, ...]:
        """The relation that is bounded."""
        return (self.child,)

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """The child's."""
        return self.child.schema

    @cached_property
    def unit_kind(self) -> str | None:
        """The child's."""
        return self.child.unit_kind

    @cached_property
    def rows(self) -> int | None:
        """The limit, or fewer."""
        return least(self.limit, self.child.rows)

    @cached_property
    def unique(self) -> frozenset[frozenset[str]]:
        """Fewer rows repeat no more."""
        return self.child.unique

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """Fewer rows spread no further."""
        return self.child.spreads

    def canonical(self) -> list[object]:
        """The limit and the child."""
        return ["bound_rows", self.limit, self.child.canonical()]

    def describe(self) -> str:
        """Say how many are kept."""
        return f"keep at most {counted(self.limit, 'row')} of each {self.unit_kind}"
