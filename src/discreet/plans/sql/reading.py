"""From text to one syntax tree, the tools that read it by allow-list, and which names a part of it can see."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from discreet.errors import ParameterError, QueryRefused
from discreet.exact import shown
from discreet.plans.expressions import Column
from discreet.plans.limits import DEEPEST, MOST_PARTS
from discreet.plans.refusals import refuse
from discreet.plans.sql.spelling import SEVERAL_SPELLINGS, SPELLED, respelled
from discreet.tables.kinds import is_writable
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlglot import Token

    from discreet.plans.nodes import Node

__all__ = [
    "DIALECTS",
    "Named",
    "Scope",
    "matching",
    "name_of",
    "only",
    "part",
    "read_expression",
    "read_statement",
    "refuse_part",
]

DIALECTS = ("duckdb", "postgres", "spark")
"""How a question may be spelled; its meaning is always that of `docs/explanation/plans.md`."""

# What the parser has to say of a question is no business of who runs the program; without this it is printed.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

_EXAMPLE = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
_LONGEST = 50_000
_DEEPEST = 32
"""So many parentheses, brackets and CASEs stand within each other at most: the parser takes 23 calls for each."""
_DEEPEST_TREE = 3 * DEEPEST
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_ONE_AFTER_THE_OTHER = {
    (TokenType.R_BRACKET, TokenType.L_BRACKET),
    (TokenType.R_PAREN, TokenType.DOT),
    (TokenType.ARRAY, TokenType.LT),
    (TokenType.MAP, TokenType.LT),
    (TokenType.STRUCT, TokenType.LT),
}
"""x[1][1], x.f().f() and ARRAY<ARRAY< are trees as deep as they are long, and the parser's time grows faster."""
_CLAUSE = ("{word} is not answered here.", "the same without it.")
_CLAUSES = {
    "db": ("No table of this schema is read here.", "the column's name with that of its table alone: visits.ward"),
    "catalog": ("No table of this database is read here.", "the table's name alone."),
    "sample": ("A sample of the rows would be chance, and noise is added by the release.", "the whole table."),
    "hint": ("Hints to an optimizer are not read.", "the question without /*+ … */."),
    "expressions": ("It takes fewer values here.", "the same with one of them."),
    "safe": ("This form is not answered here.", "the plain form, which gives NULL where it has no value."),
    "laterals": (
        "LATERAL is answered for a split text of one table, with a bound on its parts.",
        "LATERAL VIEW explode(slice(split(x, ','), 1, 3)) t AS part; or a JOIN with a subquery grouped by the unit.",
    ),
    "offset": ("OFFSET would leave out groups by their noisy values' order.", "LIMIT with a larger number."),
    "qualify": ("QUALIFY picks rows by a window over other units' rows.", "HAVING, or ORDER BY … LIMIT at the end."),
    "windows": ("Windows over rows are not answered.", "the same without WINDOW, grouped by the keys."),
    "recursive": ("A query that reads itself may never end.", "WITH without RECURSIVE."),
    "columns": ("Names in parentheses behind an alias are not read.", "AS names within its SELECT."),
}
"""What is said of clauses by the parser's name for them; others are named by that."""
_MATCHES = {"~", "~*"}
_LONGEST_PART = 80
_BEFORE = 60  # so many characters are shown before the place at which a question is not understood


def read_statement(text: str, dialect: str = "duckdb") -> exp.Expression:
    """Parse a single statement.

    >>> type(read_statement("SELECT COUNT(*) FROM visits")).__name__
    'Select'
    """
    if dialect not in DIALECTS:
        msg = f"dialect is {shown(dialect)}; it must be one of {', '.join(DIALECTS)}."
        raise ParameterError(msg)
    if not isinstance(text, str):
        msg = f"a question is a text, not a {type(text).__name__}."
        raise ParameterError(msg)
    if len(text) > _LONGEST or not is_writable(text):
        why = f"It is longer than {_LONGEST} characters, or holds what is no character."
        refuse("the question", why=why, instead="a shorter one, without zeros and halves of surrogate pairs.")
    try:
        language = sqlglot.Dialect.get_or_raise(dialect)
        tokens = language.tokenize(text)
        _plain(tokens, dialect)
        if _nesting(tokens) > _DEEPEST:
            _refuse_nesting()
        statements = [statement for statement in language.parser().parse(tokens, text) if statement is not None]
    except QueryRefused:
        raise
    except RecursionError:  # other words may be nested as well: NOT NOT NOT x
        _refuse_nesting()
    except (SqlglotError, ValueError, IndexError, AttributeError, TypeError, KeyError) as error:
        raise _not_understood(text, dialect, error) from None
    if len(statements) != 1:
        refuse("the question", why="Exactly one statement is read.", instead="one SELECT, without anything after a ;.")
    has_several_spellings = _require_small(statements[0])
    for function in statements[0].find_all(exp.Func):
        _require_whole(function)
    statements[0].meta[SPELLED] = dialect
    return respelled(statements[0]) if has_several_spellings else statements[0]  # type: ignore[arg-type,return-value]


