"""Damaged files, heads and exports: reported or refused in a sentence, never a raw error, never taken for whole."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from discreet.errors import DiscreetError, LedgerError
from discreet.ledgers import Entry, MemoryLedger, SQLiteLedger, open_ledger, verify_ledger
from discreet.privacy import Pure
from tests.ledgers.stores import NESTED, POLICY, Text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.ledgers import Ledger

ASKED = Entry("q0", ("visits",), "ann", "research")


def filled(path: Path) -> Path:
    with SQLiteLedger(path, NESTED) as ledger:
        for number in range(3):
            paid = ledger.reserve(Pure("0.1"), Entry(f"q{number}", ("visits",), "ann", "research"))
            ledger.record(paid, Text(7))
        ledger.find(Pure("0.1"), Entry("q0", ("visits",), "bob", "planning"))
        ledger.note("audit", "Laplace", {"claimed": "1.0", "shown": "0.41"})
        assert ledger.verify().ok
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return filled(tmp_path / "hospital.ledger.sqlite")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("original") / "hospital.ledger.sqlite")


def change(file: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement, values)
        connection.commit()


def entry(**parts: Any) -> str:  # noqa: ANN401 - what is wrong in an entry may be anything
    whole = {"number": 3, "kind": "reserved", "time": "2026", "previous": "0" * 64, "body": {}}
    return json.dumps({**whole, **parts})


UNREADABLE = {
    "no JSON": "{",
    "nothing": "",
    "a list": "[]",
    "a number": "5",
    "a deep list": "[" * 100_000,
    "a long number": "9" * 5000,
    "a number that is a text": entry(number="3"),
    "a number that is true": entry(number=True),
    "a kind that is a number": entry(kind=4),
    "a time that is a number": entry(time=1e9),
    "a hash before that is null": entry(previous=None),
    "a body that is a list": entry(body=[]),
    "NaN": entry(body={"x": float("nan")}),
    "a question that is a number": entry(body={"question": 5}),
    "an analyst that is a list": entry(body={"analyst": ["ann"]}),
    "a reservation that is a text": entry(body={"reservation": "3"}),
    "a reservation beyond 64 bits": entry(body={"reservation": 2**70}),
    "charges that are none": entry(body={"charges": 7}),
    "a charge of two": entry(body={"charges": [["dataset", ""]]}),
    "a charge that is a text": entry(body={"charges": [["dataset", "", "1"]]}),
    "reservations that are a number": entry(body={"reservations": 3}),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_an_unreadable_entry_is_reported_by_its_number_and_the_rest_is_read(file: Path, what: str) -> None:
    change(file, "UPDATE lines SET line = ? WHERE number = 3", UNREADABLE[what])
    change(file, "UPDATE lines SET line = replace(line, ':7}', ':8}') WHERE number = 6")
    found = verify_ledger(address=file).problems
    assert any("entry 3 is not readable" in problem for problem in found), found
    assert any("entry 6 was edited" in problem for problem in found), found
    assert not any("entry 4 " in problem and "continue" in problem for problem in found), found
    assert every_use_ends_in_a_sentence(file)


def test_letters_that_are_none_are_reported(file: Path) -> None:
    change(file, "UPDATE lines SET line = CAST(x'7b22ff' AS TEXT) WHERE number = 3")
    assert any("entry 3 is not readable" in problem for problem in verify_ledger(address=file).problems)
    change(file, "UPDATE facts SET value = CAST(x'ff' AS TEXT) WHERE name = 'terms'")
    assert any("kept facts" in problem for problem in verify_ledger(address=file).problems)
    assert every_use_ends_in_a_sentence(file)


DAMAGES = {
    "a policy beyond all entries": "UPDATE facts SET value = '99999999999999999999' WHERE name = 'policy'",
    "a policy that is no number": "UPDATE facts SET value = '²' WHERE name = 'policy'",
    "no policy": "DELETE FROM facts WHERE name = 'policy'",
    "another hash of the policy": "UPDATE facts SET value = '0' WHERE name = 'policy_hash'",
    "terms that are no JSON": "UPDATE facts SET value = '[' WHERE name = 'terms'",
    "terms that are a list": "UPDATE facts SET value = '[]' WHERE name = 'terms'",
    "units that are a number": "UPDATE facts SET value = '{\"units\": 5}' WHERE name = 'terms'",
    "verified tables that are none": "UPDATE facts SET value = '{' WHERE name = 'verified'",
    "more tables verified than were": "UPDATE facts SET value = '[\"visits\"]' WHERE name = 'verified'",
    "a sum below nothing": "UPDATE sums SET loss = -loss WHERE topic = ''",
    "a sum beyond all": "UPDATE sums SET loss = 9223372036854775807 WHERE topic = ''",
    "a sum by another certificate": "INSERT INTO sums SELECT topic, scope, name, 1, 0, 0 FROM sums WHERE topic = ''",
    "seen answers that are none": "UPDATE facts SET value = '[[]]' WHERE name LIKE 'seen %analyst%'",
    "no last entry": "DELETE FROM state",
    "a last entry far away": "UPDATE state SET number = 9223372036854775807",
    "a lost index": "DROP INDEX once",
    "a table of another": "CREATE TABLE mine (x)",
    "a trigger": "CREATE TRIGGER free AFTER INSERT ON lines BEGIN DELETE FROM sums; END",
    "a lost table": "DROP TABLE sums",
}


def uses(file: Path) -> Iterator[Any]:
    """Everything that somebody may do with a ledger's file."""
    yield lambda: verify_ledger(address=file)
    yield lambda: SQLiteLedger(file).close()
    yield lambda: SQLiteLedger(file, NESTED).close()

    def spend() -> None:
        with SQLiteLedger(file, NESTED) as ledger:
            ledger.record(ledger.reserve(Pure("0.01"), ASKED), Text(1))

    def read() -> None:
        with SQLiteLedger(file) as ledger:
            str(ledger.statement)
            ledger.find(Pure("0.1"), ASKED)
            ledger.remaining_for("ann", "research")
            _ = ledger.verified
            [str(line) for line in ledger.entries()]
            MemoryLedger(export=ledger.export())

    yield read
    yield spend


