"""The embedded engine: DuckDB in this process, reading files and frames where they are."""

from __future__ import annotations

import os
import weakref
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from discreet.engines.duckdb.connecting import quiet, require_plain, undo
from discreet.engines.duckdb.dialect import DuckDBDialect
from discreet.engines.duckdb.sources import attach, require_inside
from discreet.engines.duckdb.store import Store, belongs, forget, is_store
from discreet.engines.keys import read_key
from discreet.engines.sql.checks import repeated, require_readable
from discreet.engines.sql.public import with_public_columns
from discreet.engines.sql.relations import Emitter
from discreet.engines.sql.running import Aside, SQLEngine, TimeWatch
from discreet.engines.sql.statements import BATCH, by_columns, listed_rows
from discreet.errors import EngineError, ParameterError
from discreet.exact import integer, shown
from discreet.files import PrivateFolder, narrowed, own_files
from discreet.plans.nodes import Join, Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from discreet.engines.sql.running import Results
    from discreet.engines.sql.statements import Columns, Take
    from discreet.plans.nodes import Node
    from discreet.tables import Policy, Table

__all__ = ["DuckDB"]


Found = TypeVar("Found")
_Settings: TypeAlias = "dict[str, str | bool | int | float | list[str]]"
_LEAST_MEMORY, _MEMORY_PER_THREAD = 640, 256
"""In megabytes, for the data that the engine holds at a time, if the owner says nothing."""
_SPARE = 40
"""So many hundredths of it may hold kept rows, which every later question reads, if no file must outlast the engine."""
_FEW = 10_000
"""Of so many rows all cells are read, to be ordered here: to plan windows takes longer than to compute them."""
_WHOLE = {"BIGINT", "INTEGER", "UINTEGER", "UTINYINT"}
_READ = _WHOLE | {"BOOLEAN", "DOUBLE", "TIMESTAMP", "VARCHAR"}
_DISABLED = (
    # Parquet's statistics leave NaN out, and may be wrong: for them, DuckDB would drop the test for NaN or a clamp.
    "statistics_propagation",
    # Of a limit on numbered rows it would make an aggregate that keeps a heap for nearly every row: ten million rows of
    # a million units then take many minutes instead of seconds.
    "top_n_window_elimination",
    # To aggregate below a join it writes the columns of all layers into each other, outside of the memory limit: four
    # times as much for each float operation, 22 GB for POWER(z, 16) as fifteen products.
    "partial_aggregate_pushdown",
    # Of a join of all rows it would make one that stops where a side has none (`Emitter._all_rows`). Since sides are
    # kept as they are written, no question of ours shows it any more; it stays off.
    "outer_join_simplification",
    # It chooses by what is known of the stored rows of which side a table is made for the other to look in: one row of
    # one person decided whether it is of everybody's rows. Sides stay as they are written.
    "build_side_probe_side",
)


