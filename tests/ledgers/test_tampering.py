"""`verify` finds what was changed behind a ledger's back."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from discreet.ledgers import Entry, SQLiteLedger, verify_ledger
from discreet.ledgers.line import Line
from discreet.privacy import Pure
from tests.ledgers.stores import NESTED, Text

if TYPE_CHECKING:
    from pathlib import Path

CHEAPER = '\'"epsilon":"1/4"\', \'"epsilon":"1/8"\''
# A hash differs at each run, so the edit must change whatever digit stands there.
OTHER_HASH = "CASE substr(hash, 1, 1) WHEN '0' THEN '1' ELSE '0' END || substr(hash, 2)"
FAULTS = {
    "an edited entry": (f"UPDATE lines SET line = replace(line, {CHEAPER}) WHERE number = 1", "was edited"),
    "an edited answer": ("UPDATE lines SET line = replace(line, ':7}', ':8}') WHERE number = 2", "was edited"),
    "an edited hash": (f"UPDATE lines SET hash = {OTHER_HASH} WHERE number = 3", "was edited"),
    "a removed entry": ("DELETE FROM lines WHERE number = 3", "removed or reordered"),
    "a removed first entry": ("DELETE FROM lines WHERE number = 0", "removed or reordered"),
    "a cut tail": ("DELETE FROM lines WHERE number = 6", "cut off"),
    "reordered entries": (
        "UPDATE lines SET number = -1 WHERE number = 3; UPDATE lines SET number = 3 WHERE number = 5",
        "removed or reordered",
    ),
    "an edited sum": ("UPDATE sums SET loss = loss - 1 WHERE topic = ''", "sums"),
    "a removed sum": ("DELETE FROM sums WHERE scope = 'analyst'", "sums"),
    "an edited fact": ("UPDATE facts SET value = '1' WHERE name = 'policy'", "facts"),
    "an edited kind": ("UPDATE lines SET kind = 'part' WHERE kind = 'recorded'", "columns were edited"),
    "an edited question": ("UPDATE lines SET question = 'zzz' WHERE number = 2", "columns were edited"),
    "a removed question": ("UPDATE lines SET question = NULL WHERE number = 2", "columns were edited"),
    "an edited reservation": ("UPDATE lines SET reservation = 99 WHERE number = 2", "columns were edited"),
    "an edited number": ("UPDATE lines SET number = 60 WHERE number = 6", "columns were edited"),
    "an added answer": (
        "INSERT INTO lines SELECT -2, kind, hash, question, 99, line FROM lines WHERE number = 2",
        "kept",
    ),
    "an edited state": ("UPDATE state SET time = '2099'", "kept last entry"),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hospital.ledger.sqlite"
    with SQLiteLedger(path, NESTED) as ledger:
        for number in range(3):
            paid = ledger.reserve(Pure("0.25"), Entry(f"q{number}", ("visits",), "ann", "research"))
            ledger.record(paid, Text(7))
        assert ledger.verify().ok
    return path


def problems(file: Path) -> tuple[str, ...]:
    return verify_ledger(address=file).problems


@pytest.mark.parametrize("fault", FAULTS)
def test_verify_finds(file: Path, fault: str) -> None:
    statement, sentence = FAULTS[fault]
    assert problems(file) == ()
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(statement)
        connection.commit()
    assert any(sentence in problem for problem in problems(file)), problems(file)


def rewritten(file: Path, start: int, change: dict[str, object]) -> None:
    """Change an entry and chain everything after it anew, as somebody would who controls the file."""
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT line, hash FROM lines WHERE number >= ? ORDER BY number", (start,)).fetchall()
        previous = connection.execute("SELECT number, hash FROM lines WHERE number = ?", (start - 1,)).fetchone()
        for text, stated in rows:
            old = Line.read(text, stated)
            body = {**old.body, **change} if old.number == start else old.body
            new = Line.after(previous, old.kind, body, old.time)
            connection.execute("UPDATE lines SET line = ?, hash = ? WHERE number = ?", (new.text, new.hash, new.number))
            connection.execute("UPDATE state SET hash = ?", (new.hash,))
            previous = (new.number, new.hash)
        connection.commit()


def test_a_rewritten_chain_is_found_by_its_head_by_its_sums_and_by_its_meaning(file: Path) -> None:
    free = json.loads('[["dataset", "", {"currency": "pure", "epsilon": "0", "neighbors": "add_remove"}]]')
    rewritten(file, 5, {"charges": free})
    found = problems(file)
    assert any("known head" in problem for problem in found)
    assert any("kept sums" in problem for problem in found)
    assert any("another cost or question than its reservation 5" in problem for problem in found)
    file.with_suffix(".head").unlink()
    assert not any("known head" in problem for problem in problems(file))


def test_a_spend_above_the_budget_is_found_although_every_hash_is_right(file: Path) -> None:
    much = json.loads('[["dataset", "", {"currency": "pure", "epsilon": "9", "neighbors": "add_remove"}]]')
    rewritten(file, 5, {"charges": much})
    assert any("entry 5 spends more than the policy allowed" in problem for problem in problems(file))


def test_an_answer_without_a_reservation_is_found(file: Path) -> None:
    rewritten(file, 6, {"reservation": 3})
    assert any("which is no open reservation" in problem for problem in problems(file))


def test_an_entry_that_no_ledger_writes_is_found(file: Path) -> None:
    rewritten(file, 5, {"charges": [["dataset", "", {"currency": "euro"}]]})
    assert any("entry 5 is not what a ledger writes" in problem for problem in problems(file))
