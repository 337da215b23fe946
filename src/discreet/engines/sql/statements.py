"""An aggregate as the few statements that compute it, and how their results are read, column by column."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sqlglot import exp

from discreet.engines.sql.dialect import LIMB
from discreet.engines.sql.expressions import below
from discreet.engines.sql.rows import (
    CellsRead,
    count_distinct,
    count_rows,
    counted_cells,
    is_narrow,
    near_ranks,
    statistic_sql,
)
from discreet.engines.sql.words import alias, all_of, any_of, between, column, is_null, listed, not_null, select
from discreet.plans.expressions import Column
from discreet.plans.refusals import refuse
from discreet.plans.statistics import BinCounts, Moment, RankedCells, RowCount, ValueCount
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.relations import Emitter, Relation
    from discreet.engines.sql.rows import Rows
    from discreet.engines.sql.words import SQL
    from discreet.plans.expressions import Expression
    from discreet.plans.nodes import Aggregate, GroupKey
    from discreet.tables import Value

__all__ = [
    "BATCH",
    "Columns",
    "Growing",
    "Row",
    "Statements",
    "Take",
    "by_columns",
    "found_places",
    "known_places",
    "listed_rows",
    "whole_numbers",
    "written",
]

Columns: TypeAlias = "list[Sequence[object] | NDArray[np.int64]]"
"""The columns of a result, each of the same length: 64-bit integers as an array where an engine has them so."""
Take: TypeAlias = "Callable[[Columns], None]"
"""Who is handed a result that is not held as a whole."""

Row = tuple[object, ...]

BATCH = 10_000
"""So many rows of such a result are read at a time."""

_WHOLE = 2**63


def by_columns(rows: Sequence[Row], width: int) -> Columns:
    """Turn rows around."""
    return list(zip(*rows, strict=True)) if rows else [[] for _ in range(width)]


class Growing:
    """A column that is read in batches: an array while all its cells are 64-bit integers, a list from then on.

    >>> column = Growing()
    >>> column.extend([1, 2])
    >>> column.extend([3])
    >>> column.whole()
    array([1, 2, 3])
    >>> column.extend([None, True])
    >>> column.whole()
    [1, 2, 3, None, True]
    """

    __slots__ = ("_arrays", "_cells")

    def __init__(self) -> None:
        self._arrays: list[NDArray[np.int64]] = []
        self._cells: list[object] | None = None

    def extend(self, cells: Sequence[object]) -> None:
        """Add a batch."""
        if self._cells is None and all(type(cell) is int and abs(cell) < _WHOLE for cell in cells):
            self._arrays.append(np.array(cells, dtype=np.int64))
            return
        if self._cells is None:
            self._cells = [cell for array in self._arrays for cell in array.tolist()]
            self._arrays = []
        self._cells.extend(cells)

    def whole(self) -> Sequence[object] | NDArray[np.int64]:
        """Give the column."""
        if self._cells is not None:
            return self._cells
        return np.concatenate(self._arrays) if self._arrays else []


def listed_rows(columns: Columns) -> Iterable[Row]:
    """Give rows of Python's own values again."""
    return zip(*(column.tolist() if isinstance(column, np.ndarray) else column for column in columns), strict=True)


def known_places(keys: tuple[GroupKey, ...], columns: Columns, count: int) -> NDArray[np.int64]:
    """Give the place of each row's group among the known ones, in the order of their product; -1 for others."""
    places = np.zeros(count, dtype=np.int64)
    there = np.ones(count, dtype=bool)
    for key, cells in zip(keys, columns, strict=True):
        known = key.known or ()
        at = _places(known, cells, count)
        there &= at >= 0
        places = places * len(known) + at
    return np.where(there, places, -1)


