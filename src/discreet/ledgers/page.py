"""What a ledger's rules ask of a store: one page, read and written in one transaction; and its head, in a second file.

The head is the hash of the last entry, kept apart, so that a cut tail is seen.
"""

from __future__ import annotations

import os
from collections import ChainMap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from discreet.errors import LedgerError
from discreet.ledgers.line import Line
from discreet.ledgers.lock import hold, opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.ledgers.line import Sums

__all__ = ["Filed", "Head", "HeadFile", "MemoryPage", "MemoryStore", "Page", "State"]

_WIDTH = 20
_WAIT_SECONDS = 30.0
_Key = tuple[str, str, str]


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


class State(NamedTuple):
    """The last entry: its number, its hash, its time.

    >>> State(3, "0f3a", "2026-01-01T00:00:00.000000Z").number
    3
    """

    number: int
    hash: str
    time: str


class Filed(NamedTuple):
    """An entry as a store holds it: under which number, with which hash, and what it says; None if it is unreadable.

    `agrees` tells whether the store finds it by what its text says (`Line.filed`).

    >>> Filed(3, "0f3a", None, agrees=False).line
    """

    number: int
    hash: str
    line: Line | None
    agrees: bool

    @staticmethod
    def of(text: str, stated: str, columns: tuple[object, ...]) -> Filed:
        """Read a row of a store; its columns begin with the number."""
        number = columns[0] if isinstance(columns[0], int) else -1
        try:
            line = Line.read(text, stated)
        except LedgerError:
            return Filed(number, stated, None, agrees=False)
        return Filed(number, stated, line, line.filed == columns)


class Page(Protocol):
    """A store within one transaction; nobody else writes meanwhile.

    Beside the entries a store keeps what follows from them, so that a spend costs the same however long the ledger is:
    sums by topic (empty for the whole ledger, else a question), scope and name; and a few facts by name.
    """

    appended: Line | None
    """What was written last in this transaction."""

    def state(self) -> State | None:
        """The last entry; None in an empty store."""

    def append(self, line: Line) -> None:
        """Write an entry at the end."""

    def fact(self, name: str) -> str | None:
        """A fact by its name."""

    def set_fact(self, name: str, text: str) -> None:
        """Keep a fact."""

    def facts(self) -> dict[str, str]:
        """All facts."""

    def sums(self, topic: str, scope: str, name: str) -> Sums | None:
        """The sums of a budget, certificate by certificate; None where nothing was charged."""

    def set_sums(self, topic: str, scope: str, name: str, sums: Sums) -> None:
        """Keep the sums of a budget."""

    def all_sums(self, topic: str | None) -> list[tuple[str, str, str, Sums]]:
        """The sums of a topic, or of all: topic, scope, name and sums, in this order."""

    def has(self, number: int) -> bool:
        """Whether there is an entry of a number."""

    def line(self, number: int) -> Line | None:
        """An entry by its number."""

    def lines(self, start: int, stop: int | None = None, kind: str | None = None) -> Iterator[Line]:
        """Entries in order; of one kind, if it is given."""

    def filed(self) -> Iterator[Filed]:
        """All entries in order, also those that are damaged."""

    def damage(self) -> list[str]:
        """What is wrong with the store itself, beside its entries."""

    def answers(self, question: str) -> list[Line]:
        """The recorded answers to a question, in order."""

    def answer(self, reservation: int) -> Line | None:
        """The recorded answer of a reservation."""

    def parts(self, reservation: int) -> list[Line]:
        """The parts of a session, in order."""


@dataclass(slots=True)
class MemoryStore:
    """What a store in memory keeps.

    >>> MemoryStore().lines
    []
    """

    lines: list[Line] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    sums: dict[_Key, Sums] = field(default_factory=dict)
    answers: dict[str, list[int]] = field(default_factory=dict)
    recorded: dict[int, Line] = field(default_factory=dict)


class MemoryPage:
    """A transaction on a store in memory: what it writes is kept apart until it is committed.

    >>> page = MemoryPage.empty()
    >>> page.set_fact("policy", "0")
    >>> page.fact("policy"), page.state()
    ('0', None)
    """

    def __init__(self, store: MemoryStore) -> None:
        self.appended: Line | None = None
        self._store = store
        self._new: list[Line] = []
        self._facts: ChainMap[str, str] = ChainMap({}, store.facts)
        self._sums: ChainMap[_Key, Sums] = ChainMap({}, store.sums)

    @staticmethod
    def empty() -> MemoryPage:
        """A page on a store of its own."""
        return MemoryPage(MemoryStore())

    def state(self) -> State | None:
        """The last entry."""
        lines = self._new or self._store.lines
        return State(lines[-1].number, lines[-1].hash, lines[-1].time) if lines else None

    def append(self, line: Line) -> None:
        """Write an entry at the end."""
        self._new.append(line)
        self.appended = line

    def fact(self, name: str) -> str | None:
        """A fact by its name."""
        return self._facts.get(name)

    def set_fact(self, name: str, text: str) -> None:
        """Keep a fact."""
        self._facts[name] = text

    def facts(self) -> dict[str, str]:
        """All facts."""
        return dict(self._facts)

    def sums(self, topic: str, scope: str, name: str) -> Sums | None:
        """The sums of a budget."""
        return self._sums.get((topic, scope, name))

    def set_sums(self, topic: str, scope: str, name: str, sums: Sums) -> None:
        """Keep the sums of a budget."""
        self._sums[topic, scope, name] = sums

    def all_sums(self, topic: str | None) -> list[tuple[str, str, str, Sums]]:
        """The sums of a topic, or of all."""
        return [(*key, self._sums[key]) for key in sorted(self._sums) if topic is None or key[0] == topic]

    def has(self, number: int) -> bool:
        """Whether there is an entry of a number."""
        return self.line(number) is not None

    def line(self, number: int) -> Line | None:
        """An entry by its number."""
        known = self._store.lines
        if 0 <= number < len(known):
            return known[number]
        return next((line for line in self._new if line.number == number), None)

    def lines(self, start: int, stop: int | None = None, kind: str | None = None) -> Iterator[Line]:
        """Entries in order."""
        for line in (*self._store.lines[start:stop], *self._new):
            if kind is None or line.kind == kind:
                yield line

    def filed(self) -> Iterator[Filed]:
        """All entries in order, each with whether it is in the indexes of what its text says."""
        known = {number: question for question, numbers in self._store.answers.items() for number in numbers}
        for line in self._store.lines:
            indexed = line.question if line.kind == "recorded" else None
            recorded = line.kind != "recorded" or self.answer(line.reservation or 0) is not None
            yield Filed(line.number, line.hash, line, recorded and known.get(line.number) == indexed)

    def damage(self) -> list[str]:
        """Nothing: memory has no file to be damaged."""
        return []

    def answers(self, question: str) -> list[Line]:
        """The recorded answers to a question."""
        return [self._store.lines[number] for number in self._store.answers.get(question, ())]

    def answer(self, reservation: int) -> Line | None:
        """The recorded answer of a reservation."""
        return self._store.recorded.get(reservation)

    def parts(self, reservation: int) -> list[Line]:
        """The parts of a session."""
        return [line for line in self.lines(reservation, None, "part") if line.reservation == reservation]

    def commit(self) -> None:
        """Keep what was written."""
        store = self._store
        for line in self._new:
            store.lines.append(line)
            if line.kind == "recorded":
                store.answers.setdefault(line.question, []).append(line.number)
                store.recorded[line.reservation or 0] = line
        store.facts.update(self._facts.maps[0])
        store.sums.update(self._sums.maps[0])
        self._new.clear()
