"""A table in its owner's hands: exact counts and single rows, outside of every policy.

What comes out of here is private. It is for checks that tell an owner what data would give away if it were published.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp

from discreet.engines.duckdb.connecting import quiet, require_plain
from discreet.engines.duckdb.describing import FILES, arrow_table
from discreet.errors import EngineError, ParameterError
from discreet.exact import shown
from discreet.files import PrivateFolder
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from numpy.typing import NDArray

__all__ = ["OwnedTable", "quoted"]


def quoted(name: str) -> str:
    """Quote a name for DuckDB.

    >>> quoted("zip code")
    '"zip code"'
    """
    return str(exp.to_identifier(name, quoted=True).sql("duckdb"))


class OwnedTable:
    """A CSV, Parquet or Arrow file, or a data frame, that its owner looks at with exact counts.

    Cells of CSV files are texts; empty ones are NULL. `memory` limits what DuckDB holds at once, as in "1GB"; what is
    beyond goes to a temporary folder that nobody else may read, and that is removed in the end.

    >>> import pyarrow as pa
    >>> with OwnedTable(pa.table({"zip": ["130", "130", "148"]})) as table:
    ...     table.columns, table.ask("SELECT count(*) FROM owned")
    (('zip',), [(3,)])
    """

    def __init__(self, source: object, *, memory: str | None = None) -> None:
        self._opened = ExitStack()
        folder = self._opened.enter_context(PrivateFolder())
        self._connection = self._opened.enter_context(quiet(duckdb.connect()))
        try:
            self._connection.execute("SET preserve_insertion_order = false")
            self._connection.execute("SET temp_directory = $folder", {"folder": str(folder)})
            if memory is not None:
                self._limit(memory)
            self.attach("owned", source)
            self.columns = self.names("owned")
        except BaseException:
            self._opened.close()
            raise

    def _limit(self, memory: str) -> None:
        try:
            self._connection.execute("SET memory_limit = $memory", {"memory": memory})
        except duckdb.Error:
            msg = f"memory is {shown(memory)}; write a number and a unit, such as '1GB'."
            raise ParameterError(msg) from None

    def attach(self, name: str, source: object) -> None:
        """Make a file or a data frame readable under a name."""
        described = "the file" if isinstance(source, str | Path) else f"the {type(source).__name__}"
        try:
            if not isinstance(source, str | Path):
                self._connection.register(name, source)
                return
            path = Path(source)
            if not path.is_file() or path.suffix not in FILES:
                msg = f"there is no file {str(path)!r} that ends in {', '.join(FILES)}."
                raise ParameterError(msg)
            require_plain(path.resolve())
            if path.suffix in {".arrow", ".feather"}:
                self._connection.register(name, arrow_table(path))
                return
            text = exp.Literal.string(str(path.resolve())).sql("duckdb")
            reader = f"read_csv({text}, header = true, all_varchar = true)"
            reader = f"read_parquet({text})" if path.suffix == ".parquet" else reader
            self._connection.execute(f"CREATE TEMP VIEW {quoted(name)} AS SELECT * FROM {reader}")  # noqa: S608 - quoted
        except (duckdb.Error, TypeError):
            msg = f"{described} cannot be read; it must be a CSV, Parquet or Arrow file, or a data frame."
            raise ParameterError(msg) from None

    def names(self, name: str) -> tuple[str, ...]:
        """Return the columns of what is attached under a name.

        >>> import pyarrow as pa
        >>> with OwnedTable(pa.table({"zip": ["130"]})) as table:
        ...     table.names("owned")
        ('zip',)
        """
        return tuple(str(row[0]) for row in self.ask(f"DESCRIBE {quoted(name)}"))

    def require(self, columns: Iterable[str], *, name: str) -> tuple[str, ...]:
        """Return columns that are there, each named once, or say which is not.

        >>> import pyarrow as pa
        >>> with OwnedTable(pa.table({"zip": ["130"]})) as table:
        ...     table.require(["zpi"], name="quasi")
        Traceback (most recent call last):
        ...
        discreet.errors.ParameterError: quasi names 'zpi', which is no column of the table. Did you mean 'zip'?
        """
        wanted = (columns,) if isinstance(columns, str) else tuple(columns)
        for column in wanted:
            if column not in self.columns:
                msg = f"{name} names {shown(column)}, which is no column of the table.{hint(str(column), self.columns)}"
                raise ParameterError(msg)
        if not wanted or len(set(wanted)) < len(wanted):
            msg = f"{name} is {shown(list(wanted))}; name at least one column, and none twice."
            raise ParameterError(msg)
        return wanted

    def ask(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; what the driver says of one that fails may quote data, so it is dropped."""
        try:
            return self._connection.execute(statement, list(parameters)).fetchall()
        except duckdb.Error as error:
            kind = type(error).__name__
        msg = f"the table could not be counted ({kind}); temporary files may not fit, or memory= is too small."
        raise EngineError(msg)

    def arrays(self, columns: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return columns as arrays, in the order of the table; missing cells are None.

        >>> import pyarrow as pa
        >>> with OwnedTable(pa.table({"zip": ["130", None]})) as table:
        ...     table.arrays(["zip"])["zip"].tolist()
        ['130', None]
        """
        import numpy as np

        names = self.require(columns, name="columns")
        self._connection.execute("SET preserve_insertion_order = true")
        rows = self.ask(f"SELECT {', '.join(map(quoted, names))} FROM owned")  # noqa: S608 - quoted
        cells = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        return {name: np.array([*cell, None], dtype=object)[:-1] for name, cell in zip(names, cells, strict=True)}

    def close(self) -> None:
        """Close the table, and remove what was kept of it."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
