"""One spelling for what tools and databases write in several: names of functions, and of tables by their schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

__all__ = ["DEFAULT_SCHEMAS", "SEVERAL_SPELLINGS", "SPELLED", "dated", "respelled"]

SPELLED = "dialect"
"""Where a statement says how it is spelled."""

DEFAULT_SCHEMAS = frozenset({"main", "public", "default"})
"""The schemas that engines take where none is written: `public.visits` is `visits` unless the policy says otherwise."""


def respelled(statement: exp.Expression) -> exp.Expression:
    """Read what has another spelling: `VAR(x)` is `VARIANCE(x)`, `APPROX_COUNT_DISTINCT(x)` is `COUNT(DISTINCT x)`.

    An approximate count is allowed to be exact before it gets noise, and so is an approximate quantile.

    >>> from sqlglot import parse_one
    >>> respelled(parse_one("SELECT VAR(x), APPROX_COUNT_DISTINCT(y) FROM t", dialect="duckdb")).sql()
    'SELECT VARIANCE(x), COUNT(DISTINCT y) FROM t'
    """
    _drop_schemas(statement)
    _inline_constants(statement)
    for select in list(statement.find_all(exp.Select)):
        _lists_within(select)
    for fetch in list(statement.find_all(exp.Fetch)):
        options = fetch.args.get("limit_options")
        if options is None or not (options.args.get("percent") or options.args.get("with_ties")):
            fetch.replace(exp.Limit(expression=fetch.args.get("count") or exp.Literal.number(1)))
    for node in list(statement.find_all(exp.Func)):
        if node.parent is None:
            continue
        if isinstance(node, exp.Anonymous):
            named = _BY_NAME.get(node.name.lower())
            new = None if named is None or len(node.expressions) != 1 else named(node.expressions[0])
            if node.name.lower() in _MOMENT_NAMES and not node.expressions:
                new = exp.CurrentTimestamp()
        else:
            rule = _BY_KIND.get(type(node))
            new = None if rule is None else rule(node)  # type: ignore[arg-type]  # an expression by its rule
        if new is not None:
            node.replace(new)
    return statement


def dated(statement: exp.Expression, today: dt.date) -> bool:
    """Write the day that the policy declares for CURRENT_DATE, and its midnight for NOW(); tell whether one was asked.

    >>> import datetime as dt
    >>> from sqlglot import parse_one
    >>> asked = parse_one("SELECT CURRENT_DATE - born FROM t")
    >>> dated(asked, dt.date(2024, 7, 1)), asked.sql(dialect="duckdb")
    (True, "SELECT CAST('2024-07-01' AS DATE) - born FROM t")
    """
    found = list(statement.find_all(*_NOW))
    for node in found:
        kind = exp.DataType.Type.DATE if isinstance(node, exp.CurrentDate) else exp.DataType.Type.TIMESTAMP
        node.replace(exp.Cast(this=exp.Literal.string(today.isoformat()), to=exp.DataType(this=kind)))
    return bool(found)


_NOW = (exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp, exp.CurrentDatetime)


def _inline_constants(statement: exp.Expression) -> None:
    """(SELECT DATE '2024-01-01') is its constant."""
    for query in reversed(list(statement.find_all(exp.Subquery))):
        select = query.this
        if query.parent is None or not _bare(query, "this"):
            continue
        if isinstance(select, exp.Paren):
            query.replace(select)
        elif isinstance(select, exp.Select) and _is_constant(select):
            query.replace(exp.Paren(this=select.expressions[0]))


def _is_constant(select: exp.Select) -> bool:
    """Tell whether a SELECT reads no table and gives one value that is computed from nothing."""
    if not _bare(select, "expressions") or len(select.expressions) != 1:
        return False
    kinds = (exp.Column, exp.Star, exp.Alias, exp.AggFunc, exp.Window, exp.Query)
    return all(part is select for part in select.find_all(*kinds))


def _lists_within(select: exp.Select) -> None:
    """FROM t, UNNEST(…) AS u(x), and Spark's LATERAL VIEW explode(…) u AS x, are (SELECT *, UNNEST(…) AS x FROM t).

    The list belongs to the source that its columns name, or to the only one; else it stays, and is refused.
    """
    for node in [*(select.args.get("joins") or []), *(select.args.get("laterals") or [])]:
        lateral = node.this if isinstance(node, exp.Join) else node
        taken = lateral.this if isinstance(lateral, exp.Lateral) else lateral
        alias = lateral.args.get("alias")
        if not isinstance(taken, exp.Unnest | exp.Explode) or not isinstance(alias, exp.TableAlias):
            continue
        columns = alias.args.get("columns") or [alias.this]
        owner = _owner(taken, select)
        plain = isinstance(node, exp.Lateral) or not (node.args.get("on") or node.args.get("side"))
        if owner is None or len(columns) != 1 or not plain or lateral.args.get("outer"):
            continue
        for column in list(select.find_all(exp.Column)):
            if alias.this is not None and column.table.casefold() == alias.this.name.casefold():
                column.set("table", None)
        bare = taken.copy()
        bare.set("alias", None)
        name = exp.TableAlias(this=exp.to_identifier(owner.alias_or_name, quoted=True))
        rows = exp.Select(expressions=[exp.Star(), exp.Alias(this=bare, alias=columns[0].copy())])
        rows.set("from_", exp.From(this=owner.copy()))
        owner.replace(exp.Subquery(this=rows, alias=name))
        node.pop()


def _owner(taken: exp.Expression, select: exp.Select) -> exp.Expression | None:
    """The source whose columns a list is made of, as it stands there now."""
    places = [*([select.args["from_"]] if select.args.get("from_") else []), *(select.args.get("joins") or [])]
    sources = [place.this for place in places if isinstance(place.this, exp.Table | exp.Subquery)]
    names = {column.table.casefold() for column in taken.find_all(exp.Column)}
    if len(sources) == 1 and len(names) == 1:
        return sources[0]
    fitting = [source for source in sources if {source.alias_or_name.casefold()} == names]
    return fitting[0] if len(fitting) == 1 else None


def _drop_schemas(statement: exp.Expression) -> None:
    """A column of `schema.table` may be called `schema.table.column`, where that table is read under its own name."""
    tables = {
        (table.db.casefold(), table.name.casefold())
        for table in statement.find_all(exp.Table)
        if table.args.get("db") is not None and table.args.get("alias") is None
    }
    for column in statement.find_all(exp.Column):
        if column.args.get("db") is not None and (column.db.casefold(), column.table.casefold()) in tables:
            column.set("db", None)
            column.set("catalog", None)


def _bare(node: exp.Expression, *read: str) -> bool:
    """Tell whether a node has no arguments but those that are read."""
    return all(name in read or not value for name, value in node.args.items())


def _distinct(node: exp.Expression) -> exp.Expression | None:
    return exp.Count(this=exp.Distinct(expressions=[node.this])) if _bare(node, "this") else None


def _quantile(node: exp.Expression) -> exp.Expression | None:
    if not _bare(node, "this", "quantile") or node.args.get("quantile") is None:
        return None
    return exp.Quantile(this=node.this, quantile=node.args["quantile"])


def _where(value: exp.Expression, other: exp.Expression) -> exp.Expression:
    """A value where another one is not NULL."""
    there = exp.Not(this=exp.Is(this=other.copy(), expression=exp.Null()))
    return exp.Case(ifs=[exp.If(this=there, true=value.copy())])


def _slope(node: exp.Expression) -> exp.Expression:
    y, x = node.this, node.expression
    together = exp.CovarPop(this=y.copy(), expression=x.copy())
    return exp.Paren(this=exp.Div(this=together, expression=exp.VariancePop(this=_where(x, y))))


def _regression(node: exp.Expression) -> exp.Expression | None:
    """REGR_SLOPE(y, x) and its like: over rows in which both are there."""
    whole = all(isinstance(node.args.get(word), exp.Expression) for word in ("this", "expression"))
    if not whole or not _bare(node, "this", "expression") or isinstance(node.parent, exp.Filter):
        return None
    y, x = node.this, node.expression
    if isinstance(node, exp.RegrSlope):
        return _slope(node)
    if isinstance(node, exp.RegrCount):
        return exp.Count(this=_where(x, y))
    if isinstance(node, exp.RegrR2):
        return exp.Pow(this=exp.Corr(this=y.copy(), expression=x.copy()), expression=exp.Literal.number(2))
    if isinstance(node, exp.RegrAvgx | exp.RegrAvgy):
        return exp.Avg(this=_where(x, y) if isinstance(node, exp.RegrAvgx) else _where(y, x))
    line = exp.Mul(this=_slope(node), expression=exp.Avg(this=_where(x, y)))
    return exp.Paren(this=exp.Sub(this=exp.Avg(this=_where(y, x)), expression=line))


_REGRESSIONS = (exp.RegrSlope, exp.RegrIntercept, exp.RegrCount, exp.RegrR2, exp.RegrAvgx, exp.RegrAvgy)

_MOMENT_NAMES = {"now", "getdate", "sysdate", "current_timestamp", "transaction_timestamp", "get_current_timestamp"}
_BY_NAME: dict[str, Callable[[exp.Expression], exp.Expression]] = {
    "mean": lambda x: exp.Avg(this=x),
    "std": lambda x: exp.Stddev(this=x),
    "var": lambda x: exp.Variance(this=x),
    "variance_samp": lambda x: exp.Variance(this=x),
    "approx_median": lambda x: exp.Median(this=x),
    "approx_distinct": lambda x: exp.Count(this=exp.Distinct(expressions=[x])),
    "countif": lambda x: exp.CountIf(this=x),
}
_BY_KIND: dict[type[exp.Expr], Callable[[exp.Expression], exp.Expression | None]] = {
    exp.ApproxDistinct: _distinct,
    exp.ApproxQuantile: _quantile,
    **dict.fromkeys(_REGRESSIONS, _regression),
}

SEVERAL_SPELLINGS = frozenset({exp.Anonymous, exp.Fetch, exp.Lateral, exp.Subquery, exp.Unnest, *_BY_KIND})
"""The parts that `respelled` looks for, beside names with a schema: without any of them it changes nothing."""
