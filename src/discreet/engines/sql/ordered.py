"""Counts on a fine grid, near ranks: sorted and cut by the engine, so that few cells are read however many rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.engines.sql.statistics import count_rows, steps_sql
from discreet.engines.sql.words import alias, all_of, any_of, binary, case, column, not_null, number, over, select
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.engines.sql.rows import Rows
    from discreet.engines.sql.words import SQL
    from discreet.plans.statistics import RankedCells, Window

__all__ = ["near_ranks", "pooled_bins", "ranked_cells"]


def ranked_cells(statistic: RankedCells, rows: Rows, keys: list[SQL], wanted: list[SQL]) -> SQL:
    """Write a statement whose rows are the keys, a cell, the values below it, in it, and all of the group.

    It gives every cell, and ends where the condition of `near_ranks` may follow: WHERE is its last clause.
    """
    dialect = rows.dialect
    cell = steps_sql(statistic.factor, rows)
    named = [alias(each, f"r{place}") for place, each in enumerate([*keys, cell])]
    there = all_of([*wanted, not_null(cell)])
    counted = select([*named, alias(count_rows(), "n")], rows.computed(), where=there, group=[*keys, cell])
    outer = [column(f"r{place}") for place in range(len(keys) + 1)]
    sums = [
        alias(dialect.fitting(over(dialect.total(column("n")), outer[:-1], order)), name)
        for name, order in (("upto", outer[-1:]), ("total", []))
    ]
    summed = select([*outer, column("n"), *sums], counted)
    return select([*outer, alias(_below(), "below"), column("n"), column("total")], summed)


def pooled_bins(statistic: RankedCells, rows: Rows, keys: list[SQL], wanted: list[SQL]) -> SQL:
    """Write a statement whose rows are the keys, a bin of the statistic's marks, and the values in it."""
    dialect, marks = rows.dialect, statistic.marks
    lower = dialect.literal(marks.lower, Kind.INTEGER)
    place = binary("-", dialect.signed(steps_sql(statistic.factor, rows)), lower)
    if marks.rate:
        rate, phase = dialect.float(marks.rate), dialect.float(marks.phase)
        away = rows.bind(binary("+", binary("*", dialect.to(place, Kind.FLOAT), rate), phase))
        mark = rows.bind(dialect.nearest(away))
        off = rows.bind(binary("-", away, dialect.to(mark, Kind.FLOAT)))
        right = (binary(">", off, dialect.float(marks.half)), number(1))
        left = (binary("<", off, dialect.float(-marks.half)), number(-1))
        place = binary("+", binary("*", mark, number(2)), case(right, left, default=number(0)))
    place = rows.bind(place)
    named = [alias(each, f"r{at}") for at, each in enumerate([*keys, place, count_rows()])]
    return select(named, rows.computed(), where=all_of([*wanted, not_null(place)]), group=[*keys, place])


def near_ranks(windows: tuple[Window, ...]) -> SQL:
    """Write the condition for the cells within some window.

    A window of `RankedCells` keeps the cells with slope * below < aim + reach and slope * upto > aim - reach, where
    slope = a + b and aim = b * total + c: those that miss the rank by less than the reach.
    """
    return any_of([_near(window) for window in windows])


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
