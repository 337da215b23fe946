"""What stands in a source besides its rows: names of tables and columns, and the types that were declared for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engines.duckdb.describing import declared_kind, stored_columns
from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["columns_of"]


def columns_of(source: object, *, relative_to: str | Path | None = None) -> dict[str, dict[str, str | None]]:
    """Name the tables of a source and their columns with their declared types; no row is looked at.

    The source is what `open_engine` takes: a path, `postgresql://…`, or a mapping of tables to data frames. A type is
    None where the source declares none: in CSV files, and in columns of Python objects. An int64 of pandas is a number
    like a float64, as one missing cell makes one of the other; who declares integers writes Int64.

    >>> import pyarrow as pa
    >>> columns_of({"people": pa.table({"name": ["ann"], "age": [31]})})
    {'people': {'name': 'VARCHAR', 'age': 'BIGINT'}}
    """
    if isinstance(source, str) and source.startswith(("postgresql://", "postgres://")):
        from discreet.engines.postgres.describing import granted_columns

        return granted_columns(source)
    if isinstance(source, str) and "://" in source:
        msg = f"source is {shown(source.partition('://')[0])}://…; it must be a path or postgresql://…."
        raise ParameterError(msg)
    if isinstance(source, Mapping):
        return {str(name): _frame(str(name), frame) for name, frame in source.items()}
    return stored_columns(Path(relative_to or ".") / str(source))


def _frame(name: str, frame: object) -> dict[str, str | None]:
    """Ask a data frame for its schema: Arrow, polars, or pandas."""
    schema = getattr(frame, "schema", None)
    if isinstance(schema, Mapping):
        return _kinds((key, kind) for key, kind in schema.items())
    if schema is not None and hasattr(schema, "names"):
        return _kinds((field.name, field.type) for field in schema)
    types = getattr(getattr(frame, "dtypes", None), "items", None)
    if types is not None:
        return _kinds((key, "double" if str(kind) == "int64" else kind) for key, kind in types())
    msg = (
        f"table {shown(name)} is a {type(frame).__name__}; it must be a pandas or polars data frame or an Arrow table."
    )
    raise ParameterError(msg)


def _kinds(columns: Iterable[tuple[object, object]]) -> dict[str, str | None]:
    return {str(name): declared_kind(str(given)) for name, given in columns}