def every_use_ends_in_a_sentence(file: Path) -> bool:
    for use in uses(file):
        try:
            use()
        except DiscreetError as error:
            text = str(error)
            assert text.endswith(".") and len(text) > 30, text  # noqa: PT018 - one claim: it is a sentence
    return True


@pytest.mark.parametrize("what", DAMAGES)
def test_damaged_facts_and_sums_are_reported_and_refused_in_a_sentence(file: Path, what: str) -> None:
    change(file, DAMAGES[what])
    try:
        assert not verify_ledger(address=file).ok
    except LedgerError as error:
        assert "no such table" in str(error)  # noqa: PT017 - a file without its tables cannot be read at all
    assert every_use_ends_in_a_sentence(file)


HEADS = [
    "99999999999999999999 " + "0" * 64,
    f"{2**63:020d} " + "0" * 64,
    "9" * 5000,
    "NaN",
    "²" * 20,
    "\x00" * 30 + "x",
    "-1 " + "0" * 64,
]


@pytest.mark.parametrize("head", HEADS)
def test_a_damaged_head_file_is_refused_in_a_sentence(file: Path, head: str) -> None:
    file.with_suffix(".head").write_text(head, encoding="utf-8")
    with pytest.raises(LedgerError, match="head"):
        SQLiteLedger(file)
    with pytest.raises(LedgerError, match="head"):
        verify_ledger(address=file)
    assert every_use_ends_in_a_sentence(file)


def test_a_head_of_the_largest_number_is_not_in_the_ledger(file: Path) -> None:
    with SQLiteLedger(file) as ledger:
        assert "known head" in ledger.verify(head=f"{2**63 - 1}:{'0' * 64}").problems[0]


@pytest.mark.parametrize("path", ["a\0b", "\0", "", ".", "sqlite://"])
def test_a_path_that_is_none_is_refused_in_a_sentence(path: str) -> None:
    for use in (
        lambda: SQLiteLedger(path.removeprefix("sqlite://"), NESTED),
        lambda: open_ledger(NESTED, path),
        lambda: verify_ledger(address=path),
    ):
        with pytest.raises(DiscreetError, match="must be the path of a file"):
            use()


def content(file: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(file)) as connection:
        return {
            table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall())
            for table in ("lines", "facts", "sums", "state")
        }


