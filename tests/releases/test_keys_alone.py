"""Keys without an aggregate: those that the policy lists are free, others are selected, and nothing else is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import QueryRefused
from discreet.mechanisms import PartitionSelection
from discreet.plans import plan_sql
from discreet.privacy.costs import cost_of
from discreet.releases.noise.protection import Price, Protection
from discreet.releases.noise.recipe import Recipe
from discreet.tables import Column, Policy, Table

if TYPE_CHECKING:
    from discreet.privacy.costs import Amount

COLUMNS = [
    Column("ward", keys=["cardiology", "surgery"]),
    Column("note", type="text"),
    Column("age", lower=0, upper=120),
]
VISITS = Table("visits", unit="id", rows_per_unit=3, columns=COLUMNS)
FILTERS = ["approximate", "zcdp", "best"]
ROWS = pa.table(
    {"id": ["a"] * 3 + [f"u{n}" for n in range(900)], "ward": ["surgery"] * 903, "age": [40] * 903}
    | {"note": ["alone", "alone too", "x"] + ["x", "y", "x"] * 300}
)


def policy(kept_by: str) -> Policy:
    return Policy([VISITS], epsilon=3, delta=1e-5, filter=kept_by)


def numbers(cost: Amount) -> list[object]:
    return list(cost.fields().values())


@pytest.mark.parametrize("kept_by", FILTERS)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT ward FROM visits",
        "SELECT ward FROM visits GROUP BY ward",
        "SELECT ward FROM visits WHERE age > 40 GROUP BY ALL",
        "SELECT DISTINCT UPPER(ward) AS ward FROM visits WHERE note = 'x'",
    ],
)
def test_known_keys_are_free_and_the_same_for_all_data(kept_by: str, sql: str) -> None:
    with (
        dp.Database(policy(kept_by), {"visits": ROWS}) as db,
        dp.Database(policy(kept_by), {"visits": ROWS[:0]}) as empty,
    ):
        answers = [database.sql(sql).release(epsilon=1) for database in (db, empty)]
        assert answers[0].to_dicts() == answers[1].to_dicts()
        assert [row["ward"].lower() for row in answers[0].to_dicts()] == ["cardiology", "surgery"]
        assert not any(numbers(answers[0].cost))
        assert db.remaining == empty.remaining
        assert db.sql(sql).preview(epsilon=1).promise == "ε = 0"


@pytest.mark.parametrize("kept_by", FILTERS)
def test_found_keys_cost_their_selection_and_nothing_else(kept_by: str) -> None:
    stated = policy(kept_by)
    plan = plan_sql(stated, "SELECT DISTINCT note FROM visits")
    protection = Protection.of(Recipe.of(plan), Price.read(stated, epsilon=1))
    alone = PartitionSelection(epsilon=1, delta=stated.release_delta, keys=3)
    assert protection.noises == ()
    assert protection.selection == alone
    assert protection.curve.delta(1.0) == alone.privacy.delta(1.0)
    if kept_by == "best":
        assert protection.cost == cost_of(alone.privacy, stated.certificates)
    if kept_by == "approximate":
        assert numbers(protection.cost) == [1, stated.release_delta]
    if kept_by == "zcdp":  # three coins of a third of epsilon each
        assert float(numbers(protection.cost)[0]) == pytest.approx(3 * (1 / 3) ** 2 / 2, rel=0.2)  # type: ignore[arg-type]


def test_what_one_unit_has_alone_is_not_shown() -> None:
    with dp.Database(policy("best"), {"visits": ROWS}) as db:
        shown = [row["note"] for row in db.sql("SELECT DISTINCT note FROM visits").release(epsilon=1).to_dicts()]
    assert shown == ["x", "y"]


def test_distinct_beside_an_aggregate_needs_all_keys() -> None:
    stated = policy("best")
    both = "SELECT DISTINCT ward, COUNT(*) FROM visits GROUP BY ward"
    assert plan_sql(stated, both).key == plan_sql(stated, both.replace("DISTINCT ", "")).key
    with pytest.raises(QueryRefused, match="DISTINCT would merge groups"):
        plan_sql(stated, "SELECT DISTINCT COUNT(*) FROM visits GROUP BY ward")
    with pytest.raises(QueryRefused, match="rows or keys"):
        plan_sql(stated, "SELECT 1 FROM visits")
