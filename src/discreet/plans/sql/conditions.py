"""Conditions that compare with another relation: join equalities, IN and EXISTS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from discreet.plans.expressions import Column, IsNull, Not
from discreet.plans.nodes import Filter, Keep, Node, SemiJoin
from discreet.plans.sql.grouped import contains_aggregate
from discreet.plans.sql.reading import chained, only, refuse_part

if TYPE_CHECKING:
    from discreet.plans.sql.reading import Named, Scope

__all__ = ["Reader", "conjuncts", "equality", "is_semi_join", "semi_joined"]


class Reader(Protocol):
    """What reads the subqueries of a condition."""

    def query(self, node: exp.Expression, named: dict[str, Named]) -> Node:
        """Read a subquery into a relation."""

    def scope(self, select: exp.Select, named: dict[str, Named]) -> Scope:
        """Read FROM, JOIN and WHERE."""

    def conditions(self, scope: Scope, conditions: list[exp.Expression], named: dict[str, Named]) -> Scope:
        """Apply conditions that must all hold."""


def conjuncts(node: exp.Expression) -> list[exp.Expression]:
    """Split conditions that are joined by AND."""
    if isinstance(node, exp.Paren):
        return conjuncts(node.this)
    if isinstance(node, exp.And):
        return [part for operand in chained(node) for part in conjuncts(operand)]
    return [node]


def equality(left: Scope, right: Scope, node: exp.Expression) -> tuple[str, str] | None:
    """Read `a.x = b.y` as a pair of columns of two sides; None if it is another condition."""
    if not (isinstance(node, exp.EQ) and isinstance(node.this, exp.Column) and isinstance(node.expression, exp.Column)):
        return None
    first, second = node.this, node.expression
    sides = [(side.find(first), side.find(second)) for side in (left, right)]
    (first_left, second_left), (first_right, second_right) = sides
    for one, other, column in ((first_left, first_right, first), (second_left, second_right, second)):
        if one is not None and other is not None:
            refuse_part(column, "Both tables have a column of this name.", f"table.{column.name}")
    if first_left is not None and second_right is not None:
        return first_left, second_right
    if second_left is not None and first_right is not None:
        return second_left, first_right
    return None


def is_semi_join(node: exp.Expression) -> bool:
    """Tell whether a condition is IN or EXISTS with a subquery, or the negation of one."""
    inner = _positive(node)[0]
    return isinstance(inner, exp.Exists) or (isinstance(inner, exp.In) and inner.args.get("query") is not None)


def _positive(node: exp.Expression) -> tuple[exp.Expression, Keep]:
    """Strip parentheses and NOT."""
    keep = Keep.MATCHED
    while isinstance(node, exp.Paren | exp.Not):
        if isinstance(node, exp.Not):
            keep = Keep.UNMATCHED if keep is Keep.MATCHED else Keep.MATCHED
        node = node.this
    return node, keep


def semi_joined(reader: Reader, scope: Scope, condition: exp.Expression, named: dict[str, Named]) -> Node:
    """Keep the rows that fulfill IN or EXISTS."""
    node, keep = _positive(condition)
    return (
        _exists(reader, scope, node, keep, named)
        if isinstance(node, exp.Exists)
        else _in(reader, scope, node, keep, named)
    )


def _in(reader: Reader, scope: Scope, node: exp.Expression, keep: Keep, named: dict[str, Named]) -> Node:
    """X IN (SELECT y …): the subquery stands alone."""
    only(node, "this", "query")
    if not isinstance(node.this, exp.Column):
        instead = "column IN (SELECT …)"
        if isinstance(node.this, exp.Tuple):
            instead = "EXISTS (SELECT 1 FROM b WHERE b.unit = a.unit AND b.x = a.x)"
        refuse_part(node, "A subquery is compared with a plain column.", instead)
    ours = scope.column(node.this).name
    right = reader.query(node.args["query"], named)
    if len(right.schema) != 1:
        refuse_part(node, "The subquery must have one column.", "column IN (SELECT one_column FROM …)")
    theirs, facts = next(iter(right.schema.items()))
    left = scope.node
    if keep is Keep.UNMATCHED:
        if facts.nullable:
            refuse_part(
                node, "NOT IN is never true if the subquery holds NULL.", "NOT EXISTS, or WHERE … IS NOT NULL inside."
            )
        left = Filter(left, Not((IsNull((Column(ours),)),)))
    return SemiJoin(left, right, ((ours, theirs),), keep)


def _exists(reader: Reader, scope: Scope, node: exp.Expression, keep: Keep, named: dict[str, Named]) -> Node:
    """EXISTS (SELECT … WHERE inner.unit = outer.unit AND …): equalities join, other conditions filter inside."""
    only(node, "this")
    select = node.this.this if isinstance(node.this, exp.Subquery) else node.this
    if not isinstance(select, exp.Select):
        refuse_part(node, "EXISTS takes a SELECT.", "EXISTS (SELECT 1 FROM b WHERE b.unit = a.unit)")
    only(select, "expressions", "from_", "joins", "where")
    bare = select.copy()
    bare.set("where", None)
    inner = reader.scope(bare, named)
    for item in select.expressions:
        if contains_aggregate(item):
            instead = "EXISTS (SELECT 1 …); for a number per unit, unit IN (SELECT unit … GROUP BY unit HAVING …)."
            refuse_part(node, "An aggregate gives a row for no rows too, so this is always true.", instead)
        for column in item.find_all(exp.Column):
            if not column.is_star and scope.find(column) is None:
                inner.column(column)  # refuses a name that is in neither
    pairs: list[tuple[str, str]] = []
    alone: list[exp.Expression] = []
    where = select.args.get("where")
    for condition in [] if where is None else conjuncts(where.this):
        if all(inner.find(column) is not None for column in condition.find_all(exp.Column)):
            alone.append(condition)
        else:
            pairs.append(_correlated(scope, inner, condition))
    if not pairs:
        refuse_part(node, "It does not depend on the row.", "EXISTS (SELECT 1 FROM b WHERE b.unit = a.unit)")
    return SemiJoin(scope.node, reader.conditions(inner, alone, named).node, tuple(pairs), keep)


def _correlated(outer: Scope, inner: Scope, condition: exp.Expression) -> tuple[str, str]:
    """Read the equality of an outer and an inner column; an inner name hides an outer one."""
    sides = [condition.this, condition.expression] if isinstance(condition, exp.EQ) else []
    if len(sides) == 2 and all(isinstance(side, exp.Column) for side in sides):
        for one, other in (sides, sides[::-1]):
            theirs = inner.find(one)
            ours = outer.find(other) if inner.find(other) is None else None
            if theirs is not None and ours is not None:
                return ours, theirs
    return refuse_part(
        condition,
        "A subquery meets the outer row by an equality of columns only.",
        "WHERE inner.unit = outer.unit AND conditions on the inner table.",
    )
