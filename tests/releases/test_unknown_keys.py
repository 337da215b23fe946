"""Groups that are found in the data: selected all at once, shown in the order of their keys with their own numbers."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Aggregates
from discreet.errors import ParameterError
from discreet.plans import plan_sql
from discreet.releases.asking.question import answered
from discreet.releases.noise.protection import Price, Protection
from discreet.releases.noise.recipe import Recipe
from discreet.tables import Column, Policy, Table
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from discreet.plans import Plan

COLUMNS = [
    Column("word", type="text"),
    Column("number", type="integer"),
    Column("day", keys=["mon", "sun"], null_key=True),
    Column("cost", lower=0, upper=100, nullable=False),
]
POLICY = Policy([Table("visits", row_is_unit=True, columns=COLUMNS)], epsilon=10**6, delta="0.1", filter="approximate")
EXACT = 10**5
"""An epsilon at which no noise is left."""

GROUPS: dict[str, list[tuple[Any, ...]]] = {  # several keys of a plan are in the order of their names
    "word": [("",), ("B",), ("a",), ("b",), ("é",), ("中",), ("😀",)],
    "number": [(-(2**62),), (-1,), (0,), (9,), (10,)],
    "number, word": [(-5, "b"), (-1, "a"), (2, "a"), (2, "b"), (10, "a")],
    "day, word": [("mon", "a"), ("sun", "a"), ("sun", "b"), (None, "a"), (None, "b")],
}


def asked(keys: str, measure: str = "COUNT(*)") -> Plan:
    return plan_sql(POLICY, f"SELECT {keys}, {measure} AS n FROM visits GROUP BY {keys}")


def rows_of(plan: Plan, aggregates: Aggregates, seed: int = 0) -> list[tuple[Any, ...]]:
    recipe = Recipe.of(plan)
    protection = Protection.of(recipe, Price.read(POLICY, epsilon=EXACT, delta="0.01"))
    answer = answered(recipe, protection, aggregates, bits=ReplayBits(seed))
    return [tuple(row.values()) for row in answer.to_dicts()]


def column(cells: list[Any]) -> Any:  # noqa: ANN401 - as an engine gives it
    return np.array(cells) if all(type(each) is int for each in cells) else cells


@pytest.mark.slow
@pytest.mark.parametrize("keys", GROUPS)
def test_groups_come_in_the_order_of_their_keys_whatever_the_engine_says(keys: str) -> None:
    plan, groups = asked(keys), GROUPS[keys]
    wanted = [(*group, 100 + place) for place, group in enumerate(groups)]
    orders = [*permutations(range(len(groups)))][:: max(1, len(groups) - 4) * 7]
    for order in orders:
        columns = [column([groups[place][key] for place in order]) for key in range(len(groups[0]))]
        numbers = [np.array([100 + place for place in order])] * len(plan.aggregate.statistics)
        found = Aggregates(plan.aggregate, columns, numbers, np.array([10**6] * len(groups)))
        assert rows_of(plan, found) == wanted
        assert sorted(found.unprotected_groups(), key=groups.index) == groups


def test_what_is_not_selected_is_not_there_and_moves_nothing() -> None:
    plan = asked("word")
    words, counts = ["z", "hidden", "a", "also hidden"], np.array([7, 1, 8, 1])
    units = np.array([10**6, 0, 10**6, 0])  # 0 units: never shown
    found = Aggregates(plan.aggregate, [words], [counts], units)
    assert rows_of(plan, found) == [("a", 8), ("z", 7)]


def test_keys_of_known_groups_are_not_read_as_found_ones() -> None:
    plan = asked("day")
    with pytest.raises(ParameterError, match="known"):
        Aggregates(plan.aggregate, None, [[[1]]] * 3, []).unprotected_keys(np.array([0]))


@pytest.mark.parametrize("measure", ["COUNT(*)", "SUM(cost)", "MEDIAN(cost)", "AVG(cost)"])
@pytest.mark.parametrize("keys", ["word", "number", "number, word", "day, word"])
def test_an_engine_gives_each_group_its_own_numbers(keys: str, measure: str) -> None:
    """Every group has values of its own: a number that went to another group would be seen."""
    draw = np.random.default_rng(1)
    labels = draw.permutation(np.repeat(np.arange(60), 50))
    words, numbers = [f"w{label % 30:02}" for label in labels], [int(label) // 2 - 7 for label in labels]
    days = [("mon", None, "sun")[label % 3] for label in labels]
    data = pa.table({"word": words, "number": numbers, "day": days, "cost": (labels % 30 * 3).tolist()})
    plan = asked(keys, measure)
    with DuckDB(POLICY, {"visits": data}) as engine:
        found = rows_of(plan, engine.prepare(plan.aggregate).run())
    cells: dict[str, list[Any]] = {"word": words, "number": numbers, "day": days}
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row, label in enumerate(labels.tolist()):
        groups.setdefault(tuple(cells[key][row] for key in keys.split(", ")), []).append(label % 30 * 3)
    true = {"COUNT(*)": len, "SUM(cost)": sum, "MEDIAN(cost)": np.median, "AVG(cost)": np.mean}[measure]
    assert [row[:-1] for row in found] == sorted(groups, key=lambda group: [(key is None, key or 0) for key in group])
    for *group, value in found:
        assert value == pytest.approx(float(true(groups[tuple(group)])), abs=1.5)  # type: ignore[operator]
