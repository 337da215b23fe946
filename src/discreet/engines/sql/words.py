"""The few SQL constructs that engines may use, as sqlglot trees, and the gate that every statement passes.

Functions are written by name and operators one by one; nothing is parsed and nothing is translated from another
dialect, so no translation can lose a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp
from sqlglot.errors import ErrorLevel

if TYPE_CHECKING:
    from collections.abc import Collection

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
    "written",
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

_ALLOWED: frozenset[type[exp.Expression]] = frozenset(
    {
        *_OPERATORS.values(),
        *(exp.Alias, exp.And, exp.Anonymous, exp.Boolean, exp.Case, exp.Cast, exp.Collate, exp.Column, exp.Count),
        *(
            exp.DataType,
            exp.Distinct,
            exp.Exists,
            exp.Extract,
            exp.From,
            exp.Group,
            exp.Identifier,
            exp.If,
            exp.In,
            exp.Is,
        ),
        *(exp.Join, exp.Literal, exp.Neg, exp.Not, exp.Null, exp.Offset, exp.Or, exp.Order, exp.Ordered, exp.Paren),
        *(exp.Select, exp.Star, exp.Subquery, exp.Table, exp.TableAlias, exp.TryCast, exp.Union, exp.Where),
        *(exp.Window, exp.Kwarg, exp.PropertyEQ, exp.Var),
    }
)

_TRY_CAST = {"duckdb", "databricks"}


def _own(part: SQL) -> SQL:
    """Give a part to the tree that is being built: itself, or a copy if it stands in a tree already."""
    return part if part.parent is None else part.copy()


def column(name: str, of: str | None = None) -> SQL:
    """Name a column, always quoted."""
    return exp.column(exp.to_identifier(name, quoted=True), table=None if of is None else exp.to_identifier(of))


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
    found = parts[0].copy()
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
    return exp.Alias(this=_own(value), alias=exp.to_identifier(name, quoted=True))


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


def written(statement: SQL, dialect: str, functions: Collection[str]) -> str:
    r"""Write a statement as text, after checking that it is made of allowed parts only.

    >>> written(select([call("md5", string("a"))], table("t")), "duckdb", {"md5"})
    'SELECT md5(\'a\') FROM "t"'
    >>> written(select([call("read_text", string("a"))], table("t")), "duckdb", {"md5"})
    Traceback (most recent call last):
    ...
    ValueError: the function read_text is not on the list of an engine's functions
    """
    for part in statement.walk():
        if type(part) not in _ALLOWED:
            msg = f"the construct {type(part).__name__} is not on the list of an engine's constructs"
            raise ValueError(msg)
        if isinstance(part, exp.TryCast) and dialect not in _TRY_CAST:
            msg = f"sqlglot writes TRY_CAST as CAST for {dialect}, which would raise errors that depend on data"
            raise ValueError(msg)
        if isinstance(part, exp.Anonymous) and part.name not in functions:
            msg = f"the function {part.name} is not on the list of an engine's functions"
            raise ValueError(msg)
    return statement.sql(dialect=dialect, unsupported_level=ErrorLevel.RAISE, normalize_functions=False, copy=False)
