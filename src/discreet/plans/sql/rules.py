"""What a rule for a function works with: the translator of expressions over the rows of a scope, as rules see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Schema

__all__ = ["Rule", "Translator"]


class Translator(Protocol):
    """Translates syntax nodes into expressions."""

    dialect: str

    @property
    def schema(self) -> Schema:
        """The columns that expressions are checked against."""

    def translate(self, node: exp.Expression) -> Expression:
        """Translate one node and what is inside it."""

    def expression(self, node: exp.Expression) -> Expression:
        """Translate a whole expression; its kinds are aligned and checked."""

    def refuse(self, node: exp.Expression, aggregate: str = "An aggregate cannot stand here.") -> NoReturn:
        """Refuse a node that no rule reads."""


Rule: TypeAlias = "Callable[[Translator, exp.Expression], Expression]"
