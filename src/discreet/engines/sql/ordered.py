"""Counts on a fine grid, near ranks: sorted and cut by the engine, so that few cells are read however many rows are."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.engines.sql.rows import Rows
from discreet.engines.sql.statistics import count_rows, steps_sql
from discreet.engines.sql.words import (
    alias,
    all_of,
    any_of,
    binary,
    call,
    column,
    not_null,
    number,
    over,
    select,
    table,
)
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.engines.sql.columns import Columns
    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.words import SQL
    from discreet.plans.statistics import RankedCells, Window
    from discreet.plans.statistics.marks import Marks

__all__ = ["CellsRead", "counted_cells", "near_ranks"]

_COUNTED = "counted"
"""The table in whose place the query of `counted_cells` is written."""


def counted_cells(statistic: RankedCells, rows: Rows, keys: list[SQL], wanted: list[SQL]) -> SQL:
    """Write a query whose rows are the keys, a cell, and the values in it."""
    factor = statistic.factor
    value = rows.cell(factor.value)
    if value.kind is Kind.FLOAT:
        found, there = rows.dialect.placed(value, rows.unread(factor.value), factor, rows)
        cell = rows.bind(found)
    else:
        cell = steps_sql(factor, rows)
        there = not_null(cell)
    named = [alias(each, f"r{place}") for place, each in enumerate([*keys, cell])]
    counted = [*named, alias(count_rows(), "n")]
    return select(counted, rows.computed(), where=all_of([*wanted, there]), group=[*keys, cell])


def near_ranks(counted: str, width: int, statistic: RankedCells, dialect: Dialect, *, several: bool) -> str:
    """Write a statement that reads the cells near ranks, from the text of `counted_cells` with so many keys.

    Its rows are the keys, a cell, the values below it, in it, and all of the group. A window keeps the cells with
    slope * below < aim + reach and slope * upto > aim - reach, where slope = a + b and aim = b * total + c: those that
    miss the rank by less than the reach.

    Where bins are counted there is one column more, the bin, and the last cell of each bin is kept too. What is up to
    it, less what is up to the last cell of the bin before, are the values in the bin: a histogram without another look
    at the rows. Bins rise with cells, so the cells of a bin are beside each other. Where each cell has its own bin, all
    are kept.
    """
    marks = statistic.marks if several and statistic.bins else None
    before, after = _around(width, statistic.windows, marks, dialect)
    return f"{before}({counted}) AS t{after}"


@lru_cache(maxsize=64)
def _around(width: int, windows: tuple[Window, ...], marks: Marks | None, dialect: Dialect) -> tuple[str, str]:
    """Write what stands before and after the query that counts cells: the same for all tables and columns."""
    rows = Rows(table(_COUNTED), {}, {}, dialect)
    outer = [column(f"r{place}") for place in range(width + 1)]
    sums = [
        alias(dialect.fitting(over(dialect.total(column("n")), outer[:-1], order)), name)
        for name, order in (("upto", outer[-1:]), ("total", []))
    ]
    carried, shown = [*outer, column("n")], [*outer, alias(_below(), "below"), column("n"), column("total")]
    kept = [_near(window) for window in windows]
    if marks is not None and marks.rate:
        place = _bin(outer[-1], marks, rows)
        carried.append(place)
        following = call("lead", place, number(1), number(-1))  # after the last cell comes no bin
        sums.append(alias(over(following, outer[:-1], outer[-1:]), "next"))
        shown.append(alias(place, "bin"))
        kept.append(binary("<>", place, column("next")))
    every = not windows or (marks is not None and not marks.rate)
    summed = select([*carried, *sums], rows.computed())
    found = select(shown, summed, where=None if every else any_of(kept))
    before, _, after = dialect.written(found).partition(dialect.written(table(_COUNTED)))
    return before, after


def _bin(cell: SQL, marks: Marks, rows: Rows) -> SQL:
    """Write `Marks.place`: the same operations on doubles, in the same order, or on whole numbers where they do."""
    dialect = rows.dialect
    if marks.every and dialect.divides_whole:
        away = dialect.signed(cell)
        if marks.zero:
            away = binary("-", away, dialect.literal(marks.zero, Kind.INTEGER))
        every = number(marks.every)
        above = binary("+", away, number(marks.every - 1))
        return rows.bind(binary("+", binary("//", away, every), binary("//", above, every)))
    steps = binary("-", cell, dialect.literal(marks.lower, Kind.INTEGER)) if marks.lower else cell
    away = binary("*", dialect.to(steps, Kind.FLOAT), dialect.float(marks.rate))
    if marks.phase:  # to add 0 changes nothing
        away = binary("+", away, dialect.float(marks.phase))
    half = dialect.float(marks.half)
    ends = dialect.floor(binary("+", away, half), rows), dialect.ceil(binary("-", away, half), rows)
    return rows.bind(dialect.nearest(binary("+", *ends)))


def _places(cells: NDArray[np.int64], marks: Marks) -> NDArray[np.int64]:
    """Compute `Marks.place` of many cells."""
    if not marks.rate:
        return cells - marks.lower
    if marks.every:
        away = cells - marks.zero
        return away // marks.every + (away + marks.every - 1) // marks.every
    real = (cells - marks.lower) * marks.rate + marks.phase
    found: NDArray[np.int64] = (np.floor(real + marks.half) + np.ceil(real - marks.half)).astype(np.int64)
    return found


def _below() -> SQL:
    return binary("-", column("upto"), column("n"))


def _near(window: Window) -> SQL:
    """Compare in 64 bits, as counts are: slopes are at most a million, and a table has at most 2**36 rows."""
    slope = window.a + window.b
    left = binary("<", _times(slope, _below()), _aim(window, window.reach))
    right = binary(">", _times(slope, column("upto")), _aim(window, -window.reach))
    return all_of([left, right])


def _aim(window: Window, more: int) -> SQL:
    if not window.b:
        return number(window.c + more)
    return binary("+", _times(window.b, column("total")), number(window.c + more))


def _times(factor: int, count: SQL) -> SQL:
    return count if factor == 1 else binary("*", number(factor), count)


def _sorted(columns: Columns, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the places of groups that are there, and the numbers beside them, by place and the first number."""
    numbers = np.column_stack([np.asarray(column, dtype=np.int64) for column in columns])
    order = np.lexsort((numbers[:, 0], places))
    order = order[np.searchsorted(places[order], 0) :]
    return places[order], numbers[order]


