"""Where ledgers are kept, for one suite over all of them."""

from __future__ import annotations

import itertools
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.ledgers import Entry, MemoryLedger, PostgresLedger, SQLiteLedger
from discreet.privacy import Pure
from discreet.tables import Analyst, Column, Policy, Purpose, Table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from discreet.ledgers import Ledger

NUMBERS = itertools.count()

VISITS = Table("visits", unit="patient_id", rows_per_unit=2, columns=[Column("cost", lower=0, upper=100)])
POLICY = Policy([VISITS], epsilon=3, dataset="hospital")
COUNT = Entry("count", ("visits",))
NESTED = Policy(
    [VISITS],
    epsilon=3,
    dataset="hospital",
    analysts=[Analyst("ann", epsilon=1), Analyst("bob")],
    purposes=[Purpose("research", epsilon=2), Purpose("planning", epsilon="0.5")],
)
ZCDP_POLICY = Policy([VISITS], epsilon=3, delta=1e-6, filter="zcdp", dataset="hospital")
BEST_POLICY = Policy([VISITS], epsilon=3, delta=1e-6, dataset="hospital")


@dataclass(frozen=True)
class Text:
    """Something released, as far as a ledger cares."""

    value: Any

    def to_json(self) -> str:
        return json.dumps({"value": self.value})


@dataclass
class Place:
    """A place for one ledger: opened again and again, it is the same ledger; memory keeps the object itself."""

    kind: str
    folder: Path
    number: int = field(default_factory=lambda: next(NUMBERS))
    kept: MemoryLedger | None = None
    opened: list[Ledger] = field(default_factory=list)

    def open(self, policy: Policy | None = None, *, export: Iterable[str] | None = None) -> Ledger:
        if self.kind == "memory":
            if self.kept is None:
                self.kept = MemoryLedger(policy, export=export)
            elif policy is not None:
                self.kept._join(policy)
            return self.kept
        found = self._make(policy, export)
        self.opened.append(found)
        return found

    def _make(self, policy: Policy | None, export: Iterable[str] | None) -> Ledger:
        if self.kind == "sqlite":
            return SQLiteLedger(self.folder / f"hospital{self.number}.ledger.sqlite", policy, export=export)
        return PostgresLedger(self.address, policy, head_file=self.folder / f"{self.number}.ledger.head", export=export)

    @property
    def address(self) -> str:
        from tests.engines.servers import postgres

        address = postgres()
        return f"{address}{'&' if '?' in address else '?'}schema=ledger{self.number}"

    def another(self) -> Place:
        return Place(self.kind, self.folder)

    def close(self) -> None:
        for ledger in self.opened:
            ledger.close()


def older(file: Path, version: int) -> None:
    """Write a file as format 2 (or 1) kept it: sums as texts, and lists of seen answers among them."""
    with SQLiteLedger(file) as ledger:
        lines = list(ledger.entries())
    sums: dict[tuple[str, str, str], Fraction] = {}
    with closing(sqlite3.connect(file)) as old:
        old.executescript(
            "DROP TABLE sums; DELETE FROM facts WHERE name LIKE 'seen %'; CREATE TABLE amounts (topic TEXT NOT NULL, "
            "scope TEXT NOT NULL, name TEXT NOT NULL, amount TEXT NOT NULL, PRIMARY KEY (topic, scope, name)) STRICT, "
            f"WITHOUT ROWID; PRAGMA user_version = {version};"
        )
        if version == 1:
            old.execute("DROP INDEX parts")
        for line in lines:
            for scope, name, cost in line.charges if line.kind == "reserved" else ():
                assert isinstance(cost, Pure)
                sums["", scope, name] = sums.get(("", scope, name), Fraction(0)) + cost.epsilon
        for key, epsilon in sums.items():
            old.execute("INSERT INTO amounts VALUES (?, ?, ?, ?)", (*key, Pure(epsilon).to_json()))
        old.commit()
