"""Keys of one column: only combinations that a row can have are shown, and wide keys are looked for in the data."""

from __future__ import annotations

import datetime as dt
import itertools
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table

COLUMNS = [
    Column("day", lower=dt.date(2023, 1, 1), upper=dt.date(2024, 6, 30)),
    Column("at", lower=dt.datetime(2023, 1, 1), upper=dt.datetime(2024, 6, 30)),  # noqa: DTZ001 - no zones
    Column("age", lower=0, upper=39, nullable=False),
    Column("ward", keys=["a", "b", "c"]),
    Column("zip", lower=0, upper=3999, nullable=False),
    Column("plot", lower=0, upper=3999, nullable=False),
]
POLICY = Policy([Table("visits", unit="id", rows_per_unit=3, columns=COLUMNS)], epsilon=3, delta=1e-5)
DAYS = [dt.date(2023, 1, 1) + dt.timedelta(days=number) for number in range(547)]

CASES = [
    ("YEAR(day), DATE_TRUNC('month', day)", 18),
    ("YEAR(at), MONTH(at)", 18),
    ("STRFTIME(at, '%Y'), STRFTIME(at, '%m')", 18),
    ("age // 10, age // 20", 4),
    ("CASE WHEN age < 10 THEN 1 ELSE 2 END, CASE WHEN age < 10 THEN 'x' ELSE 'y' END", 2),
    ("ward, CASE ward WHEN 'a' THEN 'A' ELSE 'other' END", 3),
    ("age // 20, ward", 6),
    ("YEAR(day), HOUR(at)", 48),
    ("YEAR(at), HOUR(at)", 48),
    ("age // 10, age // 20, YEAR(day), QUARTER(day)", 4 * 6),
]


def shown(keys: str) -> list[tuple[object, ...]]:
    at = dt.datetime(2023, 1, 1)  # noqa: DTZ001 - no zones
    cells = {"id": "p", "day": DAYS[0], "at": at, "age": 3, "ward": "a", "zip": 1, "plot": 1}
    rows = pa.Table.from_pylist([cells])
    with dp.Database(POLICY, {"visits": rows}) as db:
        answer = db.sql(f"SELECT {keys}, COUNT(*) AS n FROM visits GROUP BY ALL ORDER BY ALL").release(epsilon=1)
        return [tuple(row.values())[:-1] for row in answer.to_dicts()]


@pytest.mark.parametrize("keys, groups", CASES, ids=[case[0] for case in CASES])
def test_only_combinations_that_occur_are_shown(keys: str, groups: int) -> None:
    found = shown(keys)
    assert len(found) == len(set(found)) == groups


def test_every_row_that_may_be_there_is_in_a_group_that_is_shown() -> None:
    """For all days and ages: a wrong test would leave a group with rows out."""
    keys = "YEAR(day) AS y, DATE_TRUNC('month', day) AS m, DAYNAME(day) AS d, age // 10 AS a, age % 3 AS b"
    plan = plan_sql(POLICY, f"SELECT {keys}, COUNT(*) FROM visits GROUP BY ALL")
    names = [plan.key_column(name) for name, _ in plan.request.keys]
    order = [key.column for key in plan.aggregate.keys]
    expressions = [dict(plan._computed.columns)[name] for name in order]
    assert sorted(names) == sorted(order)
    for day, age in itertools.product(DAYS[::7] + DAYS[-3:], range(40)):
        row: dict[str, Any] = {"day": day, "age": age}
        assert plan.possible(tuple(expression.evaluate(row) for expression in expressions))


def test_a_wide_key_is_looked_for_in_the_data() -> None:
    plan = plan_sql(POLICY, "SELECT zip, plot, COUNT(*) FROM visits GROUP BY zip, plot")
    assert sorted(key.known is None for key in plan.aggregate.keys) == [False, True]
    assert plan.aggregate.groups_per_unit == 3
    without = Policy([Table("visits", unit="id", rows_per_unit=3, columns=COLUMNS)], epsilon=3)
    with pytest.raises(QueryRefused, match="16000000 groups"):
        plan_sql(without, "SELECT zip, plot, COUNT(*) FROM visits GROUP BY zip, plot")


def test_keys_of_the_policy_are_never_looked_for() -> None:
    """Values that a policy does not list would become groups."""
    wide = [Column(name, keys=[f"{name}{number}" for number in range(400)]) for name in ("a", "b")]
    policy = Policy([Table("t", unit="id", rows_per_unit=3, columns=wide)], epsilon=3, delta=1e-5)
    with pytest.raises(QueryRefused, match="160000 groups"):
        plan_sql(policy, "SELECT a, b, COUNT(*) FROM t GROUP BY a, b")
    assert policy.release_delta == Fraction(1, 10**8)
