"""What a ledger's rules ask of a store: one page, read and written in one transaction."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from discreet.errors import LedgerError
from discreet.ledgers.line import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Filed", "MemoryPage", "MemoryStore", "Page", "State"]


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

    def foresee(self, question: str, analyst: str | None, purpose: str | None) -> None:
        """Know what a spend will read next, so that it can be read at once."""

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

    def amount(self, topic: str, scope: str, name: str) -> str | None:
        """A sum, as text."""

    def set_amount(self, topic: str, scope: str, name: str, text: str) -> None:
        """Keep a sum."""

    def amounts(self, topic: str | None) -> Iterable[tuple[str, str, str, str]]:
        """The sums of a topic, or of all: topic, scope, name and text, in this order."""

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


_Key = tuple[str, str, str]


@dataclass(slots=True)
class MemoryStore:
    """What a store in memory keeps.

    >>> MemoryStore().lines
    []
    """

    lines: list[Line] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    amounts: dict[_Key, str] = field(default_factory=dict)
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
        self._amounts: ChainMap[_Key, str] = ChainMap({}, store.amounts)

    @staticmethod
    def empty() -> MemoryPage:
        """A page on a store of its own."""
        return MemoryPage(MemoryStore())

    def foresee(self, question: str, analyst: str | None, purpose: str | None) -> None:
        """Do nothing: all of it is at hand."""

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

    def amount(self, topic: str, scope: str, name: str) -> str | None:
        """A sum, as text."""
        return self._amounts.get((topic, scope, name))

    def set_amount(self, topic: str, scope: str, name: str, text: str) -> None:
        """Keep a sum."""
        self._amounts[topic, scope, name] = text

    def amounts(self, topic: str | None) -> Iterable[tuple[str, str, str, str]]:
        """The sums of a topic, or of all."""
        return [(*key, self._amounts[key]) for key in sorted(self._amounts) if topic is None or key[0] == topic]

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
        store.amounts.update(self._amounts.maps[0])
        self._new.clear()
