"""How fast many processes spend from one ledger: against bare durable INSERTs, in turn, and at any length.

`python -m benchmarks.ledger` forks eight writers on one SQLite file, in rounds that alternate between our reservations
and INSERTs of texts of the same size (same journal, same forced writes, SQLite's own waiting): the speed of a disk
swings, so only figures of the same minute are compared. A single process that INSERTs has nobody to wait for.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.report import (
    Direction,
    Figure,
    Target,
    Verdict,
    describe_machine,
    divide,
    format_table,
    make_document,
    summarize,
    write_document,
)
from discreet.ledgers import Entry, SQLiteLedger
from discreet.ledgers.line import Draft, Line, amount_text
from discreet.ledgers.lock import turn
from discreet.ledgers.records import about, plain
from discreet.privacy import Pure
from discreet.tables import Policy, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
WRITERS = 8
AT_ONCE = 10_000
COST = Pure(Fraction(1, 10**6))
ENTRY = Entry("0" * 64, ("visits",), analyst="ann", asked="SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
POLICY = Policy([Table("visits", unit="id")], epsilon=10**6, dataset="hospital")
RATE = Target(Direction.AT_LEAST, 500, "per second")
FAIR = Target(Direction.AT_MOST, 10, "× the median wait")
LEVEL = Target(Direction.AT_MOST, 1.5, "× of 1e3 entries")


@dataclass(frozen=True, slots=True)
class Round:
    """What the writers of one round did: how long each act took, in nanoseconds, writer by writer."""

    seconds: float
    waits: list[list[int]]

    @property
    def rate(self) -> float:
        """Acts of all writers per second."""
        return sum(map(len, self.waits)) / self.seconds

    @property
    def worst(self) -> float:
        """The longest wait over the median one; a writer that got nothing waited all the time."""
        every = [wait for writer in self.waits for wait in writer]
        starved = any(not writer for writer in self.waits)
        return (self.seconds * 1e9 if starved else max(every)) / median(every)


def spend(file: Path) -> Callable[[], object]:
    """Open our ledger; give the act of a reservation."""
    ledger = SQLiteLedger(file, POLICY)
    return lambda: ledger.reserve(COST, ENTRY)


def insert(file: Path) -> Callable[[], object]:
    """Open a bare table; give the act of a durable INSERT of as many bytes as an entry has."""
    connection = sqlite3.connect(file, timeout=60, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    text = "x" * entry_size()

    def act() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO bare (line) VALUES (?)", (text,))
        connection.execute("COMMIT")

    return act


def insert_in_turn(file: Path) -> Callable[[], object]:
    """The same, but the processes take turns as a ledger's do: what fairness alone costs."""
    bare = insert(file)

    def act() -> None:
        with turn(file, 60):
            bare()

    return act


def entry_size() -> int:
    """How long the text of one reservation is."""
    body = {"charges": [["dataset", "", amount_text(COST)]] * 2, "asked": ENTRY.asked, "question": ENTRY.question}
    return len(Line.after((10**6, "0" * 64), "reserved", body, "2026-01-01T00:00:00.000000Z").text) + 64


