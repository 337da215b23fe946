"""SUM, AVG, VARIANCE, STDDEV, COVAR and CORR: made of counts and of sums of snapped numbers.

Sums that are divided by a count are centered at the middle of the public range first: with |x - c| <= (b - a)/2 the
noise is half as large as for x in [a, b], or less, and the center is added back at no cost. Sums use a fine grid,
squares, products and the sums beside them a coarse one (`SQUARE_BITS`), each with its own step and center.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from discreet.plans.aggregates.measure import Measure, expression_of, require_numbers
from discreet.plans.expressions import Case, Expression, IsNull, Literal
from discreet.plans.refusals import one_of
from discreet.plans.statistics import Moment, RowCount, Snapped, Statistic, ValueCount
from discreet.plans.statistics.snapped import SQUARE_BITS

if TYPE_CHECKING:
    from discreet.plans.facts import Schema
    from discreet.plans.terms import Term

__all__ = [
    "Correlation",
    "Covariance",
    "Divisor",
    "Mean",
    "StdDev",
    "Sum",
    "Variance",
    "corr",
    "covar",
    "mean",
    "std",
    "sum",
    "var",
]


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

    >>> from discreet.plans.facts import Facts
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

    >>> from discreet.plans.facts import Facts
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

    >>> from discreet.plans.facts import Facts
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

    >>> from discreet.plans.facts import Facts
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
        found = [
            Snapped.of(each, each.facts(schema), part=self.describe(), bits=SQUARE_BITS).centered() for each in both
        ]
        return found[0], found[1]


def _where(value: Expression, other: Expression, schema: Schema) -> Expression:
    """The value, but NULL where another one is."""
    if not other.facts(schema).nullable:
        return value
    return Case((IsNull((other,)), Literal(None, value.facts(schema).kind), value))


@dataclass(frozen=True, slots=True)
class Covariance(_Pair):
    """The mean product of the distances from the means.

    >>> from discreet.plans.facts import Facts
    >>> from discreet.tables import Bounds, Kind
    >>> schema = {"x": Facts(Kind.INTEGER, Bounds(0, 10), nullable=False), "y": Facts(Kind.INTEGER, Bounds(0, 4))}
    >>> len(covar("x", "y").statistics(schema))
    4
    """

    symbol: ClassVar[str] = "covar"

    divisor: Divisor = Divisor.SAMPLE

    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:
        """The count, both sums, the sum of products."""
        sums = tuple(Moment((each,)) for each in self.pair(schema))
        return (self.counted(schema), *sums, Moment(self.pair(schema)))


@dataclass(frozen=True, slots=True)
class Correlation(_Pair):
    """The covariance divided by both standard deviations.

    >>> from discreet.plans.facts import Facts
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
    return Variance((expression_of(operand),), one_of(Divisor, divisor, "divisor"))


def std(operand: str | Expression | Term, *, divisor: Divisor | str = Divisor.SAMPLE) -> StdDev:
    """Measure how much values vary, in their own unit of measure.

    >>> std("cost").describe()
    'std(cost)'
    """
    return StdDev((expression_of(operand),), one_of(Divisor, divisor, "divisor"))


def covar(
    first: str | Expression | Term, second: str | Expression | Term, *, divisor: Divisor | str = Divisor.SAMPLE
) -> Covariance:
    """Measure how two columns vary together.

    >>> covar("age", "cost").describe()
    'covar(age, cost)'
    """
    return Covariance((expression_of(first), expression_of(second)), one_of(Divisor, divisor, "divisor"))


def corr(first: str | Expression | Term, second: str | Expression | Term) -> Correlation:
    """Measure how two columns vary together, between -1 and 1.

    >>> corr("age", "cost").describe()
    'corr(age, cost)'
    """
    return Correlation((expression_of(first), expression_of(second)))
