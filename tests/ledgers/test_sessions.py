"""Sessions on every store: one holder, nothing lost, nothing drawn twice, and never more than was paid for."""

from __future__ import annotations

import datetime as dt
import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.ledgers import Entry, MemoryLedger, Session, SQLiteLedger, charge, vaults
from discreet.mechanisms import DiscreteLaplace, Release
from discreet.privacy import Pure
from tests.ledgers.session_crashes import COST, opened
from tests.ledgers.session_crashes import DAILY as VISITS_BY_DAY
from tests.ledgers.stores import POLICY, Place, Text, older

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.ledgers import Reservation

DAILY = Entry("visits by day", ("visits",), kind="stream", details={"horizon": 30})
NOISE = DiscreteLaplace(sensitivity=1, epsilon=1)
ROOT = Path(__file__).parents[2]


def texts(session: Session) -> list[object]:
    return [part["value"] for part in session.parts]


def test_a_session_is_paid_at_its_opening_and_found_again(place: Place) -> None:
    ledger = place.open(POLICY)
    with Session.open(ledger, Pure(2), DAILY) as session:
        assert (ledger.remaining, session.parts, session.state) == (Pure(1), [], b"")
        session.append([Text(1), Text(2)], state=b"sum 3")
        session.append([Text(3)])
    with Session.open(place.open(), Pure(2), DAILY) as session:
        assert (texts(session), session.state, session.cost) == ([1, 2, 3], b"sum 3", Pure(2))
    assert place.open().remaining == Pure(1)
    assert place.open().verify().ok


def test_a_session_has_one_holder(place: Place) -> None:
    ledger = place.open(POLICY)
    with Session.open(ledger, Pure(2), DAILY) as session:
        for other in (ledger, place.open()):
            with pytest.raises(LedgerError, match="held by another program"):
                Session.open(other, Pure(2), DAILY)
        session.append([Text(1)])
    assert ledger.remaining == Pure(1)


def test_who_was_taken_over_writes_nothing(place: Place) -> None:
    """The lock of the first holder is lost, as when a server drops its connection; the fence stands in for it."""
    ledger = place.open(POLICY)
    first = Session.open(ledger, Pure(2), DAILY)
    first.append([Text(1)], state=b"one")
    assert first._lease is not None
    first._lease.close()
    second = Session.open(ledger, Pure(2), DAILY)
    acts: list[Callable[[], object]] = [
        lambda: first.append([Text(2)]),
        lambda: first.append([Text(2)], state=b"two"),
        lambda: first.reserve(Pure(1), Entry("step", ())),
        first.close,
    ]
    for act in acts:
        with pytest.raises(LedgerError, match="took the session over"):
            act()
    second.append([Text(3)])
    assert (texts(second), second.state) == ([1, 3], b"one")
    second.leave()


def test_a_session_that_was_left_writes_nothing(place: Place) -> None:
    session = Session.open(place.open(POLICY), Pure(2), DAILY)
    session.leave()
    for act in (lambda: session.append([Text(1)]), session.bits, lambda: session.state):
        with pytest.raises(LedgerError, match="was left here"):
            act()


@pytest.mark.parametrize(
    "cost, entry, name",
    [
        (Pure(1), DAILY, "charges"),
        (Pure(2), replace(DAILY, details={"horizon": 60}), "details"),
        (Pure(2), replace(DAILY, kind="session"), "what"),
        (Pure(2), replace(DAILY, tables=()), "tables"),
    ],
)
def test_a_session_is_not_reopened_with_other_parameters(place: Place, cost: Pure, entry: Entry, name: str) -> None:
    ledger = place.open(POLICY)
    Session.open(ledger, Pure(2), DAILY).leave()
    with pytest.raises(ParameterError, match=f"opened with other {name};"):
        Session.open(ledger, cost, entry)
    with pytest.raises(ParameterError, match="opened with other most_parts"):
        Session.open(ledger, Pure(2), DAILY, most_parts=3)
    assert ledger.remaining == Pure(1)


