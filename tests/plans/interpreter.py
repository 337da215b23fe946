"""What plans mean, in plain Python over lists of rows: slow, short, and the reference for every engine.

A relation is a list of (unit, row) pairs, a row a dictionary of cells. Nothing here looks at bounds, facts or
stability: those are claims, and this is what they are compared with.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.exact import float_down, float_up
from discreet.plans.expressions import Equal
from discreet.plans.expressions.expression import settled
from discreet.plans.nodes import (
    Aggregate,
    BoundGroups,
    BoundRows,
    Filter,
    Join,
    JoinKind,
    Keep,
    Node,
    Numbered,
    PerUnit,
    Project,
    Scan,
    SemiJoin,
    UnionAll,
)
from discreet.plans.statistics import (
    BinCounts,
    DistinctCount,
    Moment,
    RankedCells,
    RowCount,
    Snapped,
    Statistic,
    UnitCount,
    UnitCountDistinct,
    UnitCountValues,
    UnitMax,
    UnitMean,
    UnitMin,
    UnitMoment,
    UnitStatistic,
    ValueCount,
)
from discreet.tables.kinds import Kind, as_date, as_number, as_timestamp, is_of_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from discreet.plans.expressions import Expression
    from discreet.plans.expressions.expression import Schema
    from discreet.tables import Column, Value

Row = dict[str, Any]
Rows = list[tuple[Any, Row]]
Database = dict[str, list[Row]]


def rank(unit: object, cells: Iterable[object]) -> Any:  # noqa: ANN401 - whatever sorts
    """Order a unit's rows by a hash of the unit and the cells; engines use a keyed one."""
    return hashlib.sha256(repr((unit, list(cells))).encode()).digest()


def key_rank(unit: object, cells: Iterable[object]) -> Any:  # noqa: ANN401 - whatever sorts
    """Order a unit's groups likewise."""
    return rank(unit, cells)


@singledispatch
def rows_of(node: Node, database: Database) -> Rows:
    """Compute a relation."""
    raise NotImplementedError(type(node))


def cell(column: Column, raw: object, *, unit: bool = False) -> Value:
    """Read one cell as its declared kind, within its bounds, keys and length; a unit that is too long is none."""
    value: Any = float(raw) if column.kind is Kind.FLOAT and type(raw) is int else raw
    if isinstance(value, float):
        value = settled(value)
    if value is None or not is_of_kind(value, column.kind):
        return None
    low, high = column.bounds.lower, column.bounds.upper
    if low is not None and high is not None:
        value = clamped(value, low, high)
    if isinstance(value, str) and column.trimmed and not unit:
        value = value.strip(" ")
    if isinstance(value, str) and len(value) > (column.max_length or 0):
        value = None if unit else value[: column.max_length]
    if column.other is not None and value not in (column.keys or ()):
        return column.other
    return value  # type: ignore[no-any-return]


def clamped(value: Any, low: Fraction, high: Fraction) -> Any:  # noqa: ANN401 - numbers and dates
    """Clamp to the nearest value of the same kind inside the bounds."""
    if isinstance(value, float):
        return float_up(low) if value < low else float_down(high) if value > high else value
    if isinstance(value, int):
        return max(int(low), min(int(high), value))
    number = max(low, min(high, as_number(value)))
    return as_timestamp(number) if hasattr(value, "hour") else as_date(number)


@rows_of.register
def _(node: Scan, database: Database) -> Rows:
    table = node.table
    found: Rows = []
    for place, raw in enumerate(database.get(table.name, [])):
        row = {
            column.name: cell(column, raw.get(column.name), unit=column.name == table.unit) for column in table.columns
        }
        unit = None if table.public else raw.get("_row", place) if table.row_is_unit else row[table.unit or ""]
        whole = all(row[column.name] is not None for column in table.columns if not column.nullable)
        if whole and (table.public or unit is not None):
            found.append((unit, row))
    return found


@rows_of.register
def _(node: Filter, database: Database) -> Rows:
    return [(unit, row) for unit, row in rows_of(node.child, database) if node.predicate.evaluate(row) is True]


@rows_of.register
def _(node: Project, database: Database) -> Rows:
    return [
        (unit, {name: expression.evaluate(row) for name, expression in node.columns})
        for unit, row in rows_of(node.child, database)
    ]


