"""What rules of dialects work with: values that are written already, and a way to name one that is used twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from discreet.engines.sql.words import SQL
    from discreet.plans.facts import Facts
    from discreet.tables.kinds import Kind

__all__ = ["Binding", "Cell", "Unread"]


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


class Binding(Protocol):
    """Somewhere to bind values."""

    def bind(self, value: SQL) -> SQL:
        """Give a value a name."""
