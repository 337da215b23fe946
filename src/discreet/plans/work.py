"""How much work the rows of one unit can make, counted in steps from public facts alone.

A bound on what each operator does for a row is not enough: an analyst can aim many operators at one person, and join
the rows of that person with each other, so that a question takes seconds longer only if the person has some value. What
is bounded is the product, over the whole question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.plans.expressions import Column
from discreet.plans.limits import MOST_STEPS, MOST_STEPS_PER_ROW
from discreet.plans.nodes import BoundGroups, BoundRows, Join, PerUnit, SemiJoin
from discreet.plans.refusals import refuse

if TYPE_CHECKING:
    from discreet.plans.nodes import Node

__all__ = ["require_little_work", "steps_per_unit"]

_UNKNOWN_ROWS = MOST_STEPS // MOST_STEPS_PER_ROW
"""Where no limit on rows is public, each row may take what it may take in a table of many rows."""

_OF_ROW = 20
"""To hand a row on takes engines as long as to look at some tens of characters."""


def require_little_work(relation: Node) -> None:
    """Refuse a relation in which the rows of one unit can make much more work than it takes to read them.

    All rows of a unit may take `MOST_STEPS` together, or `MOST_STEPS_PER_ROW` for each row that the unit can have in
    the tables, if that is more. A person with many rows is slower to read in any case; how many it can be is public.
    """
    steps, most = steps_per_unit(relation), max(MOST_STEPS, MOST_STEPS_PER_ROW * _stored(relation))
    if steps > most:
        refuse(
            "the question",
            why=f"The rows of one {relation.unit_kind} may take {steps} steps there, more than {most}: the time of the "
            "question could tell of them.",
            instead="fewer or shorter patterns, SUBSTRING(x, 1, 100) for a long text x, a subquery grouped by the unit "
            "on one side of a join, or a smaller max_length or rows_per_unit in the policy.",
        )


def steps_per_unit(relation: Node) -> int:
    """Bound the steps that all rows of one unit take in a relation: for each node, its rows times what it does for one.

    >>> from discreet.plans.expressions import Like
    >>> from discreet.plans.nodes import BoundRows, Filter, Scan
    >>> from discreet.tables import Column as Declared, Table
    >>> visits = BoundRows(Scan(Table("visits", unit="id", columns=[Declared("note", type="text")])), 20)
    >>> steps_per_unit(Filter(visits, Like((Column("note"),), "%acute%"))) - steps_per_unit(visits)
    41380
    """
    stored = _stored(relation)
    return sum(_passing(node, stored) * _of_row(node) for node in relation.walk() if node.private)


def _passing(node: Node, stored: int) -> int:
    """How many rows of a unit pass a node: those that come in, or those that go out, if they are more."""
    known = [stored if each.rows is None else each.rows for each in (node, *node.children) if each.private]
    return max(known)


def _of_row(node: Node) -> int:
    """The steps that a node takes for a row."""
    if isinstance(node, Join | SemiJoin):
        return _OF_ROW + sum(node.left.schema[ours].size for ours, _ in node.on)
    keys = node.keys if isinstance(node, PerUnit | BoundGroups) else ()
    computed = [part for each in (*map(Column, keys), *node.expressions) for part in each.walk()]
    return _OF_ROW + sum(part.steps(node.children[0].schema) for part in computed)


def _stored(node: Node) -> int:
    """The most rows that a unit can have in the tables below, each as often as it is read."""
    if isinstance(node, BoundRows) and node.child.rows is None:
        return node.limit
    return sum(_stored(child) for child in node.children if child.private) or node.rows or _UNKNOWN_ROWS
