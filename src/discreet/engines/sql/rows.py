"""The rows of a relation, over which expressions are written, and statistics of them as exact integers.

Counts on a fine grid, near ranks, are sorted and cut by the engine, so that few cells are read however many rows are.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sqlglot import exp

from discreet.engines.sql.dialect import TypedSQL, Unread
from discreet.engines.sql.expressions import emitted
from discreet.engines.sql.words import (
    SQL,
    alias,
    all_of,
    any_of,
    binary,
    call,
    case,
    clamp,
    column,
    not_null,
    number,
    over,
    select,
    table,
)
from discreet.plans.expressions import Column, Expression, Literal, Operation, Released
from discreet.plans.expressions.expression import Facts
from discreet.plans.statistics import (
    DistinctCount,
    Moment,
    RowCount,
    UnitCount,
    UnitCountDistinct,
    UnitCountValues,
    UnitMax,
    UnitMean,
    UnitMin,
    UnitMoment,
    UnitSum,
    ValueCount,
)
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.engines.sql.dialect import Dialect, Writing
    from discreet.engines.sql.words import SQL
    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Schema
    from discreet.plans.statistics import RankedCells, Snapped, Statistic, UnitStatistic, Window
    from discreet.plans.statistics.marks import Marks

__all__ = [
    "CellsRead",
    "Rows",
    "count_distinct",
    "count_rows",
    "count_values",
    "counted_cells",
    "finished",
    "is_narrow",
    "near_ranks",
    "statistic_sql",
    "steps_sql",
    "unit_statistic_sql",
]


_NARROW = 2**26
"""Sums of numbers up to this fit into 64 bits for 2**36 rows, more than a table holds."""

_HALF = 2**62
_Columns: TypeAlias = "Sequence[Sequence[object] | NDArray[np.int64]]"

_COUNTED = "counted"
"""The table in whose place the query of `counted_cells` is written."""


class Rows:
    """What is computed of each row of a relation.

    A rule that needs a value twice binds it: the value becomes a column of a SELECT below. Without that, the text of
    nested expressions would grow exponentially. Everything bound is computed for every row, which is harmless
    because every expression is total.
    """

    def __init__(
        self,
        source: SQL,
        schema: Schema,
        names: dict[str, str],
        dialect: Dialect,
        unread: Mapping[str, Unread] | None = None,
    ) -> None:
        self.dialect = dialect
        self.schema = schema
        self._source = source
        self._names = names
        self._unread = unread or {}
        self._layers: list[list[SQL]] = []
        self._depths: dict[str, int] = {}
        self._shared: dict[Hashable, SQL] = {}
        self._cells: dict[Expression, TypedSQL] = {}

    def bind(self, value: SQL) -> SQL:
        """Give a value a name; what has one, or is a constant, stays as it is."""
        if isinstance(value, exp.Column | exp.Literal | exp.Null):
            return value
        depth = self._depth(value)
        name = f"t{len(self._depths)}"
        if depth == len(self._layers):
            self._layers.append([])
        self._layers[depth].append(alias(value, name))
        self._depths[name] = depth + 1
        return column(name)

    def _depth(self, value: SQL) -> int:
        """How many layers must be computed before a value can be; sqlglot's own walk takes several times as long."""
        most, left = 0, [value]
        while left:
            part = left.pop()
            if isinstance(part, exp.Column):
                most = max(most, self._depths.get(part.name, 0))
                continue
            for child in part.args.values():
                if isinstance(child, exp.Expression):
                    left.append(child)
                elif isinstance(child, list):
                    left += [inner for inner in child if isinstance(inner, exp.Expression)]
        return most

    def once(self, key: Hashable, value: Callable[[], SQL]) -> SQL:
        """Bind a value under a key; the same key gives the same column again."""
        if key not in self._shared:
            self._shared[key] = self.bind(value())
        return self._shared[key]

    def shared(self, key: Hashable) -> SQL | None:
        """Give the column that was bound under a key, if there is one."""
        return self._shared.get(key)

    def cell(self, expression: Expression) -> TypedSQL:
        """Give the SQL of an expression over the relation's columns."""
        known = self._cells.get(expression)
        if known is None:
            known = self._cells[expression] = self._computed(expression)
        return known

    def unread(self, expression: Expression) -> Unread | None:
        """Give the stored double behind an expression that is nothing but a bounded column, if it is at hand."""
        return self._unread.get(expression.name) if isinstance(expression, Column) else None

    def _computed(self, expression: Expression) -> TypedSQL:
        if isinstance(expression, Column):
            return TypedSQL(column(self._names[expression.name]), self.schema[expression.name])
        if isinstance(expression, Literal | Released):
            return TypedSQL(self.dialect.literal(expression.value, expression.kind), expression.facts({}))
        assert isinstance(expression, Operation)  # noqa: S101 - the only other kind of expression
        cells = [self.cell(operand) for operand in expression.operands]
        facts = expression.derive(tuple(cell.facts for cell in cells))
        return TypedSQL(emitted(expression, cells, facts, self), facts)

    def computed(self) -> SQL:
        """Give the relation with everything that was bound."""
        source = self._source
        for layer in self._layers:
            source = self.dialect.fenced(select([exp.Star(), *layer], source))
        return source


