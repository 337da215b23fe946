"""What reading loses, in words for the owner: how much, whether it will spoil answers, and what to write instead."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from rich.markup import escape

from discreet.apps.cli.screen import screen
from discreet.apps.cli.screen import table as drawn
from discreet.exact import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet.engines.sql.losses import ColumnLosses, TableLosses
    from discreet.tables import Column, Policy

__all__ = ["show_losses", "split", "spoiled"]


def show_losses(policy: Policy, tables: Sequence[TableLosses]) -> None:
    """Draw what each column loses, columns that lose nothing in one line, and below it what will spoil answers."""
    lines = screen()
    for lost in tables:
        lines.print(f"{escape(lost.name)}: {counted(lost.rows, 'row')}, version {escape(policy.version)}")
        some = [column for column in lost.columns if column.total]
        names = [column.name for column in fields(some[0])[1:]] if some else []
        rows = [[escape(column.name), *(_percent(lost, getattr(column, name)) for name in names)] for column in some]
        if rows:
            lines.print(drawn(["column", *names], rows, numbers=names))
        whole = [column.name for column in lost.columns if not column.total]
        if whole:
            lines.print(f"  read as stored: {escape(', '.join(whole))}")
        counts = {
            "rows with bytes that are no UTF-8": lost.unread,
            "rows of no unit": lost.no_unit,
            "rows cut by rows_per_unit": lost.cut,
        }
        for word, count in counts.items():
            if count:
                lines.print(f"  {word}: {_percent(lost, count)}")
    for text in spoiled(policy, tables):
        lines.print(f"[red]this will spoil answers:[/] {escape(text)}")
    for text in split(policy, tables):
        lines.print(f"[red]this may split people:[/] {escape(text)}")


def _percent(table: TableLosses, rows: int) -> str:
    """Write a share of a table's rows; what is there is never written as nothing."""
    percent = 100 * table.share(rows)
    return "–" if not rows else "< 0.1 %" if percent < 0.1 else f"{percent:.1f} %"


def spoiled(policy: Policy, tables: Sequence[TableLosses]) -> list[str]:
    """Say what will spoil answers, and what to write.

    >>> from discreet.engines.sql.losses import ColumnLosses, TableLosses
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", row_is_unit=True, columns=[Column("cost", lower=0, upper=100)])
    >>> lost = TableLosses("visits", 1000, (ColumnLosses("cost", above=40),))
    >>> spoiled(Policy([visits], epsilon=1), [lost])
    ['visits.cost: 4.0 % lie above 100 and count as that. Write a larger upper, from what you know without the data.']
    """
    told: list[str] = []
    for lost in tables:
        table = policy.table(lost.name)
        for column in lost.columns:
            if column.name != table.unit:
                told += [
                    f"{lost.name}.{column.name}: {text}" for text in _of_column(table.column(column.name), column, lost)
                ]
        if lost.spoils(lost.unread):
            share = _percent(lost, lost.unread)
            told.append(
                f"{lost.name}: {share} of the rows hold bytes that are no UTF-8, and are dropped. Write the file anew: "
                "iconv -f latin1 -t utf-8 OLD > NEW, with the encoding that it has."
            )
        if lost.spoils(lost.no_unit):
            share = _percent(lost, lost.no_unit)
            told.append(f"{lost.name}: {share} of the rows have no {table.unit} that can be read, and are dropped.")
        if lost.spoils(lost.cut):
            share, limit = _percent(lost, lost.cut), table.rows_per_unit
            told.append(f"{lost.name}: {share} of the rows are beyond rows_per_unit = {limit}. Write a larger one.")
    return told


def split(policy: Policy, tables: Sequence[TableLosses]) -> list[str]:
    """Say which kinds of units have some that nearly agree: one person protected as two has half the protection.

    >>> from discreet.engines.sql.losses import TableLosses
    >>> from discreet.tables import Policy, Table
    >>> lost = TableLosses("visits", 1000, near=2)
    >>> split(Policy([Table("visits", unit="id", rows_per_unit=1)], epsilon=1), [lost])[0][:61]
    'id: 2 differ from another in spaces, case or the way a number'
    """
    units = {policy.table(lost.name).unit: lost.near for lost in tables if lost.near}
    return [
        f"{unit}: {near} differ from another in spaces, case or the way a number is written, and are protected as "
        f'people of their own. Correct the data, or write {unit} = {{ type = "integer" }} if all are whole numbers, '
        "which a ledger takes until something is spent."
        for unit, near in units.items()
    ]


def _of_column(column: Column, losing: ColumnLosses, lost: TableLosses) -> Iterator[str]:
    """Say what of a column's losses will spoil answers."""
    low, high = column.bounds.lower, column.bounds.upper
    if lost.spoils(losing.unreadable):
        share = _percent(lost, losing.unreadable)
        missing = "Leave cells without a value empty, correct the others"
        yield f'{share} are no {column.kind.value} and count as NULL. {missing}, or write type = "text".'
    if lost.spoils(losing.null) and not column.nullable:
        yield f"{_percent(lost, losing.null)} are NULL, and their rows are dropped. Leave nullable = false out."
    if lost.spoils(losing.rounded):
        ends = f"lower = {low}.0, upper = {high}.0" if column.bounds.finite else 'type = "float"'
        yield f"{_percent(lost, losing.rounded)} are fractions and are rounded. Write {ends}."
    if lost.spoils(losing.outside) and column.other is None:
        share = _percent(lost, losing.outside)
        yield f'{share} are none of the keys. Write those that are missing, or other = "other".'
    for rows, word, end, wider in (
        (losing.below, "below", low, "smaller lower"),
        (losing.above, "above", high, "larger upper"),
    ):
        if lost.spoils(rows):
            share = _percent(lost, rows)
            yield f"{share} lie {word} {end} and count as that. Write a {wider}, from what you know without the data."