def found_places(groups: Columns, columns: Columns, count: int) -> NDArray[np.int64]:
    """Give the place of each row's group among those that were found, whose keys come column by column; -1 for others.

    >>> found_places([["b", "a"], [1, None]], [["a", "b", "b"], [None, 1, 2]], 3)
    array([ 1,  0, -1])
    """
    if len(groups) == 1 and isinstance(groups[0], np.ndarray) and isinstance(columns[0], np.ndarray):
        return _sorted_places(groups[0], columns[0])
    index = {group: place for place, group in enumerate(listed_rows(groups))}
    places = map(index.get, listed_rows(columns), itertools.repeat(-1))
    return np.fromiter(places, dtype=np.int64, count=count)


class _Recent:
    """The arrays of the last few tuples, told apart by being the same object.

    To compare a million keys takes as long as to make their array again. The tuples are held, so that none is mistaken
    for another at the same address.
    """

    def __init__(self, most: int) -> None:
        self._found: dict[int, tuple[tuple[object, ...], NDArray[np.int64] | None]] = {}
        self._most = most

    def of(self, known: tuple[object, ...]) -> NDArray[np.int64] | None:
        """Give the array of a tuple of whole numbers, None for another."""
        recent = self._found.get(id(known))
        if recent is None:
            recent = known, np.array(known, dtype=np.int64) if all(type(key) is int for key in known) else None
            if len(self._found) >= self._most:
                self._found.clear()
            self._found[id(known)] = recent
        return recent[1]


_RECENT = _Recent(16)


def whole_numbers(known: tuple[object, ...]) -> NDArray[np.int64] | None:
    """Give keys as an array, if they are whole numbers of 64 bits and none is NULL.

    >>> whole_numbers((3, 1)), whole_numbers((True, False)), whole_numbers((1, None))
    (array([3, 1]), None, None)
    """
    return _RECENT.of(known)


def _places(known: tuple[object, ...], column: Sequence[object] | NDArray[np.int64], count: int) -> NDArray[np.int64]:
    order = whole_numbers(known) if isinstance(column, np.ndarray) and known else None
    if order is not None and isinstance(column, np.ndarray):
        if np.all(np.diff(order) == 1):
            places = column - order[0]
            return np.where((column >= order[0]) & (column <= order[-1]), places, -1)
        return _sorted_places(order, column)
    index = {key: place for place, key in enumerate(known)}
    cells = column.tolist() if isinstance(column, np.ndarray) else column
    return np.fromiter(map(index.get, cells, itertools.repeat(-1)), dtype=np.int64, count=count)


