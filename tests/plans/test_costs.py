"""What planning costs: calls of functions, not seconds; never more than in proportion to what was written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from discreet.database import Database
from discreet.errors import QueryRefused
from discreet.plans import aggregates as agg
from discreet.plans import col, plan_sql, table
from discreet.plans.expressions import Add, Column, Equal, Literal, Power
from discreet.plans.expressions.expression import settled
from discreet.plans.limits import DEEPEST, MOST_CONDITIONS, MOST_PARTS, MOST_ROWS_JOINED
from discreet.plans.nodes import BoundRows, Filter, Join, Scan
from discreet.tables import Column as Declared
from discreet.tables import Policy, Table
from discreet.tables.bounds import Bounds
from discreet.tables.kinds import Kind
from tests.engines.databases import arrow_tables, typed_database
from tests.plans.growth import EXPONENTIAL, GROWING, frames
from tests.plans.hospital import POLICY

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from discreet.plans import Plan

CALLS_ALWAYS = 300_000
CALLS_PER_LETTER = 400
"""Far above what is seen, about 100 per letter; far below the millions of a plan that doubles with each subquery."""

NUMBERS = (6, 14, 31, 95, 300, 1500)
FRAMES = frames(table(POLICY, "visits"))


class TooMany(BaseException):
    """Not an error that anybody catches."""


def outcome(plan: Callable[[], Plan], most: int) -> tuple[int, str]:
    """Count the calls of Python functions until a question is planned or refused; it is stopped at too many."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:  # noqa: ARG001 - Python's own signature
        nonlocal calls
        calls += event == "call"
        if calls > most:
            sys.setprofile(None)
            raise TooMany

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        plan().key  # noqa: B018 - as every question that is asked
        said = "planned"
    except QueryRefused as refusal:
        said = str(refusal)
    except TooMany:
        said = "stopped"
    finally:
        sys.setprofile(before)
    return calls, said


def within(plan: Callable[[], Plan], written: int) -> tuple[int, str]:
    return outcome(plan, CALLS_ALWAYS + CALLS_PER_LETTER * written)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", GROWING)
def test_planning_takes_calls_in_proportion_to_the_text(name: str, number: int) -> None:
    text = GROWING[name](number)
    calls, said = within(lambda: plan_sql(POLICY, text), len(text))
    assert said != "stopped", f"more than {calls} calls for {len(text)} letters"


@pytest.mark.parametrize("name", EXPONENTIAL)
def test_what_doubles_is_refused_by_a_sentence_with_a_public_number(name: str) -> None:
    text = EXPONENTIAL[name](31)
    _, said = within(lambda: plan_sql(POLICY, text), len(text))
    limits = ["more than 5000 parts", "More than 100 operations", "More than 64 tables", "more than 1000000", "groups"]
    limits.append("more than 4096")  # characters of a text
    assert said == "planned" if name.startswith("rows per unit") else any(limit in said for limit in limits)


@pytest.mark.parametrize("number", [4, 8, 11, 40, 400, 5000])
@pytest.mark.parametrize("name", FRAMES)
def test_planning_from_python_takes_calls_in_proportion_to_the_steps(name: str, number: int) -> None:
    calls, said = within(lambda: FRAMES[name](number).agg(n=agg.count()), number)
    assert said != "stopped", f"more than {calls} calls for {number} steps"
    assert number < 400 or name == "lists" or "Write instead" in said


def test_the_count_sees_a_plan_that_forgets_what_it_derived(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.plans.nodes import PerUnit, Project

    for kind in (PerUnit, Project):
        for name in ("rows", "spreads"):
            monkeypatch.setattr(kind, name, property(vars(kind)[name].func))
    text = EXPONENTIAL["rows per unit"](31)
    assert within(lambda: plan_sql(POLICY, text), len(text))[1] == "stopped"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT SUM({'(' * 500}cost{')' * 500}) FROM visits",
        f"SELECT COUNT(*) FROM visits WHERE {'NOT ' * 500}urgent",
        "SELECT COUNT(*) FROM visits WHERE " + "cost > 1 AND NOT (" * 100 + "urgent" + ")" * 100,
        "SELECT SUM(" + "CASE WHEN urgent THEN " * 200 + "1" + " END" * 200 + ") FROM visits",
        "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 300 + "visits" + ") AS q" * 300,
    ],
)
def test_deep_nesting_is_called_so(text: str) -> None:
    with pytest.raises(QueryRefused, match="More than 32 parentheses, subqueries or CASEs stand within each other"):
        plan_sql(POLICY, text)


def test_five_thousand_terms_are_refused_by_their_number() -> None:
    with pytest.raises(QueryRefused, match=r"More than 100 operations .* a flatter question: \(a \+ b\)"):
        plan_sql(POLICY, f"SELECT SUM({' + '.join(['cost'] * 5000)}) FROM visits")
    nested = f"SELECT SUM({' + '.join(['cost'] * DEEPEST)}) FROM visits"
    assert plan_sql(POLICY, nested).row_schema["v0"].bounds.upper == 1000 * DEEPEST


@pytest.mark.parametrize("word, number", [("AND", 399), ("OR", 700)])
def test_many_conditions_are_one_step(word: str, number: int) -> None:
    conditions = f" {word} ".join(f"cost <> {place}" for place in range(number))
    plan = plan_sql(POLICY, f"SELECT COUNT(*) FROM visits WHERE {conditions}")
    assert plan.request.relation.depth == 3  # the table, its limit, the conditions
    once = f"SELECT COUNT(*) FROM visits WHERE {conditions} {word} cost <> 0"
    assert plan_sql(POLICY, once).key == plan.key