def _require_whole(function: exp.Func) -> None:
    """Refuse what lacks a value: the parser takes YEAR() where the function has no form of its own."""
    if any(needed and function.args.get(name) is None for name, needed in function.arg_types.items()):
        refuse("a function", why="It lacks a value that it is a function of.", instead="YEAR(x), for example.")


def _plain(tokens: list[Token], dialect: str) -> None:
    """Drop comments: a remark of who wrote the question, or of a tool, means nothing. Refuse an operator of two."""
    for token in tokens:
        token.comments = []
        if dialect == "duckdb" and token.text in _MATCHES and token.token_type is not TokenType.STRING:
            why = "In DuckDB ~ matches all of a text, elsewhere a part of it."
            refuse("~", why=why, instead="REGEXP_MATCHES(x, 'part') or REGEXP_FULL_MATCH(x, 'all of it').")


def _not_understood(text: str, dialect: str, error: Exception) -> QueryRefused:
    """Refuse a text that is no question, with the line at which it is not understood any more and a mark at the word.

    The parser's own message quotes the text and may be long.
    """
    others = " or ".join(f"dialect={other!r}" for other in DIALECTS if other != dialect)
    instead = f"a question such as {_EXAMPLE}; or give {others}, if it is spelled so."
    refusal = QueryRefused("the question", why=f"It is not understood as {dialect} SQL.", instead=instead)
    for place in error.errors[:1] if isinstance(error, ParseError) else ():
        number, last, word = place.get("line"), place.get("col"), place.get("highlight") or ""
        lines = text.splitlines()
        if isinstance(number, int) and isinstance(last, int) and 1 <= number <= len(lines):
            first = max(0, last - len(word))
            start = max(0, first - _BEFORE)
            line = lines[number - 1][start : start + _LONGEST_PART]
            mark = "^" * max(1, min(len(word), _LONGEST_PART - _BEFORE))
            refusal.add_note(f"  {line}\n  {' ' * (first - start)}{mark}")
    return refusal


def _nesting(tokens: list[Token]) -> int:
    """Count how many parentheses, brackets and CASEs stand within each other, or after each other as one value."""
    deepest = depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        deepest = max(deepest, depth)
    kinds = [token.token_type for token in tokens]
    return max(deepest, sum(pair in _ONE_AFTER_THE_OTHER for pair in pairwise(kinds)))


def _refuse_nesting() -> NoReturn:
    why = f"More than {_DEEPEST} parentheses, subqueries or CASEs stand within each other, or other words do."
    refuse("the question", why=why, instead="a flatter question; WITH gives a subquery a name.")


def _require_small(statement: exp.Expr) -> bool:
    """Refuse what has too many parts, or is nested so deeply that no function could walk through it by calling itself.

    AND and OR of many parts are chains that lean to the left, which are read as one. Tell whether a part may have
    another spelling.
    """
    parts, level, several = 0, [statement], False
    for _ in range(_DEEPEST_TREE):
        parts += len(level)
        several = several or any(type(node) in SEVERAL_SPELLINGS or node.args.get("db") for node in level)
        if parts > MOST_PARTS or not level:
            break
        level = [child for node in level for child in _below(node)]
    if parts > MOST_PARTS:
        refuse("the question", why=f"It has more than {MOST_PARTS} parts.", instead="a smaller one.")
    if level:
        why = f"More than {DEEPEST} operations or subqueries stand within each other; each term of a sum is one."
        instead = "a flatter question: (a + b) + (c + d) for a + b + c + d."
        refuse("the question", why=why, instead=instead)
    return several


def _below(node: exp.Expr) -> list[exp.Expr]:
    """Give what stands directly in a part, the operands of a chain at once."""
    return [*chained(node)] if isinstance(node, exp.And | exp.Or) else list(node.iter_expressions())


def chained(node: exp.Expression) -> list[exp.Expression]:
    """Give the operands of a AND b AND c, or of a OR b OR c, in their order.

    >>> [each.sql() for each in chained(read_expression("a AND b AND (c OR d)"))]
    ['a', 'b', '(c OR d)']
    """
    kind, parts = type(node), list[exp.Expression]()
    while type(node) is kind:
        only(node, "this", "expression")
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def read_expression(text: str, dialect: str = "duckdb") -> exp.Expression:
    """Parse the condition or expression that stands in a Python question.

    >>> type(read_expression("age > 40")).__name__
    'GT'
    """
    statement = read_statement(f"SELECT {text}", dialect)
    if not isinstance(statement, exp.Select) or len(statement.expressions) != 1:
        refuse(shown(text), why="It is not a single expression.", instead="age > 40")
    only(statement, "expressions")
    expression: exp.Expression = statement.expressions[0]
    return expression


