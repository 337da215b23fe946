"""What a rule of a dialect needs beside its operands: a way to name a value that it uses twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from discreet.engines.sql.words import SQL

__all__ = ["Binding"]


class Binding(Protocol):
    """Somewhere to bind values."""

    def bind(self, value: SQL) -> SQL:
        """Give a value a name."""
