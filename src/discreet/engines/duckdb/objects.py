"""Columns of Python objects in data frames: each cell read by itself, as the same value in a typed column would be."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from discreet.engines.sql.reading import castable
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.plans.expressions import Cast
from discreet.tables.kinds import INT64, Kind

if TYPE_CHECKING:
    from discreet.tables import Table, Value

__all__ = ["given_names", "is_frame", "typed"]

_FRAMES = {"pandas", "polars", "pyarrow"}
_READ_ONCE = {"RecordBatchReader", "Scanner"}
"""Streams of Arrow: a second question would find no rows."""
_ARRAYS = {Kind.BOOLEAN: "boolean", Kind.INTEGER: "Int64", Kind.TEXT: "string"}


def typed(frame: Any, table: Table) -> Any:  # noqa: ANN401 - pandas is optional
    """Give a pandas frame whose columns of objects were read as the kinds that the policy declares; others as they are.

    One odd cell turns a column of truth values or numbers into one of objects, and whoever reads the column then sees
    every other cell as something else. Here a cell is read by itself: what cannot be read is NULL, no cell is an error,
    and none changes how another is read. Columns of objects that no policy declares are left out.

    >>> import pandas as pd
    >>> from discreet.tables import Column, Table
    >>> frame = pd.DataFrame({"id": ["a", 7], "b": pd.Series([True, None], dtype=object), "x": [[1], "-"]})
    >>> typed(frame, Table("t", unit="id", columns=[Column("b", type="boolean")])).to_dict("list")
    {'id': ['a', '7'], 'b': [True, None]}
    """
    home = type(frame).__module__.partition(".")[0]
    if type(frame).__name__ in _READ_ONCE or (home not in _FRAMES and hasattr(frame, "__arrow_c_stream__")):
        msg = f"table {shown(table.name)} is a {type(frame).__name__}, which is read once; give a table, made of it."
        raise ParameterError(msg)
    if home == "pyarrow" and hasattr(frame, "set_column"):
        return _texts(frame, table)
    if home != "pandas" or not hasattr(frame, "columns"):
        return frame
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        msg = f"table {shown(table.name)} is a data frame with two columns of one name; name each once."
        raise ParameterError(msg)
    kinds = {column.name: column.kind for column in table.columns}
    columns = {}
    for place, name in enumerate(names):
        column = frame.iloc[:, place]
        if not (str(column.dtype) in {"object", "category"} or getattr(column.dtype, "storage", "") == "python"):
            columns[name] = _arrow_backed(column) if name in kinds else column
        elif name in kinds:
            cells = (_cell(value, kinds[name], whole=name == table.unit) for value in column)
            columns[name] = _array(list(cells), kinds[name])
    import pandas as pd

    return pd.DataFrame(columns, index=frame.index, copy=False)


def is_frame(value: object) -> bool:
    """Tell whether a value has columns, as the frames have that are read here.

    >>> import pandas as pd
    >>> is_frame(pd.DataFrame()), is_frame(pd.Series([1])), is_frame([1])
    (True, False, False)
    """
    home = type(value).__module__.partition(".")[0]
    return home in _FRAMES and (hasattr(value, "schema") or hasattr(value, "columns"))


def given_names(frame: Any) -> list[str]:  # noqa: ANN401 - all of them are optional
    """Name the columns of a frame as it does itself, in order.

    >>> import pyarrow as pa
    >>> given_names(pa.table({"a": [1], "A": [2]}))
    ['a', 'A']
    """
    if hasattr(frame, "collect_schema"):  # polars, also where nothing is read yet
        return [str(name) for name in frame.collect_schema().names()]
    return [str(name) for name in (frame.columns if hasattr(frame, "iloc") else frame.schema.names)]


def _arrow_backed(column: Any) -> Any:  # noqa: ANN401 - pandas is optional
    """Give a column that pandas keeps in Arrow with NULL in place of bytes that are no text; others as they are."""
    import pandas as pd

    if not isinstance(column.dtype, pd.ArrowDtype | pd.StringDtype):
        return column
    import pyarrow as pa

    cells = pa.array(column.array)  # in one piece or several
    corrected = _corrected(cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells]))
    return column if corrected is None else pd.array(corrected.to_pylist(), dtype="string")


def _texts(frame: Any, table: Table) -> Any:  # noqa: ANN401 - pyarrow is optional
    """Give an Arrow table in which bytes that are no text are NULL; DuckDB would fail at the first of them."""
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    declared = {column.name for column in table.columns}
    for place, field in enumerate(frame.schema):
        if field.name in declared and (corrected := _corrected(frame.column(place))) is not None:
            frame = frame.set_column(place, field.name, corrected)
    return frame


def _corrected(column: Any) -> Any | None:  # noqa: ANN401 - pyarrow is optional
    """Give a column of texts in which some are none as one with NULL there; None for every other column."""
    import pyarrow as pa

    kind = column.type
    within = kind.value_type if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind) else kind
    if not any(is_kind(within) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)):
        return None
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([_decoded(cell) for chunk in column.chunks for cell in _bytes(chunk)], pa.large_string())
    return None


def _bytes(chunk: Any) -> list[bytes | None]:  # noqa: ANN401 - pyarrow is optional
    """Give the cells of texts that may be none."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(chunk.type):
        named = _bytes(chunk.dictionary)
        return [None if place is None else named[place] for place in chunk.indices.to_pylist()]
    if pa.types.is_run_end_encoded(chunk.type):
        return _bytes(compute.run_end_decode(chunk))
    wide = pa.large_binary() if pa.types.is_large_string(chunk.type) else pa.binary()
    plain = chunk.view(pa.binary_view()) if pa.types.is_string_view(chunk.type) else chunk.cast(wide)
    values: list[bytes | None] = plain.to_pylist()
    return values


