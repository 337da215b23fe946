"""The sealed database in which shells run: in memory, with nothing in it but the tables that one statement is given.

It reads no file, loads no extension, speaks to no network, and its settings are locked. Each statement has a connection
of its own, whose temporary tables no other connection sees and which end with it. So there is nothing to reach but
what was released and what is public, whatever a statement says.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.engines.duckdb.connecting import quiet
from discreet.errors import EngineError
from discreet.plans.refusals import refuse
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from duckdb import DuckDBPyConnection

__all__ = ["MOST_ROWS", "SEALED", "Result", "SealedDatabase", "ShellTable"]

MOST_ROWS = 1_000_000
"""No shell gives out more rows."""

_SETTINGS: dict[str, Any] = {
    "allow_community_extensions": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "default_null_order": "nulls_last",
    "enable_external_access": False,
    "error_on_division_by_zero": False,  # but NULL, as in cores
    "ieee_floating_point_ops": False,
    "max_temp_directory_size": "0MB",  # nothing is written to a disk
    "memory_limit": "512MB",
    "threads": 2,
}
_SECONDS = 20
_MOST_SEEN = 256
"""So many shells are remembered."""
_QUICKLY = 5
"""So many seconds may the copies of a simulation take: without them there is an answer, only no ±."""
_TYPES = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.FLOAT: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}
_WHOLE = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
)
_KINDS = dict.fromkeys(_WHOLE, Kind.INTEGER) | {
    "BOOLEAN": Kind.BOOLEAN,
    "DOUBLE": Kind.FLOAT,
    "FLOAT": Kind.FLOAT,
    "VARCHAR": Kind.TEXT,
    "DATE": Kind.DATE,
    "TIMESTAMP": Kind.TIMESTAMP,
    '"NULL"': Kind.INTEGER,
}
_WIDE = 2**63
_BIT = "the shell of this question"

ColumnType: TypeAlias = "tuple[Kind, bool]"
"""What a column holds, and whether its cells are lists."""


@dataclass(frozen=True, eq=False)
class ShellTable:
    """A table that a shell may read: released or public.

    >>> ShellTable("core1", {"n": (Kind.INTEGER, False)}, {"n": [5, None]}).name
    'core1'
    """

    name: str
    kinds: Mapping[str, ColumnType]
    columns: Mapping[str, Sequence[object] | np.ndarray[Any, Any]]

    @property
    def empty(self) -> ShellTable:
        """The same without rows."""
        return ShellTable(self.name, self.kinds, {name: [] for name in self.columns})


@dataclass(frozen=True, eq=False)
class Result:
    """What a shell gives: the names and kinds of its columns, and its rows.

    >>> Result(("n",), ((Kind.INTEGER, False),), [(5,)]).names
    ('n',)
    """

    names: tuple[str, ...]
    kinds: tuple[ColumnType, ...]
    rows: list[tuple[Any, ...]]


class SealedDatabase:
    """Runs shells; one for each process is enough, as no statement sees another.

    >>> sealed = SealedDatabase()
    >>> table = ShellTable("core1", {"ward": (Kind.TEXT, False), "n": (Kind.INTEGER, False)}, {"ward": ["a"], "n": [5]})
    >>> result = sealed.run("SELECT ward, n / 2 AS half FROM core1", [table])
    >>> result.names, [kind.value for kind, _ in result.kinds], result.rows
    (('ward', 'half'), ['text', 'float'], [('a', 2.5)])
    >>> sealed.run("SELECT * FROM 'policy.toml'", [])
    Traceback (most recent call last):
    ...
    discreet.errors.EngineError: the shell of this question failed: ...
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._inherited: list[DuckDBPyConnection | None] = []
        self._database: DuckDBPyConnection | None = None
        self._seen: dict[tuple[Any, ...], Result] = {}

    def planned(self, text: str, tables: Sequence[ShellTable]) -> Result:
        """See whether a shell is understood, on tables without rows, and what it would give; else refuse it.

        A shell of the same text over tables of the same columns gives the same, and is not looked at again.
        """
        key = text, tuple((table.name, tuple(table.kinds.items())) for table in tables)
        known = self._seen.get(key)
        if known is not None:
            return known
        try:
            result = self.run(text, [table.empty for table in tables])
        except EngineError as error:
            why = str(error).partition(": ")[2].rstrip(".")
            return refuse(_BIT, why=f"{why}.", instead="what DuckDB understands, over the names of outputs.")
        while len(self._seen) >= _MOST_SEEN:
            self._seen.pop(next(iter(self._seen)), None)
        self._seen[key] = result
        return result

    def run(self, text: str, tables: Sequence[ShellTable]) -> Result:
        """Run a shell over its tables. What fails depends on them alone, so the message may say why."""
        import duckdb

        try:
            with self._connected(tables) as connection, _limited(connection, _SECONDS):
                result = connection.execute(text)
                described = result.description or []
                kinds = tuple(_kind(str(name), str(kind)) for name, kind, *_ in described)
                rows = result.fetchmany(MOST_ROWS + 1)
        except duckdb.Error as error:
            raise _failed(error) from None
        if len(rows) > MOST_ROWS:
            msg = f"{_BIT} failed: it gives more than {MOST_ROWS:,} rows; LIMIT gives fewer."
            raise EngineError(msg)
        return _read(tuple(str(name) for name, *_ in described), kinds, rows)

    def arrays(self, text: str, tables: Sequence[ShellTable]) -> dict[str, np.ndarray[Any, Any]]:
        """Run a shell whose result is read by columns, masked where it is NULL."""
        import duckdb

        try:
            with self._connected(tables) as connection, _limited(connection, _QUICKLY):
                columns: dict[str, np.ndarray[Any, Any]] = connection.execute(text).fetchnumpy()
                return columns
        except duckdb.Error as error:
            raise _failed(error) from None

    @contextmanager
    def _connected(self, tables: Sequence[ShellTable]) -> Iterator[DuckDBPyConnection]:
        """Give a connection that holds these tables, as long as it lasts."""
        with self._lock:
            if self._database is None or self._owner != os.getpid():
                self._inherited.append(self._database)  # a forked child must not close what its parent uses
                self._database, self._owner = _opened(), os.getpid()
            connection = self._database.cursor()
        try:
            for table in tables:
                _fill(connection, table)
            connection.execute("BEGIN TRANSACTION READ ONLY")  # what a statement makes would outlast its connection
            yield connection
        finally:
            connection.close()


