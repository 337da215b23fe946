"""Bring the operands of an expression to fitting kinds: the few conversions that everybody expects."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from discreet.plans.expressions import (
    Add,
    AddDays,
    Case,
    Cast,
    Coalesce,
    DaysBetween,
    Equal,
    Expression,
    Greatest,
    In,
    Least,
    Less,
    LessOrEqual,
    Literal,
    NotEqual,
    NullIf,
    Subtract,
)
from discreet.plans.refusals import refuse
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.facts import Schema
    from discreet.tables.kinds import Value

__all__ = ["aligned"]


def aligned(expression: Expression, schema: Schema) -> Expression:
    """Return the expression with these conversions, and no others.

    - Where CASE, COALESCE, GREATEST or LEAST choose between integers and floats, the integers become floats.
    - A NULL constant takes the kind of its neighbors.
    - A text constant beside a date or timestamp is read as one.
    - A difference of dates is a number of days, and a constant number that is added to a date counts days.

    >>> from discreet.plans.expressions import Column
    >>> from discreet.plans.facts import Facts
    >>> choice = Coalesce((Column("cost"), Literal(0, Kind.INTEGER)))
    >>> aligned(choice, {"cost": Facts(Kind.FLOAT)}).operands[1]
    Literal(value=0.0, kind=<Kind.FLOAT: 'float'>)
    """
    if not expression.operands:
        return expression
    operands = tuple(aligned(operand, schema) for operand in expression.operands)
    if isinstance(expression, Case):
        values = _unified((*operands[1:-1:2], operands[-1]), schema)
        pairs = [part for pair in zip(operands[:-1:2], values, strict=False) for part in pair]
        operands = (*pairs, values[-1])
    elif isinstance(expression, Coalesce | Greatest | Least):
        operands = _unified(operands, schema)
    elif isinstance(expression, Equal | NotEqual | Less | LessOrEqual | NullIf):
        operands = _comparable(operands, schema)
    elif isinstance(expression, In):
        return _dated(expression, operands, schema)
    elif isinstance(expression, Add | Subtract):
        return _in_days(expression, operands, schema)
    return _on(expression, operands)


def _on(expression: Expression, operands: tuple[Expression, ...]) -> Expression:
    """Return the same operation on other operands; the very same where they are, as much is remembered of it."""
    same = all(new is old for new, old in zip(operands, expression.operands, strict=True))
    return expression if same else expression.with_operands(operands)


def _unified(values: tuple[Expression, ...], schema: Schema) -> tuple[Expression, ...]:
    """Bring branches to one kind where that is a matter of integers beside floats, or of NULL."""
    kinds = {value.facts(schema).kind for value in values if not _is_null(value)}
    if kinds == {Kind.INTEGER, Kind.FLOAT}:
        kinds = {Kind.FLOAT}
    if len(kinds) != 1:
        return values
    kind = next(iter(kinds))
    return tuple(_as(value, kind, schema) for value in values)


def _as(value: Expression, kind: Kind, schema: Schema) -> Expression:
    if _is_null(value):
        return Literal(None, kind)
    if value.facts(schema).kind is kind:
        return value
    if isinstance(value, Literal) and isinstance(value.value, int):
        return Literal(float(value.value), kind)
    return Cast((value,), kind)


def _is_null(value: Expression) -> bool:
    return isinstance(value, Literal) and value.value is None


def _comparable(operands: tuple[Expression, ...], schema: Schema) -> tuple[Expression, ...]:
    """Read a text constant as a date beside a date."""
    kinds = [operand.facts(schema).kind for operand in operands]
    for kind in kinds:
        if kind.temporal:
            return tuple(_read(operand, kind) for operand in operands)
    return operands


def _read(operand: Expression, kind: Kind) -> Expression:
    if not (isinstance(operand, Literal) and isinstance(operand.value, str)):
        return operand
    value = _moment(operand.value, kind)
    return Literal(value, Kind.of(value))


def _dated(expression: In, operands: tuple[Expression, ...], schema: Schema) -> Expression:
    """Read the text constants of a list as dates."""
    kind = operands[0].facts(schema).kind
    choices = expression.choices
    if kind.temporal:
        choices = tuple(_moment(choice, kind) if isinstance(choice, str) else choice for choice in choices)
    return In(operands, choices)


def _in_days(expression: Expression, operands: tuple[Expression, ...], schema: Schema) -> Expression:
    """Count dates in days; what does not fit stays, and is refused by its kinds."""
    left, right = operands
    kinds = left.facts(schema).kind, right.facts(schema).kind
    minus = isinstance(expression, Subtract)
    if kinds == (Kind.DATE, Kind.DATE) and minus:
        return DaysBetween((right, left))
    if kinds == (Kind.INTEGER, Kind.DATE) and not minus:
        left, right = right, left
    elif kinds != (Kind.DATE, Kind.INTEGER):
        return _on(expression, operands)
    if not isinstance(right, Literal) or not isinstance(right.value, int):
        return _on(expression, operands)
    moved = AddDays((left,), -right.value if minus else right.value)
    moved.facts(schema)
    if not isinstance(left, Literal) or left.value is None:
        return moved
    value = moved.evaluate({})
    if value is None:
        refuse(f"{left.value} and {right.value} days", why="It lies outside of the years 1 to 9999.", instead="a date.")
    return Literal(value, Kind.DATE)


def _moment(text: str, kind: Kind) -> Value:
    """Read a date, or a timestamp, in the one spelling that casts read."""
    read = [Cast((), wanted).apply(text) for wanted in (Kind.DATE, kind)]
    found = next((value for value in read if isinstance(value, dt.date)), None)
    if found is None:
        why = f"It is compared with a {kind.value} and is none."
        refuse(f"'{text[:40]}'", why=why, instead="a date such as '2024-02-01'.")
    return found
