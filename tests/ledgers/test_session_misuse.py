"""Sessions under misuse: whatever a caller does, nothing is spent twice, written by a stranger, or left behind."""

from __future__ import annotations

import datetime as dt
import errno
import os
import signal
import sqlite3
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.ledgers import Entry, Session, SQLiteLedger, charge
from discreet.ledgers.line import Draft
from discreet.ledgers.records import plain
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import ZCDP, NeighborRelation, Pure
from tests.ledgers.stores import POLICY, ZCDP_POLICY, Place, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from discreet.ledgers import Ledger

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
    "ends", [{"most_parts": 1}, {"until": dt.datetime(2500, 1, 1, tzinfo=dt.UTC)}], ids=["full", "late"]
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


def test_steps_are_kept_within_every_number_of_the_cost(place: Place) -> None:
    """All of them, never any: what would fit by its rho alone does not fit by its delta, and the other way round."""
    with Session.open(place.open(ZCDP_POLICY), ZCDP("0.01", 1e-8), DAILY) as session:
        session.reserve(ZCDP("0.005", 6e-9), step("round 1"))
        for cost in (ZCDP("0.001", 5e-9), ZCDP("0.006", 1e-9)):
            assert not session.admits(cost, step("round 2"))
            with pytest.raises(BudgetError, match="does not fit into the session"):
                session.reserve(cost, step("round 2"))
        session.reserve(ZCDP("0.005", 4e-9), step("round 2"))
        assert session.remaining == ZCDP(0)


def test_a_cost_for_other_neighbors_is_no_cost_of_this_ledger(place: Place) -> None:
    ledger, other = place.open(POLICY), Pure("0.5", neighbors=NeighborRelation.CHANGE_ONE)
    charge(ledger, Pure(1), step("round 1"), lambda _: NOISE.release(7))
    with pytest.raises(ParameterError):
        charge(ledger, other, step("round 1"), lambda _: pytest.fail("it ran"))
    with Session.open(ledger, Pure(1), DAILY) as session:
        with pytest.raises(ParameterError):
            session.admits(other, step("round 1"))
        with pytest.raises(ParameterError):
            session.reserve(other, step("round 1"))


def test_a_clock_that_is_set_back_prolongs_no_session(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = place.open(POLICY)
    end = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=0.01)
    with Session.open(ledger, Pure(1), DAILY, until=end) as session:
        while dt.datetime.now(dt.UTC) <= end:
            pass
        ledger.reserve(Pure(1), step("a question"))
        monkeypatch.setattr("discreet.ledgers.session.now", lambda: "2000-01-01T00:00:00.000000Z")
        with pytest.raises(LedgerError, match="expired at"):
            session.append([Text(1)])


@pytest.mark.parametrize("kind, before, after", [("reserved", '"1"', '"3"'), ("part", ":7}", ":8}")])
def test_what_was_edited_is_shown_to_nobody_and_pays_for_nothing(
    tmp_path: Path, kind: str, before: str, after: str
) -> None:
    file = tmp_path / "hospital.ledger.sqlite"
    with SQLiteLedger(file, POLICY) as ledger, Session.open(ledger, Pure(1), DAILY) as session:
        session.record(session.reserve(Pure("0.5"), step("round 1")), Text(7))
        assert [part["value"] for part in session.parts] == [7]
    with closing(sqlite3.connect(file)) as store:
        changed = store.execute(
            "UPDATE lines SET line = replace(line, ?, ?) WHERE kind = ? AND line LIKE '%' || ? || '%'",
            (before, after, kind, before),
        )
        assert changed.rowcount == 1
        store.commit()
    cost = Pure(1 if kind == "part" else 3)
    with (
        SQLiteLedger(file) as ledger,
        pytest.raises(LedgerError, match=r"entry \d of the ledger .* was edited"),
        Session.open(ledger, cost, DAILY) as session,
    ):
        session.look(Pure("0.5"), step("round 1"))


def test_after_a_write_that_failed_the_ledger_says_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part is durable and its writer was told of a failure: going on with the old state would draw it again."""
    with SQLiteLedger(tmp_path / "hospital.ledger.sqlite", POLICY) as ledger:
        session = Session.open(ledger, Pure(1), DAILY)
        session.append([Text(1)], state=b"one")
        with monkeypatch.context() as patch:
            patch.setattr(ledger, "_keep_head", full)
            with pytest.raises(LedgerError, match="no space left"):
                session.append([Text(2)], state=b"two")
        acts: list[Callable[[], object]] = [
            lambda: session.state,
            session.bits,
            lambda: session.append([Text(2)]),
            lambda: session.reserve(Pure(1), step("round 1")),
        ]
        for act in acts:
            with pytest.raises(LedgerError, match="open it again"):
                act()
        with Session.open(ledger, Pure(1), DAILY) as again:
            assert (again.state, [part["value"] for part in again.parts]) == (b"two", [1, 2])


def test_what_was_refused_before_it_was_written_leaves_the_session_as_it_was(place: Place) -> None:
    """The partner: nothing is in doubt, so that the holder goes on."""
    with Session.open(place.open(POLICY), Pure(1), DAILY, most_parts=1) as session:
        with pytest.raises(ParameterError, match="too many"):
            session.append([Text(1)] * 2, state=b"two")
        session.append([Text(1)], state=b"one")
        assert session.state == b"one"


def test_a_session_whose_opening_failed_is_held_by_nobody(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = place.open(POLICY)
    page = type(ledger)._page

    @contextmanager
    def cut_off(self: Ledger, *, write: bool) -> Iterator[Any]:
        with page(self, write=write) as within:
            yield within
        if write:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(ledger), "_page", cut_off)
        with pytest.raises(KeyboardInterrupt) as stopped:
            Session.open(ledger, Pure(1), DAILY)
    assert stopped.traceback  # whoever keeps the error keeps what was on its way
    with Session.open(ledger, Pure(1), DAILY) as session:
        assert session.append([Text(1)])


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "no space")
