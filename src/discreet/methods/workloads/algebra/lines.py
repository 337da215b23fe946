"""Workloads over one axis: cells, prefixes, ranges, windows, and predicates that are written out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import counted, integer, shown
from discreet.methods.workloads.algebra.workload import MOST_QUERIES, Workload, read_cells

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from discreet.methods.workloads.algebra.workload import Floats

__all__ = ["AllRange", "Identity", "Intervals", "Predicates", "Prefix", "Ranges", "Total", "Width", "overlaps"]


def overlaps(starts: NDArray[np.int64], stops: NDArray[np.int64], block: int) -> Floats:
    """Sum for each interval the squares of its overlaps with blocks of so many neighboring cells.

    >>> overlaps(np.array([1]), np.array([7]), 4).tolist()
    [18.0]
    """
    first, last = starts // block, (stops - 1) // block
    head, tail = (first + 1) * block - starts, stops - last * block
    across = head.astype(float) ** 2 + tail.astype(float) ** 2 + (last - first - 1) * float(block) ** 2
    inside = (stops - starts).astype(float) ** 2
    summed: Floats = np.where(first == last, inside, across)
    return summed


class Intervals(Workload):
    """Queries that each count neighboring cells, from `starts` up to but not including `stops`.

    >>> [int(start) for start in Prefix(3).starts], [int(stop) for stop in Prefix(3).stops]
    ([0, 0, 0], [1, 2, 3])
    """

    size: int

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis."""
        return (self.size,)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first cell of each query."""
        return self.ends()[0]

    @property
    def stops(self) -> NDArray[np.int64]:
        """The cell after the last one of each query."""
        return self.ends()[1]

    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return starts and stops of all queries."""
        raise NotImplementedError

    def answers(self, counts: Any) -> Floats:  # noqa: ANN401 - whatever numpy reads as an array
        """Answer by differences of running sums."""
        cells = self._read_answers(counts)
        sums = np.concatenate(([0.0], np.cumsum(cells)))
        starts, stops = self.ends()
        found: Floats = sums[stops] - sums[starts]
        return found

    def matrix(self) -> Floats:
        """One row of zeros and ones per query."""
        places = np.arange(self.size)
        starts, stops = self.ends()
        rows: Floats = ((places >= starts[:, None]) & (places < stops[:, None])).astype(float)
        return rows

    def gram_dot(self, rows: Floats) -> Floats:
        """Multiply by W and then by its transpose, both by running sums."""
        starts, stops = self.ends()
        sums = np.pad(np.cumsum(rows, axis=1), ((0, 0), (1, 0)))
        asked = sums[:, stops] - sums[:, starts]
        steps = np.zeros((len(rows), self.size + 1))
        for place, row in enumerate(asked):
            steps[place] = np.bincount(starts, row, self.size + 1) - np.bincount(stops, row, self.size + 1)
        back: Floats = np.cumsum(steps, axis=1)[:, :-1]
        return back

    def coverage(self) -> Floats:
        """How many intervals hold each cell."""
        starts, stops = self.ends()
        steps = np.bincount(starts, minlength=self.size + 1) - np.bincount(stops, minlength=self.size + 1)
        return np.cumsum(steps)[:-1].astype(float)

    def block_squares(self, block: int) -> Floats:
        """The overlaps of each query."""
        return overlaps(*self.ends(), block)


@dataclass(frozen=True)
class Identity(Intervals):
    """Each cell by itself: a histogram.

    >>> Identity(3).answers([4, 0, 1]).tolist()
    [4.0, 0.0, 1.0]
    """

    size: int

    def __post_init__(self) -> None:
        """Refuse what is no size."""
        object.__setattr__(self, "size", read_cells(self.size))

    @property
    def queries(self) -> int:
        """One for each cell."""
        return self.size

    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each cell alone."""
        places = np.arange(self.size)
        return places, places + 1

    def gram_dot(self, rows: Floats) -> Floats:
        """Return the rows as they are."""
        return rows

    def singular_sum(self) -> float:
        """One for each cell."""
        return float(self.size)

    def __str__(self) -> str:
        return f"Identity({self.size})"


@dataclass(frozen=True)
class Total(Intervals):
    """All cells together: one count.

    >>> Total(3).answers([4, 0, 1]).tolist()
    [5.0]
    """

    size: int

    def __post_init__(self) -> None:
        """Refuse what is no size."""
        object.__setattr__(self, "size", read_cells(self.size))

    @property
    def queries(self) -> int:
        """One."""
        return 1

    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the whole axis."""
        return np.array([0]), np.array([self.size])

    def gram_dot(self, rows: Floats) -> Floats:
        """Spread the sum of each row over it: the Gram matrix is all ones."""
        return np.repeat(rows.sum(axis=1, keepdims=True), self.size, axis=1)

    def singular_sum(self) -> float:
        """The length of a row of ones."""
        return float(np.sqrt(self.size))

    def __str__(self) -> str:
        return f"Total({self.size})"


