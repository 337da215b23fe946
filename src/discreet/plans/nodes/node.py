"""What every node of a plan states: its columns, whose data it holds, and how much of it one unit can move."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.plans.limits import require_small

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet.plans.expressions import Expression
    from discreet.plans.facts import Facts

__all__ = ["Node", "Spread", "least"]


@dataclass(frozen=True, slots=True)
class Spread:
    """For some columns: how many different values one unit has there, and how many rows for each of them.

    None is "not bounded". The two hold together with the unit's number of rows.

    >>> Spread(frozenset({"ward"}), groups=2, rows=5).groups
    2
    """

    columns: frozenset[str]
    groups: int | None
    rows: int | None


class Node(ABC):
    """A relation: a bag of rows, each belonging to one unit, or a public bag of rows that belong to nobody.

    Stability, the claim that everything else rests on: the rows of a unit in a relation are a function of that unit's
    rows in the tables alone. So removing a unit from all tables removes from the relation exactly the unit's rows, of
    which there are at most `rows`, and changes no other row. Each node says why it keeps this.

    The unit travels along unseen: an engine carries it as a hidden column next to those of `schema`.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Table
    >>> visits = BoundRows(Scan(Table("visits", unit="id")), 20)
    >>> visits.private, visits.rows, [type(node).__name__ for node in visits.walk()]
    (True, 20, ['BoundRows', 'Scan'])
    """

    def __post_init__(self) -> None:
        """Refuse what is too large, before anything is derived: what is shared counts as often as it is used."""
        require_small(self.parts, self.depth)

    @cached_property
    def parts(self) -> int:
        """How many parts the relation has, written out as a tree: nodes, and what their expressions are made of."""
        own = 1 + sum(expression.parts for expression in self.expressions)
        return own + sum(child.parts for child in self.children)

    @cached_property
    def depth(self) -> int:
        """How many nodes stand upon each other."""
        return 1 + max((child.depth for child in self.children), default=0)

    @property
    def expressions(self) -> Sequence[Expression]:
        """What the node itself computes of each row."""
        return ()

    @property
    @abstractmethod
    def children(self) -> tuple[Node, ...]:
        """The relations that this one is computed from."""

    @property
    @abstractmethod
    def schema(self) -> dict[str, Facts]:
        """The visible columns in their order, each with its facts."""

    @property
    @abstractmethod
    def unit_kind(self) -> str | None:
        """Who the unit is, or None for a public relation."""

    @property
    @abstractmethod
    def rows(self) -> int | None:
        """The most rows that one unit can have, or None."""

    @cached_property
    def unique(self) -> frozenset[frozenset[str]]:
        """Sets of columns that never repeat, in the whole relation."""
        return frozenset()

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """What is known about a unit's rows over groups of columns."""
        return ()

    @abstractmethod
    def canonical(self) -> list[object]:
        """Return the node as plain lists and texts, the same for equal nodes."""

    @abstractmethod
    def describe(self) -> str:
        """Say in one line what the node does, in public words."""

    @property
    def private(self) -> bool:
        """Whether the relation holds units' rows."""
        return self.unit_kind is not None

    def groups_of(self, columns: frozenset[str]) -> int | None:
        """Bound how many different values of some columns one unit has.

        At most one per row; at most the number of groups over more columns (each value of the fewer columns
        belongs to at least one value of the more).
        """
        known = [spread.groups for spread in self.spreads if spread.columns >= columns]
        return least(1 if not columns else None, self.rows, *known)

    def rows_in_group(self, columns: frozenset[str]) -> int | None:
        """Bound how many rows one unit has for one value of some columns.

        Rows that agree on the columns agree on fewer columns too, so a bound for fewer columns holds.
        """
        known = [spread.rows for spread in self.spreads if spread.columns <= columns]
        return least(self.rows, *known)

    def walk(self) -> Iterator[Node]:
        """Give this node and everything below it."""
        left: list[Node] = [self]
        while left:
            node = left.pop()
            yield node
            left += node.children[::-1]

    @cached_property
    def key(self) -> str:
        """A digest of the canonical form."""
        text = json.dumps(self.canonical(), ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def least(*numbers: int | None) -> int | None:
    """The smallest of the numbers that are known; None if none is."""
    known = [number for number in numbers if number is not None]
    return min(known, default=None)


def product(*numbers: int | None) -> int | None:
    """The product, or None if a factor is not known."""
    known = [number for number in numbers if number is not None]
    return math.prod(known) if len(known) == len(numbers) else None
