"""Questions to Spark: the tables of a session, of a cluster, or of a Spark Connect server."""

from __future__ import annotations

import itertools
import threading
import weakref
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.engines.keys import read_key
from discreet.engines.spark.dialect import SparkDialect
from discreet.engines.spark.store import SparkStore
from discreet.engines.sql.checks import repeated, require_readable
from discreet.engines.sql.public import with_public_columns
from discreet.engines.sql.relations import Emitter, Raw
from discreet.engines.sql.running import Aside, SQLEngine, TimeWatch
from discreet.engines.sql.statements import BATCH, by_columns, listed_rows
from discreet.engines.sql.words import table as named
from discreet.errors import EngineError, ParameterError
from discreet.exact import shown
from discreet.tables.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet.engines.sql.running import Results
    from discreet.engines.sql.statements import Columns, Take
    from discreet.engines.sql.words import SQL
    from discreet.plans.nodes import Node
    from discreet.tables import Policy, Table

__all__ = ["Spark"]

_SETTINGS = {
    "spark.sql.analyzer.maxIterations": "1000",  # with 100, which is usual, it gives up at some 50 layers
    "spark.sql.ansi.enabled": "true",
    # Of a join of all rows it would make one that stops where a side has none (`Emitter._all_rows`).
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.EliminateOuterJoin",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",  # what is kept comes back as it was
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # one odd name would change all others
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
_OLD_CALENDARS = (
    "spark.sql.avro.datetimeRebaseModeInRead",
    "spark.sql.parquet.datetimeRebaseModeInRead",
    "spark.sql.parquet.int96RebaseModeInRead",
)
"""What is read of days before 1582: an owner may state the calendar of the files, but no row may be an error."""

_ENGINES = itertools.count()
_LOCKS: dict[str, threading.RLock] = {}


class Spark(SQLEngine):
    """Questions to tables and views of a Spark session (Spark 4).

    `source` is a session, the address of a standalone master (`spark://host:7077`, `local[2]`) or of a Spark Connect
    server (`sc://host`). Tables are looked up by name in the session's catalog; with `folder` they are read from
    NAME.parquet or NAME.csv there, which all workers must see. The settings that meaning depends on (ANSI mode, the
    zone) are set while a question runs, and set back; engines that share a session wait for each other.

    A question runs for at most `seconds` (else the policy's). Spark has no snapshots: what a table holds may change
    between the statements of a question. Give tables that do not change, or a table format with versions.

    Without `store`, rows are ranked for each question that limits them. `store` is a folder of the engine's own, which
    all workers see: there the kept rows of each limit are written once for a version. They are copies of private rows.

    >>> from discreet.tables import Policy
    >>> Spark(Policy([], epsilon=1), 7077)
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: source is 7077; it must be a Spark session, or an address such as spark://host:7077.
    """

    def __init__(  # noqa: PLR0913 - each says something of its own about the source or the store
        self,
        policy: Policy,
        source: Any,  # noqa: ANN401 - a session of either kind, or an address
        *,
        folder: str | Path | None = None,
        rank_key: bytes | None = None,
        store: str | Path | None = None,
        seconds: int | None = None,
    ) -> None:
        super().__init__(policy, seconds)
        key = None if rank_key is None else read_key(rank_key)
        if not isinstance(source, str) and not hasattr(source, "sql"):
            msg = f"source is {shown(source)}; it must be a Spark session, or an address such as spark://host:7077."
            raise ParameterError(msg)
        self._session, self._owned = _session(source) if isinstance(source, str) else (source, False)
        prefix = f"discreet_{next(_ENGINES)}"  # engines share a session, and each has views and jobs of its own
        self._alone = _LOCKS.setdefault(_identity(self._session), threading.RLock())
        self._settings = dict(_SETTINGS)
        self._jobs = jobs = _Jobs(self._session, prefix)
        self._aside = Aside(jobs.cancel)
        engine = weakref.ref(self)  # the watch must not keep alive an engine that nobody has any more
        self._watch = TimeWatch(self._seconds, lambda: _expire(engine()))
        try:
            self._kept = None if store is None else SparkStore(Path(store), policy, key, prefix)
            files = None if folder is None else Path(folder)
            with self._settled():
                self._catalog = _Catalog(self._session, policy, files, self._kept, prefix)
            if self._catalog.alike:
                self._settings["spark.sql.caseSensitive"] = "true"
            self._emitter = Emitter(
                SparkDialect(), self._catalog, read_key(key) if self._kept is None else self._kept.key
            )
            require_readable(policy, self._emitter)
            self.policy = with_public_columns(policy, self._emitter, self._checked)
            repeated(self.policy, self._emitter, self._checked)
        except BaseException:
            self.close()
            raise

    def _checked(self, text: str) -> list[tuple[object, ...]]:
        answers = self._results([text])
        if answers is None:
            msg = "Spark could not read a public table; check that it exists and can be read."
            raise EngineError(msg)
        return list(listed_rows(answers[0]))

    def _results(self, *questions: Sequence[str], take: Take | None = None) -> Results | None:
        """Run texts under the settings that they are written for."""
        return self._aside.run(lambda: self._found(*questions, take=take))

    def _found(self, *questions: Sequence[str], take: Take | None = None) -> Results | None:
        try:
            with self._settled():
                results = []
                for texts in questions:
                    with self._watch.limited():
                        for text in texts:
                            if self._expired:  # what is canceled is a job, and one may have ended just before
                                return None
                            results.append(_columns_of(self._session.sql(text), take))
                return results
        except Exception:  # noqa: BLE001 - any error of the driver or of the workers
            return None

    def _store(self, node: Node) -> bool:
        """Limited rows that are missing in the store are stored first."""
        return self._kept is None or self._aside.run(lambda: self._filled(node))

    def _filled(self, node: Node) -> bool:
        try:
            with self._settled(), self._watch.limited():
                if self._kept is not None:
                    self._kept.fill(node, self._emitter.dialect, self._catalog, self._session)
        except Exception:  # noqa: BLE001 - any error of the driver or of the workers
            return False
        return True

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """Set what meaning depends on, and the name by which the jobs are canceled; set it back.

        Another engine of the same session waits: it would set back what this one has set, while a question runs.
        """
        conf = self._session.conf
        with self._alone:
            old = {name: "CORRECTED" for name in _OLD_CALENDARS if conf.get(name) == "EXCEPTION"}
            before = {name: conf.get(name, None) for name in (*self._settings, *old)}
            try:
                self._jobs.mark()
                for name, value in (self._settings | old).items():
                    conf.set(name, value)
                yield
            finally:
                for name, value in before.items():
                    conf.unset(name) if value is None else conf.set(name, value)
                self._jobs.unmark()

    def drop_ranks(self) -> None:
        """Remove the stored rows."""
        with self._lock:
            if self._kept is not None:
                self._kept.drop()

    def close(self) -> None:
        """Stop the session if it was started here."""
        with self._lock:
            self._aside.close()
            self._watch.close()
            if self._owned:
                self._session.stop()


def _expire(engine: Spark | None) -> None:
    """Cancel what runs, if the engine is still there: its time is over."""
    if engine is not None:
        engine._expired = True  # noqa: SLF001 - its own watch
        engine._jobs.cancel()  # noqa: SLF001


def _identity(session: Any) -> str:  # noqa: ANN401 - of either kind
    """Tell sessions apart: Python may have several objects for one."""
    return str(session.session_id if _remote(session) else session._jsparkSession.toString())  # noqa: SLF001


def _remote(session: Any) -> bool:  # noqa: ANN401 - of either kind
    return type(session).__module__.startswith("pyspark.sql.connect.")


class _Jobs:
    """The jobs of an engine: those that a thread starts while it marks them, which another thread may cancel.

    In this process the marks are the context's: a session's own are not those of jobs whose results come as Arrow.
    """

    def __init__(self, session: Any, tag: str) -> None:  # noqa: ANN401 - of either kind
        remote = _remote(session)
        place = session if remote else session.sparkContext
        marks = (
            ("addTag", "removeTag", "interruptTag") if remote else ("addJobTag", "removeJobTag", "cancelJobsWithTag")
        )
        self.mark, self.unmark, self.cancel = (partial(getattr(place, name), tag) for name in marks)


def _columns_of(frame: Any, take: Take | None) -> Columns:  # noqa: ANN401 - of either kind of session
    """Read a result by columns, 64-bit integers that are all there as an array; or hand it over a few rows at a time.

    What is handed over comes in parts of the last column, by which it is ordered: the driver holds one part at a time.
    """
    if take is not None:
        by = frame.columns[-1]
        rows = map(tuple, frame.repartitionByRange(by).sortWithinPartitions(by).toLocalIterator())
        while batch := list(itertools.islice(rows, BATCH)):
            take(by_columns(batch, 0))
        return []
    return [
        column.to_numpy() if str(column.type) == "int64" and not column.null_count else column.to_pylist()
        for column in frame.toArrow().columns
    ]


class _Catalog:
    """The tables of a session, and what is kept of them.

    `alike` tells whether names of columns in a table differ in case only. Else the session's own rule holds: files of
    a table may write its columns in another case, and read exactly they would have none of them, but NULLs.
    """

    def __init__(
        self,
        session: Any,  # noqa: ANN401 - of either kind
        policy: Policy,
        folder: Path | None,
        store: SparkStore | None,
        prefix: str,
    ) -> None:
        self._raw = {}
        self._store = store
        self.alike = False
        for table in policy.tables:
            path = table.name.split(".") if folder is None else [_viewed(session, table, folder, prefix)]
            types = _columns(session, path)
            if types is None:
                msg = f"the source has no table {table.name!r}, or it cannot be read."
                raise ParameterError(msg)
            for column in table.columns:
                if column.name not in types:
                    msg = f"table {table.name!r} has no column {column.name!r}.{hint(column.name, list(types))}"
                    raise ParameterError(msg)
            self.alike |= len({name.lower() for name in types}) < len(types)
            self._raw[table.name] = Raw(named(*path), types)

    def raw(self, table: Table) -> Raw:
        """Give a stored table."""
        return self._raw[table.name]

    def kept(self, table: Table, limit: int) -> SQL | None:
        """Give the view of kept rows, if there is a store."""
        return None if self._store is None else self._store.kept(table, limit)


def _columns(session: Any, path: list[str]) -> dict[str, str] | None:  # noqa: ANN401 - of either kind
    """Ask for the stored columns and their types."""
    try:
        schema = session.sql(f"SELECT * FROM {named(*path).sql('databricks')}").schema  # noqa: S608 - the owner's name
    except Exception:  # noqa: BLE001 - whatever the driver says
        return None
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def _viewed(session: Any, table: Table, folder: Path, prefix: str) -> str:  # noqa: ANN401 - of either kind
    """Make a view of a table's file; cells of CSV files are texts."""
    path = next((stored for end in ("parquet", "csv") if (stored := folder / f"{table.name}.{end}").exists()), None)
    if path is None:
        msg = f"the folder has no {table.name}.parquet and no {table.name}.csv."
        raise ParameterError(msg)
    if any(mark in str(path) for mark in "*?[{"):  # Spark would read other files
        msg = f"the path of {path.name} holds one of * ? [ {{, which stand for other names; rename the folder or file."
        raise ParameterError(msg)
    name, frame = f"{prefix}_{table.name}", None
    try:
        if path.suffix == ".parquet":
            frame = session.read.parquet(str(path))
        else:
            frame = session.read.csv(str(path), header=True, quote='"', escape='"', multiLine=True, mode="PERMISSIVE")
    except Exception:  # noqa: BLE001, S110 - whatever the driver says
        pass
    if frame is None:
        msg = f"Spark cannot read {path.name}; check the file, and that Spark knows the types of all its columns."
        raise ParameterError(msg)
    frame.createOrReplaceTempView(name)
    return name


def _session(address: str) -> tuple[Any, bool]:
    """Open a session, and tell whether it is a new one: only such a session is stopped with the engine."""
    from pyspark.sql import SparkSession

    session, new = None, SparkSession.getActiveSession() is None
    try:
        builder = SparkSession.builder.appName("discreet")
        builder = builder.remote(address) if address.startswith("sc://") else builder.master(address)
        session = builder.getOrCreate()
    except Exception:  # noqa: BLE001, S110 - whatever the driver says
        pass
    if session is None:
        msg = "Spark does not answer at the given address; check that the master or server runs, and Java 17."
        raise EngineError(msg)
    return session, new
