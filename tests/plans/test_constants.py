"""Constants mean what is written, and a list, a cast or declared keys say as much about a column as they can."""

from __future__ import annotations

import pytest

from discreet.plans import plan_sql
from discreet.plans.expressions import Literal
from discreet.plans.sql.constants import folded
from discreet.plans.sql.reading import read_expression
from discreet.tables import Bounds, Column, Policy, Table

VISITS = Table(
    "visits",
    unit="id",
    rows_per_unit=2,
    columns=[
        Column("discount", type="float"),
        Column("code", type="integer"),
        Column("stars", keys=[1, 3, 5]),
        Column("ward", keys=["a", "b"]),
        Column("town", keys=["n", "s"], nullable=False),
    ],
)
POLICY = Policy([VISITS], epsilon=1, delta=1e-6)


@pytest.mark.parametrize(
    "written, value",
    [
        ("0.06 + 0.01", 0.07),
        ("0.06 - 0.01", 0.05),
        ("1.1 * 1.1", 1.21),
        ("-(0.1 + 0.2)", None),  # a sum stands within; it is read by itself
        ("0.1 + 0.2 + 0.3", 0.6),
        ("1 - 0.9", 0.1),
        ("2 + 3", None),
        ("1e308 * 10.0", None),
        ("x + 0.1", None),
    ],
)
def test_decimals_are_exact(written: str, value: float | None) -> None:
    constant = folded(read_expression(written)) if not written.startswith("-") else None
    assert (None if constant is None else constant.value) == value


def test_a_comparison_with_a_sum_of_decimals_keeps_its_end() -> None:
    """In doubles 0.06 + 0.01 is 0.06999999999999999, and a discount of 0.07 would be left out."""
    plan = plan_sql(POLICY, "SELECT COUNT(*) FROM visits WHERE discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01")
    (filtered,) = [node for node in plan.request.relation.walk() if type(node).__name__ == "Filter"]
    ends = {part.value for part in filtered.expressions[0].walk() if isinstance(part, Literal)}
    assert ends == {0.05, 0.07}


@pytest.mark.parametrize(
    "condition, bounds",
    [
        ("code IN (0, 1, 2)", Bounds(0, 2)),
        ("code IN (7, -3)", Bounds(-3, 7)),
        ("CAST(code AS BIGINT) IN (7, 20)", Bounds(7, 20)),
        ("code::INTEGER BETWEEN 7 AND 20", Bounds(7, 20)),
        ("discount IN (1, 2.5)", Bounds(1, "2.5")),
        ("code IN (1, 2.5)", Bounds(1, 2)),
    ],
)
def test_a_list_bounds_what_it_lists(condition: str, bounds: Bounds) -> None:
    column = "discount" if "discount" in condition else "code"
    plan = plan_sql(POLICY, f"SELECT SUM({column}) FROM visits WHERE {condition}")
    assert plan.request.relation.schema[column].bounds == bounds


def test_a_cast_to_the_same_kind_keeps_the_listed_keys() -> None:
    asked = "SELECT code, COUNT(*) FROM visits WHERE CAST(code AS BIGINT) IN (5, 6, 2000) GROUP BY code"
    assert plan_sql(POLICY, asked).aggregate.keys[0].known == (5, 6, 2000)


def test_keys_that_are_numbers_bound_sums_but_drop_no_row() -> None:
    plan = plan_sql(POLICY, "SELECT SUM(stars), COUNT(*) FROM visits")
    total = next(statistic for statistic in plan.aggregate.statistics if statistic.symbol == "moment")
    assert total.reach(plan.row_schema) == (0, 5)
    assert plan.request.relation.schema["stars"].bounds == Bounds()
