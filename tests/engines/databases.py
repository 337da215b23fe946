"""Random databases as engines store them, and what the reference makes of the same cells."""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.plans.expressions import Cast
from discreet.tables.kinds import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from discreet.tables import Column, Policy
    from tests.plans.interpreter import Database

KEY = bytes(range(32))

ARROW = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}


def typed(column: Column, raw: Any) -> Any:  # noqa: ANN401 - cells of any kind
    """What a column of the declared type can hold of a cell."""
    if raw is None:
        return None
    if column.kind is Kind.FLOAT and type(raw) in {int, float}:
        return float(raw)
    if column.kind is Kind.INTEGER and type(raw) is int:
        return raw if -(2**63) <= raw < 2**63 else None
    return raw if Kind.of(raw) is column.kind and column.kind not in {Kind.INTEGER, Kind.FLOAT} else None


def typed_database(policy: Policy, database: Database) -> Database:
    """The database as typed columns hold it."""
    return {
        table.name: [
            {column.name: typed(column, row.get(column.name)) for column in table.columns}
            for row in database.get(table.name, [])
        ]
        for table in policy.tables
    }


def as_text(raw: Any) -> str | None:  # noqa: ANN401 - cells of any kind
    """What a CSV file holds of a cell; there is no empty text in one."""
    if raw is None or raw == "":
        return None
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, float):
        return repr(raw)
    return raw.isoformat() if isinstance(raw, dt.date) else str(raw)


def text_database(policy: Policy, database: Database) -> tuple[Database, Database]:
    """The database as texts, and what the reference reads from the texts."""
    texts: Database = {
        table.name: [
            {column.name: as_text(row.get(column.name)) for column in table.columns}
            for row in database.get(table.name, [])
        ]
        for table in policy.tables
    }
    read: Database = {
        table.name: [
            {
                column.name: read_text(column, row[column.name], unit=column.name == table.unit)
                for column in table.columns
            }
            for row in texts[table.name]
        ]
        for table in policy.tables
    }
    return texts, read


def read_text(column: Column, text: str | None, *, unit: bool = False) -> Value:
    """Read a text by its value, however it is written; a unit is a whole number, or none."""
    if text is None or column.kind is Kind.TEXT:
        return Cast((), column.kind).apply(text)
    bare = text.strip(" ")
    if column.kind is Kind.BOOLEAN:
        bare = {"1": "true", "1.0": "true", "0": "false", "0.0": "false"}.get(bare, bare.lower())
    if column.kind not in {Kind.INTEGER, Kind.FLOAT}:
        return Cast((), column.kind).apply(bare)
    number = Cast((), Kind.FLOAT).apply(bare)
    if column.kind is Kind.FLOAT or not isinstance(number, float):
        return number
    if re.fullmatch(r"[+-]?[0-9]{1,18}(\.0{1,18})?", bare):
        return int(bare.partition(".")[0])
    if not unit:
        return round(number) if abs(number) < 2**63 else None
    told = re.fullmatch(r"[+-]?[0-9](\.[0-9]{1,14})?[eE]\+?[0-9]{1,2}", bare) and abs(number) < 2**53
    return int(number) if told and number == int(number) else None


def arrow_tables(policy: Policy, database: Database, *, text: bool = False) -> dict[str, pa.Table]:
    """Arrow tables of typed cells, or of texts."""
    return {
        table.name: pa.table(
            {
                column.name: pa.array(
                    [row[column.name] for row in database[table.name]], pa.string() if text else ARROW[column.kind]
                )
                for column in table.columns
            }
        )
        for table in policy.tables
    }


def write_csv(folder: Path, policy: Policy, texts: Database) -> None:
    """Write a CSV file for each table."""
    for table in policy.tables:
        with (folder / f"{table.name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([column.name for column in table.columns])
            for row in texts[table.name]:
                writer.writerow(["" if row[column.name] is None else row[column.name] for column in table.columns])


def limbs(cell: Value) -> list[int]:
    """The limbs of one cell, as `discreet.engines.sql.ranks` describes them."""
    if isinstance(cell, bool | int):
        return digits(int(cell))
    if isinstance(cell, str):
        return digits(int(hashlib.sha256(cell.encode()).hexdigest()[:15], 16))
    if isinstance(cell, dt.datetime):
        return digits((cell - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))  # noqa: DTZ001
    if isinstance(cell, dt.date):
        return [(cell - dt.date(1970, 1, 1)).days]
    assert isinstance(cell, float)
    level = 0
    while cell and not (abs(cell) == 2.0**58 or 2.0**-6 <= abs(cell) * 2.0 ** (58 * level) < 2.0**58):
        level += 1 if abs(cell) < 1 else -1
    inside = cell * 2.0 ** (58 * level)
    whole = round(inside)
    return [*digits(whole), *digits(round((inside - whole) * 2.0**58)), level]


def digits(value: int) -> list[int]:
    """Three digits to the base 2**22; the last one takes the sign and the rest."""
    return [value % 2**22, value // 2**22 % 2**22, value // 2**44]


def row_rank(unit: Value, cells: Iterable[Value]) -> int:
    """The rank of a row."""
    return _rank("row", unit, list(cells))


def key_rank(unit: Value, cells: Iterable[Value]) -> int:
    """The rank of a key."""
    return _rank("key", unit, list(cells))


def _secret(label: str) -> int:
    return int.from_bytes(hashlib.sha256(KEY + label.encode()).digest()[:8]) % 2**26


def _weighed(label: str, cell: Value) -> int:
    if cell is None:
        return _secret(f"{label} null")
    return sum(limb * _secret(f"{label} {digit}") for digit, limb in enumerate(limbs(cell)))


def _rank(tag: str, unit: Value, cells: list[Value]) -> int:
    prime = 2**31 - 1
    first, second = (
        sum(_weighed(f"{tag} {lane} {place}", cell) for place, cell in enumerate((unit, *cells))) % prime
        for lane in (0, 1)
    )
    high = first * first * (first + _secret(f"{tag} shift")) % prime
    return high * 2**31 + second
