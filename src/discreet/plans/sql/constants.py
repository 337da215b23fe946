"""Constants of a question."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.exact import rational
from discreet.plans.expressions import Cast, Literal
from discreet.plans.expressions.casts import without_zone
from discreet.plans.expressions.expression import settled
from discreet.plans.sql.reading import only, refuse_part
from discreet.tables.kinds import Kind, is_writable

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.tables.kinds import Value

__all__ = ["KINDS", "constant", "folded", "literal", "negative", "null", "number_of", "text_of", "whole_of"]

_T = exp.DataType.Type
KINDS: dict[object, Kind] = {
    _T.BOOLEAN: Kind.BOOLEAN,
    _T.TINYINT: Kind.INTEGER,
    _T.SMALLINT: Kind.INTEGER,
    _T.INT: Kind.INTEGER,
    _T.BIGINT: Kind.INTEGER,
    _T.INT128: Kind.INTEGER,
    _T.UTINYINT: Kind.INTEGER,
    _T.USMALLINT: Kind.INTEGER,
    _T.UINT: Kind.INTEGER,
    _T.UBIGINT: Kind.INTEGER,
    _T.FLOAT: Kind.FLOAT,
    _T.DOUBLE: Kind.FLOAT,
    _T.TEXT: Kind.TEXT,
    _T.VARCHAR: Kind.TEXT,
    _T.NVARCHAR: Kind.TEXT,
    _T.CHAR: Kind.TEXT,
    _T.DATE: Kind.DATE,
    _T.TIMESTAMP: Kind.TIMESTAMP,
    _T.TIMESTAMPNTZ: Kind.TIMESTAMP,
    _T.TIMESTAMPTZ: Kind.TIMESTAMP,
    _T.TIMESTAMPLTZ: Kind.TIMESTAMP,
    _T.DATETIME: Kind.TIMESTAMP,
}
"""The types that a cast may name; all integers are 64 bits wide, all floats doubles, all zones UTC."""

_LONGEST_TEXT = 1000


def null() -> Literal:
    """A NULL whose kind is still open."""
    return Literal(None, Kind.BOOLEAN)


def constant(node: exp.Expression) -> Literal:
    """Read a constant: a number, a text, a truth value, NULL, a date, or a negative number."""
    if isinstance(node, exp.Paren):
        return constant(node.this)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return negative(node.this)
    if isinstance(node, exp.Boolean | exp.Null):
        return Literal(bool(node.this), Kind.BOOLEAN) if isinstance(node, exp.Boolean) else null()
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.args["to"].this in KINDS:
        return literal(node, KINDS[node.args["to"].this])
    if not isinstance(node, exp.Literal):
        refuse_part(node, "A constant is needed here.", "a number, a text in single quotes, TRUE, FALSE or a date.")
    if node.is_string:
        return Literal(text_of(node), Kind.TEXT)
    return _number(node, 1)


def negative(node: exp.Expression) -> Literal:
    """Read the negative of a number."""
    if node.is_string:
        refuse_part(node, "A text has no negative.", "a number.")
    return _number(node, -1)


def _number(node: exp.Expression, sign: int) -> Literal:
    """Read a number: whole if written without point and exponent."""
    value: Value
    try:
        exact = sign * rational(node.name)
        value = int(exact) if node.name.isdigit() else float(exact)
    except (ParameterError, OverflowError):
        refuse_part(node, "This number is not read.", "a decimal number, such as 0.5.")
    if settled(value) != value:
        refuse_part(node, "This number is too large or too small.", "a number of magnitude below 9e18.")
    return Literal(value, Kind.of(value))


def folded(node: exp.Expression) -> Literal | None:
    """Compute sums, differences and products of written numbers as decimals; None for anything else.

    Doubles would make 0.06 + 0.01 a number below 0.07, and a comparison with it would leave out 0.07. Whole numbers
    alone are left to integer arithmetic.

    >>> from sqlglot import parse_one
    >>> folded(parse_one("0.06 + 0.01")), folded(parse_one("1 + 1"))
    (Literal(value=0.07, kind=<Kind.FLOAT: 'float'>), None)
    """
    exact = _decimal(node)
    if exact is None or all(number.name.isdigit() for number in node.find_all(exp.Literal)):
        return None
    try:
        value = float(exact)
    except OverflowError:
        return None
    return Literal(value, Kind.FLOAT) if settled(value) == value else None


def _decimal(node: exp.Expression) -> Fraction | None:
    """The exact value of a written number, or of an operation on such."""
    if isinstance(node, exp.Paren | exp.Neg):
        inner = _decimal(node.this)
        return None if inner is None else -inner if isinstance(node, exp.Neg) else inner
    if isinstance(node, exp.Literal) and not node.is_string:
        try:
            return rational(node.name)
        except ParameterError:
            return None
    if not isinstance(node, exp.Add | exp.Sub | exp.Mul):
        return None
    left = _decimal(node.this)
    right = None if left is None else _decimal(node.expression)
    return None if left is None or right is None else _EXACTLY[type(node)](left, right)


_EXACTLY: dict[type[exp.Expression], Callable[[Fraction, Fraction], Fraction]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}


def literal(node: exp.Expression, kind: Kind) -> Literal:
    """Read a constant with its type: DATE '2024-02-01', CAST('3' AS BIGINT)."""
    given = constant(node.this)
    if given.kind is kind:
        return given
    if kind is Kind.TIMESTAMP and isinstance(given.value, str):
        given = Literal(without_zone(given.value), Kind.TEXT)
    made = Cast((given,), kind)
    facts = made.facts({})
    value = made.evaluate({})
    if value is None:
        refuse_part(node, f"This is no {facts.kind.value}.", "DATE '2024-02-01' or TIMESTAMP '2024-02-01 12:00:00'.")
    return Literal(value, kind)


def text_of(node: exp.Expression) -> str:
    """Read a constant text."""
    if not (isinstance(node, exp.Literal) and node.is_string):
        refuse_part(node, "A constant text is needed here.", "a text in single quotes.")
    only(node, "this", "is_string")
    text: str = node.this
    if len(text) > _LONGEST_TEXT or not is_writable(text):
        why = f"It is longer than {_LONGEST_TEXT} characters, or holds what is no character."
        refuse_part(node, why, "a shorter text, without zeros and halves of surrogate pairs.")
    return text


def number_of(node: exp.Expression) -> Fraction:
    """Read a constant number."""
    number = constant(node).value
    if isinstance(number, bool) or not isinstance(number, int | float):
        refuse_part(node, "A constant number is needed here.", "a number, such as 10.")
    return Fraction(number) if isinstance(number, int) else rational(number)


def whole_of(node: exp.Expression) -> int:
    """Read a constant whole number."""
    number = number_of(node)
    if number.denominator != 1:
        refuse_part(node, "A constant whole number is needed here.", "a number such as 3.")
    return int(number)
