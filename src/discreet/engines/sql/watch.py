"""A time limit for each question, kept by one thread per connection: a thread per question would cost more than it."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Watch"]

_AGAIN = 1.0
"""After so many seconds what was interrupted and goes on is interrupted again."""


class Watch:
    """Interrupt what takes longer than so many seconds.

    What goes on all the same is interrupted again and again: the first time may have fallen between two statements.

    The thread sleeps until the limit of the question that it knows. A later question has a later limit, so it needs no
    wake-up: the thread finds that limit when it wakes, and ends when it finds none.

    >>> stopped = threading.Event()
    >>> with Watch(0.01, stopped.set).limited():
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
                    self._until = time.monotonic() + _AGAIN
                    left = _AGAIN
                    self._interrupt()
            self._thread = None
