"""Rows of a table without a unit of its own, which belong to units through another table: the items of an order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import counted, integer
from discreet.plans.nodes.node import Node, Spread, product

if TYPE_CHECKING:
    from discreet.plans.expressions.expression import Facts

__all__ = ["Children"]


@dataclass(frozen=True)
class Children(Node):
    """For each unit and each of its keys, the rows of the right table with that key; the unit stands beside them.

    The left side has one row for each unit and key: the keys of the unit's rows in the parent table, under its limit.
    Of the rows with one key the first `limit` are taken, in the order of all of their cells, NULL last. Rows without a
    key, and those whose key no unit has, are nobody's and left out. A row whose key several units have is one row of
    each of them.

    Stability. Which rows are taken for a key depends on the rows with that key alone, not on who has the key. Without a
    unit the left side lacks its rows and no others, so the relation lacks the pairs of this unit and no others: at most
    `limit` for each of its keys, of which it has no more than rows in the parent table. That holds whether the rows
    that nobody else reaches are thought of as leaving with the unit or not: they are in no other pair.

    >>> from discreet.plans.nodes import BoundRows, PerUnit, Scan
    >>> from discreet.tables import Column, Table
    >>> key = [Column("order_id", type="integer")]
    >>> orders = BoundRows(Scan(Table("orders", unit="id", columns=key)), 20)
    >>> items = Table("items", references="orders.order_id", rows_per_parent=5, columns=key)
    >>> Children(PerUnit(orders, ("id", "order_id"), ()), Scan(items), "order_id", "order_id", 5).rows
    100
    """

    left: Node
    right: Node
    parent_key: str
    """The key in the left relation."""
    reference: str
    """The column of the right one that refers to it."""
    limit: int

    def __post_init__(self) -> None:
        """Refuse sides that do not fit."""
        super().__post_init__()
        integer(self.limit, name="rows_per_parent", least=1)
        if not self.left.private or self._unit in self.right.schema:
            msg = f"children need a parent with units, and no column called {self._unit} of their own."
            raise ParameterError(msg)

    @property
    def _unit(self) -> str:
        """The column of the left side that holds the unit."""
        return next(name for name, facts in self.left.schema.items() if facts.unit)

    @property
    def compared(self) -> tuple[str, ...]:
        """The key and the unit."""
        return tuple(self.left.schema)

    @cached_property
    def unit_kind(self) -> str | None:
        """That of the parent."""
        return self.left.unit_kind

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """The children's columns, and the unit."""
        return {**self.right.schema, self._unit: self.left.schema[self._unit]}

    @cached_property
    def rows(self) -> int | None:
        """The limit for each key of a unit."""
        return product(self.left.rows, self.limit)

    @property
    def stored(self) -> int:
        """What the unit has in the parent table, each with as many children."""
        return self.left.stored * self.limit

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """As many keys as the unit has, and so many rows for each."""
        return (Spread(frozenset({self.reference}), self.left.rows, self.limit),)

    def canonical(self) -> list[object]:
        """The columns, the limit, both sides."""
        return ["children", self.parent_key, self.reference, self.limit, self.left.canonical(), self.right.canonical()]

    def describe(self) -> str:
        """Say what belongs to whom."""
        return f"rows of each {self.unit_kind} by {self.reference}, at most {counted(self.limit, 'row')} for each"
