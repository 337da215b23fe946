"""One database for many: the same source and ledger, each with their own rights and budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BudgetError, EngineError, ParameterError
from discreet.ledgers import SQLiteLedger
from discreet.privacy import Pure
from discreet.tables import Analyst, Column, Policy, Purpose, Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VISITS = Table("visits", unit="id", rows_per_unit=2, columns=[Column("cost", lower=0, upper=100)])
STAFF = Table("staff", row_is_unit=True, columns=[Column("age", lower=0, upper=100)])
POLICY = Policy(
    [VISITS, STAFF],
    epsilon=30,
    dataset="hospital",
    analysts=[Analyst("ann", epsilon=2), Analyst("bob", tables=["staff"])],
    purposes=[Purpose("research"), Purpose("planning", epsilon=1)],
)
ROWS = {"visits": pa.table({"id": range(900), "cost": [7] * 900}), "staff": pa.table({"age": [40] * 90})}
COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[dp.Database]:
    with dp.Database(POLICY, ROWS, ledger=tmp_path / "hospital.ledger.sqlite", purpose="research") as opened:
        yield opened


def test_budgets_and_rights_are_those_of_whom_it_is_for(db: dp.Database) -> None:
    ann, bob = db.as_("ann", "research"), db.as_("bob", "planning")
    ann.sql(COUNT).release(epsilon="1.5")
    assert (ann.remaining, bob.remaining, db.as_("ann", "planning").remaining) == (Pure("0.5"), Pure(1), Pure("0.5"))
    with pytest.raises(BudgetError, match="budget of analyst ann"):
        ann.sql("SELECT SUM(cost) AS s FROM visits").release(epsilon=1)
    with pytest.raises(ParameterError, match="'bob' may not"):
        bob.sql(COUNT)
    with pytest.raises(BudgetError, match="budget of purpose planning"):
        bob.sql("SELECT COUNT(*) AS n FROM staff").release(epsilon=2)
    with pytest.raises(ParameterError, match="None may not"):  # the first one is nobody's as before
        db.sql(COUNT)
    (line,) = db.ledger.entries(kind="reserved")
    assert (line.analyst, line.purpose) == ("ann", "research")


@pytest.mark.parametrize(
    "analyst, purpose, refusal",
    [
        ("eve", "research", "analyst is 'eve'; the policy's analysts are ann, bob"),
        ("ann", "gossip", "purpose is 'gossip'; the policy's purposes are"),
        ("ann", None, "purpose is None; the policy's purposes are"),
        (7, "research", "analyst is 7"),
        ("ann", 7, "purpose is 7"),
    ],
)
def test_a_stranger_and_a_strange_purpose_are_refused_as_at_the_opening(
    db: dp.Database, analyst: str, purpose: str, refusal: str
) -> None:
    with pytest.raises(ParameterError, match=refusal):
        db.as_(analyst, purpose)
    with pytest.raises(ParameterError, match=refusal):
        dp.Database(POLICY, ROWS, analyst=analyst, purpose=purpose)


def test_it_opens_nothing_and_closes_nothing(db: dp.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.database.open_engine", lambda *_, **__: pytest.fail("a source was opened"))
    monkeypatch.setattr("discreet.database.open_ledger", lambda *_, **__: pytest.fail("a ledger was opened"))
    with db.as_("ann", "research") as ann:
        assert ann.ledger is db.ledger
    ann.close()
    assert db.as_("ann", "research").as_("ann", "planning").sql(COUNT).release(epsilon=1).cost == Pure(1)


def test_it_ends_with_the_database_that_it_is_of(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "hospital.ledger.sqlite", POLICY)
    with dp.Database(POLICY, ROWS, ledger=ledger, purpose="research") as db:
        question = db.as_("ann", "research").sql(COUNT)
    with pytest.raises(EngineError, match="does not answer; nothing was spent"):
        question.release(epsilon=1)
    assert ledger.remaining == Pure(30)
    ledger.close()