def equal(left: Row, right: Row, on: Sequence[tuple[str, str]]) -> bool:
    """Tell whether all pairs of columns are equal; NULL equals nothing."""
    return all(Equal(()).apply(left[a], right[b]) is True for a, b in on)


@rows_of.register
def _(node: Join, database: Database) -> Rows:
    right_rows = rows_of(node.right, database)
    found: Rows = []
    for unit, left in rows_of(node.left, database):
        ours = {f"l.{name}": value for name, value in left.items()}
        partners = [(other, right) for other, right in right_rows if equal(left, right, node.on)]
        for other, right in partners:
            owner = unit if node.left.private else other
            found.append((owner, ours | {f"r.{name}": value for name, value in right.items()}))
        if not partners and node.how is JoinKind.LEFT:
            found.append((unit, ours | {f"r.{name}": None for name in node.right.schema}))
    return found


@rows_of.register
def _(node: SemiJoin, database: Database) -> Rows:
    right_rows = rows_of(node.right, database)
    return [
        (unit, left)
        for unit, left in rows_of(node.left, database)
        if any(equal(left, right, node.on) for _, right in right_rows) is (node.keep is Keep.MATCHED)
    ]


@rows_of.register
def _(node: UnionAll, database: Database) -> Rows:
    names = list(node.left.schema)
    below = [(unit, dict(zip(names, row.values(), strict=True))) for unit, row in rows_of(node.right, database)]
    return rows_of(node.left, database) + below


def by_unit(rows: Rows) -> dict[Any, list[Row]]:
    """Collect each unit's rows."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for unit, row in rows:
        found[unit].append(row)
    return found


def by_key(rows: list[Row], keys: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Collect rows by the values of columns."""
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[key] for key in keys)].append(row)
    return found


@rows_of.register
def _(node: BoundRows, database: Database) -> Rows:
    found: Rows = []
    for unit, rows in by_unit(rows_of(node.child, database)).items():
        kept = sorted(rows, key=lambda row: rank(unit, row.values()))[: node.limit]
        found += [(unit, row) for row in kept]
    return found


@rows_of.register
def _(node: BoundGroups, database: Database) -> Rows:
    found: Rows = []
    for unit, rows in by_unit(rows_of(node.child, database)).items():
        groups = by_key(rows, node.keys)
        for key in sorted(groups, key=lambda key: key_rank(unit, key))[: node.groups]:
            kept = sorted(groups[key], key=lambda row: rank(unit, row.values()))[: node.limit]
            found += [(unit, row) for row in kept]
    return found


def _there(value: object) -> tuple[Any, ...]:
    """Sorts values of one kind, and NULL beside none of them."""
    return () if value is None else (value,)


@rows_of.register
def _(node: Numbered, database: Database) -> Rows:
    found: Rows = []
    for unit, rows in by_unit(rows_of(node.child, database)).items():
        for group in by_key(rows, node.keys).values():
            some = sorted(group, key=lambda row: [(value is None, *_there(value)) for value in row.values()])
            for name, falling in reversed(node.order):
                some.sort(key=lambda row: _there(row[name]), reverse=falling)
                some.sort(key=lambda row: row[name] is None)
            found += [(unit, row | {node.name: place}) for place, row in enumerate(some, start=1)]
    return found


@rows_of.register
def _(node: PerUnit, database: Database) -> Rows:
    found: Rows = []
    for unit, rows in by_unit(rows_of(node.child, database)).items():
        for key, group in by_key(rows, node.keys).items():
            row = dict(zip(node.keys, key, strict=True))
            row |= {name: of_unit(each, group, node.child.schema) for name, each in node.statistics}
            found.append((unit, row))
    return found


