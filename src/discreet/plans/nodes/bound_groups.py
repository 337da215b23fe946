"""Keep at most so many groups of each unit, and so many rows in each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import counted, integer
from discreet.plans.nodes.node import Node, Spread, least, product

if TYPE_CHECKING:
    from discreet.plans.facts import Facts

__all__ = ["BoundGroups"]


@dataclass(frozen=True)
class BoundGroups(Node):
    """Of each unit, the rows in its `groups` groups of least rank, and of each of those the `limit` rows of least rank.

    A group is a value of the `keys` columns together; NULL is a value like another. The rank of a group is a keyed
    hash of the unit and the key's cells, that of a row as in `BoundRows`. `limit=None` keeps all rows of a kept group.

    Stability. What is kept of a unit depends on the unit's rows and the key of the hash. A unit has at most `groups`
    groups, `limit` rows in each, and groups * limit rows.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> BoundGroups(visits, ("ward",), groups=1, limit=5).rows
    5
    """

    child: Node
    keys: tuple[str, ...]
    groups: int
    limit: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits that keep nothing, unknown keys, and relations without units."""
        super().__post_init__()
        integer(self.groups, name="groups", least=1)
        if self.limit is not None:
            integer(self.limit, name="limit", least=1)
        if not self.child.private or not self.keys or not set(self.keys) <= self.child.schema.keys():
            msg = f"groups are bounded over columns of a private relation; {', '.join(self.keys) or 'none'} was given."
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
        """Groups times rows in each, or the child's."""
        in_each = least(self.limit, self.child.rows_in_group(frozenset(self.keys)))
        return least(self.child.rows, product(self.groups, in_each))

    @cached_property
    def unique(self) -> frozenset[frozenset[str]]:
        """Fewer rows repeat no more."""
        return self.child.unique

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """The new bound, and those of the child."""
        return (Spread(frozenset(self.keys), self.groups, self.limit), *self.child.spreads)

    def canonical(self) -> list[object]:
        """The keys in order, the limits, the child."""
        return ["bound_groups", sorted(self.keys), self.groups, self.limit, self.child.canonical()]

    def describe(self) -> str:
        """Say how much is kept."""
        rows = "" if self.limit is None else f" with at most {counted(self.limit, 'row')} each"
        return f"keep at most {counted(self.groups, 'group')} of {', '.join(self.keys)} of each {self.unit_kind}{rows}"
