"""Expressions: one small class each, with its interval rule and its total meaning.

>>> from discreet.plans.expressions import Add, Column, Literal
>>> from discreet.plans.expressions.expression import Facts
>>> from discreet.tables import Bounds, Kind
>>> older = Add((Column("age"), Literal(1, Kind.INTEGER)))
>>> older.facts({"age": Facts(Kind.INTEGER, Bounds(0, 120))}).bounds
Bounds(1, 121)
>>> older.evaluate({"age": 41}), older.evaluate({"age": None})
(42, None)
"""

from __future__ import annotations

from discreet.plans.expressions.arithmetic import Add, Divide, IntegerDivide, Multiply, Negate, Remainder, Subtract
from discreet.plans.expressions.casts import Cast
from discreet.plans.expressions.choice import Case, Coalesce, Greatest, Least, NullIf
from discreet.plans.expressions.comparison import Equal, IsNull, Less, LessOrEqual, NotEqual
from discreet.plans.expressions.dates import AddDays, AddSeconds, DatePart, DateTrunc, DaysBetween
from discreet.plans.expressions.expression import Column, Expression, Literal, Operation, Released, Strict
from discreet.plans.expressions.logic import And, In, Not, Or
from discreet.plans.expressions.moments import FormatDate, Microseconds, MomentOf, Period
from discreet.plans.expressions.numeric import Abs, Bucket, Ceil, Exp, Floor, Ln, Power, Round, Sign, Sqrt
from discreet.plans.expressions.patterns import Matches
from discreet.plans.expressions.searching import Position, Replace, SplitPart
from discreet.plans.expressions.text import Concat, Length, Like, Lower, Substring, Trim, Upper

__all__ = [
    "Abs",
    "Add",
    "AddDays",
    "AddSeconds",
    "And",
    "Bucket",
    "Case",
    "Cast",
    "Ceil",
    "Coalesce",
    "Column",
    "Concat",
    "DatePart",
    "DateTrunc",
    "DaysBetween",
    "Divide",
    "Equal",
    "Exp",
    "Expression",
    "Floor",
    "FormatDate",
    "Greatest",
    "In",
    "IntegerDivide",
    "IsNull",
    "Least",
    "Length",
    "Less",
    "LessOrEqual",
    "Like",
    "Literal",
    "Ln",
    "Lower",
    "Matches",
    "Microseconds",
    "MomentOf",
    "Multiply",
    "Negate",
    "Not",
    "NotEqual",
    "NullIf",
    "Operation",
    "Or",
    "Period",
    "Position",
    "Power",
    "Released",
    "Remainder",
    "Replace",
    "Round",
    "Sign",
    "SplitPart",
    "Sqrt",
    "Strict",
    "Substring",
    "Subtract",
    "Trim",
    "Upper",
]
