"""An expression that is written already, and where the next one is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from discreet.engines.sql.binding import Binding

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.words import SQL
    from discreet.plans.expressions import Expression
    from discreet.plans.facts import Facts
    from discreet.tables.kinds import Kind

__all__ = ["Cell", "Unread", "Writing"]


@dataclass(frozen=True, slots=True)
class Cell:
    """An expression as SQL, with its facts."""

    sql: SQL
    facts: Facts

    @property
    def kind(self) -> Kind:
        """The kind of the value."""
        return self.facts.kind


@dataclass(frozen=True, slots=True)
class Unread:
    """A stored double as it is, and the ends that reading clamps it into."""

    sql: SQL
    low: float
    high: float


class Writing(Binding, Protocol):
    """The rows of a relation, over which expressions are written."""

    @property
    def dialect(self) -> Dialect:
        """How the engine writes."""

    def once(self, key: Hashable, value: Callable[[], SQL]) -> SQL:
        """Bind a value under a key; the same key gives the same column again."""

    def shared(self, key: Hashable) -> SQL | None:
        """Give the column that was bound under a key, if there is one."""

    def cell(self, expression: Expression) -> Cell:
        """Give the SQL of an expression."""

    def unread(self, expression: Expression) -> Unread | None:
        """Give the stored double behind an expression that is nothing but a bounded column, if it is at hand."""
