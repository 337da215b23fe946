"""Counts on a fine public grid, near the ranks that a question asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.plans.statistics.exact import Statistic
from discreet.plans.statistics.marks import Marks

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression
    from discreet.plans.facts import Schema
    from discreet.plans.statistics.snapped import Snapped

__all__ = ["RANK_BITS", "RankedCells", "Window"]

RANK_BITS = 36
"""Floats are put on a grid of 2**-36 of their range or finer: no quantile of a table is off by its grid."""

_MOST = 1 << 60


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
    >>> from discreet.plans.facts import Facts
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
