"""The second file: the hash of the last entry, so that a cut tail is seen."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from discreet.errors import LedgerError
from discreet.ledgers.lock import hold, opened

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.ledgers.page import Page

__all__ = ["Head", "HeadFile"]

_WIDTH = 20
_WAIT_SECONDS = 30.0


class Head(NamedTuple):
    """The last entry of a ledger: its number and its hash.

    >>> str(Head(3, "0f" * 32))[:8]
    '3:0f0f0f'
    >>> Head.read("3:" + "0f" * 32).number
    3
    """

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @staticmethod
    def read(text: str) -> Head:
        """Read a head as it is printed with an answer; a bare hash has the number -1."""
        number, colon, digest = text.strip().rpartition(":")
        hexadecimal = len(digest) == 64 and set(digest) <= set("0123456789abcdef")
        if not hexadecimal or (colon and not _is_number(number)):
            msg = "the head is no hash of 64 hexadecimal digits, with or without a number and ':' before it."
            raise LedgerError(msg)
        return Head(int(number) if colon else -1, digest)


def _is_number(text: str) -> bool:
    """Whether a text is the number of an entry: of digits that `int` reads, and no larger than a store can hold."""
    return text.isascii() and text.isdigit() and len(text) <= _WIDTH and int(text) < 2**63


@dataclass(frozen=True, slots=True)
class HeadFile:
    """A file with the head of a ledger, rewritten in place after each entry.

    It is written after the entry is durable and not forced to disk itself: after a power cut it may name an older
    entry, which is still part of the ledger. Its owner alone may read it, and with `group` its group.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = HeadFile(pathlib.Path(folder) / "hospital.ledger.head")
    ...     file.write(Head(3, "0f" * 32))
    ...     file.read().number
    3
    """

    path: Path
    group: bool | None = None

    def read(self) -> Head | None:
        """The head that was written last; None if there is none."""
        try:
            text = self.path.read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            msg = f"the head file {self.path} cannot be read ({type(error).__name__}). Make it readable, or restore it."
            raise LedgerError(msg) from None
        if not text.strip("\0\n "):  # a power cut before the first write arrived
            return None
        number, _, digest = text.strip().partition(" ")
        return Head.read(f"{int(number)}:{digest}" if _is_number(number) else text)

    def require_in(self, page: Page, kept: Head, name: str) -> None:
        """Refuse a ledger that lacks the entry which was read here before: less was spent in it than was shown."""
        line = page.line(kept.number)
        if line is None or line.hash != kept.hash:
            state = page.state()
            last = "is empty" if state is None else f"ends at entry {state.number}"
            msg = (
                f"the ledger {name} {last}, and {self.path} knows an entry {kept.number} that is not in it: entries "
                "are missing or changed, and so is what they spent. Restore the newest copy of the ledger. Only if the "
                "owner is sure that nothing was released beyond this ledger: remove the head file."
            )
            raise LedgerError(msg)

    def write(self, head: Head) -> None:
        """Write the head in place, in one short write that is never half done; a later one stays.

        Entries become durable in their order, but who wrote them may come here in another.
        """
        data = f"{head.number:0{_WIDTH}d} {head.hash}\n".encode()
        try:
            with opened(self.path, group=self.group) as file:
                handle = file.fileno()
                hold(handle, _WAIT_SECONDS)
                before = os.read(handle, len(data) + 1)
                if len(before) == len(data) and before[:_WIDTH].isdigit() and int(before[:_WIDTH]) > head.number:
                    return
                os.lseek(handle, 0, os.SEEK_SET)
                os.write(handle, data)
                if len(before) > len(data):  # whatever else stood there would make it unreadable
                    os.ftruncate(handle, len(data))
        except OSError as error:
            msg = (
                f"the head file {self.path} cannot be written ({type(error).__name__}); the entry {head.number} "
                "itself is safe. Make the file writable."
            )
            raise LedgerError(msg) from None
