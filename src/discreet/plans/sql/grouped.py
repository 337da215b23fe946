"""Expressions over the results of groups: keys, aggregates, and arithmetic on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.plans.alignment import aligned
from discreet.plans.expressions import Column, Expression
from discreet.plans.normal import simplified
from discreet.plans.sql.expressions import Scalars, fitting
from discreet.plans.sql.measures import contains_aggregate, is_aggregate
from discreet.plans.sql.reading import refuse_part
from discreet.plans.sql.scope import matching

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.plans.facts import Facts, Schema

__all__ = ["Grouped"]

Part = TypeVar("Part")


class Grouped(Scalars, Generic[Part]):
    """Translates the SELECT list, HAVING and ORDER BY of a grouped question.

    An aggregate becomes a named part, equal ones the same; an expression that is a group key becomes the key. Any other
    column is a single row's value and refused.
    """

    def __init__(
        self,
        rows: Scalars,
        keys: dict[str, Expression],
        read: Callable[[Scalars, exp.Expression], Part],
        facts: Callable[[Part], Facts],
    ) -> None:
        super().__init__(rows.scope, rows.dialect)
        self.rows = rows
        self.keys = keys
        self.read = read
        self.facts = facts
        self.parts: dict[str, Part] = {}
        self.aliases: dict[str, Expression] = {}
        self.ambiguous: set[str] = set()
        self._forms: dict[str, str] = {}
        self._known: dict[str, Facts] = {}

    @property
    def schema(self) -> Schema:
        """What is known about keys and parts."""
        if len(self._known) < len(self.keys) + len(self.parts):  # another dictionary: schemas are not changed
            below = self.scope.node.schema
            keys = {name: expression.facts(below) for name, expression in self.keys.items()}
            new = {name: self.facts(part) for name, part in self.parts.items() if name not in self._known}
            self._known = keys | self._known | new
        return self._known

    def expression(self, node: exp.Expression) -> Expression:
        """Translate, align and check against what is known about keys and parts."""
        with fitting(node):
            found = aligned(self.translate(node), self.schema)
            found.facts(self.schema)
        return found

    def refuse(self, node: exp.Expression, aggregate: str = "An aggregate cannot stand here.") -> NoReturn:
        """Refuse * as what shows rows: its columns by name would be refused as well."""
        if isinstance(node, exp.Star):
            refuse_part(node, "No single row is ever shown.", "COUNT(*), AVG(x) or SUM(x).")
        super().refuse(node, aggregate)

    def translate(self, node: exp.Expression) -> Expression:
        """An aggregate, a key, or an operation on them."""
        if is_aggregate(node):
            return Column(self._part(node))
        if not contains_aggregate(node):
            key = self._key(node)
            if key is not None:
                return Column(key)
        return super().translate(node)

    def column(self, node: exp.Column) -> Expression:
        """A column that is no key: the name of an output, or a single row's value, which is refused."""
        if isinstance(node.this, exp.Star):
            self.refuse(node.this)
        if node.args.get("table") is None:
            if node.name.casefold() in self.ambiguous:
                refuse_part(node, "Several outputs have this name.", "a name for each: expression AS name.")
            alias = matching(node.this, self.aliases)
            if alias is not None:
                return self.aliases[alias]
        facts = self.scope.node.schema[self.scope.column(node).name]  # an unknown name is refused with those there are
        if facts.unit:
            refuse_part(
                node,
                "This is the unit, and no single unit is ever shown.",
                f"COUNT(DISTINCT {node.name}), or a subquery grouped by it.",
            )
        instead = f"it beside an aggregate such as COUNT(*), with GROUP BY {node.name}"
        if facts.kind.numeric:
            instead += f", or an aggregate of it such as AVG({node.name})"
        return refuse_part(node, "Outside an aggregate a column would show single rows.", f"{instead}.")

    def _key(self, node: exp.Expression) -> str | None:
        """Recognize a group key by its meaning."""
        try:
            wanted = simplified(self.rows.expression(node))
        except QueryRefused:
            return None
        return next((name for name, each in self.keys.items() if simplified(each) == wanted), None)

    def _part(self, node: exp.Expression) -> str:
        """Name an aggregate; the same one twice is one part."""
        part = self.read(self.rows, node)
        form = repr(part.canonical())  # type: ignore[attr-defined]  # measures and statistics have one
        if form not in self._forms:
            name = f"m{len(self.parts)}"
            while name in self.keys:  # a column may be called m0
                name += "_"
            self._forms[form] = name
            self.parts[name] = part
        return self._forms[form]
