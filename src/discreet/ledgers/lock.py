"""Who waits for a file is served in turn."""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager
from functools import partial
from io import FileIO
from typing import TYPE_CHECKING

from discreet.files import made

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock; SQLite's own lock is then the only one
    fcntl = None  # type: ignore[assignment]

__all__ = ["hold", "is_free", "opened", "released", "turn"]

_SHORTEST, _LONGEST = 1e-4, 0.05
"""Who is next looks again after a tenth of what it has waited, but within these bounds, in seconds."""


@contextmanager
def turn(path: str | Path, seconds: float, *, group: bool | None = None) -> Iterator[None]:
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
    with opened(f"{path}.queue", group=group) as queue, opened(f"{path}.lock", group=group) as lock:
        try:
            fcntl.flock(queue, fcntl.LOCK_EX)
            hold(lock.fileno(), seconds)
            fcntl.flock(queue, fcntl.LOCK_UN)
            yield
        finally:
            released(lock.fileno(), process)


def released(lock: int, process: int) -> None:
    """Give a lock back, in the process that took it: a forked child that has the file open would keep it otherwise.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     hold(file.fileno(), 30)
    ...     released(file.fileno(), os.getpid())
    """
    if fcntl is not None and os.getpid() == process:
        fcntl.flock(lock, fcntl.LOCK_UN)


def opened(path: str | Path, *, group: bool | None = None) -> FileIO:
    """Open a file to lock it, and make it if it is not there; who may not read the ledger may not lock it either.

    It is an object, which closes itself when nobody holds it: an interrupt may come at any place, also where the file
    is about to be closed, and a bare number that was forgotten would keep its lock until the process ends.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, opened(pathlib.Path(folder) / "ledger.lock") as file:
    ...     file.closed
    False
    """
    return FileIO(path, "r+", opener=partial(_made, group=group))


def _made(path: str, _: int, *, group: bool | None) -> int:
    return made(path, os.O_RDWR, group=group)


def is_free(lock: int) -> bool:
    """Take the lock of an open file if nobody holds it; closing the file gives it back.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     is_free(file.fileno())
    True
    """
    if fcntl is None:  # pragma: no cover - Windows
        return True
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
    start = time.monotonic()
    while not is_free(lock):
        waited = time.monotonic() - start
        if waited > seconds:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        time.sleep(min(max(waited / 10, _SHORTEST), _LONGEST))