def part(node: exp.Expression | None) -> str:
    """Print a part of the question, for a message, as it is spelled; functions such as COUNT() lack an argument."""
    if node is None:
        return "nothing, as an argument"
    try:
        text = node.sql(dialect=node.root().meta.get(SPELLED, "duckdb"))
    except (SqlglotError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return node.key.upper()
    text = text.removeprefix(", ")  # a comma join
    return text if len(text) <= _LONGEST_PART else text[:_LONGEST_PART] + "…"


def only(node: exp.Expression, *allowed: str) -> None:
    """Refuse a node that carries anything beyond what the caller reads: nothing is ignored in silence."""
    for name, value in node.args.items():
        if name not in allowed and not _empty(value):
            why, instead = _CLAUSES.get(name, _CLAUSE)
            refuse_part(node, why.format(word=name.strip("_").replace("_", " ").upper()), instead)


def _empty(value: object) -> bool:
    return value is None or value is False or (isinstance(value, list) and not value)


def refuse_part(node: exp.Expression, why: str, instead: str) -> NoReturn:
    """Refuse a part of the question by its own text."""
    refuse(part(node), why=why, instead=instead)


def words(names: Iterable[str]) -> str:
    """List names for a message."""
    return ", ".join(names)


def name_of(identifier: exp.Expression) -> str:
    """Read a name; a quoted one counts as it is written."""
    name = identifier.name
    if not name or not name.isprintable():
        refuse(repr(name)[:80], why="Names are printable.", instead="another name.")
    return name


def matching(identifier: exp.Expression, known: Iterable[str]) -> str | None:
    """Find a known name: exactly as written, or without regard to case if only one fits, as DuckDB and Spark do."""
    name, names = identifier.name, list(known)
    if name in names:
        return name
    fits = [tried for tried in names if tried.casefold() == name.casefold()]
    return fits[0] if len(fits) == 1 else None


@dataclass(frozen=True)
class Named:
    """A query that WITH gave a name, and the names that it can see itself: those before it."""

    query: exp.Expression
    seen: dict[str, Named]


@dataclass(frozen=True)
class Scope:
    """A relation under construction; for each source in FROM, its visible columns with their names in the relation."""

    node: Node
    sources: dict[str, dict[str, str]]
    merged: dict[str, str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    """The tables of the policy that sources are as they are."""

    def find(self, column: exp.Column) -> str | None:
        """Give a column's name in the relation, or None if this scope does not know it."""
        only(column, "this", "table")
        table = column.args.get("table")
        if table is not None:
            source = matching(table, self.sources)
            if source is None:
                return None
            name = matching(column.this, self.sources[source])
            return None if name is None else self.sources[source][name]
        shared = matching(column.this, self.merged)
        if shared is not None:
            return self.merged[shared]
        fitting = [
            columns[name] for columns in self.sources.values() if (name := matching(column.this, columns)) is not None
        ]
        if len(fitting) > 1:
            refuse_part(column, "Several tables have a column of this name.", f"table.{column.name}")
        return fitting[0] if fitting else None

    def column(self, column: exp.Column) -> Column:
        """Resolve a column, or refuse it with the names that there are."""
        fitting = self.find(column)
        if fitting is None:
            names = sorted({name for columns in self.sources.values() for name in columns})
            near = hint(column.name, names)
            refuse_part(
                column,
                "There is no such column here (a subquery sees its own tables only)." + near,
                f"one of {', '.join(names) or 'no columns'}.",
            )
        return Column(fitting)

    def all_columns(self, star: exp.Expression) -> list[tuple[str, Column]]:
        """Give the columns that * or table.* stands for: those that are declared, each under its own name."""
        if isinstance(star, exp.Column):
            only(star, "this", "table")
            only(star.this)
            source = matching(star.args["table"], self.sources)
            if source is None:
                refuse_part(star, "There is no such table here.", f"one of {', '.join(self.sources)}.")
            return [(name, Column(inner)) for name, inner in self.sources[source].items()]
        only(star)
        columns_of_all = [(name, Column(inner)) for columns in self.sources.values() for name, inner in columns.items()]
        if len({name for name, _ in columns_of_all}) < len(columns_of_all):
            refuse_part(star, "Several tables have a column of one name.", "table.*, or the columns by name.")
        return columns_of_all

    def on(self, node: Node) -> Scope:
        """The same names over another relation with the same columns."""
        return Scope(node, self.sources, self.merged, self.tables)
