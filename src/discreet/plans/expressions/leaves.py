"""The leaves of an expression: a column of the row, and a constant."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from discreet.plans.expressions.expression import Expression
from discreet.plans.facts import Facts
from discreet.plans.refusals import refuse
from discreet.tables.bounds import UNBOUNDED, Bounds
from discreet.tables.kinds import LONGEST_TEXT, Kind, as_number

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from discreet.plans.facts import Schema
    from discreet.tables.kinds import Value

__all__ = ["Column", "Literal"]


@dataclass(frozen=True, slots=True)
class Column(Expression):
    """The value of a column of the relation below, by its name there.

    >>> Column("age").evaluate({"age": 41})
    41
    """

    symbol: ClassVar[str] = "column"

    name: str
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    parts: int = field(default=1, init=False, repr=False, compare=False)
    depth: int = field(default=1, init=False, repr=False, compare=False)

    def with_operands(self, operands: tuple[Expression, ...]) -> Expression:  # noqa: ARG002 - there are none
        """A column has no operands."""
        return self

    def facts(self, schema: Schema) -> Facts:
        """What the relation below knows about the column."""
        if self.name not in schema:
            refuse(
                self.name, why="There is no such column here.", instead=f"one of {', '.join(sorted(schema)) or 'none'}."
            )
        return schema[self.name]

    def evaluate(self, row: Mapping[str, Value]) -> Value:
        """The cell."""
        return row[self.name]

    def canonical(self) -> list[object]:
        """The name."""
        return [self.symbol, self.name]


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A constant of the question; NULL needs its kind said.

    >>> Literal(3, Kind.INTEGER).facts({}).bounds
    Bounds(3, 3)
    """

    symbol: ClassVar[str] = "literal"

    value: Value
    kind: Kind
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    parts: int = field(default=1, init=False, repr=False, compare=False)
    depth: int = field(default=1, init=False, repr=False, compare=False)

    def with_operands(self, operands: tuple[Expression, ...]) -> Expression:  # noqa: ARG002 - there are none
        """A constant has no operands."""
        return self

    def facts(self, schema: Schema) -> Facts:  # noqa: ARG002 - a constant is the same everywhere
        """Everything is known about a constant."""
        if self.value is None:
            return Facts(self.kind, UNBOUNDED, nullable=True, domain=(None,), length=0)
        length = len(self.value) if isinstance(self.value, str) else LONGEST_TEXT
        if length > LONGEST_TEXT:
            refuse(
                "a text constant",
                why=f"It has {length} characters, and no text here has more than {LONGEST_TEXT}.",
                instead="a shorter one.",
            )
        return Facts(self.kind, _point(self.value), nullable=False, domain=(self.value,), length=length)

    def evaluate(self, row: Mapping[str, Value]) -> Value:  # noqa: ARG002 - a constant is the same everywhere
        """The constant."""
        return self.value

    def canonical(self) -> list[object]:
        """The kind and the value; floats by their shortest decimal, dates in ISO form."""
        plain = self.value if isinstance(self.value, bool | int | str | None) else _text(self.value)
        return [self.symbol, self.kind.value, plain]


@lru_cache(maxsize=1024, typed=True)
def _point(value: bool | float | str | dt.date) -> Bounds:  # noqa: FBT001 - a cell, not a switch
    """The bounds of a constant."""
    if isinstance(value, bool | str):
        return UNBOUNDED
    if isinstance(value, float):
        return _exactly(value)
    number = value if isinstance(value, int) else as_number(value)
    return Bounds(number, number)


def _exactly(value: float) -> Bounds:
    """Take the float as the binary number that the engine computes with, not as the decimal that it prints as."""
    return Bounds(Fraction(value), Fraction(value))


def _text(value: float | dt.date) -> str:
    return repr(value) if isinstance(value, float) else value.isoformat()
