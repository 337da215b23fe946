"""A plan in words: only public facts, so that it may be shown to anybody who may see the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.plans.expressions import Column, Literal, Released
from discreet.plans.nodes import BoundGroups, BoundRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.plans.expressions import Expression
    from discreet.plans.nodes import Aggregate, Node
    from discreet.plans.statistics import Snapped, Statistic
    from discreet.privacy.relations import Relation
    from discreet.tables.bounds import Bounds

__all__ = ["dropped_lines", "named", "relation_lines", "share_lines", "within", "written"]


def relation_lines(node: Node, depth: int = 1) -> Iterator[str]:
    r"""Describe a relation from its last step down to its tables, with the share of one unit.

    >>> from discreet.plans.nodes import Scan
    >>> from discreet.tables import Table
    >>> print(*relation_lines(BoundRows(Scan(Table("visits", unit="id")), 5)), sep="\n")
      keep at most 5 rows of each id · at most 5 rows of one id
        scan visits (private table, unit id) · any number of rows of one id
    """
    share = ""
    if node.private:
        rows = "any number of rows" if node.rows is None else f"at most {node.rows} row{'s' if node.rows > 1 else ''}"
        share = f" · {rows} of one {node.unit_kind}"
    yield f"{'  ' * depth}{node.describe()}{share}"
    for child in node.children:
        yield from relation_lines(child, depth + 1)


def share_lines(aggregate: Aggregate, neighbors: Relation) -> Iterator[str]:
    r"""Say how far one unit can move each statistic.

    >>> from discreet.plans.nodes import Aggregate, Scan
    >>> from discreet.plans.statistics import RowCount
    >>> from discreet.privacy import NeighborRelation
    >>> from discreet.tables import Table
    >>> people = Aggregate(Scan(Table("people", row_is_unit=True)), (), (RowCount(),))
    >>> print(*share_lines(people, NeighborRelation.ADD_REMOVE), sep="\n")
      rows: one unit moves one number by at most 1, all numbers together by at most 1
    """
    for statistic in aggregate.statistics:
        moved = aggregate.sensitivity(statistic, neighbors)
        yield (
            f"  {named(statistic)}: one unit moves one number by at most {moved.largest}, "
            f"all numbers together by at most {moved.l1}"
        )


def dropped_lines(aggregate: Aggregate) -> Iterator[str]:
    """Say what is left out, without saying how much: that would be a release."""
    bounds = [node for node in aggregate.child.walk() if isinstance(node, BoundRows | BoundGroups)]
    if bounds:
        yield "rows beyond these limits are left out; how many is not reported:"
        yield from (f"  {node.describe()}" for node in bounds)
    for key in aggregate.keys:
        if key.known is None:
            yield f"groups of {key.column} appear only if enough units are in them (partition selection, costs delta)"
        else:
            yield f"rows whose {key.column} is none of its {len(key.known)} known keys are left out"


def written(expression: Expression) -> str:
    """Write an expression as a line.

    >>> from discreet.plans.expressions import Add, Round
    >>> written(Round((Add((Column("cost"), Column("tax"))),), 1))
    'round 1(+(cost, tax))'
    """
    if isinstance(expression, Column):
        return expression.name
    if isinstance(expression, Released):
        return expression.name or "a released constant"
    if isinstance(expression, Literal):
        return repr(expression.value) if isinstance(expression.value, str) else str(expression.value)
    head, *rest = expression.canonical()
    settings = rest[: len(rest) - len(expression.operands)]
    return f"{' '.join(map(str, (head, *settings)))}({', '.join(map(written, expression.operands))})"


def within(bounds: Bounds) -> str:
    """Say between which bounds values are counted.

    >>> from discreet.tables.bounds import Bounds
    >>> within(Bounds(0, 500)), within(Bounds())
    (', within [0, 500]', '')
    """
    return "" if bounds.lower is None and bounds.upper is None else f", within {bounds}"


def named(statistic: Statistic) -> str:
    """Name a statistic by what it is of, and on which grid its integers count.

    >>> from discreet.plans.statistics import RowCount, ValueCount
    >>> named(RowCount()), named(ValueCount((Column("v0"),)))
    ('rows', 'values of v0')
    """
    factors: tuple[Snapped, ...] = getattr(statistic, "factors", ())
    of = " × ".join(written(factor.value) for factor in factors) or " and ".join(map(written, statistic.operands))
    steps = sorted({str(factor.step) for factor in factors} - {"1"})
    grid = f" in steps of {', '.join(steps)}" if steps else ""
    return _WORDS.get(statistic.symbol, statistic.symbol) + (f" of {of}" if of else "") + grid


_WORDS = {"moment": "sum", "distinct": "different values"}
