"""Who waits for a file is served in turn."""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager
from io import FileIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock; SQLite's own lock is then the only one
    fcntl = None  # type: ignore[assignment]

__all__ = ["hold", "opened", "turn"]

_SHORTEST, _LONGEST = 1e-4, 0.05
"""Who is next looks again after a tenth of what it has waited, but within these bounds, in seconds."""


@contextmanager
def turn(path: str | Path, seconds: float) -> Iterator[None]:
    """Hold a file's lock for a block; others are let in in the order in which they came.

    Two locks in a row, like a turnstile: whoever holds the outer one is next at the inner one, so the process that just
    left must queue again behind the one that waits. The system drops both when a process ends, however it ends. The
    files hold nothing; they are opened anew for each turn, so that a forked child never shares a lock with its parent.
    A child that a signal's handler forks within a turn shares the parent's: it closes its files and unlocks nothing.

    The system has no lock that is waited for for some time. The queue sleeps; the one that is next looks again and
    again, and raises BlockingIOError after so many seconds, as a process that was stopped keeps its turn for ever.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, turn(pathlib.Path(folder) / "ledger", 30):
    ...     sorted(each.name for each in pathlib.Path(folder).iterdir())
    ['ledger.lock', 'ledger.queue']
    """
    if fcntl is None:  # pragma: no cover - Windows
        yield
        return
    process = os.getpid()
    with opened(f"{path}.queue") as queue, opened(f"{path}.lock") as lock:
        try:
            fcntl.flock(queue, fcntl.LOCK_EX)
            hold(lock.fileno(), seconds)
            fcntl.flock(queue, fcntl.LOCK_UN)
            yield
        finally:
            if os.getpid() == process:
                fcntl.flock(lock, fcntl.LOCK_UN)


def opened(path: str | Path) -> FileIO:
    """Open a file to lock it, and make it if it is not there.

    It is an object, which closes itself when nobody holds it: an interrupt may come at any place, also where the file
    is about to be closed, and a bare number that was forgotten would keep its lock until the process ends.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, opened(pathlib.Path(folder) / "ledger.lock") as file:
    ...     file.closed
    False
    """
    return FileIO(path, "r+", opener=_made)


def _made(path: str, _: int) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)


def _is_free(lock: int) -> bool:
    """Take a lock if nobody holds it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def hold(lock: int, seconds: float) -> None:
    """Take the lock of an open file, or raise BlockingIOError after so many seconds; closing the file gives it back.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     hold(file.fileno(), 30)
    """
    if fcntl is None:  # pragma: no cover - Windows
        return
    start = time.monotonic()
    while not _is_free(lock):
        waited = time.monotonic() - start
        if waited > seconds:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        time.sleep(min(max(waited / 10, _SHORTEST), _LONGEST))
