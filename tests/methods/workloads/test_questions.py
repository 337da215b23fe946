"""Workloads of a database: exact cells, one price, totals that are the sums of their parts."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from discreet.database import Database
from discreet.errors import BudgetError, ParameterError, QueryRefused
from discreet.methods.workloads.axes import axis_of
from discreet.methods.workloads.compiled import asked
from discreet.plans import plan_sql
from discreet.plans.sql.grouping_sets import grouping_sets
from discreet.privacy import NeighborRelation, Pure
from discreet.tables import Analyst, Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.plans.expressions import Expression

COLUMNS = [
    Column("ward", keys=["a", "b"]),
    Column("age", lower=0, upper=9, type="integer"),
    Column("sex", keys=["f", "m"]),
    Column("cost", lower=0, upper=500),
]
ROWS = 2400
DATA = pa.table(
    {
        "id": range(ROWS),
        "ward": [["a", "b", "c", None, "a"][row % 5] for row in range(ROWS)],
        "age": [None if row % 11 == 10 else row % 11 for row in range(ROWS)],
        "sex": [["f", "m", "x"][row % 3] for row in range(ROWS)],
        "cost": [float(row % 200) for row in range(ROWS)],
    }
)
SURE = 400  # epsilon: noise of more than 1 has a chance below 1e-80


def database(rows: int = 1, **settings: Any) -> Database:  # noqa: ANN401 - as a policy takes them
    visits = Table("visits", unit="id", rows_per_unit=rows, columns=COLUMNS)
    chosen: dict[str, Any] = {"epsilon": 10**5, **settings}
    return Database(Policy([visits], **chosen), {"visits": DATA})


SINGLE = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT sex, ward, COUNT(*) AS n FROM visits WHERE age < 5 GROUP BY sex, ward",
    "SELECT COUNT(*) AS n FROM visits WHERE cost < 50 AND age BETWEEN 2 AND 7",
    "SELECT COUNT(*) AS n FROM visits WHERE cost >= 100 AND ward = 'a'",
    "SELECT age // 2 AS half, COUNT(*) AS n FROM visits GROUP BY age // 2",
    "SELECT age, COUNT(*) AS n FROM visits WHERE age IN (1, 3, 5) GROUP BY age",
    "SELECT COUNT(*) AS n FROM visits WHERE NOT (cost > 20 OR cost < 10)",
]
ALONE = [
    "SELECT COUNT(*) AS n FROM visits WHERE ward <> 'a'",
    "SELECT COUNT(*) AS n FROM visits WHERE age IS NULL",
    "SELECT COUNT(*) AS n FROM visits WHERE ward LIKE 'a%'",
]


def by_groups(rows: Sequence[Mapping[str, object]]) -> dict[tuple[str, ...], int]:
    """Counts, rounded, by what else stands in a row."""
    return {
        tuple(sorted(f"{name}={value}" for name, value in row.items() if name != "n")): round(float(str(row["n"])))
        for row in rows
    }


@pytest.mark.slow
def test_all_questions_together_get_the_same_counts_as_each_alone() -> None:
    with database() as db:
        together = db.workload(SINGLE).release(epsilon=SURE)
        for text, table in zip(SINGLE, together, strict=True):
            alone = db.sql(text).release(epsilon=SURE).to_dicts()
            assert by_groups(table.to_dicts()) == by_groups(alone), text


@pytest.mark.parametrize("text", ALONE)
def test_conditions_on_unlisted_values_count_them(text: str) -> None:
    with database() as db:
        alone = db.sql(text).release(epsilon=SURE).to_dicts()
        assert by_groups(db.workload([text]).release(epsilon=SURE)[0].to_dicts()) == by_groups(alone)


@pytest.mark.parametrize("settings", [{}, {"delta": 1e-6}, {"neighbors": NeighborRelation.CHANGE_ONE}])
@pytest.mark.parametrize("others", [[], ["SELECT COUNT(*) AS n FROM visits WHERE cost < 9"]])
def test_totals_are_exactly_the_sums_of_their_parts(settings: dict[str, Any], others: list[str]) -> None:
    text = "SELECT ward, sex, age, COUNT(*) AS n FROM visits GROUP BY CUBE (ward, sex, age)"
    with database(**settings) as db:
        rows = db.workload([text, *others]).release(epsilon=1)[0].to_dicts()
    assert len(rows) == 3 * 3 * 11
    finest = [row for row in rows if None not in row.values()]
    for total in (row for row in rows if None in row.values()):
        parts = [
            row for row in finest if all(value in (None, row[name]) for name, value in total.items() if name != "n")
        ]
        assert total["n"] == sum(part["n"] for part in parts)


def test_a_cube_costs_what_its_finest_groups_cost_and_errs_no_more() -> None:
    text = "SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY {}"
    with database(rows=3) as db:
        cube = db.workload([text.format("CUBE (ward, sex)")])
        plain = db.sql(text.format("ward, sex"))
        before = db.remaining
        answer = cube.release(epsilon=1)
        between = db.remaining
        plain.release(epsilon=1)
        assert before.epsilon - between.epsilon == between.epsilon - db.remaining.epsilon == 1  # type: ignore[union-attr]
        assert max(answer[0].error(0.95)[:4]) == plain.preview(epsilon=1).errors["n"]
        assert cube.preview(epsilon=1).plan.noise.sensitivity == 3


FORMS = ["{c} < {a}", "{c} >= {a}", "{c} = {a}", "{c} <> {a}", "NOT ({c} <= {a} OR {c} > {b})", "{c} IN ({a}, {b})"]
FORMS += [
    "{c} BETWEEN {a} AND {b}",
    "({c} IS NULL OR {c} < {b})",
    "CASE WHEN {c} < {a} THEN 1 WHEN {c} > {b} THEN 2 END = 2",
]
VALUES: dict[str, list[Any]] = {
    "age": list(range(-2, 12)),
    "cost": [place / 4 for place in range(-4, 24)],
    "day": [dt.date(2024, 1, 1) + dt.timedelta(days=place) for place in range(12)],
    "name": ["a", "b", "c", "d", ""],
}


@pytest.mark.parametrize("column", VALUES)
@pytest.mark.parametrize("seed", range(8))
def test_cells_say_of_every_value_what_all_conditions_say(column: str, seed: int) -> None:
    random, values = Random(seed), VALUES[column]
    columns = [*COLUMNS[1:2], Column("cost", type="float", lower=0, upper=5), Column("name", type="text")]
    columns.append(Column("day", type="date", lower="2024-01-01", upper="2024-01-12"))
    policy = Policy([Table("t", row_is_unit=True, columns=columns)], epsilon=1)
    conditions: list[Expression] = []
    for form in random.sample([0, 2, 3, 5] if column == "name" else range(len(FORMS)), 4):
        a, b = (f"DATE '{one}'" if column == "day" else repr(one) for one in sorted(random.sample(values, 2)))
        text = FORMS[2 if column == "name" and form == 0 else form].format(c=column, a=a, b=b)
        read = asked(plan_sql(policy, f"SELECT COUNT(*) AS n FROM t WHERE {text}"))
        (listed,) = read.conditions.values()
        conditions += listed
    axis = axis_of(column, read.base.schema, [], conditions, rest=True)
    for value in [None, *values]:
        cell: Any = axis.key.evaluate({column: value})
        for condition in conditions:
            there = cell is not None and bool(axis.holds(condition)[cell])
            assert there == (condition.evaluate({column: value}) is True), (value, condition)


def test_counts_that_share_a_price_are_planned_together() -> None:
    asked = [SINGLE[0], "SELECT sex, ward, COUNT(*) AS n FROM visits GROUP BY sex, ward", SINGLE[1]]
    with database(rows=2) as db:
        together = db.ask_all(asked)
        previews = together.preview(epsilon=1)
        assert [preview.promise for preview in previews] == ["ε = 1"] * 3
        assert [preview.cost for preview in previews] == [Pure(1), Pure(0), Pure(0)]
        alone = [db.sql(text).preview(epsilon="1/3").errors["n"] or 0 for text in asked]
        errors = [preview.errors["n"] or 0 for preview in previews]
        assert errors[0] * errors[1] * errors[2] < alone[0] * alone[1] * alone[2] / 2
        before = db.remaining
        total, both, wards = together.release(epsilon=1)
        assert before.epsilon - db.remaining.epsilon == 1  # type: ignore[union-attr]
        assert [list(row.values())[:2] for row in both.to_dicts()] == [["f", "a"], ["f", "b"], ["m", "a"], ["m", "b"]]
        again = together.release(epsilon=1)
        assert [table.to_dicts() for table in again] == [table.to_dicts() for table in (total, both, wards)]
        assert "nothing charged" in str(again[0])
        assert both.to_pandas(errors=True)["n_error"].tolist() == pytest.approx([errors[1]] * 4)
        sure = db.ask_all(asked).release(epsilon=SURE)
        for text, table in zip(asked, sure, strict=True):
            assert by_groups(table.to_dicts()) == by_groups(db.sql(text).release(epsilon=SURE).to_dicts()), text


@pytest.mark.parametrize(
    "others, how",
    [
        (["SELECT SUM(cost) AS s FROM visits"], {}),
        ([SINGLE[1] + " ORDER BY n"], {}),
        ([SINGLE[1]], {"weights": [1, 2]}),
        ([SINGLE[0]], {}),
    ],
)
def test_what_is_not_better_together_is_asked_as_before(others: list[str], how: dict[str, Any]) -> None:
    with database() as db:
        asked = db.ask_all([SINGLE[0], *others])
        assert all(type(answer).__name__ == "Answer" for answer in asked.release(epsilon=1, **how))
        below = [f"SELECT COUNT(*) AS n FROM visits WHERE cost < {most}" for most in range(50, 450, 40)]
        assert "together" in str(db.ask_all(below).preview(epsilon=1)[0])
        db.sql(below[0]).release(epsilon=1)
        bought = db.ask_all(below).preview(epsilon=1)
        assert [preview.repeated for preview in bought] == [True] + 9 * [False]  # what was paid for stays free


def test_a_release_is_shown_again_in_the_order_of_other_keys() -> None:
    asked = [
        "SELECT {}, COUNT(*) AS n FROM visits WHERE age < 5 GROUP BY {}".format(*2 * [keys])
        for keys in ("ward, sex", "sex, ward")
    ]
    with database() as db:
        first, again = (db.workload([text]).release(epsilon=SURE) for text in asked)
        assert first.released == again.released
        assert by_groups(first[0].to_dicts()) == by_groups(again[0].to_dicts())
        assert [row["sex"] for row in again[0].to_dicts()] == ["f", "f", "m", "m"]


def test_rows_per_unit_and_relations_scale_the_noise() -> None:
    def scale(rows: int, **settings: Any) -> float:  # noqa: ANN401 - as a policy takes them
        with database(rows=rows, **settings) as db:
            found = db.workload(SINGLE[:2]).plan(1)
            return float(found.noise.scale)  # type: ignore[union-attr]

    assert scale(4) == 4 * scale(1)
    assert scale(4, neighbors=NeighborRelation.CHANGE_ONE) == 8 * scale(1)


def test_previews_are_free_and_releases_are_charged_once() -> None:
    with database(epsilon=3) as db:
        asked = db.workload(SINGLE[:3])
        preview = asked.preview(epsilon=1)
        assert preview.cost == Pure(1)
        assert preview.fits
        assert "charge: Pure(epsilon=1)" in str(preview)
        assert "cells" in asked.explain(epsilon=1)
        assert db.remaining == Pure(3)
        first, again = asked.release(epsilon=1), db.workload(SINGLE[:3]).release(epsilon=1)
        assert first.released == again.released
        assert first.charged == Pure(1)
        assert db.remaining == Pure(2)
        assert not db.workload(SINGLE[:2]).preview(epsilon=5).fits
        with pytest.raises(BudgetError):
            db.workload(SINGLE[:2]).release(epsilon=5)
        assert db.remaining == Pure(2)
        assert "± " not in repr(first[0])
        assert len(first[0:2]) == 2


def test_rho_and_delta_take_gaussian_noise() -> None:
    with database(delta=1e-5, epsilon=50) as db:
        ages = [f"SELECT COUNT(*) AS n FROM visits WHERE age <= {limit}" for limit in range(9)] + SINGLE[:3]
        found = db.workload(ages).plan(rho="0.5")
        assert type(found.noise).__name__ == "Gaussian"
        assert found.gap < 0.01
        assert len(db.workload(ages).release(rho="0.01")) == 12


def test_rights_are_asked_before_anything_is_said() -> None:
    visits = Table("visits", unit="id", rows_per_unit=1, columns=COLUMNS)
    people = Table("people", row_is_unit=True)
    policy = Policy([visits, people], epsilon=3, analysts=[Analyst("ann", tables=["people"])])
    data = {"visits": DATA, "people": pa.table({"x": [1]})}
    with Database(policy, data, analyst="ann") as db, pytest.raises(ParameterError, match="may not explain"):
        db.workload(SINGLE[:2])


@pytest.mark.parametrize(
    "questions, says",
    [
        (["SELECT AVG(cost) AS n FROM visits"], "counts of rows"),
        (["SELECT COUNT(cost) AS n FROM visits"], "counts of rows"),
        (["SELECT COUNT(DISTINCT id) AS n FROM visits"], "counts of rows"),
        (["SELECT COUNT(*) + 1 AS n FROM visits"], "nothing computed"),
        (["SELECT COUNT(*) AS n FROM visits WHERE age < 3 OR ward = 'a'"], "about age, ward"),
        (["SELECT id, COUNT(*) AS n FROM visits GROUP BY id"], "no single unit"),
        (["SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 3"], "all of its groups"),
        (["SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", ALONE[0]], "the policy does not list"),
        (["SELECT COUNT(*) AS n FROM visits WHERE nothing = 1"], "nothing"),
    ],
)
def test_what_is_no_workload_is_refused_from_public_facts(questions: list[str], says: str) -> None:
    with database() as db:
        before = db.remaining
        with pytest.raises(QueryRefused, match=says):
            db.workload(questions).release(epsilon=1)
        assert db.remaining == before


@pytest.mark.parametrize("questions", [[], "SELECT COUNT(*) FROM visits", [3]])
def test_a_workload_is_a_list_of_texts(questions: object) -> None:
    with database() as db, pytest.raises(ParameterError, match="list of counting questions"):
        db.workload(questions)  # type: ignore[arg-type]


def test_empty_tables_and_single_values_get_answers() -> None:
    one = Table("t", row_is_unit=True, columns=[Column("x", keys=["only"])])
    for rows in ([], [None], ["only"]):
        with Database(Policy([one], epsilon=9), {"t": pa.table({"x": pa.array(rows, pa.string())})}) as db:
            answer = db.workload(["SELECT x, COUNT(*) AS n FROM t GROUP BY x", "SELECT COUNT(*) AS n FROM t"])
            assert [len(table) for table in answer.release(epsilon=1)] == [1, 1]


def test_grouping_sets_are_written_out() -> None:
    text = "SELECT a, b AS c, COUNT(*) AS n FROM t GROUP BY a, ROLLUP (b, (c, d))"
    assert [one.partition("GROUP BY ")[2] for one in grouping_sets(text)] == ["a, b, c, d", "a, b", "a"]
    sets = grouping_sets("SELECT a, COUNT(*) FROM t GROUP BY GROUPING SETS ((a, b), b, (), CUBE (a))")
    assert [one.partition("GROUP BY ")[2] for one in sets] == ["a, b", "b", "a", ""]
    assert grouping_sets("SELECT COUNT(*) FROM t") == ["SELECT COUNT(*) FROM t"]
    with pytest.raises(QueryRefused, match="more than 256"):
        grouping_sets("SELECT COUNT(*) FROM t GROUP BY CUBE (a, b, c, d, e, f, g, h, i)")
