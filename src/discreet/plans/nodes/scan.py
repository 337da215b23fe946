"""Read a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.plans.facts import Facts
from discreet.plans.nodes.node import Node, Spread
from discreet.tables.kinds import LONGEST_TEXT

if TYPE_CHECKING:
    from discreet.tables import Column, Table

__all__ = ["Scan"]


@dataclass(frozen=True)
class Scan(Node):
    """The declared columns of one table, each cell brought into its declared kind and bounds.

    An engine must, cell by cell: read the declared kind or NULL; settle floats (NaN to NULL, magnitudes beyond 2**500
    to it, below 2**-500 to 0); clamp into the bounds; cut texts to `max_length` code points, but for a unit, which is
    NULL if it is longer; turn values outside `keys` into `other` where that is declared. Then drop rows with NULL in a
    column that is not nullable, and rows whose unit is NULL.

    A public table's unique sets are checked when the table is opened, and the table is refused if one repeats: that
    tells nothing about anybody.

    Stability. Every step looks at one row. `rows` is known only where each row is a unit, or where the owner has had
    the unit's uniqueness verified for this version of the data; otherwise it is for `BoundRows` to enforce.

    >>> from discreet.tables import Column, Table
    >>> Scan(Table("visits", unit="patient_id", columns=[Column("age", lower=0, upper=120)])).rows is None
    True
    """

    table: Table
    verified: bool = False

    @property
    def children(self) -> tuple[Node, ...]:
        """A table is a leaf."""
        return ()

    @cached_property
    def schema(self) -> dict[str, Facts]:
        """The policy's facts about each declared column."""
        unit = self.table.unit
        return {
            column.name: Facts(
                column.kind,
                column.bounds,
                nullable=column.nullable and column.name != unit,
                domain=column.keys,
                unit=column.name == unit,
                single=column.name == unit,
                length=_length(column),
            )
            for column in self.table.columns
        }

    @cached_property
    def unit_kind(self) -> str | None:
        """The kind that the policy gives."""
        return self.table.unit_kind

    @cached_property
    def rows(self) -> int | None:
        """One where each row is a unit or the unit is verified to be unique."""
        alone = self.table.row_is_unit or (self.verified and self.table.unit_is_unique)
        return 1 if alone else None

    @cached_property
    def unique(self) -> frozenset[frozenset[str]]:
        """A public table's unique sets, which are checked when it is opened; a private table's only once verified."""
        trusted = self.table.public or self.verified
        return frozenset(map(frozenset, self.table.unique)) if trusted else frozenset()

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        """A verified unique set holds one row for each of its values, so for each of a unit's; NULL may repeat."""
        facts = self.schema
        whole = [columns for columns in self.unique if not any(facts[name].nullable for name in columns)]
        return tuple(Spread(columns, self.rows, 1) for columns in whole) if self.private else ()

    def canonical(self) -> list[object]:
        """The table's name, and whether its uniqueness is believed: the policy's hash stands for the facts."""
        return ["scan", self.table.name, *(["verified"] if self.verified else [])]

    def describe(self) -> str:
        """Name the table."""
        kind = "public table" if self.table.public else f"private table, unit {self.table.unit or 'row'}"
        kind += ", unique columns believed as the owner checked them" if self.verified else ""
        return f"scan {self.table.name} ({kind})"


def _length(column: Column) -> int:
    """How long texts of a column are as they are read; with `other`, all of them are among the keys."""
    if column.other is not None:
        return max((len(key) for key in column.keys or () if isinstance(key, str)), default=LONGEST_TEXT)
    return LONGEST_TEXT if column.max_length is None else column.max_length
