"""What engines that speak SQL do alike: prepare statements, run them in one snapshot, keep errors to themselves.

Their work is done beside the main thread, so that an interrupt of the user stays one. Python hands signals to the main
thread. While that waits inside DuckDB, a Ctrl-C is seen late or not at all where several threads compute; and where it
is seen, DuckDB drops the exception of the signal's handler and raises one of its own, which cannot be told from a
failure. Spark's driver waits for the end of the job before it lets the exception go, or replaces it by the job's. So
the main thread waits in Python, and another one calls the engine; a third keeps the time limit.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from discreet.engines.engine import Aggregates
from discreet.engines.loan import Loan
from discreet.engines.sql.checks import Declared, declared_facts, most_alike
from discreet.engines.sql.lending import lent_arrays, lent_text
from discreet.engines.sql.losses import TableLosses, losses
from discreet.engines.sql.rows import count_rows
from discreet.engines.sql.statements import Statements, written
from discreet.engines.sql.words import alias, column, select
from discreet.errors import EngineError, ParameterError, TimeLimitError
from discreet.exact import integer
from discreet.plans.nodes import Scan
from discreet.plans.refusals import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from discreet.engines.engine import Prepared
    from discreet.engines.loan import Arrays
    from discreet.engines.sql.relations import Emitter
    from discreet.engines.sql.statements import Columns, Take
    from discreet.ledgers import Ledger
    from discreet.plans import Extract
    from discreet.plans.nodes import Aggregate, Node
    from discreet.tables import Policy, Table

__all__ = ["MOST_PUBLIC_ROWS", "Aside", "Results", "SQLEngine", "TimeWatch"]

Found = TypeVar("Found")
MOST_PUBLIC_ROWS = 1_000_000
"""A public table of more rows is read by joins alone, and not as a whole."""
_AGAIN = 0.05
"""After so many seconds who waits looks again, at signals and at whether an interrupt came between two statements."""


class _Job(Generic[Found]):
    """One piece of work, which is done once or withdrawn before it began."""

    def __init__(self, work: Callable[[], Found]) -> None:
        self._work = work
        self._begun = threading.Lock()
        self._ended = threading.Event()
        self._found: list[Found] = []
        self._error: BaseException | None = None

    def do(self) -> None:
        if not self._begun.acquire(blocking=False):
            return
        try:
            self._found.append(self._work())
        except BaseException as error:  # noqa: BLE001 - raised where the work was asked for
            self._error = error
        finally:
            self._ended.set()

    def result(self) -> Found:
        while not self._ended.wait(_AGAIN):  # a signal just before a wait without limit would not end it
            pass
        if self._error is not None:
            raise self._error
        return self._found[0]

    def stop(self, interrupt: Callable[[], object]) -> None:
        """Withdraw the work, or interrupt it until it has ended: the connection is in use as long."""
        if self._begun.acquire(blocking=False):
            return
        while not self._ended.is_set():
            try:
                interrupt()
                self._ended.wait(_AGAIN)
            except BaseException:  # noqa: BLE001, S112 - another Ctrl-C; the first one is raised soon
                continue


def _do_all(jobs: SimpleQueue[_Job[object] | None]) -> None:
    while (job := jobs.get()) is not None:
        job.do()
        del job  # what it found is not kept until the next one


class Aside:
    """Run work on a thread of its own if the main thread asks for it; others get no signals and do it themselves.

    >>> Aside(lambda: None).run(lambda: 6 * 7)
    42
    """

    def __init__(self, interrupt: Callable[[], object]) -> None:
        self._interrupt = interrupt
        self._jobs: SimpleQueue[_Job[object] | None] | None = None
        self._process = 0

    def run(self, work: Callable[[], Found]) -> Found:
        """Give what the work gives; whatever a signal's handler raises meanwhile is raised once the work has ended."""
        if threading.current_thread() is not threading.main_thread():
            return work()
        job = _Job(work)
        try:
            self._queue().put(job)  # type: ignore[arg-type]  # the thread does not look at what it finds
            return job.result()
        except BaseException:
            job.stop(self._interrupt)
            raise

    def close(self) -> None:
        """End the thread."""
        jobs, self._jobs = self._jobs, None
        if jobs is not None:
            jobs.put(None)

    def _queue(self) -> SimpleQueue[_Job[object] | None]:
        """The queue of a thread that lives in this process: a forked child has none of its parent's."""
        if self._jobs is None or self._process != os.getpid():
            jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
            weakref.finalize(self, jobs.put, None)
            threading.Thread(target=_do_all, args=(jobs,), name="discreet-engine", daemon=True).start()
            self._jobs, self._process = jobs, os.getpid()
        return self._jobs