@dataclass(frozen=True)
class Prefix(Intervals):
    """Everything up to each cell: a distribution function.

    >>> Prefix(3).answers([4, 0, 1]).tolist()
    [4.0, 4.0, 5.0]
    """

    size: int

    def __post_init__(self) -> None:
        """Refuse what is no size."""
        object.__setattr__(self, "size", read_cells(self.size))

    @property
    def queries(self) -> int:
        """One for each cell."""
        return self.size

    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the intervals that begin at the first cell."""
        return np.zeros(self.size, dtype=np.int64), np.arange(1, self.size + 1)

    def gram_dot(self, rows: Floats) -> Floats:
        """Multiply by running sums: the Gram matrix has size - max(i, j) at i, j."""
        back: Floats = np.cumsum(np.cumsum(rows, axis=1)[:, ::-1], axis=1)[:, ::-1]
        return back

    def singular_sum(self) -> float:
        """Sum 1 / (2 sin((2 j - 1) pi / (4 n + 2))), the singular values of a triangle of ones."""
        places = np.arange(1, self.size + 1)
        return float((0.5 / np.sin((2 * places - 1) * np.pi / (4 * self.size + 2))).sum())

    def __str__(self) -> str:
        return f"Prefix({self.size})"


@dataclass(frozen=True)
class AllRange(Intervals):
    """Every range of neighboring cells: n (n + 1) / 2 of them.

    >>> AllRange(3).answers([4, 0, 1]).tolist()
    [4.0, 4.0, 5.0, 0.0, 1.0, 1.0]
    """

    size: int

    def __post_init__(self) -> None:
        """Refuse what is no size."""
        object.__setattr__(self, "size", read_cells(self.size))

    @property
    def queries(self) -> int:
        """One for each pair of ends."""
        return self.size * (self.size + 1) // 2

    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all pairs of ends, by the first cell."""
        if self.queries > MOST_QUERIES:
            msg = f"{self.queries} ranges are too many to list: at most {MOST_QUERIES}. Use the running sums of cells."
            raise ParameterError(msg)
        starts, lasts = np.triu_indices(self.size)
        return starts, lasts + 1

    def gram_dot(self, rows: Floats) -> Floats:
        """Multiply by running sums: the Gram matrix has (min(i, j) + 1) (n - max(i, j)) at i, j."""
        places = np.arange(self.size)
        before = np.cumsum(rows * (places + 1), axis=1)
        after = rows * (self.size - places)
        after = after.sum(axis=1, keepdims=True) - np.cumsum(after, axis=1)
        product: Floats = (self.size - places) * before + (places + 1) * after
        return product

    def coverage(self) -> Floats:
        """How many ranges hold each cell."""
        places = np.arange(self.size, dtype=float)
        return (places + 1) * (self.size - places)

    def block_trace(self, block: int) -> float:
        """Sum the Gram matrix over blocks, in one pass over the cells."""
        places = np.arange(self.size, dtype=float)
        starts = places - places % block
        before = (places * (places + 1) - starts * (starts + 1)) / 2
        return float(((self.size - places) * (2 * before + places + 1)).sum())

    def singular_sum(self) -> float:
        """Sum sqrt(n + 1) / (2 sin(j pi / (2 n + 2))).

        The Gram matrix is n + 1 times the inverse of the second difference.
        """
        places = np.arange(1, self.size + 1)
        return float(np.sqrt(self.size + 1) * (0.5 / np.sin(places * np.pi / (2 * self.size + 2))).sum())

    def __str__(self) -> str:
        return f"AllRange({self.size})"


