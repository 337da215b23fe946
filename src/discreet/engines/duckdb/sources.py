"""Where DuckDB finds the tables of a policy: a folder of files, a DuckDB database, or data frames in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from sqlglot import exp

from discreet.engines.duckdb.connecting import require_plain
from discreet.engines.duckdb.describing import DELIMITERS, FILES, arrow_table, header_of, table_files
from discreet.engines.duckdb.objects import given_names, is_frame, typed
from discreet.engines.sql.relations import Raw
from discreet.engines.sql.words import table as named
from discreet.errors import ParameterError
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from discreet.engines.sql.words import SQL
    from discreet.tables import Policy, Table

__all__ = ["attach", "require_inside"]

_SCHEMA = "temp"

_Place: TypeAlias = "tuple[tuple[str, ...], list[str] | None]"
"""Where a table is read, and how the source names its columns, in order, if DuckDB could name them otherwise."""
_Found: TypeAlias = "dict[str, _Place]"


def attach(connection: DuckDBPyConnection, policy: Policy, source: str | Path | Mapping[str, object]) -> dict[str, Raw]:
    """Make each table of a policy readable as a view, and forbid all other files."""
    if isinstance(source, Mapping):
        tables = _frames(connection, policy, source)
        paths: list[Path] = []
    else:
        root = Path(source)
        one = root.is_file() and root.suffix in FILES
        if one or root.is_dir():
            files = {root.stem: root} if one else table_files(root)
            tables, paths = _files(connection, policy, files)
        else:
            tables, paths = _database(connection, policy, root)
    if any(path.suffix == ".parquet" for path in paths):
        _compare_as_read(connection)
    listed = exp.Array(expressions=[exp.Literal.string(str(path)) for path in paths])
    connection.execute(f"SET allowed_paths = {listed.sql('duckdb')}")
    return {
        name: Raw(named(*path), _columns(connection, policy.table(name), path, given))
        for name, (path, given) in tables.items()
    }


def _compare_as_read(connection: DuckDBPyConnection) -> None:
    """Let no condition be decided by what a Parquet file says about many rows at once: least and largest texts, hashes.

    It says so of the stored bytes, and bytes that are no text are read as question marks. Rows whose text fulfills a
    condition would be passed over or not as the texts of other units are.
    """
    ((others,),) = connection.execute("SELECT current_setting('disabled_optimizers')").fetchall()
    connection.execute(f"SET disabled_optimizers = '{others},filter_pushdown,join_filter_pushdown'")


def _frames(connection: DuckDBPyConnection, policy: Policy, frames: Mapping[str, object]) -> _Found:
    """Register data frames; DuckDB reads pandas, polars and Arrow where they are, but for columns of Python objects."""
    tables: _Found = {}
    for table in policy.tables:
        if table.name not in frames:
            _missing(table.name, list(frames))
        tables[table.name] = _registered(connection, frames[table.name], table)
    return tables


def _registered(connection: DuckDBPyConnection, frame: object, table: Table) -> _Place:
    """Make a view of a frame; whatever the driver says of one that it does not read may quote it."""
    view, kind = f"frame {table.name}", type(frame).__name__
    try:
        read = typed(frame, table)
        connection.register(view, read)
        return (_SCHEMA, view), given_names(read)
    except ParameterError:
        raise
    except Exception:  # noqa: BLE001, S110 - the sentence below, without what the driver said
        pass
    msg = f"table {table.name!r} is a {kind}; it must be a pandas or polars data frame or an Arrow table."
    if is_frame(frame):
        msg = (
            f"table {table.name!r} is a {kind} with a column that DuckDB does not read, for its type or for how it "
            "lies in memory (backwards, or with bytes swapped); give a copy of the table, or leave the column out."
        )
    raise ParameterError(msg)


def _files(connection: DuckDBPyConnection, policy: Policy, files: Mapping[str, Path]) -> tuple[_Found, list[Path]]:
    """Make a view of each table's file."""
    tables: _Found = {}
    paths = []
    for table in policy.tables:
        if table.name not in files:
            _missing(table.name, sorted(files))
        path = files[table.name].resolve()
        if path.suffix in {".arrow", ".feather"}:
            tables[table.name] = _registered(connection, arrow_table(path), table)
            continue
        if any(mark in str(path) for mark in "*?["):  # DuckDB would look for other files, and may read none
            msg = f"the path of {path.name} holds one of * ? [, which stand for other names; rename the folder or file."
            raise ParameterError(msg)
        text = exp.Literal.string(str(path)).sql("duckdb")
        # Bytes that are no text are read as question marks: one such cell must not refuse every question.
        # Nor is a folder called id=7 to stand in for the column id of every row: all rows would be one unit's.
        parquet = f"read_parquet({text}, utf8_validation = 'replace', hive_partitioning = false)"
        reader = parquet if path.suffix == ".parquet" else _csv(path, text)
        view = exp.to_identifier(f"file {table.name}", quoted=True).sql("duckdb")
        _read(connection, f"CREATE TEMP VIEW {view} AS SELECT * FROM {reader}", path)  # noqa: S608 - the owner's path
        given = _parquet_names(connection, text) if path.suffix == ".parquet" else None
        tables[table.name] = (_SCHEMA, f"file {table.name}"), given
        paths.append(path)
    return tables, paths


