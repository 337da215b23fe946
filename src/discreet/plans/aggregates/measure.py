"""What an aggregate is; those that are made of counts and of sums of snapped numbers.

Sums that are divided by a count are centered at the middle of the public range first: with |x - c| <= (b - a)/2 the
noise is half as large as for x in [a, b], or less, and the center is added back at no cost. Sums use a fine grid,
squares, products and the sums beside them a coarse one (`SQUARE_BITS`), each with its own step and center.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.exact.rational import read_choice
from discreet.plans.expressions import Case, Column, Expression, IsNull, Literal
from discreet.plans.expressions.expression import Facts
from discreet.plans.refusals import refuse
from discreet.plans.statistics import DistinctCount, Moment, RowCount, Snapped, Statistic, ValueCount
from discreet.plans.statistics.exact import SQUARE_BITS
from discreet.plans.terms import Term
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.plans.expressions.expression import Schema
    from discreet.plans.statistics import Statistic

__all__ = [
    "Correlation",
    "Count",
    "CountDistinct",
    "Covariance",
    "Divisor",
    "Mean",
    "Measure",
    "StdDev",
    "Sum",
    "Variance",
    "corr",
    "count",
    "count_distinct",
    "covar",
    "expression_of",
    "mean",
    "require_numbers",
    "std",
    "sum",
    "var",
]


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
        names = [
            part.name.rpartition(".")[2]
            for operand in self.operands
            for part in operand.walk()
            if isinstance(part, Column)
        ]
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


@dataclass(frozen=True, slots=True)
class Count(Measure):
    """The number of rows, or of values that are not NULL.

    >>> from discreet.plans.expressions.expression import Facts
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


class Divisor(Enum):
    """What sums of squares are divided by.

    >>> Divisor("sample") is Divisor.SAMPLE
    True
    """

    SAMPLE = "sample"
    """n - 1: an estimate for the population that the rows are a sample of."""
    POPULATION = "population"
    """n: the rows themselves."""


class _Moments(Measure):
    """A measure of one numeric operand."""

    __slots__ = ()

    def snapped(self, schema: Schema, bits: int | None = None) -> Snapped:
        """The operand on its grid, or a refusal."""
        require_numbers(self, schema)
        operand = self.operands[0]
        return Snapped.of(operand, operand.facts(schema), part=self.describe(), bits=bits)

    def counted(self, schema: Schema) -> Statistic:
        """The number of values."""
        nullable = tuple(operand for operand in self.operands if operand.facts(schema).nullable)
        return ValueCount(nullable) if nullable else RowCount()


@dataclass(frozen=True, slots=True)
class Sum(_Moments):
    """The sum of the values that are not NULL; 0 if there are none.

    >>> from discreet.plans.expressions.expression import Facts
    >>> from discreet.tables import Bounds, Kind
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(0, 10), nullable=False), "y": Facts(Kind.INTEGER, Bounds(0, 4))}
    >>> len(sum("x").statistics(schema))
    1
    """

    symbol: ClassVar[str] = "sum"

    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:
        """One sum, not centered: centering would need a count as well."""
        return (Moment((self.snapped(schema),)),)


@dataclass(frozen=True, slots=True)
class Mean(_Moments):
    """The sum of the values divided by their number: c + (sum of x - c) / n.

    >>> from discreet.plans.expressions.expression import Facts
    >>> from discreet.tables import Bounds, Kind
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(0, 10), nullable=False), "y": Facts(Kind.INTEGER, Bounds(0, 4))}
    >>> len(mean("x").statistics(schema))
    2
    """

    symbol: ClassVar[str] = "mean"

    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:
        """The count and the centered sum."""
        return (self.counted(schema), Moment((self.snapped(schema).centered(),)))


@dataclass(frozen=True, slots=True)
class Variance(_Moments):
    """The mean square distance from the mean.

    With n values, mean m, and Q the sum of (x - c)^2 around the center c of the squares: (Q - n (m - c)^2) / (n - 1
    or n).

    >>> from discreet.plans.expressions.expression import Facts
    >>> from discreet.tables import Bounds, Kind
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(0, 10), nullable=False), "y": Facts(Kind.INTEGER, Bounds(0, 4))}
    >>> len(var("x").statistics(schema))
    3
    """

    symbol: ClassVar[str] = "var"

    divisor: Divisor = Divisor.SAMPLE

    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:
        """The count, the centered sum, the sum of centered squares: on one grid, so that they share their noise."""
        square = self.snapped(schema, bits=SQUARE_BITS).centered()
        return (self.counted(schema), Moment((square,)), Moment((square, square)))