def test_a_session_without_a_name_or_of_a_wrong_kind_is_refused(place: Place) -> None:
    ledger = place.open(POLICY)
    for entry in (replace(DAILY, question=""), replace(DAILY, kind="question")):
        with pytest.raises(ParameterError, match="needs a kind"):
            Session.open(ledger, Pure(1), entry)
    with pytest.raises(BudgetError):
        Session.open(ledger, Pure(4), DAILY)
    assert ledger.remaining == Pure(3)


def test_closed_over_and_expired_sessions_say_so(place: Place) -> None:
    ledger = place.open(POLICY)
    closed = Session.open(ledger, Pure("0.5"), DAILY)
    closed.append([Text(1)], state=b"private")
    closed.close()
    full = Session.open(ledger, Pure("0.5"), replace(DAILY, question="full"), most_parts=1)
    full.append([Text(2)])
    past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    late = Session.open(ledger, Pure("0.5"), replace(DAILY, question="late"), until=past)
    again = Session.open(ledger, Pure("0.5"), DAILY)
    for session, why in ((again, "was closed"), (full, "is over: it has its 1 parts"), (late, "expired at 2020-01-01")):
        assert why in session.over
        with pytest.raises(LedgerError, match=why):
            session.append([Text(3)])
        session.leave()
    assert texts(again) == [1]
    if place.kind == "sqlite":
        assert not list(place.folder.glob(f"*.sessions/{closed.number}.*.state"))
    assert ledger.verify().ok


def test_the_bits_of_a_step_begin_again_for_the_next_holder_alone(place: Place) -> None:
    ledger = place.open(POLICY)
    with Session.open(ledger, Pure(2), DAILY) as session:
        first, second = (session.bits().integer(128) for _ in range(2))
        assert first != second  # two parts of one holder never share their noise
    with Session.open(ledger, Pure(2), DAILY) as session:
        assert [session.bits().integer(128) for _ in range(2)] == [first, second]
        session.append([Text(0)])
        assert session.bits().integer(128) not in {first, second}
    with Session.open(ledger, Pure("0.5"), replace(DAILY, question="other")) as other:
        assert other.bits().integer(128) != first