def bare_file(file: Path) -> None:
    """Make the file for bare INSERTs, in the same journal mode."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE bare (number INTEGER PRIMARY KEY, line TEXT)")


def one_round(opened: Callable[[Path], Callable[[], object]], file: Path, seconds: float, writers: int) -> Round:
    """Let forked writers act as fast as they can for a while, and collect how long each act took."""
    start = time.perf_counter() + 0.3
    readers = []
    for _ in range(writers):
        reader, writer = os.pipe()
        if not os.fork():
            os.close(reader)
            _write_for(opened(file), start, seconds, writer)
        os.close(writer)
        readers.append(reader)
    waits = []
    for reader in readers:
        with open(reader, encoding="ascii") as stream:  # noqa: PTH123 - a pipe
            waits.append([int(word) for word in stream.read().split()])
    for _ in range(writers):
        os.wait()
    return Round(seconds, waits)


def _write_for(act: Callable[[], object], start: float, seconds: float, pipe: int) -> None:
    """Act until the time is up, tell how long each took, and end the process."""
    found = []
    time.sleep(max(0.0, start - time.perf_counter()))
    while (before := time.perf_counter()) < start + seconds:
        act()
        found.append(round((time.perf_counter() - before) * 1e9))
    with open(pipe, "w", encoding="ascii") as stream:
        stream.write(" ".join(map(str, found)))
    os._exit(0)


def rate_figures(folder: Path, rounds: int, seconds: float) -> Iterator[Figure]:
    """Compare rates and waits of eight writers, round by round."""
    section = f"{WRITERS} processes on one file, {rounds} rounds of {seconds:g} s each"
    bare, ours = folder / "bare.sqlite", folder / "ours.ledger.sqlite"
    bare_file(bare)
    SQLiteLedger(ours, POLICY).close()
    alone = [one_round(insert, bare, seconds, 1).rate]
    pairs = [
        (
            one_round(insert, bare, seconds, WRITERS),
            one_round(spend, ours, seconds, WRITERS),
            one_round(insert_in_turn, bare, seconds, WRITERS),
        )
        for _ in range(rounds)
    ]
    floor, mine, in_turn = (median(pair[side].rate for pair in pairs) for side in (0, 1, 2))
    yield Figure(section, "spends", "discreet", mine, "per second", target=RATE)
    ratio = median(pair[1].rate / pair[0].rate for pair in pairs)
    yield Figure(section, "spends", "bare INSERTs (floor)", floor, "per second", ratio=ratio, compared=True)
    turns = median(pair[1].rate / pair[2].rate for pair in pairs)
    yield Figure(section, "spends", "bare INSERTs that take turns", in_turn, "per second", ratio=turns, compared=True)
    alone.append(one_round(insert, bare, seconds, 1).rate)
    alone_ratio = divide(mine, median(alone))
    yield Figure(
        section,
        "spends",
        "bare INSERTs of one process",
        median(alone),
        "per second",
        ratio=alone_ratio,
        compared=True,
    )
    worst = median(pair[1].worst for pair in pairs)
    longest = max(max(map(max, pair[1].waits)) for pair in pairs) / 1e6
    note = f"the longest wait of all rounds: {longest:.0f} ms"
    yield Figure(section, "worst wait, median of rounds", "discreet", worst, "× median", target=FAIR, note=note)
    theirs = median(pair[0].worst for pair in pairs)
    yield Figure(section, "worst wait, median of rounds", "bare INSERTs (floor)", theirs, "× median")
    with SQLiteLedger(ours) as ledger:
        found = ledger.verify()
        yield Figure(section, "problems that verify finds", "discreet", len(found.problems), "of " + str(found.entries))


def long_ledger(file: Path, entries: int) -> SQLiteLedger:
    """Write a ledger of so many entries as a long history would leave it.

    Each entry goes through the ledger's own writer: chained by its hash, its charge added to the sums by the same rules
    as ever. Only the transactions are long: one for many entries, as a forced write for each would take hours. `verify`
    checks all of it at the end.
    """
    ledger = SQLiteLedger(file, POLICY)
    body = {**about(ENTRY), "what": ENTRY.kind, "charges": plain([("dataset", "", COST), ("analyst", "ann", COST)])}
    for start in range(1, entries, AT_ONCE):
        with ledger._page(write=True) as page:  # noqa: SLF001 - `reserve` would force each entry to disk
            for number in range(start, min(entries, start + AT_ONCE)):
                ledger._append(page, Draft.of("reserved", {**body, "question": f"q{number}"}))  # noqa: SLF001 - likewise
    return ledger


def length_figures(folder: Path, entries: int, acts: int) -> Iterator[Figure]:
    """Compare the time of a spend in a short and in a long ledger, act by act in turn."""
    section = "The length of a ledger, milliseconds per spend"
    short = long_ledger(folder / "short.ledger.sqlite", 1000)
    before = time.perf_counter()
    long = long_ledger(folder / "long.ledger.sqlite", entries)
    yield Figure(section, f"writing {entries:,} entries", "discreet", time.perf_counter() - before, "s")
    waits: dict[SQLiteLedger, list[tuple[float, float]]] = {short: [], long: []}
    for _ in range(acts):
        for ledger, found in waits.items():
            wall, cpu = time.perf_counter(), time.process_time()
            ledger.reserve(COST, ENTRY)
            found.append((1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)))
    medians = {each: [median(act[side] for act in found) for side in (0, 1)] for each, found in waits.items()}
    for ledger, size in ((short, 1000), (long, entries)):
        wall, cpu = medians[ledger]
        note = f"CPU {cpu:.3f} ms"
        ratio = divide(wall, medians[short][0]) if ledger is long else None
        target = LEVEL if ledger is long else None
        yield Figure(
            section,
            f"{size:,} entries",
            "discreet",
            ratio or wall,
            "×" if ratio else "ms",
            wall,
            target=target,
            note=note,
        )
    yield Figure(
        section,
        f"{entries:,} entries, CPU",
        "discreet",
        divide(medians[long][1], medians[short][1]),
        "×",
        target=LEVEL,
    )
    before = time.perf_counter()
    problems = long.verify().problems
    yield Figure(
        section,
        f"verify of {entries:,} entries",
        "discreet",
        time.perf_counter() - before,
        "s",
        note=json.dumps(problems),
    )
    short.close()
    long.close()


def main() -> int:
    """Measure, print, write; with --strict return 1 unless every target is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger", description="Speed and fairness of ledgers.")
    parser.add_argument("--strict", action="store_true", help="exit with 1 unless every target is met")
    parser.add_argument("--rounds", type=int, default=5, help="how often both are run in turn")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each round is")
    parser.add_argument("--entries", type=int, default=1_000_000, help="how long the long ledger is")
    parser.add_argument("--acts", type=int, default=200, help="how many spends are timed in each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=ROOT / "benchmarks") as name:
        folder = Path(name)
        figures = [
            *rate_figures(folder, options.rounds, options.seconds),
            *length_figures(folder, options.entries, options.acts),
        ]
    machine = describe_machine()
    print(format_table(figures), end="\n\n")
    print(summarize(figures))
    print(", ".join(f"{name} {found}" for name, found in machine.items()), f"SQLite {sqlite3.sqlite_version}")
    versions = {"sqlite": sqlite3.sqlite_version}
    document = make_document("ledger", figures, machine=machine, versions=versions, details={})
    print(f"written: {write_document(document).relative_to(ROOT)}")
    return int(options.strict and any(figure.verdict in {Verdict.MISSED, Verdict.UNMEASURED} for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