@dataclass(frozen=True, slots=True)
class StdDev(Variance):
    """The square root of the variance.

    >>> from discreet.plans.expressions.expression import Facts
    >>> from discreet.tables import Bounds, Kind
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(0, 10), nullable=False), "y": Facts(Kind.INTEGER, Bounds(0, 4))}
    >>> len(std("x").statistics(schema))
    3
    """

    symbol: ClassVar[str] = "std"


class _Pair(_Moments):
    """A measure of two numeric operands, over rows in which both are there."""

    __slots__ = ()

    def pair(self, schema: Schema) -> tuple[Snapped, Snapped]:
        """Both operands on their grids; each is NULL where the other is, so that all sums run over the same rows."""
        require_numbers(self, schema)
        first, second = self.operands
        both = (_where(first, second, schema), _where(second, first, schema))
        centered = [
            Snapped.of(column, column.facts(schema), part=self.describe(), bits=SQUARE_BITS).centered()
            for column in both
        ]
        return centered[0], centered[1]


def _where(value: Expression, other: Expression, schema: Schema) -> Expression:
    """The value, but NULL where another one is."""
    if not other.facts(schema).nullable:
        return value
    return Case((IsNull((other,)), Literal(None, value.facts(schema).kind), value))


@dataclass(frozen=True, slots=True)
class Covariance(_Pair):
    """The mean product of the distances from the means.

    >>> from discreet.plans.expressions.expression import Facts
    >>> from discreet.tables import Bounds, Kind
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(0, 10), nullable=False), "y": Facts(Kind.INTEGER, Bounds(0, 4))}
    >>> len(covar("x", "y").statistics(schema))
    4
    """

    symbol: ClassVar[str] = "covar"

    divisor: Divisor = Divisor.SAMPLE

    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:
        """The count, both sums, the sum of products."""
        sums = tuple(Moment((factor,)) for factor in self.pair(schema))
        return (self.counted(schema), *sums, Moment(self.pair(schema)))


@dataclass(frozen=True, slots=True)
class Correlation(_Pair):
    """The covariance divided by both standard deviations.

    >>> from discreet.plans.expressions.expression import Facts
    >>> from discreet.tables import Bounds, Kind
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(0, 10), nullable=False), "y": Facts(Kind.INTEGER, Bounds(0, 4))}
    >>> len(corr("x", "y").statistics(schema))
    6
    """

    symbol: ClassVar[str] = "corr"

    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:
        """The count, both sums, both sums of squares, the sum of products."""
        x, y = self.pair(schema)
        return (self.counted(schema), Moment((x,)), Moment((y,)), Moment((x, x)), Moment((y, y)), Moment((x, y)))


def sum(operand: str | Expression | Term) -> Sum:  # noqa: A001 - the word of SQL, used as agg.sum
    """Add up values within public bounds.

    >>> sum("cost").describe()
    'sum(cost)'
    """
    return Sum((expression_of(operand),))


def mean(operand: str | Expression | Term) -> Mean:
    """Average values within public bounds.

    >>> mean("cost").describe()
    'mean(cost)'
    """
    return Mean((expression_of(operand),))


def var(operand: str | Expression | Term, *, divisor: Divisor | str = Divisor.SAMPLE) -> Variance:
    """Measure how much values vary.

    >>> var("cost", divisor="population").divisor
    <Divisor.POPULATION: 'population'>
    """
    return Variance((expression_of(operand),), read_choice(Divisor, divisor, "divisor"))


def std(operand: str | Expression | Term, *, divisor: Divisor | str = Divisor.SAMPLE) -> StdDev:
    """Measure how much values vary, in their own unit of measure.

    >>> std("cost").describe()
    'std(cost)'
    """
    return StdDev((expression_of(operand),), read_choice(Divisor, divisor, "divisor"))


def covar(
    first: str | Expression | Term, second: str | Expression | Term, *, divisor: Divisor | str = Divisor.SAMPLE
) -> Covariance:
    """Measure how two columns vary together.

    >>> covar("age", "cost").describe()
    'covar(age, cost)'
    """
    return Covariance((expression_of(first), expression_of(second)), read_choice(Divisor, divisor, "divisor"))


def corr(first: str | Expression | Term, second: str | Expression | Term) -> Correlation:
    """Measure how two columns vary together, between -1 and 1.

    >>> corr("age", "cost").describe()
    'corr(age, cost)'
    """
    return Correlation((expression_of(first), expression_of(second)))
