"""Sparse vectors that a ledger keeps: paid before the first answer, the same noise after a crash, found again."""

from __future__ import annotations

import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.checks.audits import Case, cases
from discreet.database import Database
from discreet.errors import BudgetError, LedgerError, ParameterError, QueryRefused
from discreet.ledgers import Entry, MemoryLedger, Session, SQLiteLedger
from discreet.mechanisms import Release
from discreet.methods.adaptive import SparseVector
from discreet.methods.adaptive.watching import rows_moved
from discreet.plans import plan_sql
from discreet.privacy import NeighborRelation, Pure
from discreet.tables import Analyst, Column, Policy, Table
from tests.audits.test_cases import follows
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = Entry("wards", ("visits",), kind="session")
POLICY = Policy([], epsilon=50)
WIDE = SparseVector(threshold=0, sensitivity=1, epsilon="1/1000", above=2, grid=1, inputs="snapped")


def test_the_whole_price_is_taken_before_the_first_answer() -> None:
    ledger = MemoryLedger(POLICY)

    def failing(session: Session) -> int:
        assert ledger.remaining == Pure(Fraction(9))
        assert session.cost == Pure(41)
        msg = "the engine is gone"
        raise RuntimeError(msg)

    vector = SparseVector(threshold=100, sensitivity=1, epsilon=41)
    with vector.open(ledger, ENTRY) as session, pytest.raises(RuntimeError):
        session.ask("ward a", failing)
    assert ledger.remaining == Pure(9)
    assert not session.answers


def test_the_price_is_the_sum_of_its_parts() -> None:
    """Half of 3 for comparisons, a sixth of the rest for each of three numbers; and the noise is for that."""
    vector = SparseVector(threshold=9, sensitivity=2, epsilon=3, above=3, numbers="1/2", grid=1, inputs="snapped")
    assert vector.claim == Pure(3)
    assert vector.number is not None
    assert (vector.core.epsilon, vector.number.scale) == (Fraction(3, 2), Fraction(4))
    assert vector.privacy.epsilon(0) == pytest.approx(3)
    first, rest = vector.core.scales
    assert 2 / first + 2 * 3 * 2 / rest == Fraction(3, 2)


def test_after_the_last_answer_above_it_is_over() -> None:
    ledger = MemoryLedger(POLICY)
    vector = SparseVector(threshold=100, sensitivity=1, epsilon=40, above=2, numbers="1/4")
    with vector.open(ledger, ENTRY) as session:
        told = [session.ask(f"ward {value}", lambda _, value=value: value).value for value in (0, 900, 3, 700)]  # type: ignore[misc]
        assert [value is not None for value in told] == [False, True, False, True]
        assert told[1] == pytest.approx(900, abs=20)
        assert session.left == 0
        with pytest.raises(BudgetError, match="told all that it may"):
            session.ask("one more", lambda _: 0)
        assert session.ask("ward 900", lambda _: 0).value == told[1]
    with vector.open(ledger, ENTRY) as session:
        assert session.ask("ward 900", lambda _: 0).value == told[1]
        with pytest.raises(BudgetError, match="another name"):
            session.ask("one more", lambda _: 0)
    assert ledger.remaining == Pure(10)


@pytest.mark.parametrize("reopened", [False, True])
def test_a_number_above_that_is_zero_counts_as_one_above(*, reopened: bool) -> None:
    """The noise of ε = 100 a number is none but for a chance of 1e-43: the number is 0.0, which equals False."""
    ledger = MemoryLedger(Policy([], epsilon=400))
    vector = SparseVector(threshold=-50, sensitivity=1, epsilon=400, above=2, numbers="1/2", grid=1, inputs="snapped")
    session = vector.open(ledger, ENTRY)
    assert (session.ask("ward a", lambda _: 0).value, session.left) == (0.0, 1)
    if reopened:
        session.close()
        session = vector.open(ledger, ENTRY)
    assert (session.ask("ward b", lambda _: 0).value, session.left) == (0.0, 0)
    with pytest.raises(BudgetError, match="told all that it may"):
        session.ask("ward c", lambda _: 0)