_LATER = 1.0
"""After so many seconds what was interrupted and goes on is interrupted again."""


class TimeWatch:
    """Interrupt what takes longer than so many seconds.

    What goes on all the same is interrupted again and again: the first time may have fallen between two statements.

    The thread sleeps until the limit of the question that it knows. A later question has a later limit, so it needs no
    wake-up: the thread finds that limit when it wakes, and ends when it finds none.

    >>> stopped = threading.Event()
    >>> with TimeWatch(0.01, stopped.set).limited():
    ...     stopped.wait(60)
    True
    """

    def __init__(self, seconds: float, interrupt: Callable[[], object]) -> None:
        self._seconds = seconds
        self._interrupt = interrupt
        self._changed = threading.Condition()
        self._until: float | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Interrupt what runs inside if it takes too long; one at a time."""
        with self._changed:
            self._until = time.monotonic() + self._seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="discreet-watch", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._until = None

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _watch(self) -> None:
        with self._changed:
            left = self._seconds  # whoever started this thread may have ended already: others will come
            while left > 0 and not self._closed:
                self._changed.wait(left)
                left = 0.0 if self._until is None else self._until - time.monotonic()
                if self._until is not None and left <= 0 and not self._closed:
                    self._until = time.monotonic() + _LATER
                    left = _LATER
                    self._interrupt()
            self._thread = None


Results: TypeAlias = "list[Columns]"


class SQLEngine(ABC):
    """An engine that speaks SQL; a subclass opens the connection and runs texts."""

    _emitter: Emitter

    def __init__(self, policy: Policy, seconds: int | None = None) -> None:
        self._lock = threading.RLock()
        self._seconds = integer(policy.seconds if seconds is None else seconds, name="seconds", least=1, most=10**6)
        self._expired = False
        self.policy = policy

    @abstractmethod
    def _results(self, *questions: Sequence[str], take: Take | None = None) -> Results | None:
        """Run the texts of questions in one snapshot, each question within its own time; give all results in order.

        With `take`, it is handed each result in its order, a few rows at a time, and what is given has none.

        None if one fails, as the engine's message may quote private values. Of a failure it is known only whether it
        was the end of the time, `_expired`.
        """

    def _store(self, node: Node) -> bool:  # noqa: ARG002 - most engines store nothing
        """Store what a plan needs and is not stored; False if the engine failed."""
        return True

    def _few(self, node: Node) -> bool:  # noqa: ARG002 - most engines do not know
        """Tell whether a plan reads so few rows that what orders their cells takes longer than to read all of them."""
        return False

    def alive(self) -> bool:
        """Tell whether the source answers, without looking at data."""
        with self._lock:
            return self._results(["SELECT 1"]) is not None

    def prepare(self, aggregate: Aggregate) -> PreparedQuestion:
        """Write the statements for a plan's aggregate, or refuse it."""
        return PreparedQuestion(self, Statements.of(aggregate, self._emitter))

    def run(self, questions: Sequence[Prepared]) -> list[Aggregates]:
        """Compute questions that were prepared here in one snapshot, each within its own time; all, or none."""
        asked = [self._prepared(question) for question in questions]
        with self._lock:
            counted = [wanted.has_cells and self._few(wanted.aggregate.child) for wanted in asked]
            texts = [wanted.parts if few else wanted.texts for wanted, few in zip(asked, counted, strict=True)]
            left = iter(self._read([wanted.aggregate.child for wanted in asked], texts))
        exact = []
        for statements, some, few in zip(asked, texts, counted, strict=True):
            read = statements.read([next(left) for _ in some], counted=few)
            exact.append(Aggregates(statements.aggregate, *read))  # type: ignore[arg-type]  # of the declared kinds
        return exact

    def _read(self, nodes: Sequence[Node], questions: Sequence[Sequence[str]], take: Take | None = None) -> Results:
        """Store what plans need, and run their texts; of a failure it is said only whether the time was over."""
        with self._lock:
            self._expired = False
            run = self._results if take is None else partial(self._results, take=take)
            results = run(*questions) if all(map(self._store, nodes)) else None
            late = results is None and self._expired
        if late:
            raise TimeLimitError(self._seconds)
        if results is None:
            msg = (
                f"{type(self).__name__} could not compute the question. Nothing is said about why, as the reason could "
                "depend on private rows; the owner finds it by checking the connection, memory, disk and files."
            )
            raise EngineError(msg)
        return results

    def _prepared(self, question: Prepared) -> Statements:
        """Give the statements that were written here."""
        if not isinstance(question, PreparedQuestion) or question._engine is not self:  # noqa: SLF001 - of this module
            msg = "the question was prepared by another engine; ask it there."
            raise ParameterError(msg)
        return question._statements  # noqa: SLF001 - of this module

    def lend(
        self,
        extract: Extract,
        ledger: Ledger,
        analyst: str | None = None,
        purpose: str | None = None,
        *,
        named: bool = False,
    ) -> Loan:
        """Write the statement for rows, or refuse them; they are read against a reservation of the ledger."""
        text = lent_text(extract, self._emitter, named=named)

        def rows(take: Callable[[Arrays], None], *, whole: bool) -> None:
            def read(columns: Columns) -> None:
                take(lent_arrays(extract, columns))

            results = self._read([extract.node], [[text]], None if whole else read)
            if whole:
                read(results[0])

        return Loan(extract, ledger, rows, self.alive, (analyst, purpose))

    def public_rows(self, table: Table) -> Columns:
        """Read a public table, its declared columns as they are declared; refuse a private or a very long one."""
        if not table.public:
            msg = f"table {table.name!r} is private; its rows are nobody's to read, and it is asked with aggregates."
            raise ParameterError(msg)
        node = Scan(table)
        relation = self._emitter.relation(node)
        counted = select([alias(count_rows(), "n")], relation.query)
        (((count, *_), *_),) = self._read([node], [[written(counted, self._emitter.dialect)]])
        if int(str(count)) > MOST_PUBLIC_ROWS:
            why = f"It has more than {MOST_PUBLIC_ROWS:,} rows, more than are read at once."
            refuse(table.name, why=why, instead="a part of it, as a public table of its own.")
        listed = select([column(name) for name in relation.names.values()], relation.query)
        return self._read([node], [[written(listed, self._emitter.dialect)]])[0]

    def verify(self, policy: Policy) -> dict[Declared, bool]:
        """Tell which declared facts hold in the stored rows: the owner's check, and never an analyst's.

        Each answer is one exact bit about private rows, so nothing of it may depend on who asks a question or reach
        whoever does.
        """
        facts = declared_facts(policy)
        results = self._checked_rows(
            [most_alike(policy.table(fact.table), fact.columns, self._emitter) for fact in facts]
        )
        return {fact: int(str(rows[0][0] or 0)) <= fact.most for fact, rows in zip(facts, results, strict=True)}

    def losses(self, policy: Policy) -> tuple[TableLosses, ...]:
        """Count what reading loses of the stored rows: the owner's check, like `verify`."""
        return losses(policy, self._emitter, self._checked_rows)

    def _checked_rows(self, texts: Sequence[str]) -> Results:
        """Run texts of the owner's check, in one snapshot."""
        with self._lock:
            results = self._results(texts)
        if results is None:
            msg = f"{type(self).__name__} could not read all rows; check the connection, memory, disk and files."
            raise EngineError(msg)
        return results

    def drop_ranks(self) -> None:  # noqa: B027 - most engines store none
        """Forget stored ranks."""

    @abstractmethod
    def close(self) -> None:
        """Close the source and remove temporary storage."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        """Refuse to be stored: an engine holds a key and a connection."""
        msg = "an engine cannot be pickled."
        raise TypeError(msg)


class PreparedQuestion:
    """The statements of one question, for one engine."""

    __slots__ = ("_engine", "_statements")

    def __init__(self, engine: SQLEngine, statements: Statements) -> None:
        self._engine = engine
        self._statements = statements

    def run(self) -> Aggregates:
        """Compute the exact answers."""
        return self._engine.run([self])[0]

    def near(self, aggregate: Aggregate) -> PreparedQuestion:
        """Read fewer cells."""
        return PreparedQuestion(self._engine, self._statements.near(aggregate))

    def __repr__(self) -> str:
        """Show nothing: the statements hold the key of the ranks."""
        return "PreparedQuestion(…)"
