"""The exponential mechanism on ranks: one point of a grid, chosen by how many rows lie on either side of it.

Candidates are the points 0, …, width of a public grid, up to 2**62 of them. A point's score depends on the number of
rows below, at and above it, so all points of a gap between two rows share one score, and the mechanism is a lottery
among gaps and rows with the number of points in each as its weight, then a uniform point of the gap: exact, with
nothing in it that underflows or rounds.

Only rows near the wanted rank matter. Far ones are not sorted: all points on one side are one ticket of the lottery
with the best score that any of them may have, and a point of such a tail is kept with the chance that its true score
leaves. That is rejection sampling, so the law is exactly the same as with all gaps laid out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discreet.mechanisms.inputs.columns import read_column
from discreet.noise import bernoulli_exp, lottery, uniform_integer
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import group_size

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.mechanisms.inputs.columns import Clamp
    from discreet.noise import BitSource
    from discreet.privacy.relations import Relation

    Rows = NDArray[np.int64]

__all__ = ["RankTarget", "Ranked", "SortedRows", "UnsortedRows", "choose_point", "ranked_rows"]

_NEGLIGIBLE = 45 * math.log(2)  # a tail is drawn at most about once in 2**45 times; it may be drawn


@dataclass(frozen=True, slots=True)
class RankTarget:
    """How far a point misses a wanted rank: max(0, a B - b (E + A) - c, b A - a (B + E) + c).

    B rows lie below the point, E at it, A above. For the q-quantile of n rows, q = b / (a + b) and c = 0: the first
    term is (a + b)(B - q n), the second (a + b)(q n - B - E), and the distance is 0 where B <= q n <= B + E. For the
    row of rank r from below, a = 1, b = 0, c = r; from above, a = 0, b = 1, c = -r.

    Sensitivity. A row more raises B, E or A by one. B: the terms move by +a and -a; E: by -b and -a; A: by -b and +b.
    The largest of three numbers moves by no more than each of them may: max(a, b) under add/remove. Exchanging a row
    moves the terms by at most a + b (from below to above): a + b under change-one, where the median has 2 of the unit
    in which add/remove has 1. Scores are minus the distance.

    >>> from fractions import Fraction
    >>> median = RankTarget.quantile(Fraction(1, 2))
    >>> median.distance(below=3, equal=1, above=4), median.distance(below=3, equal=0, above=5)
    (0, 2)
    >>> median.sensitivity(NeighborRelation.ADD_REMOVE), median.sensitivity(NeighborRelation.CHANGE_ONE)
    (1, 2)
    """

    a: int
    b: int
    c: int = 0

    @staticmethod
    def quantile(q: Fraction) -> RankTarget:
        """Return the target for a share q of the rows below."""
        return RankTarget(q.denominator - q.numerator, q.numerator)

    def distance(self, below: int | Rows, equal: int | Rows, above: int | Rows) -> int | Rows:
        """Return the distance, in units of 1 / (a + b) rows."""
        over = self.a * below - self.b * (equal + above) - self.c
        under = self.b * above - self.a * (below + equal) + self.c
        if isinstance(over, int) and isinstance(under, int):
            return max(0, over, under)
        return np.maximum(np.maximum(over, under), 0)

    def sensitivity(self, neighbors: Relation) -> int:
        """Return how far one unit, or a group of them, moves the distance of a point."""
        one = max(self.a, self.b) if neighbors.relation is NeighborRelation.ADD_REMOVE else self.a + self.b
        return one * group_size(neighbors)

    def scale(self, epsilon: Fraction, neighbors: Relation) -> Fraction:
        """Return 2 sensitivity / epsilon; sensitivity / epsilon at the ends, q = 0 and q = 1.

        The 2 stays in between: when a row arrives above the median, points between them come closer to the rank while
        points left of the median move away. With a = c = 0 the distance is A, the number of rows above: a row more, or
        a row moved, changes it in one direction for all points. So all losses lie in half the interval.
        """
        apart = 1 if self.a * self.b == self.c == 0 else 2
        return apart * self.sensitivity(neighbors) / epsilon


class Ranked(Protocol):
    """Rows of which some can be had in order."""

    @property
    def count(self) -> int:
        """The number of rows: private."""

    def window(self, first: int, last: int) -> tuple[Rows, int, int]:
        """Return rows first, …, last - 1 of the sorted rows; how many before equal the first, and after the last."""

    def around(self, point: int) -> tuple[int, int]:
        """Return how many rows lie below a point and at it."""


@dataclass(frozen=True, slots=True, eq=False)
class SortedRows:
    """Rows that were sorted.

    >>> SortedRows(np.array([1, 4, 4, 9])).window(2, 3)
    (array([4]), 1, 0)
    """

    rows: Rows

    @property
    def count(self) -> int:
        """All of them."""
        return int(self.rows.size)

    def window(self, first: int, last: int) -> tuple[Rows, int, int]:
        """Cut it out."""
        inside = self.rows[first:last]
        before = first - int(np.searchsorted(self.rows, inside[0], side="left"))
        return inside, before, int(np.searchsorted(self.rows, inside[-1], side="right")) - last

    def around(self, point: int) -> tuple[int, int]:
        """Search for it."""
        below, upto = (int(np.searchsorted(self.rows, point, side=side)) for side in ("left", "right"))
        return below, upto - below


class UnsortedRows:
    """Rows of which only a window is sorted: clamping and snapping keep the order, so raw rows can be partitioned.

    >>> from fractions import Fraction
    >>> from discreet.exact import Grid
    >>> from discreet.mechanisms.inputs.columns import Clamp
    >>> rows = UnsortedRows(np.array([0.3, 7.7, 4.1, 4.2]), Clamp.of(Fraction(0), Fraction(10), Grid(1)))
    >>> rows.window(1, 2), rows.around(8)
    ((array([4]), 0, 1), (3, 1))
    """

    def __init__(self, column: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint64], clamp: Clamp) -> None:
        lost = np.isnan(column) if column.dtype.kind == "f" else np.zeros(1, dtype=np.bool_)
        self._rows = column[~lost] if lost.any() else column
        self._clamp = clamp

    @property
    def count(self) -> int:
        """Those that are not missing."""
        return int(self._rows.size)

    def window(self, first: int, last: int) -> tuple[Rows, int, int]:
        """Partition at both ends, and sort between them."""
        parts = np.partition(self._rows, sorted({first, last - 1}))
        inside = self._clamp.steps(np.sort(parts[first:last]))
        return inside, self._ties(parts[:first], inside[0]), self._ties(parts[last:], inside[-1])

    def _ties(self, outside: NDArray[np.float64], row: np.int64) -> int:
        """Count the rows outside the window that are snapped to its end; nearly always their extremes rule all out."""
        if not outside.size or row not in self._clamp.steps(np.array([outside.min(), outside.max()])):
            return 0
        return int(np.count_nonzero(self._clamp.steps(outside) == row))

    def around(self, point: int) -> tuple[int, int]:
        """Count them all."""
        steps = self._clamp.steps(self._rows)
        return int(np.count_nonzero(steps < point)), int(np.count_nonzero(steps == point))


def ranked_rows(values: ArrayLike, clamp: Clamp) -> Ranked:
    """Read rows of which few need to be sorted: mixed ones are, of arrays of numbers those near a rank.

    >>> from fractions import Fraction
    >>> from discreet.exact import Grid
    >>> from discreet.mechanisms.inputs.columns import Clamp
    >>> ranked_rows([3, None, 1], Clamp.of(Fraction(0), Fraction(10), Grid(1))).around(3)
    (1, 1)
    """
    column = read_column(values)
    return SortedRows(np.sort(clamp.steps(column))) if column.dtype.kind == "O" else UnsortedRows(column, clamp)


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Runs of points: where each begins, how many points it has, and its score; for a tail, an upper bound of it."""

    starts: Rows
    sizes: Rows
    scores: Rows
    tails: frozenset[int]


