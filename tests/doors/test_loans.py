"""Rows on loan have one way out, which is paid: nothing else shows, copies or gives them."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from discreet.database import Database
from discreet.engines import Batches, BoundedRows, Loan
from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError, EngineError, LedgerError, ParameterError, TimeLimitError
from discreet.ledgers import Entry, MemoryLedger, Session, SQLiteLedger, charge
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import Pure
from discreet.tables import Analyst, Column, Policy, Table
from discreet.tables.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from discreet.ledgers import Reservation

SECRET = 987_654_321
TABLES = [
    Table("visits", unit="id", rows_per_unit=2, columns=[Column("cost", lower=0, upper=10**9)]),
    Table("others", unit="id", rows_per_unit=2, columns=[Column("cost", lower=0, upper=10**9)]),
]
POLICY = Policy(TABLES, epsilon=9, dataset="clinic")
DATA = {name: pa.table({"id": ["ann"], "cost": [SECRET]}) for name in ("visits", "others")}
NOISE = DiscreteLaplace(sensitivity=1, epsilon=1)


@pytest.fixture
def db() -> Iterator[Database]:
    with Database(POLICY, DATA) as opened:
        yield opened


@pytest.fixture
def loan(db: Database) -> Loan:
    return db.table("visits").select("cost").rows()


class Untouched:
    """Stands where the engine would be asked."""

    def __call__(self, *_: object) -> None:
        msg = "an engine was asked"
        raise AssertionError(msg)


WAYS: list[Callable[[Any], object]] = [
    list,
    len,
    bool,
    hash,
    copy.copy,
    copy.deepcopy,
    pickle.dumps,
    json.dumps,
    vars,
    sorted,
    dict,
    lambda it: it == it,  # noqa: PLR0124 - that it is asked is the point
    lambda it: it[0],
    lambda it: SECRET in it,
]


@pytest.mark.parametrize("way", WAYS)
def test_neither_a_loan_nor_its_rows_are_shown(way: Callable[[Any], object], db: Database, loan: Loan) -> None:
    rows = loan.read(db.ledger.reserve(Pure(1), loan.entry("a test")))
    for private in (loan, rows):
        with pytest.raises(TypeError) as raised:
            way(private)
        assert str(SECRET) not in str(raised.value)


def test_public_facts_are_told_and_nothing_else(db: Database, loan: Loan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db._engine, "_results", Untouched())
    assert loan.schema["cost"].bounds == Bounds(0, 10**9)
    assert loan.keys("cost") is None
    assert (loan.rows_per_unit, loan.unit_kind, loan.tables) == (2, "id", ("visits",))
    assert loan.neighbors is POLICY.budget.neighbors
    assert f"{loan}" == repr(loan) == "Loan(cost; at most 2 rows of each id)"
    with pytest.raises(ParameterError, match="no column 'name'; there are cost"):
        loan.keys("name")


def test_rows_that_were_read_show_public_facts_alone(db: Database, loan: Loan) -> None:
    rows = loan.read(db.ledger.reserve(Pure(1), loan.entry("a test")))
    assert rows.columns["cost"].tolist() == [SECRET]
    assert str(SECRET) not in f"{rows!r}{rows}"
    assert not hasattr(rows, "__dict__")


def test_the_key_of_ranks_is_not_in_what_a_loan_shows(db: Database, loan: Loan) -> None:
    assert db._engine._emitter._key.hex() not in repr(loan) + repr(vars(Loan))  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_charging_reads_once_and_a_second_time_is_found_again(kind: str, tmp_path: Path) -> None:
    ledger = MemoryLedger(POLICY) if kind == "memory" else SQLiteLedger(tmp_path / "clinic.sqlite", POLICY)
    with ledger, Database(POLICY, DATA, ledger=ledger) as db:
        loan = db.table("visits").select("cost").rows()
        kept: list[Reservation] = []

        def run(paid: Reservation) -> Any:  # noqa: ANN401 - a release
            kept.append(paid)
            return NOISE.release(int(loan.read(paid).units.size))

        first, again = (charge(ledger, Pure(1), loan.entry("how many rows"), run) for _ in range(2))
        assert first == again
        assert len(kept) == 1
        assert ledger.remaining == Pure(8)
        with pytest.raises(LedgerError, match="has its answer already, and pays for nothing more; nothing was read"):
            loan.read(kept[0])


def outside(db: Database, loan: Loan) -> dict[str, tuple[Any, str]]:
    """What is no reservation that pays for the loan, and what is said."""
    ledger = db.ledger
    other = MemoryLedger(Policy(TABLES, epsilon=9, dataset="other"))
    theirs = other.reserve(Pure(1), Entry("theirs", ("visits",), kind="method"))
    own = ledger.reserve(Pure(1), loan.entry("ours"))
    left = Session.open(ledger, Pure(1), loan.entry("left", kind="session"))
    step_of_left = left.reserve(Pure(1), loan.entry("step"))
    left.leave()
    closed = Session.open(ledger, Pure(1), loan.entry("closed", kind="session"))
    step_of_closed = closed.reserve(Pure("0.5"), loan.entry("step"))
    closed.close()
    held = Session.open(ledger, Pure(1), loan.entry("held", kind="session"))
    answered = held.reserve(Pure("0.5"), loan.entry("step"))
    held.record(answered, NOISE.release(1))
    elsewhere = held.reserve(Pure("0.1"), Entry("others", ("others",)))
    narrow = Session.open(ledger, Pure(1), Entry("narrow", ("others",), kind="session"))
    db.__dict__["kept"] = [closed, held, narrow]  # they are there while the test runs
    forged = replace(own, number=0)
    return {
        "nothing": (None, "it must be what `reserve` gave"),
        "a number": (1, "it must be what `reserve` gave"),
        "of another ledger": (theirs, "no reservation of this database's ledger"),
        "without a head": (replace(own, head=""), "no reservation of this database's ledger"),
        "with a head that is none": (replace(own, head="9" * 30 + ":x"), "no reservation of this database's ledger"),
        "of no entry": (replace(own, number=10**6), "no reservation of this database's ledger"),
        "of an entry that pays nothing": (forged, "no reservation of this database's ledger"),
        "for another table": (ledger.reserve(Pure(1), Entry("x", ("others",), kind="method")), "pays for others, not"),
        "for no table": (ledger.reserve(Pure(1), Entry("y", (), kind="method")), "pays for no table, not for visits"),
        "a session that was left": (left, "was left here"),
        "a step of a session that was left": (step_of_left, "was left here"),
        "a step of a session that was closed": (step_of_closed, "was left here"),
        "a step that has its answer": (answered, "has its answer already"),
        "a step for another table": (elsewhere, "pays for others, not for visits"),
        "a session for another table": (narrow, "pays for others, not for visits"),
        "a step in a session for another table": (narrow.reserve(Pure(1), loan.entry("step")), "pays for others"),
    }


def test_outside_of_its_reservation_nothing_is_read(db: Database, loan: Loan, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = outside(db, loan)
    before = db.ledger.head
    monkeypatch.setattr(db._engine, "_results", Untouched())
    monkeypatch.setattr(db._engine, "_store", Untouched())
    for what, (paid, said) in cases.items():
        for read in (loan.read, lambda paid: loan.batches(paid, rows=2)):
            with pytest.raises((LedgerError, ParameterError), match=said) as raised:
                read(paid)
            assert str(SECRET) not in str(raised.value), what
    assert db.ledger.head == before  # nothing was spent, nothing lost


def test_inside_of_a_session_steps_and_the_session_itself_read(db: Database, loan: Loan) -> None:
    """The partner: what stands in the way above gives way to who has paid."""
    with Session.open(db.ledger, Pure(1), loan.entry("held", kind="session")) as session:
        step = session.reserve(Pure("0.5"), loan.entry("step"))
        assert all(loan.read(paid).columns["cost"].tolist() == [SECRET] for paid in (session, step))
    with Session.open(db.ledger, Pure(1), loan.entry("held", kind="session")) as again:
        resumed = again.reserve(Pure("0.5"), loan.entry("step"))
        assert resumed.number == step.number
        assert loan.read(resumed).columns["cost"].tolist() == [SECRET]


def test_a_session_that_is_over_or_was_taken_over_reads_nothing(tmp_path: Path) -> None:
    with SQLiteLedger(tmp_path / "clinic.sqlite", POLICY) as ledger, Database(POLICY, DATA, ledger=ledger) as db:
        loan = db.table("visits").select("cost").rows()
        with Session.open(ledger, Pure(1), loan.entry("short", kind="session"), most_parts=1) as session:
            step = session.reserve(Pure("0.5"), loan.entry("step"))
            session.append([NOISE.release(1)])
            with pytest.raises(LedgerError, match="is over: it has its 1 parts"):
                loan.read(step)
        with (
            SQLiteLedger(tmp_path / "clinic.sqlite", POLICY) as second,
            Session.open(second, Pure(1), loan.entry("theirs", kind="session")) as session,
        ):
            with pytest.raises(LedgerError, match="no reservation of this database's ledger"):
                loan.read(session)
            step = session.reserve(Pure("0.5"), loan.entry("step"))
            with pytest.raises(LedgerError, match="is not held by this program"):
                loan.read(step)


def test_after_an_edit_of_the_policy_nothing_is_read(tmp_path: Path) -> None:
    with SQLiteLedger(tmp_path / "clinic.sqlite", POLICY) as ledger, Database(POLICY, DATA, ledger=ledger) as db:
        loan = db.table("visits").select("cost").rows()
        paid = ledger.reserve(Pure(1), loan.entry("before"))
        SQLiteLedger(tmp_path / "clinic.sqlite", Policy(TABLES, epsilon=9, dataset="clinic", version="2")).close()
        with pytest.raises(LedgerError, match="the policy was edited"):
            loan.read(paid)


def test_after_the_owner_s_check_was_withdrawn_nothing_is_read() -> None:
    """Rows that are believed to be one of each unit are not limited: that must hold still when they are read."""
    policy = Policy([Table("visits", unit="id", unique=["id"], columns=[Column("cost", lower=0, upper=9)])], epsilon=9)
    ledger = MemoryLedger(policy)
    ledger.note("check", "final", {"tables": ["visits"], "final": True})
    with Database(policy, {"visits": DATA["visits"]}, ledger=ledger) as db:
        loan = db.table("visits").select("cost").rows()
        paid = ledger.reserve(Pure(1), loan.entry("a test"))
        assert loan.read(paid).rows_per_unit == 1
        ledger.note("check", "withdrawn", {"tables": [], "final": True})
        with pytest.raises(LedgerError, match="the owner's check, on which these rows rely, was withdrawn"):
            loan.read(paid)


def test_a_loan_that_takes_too_long_stays_spent_and_the_owner_is_told(
    db: Database, loan: Loan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object, **__: object) -> None:
        db._engine._expired = True  # type: ignore[attr-defined]

    monkeypatch.setattr(db._engine, "_results", late)
    with pytest.raises(TimeLimitError):
        charge(db.ledger, Pure(1), loan.entry("late"), lambda paid: NOISE.release(loan.read(paid).units.size))
    assert db.remaining == Pure(8)
    assert len([*db.ledger.entries(kind="stopped")]) == 1


def test_who_may_not_release_gets_no_loan() -> None:
    policy = Policy(TABLES, epsilon=9, analysts=[Analyst("ann", tables=["others"])])
    with Database(policy, DATA, analyst="ann") as db:
        with pytest.raises(ParameterError, match="analyst 'ann' may not release anything about visits"):
            db.table("visits").select("cost").rows()
        assert db.table("others").select("cost").rows().entry("x").analyst == "ann"


def test_a_failing_engine_says_nothing_about_the_rows(
    db: Database, loan: Loan, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = ["SELECT CAST('x' || max(cost) AS INTEGER) FROM temp.\"frame visits\""]
    monkeypatch.setattr(db._engine, "_results", lambda *_, take=None: DuckDB._results(db._engine, bad, take=take))  # type: ignore[arg-type]
    for read in (loan.read, lambda paid: loan.batches(paid, rows=2)):
        with pytest.raises(EngineError) as raised:
            read(db.ledger.reserve(Pure(1), loan.entry("a test")))
        assert raised.value.__cause__ is raised.value.__context__ is None
        assert str(SECRET) not in "".join(traceback.format_exception(raised.value))


def test_batches_keep_the_doors_of_a_loan(db: Database, loan: Loan) -> None:
    """Nothing of them is shown; they are given as long as the reservation pays, and removed when they are closed."""
    paid = db.ledger.reserve(Pure(1), loan.entry("a test"))
    with loan.batches(paid, rows=2) as batches:
        for way in WAYS:
            if way not in {list, sorted, dict}:
                with pytest.raises(TypeError, match=r"batches of private rows are not|not JSON|__dict__|not iterable"):
                    way(batches)
        assert f"{batches}" == repr(batches) == "Batches(cost; at most 2 rows of each id)"
        folder = batches._path
        assert oct(folder.stat().st_mode & 0o777) == "0o700"
        assert {oct(file.stat().st_mode & 0o777) for file in folder.iterdir()} == {"0o600"}
        left = iter(batches)
        assert [batch.columns["cost"].tolist() for batch in batches] == [[SECRET]]
        db.ledger.record(paid, NOISE.release(1))
        with pytest.raises(LedgerError, match="has its answer already, and pays for nothing more; nothing was read"):
            next(left)
    assert not folder.exists()
    with pytest.raises(ParameterError, match="the batches were closed, and their rows removed"):
        next(iter(batches))
    with pytest.raises(ParameterError, match="rows is 1"):  # a unit has two
        loan.batches(db.ledger.reserve(Pure(1), loan.entry("another")), rows=1)


def test_batches_that_do_not_fit_on_the_disk_say_nothing_and_leave_nothing(
    db: Database, loan: Loan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(SECRET)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(Batches, "_keep", full)
    with pytest.raises(EngineError) as raised:
        loan.batches(db.ledger.reserve(Pure(1), loan.entry("a test")), rows=2)
    assert str(SECRET) not in "".join(traceback.format_exception(raised.value))
    del raised
    gc.collect()
    assert not [*tmp_path.iterdir()]


def test_an_odd_cell_of_a_plain_array_is_no_error_that_tells_of_it() -> None:
    class Odd:
        def __float__(self) -> float:
            raise ValueError(SECRET)

        __eq__ = __hash__ = __float__  # type: ignore[assignment]

    columns = [Column("cost", lower=0, upper=9), Column("ward", keys=["a"])]
    rows = BoundedRows.of({"cost": [Odd()], "ward": [Odd()]}, columns, units=[7])
    assert (rows.columns["cost"].tolist(), rows.columns["ward"].tolist()) == ([0], [1])
    with pytest.raises(DiscreetError):
        BoundedRows.of({"cost": Odd(), "ward": [1]}, columns)
