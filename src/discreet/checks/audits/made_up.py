"""Tables that a policy could hold, made up from its public facts alone: no row of anybody's data is looked at."""

from __future__ import annotations

import csv
import datetime as dt
import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.noise import uniform_integer
from discreet.privacy import NeighborRelation
from discreet.tables.kinds import Kind, read_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from discreet.noise import BitSource
    from discreet.tables import Column, Policy, Table, Value

__all__ = ["MadeUp", "Rows", "made_up_neighbors", "write_tables"]

MOST_ROWS = 50
"""So many rows of a unit are made up, at most."""
MOST_VALUES = 12
FEW, MANY = 3, 12
"""So many other units there are, each unlike the others, or all like the one."""
CONSTANT = re.compile(r"'((?:[^']|'')*)'|(?<![\w.])(\d+(?:\.\d+)?)")
PLAIN: dict[Kind, tuple[Value, ...]] = {
    Kind.BOOLEAN: (True, False),
    Kind.INTEGER: (1, 0, -1),
    Kind.FLOAT: (1.0, 0.0, -1.0),
    Kind.TEXT: ("a", "b"),
    Kind.DATE: (dt.date(2000, 1, 1), dt.date(2024, 6, 30)),
    Kind.TIMESTAMP: (dt.datetime(2000, 1, 1), dt.datetime(2024, 6, 30, 12)),  # noqa: DTZ001 - as stored: without a zone
}

Rows = list[dict[str, object]]


@dataclass(frozen=True)
class MadeUp:
    """Two neighboring databases: of each table its rows, without the unit and with it, or with another one.

    >>> MadeUp({"visits": []}, {"visits": [{"id": 0}]}).first
    {'visits': []}
    """

    first: dict[str, Rows]
    second: dict[str, Rows]


def made_up_neighbors(policy: Policy, tables: Sequence[str], asked: str, bits: BitSource) -> Iterator[MadeUp]:
    """Make up pairs of neighbors for a question about tables, without end: the first the likeliest to tell them apart.

    The unit has as many rows as the policy allows (at most 50): all alike with the n-th of each column's values, or
    each with the next ones; then mixed by chance. A column's values are its bounds, its keys, and the constants that
    the question names. There are no other units, a few, or many that are like it. Under change-one the unit has another
    one in its place.

    >>> from discreet.noise import SYSTEM
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="id", rows_per_unit=2, columns=[Column("cost", lower=0, upper=500)])
    >>> next(made_up_neighbors(Policy([visits], epsilon=1), ["visits"], "", SYSTEM)).second
    {'visits': [{'cost': '500', 'id': '0'}, {'cost': '500', 'id': '0'}]}
    """
    used = [policy.table(name) for name in tables]
    for table in used:
        if not table.columns and table.public:
            msg = (
                f"{table.name} is public and states no columns; to make up rows of it, list its columns in the policy."
            )
            raise ParameterError(msg)
    values = {table.name: {column.name: _values(column, asked) for column in table.columns} for table in used}
    shared = {table.name: _public(values[table.name]) for table in used if table.public}
    private = [table for table in used if table.private]
    exchange = policy.budget.neighbors is NeighborRelation.CHANGE_ONE
    number = 0
    while True:
        place, style = divmod(number, 4)
        alike = style % 2 == 0
        base: dict[str, Rows] = {table.name: [] for table in private} | shared
        for table in private:
            starts = ([], [], [place + other for other in range(FEW)], [place] * MANY)[style]
            others = (_rows(table, values, unit, start, bits) for unit, start in enumerate(starts, start=1))
            base = base | {table.name: [row for rows in others for row in rows]}
        pattern = None if place >= MOST_VALUES else place
        more, other = (
            base | {table.name: base[table.name] + _rows(table, values, unit, start, bits, alike=alike)
                    for table in private}
            for unit, start in ((0, pattern), (MANY + 1, None if pattern is None else pattern + 1))
        )  # fmt: skip
        yield MadeUp(*(_without_repeats(tables, used) for tables in (other if exchange else base, more)))
        number += 1


def _values(column: Column, asked: str) -> list[Value]:
    """List what a column may hold: keys, or the ends of its bounds; and what the question compares with or nearly."""
    ends = (column.bounds.upper, column.bounds.lower)
    found: list[Value] = []
    for text, _ in CONSTANT.findall(asked):
        with suppress(ValueError, ParameterError):
            if text and not column.kind.numeric:
                named = read_value(text.replace("''", "'"), column.kind, name=column.name)
                found += [named] if column.keys is None or named in column.keys else []
    found += islice(column.keys or (), MOST_VALUES)
    if column.bounds.finite and not column.kind.temporal:
        found += [float(end) if column.kind is Kind.FLOAT else int(end) for end in ends if end is not None]
    for _, number in CONSTANT.findall(asked):
        if number and column.kind.numeric:
            near = float(number) if column.kind is Kind.FLOAT else int(float(number))
            found += [near, near + 1, near - 1]
    found += [] if found else PLAIN[column.kind]
    return list(dict.fromkeys(found))[: 2 * MOST_VALUES]


def _rows(  # noqa: PLR0913 - each is a thing of its own
    table: Table,
    values: dict[str, dict[str, list[Value]]],
    unit: int,
    start: int | None,
    bits: BitSource,
    *,
    alike: bool = True,
) -> Rows:
    """Make up a unit's rows, from the `start`-th of each column's values on; None mixes them by chance."""
    many = min(table.rows_per_unit or MOST_ROWS, MOST_ROWS)
    rows: Rows = []
    for number in range(many):
        row: dict[str, object] = {}
        for name, known in values[table.name].items():
            if start is None:
                place = int(uniform_integer(len(known), size=1, bits=bits)[0])
            else:
                place = start + (0 if alike else number)
            row[name] = _written(known[place % len(known)])
        if table.unit is not None:
            row[table.unit] = str(unit)
        rows.append(row)
    return rows


def _public(values: dict[str, list[Value]]) -> Rows:
    """Make up a public table: a row for each place in the longest list of values."""
    longest = max(map(len, values.values()))
    rows: Rows = [
        {name: _written(known[place % len(known)]) for name, known in values.items()} for place in range(longest)
    ]
    return rows


def _without_repeats(tables: dict[str, Rows], used: Sequence[Table]) -> dict[str, Rows]:
    """Keep the first of rows that agree in what the policy declares unique."""
    kept = dict(tables)
    for table in used:
        for columns in table.unique:
            seen = {tuple(row[name] for name in columns): row for row in reversed(kept[table.name])}
            kept[table.name] = list(reversed(seen.values()))
    return kept


def _written(value: Value) -> str:
    if value is None:
        return ""
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)


def write_tables(folder: Path, tables: dict[str, Rows], policy: Policy) -> None:
    """Write made-up tables as CSV files, as an owner could have them.

    >>> import pathlib, tempfile
    >>> from discreet.tables import Policy, Table
    >>> with tempfile.TemporaryDirectory() as held:
    ...     folder = pathlib.Path(held)
    ...     write_tables(folder, {"visits": [{"id": "0"}]}, Policy([Table("visits", unit="id")], epsilon=1))
    ...     (folder / "visits.csv").read_text().split()
    ['id', '0']
    """
    for table in policy.tables:
        with (folder / f"{table.name}.csv").open("w", newline="", encoding="utf-8") as file:
            names = [column.name for column in table.columns] or ["row"]
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(tables.get(table.name, []))
