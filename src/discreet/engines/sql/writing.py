"""Where expressions are written: the rows of a relation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from discreet.engines.sql.binding import Binding

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from discreet.engines.sql.binding import Cell, Unread
    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.words import SQL
    from discreet.plans.expressions import Expression

__all__ = ["Writing"]


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