class DuckDB(SQLEngine):
    """Questions to files, data frames or a DuckDB database.

    `source` is a folder with a NAME.parquet, .arrow, .feather or .csv for each table, one such file, a DuckDB file
    (opened read-only), or a mapping of tables to pandas, polars or Arrow data. `store` is a file of the engine's own
    for limited rows (see `discreet.engines.duckdb.store`); without it they stay in memory or go to a temporary one,
    which is removed. It holds copies of private rows: protect it like the source.

    The connection reads the files of the policy's tables and no others, loads no extension, and its settings are
    locked. `memory` (in megabytes), `threads` and `seconds` (per question, else the policy's) limit it. Unless told
    otherwise it holds no more than 256 megabytes per thread, or 640, whatever the size of the data; the rest waits in a
    private folder.

    >>> import pyarrow as pa
    >>> from discreet.tables import Column, Policy, Table
    >>> visits = Table("visits", unit="id", rows_per_unit=2, columns=[Column("age", lower=0, upper=120)])
    >>> with DuckDB(Policy([visits], epsilon=1), {"visits": pa.table({"id": ["a"], "age": [50]})}) as engine:
    ...     engine.alive()
    True
    """

    def __init__(  # noqa: PLR0913 - each limits the connection in its own way
        self,
        policy: Policy,
        source: str | Path | Mapping[str, object],
        *,
        store: str | Path | None = None,
        rank_key: bytes | None = None,
        memory: int | None = None,
        threads: int | None = None,
        seconds: int | None = None,
    ) -> None:
        super().__init__(policy, seconds)
        engine = weakref.ref(self)  # the watch must not keep alive an engine that nobody has any more
        self._watch = TimeWatch(self._seconds, lambda: _interrupt(engine(), late=True))
        self._aside = Aside(lambda: _interrupt(engine()))
        self._opened = ExitStack()
        self._sound = 0
        self._small: dict[str, bool] = {}
        key = None if rank_key is None else read_key(rank_key)
        used, held = _limits(memory, threads)
        _require_apart(source, store)
        self._opened.callback(self._aside.close)
        self._opened.callback(self._watch.close)
        self._inside = self._opened.enter_context(ExitStack())
        self._settings = policy, source, None if store is None else Path(store).absolute(), used, held
        try:
            self._aside.run(lambda: self._open(key))
        except BaseException:
            self.close()
            raise

    def _open(self, key: bytes | None) -> None:
        """Connect, and find the tables of the policy in the source."""
        policy, source, store, threads, memory = self._settings
        spare = memory * 10**6 * _SPARE // 100 if store is None else 0
        fits = partial(belongs, policy=policy, key=key)
        with own_files():
            folder = self._inside.enter_context(_folder())
            self._connection = self._inside.enter_context(_connected(folder, store, memory, threads, fits))
            tables = attach(self._connection, policy, source)
            self._kept = Store(self._connection, tables, policy, DuckDBDialect(), key, spare=spare)
            self._emitter = Emitter(DuckDBDialect(), self._kept, self._kept.key)
            require_readable(policy, self._emitter)
            self.policy = with_public_columns(policy, self._emitter, self._checked)
            repeated(self.policy, self._emitter, self._checked)
            for setting in ("enable_external_access = false", "lock_configuration = true"):
                self._connection.execute(f"SET {setting}")
            require_inside(self._connection, tables)

    def _checked(self, text: str) -> list[tuple[object, ...]]:
        answers = self._found([text])
        if answers is None:
            msg = "DuckDB could not read a public table; check its file or view."
            raise EngineError(msg)
        return list(listed_rows(answers[0]))

    def alive(self) -> bool:
        """Tell whether the connection answers: it does if it answered last, in this process, and was not closed since.

        The database is in this process, so nothing but a statement that fails can end it; after one, it is asked.
        """
        with self._lock:
            return self._sound == os.getpid() or self._aside.run(self._answers)

    def _answers(self) -> bool:
        with suppress(Exception):
            return self._connection.execute("SELECT 1").fetchone() == (1,)
        return False

    def _store(self, node: Node) -> bool:
        """Limited rows that are missing in the store are stored first."""
        return not self._kept.lacks(node) or self._watched(lambda: self._filled(node) or None) is not None

    def _filled(self, node: Node) -> bool:
        with self._watch.limited(), own_files():
            return self._kept.fill(node)

    def _few(self, node: Node) -> bool:
        """Count the rows of each table once, not beyond what matters; a join can have more rows than its sides."""
        if isinstance(node, Scan):
            name = node.table.name
            if name not in self._small:
                self._small[name] = self._is_small(node.table)
            return self._small[name]
        return not isinstance(node, Join) and all(map(self._few, node.children))

    def _is_small(self, table: Table) -> bool:
        source = self._kept.raw(table).source.sql("duckdb")
        text = f"SELECT COUNT(*) FROM (SELECT 1 FROM {source} LIMIT {_FEW + 1})"  # noqa: S608 - our name for it
        answers = self._results([text])
        return answers is not None and int(str(answers[0][0][0])) <= _FEW

    def _results(self, *questions: Sequence[str], take: Take | None = None) -> Results | None:
        """Run texts in one transaction; a single one is a transaction by itself."""
        return self._watched(lambda: self._found(*questions, take=take))

    def _watched(self, work: Callable[[], Found | None]) -> Found | None:
        """Do work beside the main thread, and remember whether it succeeded: None means that it failed."""
        self._sound = 0
        outcome = self._aside.run(work)
        if outcome is not None:
            self._sound = os.getpid()
        return outcome

    def _found(self, *questions: Sequence[str], take: Take | None = None) -> Results | None:
        try:
            if sum(map(len, questions)) == 1:
                return self._executed(questions[0], take)
            try:
                self._connection.execute("BEGIN TRANSACTION READ ONLY")
                return [columns for texts in questions for columns in self._executed(texts, take)]
            finally:
                undo(self._connection)
        except Exception:  # noqa: BLE001 - any error of the driver, and all its parents
            return None

    def _executed(self, texts: Sequence[str], take: Take | None) -> Results:
        with self._watch.limited():
            return [_columns(self._connection.execute(text), take) for text in texts]

    def drop_ranks(self) -> None:
        """Remove the stored rows."""
        with self._lock, own_files():
            if not self._aside.run(self._dropped):
                msg = (
                    "DuckDB could not remove the stored rows; check that the engine is open, and the disk of its store."
                )
                raise EngineError(msg)

    def _dropped(self) -> bool:
        """Delete the store and the temporary folder, and begin anew with the same key."""
        import duckdb

        key, store = self._kept.key, self._settings[2]
        if not self._answers():
            return False
        with suppress(Exception):  # any error of the driver, and all its parents
            while True:
                self._inside.close()
                if store is not None:
                    forget(store)
                with suppress(duckdb.InterruptException):  # one that comes late must not leave a half of it
                    self._open(key)
                    return True
        return False

    def close(self) -> None:
        """Close the connection and remove temporary files."""
        with self._lock, own_files():
            self._sound = 0
            self._opened.close()