def _sorted_places(known: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find whole numbers among others by halving."""
    if not known.size:
        return np.full(column.size, -1)
    sorting = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[sorting], column), known.size - 1)
    return np.where(known[sorting[at]] == column, sorting[at], -1)


_LONGEST_LIST = 16
"""More known keys than this are not sent to the engine; groups that are not known are then dropped as they are read."""

_APART = (BinCounts, RankedCells)
"""What is not one number per group has a statement of its own."""

Numbers: TypeAlias = "NDArray[np.int64] | NDArray[np.object_] | list[list[int]] | list[NDArray[np.int64]]"


@dataclass(frozen=True)
class Statements:
    """The texts to execute, in order, in one snapshot: one for all counts and sums, one for each set of bins or cells.

    A row of the first result is the key, the numbers, and the number of units where keys are not known; where keys are
    known and no number is asked for, there is no such text. A row of the others is the key, the bin and the number of
    rows in it; for cells the cell, the rows below it, in it, and all, and the bin that is counted over all groups, if
    there are several and it is not the cell.
    """

    aggregate: Aggregate
    parts: tuple[str, ...]
    """The texts, but for cells the query that counts them all."""
    dialect: Dialect

    @staticmethod
    def of(aggregate: Aggregate, emitter: Emitter) -> Statements:
        """Write an aggregate."""
        queries = [_scalars(aggregate, emitter)] if _has_scalars(aggregate) else []
        for statistic in aggregate.statistics:
            if isinstance(statistic, BinCounts):
                queries.append(_bins(aggregate, statistic, emitter))
            elif isinstance(statistic, RankedCells):
                child = emitter.late(aggregate.child)
                drops = child.pending == _column_of(statistic.factor.value)  # a row without a value has no cell either
                rows = emitter.rows(child if drops else emitter.settled(child))
                queries.append(counted_cells(statistic, rows, *_keys(aggregate, rows)))
        parts = tuple(written(query, emitter.dialect) for query in queries)
        return Statements(aggregate, parts, emitter.dialect)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts to execute."""
        texts = list(self.parts)
        width, several = len(self.aggregate.keys), self.aggregate.several
        apart = (statistic for statistic in self.aggregate.statistics if isinstance(statistic, _APART))
        for place, statistic in enumerate(apart, start=int(_has_scalars(self.aggregate))):
            if isinstance(statistic, RankedCells):
                texts[place] = near_ranks(texts[place], width, statistic, self.dialect, several=several)
        return tuple(texts)

    @property
    def has_cells(self) -> bool:
        """Whether some statistic is read by ranks."""
        return any(isinstance(statistic, RankedCells) for statistic in self.aggregate.statistics)

    def near(self, aggregate: Aggregate) -> Statements:
        """Read no more cells than an aggregate asks for that is the same apart from that; written at once."""
        nearer = replace(self, aggregate=aggregate)
        _ = nearer.texts
        return nearer

    def read(
        self, results: Sequence[Columns], *, counted: bool = False
    ) -> tuple[Columns | None, list[Numbers], Sequence[int] | NDArray[np.int64], dict[int, NDArray[np.int64]]]:
        """Put results together: the keys, the numbers of each statistic by group, the units of each group, and bins.

        Known groups come in their order (and are not listed), 0 where the engine found none. Others come as the engine
        lists them: only those that are shown are ever sorted, and there may be a million others. Results are those of
        the texts; or of the parts, if cells were only counted.
        """
        aggregate = self.aggregate
        width = len(aggregate.keys)
        if not _has_scalars(aggregate):
            empty: list[Numbers] = [[] for _ in aggregate.statistics]
            return None, empty, [], self._apart(empty, results, None, counted=counted)
        first, count = results[0], len(results[0][-1])
        if not aggregate.known:
            there = _listed_groups(aggregate.keys, first[:width], count)
            keys, units = [_at(column, there) for column in first[:width]], np.asarray(first[-1], dtype=np.int64)[there]
            sums = self._numbers(first[width:], there, slice(None), units.size)
            return keys, sums, units, self._apart(sums, results[1:], keys, counted=counted)
        places = known_places(aggregate.keys, first[:width], count)
        rows = np.flatnonzero(places >= 0)
        size = math.prod(len(key.known or ()) for key in aggregate.keys)
        numbers = self._numbers(first[width:], rows, places[rows], size)
        return None, numbers, [], self._apart(numbers, results[1:], None, counted=counted)

    def _apart(
        self, numbers: list[Numbers], results: Sequence[Columns], groups: Columns | None, *, counted: bool
    ) -> dict[int, NDArray[np.int64]]:
        """Read what has a statement of its own; give what is counted over all groups, by the place of its statistic."""
        left = iter(results)
        keys = self.aggregate.keys
        size = math.prod(len(key.known or ()) for key in keys) if groups is None else len(groups[0])
        pooled = {}
        for place, statistic in enumerate(self.aggregate.statistics):
            if isinstance(statistic, BinCounts):
                columns = next(left)
                numbers[place] = _counted(
                    _group_places(columns, keys, groups), columns[len(keys) :], (size, statistic.size)
                )
            elif isinstance(statistic, RankedCells):
                columns = next(left)
                places = _group_places(columns, keys, groups)
                read = (CellsRead.counted if counted else CellsRead.of)(columns[len(keys) :], places, statistic.marks)
                numbers[place] = read.near(statistic, size)
                if statistic.bins and self.aggregate.several:
                    pooled[place] = read.pooled(statistic)
        return pooled

    def _numbers(
        self, columns: Columns, rows: NDArray[np.int64] | slice, places: NDArray[np.int64] | slice, size: int
    ) -> list[Numbers]:
        """Read the counts and sums; wide ones come in two limbs."""
        numbers: list[Numbers] = []
        place = 0
        for statistic in self.aggregate.statistics:
            if isinstance(statistic, _APART):
                numbers.append([])
                continue
            limbs = 1 if is_narrow(statistic) else 2
            parts = [np.asarray(column, dtype=np.int64)[rows] for column in columns[place : place + limbs]]
            whole = parts[0] if limbs == 1 else parts[0].astype(object) * LIMB + parts[1]
            cells = np.zeros(size, dtype=whole.dtype)
            cells[places] = whole
            numbers.append(cells)
            place += limbs
        return numbers


def _column_of(value: Expression) -> frozenset[str] | None:
    return frozenset([value.name]) if isinstance(value, Column) else None


def _has_scalars(aggregate: Aggregate) -> bool:
    """Whether groups are found in the data, or some number of a group is neither in bins nor in cells."""
    return not aggregate.known or not all(isinstance(statistic, _APART) for statistic in aggregate.statistics)


def _listed_groups(keys: tuple[GroupKey, ...], columns: Columns, count: int) -> NDArray[np.int64] | slice:
    """Give the places of groups whose known keys are known ones: a statement need not leave others out."""
    known = [place for place, key in enumerate(keys) if key.known is not None]
    there = [known_places((keys[place],), [columns[place]], count) >= 0 for place in known]
    return np.flatnonzero(np.all(there, axis=0)) if there else slice(None)


def _at(
    column: Sequence[object] | NDArray[np.int64], places: NDArray[np.int64] | slice
) -> Sequence[object] | NDArray[np.int64]:
    """Give some cells of a column."""
    if isinstance(column, np.ndarray) or isinstance(places, slice):
        return column[places]  # type: ignore[index]  # either takes a slice
    return [column[place] for place in places.tolist()]


def _counted(groups: NDArray[np.int64], columns: Columns, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Read the counts of bins: of each row the place of its group, -1 for one that is not there, bin and count."""
    places, counts = (np.asarray(column, dtype=np.int64) for column in columns)
    there = groups >= 0
    table = np.zeros(shape, dtype=np.int64)
    table[groups[there], places[there]] = counts[there]
    return table


def _group_places(columns: Columns, keys: tuple[GroupKey, ...], groups: Columns | None) -> NDArray[np.int64]:
    """Give the place of each row's group; -1 for groups that are not there."""
    width, count = len(keys), len(columns[-1])
    if groups is None:
        return known_places(keys, columns[:width], count)
    return found_places(groups, columns[:width], count)


def _keys(aggregate: Aggregate, rows: Rows) -> tuple[list[SQL], list[SQL]]:
    """Write the keys, and the conditions that leave other groups out."""
    keys, wanted = [], []
    for group_key in aggregate.keys:
        cell = rows.cell(Column(group_key.column))
        short = rows.dialect.short_key(cell, group_key.known)
        keys.append(cell.sql if short is None else rows.bind(short))
        if short is not None:
            continue
        if group_key.known is None:
            wanted += [] if aggregate.child.schema[group_key.column].nullable else [not_null(cell.sql)]
        elif _is_range(group_key.known):
            ends = [rows.dialect.literal(end, cell.kind) for end in (group_key.known[0], group_key.known[-1])]
            wanted.append(between(cell.sql, *ends))
        elif len(group_key.known) <= _LONGEST_LIST:
            some = [rows.dialect.literal(value, cell.kind) for value in group_key.known if value is not None]
            parts = [listed(cell.sql, some)] if some else []
            parts += [is_null(cell.sql)] if None in group_key.known else []
            wanted.append(any_of(parts))
    return keys, wanted


def _is_range(known: tuple[Value, ...]) -> bool:
    """Tell whether keys are all whole numbers from one to another: then a comparison is enough."""
    whole = whole_numbers(known) if known else None
    return whole is not None and bool(np.all(np.diff(whole) == 1))


def _sums_drop(aggregate: Aggregate, child: Relation) -> Column | None:
    """Give the column whose sums drop the rows that are pending: nothing but those sums and counts is asked.

    A row without a value there is one without steps, which a sum passes over; rows are then counted by their steps.
    Groups of nothing but such rows are there with zeros, so all groups must be known.
    """
    if len(child.pending) != 1 or not aggregate.known:
        return None
    value = Column(*child.pending)
    moments = [statistic for statistic in aggregate.statistics if isinstance(statistic, Moment)]
    factors = [factor for moment in moments for factor in moment.factors]
    counts = all(
        isinstance(statistic, (RowCount, Moment, *_APART))
        or (isinstance(statistic, ValueCount) and statistic.values == (value,))
        for statistic in aggregate.statistics
    )
    return value if factors and counts and all(factor.value == value for factor in factors) else None


def written(query: SQL, dialect: Dialect) -> str:
    """Write a query, unless the engine could not read it: that would be known only after it was paid."""
    text = dialect.written(query)
    if text.count("(SELECT ") >= dialect.most_layers and _layers(query) > dialect.most_layers:
        refuse(
            "the question",
            why=f"It takes more than {dialect.most_layers} steps upon each other, more than the engine reads at once.",
            instead="fewer operations on floats within each other, or fewer subqueries.",
        )
    return text


def _layers(query: SQL) -> int:
    """Count how many SELECTs read from each other at most."""
    most, left = 0, [(query, 0)]
    while left:
        part, depth = left.pop()
        depth += isinstance(part, exp.Select)
        most = max(most, depth)
        left += [(child, depth) for child in part.iter_expressions()]
    return most


def _scalars(aggregate: Aggregate, emitter: Emitter) -> SQL:
    child = emitter.late(aggregate.child)
    dropping = _sums_drop(aggregate, child)
    child = child if dropping is not None else emitter.settled(child)
    rows = emitter.rows(child)
    keys, wanted = _keys(aggregate, rows)
    written = {}
    for place, statistic in sorted(enumerate(aggregate.statistics), key=lambda shown: not isinstance(shown[1], Moment)):
        if isinstance(statistic, RowCount) and dropping is not None:
            written[place] = statistic_sql(ValueCount((dropping,)), rows)
        elif not isinstance(statistic, _APART):  # counts of values last: they use what sums have written
            written[place] = statistic_sql(statistic, rows)
    columns = [part for _, parts in sorted(written.items()) for part in parts]
    if not aggregate.known:
        columns.append(_units(aggregate, child))
    named = [alias(shown, f"r{place}") for place, shown in enumerate([*keys, *columns])]
    return select(named, rows.computed(), where=all_of(wanted) if wanted else None, group=keys)


def _units(aggregate: Aggregate, child: Relation) -> SQL:
    """Count the units of a group; where a unit has one row, rows."""
    if aggregate.child.rows == 1:
        return count_rows()
    if child.unit is None:
        refuse(
            "GROUP BY",
            why="Each row is a unit of its own here, and rows that were read twice cannot be told to be the same.",
            instead="known keys, or the table once.",
        )
    return count_distinct(column("u"))


def _bins(aggregate: Aggregate, statistic: BinCounts, emitter: Emitter) -> SQL:
    rows = emitter.rows(emitter.relation(aggregate.child))
    keys, wanted = _keys(aggregate, rows)
    cell = rows.cell(statistic.value)
    value = cell.sql if cell.kind is Kind.FLOAT else rows.dialect.to(cell.sql, Kind.FLOAT)
    place = rows.bind(below(value, statistic.edges, rows))
    named = [alias(shown, f"r{number}") for number, shown in enumerate([*keys, place, count_rows()])]
    return select(named, rows.computed(), where=all_of([*wanted, not_null(place)]), group=[*keys, place])
