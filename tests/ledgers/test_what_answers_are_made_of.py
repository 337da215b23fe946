"""Who is shown an answer is charged for it, and an answer promises what all its releases promise."""

from __future__ import annotations

import pyarrow as pa
import pytest

from discreet.database import Database
from discreet.errors import BudgetError, ParameterError
from discreet.ledgers import MemoryLedger
from discreet.privacy import Pure
from discreet.tables import Policy

TOML = """
[budget]
epsilon = 20
[analysts.ann]
epsilon = 9
[analysts.bob]
epsilon = 1
[tables.t]
unit = "id"
rows_per_unit = 1
[tables.t.columns]
x = { lower = 0, upper = 1000, type = "float" }
"""
COUNT = "SELECT COUNT(*) AS n FROM t"
SUM = "SELECT SUM(x) AS s FROM t"
POLICY = Policy.from_toml(TOML)
ROWS = {"t": pa.table({"id": list(range(500)), "x": [40.0 + (k % 20) for k in range(500)]})}


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger(POLICY)


def opened(ledger: MemoryLedger, analyst: str) -> Database:
    return Database(POLICY, ROWS, ledger=ledger, analyst=analyst)


def test_questions_of_several_analysts_are_not_asked_together(ledger: MemoryLedger) -> None:
    with opened(ledger, "ann") as ann, opened(ledger, "bob") as bob:
        with pytest.raises(ParameterError, match="several analysts"):
            ann.ask_all([ann.sql(COUNT), bob.sql(COUNT)])
        assert ledger.remaining == Pure(20)


def test_bounds_that_another_bought_are_not_taken_unless_the_question_fits_as_well(ledger: MemoryLedger) -> None:
    with opened(ledger, "ann") as ann, opened(ledger, "bob") as bob:
        ann.sql(SUM).narrowed(epsilon="0.9")
        with pytest.raises(BudgetError, match="Nothing was spent"):
            bob.sql(SUM).release(epsilon="1.125", narrow="0.8")
        assert bob.remaining == Pure(1)
        bounds = bob.sql(SUM).release(epsilon=1, narrow="0.9").bounds
        assert bounds is not None
        assert bounds.repeated
        assert bob.remaining == Pure(0)


def test_an_answer_of_several_releases_promises_all_of_them(ledger: MemoryLedger) -> None:
    with opened(ledger, "ann") as ann:
        ann.sql(COUNT).release(epsilon=1)
        assert ann.sql(COUNT).release(epsilon=2).promise == "ε = 2 + ε = 1"
        again = ann.sql(COUNT).release(epsilon="0.5")
        assert again.promise == "ε = 2 + ε = 1"
        assert "made of 2 releases" in str(again)


def test_a_narrowed_answer_of_stored_releases_promises_what_these_did(ledger: MemoryLedger) -> None:
    with opened(ledger, "ann") as ann:
        assert ann.sql(SUM).release(epsilon=2, narrow="0.5").promise == "ε = 2"
        assert ann.sql(SUM).release(epsilon="0.5", narrow="0.5").promise == "ε = 1 + ε = 1"