def damaged(data: bytes, luck: random.Random) -> bytes:
    """Change some bytes, or lose an end, or swap two pages."""
    found = bytearray(data)
    kind = luck.randrange(6)
    if kind == 0:
        del found[luck.randrange(len(found)) :]
    elif kind == 1:
        start = luck.randrange(len(found))
        found[start : start + 100] = bytes(len(found[start : start + 100]))
    elif kind == 2:
        pages = len(found) // 4096
        one, other = luck.randrange(pages), luck.randrange(pages)
        for place in range(4096):
            here, there = one * 4096 + place, other * 4096 + place
            found[here], found[there] = found[there], found[here]
    else:
        for _ in range(luck.choice([1, 1, 3, 30])):
            # Most of a small file is empty; what is written is what matters.
            place = luck.choice([at for at in (luck.randrange(len(found)) for _ in range(50)) if found[at]] or [0])
            found[place] = luck.randrange(256) if luck.randrange(2) else found[place] ^ (1 << luck.randrange(8))
    return bytes(found)


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_file_is_reported_or_refused_and_never_taken_for_whole(
    original: Path, tmp_path: Path, seed: int
) -> None:
    file = tmp_path / original.name
    shutil.copy(original.with_suffix(".head"), file.with_suffix(".head"))
    data = damaged(original.read_bytes(), random.Random(seed))
    file.write_bytes(data)
    try:
        ok = verify_ledger(address=file).ok
    except DiscreetError:
        ok = False
    if ok:
        assert content(file) == content(original)
    file.unlink(missing_ok=True)
    for rest in ("-wal", "-shm"):
        file.with_name(file.name + rest).unlink(missing_ok=True)
    file.write_bytes(data)
    assert every_use_ends_in_a_sentence(file)


def mangled(lines: list[str], luck: random.Random) -> list[str]:
    """Lose, repeat, swap or change lines of an export."""
    found = list(lines)
    for _ in range(luck.choice([1, 1, 2, 5])):
        place = luck.randrange(len(found)) if found else 0
        kind = luck.randrange(7)
        if not found:
            break
        text = found[place]
        if kind == 0:
            del found[place]
        elif kind == 1:
            found.insert(luck.randrange(len(found) + 1), text)
        elif kind == 2:
            other = luck.randrange(len(found))
            found[place], found[other] = found[other], text
        elif kind == 3:
            found[place] = text[: luck.randrange(len(text) + 1)]
        elif kind == 4:
            at = luck.randrange(len(text) + 1)
            found[place] = (
                text[:at] + luck.choice(["0", '"', "}", "[", ",", "é", "\ud800", "\0", "null"]) + text[at + 1 :]
            )
        elif kind == 5:
            del found[place:]
        else:
            word = luck.choice(["NaN", "-1", "null", "[]", "{}", "1e999", "true", '"x"', "9" * 30])
            parts = text.split(":")
            at = luck.randrange(len(parts))
            parts[at] = word + parts[at][1:] if luck.randrange(2) else word
            found[place] = ":".join(parts)
    return found


@pytest.mark.parametrize("block", range(8))
def test_a_damaged_export_is_refused_or_is_the_same_ledger(original: Path, block: int) -> None:
    with SQLiteLedger(original) as ledger:
        lines = list(ledger.export())
        entries, head = list(ledger.entries()), ledger.head
    refused = 0
    for seed in range(block * 250, block * 250 + 250):
        try:
            copy: Ledger = MemoryLedger(export=mangled(lines, random.Random(seed)))
        except DiscreetError:
            refused += 1
            continue
        assert (list(copy.entries()), copy.head) == (entries, head)
        assert copy.verify().ok
    assert refused > 200


FULL = """
import resource, signal, sys
from discreet.errors import LedgerError
from discreet.ledgers import SQLiteLedger
from discreet.privacy import Pure
from discreet.ledgers import Entry
from tests.ledgers.stores import POLICY, Text

ledger = SQLiteLedger(sys.argv[1], POLICY)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
taken, said = 0, set()
for number in range(20):
    try:
        paid = ledger.reserve(Pure("0.01"), Entry(f"q{number}", ("visits",)))
        taken += 1
        ledger.record(paid, Text("x" * 9000))
    except LedgerError as error:
        said.add(str(error).partition("sqlite ")[2] or str(error))
print(taken, *said, sep="|")
"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [50, 5_000, 60_000, 100_000])
def test_a_file_that_may_not_grow_forgets_nothing(tmp_path: Path, size: int) -> None:
    """A full disk, as the system tells it: whatever was said to be taken is there when there is space again."""
    file = tmp_path / "hospital.ledger.sqlite"
    run = subprocess.run([sys.executable, "-c", FULL, str(file), str(size)], check=True, capture_output=True, text=True)
    taken, *said = run.stdout.strip().split("|")
    assert said
    assert all(
        "nothing was released" in each or "nothing was written" in each or "itself is safe" in each for each in said
    )
    with SQLiteLedger(file, POLICY) as ledger:
        left = ledger.remaining
        assert isinstance(left, Pure)
        assert 3 - left.epsilon >= Fraction(int(taken), 100)
        assert ledger.verify().ok
        ledger.reserve(Pure("0.01"), Entry("after", ("visits",)))
        assert ledger.verify().ok
