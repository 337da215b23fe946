"""Constants that are compared with a column that has keys must be among them: others are slips of the pen."""

from __future__ import annotations

import datetime as dt
from itertools import islice
from typing import TYPE_CHECKING, Any

from discreet.plans.expressions import Equal, In, Literal, NotEqual, NullIf
from discreet.plans.expressions.comparison import aligned, comparable
from discreet.plans.refusals import refuse
from discreet.tables.kinds import Kind
from discreet.tables.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Schema
    from discreet.tables.kinds import Value

__all__ = ["require_known_keys"]

_SHOWN = 10
_LOOKED_AT = 10_000
"""Among more texts than this none is looked for that is alike: a policy may list a million."""


def require_known_keys(expression: Expression, schema: Schema) -> None:
    """Refuse a comparison, by =, <>, IN or NULLIF, of a column with a constant that is none of its declared keys.

    Paid for, such a question would count nothing, or everything. Only keys that the policy lists are looked at, not the
    values that conditions leave or that private selection finds, so the refusal is the same whatever the rows hold.
    Orders (`year < 2020`) and patterns ask for more than equality, and are as they are.

    >>> from discreet.plans.expressions import Column
    >>> from discreet.plans.expressions.expression import Facts
    >>> ward = Facts(Kind.TEXT, declared=("cardiology", "surgery"))
    >>> require_known_keys(Equal((Column("ward"), Literal("cardiolgy", Kind.TEXT))), {"ward": ward})
    Traceback (most recent call last):
    ...
    discreet.errors.QueryRefused: 'cardiolgy': It is compared with a column that has keys, and is none of them. Write \
instead: 'cardiology'; the keys are 'cardiology', 'surgery'.
    """
    for subject, constant in _compared(expression):
        keys = subject.facts(schema).declared
        if keys is not None and comparable(subject.facts(schema).kind, Kind.of(constant)):
            known: list[Value] = [key for key in keys if key is not None]
            if constant not in known and not any(x == y for x, y in (aligned((key, constant)) for key in known)):
                _refuse(constant, known)


def _compared(expression: Expression) -> Iterator[tuple[Expression, Value]]:
    """Give what is compared with constants for equality, each with its constant."""
    if isinstance(expression, In):
        yield from ((expression.operands[0], choice) for choice in expression.choices)
    if isinstance(expression, Equal | NotEqual | NullIf):
        left, right = expression.operands
        for subject, constant in ((left, right), (right, left)):
            plain = not isinstance(constant, Literal) or not isinstance(constant.value, str) or not constant.value
            if isinstance(expression, NotEqual) and plain:
                continue  # status <> '', code <> 0: a habit that is right where no row has it
            if isinstance(constant, Literal) and constant.value is not None:
                yield subject, constant.value


def _refuse(constant: Value, keys: list[Value]) -> None:
    """Name the nearest key: of texts the most alike, of numbers and dates the closest."""
    close: Value = min(keys, key=lambda key: _apart(key, constant), default=None)
    if isinstance(constant, str):
        close = nearest(constant, islice((key for key in keys if isinstance(key, str)), _LOOKED_AT))
    listed = ", ".join(map(_written, keys[:_SHOWN])) + (", …" if len(keys) > _SHOWN else "")
    refuse(
        _written(constant)[:100],
        why="It is compared with a column that has keys, and is none of them.",
        instead=f"{'one of them' if close is None else _written(close)}; the keys are {listed}.",
    )


def _apart(key: Value, constant: Value) -> Any:  # noqa: ANN401 - a number, or a span of time
    """How far a key is from a constant; texts are compared by their letters instead."""
    x, y = aligned((key, constant))
    return 0 if isinstance(x, str) else abs(x - y)


def _written(value: Value) -> str:
    """Write a constant as a question would."""
    if isinstance(value, str | dt.date):
        return "'" + str(value).replace("'", "''") + "'"
    return str(value).lower()