def test_a_state_that_stays_the_same_is_there_until_it_is_written_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seal of a state names its file: what cuts off the writing of the same state again must not harm it."""
    with SQLiteLedger(file) as ledger:
        with Session.open(ledger, Pure(1), DAILY) as session:
            session.append([Text(1)], state=b"the same")
            with monkeypatch.context() as patch:
                patch.setattr(vaults, "made", full)
                with pytest.raises((LedgerError, OSError)):
                    session.append([Text(2)], state=b"the same")
        with Session.open(ledger, Pure(1), DAILY) as session:
            assert (session.state, texts(session)) == (b"the same", [1])
            session.append([Text(2)], state=b"the same")
            session.append([Text(3)], state=b"another")
            assert len([*file.parent.rglob("*.state*")]) == 1


def full(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, "no space")


def step(name: str) -> Entry:
    return Entry(name, ("visits",), kind="method")


def test_the_bits_of_a_step_go_on_whatever_else_is_kept_until_it_has_its_answer(place: Place) -> None:
    """Else two of its numbers, both shown, would have one noise: their difference would be exact."""
    ledger = place.open(POLICY)
    with Session.open(ledger, Pure(2), DAILY) as session:
        paid, other = (session.reserve(Pure("0.5"), step(f"round {number}")) for number in (1, 2))
        drawn = [session.bits(paid.number).integer(128)]
        session.append([Text(0)])
        drawn.append(session.bits(paid.number).integer(128))
        session.record(other, Text(1))
        drawn.append(session.bits(paid.number).integer(128))
        assert len(set(drawn)) == 3
    with Session.open(ledger, Pure(2), DAILY) as session:
        assert [session.bits(paid.number).integer(128) for _ in drawn] == drawn
        session.record(paid, Text(2))
        with pytest.raises(ParameterError, match="has its answer already"):
            session.bits(paid.number)
        for number in (session.number, 10**9):
            with pytest.raises(ParameterError, match="no step of this session"):
                session.bits(number)


def test_steps_inside_a_session_never_cost_more_than_it(place: Place) -> None:
    ledger = place.open(POLICY)
    with Session.open(ledger, Pure(2), DAILY) as session:
        first = charge(session, Pure(1), step("round 1"), lambda paid: NOISE.release(7, bits=session.bits(paid.number)))
        again = charge(session, Pure(1), step("round 1"), lambda _: pytest.fail("a step ran twice"))
        assert first == again
        assert session.remaining == Pure(1)
        with pytest.raises(BudgetError, match="does not fit into the session"):
            session.reserve_all([(Pure("0.6"), step("a")), (Pure("0.6"), step("b"))])
        assert session.remaining == Pure(1)
        session.reserve(Pure(1), step("round 2"))
        with pytest.raises(BudgetError):
            session.reserve(Pure("1/1000"), step("round 3"))
    assert ledger.remaining == Pure(1)
    assert ledger.verify().ok


def test_a_step_that_a_crash_cut_off_is_the_same_step(place: Place) -> None:
    ledger = place.open(POLICY)
    drawn = []

    def run(paid: Reservation) -> Release[Any]:
        drawn.append(NOISE.release(7, bits=session.bits(paid.number)))
        if len(drawn) == 1:
            raise KeyboardInterrupt
        return drawn[-1]

    with Session.open(ledger, Pure(1), DAILY) as session, pytest.raises(KeyboardInterrupt):
        charge(session, Pure(1), step("round 1"), run)
    with Session.open(ledger, Pure(1), DAILY) as session:
        assert charge(session, Pure(1), step("round 1"), run) == drawn[0] == drawn[1]
        assert session.parts == [json.loads(drawn[0].to_json())]


def test_an_answer_belongs_to_one_open_step_of_this_session(place: Place) -> None:
    ledger = place.open(POLICY)
    with Session.open(ledger, Pure(1), DAILY) as session:
        paid = session.reserve(Pure("0.5"), step("round 1"))
        session.record(paid, Text(1))
        with pytest.raises(ParameterError, match="has its answer already"):
            session.record(paid, Text(2))
        with pytest.raises(ParameterError, match="no step of this session"):
            session.record(replace(paid, number=session.number), Text(2))
        other = Session.open(ledger, Pure(1), replace(DAILY, question="other"))
        with pytest.raises(ParameterError, match="no step of this session"):
            other.record(paid, Text(2))
        other.leave()
    assert ledger.verify().ok


def test_state_that_is_missing_cut_or_of_another_session_is_refused(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "hospital.ledger.sqlite", POLICY)
    with Session.open(ledger, Pure(1), DAILY) as session:
        session.append([Text(1)], state=b"first")
        (older,) = tmp_path.glob(f"*.sessions/{session.number}.*.state")
        kept = older.read_bytes()
        session.append([Text(2)], state=b"second")
        (newest,) = tmp_path.glob(f"*.sessions/{session.number}.*.state")
    good = newest.read_bytes()
    for content, what in (
        (kept, "cut, damaged or of"),
        (good[:-1], "cut"),
        (good[:5], "cut"),
        (b"", "cut"),
        (None, "missing"),
    ):
        newest.unlink()
        if content is not None:
            newest.write_bytes(content)
        with pytest.raises(LedgerError, match=f"sealed state of the session is {what}"):
            Session.open(ledger, Pure(1), DAILY)
        newest.write_bytes(good)
    with Session.open(ledger, Pure(1), DAILY) as session:
        assert session.state == b"second"
    ledger.close()


def test_only_the_owner_may_read_what_a_session_keeps(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ledger = SQLiteLedger(tmp_path / "hospital.ledger.sqlite", POLICY)
        with ledger, Session.open(ledger, Pure(1), DAILY) as session:
            session.append([Text(1)], state=b"private")
    finally:
        os.umask(before)
    (folder,) = tmp_path.glob("*.sessions")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o077 for file in folder.glob("*.state")} == {0}


def test_a_part_before_the_last_is_not_believed_to_be_the_state(place: Place) -> None:
    """A crash after the state was written and before its part was: the part before is the last one, with its state."""
    ledger = place.open(POLICY)
    session = Session.open(ledger, Pure(1), DAILY)
    session.append([Text(1)], state=b"one")
    with pytest.raises(ParameterError):
        session.append([Wordless()], state=b"two")
    session.leave()
    with Session.open(ledger, Pure(1), DAILY) as again:
        assert (texts(again), again.state) == ([1], b"one")


class Wordless:
    def to_json(self) -> str:
        return "{"


def test_a_forked_child_holds_no_session() -> None:
    session = Session.open(MemoryLedger(POLICY), Pure(1), DAILY)
    session._process += 1
    with pytest.raises(LedgerError, match="belongs to the process that opened it"):
        session.append([Text(1)])


def test_a_file_from_before_there_were_sessions_is_brought_up_to_date(file: Path) -> None:
    older(file, 1)
    ledger = SQLiteLedger(file)
    with ledger, Session.open(ledger, Pure(1), DAILY) as session:
        session.append([Text(1)])
        assert texts(session) == [1]
        assert ledger.verify().ok


def killed(file: Path, kills: int, seed: int, address: str = "") -> list[str]:
    words = [sys.executable, "-m", "tests.ledgers.session_crashes", str(file), str(kills), str(seed)]
    words += [address] if address else []
    run = subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT)
    assert run.stderr == ""
    told: list[str] = json.loads(run.stdout)
    return told


def check_told(told: list[str], parts: list[int]) -> None:
    """What was told as kept is a part, once; whatever was drawn for a step was the same each time."""
    kept = [(int(step), int(value)) for word, step, value in map(str.split, told) if word == "kept"]
    drawn = {(int(step), int(value)) for word, step, value in map(str.split, told) if word == "drawn"}
    assert all(parts[step] == value for step, value in kept)
    assert len({step for step, _ in kept}) == len(kept)
    assert len({step for step, _ in drawn}) == len(drawn)
    assert {(step, value) for step, value in enumerate(parts)} <= drawn


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.engine)])
@pytest.mark.parametrize("kills", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_holders_lose_nothing_and_draw_nothing_twice(tmp_path: Path, store: str, kills: int, seed: int) -> None:
    file = tmp_path / "hospital.ledger.sqlite"
    address = Place("postgres", tmp_path).address if store == "postgres" else ""
    told = killed(file, kills, seed, address)
    ledger = opened(file, address)
    with ledger, Session.open(ledger, COST, VISITS_BY_DAY) as session:
        parts = [part["value"] for part in session.parts]
        last = max(step for step in range(len(parts)) if step % 2 == 0)
        assert session.state == f"{last}".encode()
        check_told(told, parts)
        assert len(parts) >= kills // 4
        assert ledger.verify().ok
        assert ledger.remaining == Pure(1)


@pytest.mark.parametrize(
    "told",
    [["drawn 0 7", "drawn 0 8", "kept 0 7"], ["drawn 0 7", "kept 0 8"], ["drawn 0 7", "kept 0 7", "kept 0 7"], []],
)
def test_the_check_sees_what_was_drawn_twice_or_lost(told: list[str]) -> None:
    check_told(["drawn 0 7", "kept 0 7"], [7])
    with pytest.raises(AssertionError):
        check_told(told, [7])


def test_what_a_session_released_says_what_it_was_charged(place: Place) -> None:
    """A part without a step was paid by the whole session; a step by its own cost, once the session is resumed too."""
    ledger = place.open(POLICY)
    with Session.open(ledger, Pure(2), DAILY) as session:
        session.append([NOISE.release(7)])
        step = charge(session, Pure("0.5"), Entry("a step", ("visits",)), lambda _: NOISE.release(8))
        assert "Charged: ε = 0.5, to the ledger" in step.explain()
    with Session.open(ledger, Pure(2), DAILY) as session:
        first, second = session.releases
        assert [first.charged, second.charged] == [Pure(2), Pure("0.5")]
        said = f"Charged: ε = 2, for all parts of {DAILY.question!r} together, to the ledger"
        assert said in first.explain()
        assert said in Release.from_json(first.to_json()).explain()
        assert second == step
