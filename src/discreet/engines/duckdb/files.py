"""Files that nobody else may read: the store, and the log that DuckDB writes beside it, hold copies of private rows."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["own_files", "require_plain"]


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

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, own_files():
    ...     _ = (pathlib.Path(folder) / "log").write_text("-")
    ...     oct((pathlib.Path(folder) / "log").stat().st_mode & 0o777)
    '0o600'
    """
    _MASK.take()
    try:
        yield
    finally:
        _MASK.give_back()


def require_plain(path: Path) -> None:
    """Refuse a database in whose path DuckDB takes a backslash for a slash: it would open another file.

    >>> import pathlib
    >>> require_plain(pathlib.Path("/data/hospital.duckdb"))
    """
    if os.sep == "/" and "\\" in str(path):
        msg = (
            f"the path {shown(str(path))} holds a backslash, which DuckDB takes for a slash; rename the folder or file."
        )
        raise ParameterError(msg)
