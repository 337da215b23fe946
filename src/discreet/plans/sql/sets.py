"""UNION, INTERSECT and EXCEPT of rows that belong to units, and rows that UNNEST makes of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from discreet.plans import expressions as e
from discreet.plans.nodes import Filter, Keep, Node, Numbered, PerUnit, Project, SemiJoin, UnionAll
from discreet.plans.normal import aligned
from discreet.plans.sql.constants import text_of, whole_of
from discreet.plans.sql.expressions import PART, Scalars, numbered_as
from discreet.plans.sql.reading import Scope, only, refuse_part
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression

__all__ = ["combined", "numbered", "unnested"]

_MOST_PARTS = 20


def combined(node: exp.SetOperation, left: Node, right: Node) -> Node:
    """Read UNION [ALL], INTERSECT and EXCEPT; columns by position.

    Without ALL rows that are equal are one. Where the unit is among their columns, on both sides, equal rows are rows
    of one unit, so each unit's rows are merged by themselves: `PerUnit` over all columns. INTERSECT and EXCEPT keep
    those with, or without, an equal row on the other side, which is a row of the same unit (`SemiJoin` on the unit).
    """
    only(node, "this", "expression", "with_", "distinct")
    if isinstance(node, exp.Union):
        both = UnionAll(left, right)
        return _merged(node, both) if node.args.get("distinct") else both
    if not node.args.get("distinct"):
        refuse_part(node, "ALL is answered for UNION only.", "the same without ALL.")
    if len(left.schema) != len(right.schema):
        refuse_part(node, "Both sides need the same number of columns.", "the same columns on both sides.")
    pairs = tuple(zip(left.schema, right.schema, strict=True))
    for ours, theirs in pairs:
        if left.schema[ours].nullable and right.schema[theirs].nullable:
            instead = "unit IN (SELECT unit …), or NOT IN; or WHERE … IS NOT NULL on one side."
            refuse_part(node, "NULLs count as equal there, and a comparison of columns leaves them out.", instead)
    keep = Keep.MATCHED if isinstance(node, exp.Intersect) else Keep.UNMATCHED
    return SemiJoin(_merged(node, left), right, pairs, keep)


def _merged(node: exp.SetOperation, rows: Node) -> Node:
    """One row for each value of all columns."""
    if not rows.private or not any(facts.unit for facts in rows.schema.values()):
        _refuse_merging(node)
    return PerUnit(rows, tuple(rows.schema), ())


def _refuse_merging(node: exp.SetOperation) -> NoReturn:
    instead = "the unit among the columns of both sides; or UNION ALL."
    refuse_part(node, "Without the unit among its columns it would merge rows of different units.", instead)


def unnested(select: exp.Select, scope: Scope, dialect: str) -> Scope:
    """Give each row as often as UNNEST(STRING_SPLIT(x, ',')[1:3]) has parts, three at most, each with one of them.

    Stability. Every part makes a relation of its own, of the rows that have so many parts; all of them are put under
    each other. A unit has as many rows as all of these together: the bound on the parts times its rows.
    """
    lists = [node for item in select.expressions for node in item.find_all(exp.Explode, exp.Unnest)]
    if not lists:
        return scope
    if len(lists) > 1:
        refuse_part(lists[1], "One list is taken apart at a time.", "a subquery for the first.")
    node = lists[0]
    split, first, last = _bounds_of(node, dialect)
    value = aligned(Scalars(scope, dialect).translate(split.this), scope.node.schema)
    sought = text_of(split.expression)
    parts: Node | None = None
    for place in range(first, last + 1):
        one = _one_part(scope.node, value, sought, place, empty=dialect != "postgres")
        parts = one if parts is None else UnionAll(parts, one)
    assert parts is not None  # noqa: S101 - there is a first place
    return Scope(parts, scope.sources, scope.merged | {PART: PART}, scope.tables)


def _bounds_of(node: exp.Expression, dialect: str) -> tuple[exp.Expression, int, int]:
    """The split text, and its first and last part that are taken."""
    inner = node.this if isinstance(node, exp.Explode) else node.expressions[0] if node.expressions else None
    low: exp.Expression | None = None
    high: exp.Expression | None = None
    counted = False
    if isinstance(inner, exp.ArraySlice):
        only(inner, "this", "start", "end", "is_length")
        counted = bool(inner.args.get("is_length"))  # Spark's SLICE says how many
        low, high, inner = inner.args.get("start"), inner.args.get("end"), inner.this
    elif isinstance(inner, exp.Bracket) and len(inner.expressions) == 1 and isinstance(inner.expressions[0], exp.Slice):
        low, high, inner = inner.expressions[0].this, inner.expressions[0].expression, inner.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if not isinstance(inner, exp.Split | exp.StringToArray | exp.RegexpSplit):
        refuse_part(node, "Of lists those are taken apart that a text is split into.", _EXAMPLE)
    if high is None:
        refuse_part(node, "Nothing bounds how many rows of a unit it makes.", _EXAMPLES.get(dialect, _EXAMPLE))
    sought = text_of(inner.expression)
    if isinstance(inner, exp.RegexpSplit) and any(char in "\\[](){}.*+?^$|" for char in sought):
        refuse_part(node, "In Spark the separator is a pattern, and this one is no plain text.", "',' for example.")
    # sqlglot counts the slices of every dialect from where that dialect counts: DuckDB, PostgreSQL and Spark from 1.
    first, last = 1 if low is None else whole_of(low), whole_of(high)
    if counted:
        last += first - 1
    if not 1 <= first <= last <= _MOST_PARTS:
        refuse_part(node, f"Parts are counted from 1, and {_MOST_PARTS} are taken at most.", _EXAMPLE)
    return inner, first, last


_EXAMPLE = "UNNEST(STRING_SPLIT(x, ',')[1:3])"
_EXAMPLES = {
    "postgres": "UNNEST((STRING_TO_ARRAY(x, ','))[1:3])",
    "spark": "EXPLODE(SLICE(SPLIT(x, ','), 1, 3))",
}


def _one_part(node: Node, value: Expression, sought: str, place: int, *, empty: bool) -> Node:
    """The rows whose text has so many parts, each with that part; an empty text has one part, or none."""
    gone = e.Subtract((e.Length((value,)), e.Length((e.Replace((value,), sought, ""),))))
    there: Expression = e.LessOrEqual((e.Literal((place - 1) * len(sought), Kind.INTEGER), gone))
    if not empty:
        there = e.And((there, e.NotEqual((value, e.Literal("", Kind.TEXT)))))
    columns = [(name, e.Column(name)) for name in node.schema if name != PART]
    part = e.SplitPart((value,), sought, place)
    return Project(Filter(node, there), (*columns, (PART, part)))


def numbered(select: exp.Select, scope: Scope, dialect: str) -> Scope:
    """Number the rows of each unit, for every ROW_NUMBER() OVER (PARTITION BY unit … ORDER BY …) of a SELECT.

    Other windows are left for who reads them: over released values they are answered, over rows refused.
    """
    clauses = [*select.expressions, *([select.args["qualify"]] if select.args.get("qualify") else [])]
    for window in [node for item in clauses for node in item.find_all(exp.Window)]:
        within = window.args.get("partition_by") or []
        if not isinstance(window.this, exp.RowNumber) or numbered_as(window) in scope.merged:
            continue
        if not all(isinstance(part, exp.Column) and scope.find(part) is not None for part in within):
            continue
        names = [scope.column(part).name for part in within if isinstance(part, exp.Column)]
        if scope.node.private and any(scope.node.schema[name].unit for name in names):
            scope = _numbered(window, scope, tuple(dict.fromkeys(names)), dialect)
    return scope


def _numbered(window: exp.Window, scope: Scope, keys: tuple[str, ...], dialect: str) -> Scope:
    """Add a column with the numbers, found by the window's own words."""
    only(window, "this", "partition_by", "order", "over")
    only(window.this)
    order: list[tuple[str, bool]] = []
    computed: list[tuple[str, Expression]] = []
    clause = window.args.get("order")
    for item in [] if clause is None else clause.expressions:
        only(item, "this", "desc", "nulls_first")
        value = Scalars(scope, dialect).expression(item.this)
        if not isinstance(value, e.Column):
            computed.append((f"order {len(scope.node.schema) + len(computed)}", value))
            value = e.Column(computed[-1][0])
        order.append((value.name, bool(item.args.get("desc"))))
    node = scope.node
    if computed:
        node = Project(node, (*((name, e.Column(name)) for name in node.schema), *computed))
    name = f"number {len(node.schema)}"
    return Scope(
        Numbered(node, name, keys, tuple(order)),
        scope.sources,
        scope.merged | {numbered_as(window): name},
        scope.tables,
    )
