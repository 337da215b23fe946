"""The statistics that an engine computes of each group: integers, exact, the same on every engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.plans.refusals import refuse

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.facts import Schema
    from discreet.plans.statistics.snapped import Snapped

__all__ = ["BinCounts", "DistinctCount", "Moment", "RowCount", "Statistic", "ValueCount"]


class Statistic(ABC):
    """One integer (for bins, several) per group; 0 for a group without rows.

    Each is a sum over rows of a contribution within `reach`, or moves by no more than such a sum would. A unit with
    at most r rows in a group therefore moves the group's number by at most r * max(|reach|), and nothing in groups
    without its rows.

    >>> RowCount().size, RowCount().operands
    (1, ())
    """

    __slots__ = ()

    symbol: ClassVar[str]

    @abstractmethod
    def reach(self, schema: Schema) -> tuple[int, int]:
        """The least and the largest contribution of one row, 0 included."""

    @abstractmethod
    def canonical(self) -> list[object]:
        """Return the statistic as plain lists and texts."""

    @property
    @abstractmethod
    def operands(self) -> tuple[Expression, ...]:
        """The expressions that are evaluated per row."""

    @property
    def size(self) -> int:
        """How many integers there are per group."""
        return 1

    def once_per_unit(self, schema: Schema) -> bool:  # noqa: ARG002 - only a count of units is
        """Whether a unit moves the number of a group by one row's contribution, however many rows it has there."""
        return False


@dataclass(frozen=True, slots=True)
class RowCount(Statistic):
    """The number of rows.

    >>> RowCount().canonical()
    ['rows']
    """

    symbol: ClassVar[str] = "rows"

    def reach(self, schema: Schema) -> tuple[int, int]:  # noqa: ARG002 - each row counts
        """Each row counts one."""
        return (0, 1)

    def canonical(self) -> list[object]:
        """The symbol."""
        return [self.symbol]

    @property
    def operands(self) -> tuple[Expression, ...]:
        """None."""
        return ()


@dataclass(frozen=True, slots=True)
class ValueCount(Statistic):
    """The number of rows in which no value is NULL.

    >>> from discreet.plans.expressions import Column
    >>> ValueCount((Column("x"),)).reach({})
    (0, 1)
    """

    symbol: ClassVar[str] = "values"

    values: tuple[Expression, ...]

    def reach(self, schema: Schema) -> tuple[int, int]:  # noqa: ARG002 - each row counts at most once
        """Each row counts one or nothing."""
        return (0, 1)

    def canonical(self) -> list[object]:
        """The symbol and the expressions."""
        return [self.symbol, *(value.canonical() for value in self.values)]

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The values."""
        return self.values


@dataclass(frozen=True, slots=True)
class DistinctCount(Statistic):
    """The number of different values that are not NULL.

    Each row of a unit adds at most one value that was not there; a count of distinct units moves by one per unit and
    group, also where the unit is NULL in some rows.

    >>> from discreet.plans.expressions import Column
    >>> DistinctCount(Column("x")).reach({})
    (0, 1)
    """

    symbol: ClassVar[str] = "distinct"

    value: Expression

    def reach(self, schema: Schema) -> tuple[int, int]:  # noqa: ARG002 - a row adds at most one value
        """A row adds one value or none."""
        return (0, 1)

    def once_per_unit(self, schema: Schema) -> bool:
        """A unit has one unit, and adds one value if all its rows have that one or NULL."""
        return self.value.facts(schema).single

    def canonical(self) -> list[object]:
        """The symbol and the expression."""
        return [self.symbol, self.value.canonical()]

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The value."""
        return (self.value,)


@dataclass(frozen=True, slots=True)
class Moment(Statistic):
    """The sum over rows of the product of one or two snapped numbers; rows in which one is NULL are left out.

    One factor: a sum. The same factor twice: a sum of squares. Two factors: a sum of products, for a covariance.
    The sum may need more than 64 bits: an engine adds in 128-bit or decimal integers.

    >>> from fractions import Fraction
    >>> from discreet.plans.expressions import Column
    >>> from discreet.plans.statistics import Snapped
    >>> x = Snapped(Column("x"), -5, 7, 0, Fraction(1))
    >>> Moment((x,)).reach({}), Moment((x, x)).reach({})
    ((-5, 7), (0, 49))
    """

    symbol: ClassVar[str] = "moment"

    factors: tuple[Snapped, ...]

    def __post_init__(self) -> None:
        """Refuse products whose sums could outgrow every engine."""
        if not 1 <= len(self.factors) <= 2:
            msg = f"a moment has one or two factors, not {len(self.factors)}."
            raise ParameterError(msg)
        low, high = self._reach()
        if max(abs(low), abs(high)) >= 2**80:
            refuse(
                "a sum of squares or products",
                why="Its bounds are so wide that exact sums would not fit into 128 bits.",
                instead="narrower bounds.",
            )

    def _reach(self) -> tuple[int, int]:
        (a, b), (c, d) = self.factors[0].reach, self.factors[-1].reach
        if len(self.factors) == 1:
            return min(a, 0), max(b, 0)
        if self.factors[0] == self.factors[1]:  # a square is never negative
            return 0, max(a * a, b * b)
        products = (a * c, a * d, b * c, b * d, 0)
        return min(products), max(products)

    def reach(self, schema: Schema) -> tuple[int, int]:  # noqa: ARG002 - the factors carry their bounds
        """The least and the largest product of the factors' ends; 0 for a row that is left out."""
        return self._reach()

    def canonical(self) -> list[object]:
        """The symbol and the factors."""
        return [self.symbol, *(factor.canonical() for factor in self.factors)]

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The numbers before snapping."""
        return tuple(factor.value for factor in self.factors)


@dataclass(frozen=True, slots=True)
class BinCounts(Statistic):
    """How many values fall below the first edge, from each edge up to the next, and at the last edge or above.

    With edges e1 < … < em there are m + 1 counts: of x < e1, of ei <= x < e(i+1), of x >= em. NULLs fall nowhere. A row
    moves one of the counts by one, so the m + 1 counts together are like more groups: a row is in one of them.

    >>> from discreet.plans.expressions import Column
    >>> BinCounts(Column("x"), (0.0, 10.0)).size
    3
    """

    symbol: ClassVar[str] = "bins"

    value: Expression
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse edges out of order."""
        if not self.edges or any(a >= b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            msg = f"edges are {self.edges}; they must be at least one number, each above the last."
            raise ParameterError(msg)

    def reach(self, schema: Schema) -> tuple[int, int]:  # noqa: ARG002 - each row counts at most once
        """Each row counts one in one bin, or nothing."""
        return (0, 1)

    def canonical(self) -> list[object]:
        """The symbol, the edges, the expression."""
        return [self.symbol, [repr(edge) for edge in self.edges], self.value.canonical()]

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The value."""
        return (self.value,)

    @property
    def size(self) -> int:
        """One more than edges."""
        return len(self.edges) + 1
