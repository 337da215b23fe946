"""Keys of requests on every store: what is sent twice is charged once, and gets the same release."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import LedgerError, ParameterError
from discreet.ledgers import Entry, MemoryLedger, PostgresLedger, Session, SQLiteLedger, charge
from discreet.ledgers.line import Draft
from discreet.privacy import Pure
from discreet.tables import Analyst, Column, Policy, Table
from tests.ledgers.key_races import COUNT, noisy
from tests.ledgers.stores import NESTED, POLICY, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.ledgers import Reservation
    from discreet.mechanisms.release import Release

NAMELESS = Entry("", ("visits",), kind="method", key="k1", details={"rounds": 3})
ROOT = Path(__file__).parents[2]


def twice(_: Reservation) -> Release[Any]:
    return pytest.fail("it ran twice")


def cut_off(_: Reservation) -> Release[Any]:
    raise KeyboardInterrupt


@pytest.mark.parametrize("entry", [COUNT, NAMELESS], ids=["named", "nameless"])
def test_a_request_sent_twice_is_charged_once_and_gets_the_same_release(place: Place, entry: Entry) -> None:
    ledger = place.open(POLICY)
    first = charge(ledger, Pure(1), entry, noisy)
    assert charge(place.open(), Pure(1), entry, twice) == first
    assert charge(ledger, Pure(1), replace(entry, asked="in other words"), twice) == first
    assert ledger.remaining == Pure(2)
    assert charge(ledger, Pure(1), replace(entry, key="k2", question="other"), noisy) != first  # but for 1e-6
    assert ledger.verify().ok


@pytest.mark.parametrize("entry", [COUNT, NAMELESS], ids=["named", "nameless"])
def test_what_a_crash_cut_off_stays_spent_and_is_never_drawn_anew(place: Place, entry: Entry) -> None:
    ledger = place.open(POLICY)
    with pytest.raises(KeyboardInterrupt):
        charge(ledger, Pure(1), entry, cut_off)
    for again in (ledger, place.open()):
        with pytest.raises(LedgerError, match="key 'k1' was charged in entry 1, which has no answer yet"):
            charge(again, Pure(1), entry, twice)
    assert ledger.remaining == Pure(2)
    charge(ledger, Pure(1), replace(entry, key="k2"), noisy)
    assert ledger.remaining == Pure(1)
    assert ledger.verify().ok


def test_a_key_is_bound_to_its_request(place: Place) -> None:
    ledger = place.open(NESTED)
    mine = COUNT.by("bob", "research")
    charge(ledger, Pure("0.5"), mine, noisy)
    others = [
        (Pure("0.5"), replace(mine, question="another")),
        (Pure("0.25"), mine),
        (Pure("0.5"), mine.by("bob", "planning")),
        (Pure("0.5"), replace(mine, tables=())),
        (Pure("0.5"), replace(mine, details={"rounds": 4})),
        (Pure("0.5"), replace(mine, kind="question")),
        (Pure("0.5"), replace(mine, request="another")),
    ]
    for cost, other in others:
        with pytest.raises(ParameterError, match="key is 'k1'; it belongs to another request, that of entry 1: "):
            charge(ledger, cost, other, twice)
    assert ledger.remaining == Pure("2.5")


def test_equal_keys_of_two_analysts_are_two_keys(place: Place) -> None:
    ledger = place.open(NESTED)
    charge(ledger, Pure("0.5"), COUNT.by("ann", "research"), noisy)
    charge(ledger, Pure("0.5"), replace(COUNT.by("bob", "research"), question="another"), noisy)
    assert ledger.remaining == Pure(2)


def test_a_key_that_showed_what_was_stored_is_bound_too(place: Place) -> None:
    """A request that costs nothing has an entry; later releases of the same question change nothing in its answer."""
    ledger = place.open(POLICY)
    first = charge(ledger, Pure("0.5"), replace(COUNT, key=""), noisy)
    assert charge(ledger, Pure("0.5"), COUNT, twice) == first
    charge(ledger, Pure(1), replace(COUNT, key="k2"), noisy)
    assert charge(ledger, Pure("0.5"), COUNT, twice) == first
    with pytest.raises(ParameterError, match="belongs to another request"):
        charge(ledger, Pure("0.5"), replace(COUNT, question="another"), twice)
    assert ledger.remaining == Pure("1.5")
    assert ledger.verify().ok


def test_keys_survive_an_export_and_ledgers_without_them_are_as_before(place: Place) -> None:
    ledger = place.open(POLICY)
    first = charge(ledger, Pure(1), COUNT, noisy)
    bodies = [line.body for line in ledger.entries()]
    charge(ledger, Pure(1), replace(COUNT, key="", question="another"), noisy)
    assert [sorted({"key", "request", "earlier"} & set(body)) for body in bodies[1:]] == [
        ["earlier", "key", "request"],
        [],
    ]
    assert not {"key", "request", "earlier"} & {name for line in ledger.entries(start=3) for name in line.body}
    with place.another().open(export=list(ledger.export())) as other:
        assert charge(other, Pure(1), COUNT, twice) == first
        assert other.verify().ok


@pytest.mark.parametrize(
    "changed, problem",
    [({"request": "5e"}, "has the key of another request"), ({}, "was charged for a request that had been charged")],
    ids=["another", "twice"],
)
def test_verify_finds_keys_that_no_ledger_would_write(place: Place, changed: dict[str, str], problem: str) -> None:
    ledger = place.open(POLICY)
    charge(ledger, Pure(1), COUNT, noisy)
    paid = next(line for line in ledger.entries() if line.kind == "reserved")
    with ledger._page(write=True) as page:
        ledger._append(page, Draft.of("reserved", {**paid.body, **changed}))
    assert any(problem in each for each in ledger.verify().problems)


def test_a_key_that_was_edited_in_the_store_is_found(place: Place) -> None:
    ledger = place.open(POLICY)
    charge(ledger, Pure(1), COUNT, noisy)
    with ledger._page(write=True) as page:
        (name,) = [name for name in page.facts() if name.startswith("key ")]
        page.set_fact(name, json.dumps({"request": "5e", "entries": {"a count": 1}}))
    assert ledger.verify().problems == ("the kept facts are not those of the entries: they were edited.",)
    for nonsense in ("{", "[]", '{"request":7,"entries":{"a":1}}', '{"request":"5e","entries":{"a":"x"}}'):
        with ledger._page(write=True) as page:
            page.set_fact(name, nonsense)
        with pytest.raises(LedgerError, match="is not readable; nothing was spent"):
            charge(ledger, Pure(1), COUNT, twice)
    request = next(line.body["request"] for line in ledger.entries(start=1))
    with ledger._page(write=True) as page:
        page.set_fact(name, json.dumps({"request": request, "entries": {"a count": 77}}))
    with pytest.raises(LedgerError, match="entry 77 of the ledger"):
        charge(ledger, Pure(1), COUNT, twice)


@pytest.mark.parametrize("key", [7, None, "two\nlines", "x" * 256, "\ud800"])
def test_what_is_no_key_is_refused(place: Place, key: str) -> None:
    ledger = place.open(POLICY)
    with pytest.raises(ParameterError, match="key is"):
        charge(ledger, Pure(1), replace(COUNT, key=key), twice)
    assert ledger.remaining == Pure(3)


def test_sessions_and_steps_are_found_by_name_and_have_no_keys(place: Place) -> None:
    ledger = place.open(POLICY)
    daily = Entry("visits by day", ("visits",), kind="stream")
    with pytest.raises(ParameterError, match="sessions and their steps have none"):
        Session.open(ledger, Pure(1), replace(daily, key="k1"))
    with Session.open(ledger, Pure(1), daily) as session:
        acts: list[Callable[[], object]] = [
            lambda: charge(session, Pure(1), COUNT, noisy),
            lambda: session.reserve(Pure(1), COUNT),
        ]
        for act in acts:
            with pytest.raises(ParameterError, match="sessions and their steps have none"):
                act()
        assert session.remaining == Pure(1)


def test_who_comes_second_at_the_same_moment_is_charged_nothing(place: Place) -> None:
    """Between looking and taking somebody else takes: what both look up first is not there yet."""
    ledger = place.open(POLICY)
    assert ledger.replay(Pure(1), COUNT) is None
    ledger.reserve(Pure(1), COUNT)
    for again in (ledger, place.open()):
        with pytest.raises(LedgerError, match="has no answer yet"):
            again.reserve(Pure(1), COUNT)
    stored = charge(ledger, Pure(1), replace(COUNT, key="", question="stored"), noisy)
    mine = replace(COUNT, key="k2", question="stored", request="the stored one")
    repeat = ledger.look(Pure(1), mine)
    assert repeat is not None
    ledger.take([], [(repeat, mine)])
    with pytest.raises(LedgerError, match="has no answer yet"):
        ledger.take([], [(repeat, mine)])
    assert charge(ledger, Pure(1), mine, twice) == stored
    assert ledger.find(Pure(1), mine) == ledger.replay(Pure(1), mine)
    with pytest.raises(ParameterError, match="request is ''; with a key it must say"):
        ledger.take([], [(repeat, replace(mine, key="k3", request=""))])
    assert ledger.remaining == Pure(1)


def started(place: str, *words: str) -> subprocess.Popen[str]:
    """Start a program that sends the request once it is told to."""
    command = [sys.executable, "-m", "tests.ledgers.key_races", place, *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.engine)])
def test_of_two_processes_that_race_one_is_charged(tmp_path: Path, store: str) -> None:
    place = Place("postgres", tmp_path).address if store == "postgres" else str(tmp_path / "hospital.ledger.sqlite")
    racers = [started(place) for _ in range(2)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    values = {racer.communicate()[0] for racer in racers}
    assert (len(values), [racer.returncode for racer in racers]) == (1, [0, 0])
    with PostgresLedger(place) if store == "postgres" else SQLiteLedger(place) as ledger:
        assert (ledger.remaining, ledger.verify().ok) == (Pure(2), True)


def test_a_request_that_was_killed_before_its_answer_was_recorded_is_told_so(tmp_path: Path) -> None:
    file = tmp_path / "hospital.ledger.sqlite"
    sender = started(str(file), "killed")
    sender.communicate("\n")
    assert sender.returncode == -signal.SIGKILL
    with SQLiteLedger(file) as ledger:
        with pytest.raises(LedgerError, match="was charged in entry 1, which has no answer yet"):
            charge(ledger, Pure(1), COUNT, twice)
        assert (ledger.remaining, ledger.verify().ok) == (Pure(2), True)


# Questions of a database.

VISITS = Table("visits", unit="id", rows_per_unit=2, columns=[Column("cost", lower=0, upper=100)])
PEOPLE = Policy([VISITS], epsilon=30, dataset="hospital", analysts=[Analyst("ann"), Analyst("bob")])
ROWS = {"visits": pa.table({"id": range(900), "cost": [7] * 900})}
ASKED = "SELECT COUNT(*) AS n FROM visits"
SUM = "SELECT SUM(cost) AS s FROM visits"


@pytest.fixture
def db() -> Iterator[dp.Database]:
    with dp.Database(PEOPLE, ROWS, ledger=MemoryLedger(PEOPLE), analyst="ann") as opened:
        yield opened


def test_a_question_sent_twice_has_the_answer_that_it_had(db: dp.Database) -> None:
    """Also after the same question was bought for more, with which later answers are combined."""
    db.sql(ASKED).release(epsilon="0.25")
    first = db.sql(ASKED).release(epsilon="0.5", key="k1")  # combined with the one before
    db.sql(ASKED).release(epsilon=4)
    left = db.remaining
    again = db.sql("select count(*) as n from visits").release(epsilon="0.5", key="k1")
    assert (again.to_dicts(), again.promise, again.combined) == (first.to_dicts(), first.promise, first.combined)
    assert (first.combined, again.repeated, again.cost) == (2, True, Pure(0))
    assert db.sql(ASKED).release(epsilon="0.5").to_dicts() != first.to_dicts()  # but for a small chance of a fixed seed
    assert db.remaining == left
    for price, text in (("0.25", ASKED), ("0.5", SUM)):
        with pytest.raises(ParameterError, match="belongs to another request"):
            db.sql(text).release(epsilon=price, key="k1")
    assert db.as_("bob").sql(SUM).release(epsilon=1, key="k1").cost == Pure(1)


def test_questions_sent_together_twice_are_charged_once(db: dp.Database) -> None:
    """The first is stored, so that its part goes to the others; sent again, all are, and the request is the same."""
    db.sql(ASKED).release(epsilon=1)
    asked = [ASKED, SUM, SUM, "SELECT COUNT(*) AS n FROM visits WHERE cost > 50"]
    first = db.ask_all(asked).release(epsilon=2, key="k1")
    left = db.remaining
    again = db.ask_all(asked).release(epsilon=2, key="k1")
    assert [answer.to_dicts() for answer in again] == [answer.to_dicts() for answer in first]
    assert db.remaining == left == Pure(27)
    for other, price in ((asked[:3], 2), (asked, 3)):
        with pytest.raises(ParameterError, match="belongs to another request"):
            db.ask_all(other).release(epsilon=price, key="k1")
    with pytest.raises(ParameterError, match="belongs to another request"):
        db.ask_all(asked).release(epsilon=2, weights=[1, 2, 3, 4], key="k1")
    with pytest.raises(ParameterError, match="belongs to another request"):
        db.sql(SUM).release(epsilon=1, key="k1")
    assert db.ledger.verify().ok


def test_bounds_and_the_question_between_them_are_one_request(db: dp.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash after the bounds were bought: sent again, they are shown as they were, and the rest is bought."""
    question = db.sql(SUM)
    with monkeypatch.context() as patch:
        patch.setattr("discreet.releases.asking.question.Question._between", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            question.release(epsilon=2, narrow="0.25", key="k1")
    assert db.remaining == Pure("29.5")
    with pytest.raises(ParameterError, match="belongs to another request"):
        question.release(epsilon="1.5", key="k1")
    first = question.release(epsilon=2, narrow="0.25", key="k1")
    again = question.release(epsilon=2, narrow="0.25", key="k1")
    assert again.to_dicts() == first.to_dicts()
    assert db.remaining == Pure(28)


def test_threads_that_send_the_same_requests_are_charged_once_each(db: dp.Database) -> None:
    """Sixteen requests of two people for four questions at once, each sent again while another computes its answer."""

    def ask(number: int) -> tuple[int, object]:
        analyst, least = "ann" if number < 8 else "bob", number % 4
        with db.as_(analyst) as mine:
            question = mine.sql(f"SELECT COUNT(*) AS n FROM visits WHERE cost > {least}")
            while True:
                try:
                    return number // 8 * 4 + least, question.release(epsilon="0.25", key=f"{least}").to_dicts()[0]["n"]
                except LedgerError as error:
                    assert "has no answer yet" in str(error)  # noqa: PT017 - it is sent again

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, range(16)))
    assert len(set(answers)) == 8
    spent = {account.title: account.spent for account in db.budget.accounts}
    assert spent["analyst ann"] == spent["analyst bob"] == Pure(1)
    assert db.ledger.verify().ok
