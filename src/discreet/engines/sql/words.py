"""The few SQL constructs that engines may use, as sqlglot trees.

Functions are written by name and operators one by one; nothing is parsed and nothing is translated from another
dialect, so no translation can lose a bound.
"""

from __future__ import annotations

from typing import TypeAlias

from sqlglot import exp

__all__ = [
    "SQL",
    "alias",
    "all_of",
    "any_of",
    "between",
    "binary",
    "call",
    "case",
    "cast",
    "clamp",
    "column",
    "is_null",
    "join",
    "listed",
    "negated",
    "not_null",
    "null",
    "number",
    "over",
    "product",
    "select",
    "string",
    "table",
    "try_cast",
]

SQL: TypeAlias = exp.Expression

_OPERATORS: dict[str, type[exp.Expression]] = {
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "/": exp.Div,
    "//": exp.IntDiv,
    "%": exp.Mod,
    "&": exp.BitwiseAnd,
    ">>": exp.BitwiseRightShift,
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
    "||": exp.DPipe,
    "like": exp.Like,
    "is distinct from": exp.NullSafeNEQ,
}


def _own(part: SQL) -> SQL:
    """Give a part to the tree that is being built: itself, or a copy if it stands in a tree already."""
    if part.parent is None:
        return part
    if isinstance(part, exp.Column) and part.args.get("table") is None:
        return column(part.name)  # the usual case, faster than a copy
    return part.copy()


def column(name: str, of: str | None = None) -> SQL:
    """Name a column, always quoted."""
    found = exp.Column(this=exp.Identifier(this=name, quoted=True))
    if of is not None:
        found.set("table", exp.to_identifier(of))
    return found


def table(*path: str) -> SQL:
    """Name a table by the parts of its path, always quoted."""
    parts = [exp.to_identifier(part, quoted=True) for part in path]
    names = dict(zip(("this", "db", "catalog"), reversed(parts), strict=False))
    return exp.Table(**names)


def string(text: str) -> SQL:
    """Write a text constant."""
    return exp.Literal.string(text)


def number(value: int) -> SQL:
    """Write a whole number."""
    return exp.Literal.number(value) if value >= 0 else exp.Paren(this=exp.Neg(this=exp.Literal.number(-value)))


def null() -> SQL:
    """Write NULL."""
    return exp.Null()


def call(name: str, *operands: SQL) -> SQL:
    """Call a function by its name; the gate knows which names are allowed."""
    return exp.Anonymous(this=name, expressions=[_own(operand) for operand in operands])


def binary(symbol: str, left: SQL, right: SQL) -> SQL:
    """Apply an operator, in parentheses."""
    kind = _OPERATORS[symbol]
    extra = {"typed": True, "safe": False} if kind is exp.Div else {}
    return exp.Paren(this=kind(this=_own(left), expression=_own(right), **extra))


def product(factors: list[SQL]) -> SQL:
    """Multiply one or two numbers."""
    return factors[0] if len(factors) == 1 else binary("*", *factors)


def join(symbol: str, parts: list[SQL]) -> SQL:
    """Chain an operator from the left."""
    found = parts[0]
    for part in parts[1:]:
        found = binary(symbol, found, part)
    return found


def _connected(kind: type[exp.Expression], parts: list[SQL]) -> SQL:
    found = _own(parts[0])
    for part in parts[1:]:
        found = kind(this=found, expression=_own(part))
    return exp.Paren(this=found)


def all_of(parts: list[SQL]) -> SQL:
    """AND."""
    return _connected(exp.And, parts)


def any_of(parts: list[SQL]) -> SQL:
    """OR."""
    return _connected(exp.Or, parts)


def negated(value: SQL) -> SQL:
    """NOT."""
    return exp.Paren(this=exp.Not(this=_own(value)))


def is_null(value: SQL) -> SQL:
    """IS NULL."""
    return exp.Paren(this=exp.Is(this=_own(value), expression=exp.Null()))


def not_null(value: SQL) -> SQL:
    """IS NOT NULL."""
    return exp.Paren(this=exp.Not(this=is_null(value)))


def between(value: SQL, low: SQL, high: SQL) -> SQL:
    """Tell whether a value lies between two others, ends included."""
    return all_of([binary("<=", low, value), binary("<=", value, high)])


def clamp(value: SQL, low: SQL, high: SQL) -> SQL:
    """Bring a value that is not NULL between two others; NULL stays NULL.

    LEAST and GREATEST pass over NULL on every engine here, so they alone would turn NULL into a bound.
    """
    inside = between(value, low, high)  # first: engines skip the other branches for rows that the first one takes
    return case((inside, value), (binary("<", value, low), low), (binary(">", value, high), high), default=value)


def case(*branches: tuple[SQL, SQL], default: SQL | None = None) -> SQL:
    """CASE WHEN … THEN … ELSE … END."""
    ifs = [exp.If(this=_own(condition), true=_own(value)) for condition, value in branches]
    return exp.Case(ifs=ifs, default=_own(default or exp.Null()))


def _type(name: str) -> SQL:
    return exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=name)


def cast(value: SQL, name: str) -> SQL:
    """CAST to a type of the engine, by its own name; only where no value can fail."""
    return exp.Cast(this=_own(value), to=_type(name))


def try_cast(value: SQL, name: str) -> SQL:
    """CAST that gives NULL instead of an error; for engines that have it."""
    return exp.TryCast(this=_own(value), to=_type(name))


def listed(value: SQL, choices: list[SQL]) -> SQL:
    """IN a list of constants."""
    return exp.Paren(this=exp.In(this=_own(value), expressions=choices))


def over(function: SQL, partition: list[SQL], order: list[SQL]) -> SQL:
    """Call a window function."""
    ordered = [exp.Ordered(this=_own(each), nulls_first=None) for each in order]
    return exp.Window(
        this=function,
        partition_by=[_own(each) for each in partition],
        order=exp.Order(expressions=ordered) if ordered else None,
    )


def alias(value: SQL, name: str) -> SQL:
    """Name a column of a result."""
    return exp.Alias(this=_own(value), alias=exp.Identifier(this=name, quoted=True))


def select(
    columns: list[SQL], source: SQL, *, where: SQL | None = None, group: list[SQL] | None = None, name: str = "t"
) -> exp.Select:
    """SELECT columns FROM a table or a subquery; a table of which no column is declared still has rows to count."""
    if isinstance(source, exp.Select | exp.Union):
        source = exp.Subquery(this=source, alias=exp.TableAlias(this=exp.to_identifier(name)))
    found = exp.Select(expressions=columns or [alias(number(1), "one")], from_=exp.From(this=source))
    if where is not None:
        found.set("where", exp.Where(this=_own(where)))
    if group:
        found.set("group", exp.Group(expressions=[_own(each) for each in group]))
    return found
