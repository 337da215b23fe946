"""One row per unit, or per unit and group of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.plans.nodes.node import Node, Spread
from discreet.plans.refusals import refuse

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Facts
    from discreet.plans.statistics.per_unit import UnitStatistic

__all__ = ["PerUnit"]


@dataclass(frozen=True)
class PerUnit(Node):
    """The statistics of each unit's rows, grouped by the `keys` columns; units without rows have no row here.

    The columns are the keys, then the statistics. NULL is a key like another.

    Stability. A row is computed from the rows of one unit. There is one for each of a unit's groups: one if there are
    no keys, else at most as many as the unit has values of the keys.

    >>> from discreet.plans.nodes import BoundRows, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> declared = [Declared("cost", lower=0, upper=500), Declared("ward", keys=["a", "b"])]
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=declared)), 20)
    >>> from discreet.plans.statistics import UnitSum
    >>> from discreet.plans.expressions import Column
    >>> totals = PerUnit(visits, (), (("total", UnitSum(Column("cost"))),))
    >>> totals.rows, totals.schema["total"].bounds
    (1, Bounds(0, 10000))
    """

    child: Node
    keys: tuple[str, ...]
    statistics: tuple[tuple[str, UnitStatistic], ...]

    def __post_init__(self) -> None:
        """Refuse relations without units and two columns of one name; derive the facts once."""
        super().__post_init__()
        if not self.child.private:
            refuse(
                "GROUP BY", why="A public table has no units to group by.", instead="the public columns as they are."
            )
        names = [*self.keys, *(name for name, _ in self.statistics)]
        for name in names:
            if names.count(name) > 1:
                refuse(name, why="Two columns have this name.", instead="a name for each: expression AS name.")
        _ = self.schema

    @property
    def compared(self) -> tuple[str, ...]:
        """The keys."""
        return self.keys

    @property
    def expressions(self) -> list[Expression]:
        """What is aggregated."""
        return [statistic.operand for _, statistic in self.statistics if statistic.operand is not None]

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """The keys' facts, and those derived for the statistics."""
        below = self.child.schema
        in_group = self.child.rows_in_group(frozenset(self.keys))
        return {name: below[name] for name in self.keys} | {
            name: statistic.facts(below, in_group) for name, statistic in self.statistics
        }

    @cached_property
    def rows(self) -> int | None:
        """One per group of a unit; the unit's own column makes no groups."""
        return self.child.groups_of(self._inner)

    @property
    def _inner(self) -> frozenset[str]:
        """The keys that can differ within a unit."""
        return frozenset(name for name in self.keys if not self.child.schema[name].unit)

    @cached_property
    def unique(self) -> frozenset[frozenset[str]]:
        """The keys together, if one of them is the unit."""
        return frozenset({frozenset(self.keys)}) if len(self._inner) < len(self.keys) else frozenset()

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """One row for each value of the keys of a unit."""
        return (Spread(self._inner, self.rows, 1),)

    def canonical(self) -> list[object]:
        """The keys, the statistics, the child."""
        statistics = [[name, statistic.canonical()] for name, statistic in self.statistics]
        return ["per_unit", list(self.keys), statistics, self.child.canonical()]

    def describe(self) -> str:
        """Name the keys and the statistics."""
        inner = [name for name in self.keys if name in self._inner]
        keys = f" and {', '.join(inner)}" if inner else ""
        parts = ", ".join(name for name, _ in self.statistics)
        return f"for each {self.unit_kind}{keys}: {parts or 'one row'}"
