"""Work of an engine beside the main thread, so that an interrupt of the user stays one.

Python hands signals to the main thread. While that waits inside DuckDB, a Ctrl-C is seen late or not at all where
several threads compute; and where it is seen, DuckDB drops the exception of the signal's handler and raises one of its
own, which cannot be told from a failure. Spark's driver waits for the end of the job before it lets the exception go,
or replaces it by the job's. So the main thread waits in Python, and another one calls the engine.
"""

from __future__ import annotations

import os
import threading
import weakref
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Aside"]

Found = TypeVar("Found")
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