def choose_point(ranked: Ranked, target: RankTarget, width: int, scale: Fraction, bits: BitSource) -> int:
    """Choose a point from 0 to width with probability proportional to exp(-distance / scale), exactly.

    >>> from fractions import Fraction
    >>> from discreet.noise import SYSTEM
    >>> rows = SortedRows(np.arange(0, 1000, 10))
    >>> 490 <= choose_point(rows, RankTarget.quantile(Fraction(1, 2)), 1000, Fraction(1, 1000), SYSTEM) <= 500
    True
    """
    count = ranked.count
    if count == 0:
        return uniform_integer(width + 1, bits=bits)
    cells = _cells(ranked, target, width, scale)
    while True:
        i = lottery(cells.scores, scale, cells.sizes, bits)
        point = int(cells.starts[i]) + uniform_integer(int(cells.sizes[i]), bits=bits)
        if i not in cells.tails:
            return point
        below, equal = ranked.around(point)
        behind = int(target.distance(below, equal, count - below - equal)) + int(cells.scores[i])
        if bernoulli_exp(behind / scale, bits=bits):
            return point


def _cells(ranked: Ranked, target: RankTarget, width: int, scale: Fraction) -> _Cells:
    """Lay out the rows and gaps near the target, and what lies on either side of them as one cell each."""
    count, slope = ranked.count, target.a + target.b
    center = max(0, min((target.b * count + target.c) // slope, count))
    reach = 2 + math.ceil(min(Fraction(math.log(width + 1) + _NEGLIGIBLE) * scale / slope, Fraction(count)))
    first, last = max(0, center - reach), min(count, center + reach)
    window, before, after = ranked.window(first, last)
    points, places = np.unique(window, return_index=True)
    upto = first + np.append(places[1:], window.size)
    upto[-1] += after
    below = np.append(first - before, upto[:-1])
    rows = target.distance(below, upto - below, count - upto)
    gaps = target.distance(upto[:-1], 0, count - upto[:-1])
    # left of the window at most first - before rows are at or below a point, right of it at least last + after below
    left = max(0, target.b * count + target.c - slope * (first - before)) if first else target.distance(0, 0, count)
    right = max(0, slope * (last + after) - target.b * count - target.c)
    right = right if last < count else int(target.distance(count, 0, 0))
    return _Cells(
        starts=np.concatenate([[0], points, points[:-1] + 1, [points[-1] + 1]]),
        sizes=np.concatenate([[points[0]], np.ones_like(points), np.diff(points) - 1, [width - points[-1]]]),
        scores=-np.concatenate([[left], rows, gaps, [right]]),
        tails=frozenset({0} if first else ()) | frozenset({2 * points.size} if last < count else ()),
    )