def _decoded(cell: bytes | None) -> str | None:
    if cell is None:
        return None
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def _array(cells: list[Value], kind: Kind) -> object:
    """Make a column of one type."""
    import numpy as np
    import pandas as pd

    if kind is Kind.FLOAT:
        return np.array([math.nan if cell is None else cell for cell in cells], dtype=np.float64)
    if kind.temporal:
        return np.array(["NaT" if cell is None else cell for cell in cells], dtype="datetime64[us]")
    return pd.array(cells, dtype=_ARRAYS[kind])


def _cell(value: object, kind: Kind, *, whole: bool) -> Value:
    """Read one cell as a kind; NULL if it is none, as in a typed column that may be cast. A unit is not rounded."""
    if whole and kind is Kind.INTEGER and isinstance(value, Decimal):  # as doubles, long ones would be one unit
        value = int(value) if value.is_finite() and abs(value) < 2**64 and value == value.to_integral_value() else None
    plain = _plain(value)
    if plain is None or (whole and kind is Kind.INTEGER and isinstance(plain, float) and not plain.is_integer()):
        return None
    given = Kind.of(plain)
    if given is kind:
        return plain
    if not castable(given, kind):
        return None
    return Cast((), kind).compute(plain)


def _plain(value: object) -> Value:
    """Give the value of a cell as one of the kinds; None for what is missing or of no kind."""
    item = getattr(value, "item", None)
    if type(value).__module__ == "numpy" and callable(item) and getattr(value, "ndim", 1) == 0:
        value = item()
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if INT64.lower <= value <= INT64.upper else None  # type: ignore[operator]
    if isinstance(value, Decimal):
        value = float(value) if value.is_finite() else None
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if isinstance(value, str):
        return _text(value)
    return _moment(value)


def _text(value: str) -> str | None:
    """Give a text; one that no encoding holds is none."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return str(value)


def _moment(value: object) -> Value:
    """Give a day or a time without a zone; NaT is neither."""
    if not isinstance(value, dt.date) or value != value:  # noqa: PLR0124 - NaT
        return None
    if not isinstance(value, dt.datetime):
        return value
    if value.tzinfo is not None:
        return None
    return dt.datetime.combine(value.date(), value.time())
