"""A database ends averaging twice: the same question has one answer, and other questions run out of budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.checks.attacks import Target, averaging, differencing
from discreet.database import Database
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

SICK = "SELECT COUNT(*) AS n FROM people WHERE sick = 'yes'"
SPELLINGS = [
    SICK,
    "select count(*) n from people where sick = 'yes'",
    "SELECT COUNT(*) AS n FROM people AS p WHERE p.sick IN ('yes')",
    "SELECT COUNT(*) AS n FROM people WHERE 'yes' = sick",
    "SELECT COUNT(*) AS how_many FROM (SELECT sick FROM people) AS t WHERE sick = 'yes'",
]


@pytest.fixture
def db() -> Iterator[Database]:
    people = Table(
        "people",
        unit="id",
        unique=["id"],
        columns=[Column("sick", keys=["no", "yes"]), Column("age", lower=0, upper=99)],
    )
    data = pa.table({"id": range(100), "sick": ["yes", "no"] * 50, "age": range(100)})
    with Database(Policy([people], epsilon=1), {"people": data}, ledger="memory") as found:
        yield found


def ask(db: Database, sql: str, price: str) -> float:
    (row,) = db.sql(sql).release(epsilon=price).to_dicts()
    return float(next(iter(row.values())))


def test_a_question_in_any_spelling_has_one_answer_and_one_cost(db: Database) -> None:
    found = averaging(lambda sql: ask(db, sql, "1/2"), SPELLINGS * 3, truth=50)
    assert (found.answered, found.different, found.refused) == (15, 1, 0)
    assert str(db.remaining) == "Pure(epsilon=0.5)"


def test_other_questions_with_the_same_answer_run_out_of_budget(db: Database) -> None:
    questions = [f"{SICK} AND age < {100 + extra}" for extra in range(6)]
    found = averaging(lambda sql: ask(db, sql, "1/4"), questions, truth=50)
    assert (found.answered, found.refused) == (4, 2)


def test_differencing_runs_out_of_budget(db: Database) -> None:
    targets = [Target(str(age), SICK, f"{SICK} AND NOT age = {age}", secret=age % 2 == 0) for age in range(8)]
    found = differencing(lambda sql: ask(db, sql, "1/4"), targets)
    assert found.refused == 5  # one answer for everybody, and three without somebody
