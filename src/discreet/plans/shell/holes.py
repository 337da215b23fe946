"""Subqueries inside a core: which constants they become, and what a row's own group has to do with it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.expressions import Column, Released
from discreet.plans.sql.conditions import conjuncts
from discreet.plans.sql.expressions import RELEASED
from discreet.plans.sql.reading import matching, refuse_part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.plans.plan import Plan
    from discreet.plans.shell.relations import Relation
    from discreet.plans.shell.shell import Hole
    from discreet.tables import Value

__all__ = [
    "MOST_CONSTANTS",
    "correlated",
    "filled",
    "known_groups",
    "known_keys",
    "memberships",
    "placed",
    "placed_among",
    "scalar_subqueries",
]

MOST_CONSTANTS = 400
"""So many groups may a subquery about the row's own group have."""


def scalar_subqueries(statement: exp.Expression) -> list[exp.Subquery]:
    """Give the outermost subqueries that stand for one value: not those in FROM or WITH, nor of IN and EXISTS.

    >>> from discreet.plans.sql.reading import read_statement
    >>> text = "SELECT 1 FROM (SELECT a FROM s) AS t WHERE x > (SELECT b FROM s) AND y IN (SELECT c FROM s)"
    >>> statement = read_statement(text)
    >>> [found.sql() for found in scalar_subqueries(statement)]
    ['(SELECT b FROM s)']
    """
    found: list[exp.Subquery] = []

    def walk(node: exp.Expression) -> None:
        for child in node.iter_expressions():
            if isinstance(child, exp.Subquery) and not isinstance(
                node, exp.From | exp.Join | exp.CTE | exp.In | exp.Exists | exp.SetOperation | exp.Subquery
            ):
                found.append(child)
            else:
                walk(child)

    walk(statement)
    return found


def memberships(statement: exp.Expression) -> list[exp.In]:
    """Give the conditions `x IN (SELECT …)`, the outermost ones first.

    >>> from discreet.plans.sql.reading import read_statement
    >>> text = "SELECT 1 FROM t WHERE x IN (SELECT a FROM s) AND y IN (1)"
    >>> [found.sql() for found in memberships(read_statement(text))]
    ['x IN (SELECT a FROM s)']
    """
    return [node for node in statement.find_all(exp.In) if node.args.get("query") is not None]


def correlated(
    select: exp.Select, read: Mapping[str, Relation]
) -> tuple[exp.Select, list[tuple[exp.Expression, exp.Expression]]]:
    """Take the equalities with columns from outside off WHERE: give the rest, and each inner side with its outer one.

    >>> from discreet.plans.shell.relations import Private
    >>> from discreet.plans.sql.reading import read_statement
    >>> select = read_statement("SELECT AVG(cost) FROM visits AS w WHERE w.ward = v.ward AND cost > 0")
    >>> rest, pairs = correlated(select, {"w": Private({"ward": False, "cost": False})})
    >>> rest.sql(), [(inner.sql(), outer.sql()) for inner, outer in pairs]
    ('SELECT AVG(cost) FROM visits AS w WHERE cost > 0', [('w.ward', 'v.ward')])
    """
    where = select.args.get("where")
    if where is None:
        return select, []
    pairs, kept = [], []
    for part in conjuncts(where.this):
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        inside = [_is_inside(side, read) for side in sides]
        if inside in ([True, False], [False, True]):
            inner, outer = sides if inside[0] else sides[::-1]
            pairs.append((inner, outer))
        else:
            kept.append(part)
    if not pairs:
        return select, []
    rest = select.copy()
    rest.set("where", exp.Where(this=exp.and_(*(part.copy() for part in kept), copy=False)) if kept else None)
    return rest, pairs


def _is_inside(side: exp.Expression, read: Mapping[str, Relation]) -> bool | None:
    """Whether all columns of an expression are of these sources; None if it has none, or some of each."""
    found = {_known(column, read) for column in side.find_all(exp.Column)}
    return found.pop() if len(found) == 1 else None


def _known(column: exp.Column, read: Mapping[str, Relation]) -> bool:
    table = column.args.get("table")
    if table is not None:
        return matching(table, read) is not None
    return any(matching(column.this, relation.columns) is not None for relation in read.values())


def known_groups(plan: Plan, part: exp.Expression) -> tuple[tuple[Value, ...], ...]:
    """Give the groups of a core, which must be known and few."""
    known = {key.column: key.known for key in plan.aggregate.keys}
    columns = [known[plan.key_column(name)] for name, _ in plan.request.keys]
    if any(values is None for values in columns) or (plan.aggregate.groups or 0) > MOST_CONSTANTS:
        why = f"It is about the row's own group, and there are more than {MOST_CONSTANTS} groups, or unknown ones."
        refuse_part(part, why, "a column with known keys, in its WHERE.")
    return tuple(itertools.product(*(values or () for values in columns)))


def known_keys(plan: Plan, name: str, part: exp.Expression) -> tuple[Value, ...]:
    """Give the values of a key of a core, which must be known and few."""
    output = dict(plan.request.outputs)[name]
    column = plan.key_column(output.name) if isinstance(output, Column) else ""
    values = next((key.known for key in plan.aggregate.keys if key.column == column), None)
    if values is None or len(values) > MOST_CONSTANTS:
        why = f"Rows are chosen by what is released, of more than {MOST_CONSTANTS} values, or unknown ones."
        refuse_part(part, why, "a column with known keys; or GROUP BY the column, where any of its groups are chosen.")
    if None in values and isinstance(part.parent, exp.Not):
        refuse_part(part, "NOT IN is never true where a group of NULL is chosen.", "… WHERE key IS NOT NULL in it.")
    return values


def placed_among(hole: Hole, node: exp.In) -> exp.Expression:
    """Write what stands in the place of `x IN (SELECT …)`: for each known value of x, whether it was chosen."""
    case = exp.Case().when(exp.Is(this=node.this.copy(), expression=exp.Null()), exp.Null(), copy=False)
    for (value,), name in zip(hole.keys, hole.names, strict=True):
        if value is not None:
            chosen = exp.Coalesce(this=_placeholder(name, hole), expressions=[exp.false()])
            case = case.when(_equal(node.this, value), chosen, copy=False)
    return exp.paren(case.else_(exp.false(), copy=False), copy=False)


def _placeholder(name: str, hole: Hole) -> exp.Placeholder:
    placeholder = exp.Placeholder(this=name)
    placeholder.meta[RELEASED] = Released(name, hole.kind)
    return placeholder


def placed(hole: Hole, outer: list[exp.Expression]) -> exp.Expression:
    """Write what stands in the place of the subquery: a constant, or one for each group of the row."""
    made = [_placeholder(name, hole) for name in hole.names]
    if not hole.keys:
        return made[0]
    case = exp.Case()
    for key, placeholder in zip(hole.keys, made, strict=True):
        same = (_equal(side, value) for side, value in zip(outer, key, strict=True))
        case = case.when(exp.and_(*same, copy=False), placeholder, copy=False)
    return exp.paren(case, copy=False)


def _equal(side: exp.Expression, value: Value) -> exp.Expression:
    if value is None:
        return exp.Is(this=side.copy(), expression=exp.Null())
    return exp.EQ(this=side.copy(), expression=exp.convert(value))


def filled(statement: exp.Select, values: Mapping[str, Value]) -> exp.Select:
    """Put constants in the place of the names that stand for them."""
    copy = statement.copy()
    for node in copy.find_all(exp.Placeholder):
        released = node.meta.get(RELEASED)
        if isinstance(released, Released):
            node.meta[RELEASED] = Released("", released.kind, values[released.name])
    return copy
