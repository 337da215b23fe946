"""Row by row: columns computed in layers, so that no value is written twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.sql.binding import Cell, Unread
from discreet.engines.sql.expressions import emitted
from discreet.engines.sql.words import SQL, alias, column, select
from discreet.plans.expressions import Column, Expression, Literal, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from discreet.engines.sql.dialect import Dialect
    from discreet.plans.facts import Schema

__all__ = ["Rows"]


class Rows:
    """What is computed of each row of a relation.

    A rule that needs a value twice binds it: the value becomes a column of a SELECT below. Without that, the text of
    nested expressions would grow exponentially. Everything bound is computed for every row, which is harmless
    because every expression is total.
    """

    def __init__(
        self,
        source: SQL,
        schema: Schema,
        names: dict[str, str],
        dialect: Dialect,
        unread: Mapping[str, Unread] | None = None,
    ) -> None:
        self.dialect = dialect
        self.schema = schema
        self._source = source
        self._names = names
        self._unread = unread or {}
        self._layers: list[list[SQL]] = []
        self._depths: dict[str, int] = {}
        self._shared: dict[Hashable, SQL] = {}
        self._cells: dict[Expression, Cell] = {}

    def bind(self, value: SQL) -> SQL:
        """Give a value a name; what has one, or is a constant, stays as it is."""
        if isinstance(value, exp.Column | exp.Literal | exp.Null):
            return value
        depth = self._depth(value)
        name = f"t{len(self._depths)}"
        if depth == len(self._layers):
            self._layers.append([])
        self._layers[depth].append(alias(value, name))
        self._depths[name] = depth + 1
        return column(name)

    def _depth(self, value: SQL) -> int:
        """How many layers must be computed before a value can be; sqlglot's own walk takes several times as long."""
        most, left = 0, [value]
        while left:
            part = left.pop()
            if isinstance(part, exp.Column):
                most = max(most, self._depths.get(part.name, 0))
                continue
            for child in part.args.values():
                if isinstance(child, exp.Expression):
                    left.append(child)
                elif isinstance(child, list):
                    left += [each for each in child if isinstance(each, exp.Expression)]
        return most

    def once(self, key: Hashable, value: Callable[[], SQL]) -> SQL:
        """Bind a value under a key; the same key gives the same column again."""
        if key not in self._shared:
            self._shared[key] = self.bind(value())
        return self._shared[key]

    def shared(self, key: Hashable) -> SQL | None:
        """Give the column that was bound under a key, if there is one."""
        return self._shared.get(key)

    def cell(self, expression: Expression) -> Cell:
        """Give the SQL of an expression over the relation's columns."""
        found = self._cells.get(expression)
        if found is None:
            found = self._cells[expression] = self._computed(expression)
        return found

    def unread(self, expression: Expression) -> Unread | None:
        """Give the stored double behind an expression that is nothing but a bounded column, if it is at hand."""
        return self._unread.get(expression.name) if isinstance(expression, Column) else None

    def _computed(self, expression: Expression) -> Cell:
        if isinstance(expression, Column):
            return Cell(column(self._names[expression.name]), self.schema[expression.name])
        if isinstance(expression, Literal):
            return Cell(self.dialect.literal(expression.value, expression.kind), expression.facts({}))
        assert isinstance(expression, Operation)  # noqa: S101 - the only other kind of expression
        cells = [self.cell(operand) for operand in expression.operands]
        facts = expression.derive(tuple(cell.facts for cell in cells))
        return Cell(emitted(expression, cells, facts, self), facts)

    def computed(self) -> SQL:
        """Give the relation with everything that was bound."""
        found = self._source
        for layer in self._layers:
            found = self.dialect.fenced(select([exp.Star(), *layer], found))
        return found