def _opened() -> DuckDBPyConnection:
    import duckdb

    connection = quiet(duckdb.connect(":memory:", config=_SETTINGS))
    connection.execute("SET lock_configuration = true")
    return connection


def _fill(connection: DuckDBPyConnection, table: ShellTable) -> None:
    """Make a temporary table; arrays are handed over as they are, lists as parameters."""
    types = {name: _TYPES[kind] + ("[]" if is_list else "") for name, (kind, is_list) in table.kinds.items()}
    made = f"CREATE TEMP TABLE {_quoted(table.name)}"
    columns = [table.columns[name] for name in types]
    if not columns or not len(columns[0]):
        connection.execute(f"{made} ({', '.join(f'{_quoted(name)} {kind}' for name, kind in types.items())})")
    elif all(isinstance(column, np.ndarray) for column in columns):
        connection.register("given", {f"c{place}": column for place, column in enumerate(columns)})
        cells = ", ".join(f"CAST(c{place} AS {kind}) AS {_quoted(name)}" for place, (name, kind) in _numbered(types))
        connection.execute(f"{made} AS SELECT {cells} FROM given")  # noqa: S608 - our names, and quoted ones
        connection.unregister("given")
    else:
        cells = ", ".join(f"unnest(?::{kind}[]) AS {_quoted(name)}" for name, kind in types.items())
        listed = [column.tolist() if isinstance(column, np.ndarray) else list(column) for column in columns]
        connection.execute(f"{made} AS SELECT {cells}", listed)


def _numbered(types: Mapping[str, str]) -> Iterator[tuple[int, tuple[str, str]]]:
    return enumerate(types.items())


@contextmanager
def _limited(connection: DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """Interrupt what runs inside if it takes too long."""
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _failed(error: Exception) -> EngineError:
    import duckdb

    first = next((line for line in str(error).splitlines() if line.strip()), "")
    kind, _, said = first.partition(": ")
    why = said if kind.endswith("Error") else first
    if isinstance(error, duckdb.InterruptException):
        why = f"it took longer than {_SECONDS} seconds"
    if isinstance(error, duckdb.OutOfMemoryException):
        why = "it needs more memory than a shell may have"
    return EngineError(f"{_BIT} failed: {why.rstrip('.!')}.")


def _kind(name: str, stored: str) -> ColumnType:
    """What a column holds; one that could not be shown is refused."""
    is_list = stored.endswith("[]")
    plain = stored.removesuffix("[]")
    kind = Kind.FLOAT if plain.startswith("DECIMAL") else _KINDS.get(plain)
    if kind is None:
        return refuse(name, why=f"It is of the type {stored}, which is not given out.", instead="CAST(… AS VARCHAR)")
    return kind, is_list


def _read(names: tuple[str, ...], kinds: tuple[ColumnType, ...], rows: list[tuple[Any, ...]]) -> Result:
    """Write decimals and what has more than 64 bits as floats, and as NULL what is no number or no day."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    read: list[ColumnType] = []
    for place, (kind, is_list) in enumerate(kinds):
        cells = columns[place]
        wide = kind is Kind.INTEGER and not is_list and any(cell is not None and abs(cell) >= _WIDE for cell in cells)
        if (kind is Kind.FLOAT or wide) and not is_list:
            numbers = [None if cell is None else float(cell) for cell in cells]
            columns[place] = [cell if cell is not None and math.isfinite(cell) else None for cell in numbers]
        elif kind.temporal and not is_list:
            columns[place] = [cell if isinstance(cell, dt.date) else None for cell in cells]
        read.append((Kind.FLOAT if wide else kind, is_list))
    return Result(names, tuple(read), list(zip(*columns, strict=True)) if rows else [])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


SEALED = SealedDatabase()
"""The one of this process; it is opened when the first shell runs."""
