"""FROM, JOIN, WHERE and subqueries: from syntax to relations whose share of one unit is bounded."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.expressions import Cast, Column, Expression
from discreet.plans.nodes import BoundRows, Children, Filter, Node, PerUnit, Project, Scan
from discreet.plans.refusals import refuse
from discreet.plans.sql.conditions import conjuncts, is_semi_join, semi_joined
from discreet.plans.sql.expressions import Scalars
from discreet.plans.sql.grouped import Grouped, alias_of, contains_aggregate, group_keys, unit_statistic_of
from discreet.plans.sql.joining import filtered, joined_all, truth
from discreet.plans.sql.reading import Named, Scope, matching, name_of, only, refuse_part
from discreet.plans.sql.sets import combined, numbered, unnested
from discreet.plans.sql.spelling import DEFAULT_SCHEMAS
from discreet.tables.kinds import Kind
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from discreet.plans.statistics import UnitStatistic
    from discreet.tables import Policy, Table

__all__ = ["Relations", "scanned", "table_named", "with_floats"]

_MOST_SCANS = 64


def scanned(policy: Policy, name: str, verified: frozenset[str]) -> Node:
    """Read a table, and limit each unit's rows to what the policy says.

    >>> from discreet.tables import Policy, Table
    >>> visits = Table("visits", unit="id", rows_per_unit=20)
    >>> scanned(Policy([visits], epsilon=1), "visits", frozenset()).rows
    20
    """
    for verified_names in verified:
        policy.table(verified_names)  # refuses a name that is no table: a misspelled one would verify nothing
    table = policy.table(name)
    if table.references is not None:
        return _children(policy, table, verified)
    scan = Scan(table, verified=name in verified)
    limit = scan.table.rows_per_unit
    return BoundRows(scan, limit) if scan.private and scan.rows is None and limit is not None else scan


def table_named(policy: Policy, node: exp.Table) -> str:
    """Find a table of the policy: under its whole name, or without the schema that engines take by default.

    >>> from discreet.plans.sql.reading import read_statement
    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("visits", unit="id", rows_per_unit=20)], epsilon=1)
    >>> table_named(policy, read_statement("SELECT 1 FROM public.Visits").find(exp.Table))
    'visits'
    """
    names = [table.name for table in policy.tables]
    parts = [part for part in (node.args.get("catalog"), node.args.get("db"), node.this) if part is not None]
    if not all(isinstance(part, exp.Identifier) for part in parts):
        refuse_part(node, "Its name is not read.", f"one of {', '.join(names) or 'no tables'}.")
    while True:
        name = matching(_qualified(parts), names)
        if name is not None:
            return name
        if len(parts) == 1 or (len(parts) == 2 and parts[0].name.lower() not in DEFAULT_SCHEMAS):
            break
        parts = parts[1:]
    near = hint(node.name, names)
    return refuse_part(node, "There is no such table." + near, f"one of {', '.join(names) or 'no tables'}.")


def _children(policy: Policy, table: Table, verified: frozenset[str]) -> Node:
    """The rows of a table that refers to another, each with the unit that it belongs to."""
    parent, _, key = str(table.references).rpartition(".")
    above = scanned(policy, parent, verified)
    unit = str(policy.table(parent).unit)
    keys = PerUnit(above, tuple(dict.fromkeys((unit, key))), ())
    return Children(keys, Scan(table), key, str(table.through), table.rows_per_parent or 1)


@dataclass
class Relations:
    """Reads queries into relations, for one question."""

    policy: Policy
    dialect: str
    verified: frozenset[str]
    scans: int = field(default=0, init=False)

    def query(self, node: exp.Expression, named: dict[str, Named]) -> Node:
        """Read a subquery: a SELECT, a UNION ALL, or one of them in parentheses."""
        if isinstance(node, exp.Subquery):
            only(node, "this", "alias")
            return self.query(node.this, named)
        if isinstance(node, exp.SetOperation):
            seen = self.named(node, named)
            return combined(node, *with_floats(self.query(node.this, seen), self.query(node.expression, seen)))
        if not isinstance(node, exp.Select):
            refuse_part(node, "Only SELECT, UNION, INTERSECT and EXCEPT are read here.", "SELECT … FROM …")
        for word in ("limit", "offset", "order"):
            if node.args.get(word) is not None:
                refuse_part(
                    node.args[word],
                    "Before an aggregate it would pick rows by what other units have.",
                    "ORDER BY and LIMIT at the end of the whole question.",
                )
        only(node, "expressions", "from_", "joins", "where", "group", "having", "distinct", "with_", "qualify")
        rows = Scalars(self.scope(node, self.named(node, named)), self.dialect)
        if node.args.get("qualify") is not None:
            if node.args.get("group") is not None:
                refuse_part(node.args["qualify"], "QUALIFY picks rows, and here are groups.", "HAVING")
            chosen = truth(rows.expression(node.args["qualify"].this), rows.scope)
            rows = Scalars(filtered(rows.scope, [chosen]), self.dialect)
        if node.args.get("group") is not None or any(map(contains_aggregate, node.expressions)):
            return self._per_unit(node, rows)
        if node.args.get("having") is not None:
            refuse_part(node.args["having"], "HAVING needs a GROUP BY.", "WHERE")
        node_of_all = self._plain(node, rows)
        return self._distinct(node, node_of_all) if node.args.get("distinct") is not None else node_of_all

    def named(self, node: exp.Expression, outer: dict[str, Named]) -> dict[str, Named]:
        """Collect the queries that WITH gives names to; a later one sees the earlier ones."""
        clause = node.args.get("with_")
        if clause is None:
            return outer
        only(clause, "expressions")
        tables = dict(outer)
        for common in clause.expressions:
            only(common, "this", "alias", "materialized")
            only(common.args["alias"], "this", "columns")
            # What it may refer to is fixed here, so that a name can be used again without a circle.
            query = _renamed(common.this, common.args["alias"])
            tables[name_of(common.args["alias"].this)] = Named(query, dict(tables))
        return tables

    def scope(self, select: exp.Select, named: dict[str, Named]) -> Scope:
        """Read FROM, JOIN and WHERE."""
        source = select.args.get("from_")
        if source is None:
            refuse("SELECT", why="It reads no table.", instead="SELECT … FROM a table.")
        only(source, "this")
        where = select.args.get("where")
        if where is not None:
            only(where, "this")
        conditions = [] if where is None else conjuncts(where.this)
        scope = self.source(source.this, named)
        if joins := select.args.get("joins"):
            scope, conditions = joined_all(self, scope, joins, conditions, named)
        scope = self.conditions(scope, conditions, named)
        if select.find(exp.Explode, exp.Unnest, exp.Window) is None:
            return scope
        return numbered(select, unnested(select, scope, self.dialect), self.dialect)

    def conditions(self, scope: Scope, conditions: list[exp.Expression], named: dict[str, Named]) -> Scope:
        """Apply the conditions that WHERE joins by AND: one step for those between two subqueries."""
        plain: list[Expression] = []
        for condition in conditions:
            if contains_aggregate(condition):
                refuse_part(condition, "WHERE is applied to rows, before aggregates.", "HAVING")
            if is_semi_join(condition):
                scope, plain = filtered(scope, plain), []
                scope = scope.on(semi_joined(self, scope, condition, named))
            else:
                plain.append(truth(Scalars(scope, self.dialect).expression(condition), scope))
        return filtered(scope, plain) if plain else scope

    def source(self, node: exp.Expression, named: dict[str, Named]) -> Scope:
        """Read a table, a named query or a subquery in FROM."""
        self.scans += 1
        if self.scans > _MOST_SCANS:
            refuse("FROM", why=f"More than {_MOST_SCANS} tables are read.", instead="a question with fewer.")
        if isinstance(node, exp.Subquery):
            only(node, "this", "alias")
            alias = "subquery" if node.args.get("alias") is None else _alias(node)
            return _visible(self.query(_renamed(node.this, node.args.get("alias")), named), alias)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            refuse_part(node, "Only tables of the policy are read, no files and no functions.", "FROM a table.")
        only(node, "this", "alias", "db", "catalog")
        schema = node.args.get("db")
        query = None if schema is not None else matching(node.this, named)
        if query is not None:
            inner = named[query]
            return _visible(self.query(inner.query, inner.seen), _alias(node) or query)
        name = table_named(self.policy, node)
        alias = _alias(node) or (node.name if schema else name)
        return replace(_visible(scanned(self.policy, name, self.verified), alias), tables={alias: name})

    def _plain(self, select: exp.Select, rows: Scalars) -> Project:
        """A SELECT without groups: one row for each."""
        columns: list[tuple[str, Expression]] = []
        for item in select.expressions:
            node, alias = alias_of(item)
            if alias is None and node.is_star:
                columns += rows.scope.all_columns(node)
                continue
            if alias is None and not isinstance(node, exp.Column):
                refuse_part(node, "A computed column of a subquery needs a name.", "expression AS name")
            expression = rows.expression(node)
            columns.append((alias or node.name, expression))
        _told_apart(select, [name for name, _ in columns])
        return Project(rows.scope.node, tuple(columns))

    def _distinct(self, select: exp.Select, project: Project) -> Node:
        """SELECT DISTINCT with the unit among the columns: one row per unit and value."""
        only(select.args["distinct"])
        if not project.private or not any(facts.unit for facts in project.schema.values()):
            refuse(
                "DISTINCT",
                why="Without the unit, rows of different units would be merged into one.",
                instead="SELECT DISTINCT with the unit column among the columns, or COUNT(DISTINCT …).",
            )
        return PerUnit(project, tuple(project.schema), ())

    def _per_unit(self, select: exp.Select, rows: Scalars) -> Node:
        """A SELECT grouped by the unit: one row per unit, and per other key."""
        if select.args.get("distinct") is not None:
            refuse("DISTINCT", why="Groups are distinct already.", instead="SELECT without DISTINCT.")
        keys = group_keys(select, rows)
        schema = rows.schema
        if not any(key.facts(schema).unit for key in keys):
            refuse(
                "a grouped subquery",
                why="Its groups mix the rows of different units, which only the outermost SELECT may do.",
                instead="GROUP BY the unit column, perhaps with others, in the subquery.",
            )
        child, names = _with_keys(rows.scope.node, keys)
        in_group = child.rows_in_group(frozenset(names))
        grouped: Grouped[UnitStatistic] = Grouped(
            rows,
            dict(zip(names, keys, strict=True)),
            unit_statistic_of,
            lambda part: part.facts(child.schema, in_group),
        )
        outputs: list[tuple[str, Expression]] = []
        for item in select.expressions:
            node, alias = alias_of(item)
            if alias is None and not isinstance(node, exp.Column):
                refuse_part(node, "A computed column of a subquery needs a name.", "expression AS name")
            outputs.append((alias or node.name, grouped.expression(node)))
            grouped.aliases[outputs[-1][0]] = outputs[-1][1]
        _told_apart(select, [name for name, _ in outputs])
        having = select.args.get("having")
        kept = None if having is None else grouped.expression(having.this)
        per_unit: Node = PerUnit(child, names, tuple(grouped.parts.items()))
        return Project(per_unit if kept is None else Filter(per_unit, kept), tuple(outputs))


def _told_apart(select: exp.Select, names: list[str]) -> None:
    """Refuse a name that AS gives if it differs from another in case only: m and M are one name unless quoted."""
    given = [item.args["alias"] for item in select.expressions if isinstance(item, exp.Alias)]
    alike: dict[str, set[str]] = {}
    for name in names:
        alike.setdefault(name.casefold(), set()).add(name)
    for name in [identifier.name for identifier in given if not identifier.args.get("quoted")]:
        if len(alike.get(name.casefold(), ())) > 1:
            refuse(
                name, why="Two columns have this name but for upper and lower case.", instead="another name for one."
            )


def _qualified(parts: list[exp.Identifier]) -> exp.Identifier:
    """The name of a table of another schema, as the policy has it: `schema.table`."""
    quoted = any(part.args.get("quoted") for part in parts)
    return exp.to_identifier(".".join(part.name for part in parts), quoted=bool(quoted))


def _renamed(query: exp.Expression, alias: exp.Expression | None) -> exp.Expression:
    """Name the columns of a subquery as its alias does: (SELECT …) AS t (a, b)."""
    names = [] if alias is None else alias.args.get("columns") or []
    first = query
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if not names or not isinstance(first, exp.Select):
        return query
    if len(names) != len(first.expressions) or any(item.is_star for item in first.expressions):
        refuse_part(
            names[0], "The names behind the alias are not as many as the columns.", "AS names within its SELECT."
        )
    renamed = [
        exp.Alias(this=alias_of(item)[0].copy(), alias=name.copy())
        for item, name in zip(first.expressions, names, strict=True)
    ]
    if first is query:
        query = query.copy()
        query.set("expressions", renamed)
        return query
    first.set("expressions", renamed)
    return query


def _alias(node: exp.Expression) -> str:
    alias = node.args.get("alias")
    if alias is None:
        return ""
    only(alias, "this", *(["columns"] if isinstance(node, exp.Subquery) else []))
    return name_of(alias.this)


def _visible(node: Node, alias: str) -> Scope:
    return Scope(node, {alias: {name: name for name in node.schema}})


def _with_keys(node: Node, keys: list[Expression]) -> tuple[Node, tuple[str, ...]]:
    """Add computed keys as columns; a key that is a column stays as it is."""
    names = tuple(key.name if isinstance(key, Column) else f"key {place}" for place, key in enumerate(keys))
    computed = [(name, key) for name, key in zip(names, keys, strict=True) if not isinstance(key, Column)]
    if not computed:
        return node, names
    return Project(node, (*((name, Column(name)) for name in node.schema), *computed)), names


def with_floats(left: Node, right: Node) -> tuple[Node, Node]:
    """Turn integer columns of either side into floats where the other side has floats.

    >>> from discreet.tables import Column as Declared, Table
    >>> one = Scan(Table("one", public=True, columns=[Declared("x", type="integer")]))
    >>> other = Scan(Table("other", public=True, columns=[Declared("x", type="float")]))
    >>> [side.schema["x"].kind.value for side in with_floats(one, other)]
    ['float', 'float']
    """
    if len(left.schema) != len(right.schema):
        return left, right
    return _as_floats(left, right), _as_floats(right, left)


def _as_floats(node: Node, other: Node) -> Node:
    """Turn integer columns into floats where the other side has floats."""
    pairs = list(zip(node.schema.items(), other.schema.values(), strict=True))
    wide = {name for (name, ours), theirs in pairs if (ours.kind, theirs.kind) == (Kind.INTEGER, Kind.FLOAT)}
    if not wide:
        return node
    columns = ((name, Cast((Column(name),), Kind.FLOAT) if name in wide else Column(name)) for name in node.schema)
    return Project(node, tuple(columns))
