"""Questions of a grammar, answered on DuckDB in every shape an answer has: nothing fails, whatever the rows hold."""

from __future__ import annotations

from random import Random

import pytest

import discreet as dp
from discreet.tables import Policy
from tests.engines.databases import arrow_tables, typed_database
from tests.plans.grammar import Questions
from tests.plans.hospital import TOML, database

BUDGETS = {
    "zcdp": "epsilon = 9000\ndelta = 0.1",
    "approximate": 'epsilon = 9000\ndelta = 0.1\nfilter = "approximate"',
    "pure": "epsilon = 9000",
}


@pytest.mark.slow
@pytest.mark.parametrize("budget, units", [("zcdp", 12), ("approximate", 0), ("pure", 12)])
def test_every_accepted_question_is_answered(budget: str, units: int) -> None:
    policy = Policy.from_toml(TOML.replace("epsilon = 3\ndelta = 1e-6", BUDGETS[budget]))
    source = arrow_tables(policy, typed_database(policy, database(Random(units), units=units)))
    answers = 0
    with dp.Database(policy, source) as db:
        for seed in range(24):
            try:
                question = db.sql(Questions(Random(seed)).question())
                answer = question.release(epsilon=Random(seed).choice([0.1, 1, 10]))
            except dp.QueryRefused:
                continue
            answers += 1
            rows = answer.to_dicts()
            assert answer.to_arrow().num_rows == len(rows) == len(answer.errors(0.9))
            assert len(str(answer).splitlines()) == len(rows) + len(answer.notes()) + 2
            assert all(cell.error is None or cell.error >= 0 for row in answer.cells() for cell in row.values())
            question.preview(epsilon=1, expected_count=10)
    assert answers > 4
