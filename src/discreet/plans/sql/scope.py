"""Which names a part of a question can see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.expressions import Column
from discreet.plans.refusals import refuse
from discreet.plans.sql.reading import only, refuse_part
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.plans.nodes import Node

__all__ = ["Named", "Scope", "matching", "name_of"]


def name_of(identifier: exp.Expression) -> str:
    """Read a name; a quoted one counts as it is written."""
    name = identifier.name
    if not name or name.startswith("_") or not name.isprintable():
        refuse(repr(name)[:80], why="Names do not start with _ and are printable.", instead="another name.")
    return name


def matching(identifier: exp.Expression, known: Iterable[str]) -> str | None:
    """Find a known name: exactly as written, or without regard to case if it is not quoted and only one fits."""
    name, names = identifier.name, list(known)
    if name in names:
        return name
    if identifier.args.get("quoted"):
        return None
    fits = [each for each in names if each.casefold() == name.casefold()]
    return fits[0] if len(fits) == 1 else None


@dataclass(frozen=True)
class Named:
    """A query that WITH gave a name, and the names that it can see itself: those before it."""

    query: exp.Expression
    seen: dict[str, Named]


@dataclass(frozen=True)
class Scope:
    """A relation under construction; for each source in FROM, its visible columns with their names in the relation."""

    node: Node
    sources: dict[str, dict[str, str]]
    merged: dict[str, str] = field(default_factory=dict)

    def find(self, column: exp.Column) -> str | None:
        """Give a column's name in the relation, or None if this scope does not know it."""
        only(column, "this", "table")
        table = column.args.get("table")
        if table is not None:
            source = matching(table, self.sources)
            if source is None:
                return None
            name = matching(column.this, self.sources[source])
            return None if name is None else self.sources[source][name]
        shared = matching(column.this, self.merged)
        if shared is not None:
            return self.merged[shared]
        found = [
            columns[name] for columns in self.sources.values() if (name := matching(column.this, columns)) is not None
        ]
        if len(found) > 1:
            refuse_part(column, "Several tables have a column of this name.", f"table.{column.name}")
        return found[0] if found else None

    def column(self, column: exp.Column) -> Column:
        """Resolve a column, or refuse it with the names that there are."""
        found = self.find(column)
        if found is None:
            names = sorted({name for columns in self.sources.values() for name in columns})
            near = hint(column.name, names)
            refuse_part(
                column,
                "There is no such column here (a subquery sees its own tables only)." + near,
                f"one of {', '.join(names) or 'no columns'}.",
            )
        return Column(found)

    def all_columns(self, star: exp.Expression) -> list[tuple[str, Column]]:
        """Give the columns that * or table.* stands for: those that are declared, each under its own name."""
        if isinstance(star, exp.Column):
            only(star, "this", "table")
            only(star.this)
            source = matching(star.args["table"], self.sources)
            if source is None:
                refuse_part(star, "There is no such table here.", f"one of {', '.join(self.sources)}.")
            return [(name, Column(inner)) for name, inner in self.sources[source].items()]
        only(star)
        found = [(name, Column(inner)) for columns in self.sources.values() for name, inner in columns.items()]
        if len({name for name, _ in found}) < len(found):
            refuse_part(star, "Several tables have a column of one name.", "table.*, or the columns by name.")
        return found

    def on(self, node: Node) -> Scope:
        """The same names over another relation with the same columns."""
        return Scope(node, self.sources, self.merged)
