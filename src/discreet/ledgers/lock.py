"""Who waits for a file is served in turn."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock; SQLite's own lock is then the only one
    fcntl = None  # type: ignore[assignment]

__all__ = ["turn"]


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Hold a file's lock for a block; others wait asleep and are woken in the order in which they came.

    Two locks in a row, like a turnstile: whoever holds the outer one is next at the inner one, so the process that just
    left must queue again behind the one that waits. The system drops both when a process ends, however it ends. The
    files hold nothing; they are opened anew for each turn, so that a forked child never shares a lock with its parent.
    A child that a signal's handler forks within a turn shares the parent's: it closes its files and unlocks nothing.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, turn(pathlib.Path(folder) / "ledger"):
    ...     sorted(each.name for each in pathlib.Path(folder).iterdir())
    ['ledger.lock', 'ledger.queue']
    """
    if fcntl is None:  # pragma: no cover - Windows
        yield
        return
    process = os.getpid()
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    queue = os.open(path.with_name(path.name + ".queue"), flags, 0o644)
    try:
        lock = os.open(path.with_name(path.name + ".lock"), flags, 0o644)
        try:
            fcntl.flock(queue, fcntl.LOCK_EX)
            fcntl.flock(lock, fcntl.LOCK_EX)
            fcntl.flock(queue, fcntl.LOCK_UN)
            yield
        finally:
            if os.getpid() == process:
                fcntl.flock(lock, fcntl.LOCK_UN)
            os.close(lock)
    finally:
        os.close(queue)