@dataclass(frozen=True)
class Width(Intervals):
    """Every range of exactly `width` neighboring cells: a moving window.

    >>> Width(4, width=2).answers([4, 0, 1, 7]).tolist()
    [4.0, 1.0, 8.0]
    """

    size: int
    width: int

    def __post_init__(self) -> None:
        """Refuse windows that do not fit."""
        object.__setattr__(self, "size", read_cells(self.size))
        object.__setattr__(self, "width", integer(self.width, name="width", least=1, most=self.size))

    @property
    def queries(self) -> int:
        """One for each place of the window."""
        return self.size - self.width + 1

    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all places of the window."""
        starts = np.arange(self.queries)
        return starts, starts + self.width

    def __str__(self) -> str:
        return f"Width({self.size}, width={self.width})"


@dataclass(frozen=True)
class Ranges(Intervals):
    """Some ranges of neighboring cells, from each start up to but not including its stop.

    >>> Ranges(4, [(0, 2), (1, 4)]).answers([4, 0, 1, 7]).tolist()
    [4.0, 8.0]
    """

    size: int
    pairs: tuple[tuple[int, int], ...]

    def __init__(self, size: int, pairs: object) -> None:
        """Refuse ranges that do not lie in the axis."""
        object.__setattr__(self, "size", read_cells(size))
        read = np.asarray(pairs, dtype=object)
        if read.ndim != 2 or read.shape[1] != 2 or not len(read):
            msg = f"pairs is {shown(pairs)}; it must be a list of pairs (start, stop), at least one."
            raise ParameterError(msg)
        listed = tuple((integer(a, name="start"), integer(b, name="stop")) for a, b in read.tolist())
        if wrong := [pair for pair in listed if not 0 <= pair[0] < pair[1] <= self.size]:
            msg = f"pairs holds {wrong[0]}; a range has 0 <= start < stop <= {self.size}."
            raise ParameterError(msg)
        object.__setattr__(self, "pairs", listed)

    @property
    def queries(self) -> int:
        """One for each pair."""
        return len(self.pairs)

    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pairs, by column."""
        listed = np.array(self.pairs, dtype=np.int64)
        return listed[:, 0], listed[:, 1]

    def __str__(self) -> str:
        return f"Ranges({self.size}, {counted(len(self.pairs), 'range')})"


@dataclass(frozen=True)
class Predicates(Workload):
    """Queries that each say of every cell whether it counts, written out as rows of zeros and ones.

    >>> Predicates([[1, 0, 0, 0], [1, 1, 0, 0]]).answers([4, 0, 1, 7]).tolist()
    [4.0, 4.0]
    """

    rows: tuple[tuple[int, ...], ...]

    def __init__(self, rows: object) -> None:
        """Refuse what is not a table of zeros and ones."""
        try:
            table = np.asarray(rows, dtype=float)
        except (TypeError, ValueError):
            table = np.zeros(0)
        if table.ndim != 2 or not table.size or not np.isin(table, (0, 1)).all():
            msg = "rows must be a list of equally long lists of zeros and ones, one for each query."
            raise ParameterError(msg)
        read_cells(table.shape[1])
        object.__setattr__(self, "rows", tuple(tuple(row) for row in table.astype(int).tolist()))

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis."""
        return (len(self.rows[0]),)

    @property
    def queries(self) -> int:
        """One for each row."""
        return len(self.rows)

    def answers(self, counts: Any) -> Floats:  # noqa: ANN401 - whatever numpy reads as an array
        """Multiply."""
        found: Floats = self.matrix() @ self._read_answers(counts)
        return found

    def gram_dot(self, rows: Floats) -> Floats:
        """Multiply twice."""
        matrix = self.matrix()
        product: Floats = (rows @ matrix.T) @ matrix
        return product

    @cached_property
    def _table(self) -> Floats:
        return np.array(self.rows, dtype=float)

    def matrix(self) -> Floats:
        """The rows."""
        return self._table

    def __str__(self) -> str:
        return f"Predicates({counted(len(self.rows), 'query')} of {self.cells} cells)"
