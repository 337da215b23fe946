"""What a statement is before it is split, and what its shell is before it runs, in other words of the same meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["keys_alone", "total"]


def keys_alone(statement: exp.Expression) -> exp.Expression:
    """SELECT state … INTERSECT SELECT state …, at the end, asks for keys on both sides, as DISTINCT does.

    Both must be columns of tables alone. UNION ALL would show rows, and so it stays what is refused.

    >>> from discreet.plans.sql.reading import read_statement
    >>> keys_alone(read_statement("SELECT a FROM s INTERSECT SELECT a FROM t")).sql()
    'SELECT a FROM s GROUP BY a INTERSECT SELECT a FROM t GROUP BY a'
    """
    if not isinstance(statement, exp.SetOperation):
        return statement
    sides = list(_sides(statement))
    if not all(isinstance(side, exp.Select) and _is_plain(side) for side in sides):
        return statement
    copy = statement.copy()
    copy.meta.update(statement.meta)
    for side in _sides(copy):
        side.set("group", exp.Group(expressions=[_bare(item).copy() for item in side.expressions]))
    return copy


def _sides(statement: exp.Expression) -> Iterator[exp.Expression]:
    """What UNION, INTERSECT and EXCEPT without ALL put together; another statement is itself."""
    if isinstance(statement, exp.SetOperation) and statement.args.get("distinct"):
        yield from _sides(statement.this)
        yield from _sides(statement.expression)
    else:
        yield statement


def _is_plain(select: exp.Select) -> bool:
    """Whether it shows columns of tables, and no more."""
    sources = [select.args["from_"].this] if select.args.get("from_") is not None else []
    sources += [join.this for join in select.args.get("joins") or []]
    bare = not any(select.args.get(word) for word in ("group", "distinct", "having", "qualify", "limit", "offset"))
    columns = all(isinstance(_bare(item), exp.Column) and not item.is_star for item in select.expressions)
    return bare and columns and bool(sources) and all(isinstance(source, exp.Table) for source in sources)


def _bare(item: exp.Expression) -> exp.Expression:
    return item.this if isinstance(item, exp.Alias) else item


def total(shell: exp.Expression) -> exp.Expression:
    """A cast that fails is NULL, as in cores, and so are logarithms and roots of what has none: noise goes below 0.

    >>> from discreet.plans.sql.reading import read_statement
    >>> total(read_statement("SELECT CAST(a AS INT), SQRT(b) FROM core1")).sql()
    'SELECT TRY_CAST(a AS INT), SQRT(CASE WHEN b >= 0 THEN b END) FROM core1'
    """
    for cast in list(shell.find_all(exp.Cast)):
        if type(cast) is exp.Cast:
            cast.replace(exp.TryCast(**cast.args))
    zero = exp.Literal.number(0)
    for log in list(shell.find_all(exp.Ln, exp.Log)):
        word = "expression" if log.args.get("expression") is not None else "this"
        above = exp.Greatest(this=log.args[word].copy(), expressions=[zero.copy()])
        log.set(word, exp.Nullif(this=above, expression=zero.copy()))
    for root in list(shell.find_all(exp.Sqrt)):
        if root.this.find(exp.Sqrt) is None:  # what is written twice would double with each root in a root
            root.set("this", exp.Case().when(exp.GTE(this=root.this.copy(), expression=zero.copy()), root.this))
    return shell
