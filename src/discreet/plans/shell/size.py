"""How many rows a shell may have to make: seen from the statement, before anything is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plans.sql.reading import refuse_part

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MOST_ROWS_MADE", "require_size"]

MOST_ROWS_MADE = 50_000_000
"""A shell that would join tables to more rows than these is refused; what is not seen is stopped when it runs."""

_UNKNOWN = 1000
"""A table of unknown size, such as groups that are found in the data, is taken for one of so many rows."""


def require_size(statement: exp.Expression, sizes: Mapping[str, int]) -> None:
    """Refuse a shell whose joins may make too many rows; `sizes` are the numbers of rows that are known beforehand.

    A join with an equality is taken for one that finds few partners.

    >>> from discreet.plans.sql.reading import read_statement
    >>> require_size(read_statement("SELECT 1 FROM core1 AS a JOIN core1 AS b ON a.x = b.x"), {"core1": 10_000})
    >>> require_size(read_statement("SELECT 1 FROM core1 AS a, core1 AS b"), {"core1": 10_000})
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: SELECT 1 FROM core1 AS a, core1 AS b: It would make about 100,000,000 rows of ...
    """
    known = dict(sizes)
    for common in statement.find_all(exp.CTE):
        known[common.alias] = _rows(common.this, known)
    for select in statement.find_all(exp.Select):
        made = _joined(select, known)
        if made > MOST_ROWS_MADE:
            why = f"It would make about {made:,} rows of what was released."
            refuse_part(select, why, "ON with columns that are equal, or LIMIT in a subquery.")


def _rows(node: exp.Expr, sizes: Mapping[str, int]) -> int:
    """About how many rows a source or query has."""
    if isinstance(node, exp.Table):
        return _series(node.this) if isinstance(node.this, exp.Func) else sizes.get(node.name, _UNKNOWN)
    if isinstance(node, exp.Subquery | exp.CTE):
        return _rows(node.this, sizes)
    if isinstance(node, exp.SetOperation):
        return _rows(node.this, sizes) + _rows(node.expression, sizes)
    if isinstance(node, exp.Values | exp.Unnest):
        series = node.expressions if isinstance(node, exp.Unnest) else []
        return max(map(_series, series), default=len(node.expressions))
    if not isinstance(node, exp.Select):
        return _UNKNOWN
    limit = node.args.get("limit")
    most = _number(limit.expression) if isinstance(limit, exp.Limit) else None
    made = _joined(node, sizes)
    return made if most is None else min(made, most)


def _joined(select: exp.Select, sizes: Mapping[str, int]) -> int:
    """About how many rows FROM and its joins make."""
    source = select.args.get("from_")
    if source is None:
        return 1
    made = _rows(source.this, sizes)
    for join in select.args.get("joins") or []:
        other = _rows(join.this, sizes)
        condition = join.args.get("on")
        equal = bool(join.args.get("using")) or (condition is not None and condition.find(exp.EQ) is not None)
        where = select.args.get("where")
        equal = equal or (condition is None and where is not None and where.find(exp.EQ) is not None)
        made = max(made, other) if equal else made * max(other, 1)
    return made


def _series(node: exp.Expr) -> int:
    """How many numbers generate_series or range makes; an unknown number where its ends are no numbers."""
    if isinstance(node, exp.Array):
        return len(node.expressions)
    first, last = _number(node.args.get("start")), _number(node.args.get("end"))
    step = _number(node.args.get("step")) or 1
    if first is None or last is None:
        return _UNKNOWN
    return max(0, abs(last - first) // max(abs(step), 1) + 1)


def _number(node: object) -> int | None:
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    return int(node.name) if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() else None
