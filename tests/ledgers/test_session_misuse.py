"""Sessions under misuse: whatever a caller does, nothing is spent twice, written by a stranger, or left behind."""

from __future__ import annotations

import datetime as dt
import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from discreet.errors import LedgerError, ParameterError
from discreet.ledgers import Entry, Session, SQLiteLedger, charge
from discreet.ledgers.line import Draft
from discreet.ledgers.records import plain
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import Pure
from tests.ledgers.stores import POLICY, Place, Text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAILY = Entry("visits by day", ("visits",), kind="stream")
NOISE = DiscreteLaplace(sensitivity=1, epsilon=1)


def step(name: str) -> Entry:
    return Entry(name, ("visits",), kind="method")


def test_parts_that_come_together_are_no_more_than_the_most(place: Place) -> None:
    with Session.open(place.open(POLICY), Pure(1), DAILY, most_parts=3) as session:
        session.append([Text(1)])
        with pytest.raises(ParameterError, match="3 parts are too many; nothing was written"):
            session.append([Text(2)] * 3)
        session.append([Text(2)] * 2)
        assert len(session.parts) == 3


def test_a_session_that_was_left_takes_no_steps(place: Place) -> None:
    session = Session.open(place.open(POLICY), Pure(1), DAILY)
    session.leave()
    with pytest.raises(LedgerError, match="was left here"):
        session.reserve(Pure(1), step("round 1"))
    assert session.remaining == Pure(1)


def test_a_session_that_was_closed_has_no_bits(place: Place) -> None:
    ledger = place.open(POLICY)
    Session.open(ledger, Pure(1), DAILY).close()
    with Session.open(ledger, Pure(1), DAILY) as again:
        for given in (None, 3):
            with pytest.raises(LedgerError, match="its bits are forgotten"):
                again.bits(given)


