"""COUNT(*), COUNT(x) and COUNT(DISTINCT x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.plans.aggregates.measure import Measure, expression_of
from discreet.plans.statistics import DistinctCount, RowCount, Statistic, ValueCount
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.facts import Schema
    from discreet.plans.terms import Term

__all__ = ["Count", "CountDistinct", "count", "count_distinct"]


@dataclass(frozen=True, slots=True)
class Count(Measure):
    """The number of rows, or of values that are not NULL.

    >>> from discreet.plans.facts import Facts
    >>> count("x").statistics({"x": Facts(Kind.INTEGER, nullable=False)})
    (RowCount(),)
    """

    symbol: ClassVar[str] = "count"
    kind: ClassVar[Kind] = Kind.INTEGER

    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:
        """Rows; values only where NULL can occur, so that counts are shared and paid once."""
        nullable = tuple(operand for operand in self.operands if operand.facts(schema).nullable)
        return (ValueCount(nullable),) if nullable else (RowCount(),)


@dataclass(frozen=True, slots=True)
class CountDistinct(Measure):
    """The number of different values that are not NULL; of the unit column: the number of units.

    >>> count_distinct("x").statistics({})
    (DistinctCount(value=Column(name='x')),)
    """

    symbol: ClassVar[str] = "count_distinct"
    kind: ClassVar[Kind] = Kind.INTEGER

    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:  # noqa: ARG002 - every kind has distinct values
        """One count."""
        return (DistinctCount(self.operands[0]),)


def count(operand: str | Expression | Term | None = None) -> Count:
    """Count rows ("*" or nothing), or values that are not NULL.

    >>> count().describe(), count("cost").describe()
    ('count(*)', 'count(cost)')
    """
    rows = operand is None or (isinstance(operand, str) and operand == "*")
    return Count(() if rows else (expression_of(operand),))  # type: ignore[arg-type]  # None is all rows


def count_distinct(operand: str | Expression | Term) -> CountDistinct:
    """Count different values.

    >>> count_distinct("patient_id").describe()
    'count_distinct(patient_id)'
    """
    return CountDistinct((expression_of(operand),))
