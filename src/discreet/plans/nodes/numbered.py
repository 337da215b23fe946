"""Number the rows of each unit: its first order, its last three."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from discreet.errors import ParameterError
from discreet.plans.expressions.expression import Facts
from discreet.plans.nodes.node import Node, Spread, least
from discreet.plans.refusals import refuse
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import INT64, Kind

__all__ = ["Numbered"]


@dataclass(frozen=True)
class Numbered(Node):
    """The rows of the child, each with its number among the rows of its unit that agree on the `keys` columns.

    Numbers count from 1, by the `order` columns, each rising or falling, NULL last. Rows that are equal there are put
    in order by all of their cells, so that nothing but the unit's own rows decides; rows that are equal in every cell
    have some of their numbers, and it does not matter which.

    Stability. The number of a row depends on the rows of its unit alone, so a unit has as many rows as before, and no
    other unit's rows change. For each value of the keys and each number a unit has one row: a condition that leaves few
    numbers leaves few rows (`Filter.rows`).

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> first = Numbered(visits, "n", (), (("cost", True),))
    >>> first.rows, first.schema["n"].bounds
    (20, Bounds(1, 20))
    """

    child: Node
    name: str
    keys: tuple[str, ...]
    order: tuple[tuple[str, bool], ...]
    """Columns, each with whether it falls."""

    def __post_init__(self) -> None:
        """Refuse relations without units, unknown columns and a name that is taken."""
        super().__post_init__()
        known = self.child.schema
        if not self.child.private:
            refuse("ROW_NUMBER", why="A public table has no units whose rows it could number.", instead="the table.")
        if self.name in known or not set(self.compared) <= known.keys():
            msg = f"rows are numbered over columns of their relation, as a new one; {self.name} was given."
            raise ParameterError(msg)

    @property
    def compared(self) -> tuple[str, ...]:
        """The keys and what rows are put in order by: in the end all cells."""
        return tuple(self.child.schema)

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """The child's, and the number: from 1 to the rows of a unit."""
        last = self.rows_of_key
        bounds = Bounds(1, int(INT64.upper or 0) if last is None else last)
        return {**self.child.schema, self.name: Facts(Kind.INTEGER, bounds, nullable=False)}

    @property
    def rows_of_key(self) -> int | None:
        """The most rows of a unit that agree on the keys."""
        return self.child.rows_in_group(self._inner)

    @property
    def _inner(self) -> frozenset[str]:
        """The keys that can differ within a unit."""
        return frozenset(name for name in self.keys if not self.child.schema[name].unit)

    @cached_property
    def rows(self) -> int | None:
        """One for each."""
        return self.child.rows

    @cached_property
    def unique(self) -> frozenset[frozenset[str]]:
        """Rows that did not repeat do not now."""
        return self.child.unique

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """One row for each value of the keys and each number, of which there are as many as rows."""
        return (*self.child.spreads, Spread(self._inner | {self.name}, least(self.rows), 1))

    def canonical(self) -> list[object]:
        """The name, the keys in order, the order, the child."""
        order = [[name, falling] for name, falling in self.order]
        return ["numbered", self.name, sorted(self.keys), order, self.child.canonical()]

    def describe(self) -> str:
        """Name what decides."""
        by = ", ".join(f"{name}{' falling' if falling else ''}" for name, falling in self.order)
        within = f" and {', '.join(sorted(self._inner))}" if self._inner else ""
        return f"number the rows of each {self.unit_kind}{within} by {by or 'their cells'}"