@dataclass(frozen=True, eq=False)
class CellsRead:
    """The result of `near_ranks`: by group and in rising order, though engines return cells in any."""

    groups: NDArray[np.int64]
    numbers: NDArray[np.int64]
    """For each cell it, the values below it, in it, and all of the group; and its bin, if the engine says it."""

    @staticmethod
    def of(columns: Columns, places: NDArray[np.int64], marks: Marks) -> CellsRead:  # noqa: ARG004 - the engine has them
        """Read the columns after the keys, with the place of each cell's group; -1 for one that is not there."""
        return CellsRead(*_sorted(columns, places))

    @staticmethod
    def counted(columns: Columns, places: NDArray[np.int64], marks: Marks) -> CellsRead:
        """Read the result of `counted_cells`, and give what `near_ranks` would have, for all cells."""
        groups, found = _sorted(columns, places)
        cells, equal = found.T
        upto = np.concatenate(([0], np.cumsum(equal)))
        starts, ends = (np.searchsorted(groups, groups, side) for side in ("left", "right"))
        total = upto[ends] - upto[starts]
        below = upto[:-1] - upto[starts]
        return CellsRead(groups, np.column_stack([cells, below, equal, total, _places(cells, marks)]))

    def near(self, statistic: RankedCells, size: int) -> list[NDArray[np.int64]]:
        """Give the cells in some window for each of so many groups: others may have been read too."""
        groups, numbers = self.groups, self.numbers[:, :4]
        if statistic.windows:
            _, below, equal, total = numbers.T
            kept = np.zeros(groups.size, dtype=bool)
            for window in statistic.windows:
                slope, aim = window.a + window.b, window.b * total + window.c
                kept |= np.maximum(slope * below - aim, aim - slope * (below + equal)) < window.reach
            groups, numbers = groups[kept], numbers[kept]
        ends = np.searchsorted(groups, np.arange(size + 1))
        return [numbers[start:end] for start, end in itertools.pairwise(ends.tolist())]

    def pooled(self, statistic: RankedCells) -> NDArray[np.int64]:
        """Count the values in each bin, over all groups.

        The last cell of each bin of a group is there (see `near_ranks`): up to it lie the values of its bin and of the
        bins before, so that the difference to the last cell of the bin before is what the bin holds.
        """
        marks, numbers = statistic.marks, self.numbers
        found = np.zeros(len(marks.starts), dtype=np.int64)
        bins = numbers[:, 4] if marks.rate else numbers[:, 0] - marks.lower
        last = np.ones(bins.size, dtype=bool)
        last[:-1] = (np.diff(bins) != 0) | (np.diff(self.groups) != 0)
        groups, upto = self.groups[last], numbers[last, 1] + numbers[last, 2]
        before = np.zeros_like(upto)
        before[1:] = np.where(np.diff(groups) == 0, upto[:-1], 0)
        np.add.at(found, bins[last], upto - before)
        return found