def _interrupt(engine: DuckDB | None, *, late: bool = False) -> None:
    """Stop what runs, if the engine is still there; `late` if its time is over."""
    if engine is not None and late:
        engine._expired = True  # noqa: SLF001 - its own watch
    connection: DuckDBPyConnection | None = getattr(engine, "_connection", None)  # none while it is being opened
    if connection is not None:
        connection.interrupt()


def _columns(result: DuckDBPyConnection, take: Take | None) -> Columns:
    """Read a result by columns, or hand it over a few rows at a time; integers that are all there stay an array."""
    columns: Columns = []
    if take is not None:
        while batch := result.fetchmany(BATCH):
            take(by_columns(batch, 0))
        return columns
    kinds = [str(described[1]) for described in result.description or ()]
    for kind, column in zip(kinds, result.fetchnumpy().values(), strict=True):
        if kind in _WHOLE and not np.ma.isMaskedArray(column):
            columns.append(column.astype(np.int64, copy=False))
        elif kind == "DATE":
            columns.append(column.astype("datetime64[D]").tolist())
        elif kind in _READ:
            columns.append(column.tolist())
        else:  # among others HUGEINT, which would come as a rounded double
            raise TypeError(kind)
    return columns


def _limits(memory: int | None, threads: int | None) -> tuple[int, int]:
    """Give the threads and the megabytes of memory: what does not fit is written to the private folder."""
    used = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads is not None:
        used = integer(threads, name="threads", least=1, most=1024)
    if memory is None:
        return used, max(_LEAST_MEMORY, used * _MEMORY_PER_THREAD)
    return used, integer(memory, name="memory", least=16)


def _require_apart(source: str | Path | Mapping[str, object], store: str | Path | None) -> None:
    """Refuse to write into the source, which is only read."""
    if store is not None and isinstance(source, str | Path) and Path(store).resolve() == Path(source).resolve():
        msg = f"store is {shown(str(store))}, which is the source; give a file of the engine's own."
        raise ParameterError(msg)


def _folder() -> PrivateFolder:
    """Make a private folder for what does not fit into memory."""
    with suppress(OSError):
        return PrivateFolder()
    msg = "a temporary folder cannot be made; nothing was spent. Check TMPDIR, and the space there."
    raise EngineError(msg)


def _connected(
    folder: Path, store: Path | None, memory: int, threads: int, fits: Callable[[DuckDBPyConnection], bool]
) -> DuckDBPyConnection:
    """Open the store, or the temporary one; what another version has left is deleted first."""
    spill = folder / "spill"
    spill.mkdir()
    config: _Settings = {
        "allow_community_extensions": False,
        "disabled_optimizers": ",".join(_DISABLED),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "memory_limit": f"{memory}MB",
        "threads": threads,
        "force_compression": "uncompressed",  # of the store, which is the only thing that is written
        "preserve_insertion_order": False,  # no answer depends on the order of rows
        "pandas_analyze_sample": 0,  # a column of Python objects is read as text, whatever the objects are
        "temp_directory": str(spill),
    }
    if store is None:
        connection = _file(folder / "store.duckdb", config)
        if connection is None:
            msg = f"a temporary store cannot be made in {str(folder.parent)!r}; nothing was spent. Free some space."
            raise EngineError(msg)
        return connection
    connection = _stored(store, config)
    if fits(connection):
        return connection
    connection.close()
    forget(store)
    return _stored(store, config)


def _stored(path: Path, config: _Settings) -> DuckDBPyConnection:
    """Open a store of an engine's own, which nobody else may read."""
    require_plain(path)
    log = path.with_name(f"{path.name}.wal")
    if not path.exists():
        log.unlink(missing_ok=True)  # somebody removed a store, and this is a part of it
    for file in (path, log):
        if file.exists() and not narrowed(file, group=False):
            msg = f"store is {shown(str(path))}; others may read it, and this user cannot change that: chmod 600."
            raise ParameterError(msg)
    connection = _file(path, config)
    if connection is None or not is_store(connection):
        if connection is not None:
            connection.close()
        msg = f"store is {shown(str(path))}; it must be a DuckDB file of this engine's own that nobody else has open."
        raise ParameterError(msg)
    return connection


def _file(path: Path, config: _Settings) -> DuckDBPyConnection | None:
    """Open a file by its path, as to DuckDB :memory: is none; None if it cannot be."""
    import duckdb

    with suppress(duckdb.Error):
        return quiet(duckdb.connect(str(path), config=config))
    return None
