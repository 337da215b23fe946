"""The statistics that an engine computes of each group: integers, exact, the same on every engine.

A number per row becomes a small one: clamped, on a power-of-two grid, and counted from a center. Ranks
are asked of counts on a finer grid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import Grid
from discreet.plans.refusals import refuse
from discreet.plans.statistics.marks import Marks
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Facts, Schema

__all__ = [
    "FLOAT_BITS",
    "INTEGER_BITS",
    "RANK_BITS",
    "SQUARE_BITS",
    "BinCounts",
    "DistinctCount",
    "Moment",
    "RankedCells",
    "RowCount",
    "Snapped",
    "Statistic",
    "ValueCount",
    "Window",
]

FLOAT_BITS = 24
"""Floats are snapped to the largest power of two that is at most 2**-24 of their range."""

INTEGER_BITS = 32
"""Integers are summed as they are, up to a range of 2**32; wider ones are snapped to 2**-32 of it."""

SQUARE_BITS = 16
"""The factors of squares and products are snapped to 2**-16 of their range, so that noise fits into 64 bits.

With |s| <= 2**16 a product is at most 2**32; times 10**4 rows per unit, over an epsilon of 10**-3, that is 2**56, still
within what integer noise can be drawn for. The rounding moves a square by less than 2**-15 of the squared range.
"""

_LEAST_WIDTH = Fraction(1, 2**900)

RANK_BITS = 36
"""Floats are put on a grid of 2**-36 of their range or finer: no quantile of a table is off by its grid."""

_MOST = 1 << 60


@dataclass(frozen=True, slots=True)
class Snapped:
    """The integer s = clamp(round(x / step), lower, upper) - center; NULL where x is.

    Rounding is to the nearest integer, halves to even; dividing by a power of two is exact. `lower` and `upper` are
    the snapped bounds, so s lies within [lower - center, upper - center] whatever the row holds: that, not the truth
    of the bounds, is what a sensitivity rests on. Integers have step 1 unless their range is wide; with a larger step
    they are first converted to the nearest double.

    >>> from discreet.plans.expressions import Column
    >>> from discreet.plans.expressions.expression import Facts
    >>> from discreet.tables import Bounds, Kind
    >>> age = Snapped.of(Column("age"), Facts(Kind.INTEGER, Bounds(0, 120)), part="AVG")
    >>> age.lower, age.upper, age.centered().center, age.centered().reach
    (0, 120, 60, (-60, 60))
    """

    value: Expression
    lower: int
    upper: int
    center: int
    step: Fraction

    @staticmethod
    def of(value: Expression, facts: Facts, *, part: str, bits: int | None = None) -> Snapped:
        """Choose the grid from the public bounds, or refuse a number without bounds."""
        low, high = facts.range.lower, facts.range.upper
        if not facts.kind.numeric:
            refuse(part, why=f"It needs numbers, and this is of kind {facts.kind.value}.", instead="COUNT, or a CAST.")
        if low is None or high is None:
            refuse(
                part,
                why="Its numbers have no public bounds, so one unit could move it without limit.",
                instead="bounds in the policy, or LEAST(GREATEST(x, lower), upper).",
            )
        whole = facts.kind is Kind.INTEGER
        width = high - low or abs(high) or Fraction(1)
        if width < _LEAST_WIDTH:
            refuse(part, why="The bounds are closer together than any grid of doubles.", instead="x times a constant.")
        grid = Grid.below(width, bits=bits or (INTEGER_BITS if whole else FLOAT_BITS))
        if whole and grid.step < 1:
            return Snapped(value, int(-(-low // 1)), int(high // 1), 0, Fraction(1))
        if max(abs(low), abs(high)) / grid.step > 2**60:
            refuse(
                part,
                why="The bounds are far from 0 and close together, beyond what doubles can tell apart.",
                instead="x minus a constant.",
            )
        return Snapped(value, grid.steps(low), grid.steps(high), 0, grid.step)

    def centered(self) -> Snapped:
        """Count from the middle of the range: the largest |s|, and with it the noise, becomes half as large or less."""
        return replace(self, center=(self.lower + self.upper) // 2)

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the largest s."""
        return self.lower - self.center, self.upper - self.center

    def canonical(self) -> list[object]:
        """The expression and the grid."""
        return [self.value.canonical(), self.lower, self.upper, self.center, str(self.step)]


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


