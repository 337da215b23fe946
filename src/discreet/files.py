"""Files that nobody else may read: what mode they have, and temporary folders that are swept after their process.

Ledgers hold every analyst's answers, stores and temporary folders hold copies of private rows. Each is made with its
mode, so that there is no moment at which others can open it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
import threading
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock, and folders that a crash left are not swept there
    fcntl = None  # type: ignore[assignment]

__all__ = ["PrivateFolder", "made", "narrowed", "own_files", "sweep"]

_PREFIX = "discreet-private-"
_NAMED = re.compile(rf"{_PREFIX}\d+-[a-z0-9_]{{8}}")
"""How a temporary folder is called: after its process, for whoever looks, and by chance."""


def made(path: str | Path, flags: int, *, group: bool | None = None) -> int:
    """Open a file, and make it if it is not there, so that nobody else may open it; with `group`, its group may.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     handle = made(Path(folder) / "ledger.lock", os.O_RDWR)
    ...     os.close(handle)
    ...     oct((Path(folder) / "ledger.lock").stat().st_mode & 0o777)
    '0o600'
    """
    handle = os.open(path, flags | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    if not narrowed(handle, group=group):
        os.close(handle)
        raise PermissionError(errno.EPERM, _OPEN_TO_OTHERS, str(path))
    return handle


_OPEN_TO_OTHERS = "others may read or write it, and only its owner can change that"


def narrowed(file: int | str | Path, *, group: bool | None = None) -> bool:
    """Take from a file what others may do with it; False where it is another's, or its disk knows no such rights.

    With `group` its group may do what its owner may, and with None what it may already. Devices and pipes stay as they
    are.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "ledger"
    ...     _ = file.write_text("-")
    ...     file.chmod(0o644)
    ...     narrowed(file, group=False), oct(file.stat().st_mode & 0o777)
    (True, '0o600')
    """
    if os.name != "posix":  # pragma: no cover - Windows has other rights, and none by default for others
        return True
    state = os.stat(file)  # noqa: PTH116 - a path or an open file
    if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
        return True  # /dev/null and pipes keep nothing, and are not ours to change
    mode = stat.S_IMODE(state.st_mode)
    wanted = mode & (0o7770 if group is None else 0o7700)
    if group and state.st_uid == os.geteuid():
        wanted |= (mode & 0o700) >> 3
    elif group:
        wanted |= mode & 0o070
    if wanted != mode:
        with suppress(PermissionError):
            os.chmod(file, wanted)  # noqa: PTH101 - likewise
    return not stat.S_IMODE(os.stat(file).st_mode) & ~(wanted | 0o7700)  # noqa: PTH116 - likewise


class _Mask:
    """The process's mask for new files, taken by the first that asks and given back by the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = 0

    def take(self) -> None:
        with self._lock:
            if not self._users:
                self._before = os.umask(0o077)
            self._users += 1

    def give_back(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                os.umask(self._before)


_MASK = _Mask()


@contextmanager
def own_files() -> Iterator[None]:
    """Let files that are made inside be read by the owner of the process alone.

    DuckDB makes its log anew whenever it writes, so no file can be given its mode once and for all. The mask belongs to
    the whole process: what other threads make meanwhile is their owner's alone, too.

    >>> with tempfile.TemporaryDirectory() as folder, own_files():
    ...     _ = (Path(folder) / "log").write_text("-")
    ...     oct((Path(folder) / "log").stat().st_mode & 0o777)
    '0o600'
    """
    _MASK.take()
    try:
        yield
    finally:
        _MASK.give_back()


class PrivateFolder:
    """A temporary folder for copies of private rows, which only this user may read; a context that gives its path.

    It is removed when the block ends, when nobody holds it any more, and when the interpreter ends. A process that is
    killed removes nothing, and neither does one that a signal ends which Python does not handle, as SIGTERM: so a
    folder is locked as long as its process lives, however that ends, and the next one that is made sweeps those that
    nobody holds. A forked child leaves the folder to its parent. `parent` is where it is made, else where the system
    keeps temporary files.

    >>> with PrivateFolder() as path:
    ...     oct(path.stat().st_mode & 0o777)
    '0o700'
    >>> path.exists()
    False
    """

    def __init__(self, parent: Path | None = None) -> None:
        sweep(parent)
        self.path, handle = _locked_folder(parent)
        self._removed = weakref.finalize(self, _remove, self.path, handle, os.getpid())

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *raised: object) -> None:
        self._removed()


def _locked_folder(parent: Path | None) -> tuple[Path, int | None]:
    """Make a folder and lock it; who sweeps may have come first, as long as it was empty and unlocked."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
        if fcntl is None:  # pragma: no cover - Windows
            return path, None
        with suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with suppress(OSError):  # a disk without locks: nobody else gets one there, so nobody sweeps
                fcntl.flock(handle, fcntl.LOCK_EX)
            if _is(path, handle):
                return path, handle
            os.close(handle)


def _is(path: Path, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.lstat(), os.fstat(handle))
    return False


def _remove(path: Path, handle: int | None, process: int) -> None:
    """Remove a folder with all that is in it, and only then let its lock go."""
    try:
        if os.getpid() == process:
            shutil.rmtree(path, ignore_errors=True)
    finally:
        if handle is not None:
            os.close(handle)


def sweep(parent: Path | None = None) -> None:
    """Remove the temporary folders of this user whose processes are gone; those of others are left alone, and links.

    They are looked for where `PrivateFolder` makes them.

    >>> sweep()
    """
    if fcntl is None:  # pragma: no cover - Windows
        return
    with suppress(OSError), os.scandir(parent or tempfile.gettempdir()) as entries:
        for path in [Path(entry.path) for entry in entries if _NAMED.fullmatch(entry.name)]:
            with suppress(OSError):  # no folder but a link, one that is locked, or one that another has removed
                _sweep_one(path)


def _sweep_one(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            return
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is(path, handle):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)
