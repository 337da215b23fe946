"""JOIN: which columns two relations are joined on, as ON, USING or a WHERE behind a comma say it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from discreet.plans.expressions import And
from discreet.plans.nodes import Filter, Join, JoinKind, Node
from discreet.plans.nodes.filter import require_truth
from discreet.plans.sql.conditions import conjuncts, equality
from discreet.plans.sql.expressions import Scalars
from discreet.plans.sql.reading import Scope, name_of, only, refuse_part

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.sql.reading import Named

__all__ = ["filtered", "joined_all", "truth"]

_CONDITIONS = "the other conditions in a subquery: LEFT JOIN (SELECT * FROM b WHERE …) AS b ON a.x = b.x"
_JOINS = {
    "FULL": "a LEFT JOIN for the rows of one side, or UNION ALL of both sides' rows.",
    "SEMI": "WHERE EXISTS (SELECT 1 FROM b WHERE b.unit = a.unit)",
    "ANTI": "WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.unit = a.unit)",
}
_SHAPES = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.INNER,
    ("LEFT", ""): JoinKind.LEFT,
    ("LEFT", "OUTER"): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.LEFT,
    ("RIGHT", "OUTER"): JoinKind.LEFT,
}


class Sources(Protocol):
    """What reads a table, a named query or a subquery in FROM."""

    dialect: str

    def source(self, node: exp.Expression, named: dict[str, Named]) -> Scope:
        """Read it."""


@dataclass(frozen=True, slots=True)
class _Conditions:
    """What a join says: equalities of columns, other conditions, and names that both sides share."""

    pairs: list[tuple[str, str]]
    rest: list[exp.Expression] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)


def truth(condition: Expression, scope: Scope) -> Expression:
    """Refuse a condition that is no truth value."""
    require_truth(condition.facts(scope.node.schema).kind)
    return condition


def filtered(scope: Scope, conditions: list[Expression]) -> Scope:
    """Keep the rows for which all conditions hold."""
    if not conditions:
        return scope
    return scope.on(Filter(scope.node, conditions[0] if len(conditions) == 1 else And(tuple(conditions))))


def joined_all(
    sources: Sources,
    left: Scope,
    joins: list[exp.Join],
    where: list[exp.Expression],
    named: dict[str, Named],
) -> tuple[Scope, list[exp.Expression]]:
    """Join everything that FROM names; give the conditions of WHERE that are left.

    A comma, or CROSS JOIN, is a join on the equalities of WHERE between both sides. A table that has none with what
    stands before it waits for the others: `FROM a, b, c WHERE a.x = c.x AND c.y = b.y`.
    """
    used: list[exp.Expression] = []
    waiting: list[tuple[exp.Join, Scope]] = []
    for join in joins:
        right = _read(sources, join, named)
        for other in [*_names(waiting), *left.sources]:
            if other in right.sources:
                refuse_part(join, f"Two tables are called {other}.", "another name for one of them: table AS name.")
        if _is_bare(join):
            waiting.append((join, right))
        else:
            left = _joined(left, right, join, _conditions(left, right, join), sources.dialect)
        left, used = _by_where(left, waiting, where, used, sources.dialect)
    if waiting:
        refuse_part(waiting[0][0], "Every row would meet every row.", "JOIN … ON a.unit = b.unit")
    for condition in used:
        for column in condition.find_all(exp.Column):
            left.column(column)  # refuses a name that several of all tables have
    return left, [condition for condition in where if not any(condition is one for one in used)]


def _names(waiting: list[tuple[exp.Join, Scope]]) -> list[str]:
    return [name for _, scope in waiting for name in scope.sources]


def _is_bare(join: exp.Join) -> bool:
    return join.args.get("on") is None and not join.args.get("using")


def _by_where(
    left: Scope,
    waiting: list[tuple[exp.Join, Scope]],
    where: list[exp.Expression],
    used: list[exp.Expression],
    dialect: str,
) -> tuple[Scope, list[exp.Expression]]:
    """Join the tables behind commas that conditions of WHERE relate with what is joined already."""
    for place, (join, right) in enumerate(waiting):
        found = [(part, equality(left, right, part)) for part in where if not any(part is one for one in used)]
        pairs = [pair for _, pair in found if pair is not None]
        if pairs:
            del waiting[place]
            left = _joined(left, right, join, _Conditions(pairs), dialect)
            return _by_where(left, waiting, where, [*used, *(part for part, pair in found if pair)], dialect)
    return left, used


def _read(sources: Sources, join: exp.Join, named: dict[str, Named]) -> Scope:
    """Read the right side of a join, after the join's own words."""
    if join.args.get("method"):  # NATURAL, ASOF
        refuse_part(join, "A join names the columns that are equal.", "JOIN … USING (unit), or ON a.unit = b.unit")
    only(join, "this", "on", "using", "side", "kind")
    side, kind = join.side.upper(), join.kind.upper()
    if (side, kind) not in _SHAPES:
        instead = _JOINS.get(side, _JOINS.get(kind, "JOIN … ON, or LEFT JOIN … ON."))
        refuse_part(join, "Only JOIN, LEFT JOIN and RIGHT JOIN are answered.", instead)
    if side and _is_bare(join):
        refuse_part(join, "It does not say which rows meet.", f"{side} JOIN … ON a.unit = b.unit")
    return sources.source(join.this, named)


