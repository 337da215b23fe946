"""What every column aggregate offers: its operands, and the exact statistics that it is made of."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.plans.expressions import Column, Expression
from discreet.plans.facts import Facts
from discreet.plans.refusals import refuse
from discreet.plans.terms import Term
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.plans.facts import Schema
    from discreet.plans.statistics import Statistic

__all__ = ["Measure", "expression_of", "require_numbers"]


@dataclass(frozen=True, slots=True)
class Measure(ABC):
    """A statistic that an analyst asks for; it is computed from noisy versions of its exact `statistics`.

    >>> from discreet.plans.aggregates import mean
    >>> isinstance(mean("cost"), Measure), mean("cost").canonical()
    (True, ['mean', ['column', 'cost']])
    """

    symbol: ClassVar[str]
    kind: ClassVar[Kind] = Kind.FLOAT

    operands: tuple[Expression, ...]

    @abstractmethod
    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:
        """Give the exact statistics, or refuse operands that cannot be bounded."""

    def with_operands(self, operands: tuple[Expression, ...]) -> Self:
        """The same measure of other expressions."""
        return dataclasses.replace(self, operands=operands)

    @property
    def size(self) -> int:
        """How many numbers the result is; more than one is a list."""
        return 1

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """The levels of the ranks at which points are chosen, from 0 for the smallest value to 1 for the largest."""
        return ()

    def facts(self) -> Facts:
        """What is known about the noisy result: its kind; it may be NULL where it has no meaning."""
        return Facts(self.kind)

    def __add__(self, other: object) -> NoReturn:
        msg = (
            "aggregates are computed with by their names in the answer: "
            "agg(total=agg.sum('cost'), n=agg.count(), each=col('total') / col('n'))."
        )
        raise ParameterError(msg)

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __gt__ = __lt__ = __add__

    def canonical(self) -> list[object]:
        """The symbol, the fixed parameters, the operands."""
        settings = [repr(getattr(self, field.name)) for field in dataclasses.fields(self) if field.name != "operands"]
        return [self.symbol, *settings, *(operand.canonical() for operand in self.operands)]

    def describe(self) -> str:
        """Name the measure and its columns, for explanations."""
        names = [part.name for operand in self.operands for part in operand.walk() if isinstance(part, Column)]
        return f"{self.symbol}({', '.join(dict.fromkeys(names)) or '*'})"


def expression_of(operand: str | Expression | Term) -> Expression:
    """Read an operand: a text is the name of a column.

    >>> expression_of("cost")
    Column(name='cost')
    """
    if isinstance(operand, Term):
        return operand.expression
    if isinstance(operand, str | Expression):
        return Column(operand) if isinstance(operand, str) else operand
    msg = (
        f"{shown(operand)} is nothing to aggregate; write a column's name, SQL in quotes, such as 'cost / 100', or "
        "discreet.col('cost') / 100."
    )
    raise ParameterError(msg)


_NUMBERS_OF = {
    Kind.BOOLEAN: "COUNT(*) FILTER (WHERE x), or the number CAST(x AS INTEGER).",
    Kind.DATE: "a number made of it, such as EXTRACT(year FROM x) or DATE_DIFF('day', DATE '2024-01-01', x).",
    Kind.TIMESTAMP: "a number made of it, such as EXTRACT(year FROM x) or DATE_DIFF('day', DATE '2024-01-01', x).",
}


def require_numbers(measure: Measure, schema: Schema) -> None:
    """Refuse operands that are no numbers."""
    for operand in measure.operands:
        kind = operand.facts(schema).kind
        if not kind.numeric:
            refuse(
                measure.describe(),
                why=f"It needs numbers, and this is of kind {kind.value}.",
                instead=_NUMBERS_OF.get(kind, "COUNT or COUNT(DISTINCT …)."),
            )