@pytest.mark.parametrize(
    "ends", [{"most_parts": 1}, {"until": dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)}], ids=["full", "late"]
)
def test_closing_forgets_the_state_of_a_session_that_is_over_by_itself(
    tmp_path: Path, ends: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with SQLiteLedger(tmp_path / "hospital.ledger.sqlite", POLICY) as ledger:
        monkeypatch.setattr("discreet.ledgers.session.now", lambda: "2000-01-01T00:00:00.000000Z")
        session = Session.open(ledger, Pure(1), DAILY, **ends)
        session.append([Text(1)], state=b"private")
        monkeypatch.setattr("discreet.ledgers.session.now", lambda: "2999-01-01T00:00:00.000000Z")
        assert session.over
        session.close()
        assert not list(tmp_path.glob("*.sessions/*.state"))
        with Session.open(ledger, Pure(1), DAILY, **ends) as again:
            assert (again.over, len(again.parts), again.state) == ("was closed", 1, b"")
            again.close()
        assert ledger.verify().ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_session_that_was_left_is_free_while_a_forked_child_lives(tmp_path: Path) -> None:
    with SQLiteLedger(tmp_path / "hospital.ledger.sqlite", POLICY) as ledger:
        session = Session.open(ledger, Pure(1), DAILY)
        child = os.fork()
        if not child:  # pragma: no cover - the child
            time.sleep(60)
            os._exit(0)
        try:
            session.leave()
            Session.open(ledger, Pure(1), DAILY).leave()
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_a_time_that_no_calendar_has_is_refused(place: Place) -> None:
    west = dt.timezone(-dt.timedelta(hours=5))
    with pytest.raises(ParameterError, match="beyond the years"):
        Session.open(place.open(POLICY), Pure(1), DAILY, until=dt.datetime.max.replace(tzinfo=west))


def test_a_question_that_is_called_as_a_session_is_counted_apart(place: Place) -> None:
    ledger = place.open(POLICY)
    with Session.open(ledger, Pure(1), DAILY) as session:
        session.reserve(Pure("0.5"), step("round 1"))
        named = step(f"session {session.number}")
        charge(ledger, Pure("0.25"), named, lambda _: NOISE.release(7))
        assert session.remaining == Pure("0.5")
        assert ledger.look(Pure("0.75"), named) is None
    assert ledger.verify().ok


@pytest.mark.parametrize("name", [5, None, "a\0b", "\ud800", "two\nlines"])
def test_steps_have_names_that_every_store_can_hold(place: Place, name: str) -> None:
    ledger = place.open(POLICY)
    with Session.open(ledger, Pure(1), DAILY) as session:
        with pytest.raises(ParameterError, match="question is"):
            session.reserve(Pure("0.5"), step(name))
        assert session.remaining == Pure(1)
    assert ledger.verify().ok


def test_an_answer_is_kept_under_the_name_of_its_step(place: Place) -> None:
    with Session.open(place.open(POLICY), Pure(1), DAILY) as session:
        paid = session.reserve(Pure("0.5"), step("round 1"))
        with pytest.raises(ParameterError, match="no step of this session"):
            session.record(replace(paid, entry=step("round 2")), Text(1))
        for number in (2**70, "x", None, -1):
            with pytest.raises(ParameterError, match="what `reserve` gave"):
                session.record(replace(paid, number=number), Text(1))  # type: ignore[arg-type]
        for parts in (None, 7, "parts"):
            with pytest.raises(ParameterError, match="a list of releases"):
                session.append(parts)  # type: ignore[arg-type]


def test_a_cost_that_was_answered_pays_for_no_session(place: Place) -> None:
    """A reservation of this name that opened no session is none, and is not in the way of one."""
    ledger = place.open(POLICY)
    ledger.record(ledger.reserve(Pure(1), DAILY), Text(1))
    with Session.open(ledger, Pure(1), DAILY) as session:
        assert ledger.remaining == Pure(1)
        session.append([Text(2)], state=b"two")
    ledger.reserve(Pure(1), DAILY)
    with Session.open(ledger, Pure(1), DAILY) as again:
        assert (again.number, again.state) == (session.number, b"two")
    assert ledger.verify().ok


def test_the_cost_of_a_session_is_answered_by_its_parts_alone(place: Place) -> None:
    ledger = place.open(POLICY)
    with Session.open(ledger, Pure(1), DAILY) as session:
        spent = ledger.reserve(Pure(1), step("other"))
        opened = next(line for line in ledger.entries() if line.number == session.number)
        forged = replace(spent, number=opened.number, head=f"{opened.number}:{opened.hash}")
        with pytest.raises(ParameterError, match="is not of this ledger"):
            ledger.record(forged, Text(1))


def inner(cost: Pure) -> object:
    ((_, _, found),) = plain([("", "", cost)])
    return found


@pytest.mark.parametrize(
    "kind, body, problem",
    [
        ("step", {"reservation": 1, "fence": 1, "inner": inner(Pure(2))}, "spends more than was taken for the session"),
        ("step", {"reservation": 0, "fence": 1, "inner": inner(Pure(1))}, "which opened no session"),
        ("lease", {"reservation": 3, "fence": 9}, "which opened no session"),
        ("part", {"reservation": 3, "fence": 9, "answer": {}}, "which opened no session"),
    ],
)
def test_verify_finds_what_no_session_would_write(place: Place, kind: str, body: dict[str, Any], problem: str) -> None:
    """Written with a hash of its own, as by somebody who rewrites the chain."""
    ledger = place.open(POLICY)
    Session.open(ledger, Pure(1), DAILY).leave()
    assert ledger.reserve(Pure(1), step("a question")).number == 3
    assert ledger.verify().ok
    with ledger._page(write=True) as page:
        ledger._append(page, Draft.of(kind, body))
    assert any(problem in each for each in ledger.verify().problems)


def test_misuse_is_refused_in_words(place: Place) -> None:
    with Session.open(place.open(POLICY), Pure(1), DAILY) as session:
        acts: list[Callable[[], object]] = [
            lambda: session.reserve(None, step("a")),  # type: ignore[arg-type]
            lambda: session.reserve(Pure(1), None),  # type: ignore[arg-type]
            lambda: session.bits("1"),  # type: ignore[arg-type]
            lambda: session.append([Text(1)], state="x"),  # type: ignore[arg-type]
        ]
        for act in acts:
            with pytest.raises(ParameterError):
                act()
