"""Where a session keeps what nobody else may read, and the lock that makes it the only holder."""

from __future__ import annotations

import hashlib
import hmac
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from discreet.errors import LedgerError
from discreet.files import made
from discreet.ledgers.lock import is_free, opened, released

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

    from discreet.ledgers.page import Page

__all__ = ["FileVault", "Lease", "MemoryVault", "Vault", "open_sealed", "sealed"]

_KEY = 32


class Lease(Protocol):
    """A lock that ends with its holder, however it ends."""

    def close(self) -> None:
        """Give it back."""


class Vault(Protocol):
    """Sealed states of sessions, by the reservation that pays for the session and the seal that an entry names."""

    def hold(self, number: int) -> Lease | None:
        """Take the lease of a session; None while somebody else has it."""

    def put(self, page: Page, number: int, seal: str, content: bytes) -> None:
        """Keep a state durably, at the latest when the page is; the last one is still there until then."""

    def get(self, page: Page, number: int, seal: str) -> bytes | None:
        """Give a state; None if there is none."""

    def settle(self, number: int, seal: str) -> None:
        """Forget all states of a session but one, now that the page that named it is durable; all, without a seal."""


def sealed(key: bytes, state: bytes) -> tuple[str, bytes]:
    """Give what a vault keeps of a key and a state, and the seal by which an entry names it.

    The seal is HMAC-SHA-256 under the session's own key: it tells nothing of the state, and only that state has it.

    >>> seal, content = sealed(bytes(32), b"noise")
    >>> open_sealed(seal, content) == (bytes(32), b"noise")
    True
    """
    return hmac.digest(key, state, hashlib.sha256).hex(), key + state


def open_sealed(seal: str, content: bytes | None) -> tuple[bytes, bytes]:
    """Read a key and a state, or refuse a content that is missing, cut or of another session.

    >>> open_sealed("0f", None)
    Traceback (most recent call last):
    ...
    discreet.errors.LedgerError: the sealed state of the session is missing; nothing was drawn or shown. Restore it ...
    """
    what = "missing" if content is None else "cut, damaged or of another session or an earlier step"
    if content is not None and len(content) >= _KEY:
        key, state = content[:_KEY], content[_KEY:]
        if hmac.compare_digest(sealed(key, state)[0], seal):
            return key, state
    msg = (
        f"the sealed state of the session is {what}; nothing was drawn or shown. Restore it from the newest copy of "
        "the ledger and what lies beside it; without it the session cannot go on, and its cost stays spent."
    )
    raise LedgerError(msg)


class MemoryVault:
    """States of a process.

    >>> vault = MemoryVault()
    >>> lease = vault.hold(3)
    >>> vault.hold(3) is None
    True
    """

    def __init__(self) -> None:
        self._held: set[int] = set()
        self._states: dict[tuple[int, str], bytes] = {}

    def hold(self, number: int) -> Lease | None:
        """Take the lease, which ends with the process as all of it does."""
        if number in self._held:
            return None
        self._held.add(number)
        return _Held(self._held, number)

    def put(self, page: Page, number: int, seal: str, content: bytes) -> None:
        """Keep a state."""
        del page
        self._states[number, seal] = content

    def get(self, page: Page, number: int, seal: str) -> bytes | None:
        """Give a state."""
        del page
        return self._states.get((number, seal))

    def settle(self, number: int, seal: str) -> None:
        """Forget other states."""
        for other in [key for key in self._states if key[0] == number and key[1] != seal]:
            del self._states[other]


class _Held:
    """An entry in a set of what is held."""

    def __init__(self, held: set[int], number: int) -> None:
        self._held, self._number = held, number

    def close(self) -> None:
        self._held.discard(self._number)


class _Locked:
    """A locked file. A child that was forked meanwhile has it open, too, so that closing it alone unlocks nothing."""

    def __init__(self, file: FileIO) -> None:
        self._file, self._process = file, os.getpid()

    def close(self) -> None:
        if not self._file.closed:
            released(self._file.fileno(), self._process)
            self._file.close()


class FileVault:
    """States in a folder beside a ledger's file that nobody but its owner may enter, a file each.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     vault = FileVault(pathlib.Path(folder) / "hospital.sessions")
    ...     vault.hold(3).close()
    ...     oct((pathlib.Path(folder) / "hospital.sessions").stat().st_mode)[-3:]
    '700'
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def hold(self, number: int) -> Lease | None:
        """Lock a file, which the system unlocks when the process ends."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        file = opened(self._folder / f"{number}.lease")
        if is_free(file.fileno()):
            return _Locked(file)
        file.close()
        return None

    def put(self, page: Page, number: int, seal: str, content: bytes) -> None:
        """Write a file, force it to disk, and only then give it its name: it may be that of the same state before."""
        del page
        path = self._path(number, seal)
        unnamed = path.with_name(f"{number}.new.state")
        with suppress(FileNotFoundError):
            unnamed.unlink()  # what was cut off
        with os.fdopen(made(unnamed, os.O_WRONLY | os.O_EXCL, group=False), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unnamed.replace(path)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def get(self, page: Page, number: int, seal: str) -> bytes | None:
        """Read a file."""
        del page
        try:
            return self._path(number, seal).read_bytes()
        except FileNotFoundError:
            return None

    def settle(self, number: int, seal: str) -> None:
        """Delete the other files of a session."""
        for path in self._folder.glob(f"{number}.*.state"):
            if path != self._path(number, seal):
                path.unlink(missing_ok=True)

    def _path(self, number: int, seal: str) -> Path:
        return self._folder / f"{number}.{seal[:32]}.state"