def _joined(left: Scope, right: Scope, join: exp.Join, conditions: _Conditions, dialect: str) -> Scope:
    """Join two relations; a RIGHT JOIN is a LEFT JOIN with the sides swapped.

    Of a LEFT JOIN, a condition on the right side alone only says which of its rows can be met: it filters that side.
    """
    shape = _SHAPES[join.side.upper(), join.kind.upper()]
    turned = join.side.upper() == "RIGHT"
    order = [*left.sources, *right.sources]
    pairs, rest = conditions.pairs, conditions.rest
    if turned:
        left, right, pairs = right, left, [(theirs, ours) for ours, theirs in pairs]
    if shape is JoinKind.LEFT:
        for part in rest:
            if any(right.find(column) is None for column in part.find_all(exp.Column)):
                refuse_part(join, "Beside equalities its conditions are on the joined side alone.", _CONDITIONS)
        right = filtered(right, [truth(Scalars(right, dialect).expression(part), right) for part in rest])
        rest = []
    scope = _met(left, right, Join(left.node, right.node, tuple(pairs), shape), conditions.shared)
    scope = Scope(scope.node, {name: scope.sources[name] for name in order}, scope.merged)
    return filtered(scope, [truth(Scalars(scope, dialect).expression(part), scope) for part in rest])


def _conditions(left: Scope, right: Scope, join: exp.Join) -> _Conditions:
    """Split a join's conditions."""
    using = join.args.get("using") or []
    if using:
        names = [name_of(part) for part in using]
        columns = [
            exp.column(exp.to_identifier(name, quoted=bool(part.args.get("quoted"))))
            for name, part in zip(names, using, strict=True)
        ]
        pairs = [(left.column(part).name, right.column(part).name) for part in columns]
        return _Conditions(pairs, shared=names)
    conditions = _Conditions([])
    for part in conjuncts(join.args["on"]):
        pair = equality(left, right, part)
        if pair is None:
            conditions.rest.append(part)
        else:
            conditions.pairs.append(pair)
    return conditions


def _met(left: Scope, right: Scope, node: Node, shared: list[str]) -> Scope:
    """Carry the names of both sides over to the join's columns."""
    sources = {
        alias: {name: f"{letter}.{inner}" for name, inner in columns.items()}
        for letter, side in (("l", left), ("r", right))
        for alias, columns in side.sources.items()
    }
    merged = {name: f"l.{inner}" for name, inner in left.merged.items()}
    merged |= {name: f"r.{inner}" for name, inner in right.merged.items() if name not in merged and name not in shared}
    for name in shared:
        fitting = left.find(exp.column(exp.to_identifier(name)))
        merged[name] = f"l.{fitting}"
    return Scope(node, sources, merged)
