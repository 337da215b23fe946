"""What a statement is before it is split, and what its shell is before it runs, in other words of the same meaning."""

from __future__ import annotations

from sqlglot import exp

__all__ = ["keys_alone", "total"]


def keys_alone(statement: exp.Expression) -> exp.Expression:
    """SELECT state … INTERSECT SELECT state …, at the end, asks for keys on both sides, as DISTINCT does.

    UNION ALL would show rows, and so it stays what is refused.

    >>> from discreet.plans.sql.reading import read_statement
    >>> keys_alone(read_statement("SELECT a FROM s INTERSECT SELECT a FROM t")).sql()
    'SELECT a FROM s GROUP BY a INTERSECT SELECT a FROM t GROUP BY a'
    """
    if not isinstance(statement, exp.SetOperation) or not statement.args.get("distinct"):
        return statement
    copy = statement.copy()
    copy.meta.update(statement.meta)
    for side in (copy.this, copy.expression):
        if isinstance(side, exp.SetOperation):
            side.replace(keys_alone(side))
        elif isinstance(side, exp.Select) and side.args.get("group") is None and side.args.get("distinct") is None:
            shown = [item.this if isinstance(item, exp.Alias) else item for item in side.expressions]
            if all(isinstance(node, exp.Column) and not node.is_star for node in shown):
                side.set("group", exp.Group(expressions=[node.copy() for node in shown]))
    return copy


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