def count_rows() -> SQL:
    """COUNT(*)."""
    return exp.Count(this=exp.Star())


def count_values(value: SQL) -> SQL:
    """COUNT of what is not NULL."""
    return exp.Count(this=value if value.parent is None else value.copy())


def count_distinct(value: SQL) -> SQL:
    """COUNT of different values."""
    return exp.Count(this=exp.Distinct(expressions=[value.copy()]))


def is_narrow(statistic: Statistic) -> bool:
    """Whether a statistic is read as one 64-bit integer; others need two. Decided by public facts alone."""
    return not isinstance(statistic, Moment) or max(map(abs, statistic.reach({}))) <= _NARROW


def steps_sql(factor: Snapped, rows: Writing) -> SQL:
    """Write clamp(round(x / step), lower, upper); 1 / step is a power of two, so the product is exact.

    Integers on a grid of more than 1 become doubles first.
    """
    cell, dialect = rows.cell(factor.value), rows.dialect

    def counted() -> SQL:
        if cell.kind is Kind.FLOAT:
            return dialect.steps(cell, rows.unread(factor.value), factor, rows)
        if factor.step != 1:
            real = Facts(Kind.FLOAT, cell.facts.bounds.outward(), nullable=cell.facts.nullable)
            return dialect.steps(TypedSQL(rows.bind(dialect.to(cell.sql, Kind.FLOAT)), real), None, factor, rows)
        return clamp(rows.bind(cell.sql), *(dialect.literal(end, Kind.INTEGER) for end in (factor.lower, factor.upper)))

    steps = rows.once(replace(factor, center=0), counted)
    rows.once(("steps", factor.value), lambda: steps)
    return steps


def _snapped(factor: Snapped, rows: Writing) -> SQL:
    """Count steps from the center, wide where 64 bits might not hold them."""
    inside = rows.dialect.signed(steps_sql(factor, rows))
    if max(map(abs, factor.reach)) >= _HALF:
        inside = rows.dialect.widened(inside)
    return binary("-", inside, rows.dialect.literal(factor.center, Kind.INTEGER)) if factor.center else inside


def _product(factors: tuple[Snapped, ...], rows: Writing) -> SQL:
    """Multiply the factors, wide where 64 bits might not hold the product."""
    written = [_snapped(factor, rows) for factor in factors]
    if len(written) == 1:
        return written[0]
    if max(map(abs, Moment(factors).reach({}))) >= _HALF:
        written = [rows.dialect.widened(term) for term in written]
    if factors[0] == factors[1]:
        written = [rows.bind(written[0])] * 2
    return binary("*", *written)


def statistic_sql(statistic: Statistic, rows: Writing) -> list[SQL]:  # noqa: PLR0911 - one for each statistic
    """Write a statistic of a group as one 64-bit integer, or as two limbs."""
    dialect = rows.dialect
    if isinstance(statistic, RowCount):
        return [count_rows()]
    if isinstance(statistic, ValueCount):
        cells = [rows.cell(value) for value in statistic.values]
        if len(cells) == 1:
            return [_count_cell(statistic.values[0], cells[0], rows)]
        return [count_values(case((all_of([not_null(cell.sql) for cell in cells]), number(1))))]
    if isinstance(statistic, DistinctCount):
        return [count_distinct(rows.bind(rows.cell(statistic.value).sql))]
    assert isinstance(statistic, Moment)  # noqa: S101 - bins are counted by grouping
    factor = statistic.factors[0]
    if len(statistic.factors) == 1 and is_narrow(statistic) and max(-factor.lower, factor.upper) <= _NARROW:
        # The sum of s - center is the sum of s less center times their number: sums with other centers share one.
        steps = steps_sql(factor, rows)
        total = dialect.short_total(steps)
        count = count_values(steps) if rows.cell(factor.value).facts.nullable else count_rows()
        less = binary("*", dialect.literal(factor.center, Kind.INTEGER), count)
        return [binary("-", total, less) if factor.center else total]
    value = rows.bind(_product(statistic.factors, rows))
    if is_narrow(statistic):
        return [dialect.short_total(value)]
    return list(dialect.limbs(call("coalesce", dialect.total(value), dialect.widened(number(0)))))


