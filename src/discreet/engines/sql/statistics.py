"""Statistics as SQL: exact integers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.sql.binding import Cell
from discreet.engines.sql.words import SQL, all_of, binary, call, case, clamp, not_null, number
from discreet.plans.facts import Facts
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
    from discreet.engines.sql.dialect import Dialect
    from discreet.engines.sql.writing import Writing
    from discreet.plans.expressions import Expression
    from discreet.plans.facts import Schema
    from discreet.plans.statistics import Snapped, Statistic, UnitStatistic

__all__ = [
    "count_distinct",
    "count_rows",
    "count_values",
    "finished",
    "is_narrow",
    "statistic_sql",
    "steps_sql",
    "unit_statistic_sql",
]

_NARROW = 2**26
"""Sums of numbers up to this fit into 64 bits for 2**36 rows, more than a table holds."""
_HALF = 2**62


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
            return dialect.steps(Cell(rows.bind(dialect.to(cell.sql, Kind.FLOAT)), real), None, factor, rows)
        return clamp(rows.bind(cell.sql), *(dialect.literal(end, Kind.INTEGER) for end in (factor.lower, factor.upper)))

    found = rows.once(replace(factor, center=0), counted)
    rows.once(("steps", factor.value), lambda: found)
    return found


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
        written = [rows.dialect.widened(each) for each in written]
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


def _count_cell(value: Expression, cell: Cell, rows: Writing) -> SQL:
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