def test_facts_follow_each_condition() -> None:
    """What is remembered of an expression before a condition on it must not hold after the condition."""
    lost = col("cost") - col("change")
    found = table(POLICY, "visits").where((lost + 1 <= 50) & (lost >= 0) & (lost <= 3))
    assert lost.expression.facts(found.node.schema).bounds == Bounds(0, 3)
    assert (lost + 2).expression.facts(found.node.schema).bounds == Bounds(2, 5)
    assert lost.expression.facts(table(POLICY, "visits").node.schema).bounds == Bounds(-7, 1005)


def test_too_many_conditions_are_refused() -> None:
    conditions = " AND ".join(f"cost <> {place}" for place in range(MOST_CONDITIONS + 1))
    with pytest.raises(QueryRefused, match="More than 400 conditions are joined by AND"):
        plan_sql(POLICY, f"SELECT COUNT(*) FROM visits WHERE {conditions}")


def test_the_limits_are_reached_and_not_passed() -> None:
    one = Literal(1, Kind.INTEGER)
    found = Column("cost")
    for _ in range(DEEPEST - 1):
        found = Add((found, one))  # type: ignore[assignment]  # an expression
    assert found.depth == DEEPEST
    with pytest.raises(QueryRefused, match="More than 100 operations"):
        Add((found, one))
    choices = [*range(MOST_PARTS - 5)]  # the list itself, its column, the condition's step, the limit, the table
    start = table(POLICY, "visits")
    assert start.where(col("code").is_in(choices)).node.parts == MOST_PARTS
    with pytest.raises(QueryRefused, match="more than 5000 parts"):
        start.where(col("code").is_in([*choices, -1]))


def test_a_shared_frame_counts_as_often_as_it_is_used() -> None:
    frame = table(POLICY, "visits").select("patient_id")
    twice = frame.union_all(frame)
    assert twice.node.parts == 1 + 2 * frame.node.parts


def test_pairs_of_one_unit_are_limited_by_public_numbers() -> None:
    scan = Scan(Table("logs", unit="id"))
    thousand, more = BoundRows(scan, 1000), BoundRows(scan, 1001)
    assert Join(thousand, thousand, (("id", "id"),)).rows == MOST_ROWS_JOINED
    with pytest.raises(QueryRefused, match="One unit may have 1001000 pairs of rows there, more than 1000000"):
        Join(thousand, more, (("id", "id"),))


def test_a_join_with_one_partner_may_have_as_many_rows_as_before() -> None:
    people = Table("people", unit="id", unique=["id"])
    logs = Table("logs", unit="id", rows_per_unit=2 * MOST_ROWS_JOINED)
    policy = Policy([people, logs], epsilon=1)
    text = "SELECT COUNT(*) FROM logs JOIN (SELECT id, COUNT(*) AS n FROM logs GROUP BY id) AS q USING (id)"
    assert plan_sql(policy, text).aggregate.rows_per_unit == 2 * MOST_ROWS_JOINED


def test_steps_are_counted_where_rows_are_most() -> None:
    columns = [Declared("id", type="integer"), Declared("note", type="text", max_length=50)]
    logs = Table("logs", unit="id", columns=columns)
    twenty = BoundRows(Scan(logs), 20)
    pairs = Join(twenty, BoundRows(Scan(logs), 30), (("id", "id"),))
    alone = Filter(pairs, Equal((Column("l.note"), Literal("x", Kind.TEXT))))
    few = BoundRows(alone, 1)
    assert twenty.steps_per_unit() == 20 * 2 * 20  # read, and kept: each of 20 rows is handed on twice, for 20 steps
    assert pairs.steps_per_unit() == 4 * 50 * 20 + 600 * (20 + 1)  # 50 are those of both tables
    assert alone.steps_per_unit() - pairs.steps_per_unit() == 600 * (20 + 1 + 50 + 1)
    assert few.steps_per_unit() - alone.steps_per_unit() == 600 * 20


class Untouchable:
    """Whatever is asked of it is a failure."""

    def __getattr__(self, name: str) -> None:
        pytest.fail(f"{name} was looked at")


@pytest.mark.parametrize("name", [name for name in EXPONENTIAL if not name.startswith("rows per unit")])
def test_a_refusal_for_size_looks_at_no_data_and_no_ledger(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = typed_database(POLICY, {table.name: [] for table in POLICY.tables})
    with Database(POLICY, arrow_tables(POLICY, empty)) as database, monkeypatch.context() as patch:
        patch.setattr(database, "_engine", Untouchable())
        patch.setattr(database, "_ledger", Untouchable())
        with pytest.raises(QueryRefused):
            database.sql(EXPONENTIAL[name](31))


@pytest.mark.parametrize("exponent", range(2, 17))
def test_a_power_is_squared_and_multiplied_in_one_order(exponent: int) -> None:
    x = 1.1
    found, products = x, 0
    for digit in f"{exponent:b}"[1:]:
        found, products = found * found, products + 1
        if digit == "1":
            found, products = found * x, products + 1
    power = Power((Column("x"),), exponent)
    assert power.evaluate({"x": x}) == settled(found)
    assert len(power.by_base) == products <= 6
    assert power.levels == products


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
@pytest.mark.parametrize(
    "text", ["x" + "[1]" * 999, "x" + ".f(1)" * 999, "CAST(x AS " + "ARRAY<" * 200 + "INT" + ">" * 200 + ")"]
)
def test_what_the_parser_would_take_long_for_is_refused_before(text: str, dialect: str) -> None:
    with pytest.raises(QueryRefused, match="within each other"):
        plan_sql(POLICY, f"SELECT {text} FROM visits", dialect=dialect)