def test_threads_that_ask_at_once_are_told_of_no_more_than_was_paid() -> None:
    together = threading.Barrier(3)

    def value(_: Session) -> int:
        with suppress(threading.BrokenBarrierError):
            together.wait(timeout=0.2)
        return 900

    def told(number: int) -> object:
        try:
            return session.ask(f"ward {number}", value).value
        except BudgetError:
            return None

    vector = SparseVector(threshold=100, sensitivity=1, epsilon=40, above=2)
    with vector.open(MemoryLedger(POLICY), ENTRY) as session, ThreadPoolExecutor(3) as threads:
        assert sorted(map(str, threads.map(told, range(3)))) == ["None", "True", "True"]


def test_an_answer_that_another_thread_overtook_is_not_told() -> None:
    """Whatever session stands on `Kept`: its answer was made before it was known what the other one says."""
    vector = SparseVector(threshold=100, sensitivity=1, epsilon=40, above=2)
    with vector.open(MemoryLedger(POLICY), ENTRY) as session:
        session.bits(left=session.left, more="")
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(session.ask, "ward a", lambda _: 900).result().value is True
        with pytest.raises(LedgerError, match="another thread asked meanwhile"):
            session.keep(Release(True, vector), {"bar": 100}, last=False)  # noqa: FBT003 - the value that is told
        assert session.left == 1

        def asks_as_well(_: Session) -> int:
            session.ask("ward c", lambda _: 900)
            return 900

        with pytest.raises(BudgetError):  # what was left when it began is not left now
            session.ask("ward b", asks_as_well)
        assert [answer.value for answer in session.answers] == [True, True]


def test_an_answer_says_what_it_promises_and_how_far_it_tells_apart() -> None:
    with WIDE.open(MemoryLedger(POLICY), ENTRY) as session:
        first = session.ask("a", lambda _: -(10**6))
        tenth = [session.ask(f"{place}", lambda _: -(10**6)) for place in range(9)][-1]
        error = first.error()
        assert isinstance(error, float)
        assert error == WIDE.core.error(questions=1)
        assert tenth.error() == WIDE.core.error(questions=10)
        assert "Charged: ε = 0.001" in first.explain()
        assert Release.from_json(tenth.to_json()) == tenth


def drawn(session: object, value: int) -> tuple[int, bool]:
    """What the next answer would be made of: the noisy threshold, and the comparison."""
    bits = session.bits(left=1, more="")  # type: ignore[attr-defined]
    bar = session.bar(bits)  # type: ignore[attr-defined]
    return bar, WIDE.told(value, bar, bits)[0]


@pytest.mark.parametrize("asked", [0, 1, 4])
def test_who_is_killed_and_opened_again_draws_nothing_anew(asked: int, tmp_path: Path) -> None:
    """Killed between drawing and writing: the same threshold and the same noise, before and after the first answer."""
    path, told = tmp_path / "ledger.sqlite", tmp_path / "told.json"
    child = os.fork()
    if not child:
        session = WIDE.open(SQLiteLedger(path, POLICY), ENTRY)
        for place in range(asked):
            session.ask(f"{place}", lambda _: -(10**6))
        told.write_text(json.dumps([drawn(session, value) for value in (0,)]))
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with SQLiteLedger(path, POLICY) as ledger, WIDE.open(ledger, ENTRY) as session:
        assert len(session.answers) == asked
        assert [[*drawn(session, 0)]] == json.loads(told.read_text())
        assert ledger.remaining == Pure(Fraction(49_999, 1000))
        bar = session._bar
        session.ask("and on", lambda _: -(10**6))
    with SQLiteLedger(path, POLICY) as ledger, WIDE.open(ledger, ENTRY) as session:
        assert session.state() == {"bar": bar}


