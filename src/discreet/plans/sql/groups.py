"""What GROUP BY names: positions, outputs, columns, expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.sql.measures import contains_aggregate, is_aggregate
from discreet.plans.sql.reading import only, part, refuse_part
from discreet.plans.sql.scope import matching, name_of

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.sql.expressions import Scalars

__all__ = ["alias_of", "group_keys", "output_name"]


def alias_of(item: exp.Expression) -> tuple[exp.Expression, str | None]:
    """Split an item of a SELECT list into its expression and its name."""
    if isinstance(item, exp.Alias):
        only(item, "this", "alias")
        return item.this, name_of(item.args["alias"])
    return item, None


def output_name(item: exp.Expression, place: int) -> str:
    """Name an output: its alias, its column, its function, or its place."""
    node, alias = alias_of(item)
    if alias is not None:
        return alias
    if isinstance(node, exp.Column):
        return node.name
    return _function_name(node) if is_aggregate(node) else f"column{place + 1}"


def _function_name(node: exp.Expression) -> str:
    """Name an aggregate by its function, as the question spells it."""
    if isinstance(node, exp.Filter):
        return _function_name(node.this)
    name = node.this.sql_name() if isinstance(node, exp.WithinGroup) else part(node).partition("(")[0]
    return str(name).lower()


def group_keys(select: exp.Select, rows: Scalars) -> list[Expression]:
    """Translate the items of GROUP BY."""
    group = select.args.get("group")
    if group is None:
        return []
    if group.args.get("all") is not None:
        refuse_part(group, "The keys of a group are named.", "GROUP BY with the columns, or 1, 2, …")
    several = any(isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets) for item in group.expressions)
    if several or any(group.args.get(word) for word in ("rollup", "cube", "grouping_sets", "totals")):
        instead = "one question for each, or totals added up from the released groups."
        refuse_part(group, "It asks several questions in one.", instead)
    only(group, "expressions")
    found: list[Expression] = []
    for item in group.expressions:
        node = _meant(item, select, rows)
        if contains_aggregate(node):
            refuse_part(item, "Groups are formed before aggregates.", "GROUP BY a column.")
        key = rows.expression(node)
        if key not in found:
            found.append(key)
    return found


def _meant(item: exp.Expression, select: exp.Select, rows: Scalars) -> exp.Expression:
    """Follow a position or the name of an output to the expression that it stands for."""
    items = [alias_of(each) for each in select.expressions]
    if isinstance(item, exp.Literal):
        if item.is_string or not item.name.isdigit() or not 1 <= int(item.name) <= len(items):
            refuse_part(item, "A position in GROUP BY is a number from 1 on.", "GROUP BY 1, or the column's name.")
        return items[int(item.name) - 1][0]
    if isinstance(item, exp.Column) and item.args.get("table") is None and rows.scope.find(item) is None:
        aliases = {alias: node for node, alias in items if alias is not None}
        name = matching(item.this, aliases)
        if name is not None:
            return aliases[name]
    return item
