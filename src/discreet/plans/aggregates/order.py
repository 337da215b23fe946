"""MEDIAN, quantiles, MIN, MAX and HISTOGRAM: made of counts in public cells and bins."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.plans.aggregates.measure import Measure, expression_of, require_numbers
from discreet.plans.refusals import refuse
from discreet.plans.statistics import BinCounts, RankedCells, Snapped, Statistic
from discreet.plans.statistics.exact import RANK_BITS
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.exact import Number
    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Schema
    from discreet.plans.terms import Term
    from discreet.tables.bounds import Bounds

__all__ = ["Extreme", "Histogram", "Quantiles", "histogram", "max", "median", "min", "quantile"]

_EXACT = 2**53
_MOST_EDGES = 10_000
_MOST_DENOMINATOR = 10**6


class _Ordered(Measure):
    """A measure of one bounded number that depends on the order of its values."""

    __slots__ = ()

    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:
        """Counts on a fine grid over the public range; whole numbers are their own grid."""
        require_numbers(self, schema)
        operand = self.operands[0]
        facts = operand.facts(schema)
        return (RankedCells(Snapped.of(operand, facts, part=self.describe(), bits=_bits(facts.range))),)


def _bits(bounds: Bounds) -> int:
    """Choose a coarser grid where bounds are close together and far from 0: doubles there are coarse as well."""
    low, high = bounds.lower, bounds.upper
    if low is None or high is None or low == high:
        return RANK_BITS
    away = int(builtins.max(abs(low), abs(high)) / (high - low)).bit_length()
    return builtins.max(8, RANK_BITS - builtins.max(0, away - 16))


@dataclass(frozen=True, slots=True)
class Quantiles(_Ordered):
    """The values below which given shares of all values lie; several levels share one mechanism.

    >>> quantile("cost", 0.25, 0.75).size
    2
    """

    symbol: ClassVar[str] = "quantile"

    levels: tuple[Fraction, ...] = (Fraction(1, 2),)

    @property
    def size(self) -> int:
        """One number for each level."""
        return len(self.levels)


@dataclass(frozen=True, slots=True)
class Extreme(_Ordered):
    """The smallest or the largest value, as a private quantile near one end, never the record itself.

    The true extreme is one unit's value. What is given out is a value that few units lie beyond.

    >>> min("cost").largest
    False
    """

    symbol: ClassVar[str] = "extreme"

    largest: bool = True

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """The level of its end."""
        return (Fraction(int(self.largest)),)

    def describe(self) -> str:
        """Say which end."""
        return Measure.describe(self).replace("extreme", "max" if self.largest else "min")


@dataclass(frozen=True, slots=True)
class Histogram(Measure):
    """How many values fall below the first edge, between each edge and the next, and at the last edge or above.

    >>> histogram("age", [18, 65]).size
    3
    """

    symbol: ClassVar[str] = "histogram"
    kind: ClassVar[Kind] = Kind.INTEGER

    edges: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """One more than edges."""
        return len(self.edges) + 1

    def statistics(self, schema: Schema) -> tuple[Statistic, ...]:
        """Counts in the given bins."""
        require_numbers(self, schema)
        if self.operands[0].facts(schema).kind is Kind.INTEGER and builtins.max(map(abs, self.edges)) >= _EXACT:
            why = "Integers are compared with edges as doubles, which do not tell those beyond 2**53 apart."
            refuse(self.describe(), why=why, instead="edges closer to 0, of x minus a constant.")
        return (BinCounts(self.operands[0], self.edges),)


def quantile(operand: str | Expression | Term, *levels: Number | list[Number] | tuple[Number, ...]) -> Quantiles:
    """Find the values below which given shares of all values lie; levels one by one, or as a list.

    >>> quantile("cost", 0.1, 0.9).levels
    (Fraction(1, 10), Fraction(9, 10))
    """
    listed = levels[0] if len(levels) == 1 and isinstance(levels[0], list | tuple) else levels
    read = tuple(rational(level, name="level") for level in listed)  # type: ignore[arg-type]  # a list is refused
    if not read or not all(0 <= level <= 1 and level.denominator <= _MOST_DENOMINATOR for level in read):
        msg = (
            f"levels are {', '.join(map(shown, listed)) or 'missing'}; give one or more from 0 to 1, such as 0.5, with "
            "at most six decimals."
        )
        raise ParameterError(msg)
    return Quantiles((expression_of(operand),), read)


def median(operand: str | Expression | Term) -> Quantiles:
    """Find the value in the middle.

    >>> median("cost").levels
    (Fraction(1, 2),)
    """
    return quantile(operand, Fraction(1, 2))


def min(operand: str | Expression | Term) -> Extreme:  # noqa: A001 - the word of SQL, used as agg.min
    """Find a value near the smallest one.

    >>> min("cost").describe()
    'min(cost)'
    """
    return Extreme((expression_of(operand),), largest=False)


def max(operand: str | Expression | Term) -> Extreme:  # noqa: A001 - the word of SQL, used as agg.max
    """Find a value near the largest one.

    >>> max("cost").describe()
    'max(cost)'
    """
    return Extreme((expression_of(operand),), largest=True)


def histogram(operand: str | Expression | Term, edges: Iterable[Number]) -> Histogram:
    """Count values in public bins.

    >>> histogram("age", [20, 40, 60]).edges
    (20.0, 40.0, 60.0)
    """
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        msg = f"edges are {shown(edges)}; write a list of numbers, such as [20, 40, 60]."
        raise ParameterError(msg)
    read = tuple(float(rational(edge, name="edge")) for edge in edges)
    if not 1 <= len(read) <= _MOST_EDGES or any(a >= b for a, b in itertools.pairwise(read)):
        msg = f"edges must be 1 to {_MOST_EDGES} numbers, each above the last; {len(read)} were given."
        raise ParameterError(msg)
    return Histogram((expression_of(operand),), read)