def test_the_threshold_is_in_no_entry_of_the_ledger(tmp_path: Path) -> None:
    with SQLiteLedger(tmp_path / "ledger.sqlite", POLICY) as ledger, WIDE.open(ledger, ENTRY) as session:
        session.ask("a", lambda _: -(10**6))
        bar = str(session._bar)
        assert len(bar) > 2
        assert bar not in "".join(str(line.body) for line in ledger.entries())


def test_one_holder_at_a_time() -> None:
    ledger = MemoryLedger(POLICY)
    with WIDE.open(ledger, ENTRY), pytest.raises(LedgerError, match="held by another program"):
        WIDE.open(ledger, ENTRY)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="numbers is 1"):
        SparseVector(1, sensitivity=1, epsilon=1, numbers=1)
    with pytest.raises(ParameterError, match="monotone"):
        SparseVector(1, sensitivity=1, epsilon=1, monotone=True, neighbors=NeighborRelation.CHANGE_ONE)
    with WIDE.open(MemoryLedger(POLICY), ENTRY) as session, pytest.raises(ParameterError, match="name is ''"):
        session.ask("", lambda _: 0)


def test_a_run_on_values_that_are_held_is_the_session_s(seed: int) -> None:
    """The list and the session tell the same of the same values with the same bits."""
    bits = ReplayBits(seed)
    vector = SparseVector(0, sensitivity=1, epsilon=1, above=2, numbers="1/2", grid=1, inputs="snapped")
    whole = vector.release([0, 1, 2, 3], bits=ReplayBits(seed)).value
    bar = vector.core.bar(bits)
    assert whole == tuple(vector.told(value, bar, bits)[1] for value in (0, 1, 2, 3)[: len(whole)])


# On a database

VISITS = Table(
    "visits", unit="id", rows_per_unit=3, columns=[Column("ward", keys=["a", "b"]), Column("cost", lower=0, upper=9)]
)
STAFF = Table("staff", row_is_unit=True, columns=[Column("age", lower=0, upper=120)])
DATA = {
    "visits": pa.table({"id": range(900), "ward": ["a"] * 800 + ["b"] * 100, "cost": [1.0] * 900}),
    "staff": pa.table({"age": [40] * 50}),
}
COUNT = "SELECT COUNT(*) AS n FROM visits WHERE ward = '{}'"


def town(epsilon: int = 100, **more: object) -> Policy:
    return Policy([VISITS, STAFF], epsilon=epsilon, dataset="town", **more)  # type: ignore[arg-type]


def test_a_watch_goes_on_in_another_process_and_asks_the_engine_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "town.sqlite"
    with Database(town(), DATA, ledger=path) as db, db.watch(threshold=400, above=2, epsilon=90) as watch:
        assert watch.promise.core.monotone
        assert watch.promise.core.sensitivity == 3
        first = [watch.ask(COUNT.format(ward)).value for ward in "ab"]
        assert first == [True, False]
        assert db.remaining == Pure(10)
    with Database(town(), DATA, ledger=path) as db, db.watch(threshold=400, above=2, epsilon=90) as watch:
        assert (watch.left, len(watch.answers)) == (1, 2)
        monkeypatch.setattr(db._engine, "run", None)
        assert [watch.ask(COUNT.format(ward)).value for ward in "ab"] == first
        with pytest.raises(TypeError):  # the partner: what is not stored does ask the engine
            watch.ask("SELECT COUNT(*) AS n FROM staff")
        assert db.remaining == Pure(10)
        assert db.ledger.verify().ok


REFUSED = {
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward": "GROUP BY",
    "SELECT SUM(cost) AS s FROM visits": "one count",
    "SELECT COUNT(*) AS n, COUNT(cost) AS m FROM visits": "one count",
    "SELECT COUNT(*) + 1 AS n FROM visits": "the count itself",
    "SELECT COUNT(*) AS n FROM visits HAVING COUNT(*) > 3": "the count itself",
    "SELECT COUNT(*) AS n FROM visits AS v JOIN visits AS w ON v.id = w.id": "moves it by up to 9",
}


