"""The few SQL constructs that engines may use, as sqlglot trees, and the gate that every statement passes.

Functions are written by name and operators one by one; nothing is parsed and nothing is translated from another
dialect, so no translation can lose a bound. Made of allowed parts only, a statement becomes text. Most parts are
written here, as sqlglot would write them, at a fraction of its time; the rest by sqlglot itself. A test compares both
on all statements of many questions, for every engine.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import Dialect as Glot
from sqlglot import exp
from sqlglot.errors import ErrorLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

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


def _own(part: SQL) -> SQL:
    """Give a part to the tree that is being built: itself, or a copy if it stands in a tree already."""
    if part.parent is None:
        return part
    if isinstance(part, exp.Column) and part.args.get("table") is None:
        return column(part.name)  # the usual case, faster than a copy
    return part.copy()


def column(name: str, of: str | None = None) -> SQL:
    """Name a column, always quoted."""
    written = exp.Column(this=exp.Identifier(this=name, quoted=True))
    if of is not None:
        written.set("table", exp.to_identifier(of))
    return written


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
    joined = parts[0]
    for part in parts[1:]:
        joined = binary(symbol, joined, part)
    return joined


def _connected(kind: type[exp.Expression], parts: list[SQL]) -> SQL:
    joined = _own(parts[0])
    for part in parts[1:]:
        joined = kind(this=joined, expression=_own(part))
    return exp.Paren(this=joined)


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
    """Call a window function; what is to fall says so itself."""
    ordered = [
        part if isinstance(part, exp.Ordered) else exp.Ordered(this=_own(part), nulls_first=None) for part in order
    ]
    return exp.Window(
        this=function,
        partition_by=[_own(part) for part in partition],
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
    query = exp.Select(expressions=columns or [alias(number(1), "one")], from_=exp.From(this=source))
    if where is not None:
        query.set("where", exp.Where(this=_own(where)))
    if group:
        query.set("group", exp.Group(expressions=[_own(key) for key in group]))
    return query


_SYMBOLS: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.BitwiseAnd: "&",
}
"""Operators that all engines write alike."""

_ELSEWHERE: frozenset[type[exp.Expression]] = frozenset(
    {
        *(exp.Collate, exp.Div, exp.Extract, exp.IntDiv, exp.Kwarg, exp.Like, exp.NullSafeNEQ, exp.Order, exp.Ordered),
        *(exp.BitwiseRightShift, exp.PropertyEQ, exp.Var),
    }
)
"""What sqlglot writes: engines differ in it, or it is rare."""

_SIMPLE = re.compile(r"[0-9A-Za-z .:+-]*")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TRY_CAST = {"duckdb", "databricks"}


def written(statement: SQL, dialect: str, functions: Collection[str]) -> str:
    r"""Write a statement as text, after checking that it is made of allowed parts only.

    >>> from discreet.engines.sql.words import call, select, string, table
    >>> written(select([call("md5", string("a"))], table("t")), "duckdb", {"md5"})
    'SELECT md5(\'a\') FROM "t"'
    >>> written(select([call("read_text", string("a"))], table("t")), "duckdb", {"md5"})
    Traceback (most recent call last):
    ...
    ValueError: the function read_text is not on the list of an engine's functions
    """
    return _Writer(dialect, functions).text(statement)


class _Writer:
    """Writes allowed parts; an argument of a part that no handler reads is refused, so none can get lost."""

    def __init__(self, dialect: str, functions: Collection[str]) -> None:
        self._dialect = dialect
        self._functions = functions
        self._quote, self._end = _quotes(dialect)

    def text(self, part: SQL) -> str:
        return self._checked(part)(self, part)

    @staticmethod
    def _checked(part: SQL) -> _Handler:
        """Give the handler of a part that has no arguments but those that it reads."""
        handler, known = _HANDLERS.get(type(part), _OTHERWISE)
        if known is not None:
            for name, value in part.args.items():
                if value and name not in known:
                    msg = f"the argument {name} of {type(part).__name__} is not on the list of an engine's constructs"
                    raise ValueError(msg)
        return handler

    def listed(self, parts: list[SQL]) -> str:
        return ", ".join([self.text(part) for part in parts])

    def by_sqlglot(self, part: SQL) -> str:
        for inner in part.walk():
            self._check(inner)
        return part.sql(
            dialect=self._dialect, unsupported_level=ErrorLevel.RAISE, normalize_functions=False, copy=False
        )

    def _check(self, part: exp.Expr) -> None:
        if type(part) not in _ALLOWED:
            msg = f"the construct {type(part).__name__} is not on the list of an engine's constructs"
            raise ValueError(msg)
        if isinstance(part, exp.TryCast) and self._dialect not in _TRY_CAST:
            msg = f"sqlglot writes TRY_CAST as CAST for {self._dialect}, which would raise errors that depend on data"
            raise ValueError(msg)
        if isinstance(part, exp.Anonymous) and part.name not in self._functions:
            msg = f"the function {part.name} is not on the list of an engine's functions"
            raise ValueError(msg)

    def binary(self, part: SQL) -> str:
        return f"{self.text(part.args['this'])} {_SYMBOLS[type(part)]} {self.text(part.args['expression'])}"

    def connected(self, part: SQL) -> str:
        kind, word = type(part), " AND " if isinstance(part, exp.And) else " OR "
        parts = []
        while type(part) is kind:  # chains lean to the left, and may be long
            parts.append(self.text(part.args["expression"]))
            part = part.args["this"]
        return word.join([self.text(part), *reversed(parts)])

    def paren(self, part: SQL) -> str:
        return f"({self.text(part.args['this'])})"

    def identifier(self, part: SQL) -> str:
        name = part.args["this"]
        if not part.args.get("quoted") and _NAME.fullmatch(name):
            return str(name)
        return f"{self._quote}{name.replace(self._end, self._end * 2)}{self._end}"

    def column(self, part: SQL) -> str:
        of = part.args.get("table")
        name = self.text(part.args["this"])
        return name if of is None else f"{self.text(of)}.{name}"

    def alias(self, part: SQL) -> str:
        return f"{self.text(part.args['this'])} AS {self.text(part.args['alias'])}"

    def literal(self, part: SQL) -> str:
        value = part.args["this"]
        if not part.args["is_string"]:
            return str(value)
        return f"'{value}'" if _SIMPLE.fullmatch(value) else self.by_sqlglot(part)

    def boolean(self, part: SQL) -> str:
        return "TRUE" if part.args["this"] else "FALSE"

    def table(self, part: SQL) -> str:
        named = [self.text(part.args[word]) for word in ("catalog", "db", "this") if part.args.get(word)]
        alias = part.args.get("alias")
        return ".".join(named) + ("" if alias is None else f" AS {self.text(alias)}")

    def window(self, part: SQL) -> str:
        within, order = part.args.get("partition_by"), part.args.get("order")
        clauses = [f"PARTITION BY {self.listed(within)}"] if within else []
        if order:
            clauses.append(self.ordered(order))
        return f"{self.text(part.args['this'])} OVER ({' '.join(clauses)})"

    def ordered(self, part: SQL) -> str:
        return f"ORDER BY {', '.join([self._in_order(expression) for expression in part.args['expressions']])}"

    def _in_order(self, part: SQL) -> str:
        """Where NULLs go is written differently by engines; sqlglot is asked once for each name of a column."""
        by, others = part.args["this"], [value for name, value in part.args.items() if name != "this"]
        if type(by) is exp.Column and by.args.get("table") is None and not any(others):
            return _rising(self._dialect, by.args["this"].args["this"])
        return self.by_sqlglot(part)

    def null(self, part: SQL) -> str:  # noqa: ARG002 - there is one
        return "NULL"

    def star(self, part: SQL) -> str:  # noqa: ARG002 - there is one
        return "*"

    def case(self, part: SQL) -> str:
        branches = " ".join([self.text(branch) for branch in part.args["ifs"]])
        return f"CASE {branches} ELSE {self.text(part.args['default'])} END"

    def branch(self, part: SQL) -> str:
        return f"WHEN {self.text(part.args['this'])} THEN {self.text(part.args['true'])}"

    def cast(self, part: SQL) -> str:
        self._check(part)
        word = "TRY_CAST" if isinstance(part, exp.TryCast) else "CAST"
        return f"{word}({self.text(part.args['this'])} AS {self.text(part.args['to'])})"

    def kind(self, part: SQL) -> str:
        own = part.args["this"] is exp.DataType.Type.USERDEFINED
        return str(part.args["kind"]) if own else self.by_sqlglot(part)

    def call(self, part: SQL) -> str:
        self._check(part)
        return f"{part.args['this']}({self.listed(part.args['expressions'])})"

    def count(self, part: SQL) -> str:
        return f"COUNT({self.text(part.args['this'])})"

    def distinct(self, part: SQL) -> str:
        return f"DISTINCT {self.listed(part.args['expressions'])}"

    def negation(self, part: SQL) -> str:
        return f"NOT {self.text(part.args['this'])}"

    def minus(self, part: SQL) -> str:
        return f"-{self.text(part.args['this'])}"

    def same(self, part: SQL) -> str:
        return f"{self.text(part.args['this'])} IS {self.text(part.args['expression'])}"

    def among(self, part: SQL) -> str:
        return f"{self.text(part.args['this'])} IN ({self.listed(part.args['expressions'])})"

    def exists(self, part: SQL) -> str:
        return f"EXISTS({self.text(part.args['this'])})"

    def subquery(self, part: SQL) -> str:
        alias = part.args.get("alias")
        return f"({self.text(part.args['this'])})" + ("" if alias is None else f" AS {self.text(alias)}")

    def named(self, part: SQL) -> str:
        return self.text(part.args["this"])

    def union(self, part: SQL) -> str:
        return f"{self.text(part.args['this'])} UNION ALL {self.text(part.args['expression'])}"

    def source(self, part: SQL) -> str:
        return f" FROM {self.text(part.args['this'])}"

    def join(self, part: SQL) -> str:
        side = part.args.get("side")
        word = f" {side} JOIN" if side else " JOIN"
        return f"{word} {self.text(part.args['this'])} ON {self.text(part.args['on'])}"

    def where(self, part: SQL) -> str:
        return f" WHERE {self.text(part.args['this'])}"

    def group(self, part: SQL) -> str:
        return f" GROUP BY {self.listed(part.args['expressions'])}"

    def offset(self, part: SQL) -> str:
        return f" OFFSET {self.text(part.args['expression'])}"

    def select(self, part: SQL) -> str:
        """Write layer upon layer in a loop: there may be more of them than functions can call themselves."""
        before, after = "", ""
        while True:
            before += f"SELECT {self.listed(part.args['expressions'])} FROM "  # noqa: S608 - what the gate lets through
            after = self._clauses(part) + after
            self._checked(part.args["from_"])
            source = part.args["from_"].args["this"]
            if type(source) is not exp.Subquery or type(source.args["this"]) is not exp.Select:
                return before + self.text(source) + after
            self._checked(source)
            alias, part = source.args.get("alias"), source.args["this"]
            self._checked(part)
            before += "("
            after = (")" if alias is None else f") AS {self.text(alias)}") + after

    def _clauses(self, part: SQL) -> str:
        """Write what stands behind FROM."""
        args = part.args
        text = "".join([self.text(joined) for joined in args.get("joins") or ()])
        for clause in ("where", "group"):
            if args.get(clause):
                text += self.text(args[clause])
        if args.get("order"):
            text += f" {self.ordered(args['order'])}"
        return text + (self.text(args["offset"]) if args.get("offset") else "")


_Handler: TypeAlias = "Callable[[_Writer, SQL], str]"

_RULES: list[tuple[type[exp.Expression], _Handler, str]] = [
    *[(kind, _Writer.binary, "this expression") for kind in _SYMBOLS],
    (exp.Alias, _Writer.alias, "this alias"),
    (exp.And, _Writer.connected, "this expression"),
    (exp.Anonymous, _Writer.call, "this expressions"),
    (exp.Boolean, _Writer.boolean, "this"),
    (exp.Case, _Writer.case, "ifs default"),
    (exp.Cast, _Writer.cast, "this to"),
    (exp.Column, _Writer.column, "this table"),
    (exp.Count, _Writer.count, "this"),
    (exp.DataType, _Writer.kind, "this kind"),
    (exp.Distinct, _Writer.distinct, "expressions"),
    (exp.Exists, _Writer.exists, "this"),
    (exp.From, _Writer.source, "this"),
    (exp.Group, _Writer.group, "expressions"),
    (exp.Identifier, _Writer.identifier, "this quoted"),
    (exp.If, _Writer.branch, "this true"),
    (exp.In, _Writer.among, "this expressions"),
    (exp.Is, _Writer.same, "this expression"),
    (exp.Join, _Writer.join, "this on side"),
    (exp.Literal, _Writer.literal, "this is_string"),
    (exp.Neg, _Writer.minus, "this"),
    (exp.Not, _Writer.negation, "this"),
    (exp.Null, _Writer.null, ""),
    (exp.Offset, _Writer.offset, "expression"),
    (exp.Or, _Writer.connected, "this expression"),
    (exp.Paren, _Writer.paren, "this"),
    (exp.Select, _Writer.select, "expressions from_ joins where group order offset"),
    (exp.Star, _Writer.star, ""),
    (exp.Subquery, _Writer.subquery, "this alias"),
    (exp.Table, _Writer.table, "this db catalog alias"),
    (exp.TableAlias, _Writer.named, "this"),
    (exp.TryCast, _Writer.cast, "this to"),
    (exp.Union, _Writer.union, "this expression"),
    (exp.Where, _Writer.where, "this"),
    (exp.Window, _Writer.window, "this partition_by order over"),
]
_HANDLERS: dict[type[exp.Expression], tuple[_Handler, frozenset[str] | None]] = {
    kind: (handler, frozenset(arguments.split())) for kind, handler, arguments in _RULES
}
_OTHERWISE: tuple[_Handler, None] = (_Writer.by_sqlglot, None)
_ALLOWED = frozenset({*_HANDLERS, *_ELSEWHERE})


@lru_cache(maxsize=256)
def _rising(dialect: str, name: str) -> str:
    """Write a quoted column to sort by, in rising order."""
    by = exp.Column(this=exp.Identifier(this=name, quoted=True))
    return _Writer(dialect, ()).by_sqlglot(exp.Ordered(this=by, nulls_first=None))


@lru_cache
def _quotes(dialect: str) -> tuple[str, str]:
    dialect_class = Glot.get_or_raise(dialect)
    return dialect_class.IDENTIFIER_START, dialect_class.IDENTIFIER_END
