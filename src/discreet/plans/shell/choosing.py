"""Conditions that choose whole groups by what is released: they hold after the groups as well as before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.shell.relations import Free, found, source_name
from discreet.plans.sql.conditions import conjuncts
from discreet.plans.sql.reading import matching

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.plans.shell.relations import Relation

__all__ = ["chosen_afterwards"]


def chosen_afterwards(
    select: exp.Select,
    read: Mapping[str, Relation],
    is_key: Callable[[exp.Expression], bool],
    is_released: Callable[[exp.Expression], bool],
) -> exp.Select:
    """Move what chooses groups by their key from WHERE and JOIN to HAVING: `key IN (SELECT …)` of what is released.

    A group has one key, so all of its rows fulfill such a condition or none. A join with a released table of one key
    for each row, on that key, and with no other of its columns, is such a condition too; of a column that is no key of
    the groups it is one of the rows, `column IN (SELECT …)` in WHERE.

    >>> from discreet.plans.sql.reading import read_statement
    >>> text = "SELECT ward, COUNT(*) AS n FROM visits WHERE ward IN (SELECT ward FROM top) AND cost > 0 GROUP BY ward"
    >>> moved = chosen_afterwards(read_statement(text), {}, lambda node: node.name == "ward", lambda query: True)
    >>> moved.args["where"].sql(), moved.args["having"].sql()
    ('WHERE cost > 0', 'HAVING ward IN (SELECT ward FROM top)')
    """
    copy = select.copy()
    moved, before = _of_joins(copy, read, is_key)
    moved = [*_of_where(copy, is_key, is_released), *moved]
    if not (moved or before):
        return select
    for word, kind, parts in (("having", exp.Having, moved), ("where", exp.Where, before)):
        if parts:
            clause = copy.args.get(word)
            given = [] if clause is None else [clause.this]
            copy.set(word, kind(this=exp.and_(*given, *parts, copy=False)))
    return copy


def _of_where(
    select: exp.Select, is_key: Callable[[exp.Expression], bool], is_released: Callable[[exp.Expression], bool]
) -> list[exp.Expression]:
    where = select.args.get("where")
    if where is None:
        return []
    moved: list[exp.Expression] = []
    kept: list[exp.Expression] = []
    for part in conjuncts(where.this):
        inner = part.this if isinstance(part, exp.Not) else part
        query = inner.args.get("query") if isinstance(inner, exp.In) else None
        chooses = query is not None and is_key(inner.this) and is_released(query)
        (moved if chooses else kept).append(part)
    if moved:
        select.set("where", exp.Where(this=exp.and_(*kept, copy=False)) if kept else None)
    return moved


def _of_joins(
    select: exp.Select, read: Mapping[str, Relation], is_key: Callable[[exp.Expression], bool]
) -> tuple[list[exp.Expression], list[exp.Expression]]:
    """The conditions on groups, and those on rows."""
    moved: list[exp.Expression] = []
    before: list[exp.Expression] = []
    kept: list[exp.Expression] = []
    for join in select.args.get("joins") or []:
        name = source_name(join.this)
        relation = read.get(name)
        released = isinstance(relation, Free) and not relation.public
        pair = _pair(join, name, relation, read) if isinstance(relation, Free) and released else None
        if pair is None or _is_used(select, name, join):
            kept.append(join)
            continue
        key, column = pair
        query = exp.Select(expressions=[exp.column(exp.to_identifier(column, quoted=True))])
        query.set("from_", exp.From(this=join.this.copy()))
        chosen = moved if is_key(key) else before
        chosen.append(exp.In(this=key.copy(), query=exp.Subquery(this=query)))
    if moved or before:
        select.set("joins", kept or None)
    return moved, before


def _pair(join: exp.Join, name: str, relation: Free, read: Mapping[str, Relation]) -> tuple[exp.Expression, str] | None:
    """The column of rows and the released table's one key that an inner join says are equal."""
    if join.side or join.kind not in {"", "INNER"} or join.args.get("method"):
        return None
    keys = [column for column, lineage in relation.columns.items() if lineage.exact]
    using, on = join.args.get("using") or [], join.args.get("on")
    while isinstance(on, exp.Paren):
        on = on.this
    if len(using) == 1 and on is None:
        column = exp.column(using[0].copy())
        return (column, keys[0]) if keys == [found(using[0], relation)] else None
    if not isinstance(on, exp.EQ):
        return None
    for theirs, ours in ((on.this, on.expression), (on.expression, on.this)):
        if isinstance(theirs, exp.Column) and keys == [found(theirs.this, relation)]:
            table = theirs.args.get("table")
            named = matching(table, [name]) if table is not None else _is_alone(theirs, name, read)
            if named:
                return ours, keys[0]
    return None


def _is_alone(column: exp.Column, name: str, read: Mapping[str, Relation]) -> bool:
    """Whether no other source has a column of this name."""
    return not any(found(column.this, relation) for other, relation in read.items() if other != name)


def _is_used(select: exp.Select, name: str, join: exp.Join) -> bool:
    """Whether columns of a source are named anywhere but in its own join."""
    inside = {id(part) for part in join.walk()}
    columns = (column for column in select.find_all(exp.Column) if id(column) not in inside)
    return any(column.args.get("table") is not None and matching(column.args["table"], [name]) for column in columns)
