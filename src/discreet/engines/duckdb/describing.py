"""What stands in a file besides its rows: names of tables and columns, and the types that were declared for them."""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.duckdb.connecting import quiet
from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = [
    "DELIMITERS",
    "FILES",
    "arrow_table",
    "declared_kind",
    "header_of",
    "public_facts",
    "stored_columns",
    "table_files",
]

DELIMITERS = {".csv": ",", ".tsv": "\t", ".data": ","}
"""What separates the cells of files of text, by their endings."""
FILES = (".parquet", ".arrow", ".feather", *DELIMITERS)
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
    place = Path(path)
    if place.is_dir():
        return {name: _columns(file) for name, file in table_files(place).items()}
    if not place.is_file():
        msg = f"there is no file or folder {shown(str(path))}."
        raise ParameterError(msg)
    if place.suffix in FILES:
        return {place.stem: _columns(place)}
    return _database(place)


def table_files(folder: Path) -> dict[str, Path]:
    """Name the file of each table in a folder; of several with one name the first kind of `FILES` counts.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.csv", "a.parquet", "b.tsv"):
    ...         (Path(folder) / name).touch()
    ...     [file.name for file in table_files(Path(folder)).values()]
    ['a.parquet', 'b.tsv']
    """
    listed = sorted(place for place in folder.iterdir() if place.is_file())
    files = {place.stem: place for ending in reversed(FILES) for place in listed if place.suffix == ending}
    return dict(sorted(files.items()))


def _columns(file: Path) -> Columns:
    if file.suffix in DELIMITERS:
        return dict.fromkeys(header_of(file))
    if file.suffix == ".parquet":
        with _connected() as connection:
            rows = _asked(connection, f"DESCRIBE FROM read_parquet({_text(file)}, hive_partitioning = false)", file)
        return {str(row[0]): str(row[1]) for row in rows}
    return {field.name: declared_kind(str(field.type)) for field in arrow_table(file).schema}


def header_of(file: Path) -> list[str]:
    r"""Read the first line of a file of text: the names of its columns.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "people.tsv"
    ...     _ = file.write_text("name\tage\nann\t31\n")
    ...     header_of(file)
    ['name', 'age']
    """
    # Bytes that are no text may stand in the rows that are read along with the header: they are no error there.
    with file.open(newline="", encoding="utf-8-sig", errors="replace") as text, suppress(csv.Error):
        return next(csv.reader(text, delimiter=DELIMITERS[file.suffix]), [])
    msg = f"the first line of {file.name} is too long for column names; is a quotation mark left open?"
    raise ParameterError(msg)


def arrow_table(file: Path) -> Any:  # noqa: ANN401 - pyarrow is optional
    """Map an Arrow (Feather) file into memory; rows are read as they are asked for, unless they are compressed."""
    try:
        import pyarrow as pa
        from pyarrow import ipc
    except ImportError:
        msg = f"{file.name} is an Arrow file; reading it needs pyarrow: pip install 'discreet[frames]'."
        raise ParameterError(msg) from None
    rows = None
    with suppress(OSError, pa.ArrowInvalid):
        rows = ipc.open_file(pa.memory_map(str(file))).read_all()
    if rows is None:
        msg = f"{file.name} is no Arrow file."
        raise ParameterError(msg)
    return rows


_KINDS = {
    **dict.fromkeys(("int", "uint"), "BIGINT"),
    **dict.fromkeys(("float", "double", "half", "decimal"), "DOUBLE"),
    **dict.fromkeys(("timestamp", "datetime"), "TIMESTAMP"),
    "bool": "BOOLEAN",
    "date": "DATE",
    **dict.fromkeys(("str", "utf8", "large_str", "large_utf8", "categor", "dictionary", "enum"), "VARCHAR"),
}


def declared_kind(text: str) -> str | None:
    """Give a type of Arrow, polars or pandas by the SQL type that stands for it; None for Python's objects.

    >>> declared_kind("large_string"), declared_kind("datetime64[ns]"), declared_kind("object")
    ('VARCHAR', 'TIMESTAMP', None)
    """
    spelled = text.lower()
    if spelled in {"object", "null"}:
        return None
    return next((kind for start, kind in _KINDS.items() if spelled.startswith(start)), text)


def _database(file: Path) -> dict[str, Columns]:
    with _connected() as connection:
        _asked(connection, f"ATTACH {_text(file)} AS source (READ_ONLY)", file)
        rows = _asked(
            connection,
            "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE database_name = 'source' AND NOT internal ORDER BY schema_name, table_name, column_index",
            file,
        )
    tables: dict[str, Columns] = {}
    for schema, table, column, kind in rows:
        name = str(table) if schema == "main" else f"{schema}.{table}"
        tables.setdefault(name, {})[str(column)] = str(kind)
    return tables


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
            keys = [str(cell[0]) for cell in _asked(connection, listed, path)]
    kind, low, high = (None if cell is None else str(cell) for cell in row[:3])
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
