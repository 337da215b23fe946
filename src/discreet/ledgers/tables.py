"""A ledger in tables of SQL: one page for every store that speaks it."""
# ruff: noqa: D102 - what each method does, `Page` says

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from discreet.errors import LedgerError
from discreet.ledgers.line import Line
from discreet.ledgers.page import Filed, State
from discreet.ledgers.transfer import replayed, require_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from discreet.ledgers.line import Sums

__all__ = ["TablePage"]

_CHUNK = 5000


class TablePage:
    """A transaction on tables; `run` runs a statement with `?` in the place of values.

    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT)")
    >>> page = TablePage(connection.execute)
    >>> page.set_fact("policy", "0")
    >>> page.fact("policy")
    '0'
    """

    def __init__(self, run: Callable[[str, Sequence[object]], Iterable[tuple[object, ...]]]) -> None:
        self.appended: Line | None = None
        self._run = run
        self._last: State | None = None  # nobody else writes meanwhile

    def _all(self, query: str, *values: object) -> list[tuple[object, ...]]:
        return list(self._run(query, values))

    def _one(self, query: str, *values: object) -> tuple[object, ...] | None:
        return next(iter(self._run(query, values)), None)

    def _lines(self, query: str, *values: object) -> list[Line]:
        return [Line.read(str(text), str(stated)) for text, stated in self._all(query, *values)]

    def state(self) -> State | None:
        row = self._one("SELECT number, hash, time FROM state") if self._last is None else self._last
        if row is None:
            return None
        number, last, time = row
        if not (isinstance(number, int) and isinstance(last, str) and isinstance(time, str)):
            msg = "the last entry of the ledger is unknown: it is damaged. Run verify; restore a backup."
            raise LedgerError(msg)
        self._last = State(number, last, time)
        return self._last

    def append(self, line: Line) -> None:
        values = (line.number, line.kind, line.hash, line.question or None, line.reservation, line.text)
        self._run("INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?)", values)
        self._run("DELETE FROM state", ())
        self._run("INSERT INTO state VALUES (0, ?, ?, ?)", (line.number, line.hash, line.time))
        self.appended, self._last = line, State(line.number, line.hash, line.time)

    def fact(self, name: str) -> str | None:
        row = self._one("SELECT value FROM facts WHERE name = ?", name)
        return None if row is None else str(row[0])

    def set_fact(self, name: str, text: str) -> None:
        query = "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self._run(query, (name, text))

    def facts(self) -> dict[str, str]:
        return {str(name): str(value) for name, value in self._all("SELECT name, value FROM facts")}

    def sums(self, topic: str, scope: str, name: str) -> Sums | None:
        query = "SELECT loss, delta FROM sums WHERE topic = ? AND scope = ? AND name = ? ORDER BY certificate"
        rows = self._all(query, topic, scope, name)
        return cast("Sums", tuple(rows)) if rows else None  # read_sums looks at the numbers

    def set_sums(self, topic: str, scope: str, name: str, sums: Sums) -> None:
        query = (
            "INSERT INTO sums VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (topic, scope, name, certificate) "
            "DO UPDATE SET loss = excluded.loss, delta = excluded.delta"
        )
        for certificate, (loss, delta) in enumerate(sums):
            self._run(query, (topic, scope, name, certificate, loss, delta))

    def all_sums(self, topic: str | None) -> list[tuple[str, str, str, Sums]]:
        where, values = ("", ()) if topic is None else (" WHERE topic = ?", (topic,))
        query = f"SELECT topic, scope, name, loss, delta FROM sums{where} ORDER BY certificate"  # noqa: S608 - a constant
        known: dict[tuple[str, str, str], tuple[object, ...]] = {}
        for *key, loss, delta in self._all(query, *values):
            of = (str(key[0]), str(key[1]), str(key[2]))
            known[of] = (*known.get(of, ()), (loss, delta))
        return [(*of, cast("Sums", known[of])) for of in sorted(known)]

    def has(self, number: int) -> bool:
        return self._one("SELECT 1 FROM lines WHERE number = ?", number) is not None

    def line(self, number: int) -> Line | None:
        lines = self._lines("SELECT line, hash FROM lines WHERE number = ?", number)
        return lines[0] if lines else None

    def lines(self, start: int, stop: int | None = None, kind: str | None = None) -> Iterator[Line]:
        text = "SELECT line, hash, number FROM lines WHERE number >= ?"
        text += "" if stop is None else " AND number < ?"
        text += "" if kind is None else " AND kind = ?"
        rest = [value for value in (stop, kind) if value is not None]
        while rows := self._all(f"{text} ORDER BY number LIMIT {_CHUNK}", start, *rest):
            yield from (Line.read(str(line), str(stated)) for line, stated, _ in rows)
            start = int(str(rows[-1][2])) + 1

    def filed(self) -> Iterator[Filed]:
        text = "SELECT line, hash, number, kind, question, reservation FROM lines WHERE number >= ? ORDER BY number"
        start = -(2**63)  # an entry below 0 is no ledger's, and would be found by its question all the same
        while rows := self._all(f"{text} LIMIT {_CHUNK}", start):
            for content, stated, *columns in rows:
                yield Filed.of(str(content), str(stated), tuple(columns))
            start = int(str(rows[-1][2])) + 1

    def damage(self) -> list[str]:
        """What a server's own checks find is its keeper's to see; entries, sums and facts are compared one by one."""
        return []

    def answers(self, question: str) -> list[Line]:
        query = "SELECT line, hash FROM lines WHERE kind = 'recorded' AND question = ? ORDER BY number"
        return self._lines(query, question)

    def answer(self, reservation: int) -> Line | None:
        lines = self._lines("SELECT line, hash FROM lines WHERE kind = 'recorded' AND reservation = ?", reservation)
        return lines[0] if lines else None

    def parts(self, reservation: int) -> list[Line]:
        query = "SELECT line, hash FROM lines WHERE kind = 'part' AND reservation = ? ORDER BY number"
        return self._lines(query, reservation)

    def rebuild(self, kept: Iterable[tuple[object, ...]]) -> None:
        """Make sums and facts anew from the entries, in a ledger whose older format kept sums as texts: `kept`.

        None of them may be more than what follows from the entries: what was spent would be forgotten.
        """
        fresh = replayed(self.filed())
        for scope, name, text in kept:
            require_kept(fresh, (str(scope), str(name)), str(text))
        self._run("DELETE FROM facts", ())
        for name, text in fresh.facts().items():
            self.set_fact(name, text)
        for topic, scope, name, sums in fresh.all_sums(None):
            self.set_sums(topic, scope, name, sums)
