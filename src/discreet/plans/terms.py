"""Expressions in Python's own notation: `col("age") > 40`."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.plans.expressions import (
    Add,
    And,
    Column,
    Divide,
    Equal,
    Expression,
    In,
    IntegerDivide,
    IsNull,
    Less,
    LessOrEqual,
    Literal,
    Multiply,
    Negate,
    Not,
    NotEqual,
    Or,
    Remainder,
    Subtract,
)
from discreet.tables.kinds import Kind, is_of_kind, is_writable

__all__ = ["Term", "col", "lit"]

Cell = bool | int | float | str | dt.date | dt.datetime


@dataclass(frozen=True, eq=False)
class Term:
    """An expression that Python's operators build on; `&`, `|` and `~` are AND, OR and NOT.

    >>> ((col("age") > 40) & ~col("ward").is_null()).expression.evaluate({"age": 41, "ward": "surgery"})
    True
    """

    expression: Expression

    def __add__(self, other: Term | Cell) -> Term:
        return Term(Add((self.expression, _of(other))))

    def __radd__(self, other: Cell) -> Term:
        return Term(Add((_of(other), self.expression)))

    def __sub__(self, other: Term | Cell) -> Term:
        return Term(Subtract((self.expression, _of(other))))

    def __rsub__(self, other: Cell) -> Term:
        return Term(Subtract((_of(other), self.expression)))

    def __mul__(self, other: Term | Cell) -> Term:
        return Term(Multiply((self.expression, _of(other))))

    def __rmul__(self, other: Cell) -> Term:
        return Term(Multiply((_of(other), self.expression)))

    def __truediv__(self, other: Term | Cell) -> Term:
        return Term(Divide((self.expression, _of(other))))

    def __rtruediv__(self, other: Cell) -> Term:
        return Term(Divide((_of(other), self.expression)))

    def __floordiv__(self, other: Term | Cell) -> Term:
        return Term(IntegerDivide((self.expression, _of(other))))

    def __mod__(self, other: Term | Cell) -> Term:
        return Term(Remainder((self.expression, _of(other))))

    def __neg__(self) -> Term:
        return Term(Negate((self.expression,)))

    def __eq__(self, other: object) -> Term:  # type: ignore[override]  # an equality of columns, not of terms
        return Term(Equal((self.expression, _of(other))))

    def __ne__(self, other: object) -> Term:  # type: ignore[override]  # as above
        return Term(NotEqual((self.expression, _of(other))))

    __hash__ = object.__hash__

    def __lt__(self, other: Term | Cell) -> Term:
        return Term(Less((self.expression, _of(other))))

    def __le__(self, other: Term | Cell) -> Term:
        return Term(LessOrEqual((self.expression, _of(other))))

    def __gt__(self, other: Term | Cell) -> Term:
        return Term(Less((_of(other), self.expression)))

    def __ge__(self, other: Term | Cell) -> Term:
        return Term(LessOrEqual((_of(other), self.expression)))

    def __and__(self, other: Term) -> Term:
        return Term(And((self.expression, _of(other))))

    def __or__(self, other: Term) -> Term:
        return Term(Or((self.expression, _of(other))))

    def __invert__(self) -> Term:
        return Term(Not((self.expression,)))

    def __bool__(self) -> bool:
        msg = "a condition on columns is not true or false by itself; combine conditions with &, | and ~."
        raise ParameterError(msg)

    def is_in(self, *choices: Cell) -> Term:
        """Tell whether the value is one of some constants.

        >>> col("ward").is_in("surgery", "oncology").expression.evaluate({"ward": "surgery"})
        True
        """
        return Term(In((self.expression,), tuple(_constant(choice).value for choice in choices)))

    def is_null(self) -> Term:
        """Tell whether the value is missing.

        >>> col("ward").is_null().expression.evaluate({"ward": None})
        True
        """
        return Term(IsNull((self.expression,)))


def col(name: str) -> Term:
    """Name a column.

    >>> (col("cost") / 100).expression.evaluate({"cost": 250})
    2.5
    """
    return Term(Column(name))


def lit(value: Cell) -> Term:
    """Write a constant.

    >>> lit(3).expression.value
    3
    """
    return Term(_constant(value))


def _constant(value: object) -> Literal:
    kinds = [kind for kind in Kind if value is not None and is_of_kind(value, kind)]  # type: ignore[arg-type]  # asked
    if not kinds or (isinstance(value, str) and not is_writable(value)):
        msg = (
            f"{shown(value)} is no constant; write a number, a text, a truth value, a date or a datetime without zone."
        )
        raise ParameterError(msg)
    return Literal(value, kinds[0])  # type: ignore[arg-type]  # a value of that kind


def _of(value: object) -> Expression:
    return value.expression if isinstance(value, Term) else _constant(value)
