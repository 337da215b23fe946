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

__all__ = ["Cell", "Writing"]


@dataclass(frozen=True, slots=True)
class Cell:
    """An expression as SQL, with its facts."""

    sql: SQL
    facts: Facts

    @property
    def kind(self) -> Kind:
        """The kind of the value."""
        return self.facts.kind


class Writing(Binding, Protocol):
    """The rows of a relation, over which expressions are written."""

    @property
    def dialect(self) -> Dialect:
        """How the engine writes."""

    def once(self, key: Hashable, value: Callable[[], SQL]) -> SQL:
        """Bind a value under a key; the same key gives the same column again."""

    def cell(self, expression: Expression) -> Cell:
        """Give the SQL of an expression."""
