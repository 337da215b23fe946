"""What a condition says about a column holds for every row that it keeps."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from discreet.plans.expressions import (
    Abs,
    Add,
    Column,
    DateTrunc,
    DaysBetween,
    Divide,
    Equal,
    In,
    IntegerDivide,
    Less,
    LessOrEqual,
    Literal,
    Multiply,
)
from discreet.plans.nodes import Filter, Scan
from discreet.plans.nodes.aggregate import known_keys
from discreet.tables import Column as Declared
from discreet.tables import Policy, Table
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind
from tests.plans.claims import fits

if TYPE_CHECKING:
    from discreet.plans.expressions import Expression, Operation

DAYS = [dt.date(2024, 2, 27) + dt.timedelta(days=each) for each in range(6)]
COLUMNS = [
    (Declared("x", type="integer"), list(range(-4, 5))),
    (Declared("x", lower=-3, upper=3), list(range(-3, 4))),
    (Declared("x", type="float", lower=-3, upper=3), [each / 4 for each in range(-12, 13)]),
    (Declared("x", type="date"), DAYS),
    (Declared("x", type="timestamp"), [dt.datetime.combine(day, dt.time(hour)) for day in DAYS for hour in (0, 9)]),
]
NUMBERS = [-9, -3, -1, 0, 2, 3, 9, -2.5, -0.25, 0.0, 1.0, 1.5, 3.75]
MOMENTS = [*DAYS, *(dt.datetime.combine(day, dt.time(hour)) for day in DAYS[1:3] for hour in (0, 12))]


def compared(kind: type[Operation], constant: Any, *, swapped: bool) -> Expression:  # noqa: ANN401 - of any kind
    operands = [Column("x"), Literal(constant, Kind.of(constant))]
    return kind(tuple(reversed(operands) if swapped else operands))


@pytest.mark.parametrize("column, values", COLUMNS)
@pytest.mark.parametrize("kind", [Less, LessOrEqual, Equal])
@pytest.mark.parametrize("swapped", [False, True])
def test_bounds_and_known_values_hold_for_all_rows_that_are_kept(
    column: Declared, values: list[Any], kind: type[Operation], *, swapped: bool
) -> None:
    scan = Scan(Table("t", row_is_unit=True, columns=[column]))
    constants: list[Any] = NUMBERS if column.kind.numeric else MOMENTS
    kept = 0
    for constant in constants:
        condition = compared(kind, constant, swapped=swapped)
        facts = Filter(scan, condition).schema["x"]
        for value in values:
            if condition.evaluate({"x": value}):
                kept += 1
                assert fits(value, facts)
                assert facts.keys is None or value in facts.keys
    assert kept > 5


@pytest.mark.parametrize("column, values", COLUMNS)
def test_lists_of_constants_hold_for_all_rows_that_are_kept(column: Declared, values: list[Any]) -> None:
    scan = Scan(Table("t", row_is_unit=True, columns=[column]))
    constants: list[Any] = NUMBERS if column.kind.numeric else MOMENTS
    kept = 0
    for some in itertools.combinations(constants, 2):
        condition = In((Column("x"),), some)
        facts = Filter(scan, condition).schema["x"]
        for value in values:
            if condition.evaluate({"x": value}):
                kept += 1
                assert fits(value, facts)
                assert facts.keys is None or value in facts.keys
    assert kept > 5


def of_expressions(column: Declared) -> list[Expression]:
    """Values that are computed from a column, of the kinds that constants are compared with."""
    x = Column("x")
    if column.kind.numeric:
        two = Literal(2, Kind.INTEGER)
        whole = [IntegerDivide((x, two))] if column.kind is Kind.INTEGER else []
        return [Add((x, Literal(1, Kind.INTEGER))), Multiply((x, x)), Divide((two, x)), Abs((x,)), *whole]
    return [DateTrunc((x,), "week"), DateTrunc((x,), "month")]


@pytest.mark.parametrize("column, values", COLUMNS)
@pytest.mark.parametrize("kind", [Less, LessOrEqual, Equal, In])
@pytest.mark.parametrize("swapped", [False, True])
def test_conditions_on_computed_values_hold_for_all_rows_that_are_kept(
    column: Declared, values: list[Any], kind: type[Operation], *, swapped: bool
) -> None:
    scan = Scan(Table("t", row_is_unit=True, columns=[column]))
    constants: list[Any] = NUMBERS if column.kind.numeric else MOMENTS
    kept = 0
    for expression, constant in itertools.product(of_expressions(column), constants):
        operands = [expression, Literal(constant, Kind.of(constant))]
        condition = (
            In((expression,), (constant, constants[0]))
            if kind is In
            else kind(tuple(reversed(operands) if swapped else operands))
        )
        schema = Filter(scan, condition).schema
        facts, keys = expression.facts(schema), known_keys(expression, schema)
        for value in values:
            if condition.evaluate({"x": value}):
                kept += 1
                found = expression.evaluate({"x": value})
                assert fits(found, facts)
                assert keys is None or found in keys
    assert kept > 2


STAYS = Policy(
    [
        Table(
            "stays",
            unit="id",
            rows_per_unit=2,
            columns=[
                Declared("came", type="date"),
                Declared("went", type="date"),
                Declared("at", type="timestamp"),
                Declared("score", type="float"),
                Declared("code", type="text"),
                Declared("age", lower=0, upper=99),
                Declared("floor", keys=[1, 2, 3], null_key=True),
            ],
        )
    ],
    epsilon=1,
)
MONTHS = "SELECT DATE_TRUNC('month', came) AS m FROM stays"
AT_DAY = "DATE_TRUNC('day', at)"
DAYS_IN = "DATE_DIFF('day', came, went)"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT AVG(d) FROM (SELECT {DAYS_IN} AS d FROM stays) t WHERE d BETWEEN 0 AND 60",
        f"SELECT AVG({DAYS_IN}) FROM stays WHERE {DAYS_IN} >= 0 AND {DAYS_IN} < 61",
        f"WITH t AS (SELECT {DAYS_IN} AS d, age FROM stays) SELECT AVG(d) FROM t WHERE d >= 0 AND age > 3 AND d <= 60",
    ],
)
def test_a_condition_on_a_computed_column_bounds_it(sql: str) -> None:
    assert plan_sql(STAYS, sql).row_schema["v0"].bounds == Bounds(0, 60)
    assert DaysBetween.symbol in repr(plan_sql(STAYS, sql).aggregate.canonical())


@pytest.mark.parametrize(
    "sql, keys",
    [
        (
            "SELECT y, COUNT(*) FROM (SELECT YEAR(came) AS y FROM stays) t WHERE y IN (2023, 2024) GROUP BY y",
            (2023, 2024),
        ),
        ("SELECT UPPER(code), COUNT(*) FROM stays WHERE UPPER(code) IN ('A', 'B') GROUP BY 1", ("A", "B")),
        ("SELECT age // 10 * 10 AS k, COUNT(*) FROM stays WHERE age // 10 BETWEEN 2 AND 4 GROUP BY k", (20, 30, 40)),
        ("SELECT floor, COUNT(*) FROM stays WHERE floor < 3 GROUP BY floor", (1, 2)),
        ("SELECT floor, COUNT(*) FROM stays WHERE floor IS NOT NULL GROUP BY floor", (1, 2, 3)),
        (
            f"SELECT {AT_DAY}, AVG(age) FROM stays WHERE at >= '2024-02-28' AND '2024-03-01' > at GROUP BY 1",
            tuple(dt.datetime.combine(day, dt.time()) for day in DAYS[1:3]),
        ),
        (
            f"SELECT m, COUNT(*) FROM ({MONTHS}) t WHERE m BETWEEN '2024-01-15' AND '2024-03-15' GROUP BY m",
            (dt.date(2024, 2, 1), dt.date(2024, 3, 1)),
        ),
    ],
)
def test_conditions_leave_the_groups_that_fulfill_them(sql: str, keys: tuple[object, ...]) -> None:
    assert plan_sql(STAYS, sql).aggregate.keys[0].known == keys


def test_a_condition_on_another_expression_bounds_nothing() -> None:
    with pytest.raises(QueryRefused, match="no public bounds"):
        plan_sql(STAYS, "SELECT SUM(score * 3) FROM stays WHERE score * 2 BETWEEN 0 AND 10")
