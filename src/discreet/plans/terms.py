"""Expressions in Python's own notation: `col("age") > 40`."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, shown
from discreet.plans.expressions import (
    Abs,
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
    Power,
    Remainder,
    Subtract,
)
from discreet.tables.kinds import Kind, is_of_kind, is_writable
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from typing import NoReturn

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

    def __rfloordiv__(self, other: Cell) -> Term:
        return Term(IntegerDivide((_of(other), self.expression)))

    def __mod__(self, other: Term | Cell) -> Term:
        return Term(Remainder((self.expression, _of(other))))

    def __rmod__(self, other: Cell) -> Term:
        return Term(Remainder((_of(other), self.expression)))

    def __pow__(self, exponent: int) -> Term:
        return Term(Power((self.expression,), integer(exponent, name="exponent")))

    def __abs__(self) -> Term:
        return Term(Abs((self.expression,)))

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

    def __rand__(self, other: bool) -> Term:
        return Term(And((_of(other), self.expression)))

    def __or__(self, other: Term) -> Term:
        return Term(Or((self.expression, _of(other))))

    def __ror__(self, other: bool) -> Term:
        return Term(Or((_of(other), self.expression)))

    def __invert__(self) -> Term:
        return Term(Not((self.expression,)))

    def __bool__(self) -> bool:
        msg = (
            "a condition on columns is not true or false by itself; combine conditions with &, | and ~, each in "
            "parentheses, and write (0 < x) & (x < 9) for 0 < x < 9."
        )
        raise ParameterError(msg)

    def is_in(self, *choices: Cell | list[Cell] | tuple[Cell, ...]) -> Term:
        """Tell whether the value is one of some constants, given one by one or as a list.

        >>> col("ward").is_in("surgery", "oncology").expression.evaluate({"ward": "surgery"})
        True
        """
        listed = choices[0] if len(choices) == 1 and isinstance(choices[0], list | tuple) else choices
        if not listed:
            msg = "is_in takes at least one constant, such as is_in('surgery', 'oncology')."
            raise ParameterError(msg)
        return Term(In((self.expression,), tuple(_constant(choice).value for choice in listed)))

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> NoReturn:
            known = [method for method in vars(Term) if not method.startswith("_")]
            near = f" {_ELSEWHERE[name]}" if name in _ELSEWHERE else hint(name, known)
            msg = f"a column has no {name}.{near}"
            raise AttributeError(msg)

    def is_null(self) -> Term:
        """Tell whether the value is missing.

        >>> col("ward").is_null().expression.evaluate({"ward": None})
        True
        """
        return Term(IsNull((self.expression,)))


_ELSEWHERE = {
    **{
        name: f"Aggregate the table instead: t.agg(m=agg.{name}('cost'))."
        for name in ("sum", "mean", "median", "min", "max", "std", "var", "quantile")
    },
    **dict.fromkeys(
        ("count", "value_counts", "unique", "nunique", "mode"),
        "Write t.group_by('ward').agg(n=agg.count()), or t.agg(n=agg.count_distinct('ward')).",
    ),
    **dict.fromkeys(("isin",), "Write is_in('surgery', 'oncology')."),
    **dict.fromkeys(("isna", "isnull"), "Write is_null()."),
    **dict.fromkeys(("notna", "notnull", "is_not_null"), "Write ~t['ward'].is_null()."),
    **dict.fromkeys(("str", "dt", "clip", "round", "astype", "cast", "between", "apply", "map"), "Write it in SQL."),
    **dict.fromkeys(("head", "tail", "to_list", "tolist", "to_numpy", "values"), "No single row is ever shown."),
}
"""What other libraries call it, and what is written here."""


def col(name: str) -> Term:
    """Name a column.

    >>> (col("cost") / 100).expression.evaluate({"cost": 250})
    2.5
    """
    if not isinstance(name, str):
        msg = f"col takes the name of a column, not {shown(name)}; a constant is discreet.plans.lit(3)."
        raise ParameterError(msg)
    return Term(Column(name))


def lit(value: Cell) -> Term:
    """Write a constant.

    >>> lit(3).expression.value
    3
    """
    return Term(_constant(value))


def _constant(value: object) -> Literal:
    if isinstance(value, np.generic):  # a cell of somebody's array
        value = value.item()
    kinds = [kind for kind in Kind if value is not None and is_of_kind(value, kind)]  # type: ignore[arg-type]  # asked
    if not kinds or (isinstance(value, str) and not is_writable(value)):
        missing = " For missing values write col('x').is_null()." if value is None else ""
        msg = (
            f"{shown(value)} (of type {type(value).__name__}) is no constant; write an int, a float, a text, a truth "
            f"value, a date or a datetime without zone.{missing}"
        )
        raise ParameterError(msg)
    return Literal(value, kinds[0])  # type: ignore[arg-type]  # a value of that kind


def _of(value: object) -> Expression:
    return value.expression if isinstance(value, Term) else _constant(value)