def of_unit(statistic: UnitStatistic, rows: list[Row], schema: Schema) -> Value:
    """Compute a statistic of one unit's rows."""
    if isinstance(statistic, UnitCount):
        return len(rows)
    if isinstance(statistic, UnitMoment):
        return max(-(2**63), min(2**63 - 1, moment(statistic.factors, rows)))
    operand: Expression = statistic.value  # type: ignore[attr-defined]
    values: list[Any] = [value for row in rows if (value := operand.evaluate(row)) is not None]
    simple: dict[type, Callable[[list[Any]], Any]] = {
        UnitCountValues: len,
        UnitCountDistinct: lambda some: len(set(some)),
        UnitMin: lambda some: min(some, default=None),
        UnitMax: lambda some: max(some, default=None),
    }
    if type(statistic) in simple:
        return simple[type(statistic)](values)  # type: ignore[no-any-return]
    if not values:
        return None
    total: Any = sum(values)
    if isinstance(values[0], float):
        snapped = statistic.snapped(schema)  # type: ignore[attr-defined]
        total = float(sum(steps(snapped, value) for value in values) * snapped.step)
    return settled(float(total) / len(values) if isinstance(statistic, UnitMean) else total)


def steps(snapped: Snapped, value: float) -> int:
    """Put a number on its grid."""
    number = Fraction(value if snapped.step == 1 else float(value))
    return max(snapped.lower, min(snapped.upper, round(number / snapped.step))) - snapped.center


def moment(factors: Sequence[Snapped], rows: list[Row]) -> int:
    """Add up products over the rows in which nothing is NULL."""
    total = 0
    for row in rows:
        values: list[Any] = [factor.value.evaluate(row) for factor in factors]
        if all(value is not None for value in values):
            total += math.prod(steps(factor, value) for factor, value in zip(factors, values, strict=True))
    return total


def statistic_of(statistic: Statistic, rows: list[Row]) -> tuple[int, ...]:
    """Compute a statistic of one group: one integer, or several for bins."""
    if isinstance(statistic, RowCount):
        return (len(rows),)
    if isinstance(statistic, ValueCount):
        return (sum(all(value.evaluate(row) is not None for value in statistic.values) for row in rows),)
    if isinstance(statistic, DistinctCount):
        return (len({statistic.value.evaluate(row) for row in rows} - {None}),)
    if isinstance(statistic, Moment):
        return (moment(statistic.factors, rows),)
    if isinstance(statistic, RankedCells):
        return cells_of(statistic, rows)
    assert isinstance(statistic, BinCounts)
    counts = [0] * (len(statistic.edges) + 1)
    for row in rows:
        value: Any = statistic.value.evaluate(row)
        if value is not None:
            counts[sum(edge <= value for edge in statistic.edges)] += 1
    return tuple(counts)


def cells_of(statistic: RankedCells, rows: list[Row]) -> tuple[int, ...]:
    """Count values on the grid: the cell, those below it, those in it, all of them."""
    values: list[Any] = [statistic.factor.value.evaluate(row) for row in rows]
    counts = Counter(steps(statistic.factor, value) for value in values if value is not None)
    total, below, found = counts.total(), 0, list[int]()
    for cell, equal in sorted(counts.items()):
        if statistic.wanted(below=below, equal=equal, total=total):
            found += [cell, below, equal, total]
        below += equal
    return tuple(found)


def pooled_of(aggregate: Aggregate, database: Database) -> dict[int, NDArray[np.int64]]:
    """Count the bins of each statistic of cells over all groups, where several are known and they are asked for."""
    found: dict[int, NDArray[np.int64]] = {}
    for place, statistic in enumerate(aggregate.statistics):
        if not (aggregate.several and isinstance(statistic, RankedCells) and statistic.bins):
            continue
        counts = np.zeros(len(statistic.marks.starts), dtype=np.int64)
        every = replace(aggregate, statistics=(replace(statistic, windows=()),))
        for (cells,) in groups_of(every, database).values():
            for cell, equal in zip(cells[::4], cells[2::4], strict=True):
                counts[statistic.marks.place(cell)] += equal
        found[place] = counts
    return found


def groups_of(aggregate: Aggregate, database: Database) -> dict[tuple[Any, ...], list[tuple[int, ...]]]:
    """Compute an aggregate: for each group, each statistic."""
    rows = [row for _, row in rows_of(aggregate.child, database)]
    found = by_key(rows, [key.column for key in aggregate.keys])
    if aggregate.known:
        wanted: Iterable[tuple[Any, ...]] = itertools.product(*(key.known or () for key in aggregate.keys))
    else:
        wanted = [
            group
            for group in found
            if all(key.known is None or value in key.known for value, key in zip(group, aggregate.keys, strict=True))
        ]
    return {
        group: [statistic_of(statistic, found.get(group, [])) for statistic in aggregate.statistics] for group in wanted
    }
