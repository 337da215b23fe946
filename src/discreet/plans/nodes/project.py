"""Compute columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.plans.expressions import Column, Expression
from discreet.plans.nodes.node import Node, Spread
from discreet.plans.refusals import refuse

if TYPE_CHECKING:
    from discreet.plans.facts import Facts

__all__ = ["Project"]


@dataclass(frozen=True)
class Project(Node):
    """One row for each row of the child, with these columns and no others; the unit travels along.

    Stability. Each row is computed from one row, so a unit has as many rows as before.

    Facts. Every column's facts are derived from its expression: a column that is redefined under an old name keeps
    nothing of the old one. Uniqueness and spreads survive for columns that are passed on as they are.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> from discreet.plans.expressions import Negate
    >>> Project(visits, (("cost", Negate((Column("cost"),))),)).schema["cost"].bounds
    Bounds(-500, 0)
    """

    child: Node
    columns: tuple[tuple[str, Expression], ...]

    def __post_init__(self) -> None:
        """Refuse two columns of one name; derive the facts once, so that wrong kinds are refused here."""
        super().__post_init__()
        names = [name for name, _ in self.columns]
        for name in names:
            if names.count(name) > 1:
                refuse(name, why="Two columns have this name.", instead="a name for each: expression AS name.")
        _ = self.schema

    @property
    def children(self) -> tuple[Node, ...]:
        """The relation that is computed from."""
        return (self.child,)

    @property
    def expressions(self) -> list[Expression]:
        """The columns."""
        return [expression for _, expression in self.columns]

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """Facts derived from the expressions."""
        return {name: expression.facts(self.child.schema) for name, expression in self.columns}

    @cached_property
    def unit_kind(self) -> str | None:
        """The child's."""
        return self.child.unit_kind

    @cached_property
    def rows(self) -> int | None:
        """One row for each."""
        return self.child.rows

    @cached_property
    def unique(self) -> frozenset[frozenset[str]]:
        """The sets of which every column is passed on."""
        return frozenset(kept for columns in self.child.unique if (kept := self._passed(columns)) is not None)

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """The spreads of which every column is passed on."""
        return tuple(
            Spread(kept, spread.groups, spread.rows)
            for spread in self.child.spreads
            if (kept := self._passed(spread.columns)) is not None
        )

    def _passed(self, columns: frozenset[str]) -> frozenset[str] | None:
        """Give the new names of columns, or None if one of them is gone."""
        new = {expression.name: name for name, expression in self.columns if isinstance(expression, Column)}
        return frozenset(new[name] for name in columns) if columns <= new.keys() else None

    def canonical(self) -> list[object]:
        """The columns and the child."""
        return ["project", [[name, each.canonical()] for name, each in self.columns], self.child.canonical()]

    def describe(self) -> str:
        """Name the columns."""
        return f"compute {', '.join(name for name, _ in self.columns) or 'no columns'}"
