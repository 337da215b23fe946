"""What stands in a file besides its rows: names of tables and columns, and the types that were declared for them."""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.duckdb.quiet import quiet
from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["FILES", "arrow_table", "public_facts", "stored_columns"]

FILES = (".parquet", ".arrow", ".feather", ".csv")
"""Endings of files that hold one table, in the order in which they are looked for."""

Columns = dict[str, str | None]


def stored_columns(path: str | Path) -> dict[str, Columns]:
    r"""Name the tables at a path and their columns with their declared types; no row is looked at.

    A CSV file declares none: they are None. Of a folder, all files count that a policy could name.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (pathlib.Path(folder) / "people.csv").write_text("name,age\nann,31\n")
    ...     stored_columns(folder)
    {'people': {'name': None, 'age': None}}
    """
    found = Path(path)
    if found.is_dir():
        files = {each.stem: each for ending in reversed(FILES) for each in sorted(found.glob(f"*{ending}"))}
        return {name: _columns(files[name]) for name in sorted(files)}
    if not found.is_file():
        msg = f"there is no file or folder {shown(str(path))}."
        raise ParameterError(msg)
    if found.suffix in FILES:
        return {found.stem: _columns(found)}
    return _database(found)


def _columns(file: Path) -> Columns:
    if file.suffix == ".csv":
        with file.open(newline="", encoding="utf-8-sig", errors="replace") as text:
            return dict.fromkeys(next(csv.reader(text), []))
    if file.suffix == ".parquet":
        with _connected() as connection:
            rows = _asked(connection, f"DESCRIBE FROM read_parquet({_text(file)}, hive_partitioning = false)", file)
        return {str(row[0]): str(row[1]) for row in rows}
    return {field.name: _arrow_kind(str(field.type)) for field in arrow_table(file).schema}


def arrow_table(file: Path) -> Any:  # noqa: ANN401 - pyarrow is optional
    """Map an Arrow (Feather) file into memory; rows are read as they are asked for, unless they are compressed."""
    try:
        import pyarrow as pa
        from pyarrow import ipc
    except ImportError:
        msg = f"{file.name} is an Arrow file; reading it needs pyarrow: pip install 'discreet[frames]'."
        raise ParameterError(msg) from None
    found = None
    with suppress(OSError, pa.ArrowInvalid):
        found = ipc.open_file(pa.memory_map(str(file))).read_all()
    if found is None:
        msg = f"{file.name} is no Arrow file."
        raise ParameterError(msg)
    return found


def _arrow_kind(text: str) -> str:
    """Give an Arrow type by the SQL type that stands for it."""
    starts = {"int": "BIGINT", "uint": "BIGINT", "float": "DOUBLE", "double": "DOUBLE", "half": "DOUBLE"}
    starts |= {"decimal": "DOUBLE", "bool": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP"}
    return next((kind for start, kind in starts.items() if text.startswith(start)), "VARCHAR")


def _database(file: Path) -> dict[str, Columns]:
    with _connected() as connection:
        _asked(connection, f"ATTACH {_text(file)} AS source (READ_ONLY)", file)
        rows = _asked(
            connection,
            "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE database_name = 'source' AND NOT internal ORDER BY schema_name, table_name, column_index",
            file,
        )
    found: dict[str, Columns] = {}
    for schema, table, column, kind in rows:
        name = str(table) if schema == "main" else f"{schema}.{table}"
        found.setdefault(name, {})[str(column)] = str(kind)
    return found


def public_facts(
    file: str | Path, column: str, *, most_keys: int
) -> tuple[str, str | None, str | None, list[str] | None]:
    r"""Read what is in a column of a file whose owner says that its values are public.

    Gives the type that fits the values, the least and the largest, and the distinct ones if they are few. It must not
    be called for private data: each of these tells of single rows.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "wards.csv"
    ...     _ = file.write_text("ward,beds\nsurgery,12\ncardiology,7\n")
    ...     public_facts(file, "beds", most_keys=1), public_facts(file, "ward", most_keys=9)[3]
    (('BIGINT', '7', '12', None), ['cardiology', 'surgery'])
    """
    path = Path(file)
    text = _text(path)
    reader = f"read_{'parquet' if path.suffix == '.parquet' else 'csv'}({text}, hive_partitioning = false)"
    name = exp.to_identifier(column, quoted=True).sql("duckdb")
    with _connected() as connection:
        row = _asked(
            connection,
            f"SELECT any_value(typeof({name})), min({name})::VARCHAR, max({name})::VARCHAR, count(DISTINCT {name}) "  # noqa: S608 - quoted
            f"FROM {reader}",
            path,
        )[0]
        keys = None
        if int(str(row[3])) <= most_keys:
            listed = f"SELECT DISTINCT {name}::VARCHAR AS k FROM {reader} WHERE {name} IS NOT NULL ORDER BY k"  # noqa: S608
            keys = [str(each[0]) for each in _asked(connection, listed, path)]
    kind, low, high = (None if each is None else str(each) for each in row[:3])
    return kind or "VARCHAR", low, high, keys


def _text(file: Path) -> str:
    return exp.Literal.string(str(file.resolve())).sql("duckdb")


def _connected() -> DuckDBPyConnection:
    import duckdb

    return quiet(duckdb.connect(":memory:", config={"autoinstall_known_extensions": False}))


def _asked(connection: DuckDBPyConnection, text: str, file: Path) -> list[tuple[object, ...]]:
    """Ask; whatever the driver says may quote the file, so it says only which file cannot be read."""
    import duckdb

    try:
        return connection.execute(text).fetchall()
    except duckdb.Error:
        pass
    msg = f"{file.name} cannot be read; give a CSV, Parquet, Arrow or DuckDB file, or a folder of them."
    raise ParameterError(msg)
