"""An aggregate as the few statements that compute it, and how their results are read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sqlglot import exp

from discreet.engines.sql.columns import found_places, known_places, whole_numbers
from discreet.engines.sql.dialect import LIMB
from discreet.engines.sql.expressions import below
from discreet.engines.sql.ordered import CellsRead, counted_cells, near_ranks
from discreet.engines.sql.statistics import count_distinct, count_rows, is_narrow, statistic_sql
from discreet.engines.sql.words import alias, all_of, any_of, between, column, is_null, listed, not_null, select
from discreet.plans.expressions import Column
from discreet.plans.refusals import refuse
from discreet.plans.statistics import BinCounts, Moment, RankedCells, RowCount, ValueCount
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.engines.sql.columns import Columns
    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.relations import Emitter, Relation
    from discreet.engines.sql.rows import Rows
    from discreet.engines.sql.words import SQL
    from discreet.plans.expressions import Expression
    from discreet.plans.nodes import Aggregate, GroupKey
    from discreet.tables import Value

__all__ = ["Statements", "written"]

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
        for each in aggregate.statistics:
            if isinstance(each, BinCounts):
                queries.append(_bins(aggregate, each, emitter))
            elif isinstance(each, RankedCells):
                child = emitter.late(aggregate.child)
                drops = child.pending == _column_of(each.factor.value)  # a row without a value has no cell either
                rows = emitter.rows(child if drops else emitter.settled(child))
                queries.append(counted_cells(each, rows, *_keys(aggregate, rows)))
        parts = tuple(written(emitter.dialect.layered(query), emitter.dialect) for query in queries)
        return Statements(aggregate, parts, emitter.dialect)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts to execute."""
        texts = list(self.parts)
        width, several = len(self.aggregate.keys), self.aggregate.several
        apart = (each for each in self.aggregate.statistics if isinstance(each, _APART))
        for place, each in enumerate(apart, start=int(_has_scalars(self.aggregate))):
            if isinstance(each, RankedCells):
                texts[place] = near_ranks(texts[place], width, each, self.dialect, several=several)
        return tuple(texts)

    @property
    def has_cells(self) -> bool:
        """Whether some statistic is read by ranks."""
        return any(isinstance(each, RankedCells) for each in self.aggregate.statistics)

    def near(self, aggregate: Aggregate) -> Statements:
        """Read no more cells than an aggregate asks for that is the same apart from that; written at once."""
        found = replace(self, aggregate=aggregate)
        _ = found.texts
        return found

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
            found = self._numbers(first[width:], there, slice(None), units.size)
            return keys, found, units, self._apart(found, results[1:], keys, counted=counted)
        places = known_places(aggregate.keys, first[:width], count)
        rows = np.flatnonzero(places >= 0)
        size = math.prod(len(key.known or ()) for key in aggregate.keys)
        numbers = self._numbers(first[width:], rows, places[rows], size)
        return None, numbers, [], self._apart(numbers, results[1:], None, counted=counted)

    def _apart(
        self, numbers: list[Numbers], results: Sequence[Columns], found: Columns | None, *, counted: bool
    ) -> dict[int, NDArray[np.int64]]:
        """Read what has a statement of its own; give what is counted over all groups, by the place of its statistic."""
        left = iter(results)
        keys = self.aggregate.keys
        size = math.prod(len(key.known or ()) for key in keys) if found is None else len(found[0])
        pooled = {}
        for place, statistic in enumerate(self.aggregate.statistics):
            if isinstance(statistic, BinCounts):
                columns = next(left)
                numbers[place] = _counted(_places(columns, keys, found), columns[len(keys) :], (size, statistic.size))
            elif isinstance(statistic, RankedCells):
                columns = next(left)
                places = _places(columns, keys, found)
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
            found = parts[0] if limbs == 1 else parts[0].astype(object) * LIMB + parts[1]
            cells = np.zeros(size, dtype=found.dtype)
            cells[places] = found
            numbers.append(cells)
            place += limbs
        return numbers


def _column_of(value: Expression) -> frozenset[str] | None:
    return frozenset([value.name]) if isinstance(value, Column) else None


def _has_scalars(aggregate: Aggregate) -> bool:
    """Whether groups are found in the data, or some number of a group is neither in bins nor in cells."""
    return not aggregate.known or not all(isinstance(each, _APART) for each in aggregate.statistics)


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
    found = np.zeros(shape, dtype=np.int64)
    found[groups[there], places[there]] = counts[there]
    return found


def _places(columns: Columns, keys: tuple[GroupKey, ...], found: Columns | None) -> NDArray[np.int64]:
    """Give the place of each row's group; -1 for groups that are not there."""
    width, count = len(keys), len(columns[-1])
    if found is None:
        return known_places(keys, columns[:width], count)
    return found_places(found, columns[:width], count)


def _keys(aggregate: Aggregate, rows: Rows) -> tuple[list[SQL], list[SQL]]:
    """Write the keys, and the conditions that leave other groups out."""
    keys, wanted = [], []
    for each in aggregate.keys:
        cell = rows.cell(Column(each.column))
        short = rows.dialect.short_key(cell, each.known)
        keys.append(cell.sql if short is None else rows.bind(short))
        if short is not None:
            continue
        if each.known is None:
            wanted.append(not_null(cell.sql))
        elif _is_range(each.known):
            ends = [rows.dialect.literal(end, cell.kind) for end in (each.known[0], each.known[-1])]
            wanted.append(between(cell.sql, *ends))
        elif len(each.known) <= _LONGEST_LIST:
            some = [rows.dialect.literal(value, cell.kind) for value in each.known if value is not None]
            parts = [listed(cell.sql, some)] if some else []
            parts += [is_null(cell.sql)] if None in each.known else []
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
    moments = [each for each in aggregate.statistics if isinstance(each, Moment)]
    factors = [factor for moment in moments for factor in moment.factors]
    counts = all(
        isinstance(each, (RowCount, Moment, *_APART)) or (isinstance(each, ValueCount) and each.values == (value,))
        for each in aggregate.statistics
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
    for place, statistic in sorted(enumerate(aggregate.statistics), key=lambda each: not isinstance(each[1], Moment)):
        if isinstance(statistic, RowCount) and dropping is not None:
            written[place] = statistic_sql(ValueCount((dropping,)), rows)
        elif not isinstance(statistic, _APART):  # counts of values last: they use what sums have written
            written[place] = statistic_sql(statistic, rows)
    columns = [part for _, parts in sorted(written.items()) for part in parts]
    if not aggregate.known:
        columns.append(_units(aggregate, child))
    named = [alias(each, f"r{place}") for place, each in enumerate([*keys, *columns])]
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
    named = [alias(each, f"r{number}") for number, each in enumerate([*keys, place, count_rows()])]
    return select(named, rows.computed(), where=all_of([*wanted, not_null(place)]), group=[*keys, place])