@pytest.mark.parametrize("question", REFUSED)
def test_what_is_no_covered_count_is_refused_before_the_engine_runs(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Database(town(), DATA) as db, db.watch(threshold=400, epsilon=90) as watch:
        monkeypatch.setattr(db._engine, "run", None)
        with pytest.raises(QueryRefused, match=REFUSED[question]):
            watch.ask(question)
        assert not watch.answers


def test_a_watch_for_more_rows_answers_joins_and_distinct_units_move_by_one() -> None:
    with Database(town(), DATA) as db, db.watch(threshold=400, above=2, epsilon=90, moves=9) as watch:
        joined = "SELECT COUNT(*) AS n FROM visits AS v JOIN visits AS w ON v.id = w.id"
        assert watch.ask(joined).value is True
        assert watch.ask(db.sql("SELECT COUNT(DISTINCT id) AS n FROM visits")).value is True
    moved = rows_moved(plan_sql(town(), "SELECT COUNT(DISTINCT id) AS n FROM visits"))
    assert moved == 1


def test_under_change_one_counts_are_not_monotone() -> None:
    policy = town(neighbors=NeighborRelation.CHANGE_ONE)
    with Database(policy, DATA) as db, db.watch(threshold=400, epsilon=90) as watch:
        assert not watch.promise.core.monotone
        assert watch.promise.neighbors is NeighborRelation.CHANGE_ONE
        assert rows_moved(plan_sql(policy, COUNT.format("a"))) == 3


def test_tables_and_rights_are_those_of_the_opening() -> None:
    policy = town(analysts=[Analyst("ann", tables=["visits"]), Analyst("bob", tables=["staff"])])
    with Database(policy, DATA) as db:
        with db.as_("ann").watch(threshold=400, epsilon=40) as watch:
            assert watch.ask(COUNT.format("a")).value is True
        with db.as_("bob").watch(threshold=400, epsilon=40) as watch, pytest.raises(ParameterError, match="may not"):
            watch.ask(COUNT.format("b"))
        with pytest.raises(ParameterError, match="may not release anything about visits"):
            db.as_("bob").watch(threshold=400, epsilon=10, tables=["visits"])
        with pytest.raises(ParameterError, match="'wards' is no private table"):
            db.as_("bob").watch(threshold=400, epsilon=10, tables=["wards"])
        with (
            db.as_("ann").watch(threshold=1, epsilon=10, tables=["visits"], name="second") as watch,
            pytest.raises(QueryRefused, match="FROM staff"),
        ):
            watch.ask(db.as_("bob").sql("SELECT COUNT(*) AS n FROM staff"))
        with Database(town(), DATA) as other, pytest.raises(ParameterError, match="database that opened"):
            watch.ask(other.sql(COUNT.format("a")))


def test_what_does_not_fit_is_refused_and_nothing_is_drawn() -> None:
    with Database(town(epsilon=1), DATA) as db:
        with pytest.raises(BudgetError):
            db.watch(threshold=400, epsilon=2)
        assert db.remaining == Pure(1)


@pytest.mark.parametrize("case", cases()["sparse_vector"], ids=lambda case: case.name)
def test_what_it_tells_follows_the_written_law(case: Case, seed: int) -> None:
    assert case.law is not None
    drawn_from = case.draw(case.mechanism, case.first, 2_000, ReplayBits(seed))
    assert follows(drawn_from, case.law(case.mechanism, case.first))
    assert not follows(drawn_from, case.law(TWICE[case.name], case.first))


MADE = {"sensitivity": 1, "grid": 1, "inputs": "snapped"}
TWICE = {
    "one above": SparseVector(0, **MADE, epsilon=4),  # type: ignore[arg-type]
    "two above": SparseVector(0, **MADE, epsilon=4, above=2),  # type: ignore[arg-type]
    "counts": SparseVector(0, **MADE, epsilon=4, monotone=True),  # type: ignore[arg-type]
    "with a number": SparseVector(0, **MADE, epsilon=4, numbers="1/2"),  # type: ignore[arg-type]
}
"""The same for twice the price: the check sees noise that is half as wide."""
