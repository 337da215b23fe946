"""Constants that the shell compares with released keys must be among them, as in the rows below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import QueryRefused
from discreet.plans.expressions import Column, Equal, NotEqual
from discreet.plans.normal import aligned
from discreet.plans.sql.constants import constant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from discreet.plans.expressions import Literal, Operation
    from discreet.plans.expressions.expression import Facts
    from discreet.plans.shell.lineage import Sources
    from discreet.plans.shell.shell import Core

__all__ = ["require_released_keys"]

_EQUALITIES = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif)


def require_released_keys(select: exp.Select, sources: Sources, cores: Mapping[str, Core]) -> None:
    """Refuse a comparison of a released key with a constant that is none of those that the policy lists.

    The shell is free, but what is below it is paid for: `HAVING ward = 'surgary'` pays for groups that nobody sees.

    >>> from discreet.plans.shell.splitting import split_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="id", rows_per_unit=2, columns=[Column("ward", keys=["cardiology", "surgery"])])
    >>> wards = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    >>> split_sql(Policy([visits], epsilon=3), f"SELECT n FROM ({wards}) WHERE ward = 'surgary'")
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: 'surgary': It is compared with a column that has keys, and is none of them. Write \
instead: 'surgery'; the keys are 'cardiology', 'surgery'.
    """
    for kind, column, other in _compared(select):
        facts, value = _key(column, sources, cores), _constant(other)
        if facts is not None and value is not None:
            aligned(kind((Column("key"), value)), {"key": facts})


def _compared(select: exp.Select) -> Iterator[tuple[type[Operation], exp.Expression, exp.Expression]]:
    """Give the comparisons for equality of a SELECT, without those of its subqueries: each with its two sides."""
    for node in select.walk(prune=lambda part: isinstance(part, exp.Query) and part is not select):
        sides: list[tuple[exp.Expression, exp.Expression]] = []
        if isinstance(node, _EQUALITIES):
            sides = [(node.this, node.expression), (node.expression, node.this)]
        elif isinstance(node, exp.In):
            sides = [(node.this, choice) for choice in node.expressions]
        elif isinstance(node, exp.Case) and node.this is not None:
            sides = [(node.this, branch.this) for branch in node.args["ifs"]]
        kind = NotEqual if isinstance(node, exp.NEQ) else Equal
        yield from ((kind, column, other) for column, other in sides)


def _key(node: exp.Expression, sources: Sources, cores: Mapping[str, Core]) -> Facts | None:
    """What is known of a key that a core released, if the node is nothing but that."""
    column = node.unnest()
    source = sources.find(column).source if isinstance(column, exp.Column) else None
    return None if source is None or source[0] not in cores else cores[source[0]].plan.columns.get(source[1])


def _constant(node: exp.Expression) -> Literal | None:
    try:
        return constant(node)
    except QueryRefused:
        return None