@dataclass(frozen=True, slots=True)
class Window:
    """The cells near one rank: those that miss it by less than `reach`, both in units of 1 / (a + b) rows.

    With B rows below a cell, E in it and A above it, the cell misses the rank by max(0, a B - b (E + A) - c, b A - a (B
    + E) + c): for the q-quantile q = b / (a + b) and c = 0; for the row of rank r from below a = 1, b = 0, c = r; from
    above a = 0, b = 1, c = -r.

    >>> Window(1, 1, 0, 10).misses(below=3, equal=0, total=8)
    2
    """

    a: int
    b: int
    c: int
    reach: int

    def __post_init__(self) -> None:
        """Refuse what sorts nothing, and what would leave 64 bits."""
        if not (self.a >= 0 and self.b >= 0 and 0 < self.a + self.b <= 10**6 and abs(self.c) < _MOST > self.reach > 0):
            msg = f"a window of {self.a}, {self.b}, {self.c} with the reach {self.reach} has no rank, or is too fine."
            raise ParameterError(msg)

    def misses(self, *, below: int, equal: int, total: int) -> int:
        """By how much a cell misses the rank."""
        slope, aim = self.a + self.b, self.b * total + self.c
        return max(0, slope * below - aim, aim - slope * (below + equal))


@dataclass(frozen=True, slots=True)
class RankedCells(Statistic):
    """How many values lie in each cell of a grid, in which some value lies; all cells, or those in some window.

    For each group, cells in rising order, four integers each: the cell as a number of steps, the values below it, the
    values in it, and all values of the group. NULLs lie nowhere. A row is in one cell, so the counts of cells are like
    more groups: a unit moves them as it moves a count of rows.

    Where several groups are known, `bins` asks also for the number of values in each bin of `marks`, over all groups.

    >>> from discreet.plans.expressions import Column
    >>> from discreet.plans.expressions.expression import Facts
    >>> from discreet.plans.statistics import Snapped
    >>> from discreet.tables import Bounds, Kind
    >>> age = Snapped.of(Column("age"), Facts(Kind.INTEGER, Bounds(0, 120)), part="MEDIAN")
    >>> RankedCells(age).reach({}), RankedCells(age).width
    ((0, 1), 120)
    """

    symbol: ClassVar[str] = "cells"

    factor: Snapped
    windows: tuple[Window, ...] = ()
    bins: bool = True

    def reach(self, schema: Schema) -> tuple[int, int]:  # noqa: ARG002 - each row counts at most once
        """Each row counts one in one cell, or nothing."""
        return (0, 1)

    def canonical(self) -> list[object]:
        """The symbol and the grid; the rest follows from a price, and chooses what is read, not what is asked."""
        return [self.symbol, self.factor.canonical()]

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The value."""
        return (self.factor.value,)

    @property
    def size(self) -> int:
        """No fixed number."""
        return 0

    @property
    def lower(self) -> int:
        """The first cell."""
        return self.factor.lower

    @property
    def width(self) -> int:
        """How many steps the last cell is above the first."""
        return self.factor.upper - self.factor.lower

    @property
    def marks(self) -> Marks:
        """The bins that are counted over all groups together, where there are several."""
        return Marks.of(self.factor.lower, self.factor.upper, self.factor.step)

    def wanted(self, *, below: int, equal: int, total: int) -> bool:
        """Tell whether a cell is in some window."""
        near = (window.misses(below=below, equal=equal, total=total) < window.reach for window in self.windows)
        return not self.windows or any(near)