def _read(connection: DuckDBPyConnection, statement: str, path: Path) -> None:
    """Make a file readable; what the driver says of one that is broken may quote it."""
    import duckdb

    try:
        connection.execute(statement)
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        pass
    else:
        return
    msg = f"the file {path.name} cannot be read; it is broken, of another format, or in use by another program."
    raise ParameterError(msg)


def _parquet_names(connection: DuckDBPyConnection, text: str) -> list[str]:
    """Name the columns of a Parquet file as it does itself, in order: after each part come those inside it."""
    rows = connection.execute(f"SELECT name, num_children FROM parquet_schema({text})").fetchall()  # noqa: S608 - quoted
    names: list[str] = []
    inside = 0
    for name, parts in rows[1:]:
        if not inside:
            names.append(str(name))
        inside += int(parts or 0) - (1 if inside else 0)
    return names


def _csv(path: Path, text: str) -> str:
    """Read every cell of a CSV file as a text: nothing is guessed from the rows, and no row is an error.

    Missing cells are NULL, as are empty ones; cells beyond the header are left out. One thread reads the file: several
    fail at a quoted line break where cells may be missing, and one such cell would then refuse every question.
    """
    names = header_of(path)
    if not names or len({name.casefold() for name in names}) < len(names) or not all(names):
        msg = (
            f"the file {path.name} must begin with a line of column names, each once (letters' case does not tell "
            "names apart)."
        )
        raise ParameterError(msg)
    columns = ", ".join(f"{exp.Literal.string(name).sql('duckdb')}: 'VARCHAR'" for name in names)
    delimiter = exp.Literal.string(DELIMITERS[path.suffix]).sql("duckdb")
    options = f"header = true, auto_detect = false, delim = {delimiter}, quote = '\"', escape = '\"'"
    return (
        f"read_csv({text}, {options}, columns = {{{columns}}}, ignore_errors = true, null_padding = true, "
        "strict_mode = false, parallel = false, hive_partitioning = false)"
    )


def _database(connection: DuckDBPyConnection, policy: Policy, path: Path) -> tuple[_Found, list[Path]]:
    """Attach a DuckDB database, read-only."""
    if not path.is_file():
        msg = f"there is no file or folder {str(path)!r}; give a .duckdb file, or a folder of CSV or Parquet files."
        raise ParameterError(msg)
    require_plain(path.resolve())
    text = exp.Literal.string(str(path.resolve())).sql("duckdb")
    _read(connection, f"ATTACH {text} AS source (READ_ONLY)", path)
    tables = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'source' AND NOT internal"
    ).fetchall()
    attached: _Found = {}
    for table in policy.tables:
        schema, name = table.name.rsplit(".", 1) if "." in table.name else ("main", table.name)
        if (schema, name) not in tables:
            _missing(table.name, sorted(known if place == "main" else f"{place}.{known}" for place, known in tables))
        attached[table.name] = ("source", schema, name), None
    return attached, [path.resolve(), path.resolve().with_name(path.name + ".wal")]


def _columns(
    connection: DuckDBPyConnection, table: Table, path: tuple[str, ...], given: list[str] | None
) -> dict[str, str]:
    """Ask for the stored columns and their types; the declared ones must be there.

    Of names that differ in case alone DuckDB renames all but the first, perhaps to that of a column after them.
    """
    described = _described(connection, named(*path))
    if described is None:
        msg = f"table {table.name!r} cannot be read; it is a view of something that is not there, or a broken file."
        raise ParameterError(msg)
    types = {str(row[0]): str(row[1]) for row in described}
    for column in table.columns:
        if column.name not in types:
            msg = f"table {table.name!r} has no column {column.name!r}.{hint(column.name, list(types))}"
            raise ParameterError(msg)
        place = [*types].index(column.name)
        if given is not None and given[place] != column.name:
            msg = (
                f"table {table.name!r} has columns whose names differ in the case of letters alone, and column "
                f"{column.name!r} would be mistaken for another; rename them."
            )
            raise ParameterError(msg)
    return types


def _described(connection: DuckDBPyConnection, source: SQL) -> list[tuple[object, ...]] | None:
    """Ask for the columns of a table or view, None if it cannot be read."""
    import duckdb

    try:
        return connection.execute(f"DESCRIBE {source.sql('duckdb')}").fetchall()
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        return None


def require_inside(connection: DuckDBPyConnection, tables: Mapping[str, Raw]) -> None:
    """Refuse a view of a database that reads other files, now that they are forbidden: every question would fail."""
    for name, raw in tables.items():
        if _described(connection, raw.source) is None:
            msg = (
                f"table {name!r} is a view that reads files beside the database, and the engine reads none of them. "
                "Copy what it shows into a table, or give the folder of the files as the source."
            )
            raise ParameterError(msg)


def _missing(name: str, there: list[str]) -> NoReturn:
    msg = f"the source has no table {name!r}; it has {', '.join(there) or 'none'}.{hint(name, there)}"
    raise ParameterError(msg)