def _count_cell(value: Expression, cell: TypedSQL, rows: Writing) -> SQL:
    """Count values that are not NULL; where their steps are written already, count those: they are NULL together."""
    if not cell.facts.nullable:
        return count_rows()
    return count_values(rows.shared(("steps", value)) or rows.bind(cell.sql))


def unit_statistic_sql(  # noqa: PLR0911 - one for each statistic
    statistic: UnitStatistic, schema: Schema, rows: Writing
) -> list[SQL]:
    """Write the aggregates that a statistic of a unit's rows is made of; `finished` puts them together."""
    if isinstance(statistic, UnitCount):
        return [count_rows()]
    if isinstance(statistic, UnitMoment):
        total = rows.dialect.total(rows.bind(_product(statistic.factors, rows)))
        return [call("coalesce", total, rows.dialect.widened(number(0)))]
    assert isinstance(statistic, UnitCountValues | UnitCountDistinct | UnitMin | UnitMax | UnitSum | UnitMean)  # noqa: S101
    cell = rows.cell(statistic.value)
    x = rows.bind(cell.sql)
    if isinstance(statistic, UnitCountValues):
        return [count_values(x)]
    if isinstance(statistic, UnitCountDistinct):
        return [count_distinct(x)]
    if isinstance(statistic, UnitMin):
        return [rows.dialect.smallest(x, cell.kind)]
    if isinstance(statistic, UnitMax):
        return [rows.dialect.largest(x, cell.kind)]
    value = x if cell.kind is Kind.INTEGER else rows.bind(_snapped(statistic.snapped(schema), rows))
    return [rows.dialect.total(value), count_values(x)]


def finished(statistic: UnitStatistic, parts: list[SQL], schema: Schema, facts: Facts, rows: Writing) -> SQL:
    """Turn the aggregates of a unit's rows into the statistic."""
    dialect: Dialect = rows.dialect
    if isinstance(statistic, UnitMoment):
        ends = [dialect.widened(dialect.literal(end, Kind.INTEGER)) for end in (-(2**63), 2**63 - 1)]
        return dialect.fitting(clamp(parts[0], *ends))
    if not isinstance(statistic, UnitSum | UnitMean):
        return parts[0]
    of = statistic.value.facts(schema).kind
    if isinstance(statistic, UnitSum) and of is Kind.INTEGER:
        return dialect.narrowed(parts[0], rows)
    total = dialect.rounded(parts[0])
    if of is Kind.FLOAT:
        total = binary("*", total, dialect.float(float(statistic.snapped(schema).step)))
    if isinstance(statistic, UnitMean):
        total = dialect.divided(total, dialect.to(parts[1], Kind.FLOAT))
    return dialect.settled(total, facts, rows)


def counted_cells(statistic: RankedCells, rows: Rows, keys: list[SQL], wanted: list[SQL]) -> SQL:
    """Write a query whose rows are the keys, a cell, and the values in it."""
    factor = statistic.factor
    value = rows.cell(factor.value)
    if value.kind is Kind.FLOAT:
        cell_place, there = rows.dialect.placed(value, rows.unread(factor.value), factor, rows)
        cell = rows.bind(cell_place)
    else:
        cell = steps_sql(factor, rows)
        there = not_null(cell)
    named = [alias(shown, f"r{place}") for place, shown in enumerate([*keys, cell])]
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
    around = select(shown, summed, where=None if every else any_of(kept))
    before, _, after = dialect.written(around).partition(dialect.written(table(_COUNTED)))
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
    places: NDArray[np.int64] = (np.floor(real + marks.half) + np.ceil(real - marks.half)).astype(np.int64)
    return places


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


def _sorted(columns: _Columns, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    def of(columns: _Columns, places: NDArray[np.int64], marks: Marks) -> CellsRead:  # noqa: ARG004 - the engine has them
        """Read the columns after the keys, with the place of each cell's group; -1 for one that is not there."""
        return CellsRead(*_sorted(columns, places))

    @staticmethod
    def counted(columns: _Columns, places: NDArray[np.int64], marks: Marks) -> CellsRead:
        """Read the result of `counted_cells`, and give what `near_ranks` would have, for all cells."""
        groups, ordered = _sorted(columns, places)
        cells, equal = ordered.T
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
        totals = np.zeros(len(marks.starts), dtype=np.int64)
        bins = numbers[:, 4] if marks.rate else numbers[:, 0] - marks.lower
        last = np.ones(bins.size, dtype=bool)
        last[:-1] = (np.diff(bins) != 0) | (np.diff(self.groups) != 0)
        groups, upto = self.groups[last], numbers[last, 1] + numbers[last, 2]
        before = np.zeros_like(upto)
        before[1:] = np.where(np.diff(groups) == 0, upto[:-1], 0)
        np.add.at(totals, bins[last], upto - before)
        return totals
