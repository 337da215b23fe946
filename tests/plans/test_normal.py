"""Questions that mean the same have one key; the normal form changes no row; different questions stay apart."""

from __future__ import annotations

from random import Random

import pytest

from discreet.errors import QueryRefused
from discreet.plans import Bounding, Place, aggregates, col, plan_sql, table
from discreet.plans.nodes import Aggregate, Join
from discreet.plans.normal import normal
from discreet.tables import Column as Declared
from discreet.tables import Policy, Table
from tests.plans.claims import counted
from tests.plans.grammar import Questions
from tests.plans.hospital import POLICY, TOML, database
from tests.plans.interpreter import groups_of, rows_of

UPPER_QUARTER = "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost DESC)"
SAME = [
    ("SELECT COUNT(*) FROM visits", "select count(*) AS how_many from Visits AS v"),
    ("SELECT AVG(cost), SUM(cost) FROM visits", "SELECT SUM(cost) AS a, AVG(cost) AS b FROM visits"),
    (
        "SELECT AVG(cost) FROM visits WHERE cost > 5 AND urgent",
        "SELECT AVG(cost) FROM visits WHERE urgent AND 5 < cost",
    ),
    (
        "SELECT AVG(cost) FROM visits WHERE urgent",
        "SELECT AVG(x) FROM (SELECT cost AS x, urgent AS u FROM visits) q WHERE u",
    ),
    (
        "SELECT AVG(cost) FROM visits WHERE urgent",
        "WITH q AS (SELECT cost FROM visits WHERE urgent) SELECT AVG(cost) FROM q",
    ),
    ("SELECT SUM(cost + change) FROM visits", "SELECT SUM(change + cost) FROM visits"),
    ("SELECT COUNT(*) FROM visits WHERE NOT cost > 5", "SELECT COUNT(*) FROM visits WHERE cost <= 5"),
    ("SELECT COUNT(*) FROM visits WHERE NOT (NOT urgent)", "SELECT COUNT(*) FROM visits WHERE urgent AND urgent"),
    ("SELECT COUNT(*) FROM visits WHERE diagnosis IN ('a')", "SELECT COUNT(*) FROM visits WHERE diagnosis = 'a'"),
    (
        "SELECT COUNT(*) FROM visits WHERE diagnosis IN ('a', 'b')",
        "SELECT COUNT(*) FROM visits WHERE diagnosis IN ('b', 'a', 'b')",
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE cost BETWEEN 1 AND 2",
        "SELECT COUNT(*) FROM visits WHERE cost <= 2 AND 1 <= cost",
    ),
    ("SELECT COUNT(*) FROM visits WHERE cost > 2 + 3", "SELECT COUNT(*) FROM visits WHERE cost > 5 AND 1 = 1"),
    ("SELECT ward, urgent, COUNT(*) FROM visits GROUP BY 1, 2", "SELECT COUNT(*) FROM visits GROUP BY urgent, ward"),
    ("SELECT COUNT(*) FROM visits", "SELECT COUNT(*) AS n FROM visits HAVING COUNT(*) > 3 ORDER BY n LIMIT 1"),
    ("SELECT SUM(cost) FROM visits", "SELECT SUM(cost) / 2 + 1 FROM visits"),
    ("SELECT COUNT(*) FROM visits WHERE ward NOT LIKE 's%'", "SELECT COUNT(*) FROM visits WHERE NOT (ward LIKE 's%')"),
    ("SELECT QUANTILE_CONT(cost, 0.75) FROM visits", f"SELECT {UPPER_QUARTER} FROM visits"),
]

DIFFERENT = [
    ("SELECT COUNT(*) FROM visits WHERE ward LIKE 's%'", "SELECT COUNT(*) FROM visits WHERE ward NOT LIKE 's%'"),
    ("SELECT QUANTILE_CONT(cost, 0.25) FROM visits", f"SELECT {UPPER_QUARTER} FROM visits"),
    ("SELECT COUNT(*) FROM visits", "SELECT COUNT(cost) FROM visits"),
    ("SELECT MEDIAN(cost) FROM visits", "SELECT MIN(cost) FROM visits"),
    ("SELECT MIN(cost) FROM visits", "SELECT MAX(cost) FROM visits"),
    ("SELECT VARIANCE(cost) FROM visits", "SELECT VAR_POP(cost) FROM visits"),
    ("SELECT COUNT(*) FROM visits WHERE cost > 5", "SELECT COUNT(*) FROM visits WHERE cost >= 5"),
    ("SELECT COUNT(*) FROM visits WHERE cost > 5", "SELECT COUNT(*) FROM visits WHERE cost > 5.5"),
    ("SELECT SUM(cost - change) FROM visits", "SELECT SUM(change - cost) FROM visits"),
    ("SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM patients"),
    ("SELECT COUNT(*) FROM visits WHERE diagnosis = 'a'", "SELECT COUNT(*) FROM visits WHERE NOT diagnosis = 'a'"),
    ("SELECT COUNT(*) FROM visits GROUP BY ward", "SELECT COUNT(*) FROM visits"),
    ("SELECT AVG(cost) FROM visits WHERE cost = 1", "SELECT AVG(cost) FROM visits WHERE cost = 1 OR urgent"),
]


@pytest.mark.parametrize("one, two", SAME)
def test_the_same_question_has_one_key(one: str, two: str) -> None:
    assert plan_sql(POLICY, one).key == plan_sql(POLICY, two).key


@pytest.mark.parametrize("one, two", DIFFERENT)
def test_other_questions_have_other_keys(one: str, two: str) -> None:
    assert plan_sql(POLICY, one).key != plan_sql(POLICY, two).key


def test_the_key_knows_policy_version_and_limits() -> None:
    sql = "SELECT COUNT(*) FROM visits"
    newer = Policy.from_toml('[dataset]\nversion = "2"\n' + TOML)
    wider = Policy.from_toml(TOML.replace("upper = 1000", "upper = 1001"))
    keys = {plan_sql(policy, sql).key for policy in (POLICY, newer, wider)}
    keys |= {plan_sql(POLICY, sql, bounding=each).key for each in (Bounding(rows=2), Bounding(place=Place.AFTER))}
    assert len(keys) == 5
    assert plan_sql(Policy.from_toml(TOML), sql).key in keys


def test_the_builder_and_sql_meet_in_one_key() -> None:
    sql = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE cost > 100 AND NOT urgent GROUP BY ward"
    built = table(POLICY, "visits").where("cost > 100").where(~col("urgent")).group_by("ward")
    plan = built.agg(n=aggregates.count(), c=aggregates.mean("cost"))
    assert plan.key == plan_sql(POLICY, sql).key
    assert list(plan.columns) == ["ward", "n", "c"]


def test_the_normal_form_changes_no_row() -> None:
    for seed in range(120):
        random = Random(seed)
        try:
            plan = plan_sql(POLICY, Questions(random).question())
        except QueryRefused:
            continue
        relation, data = plan.request.relation, database(random)
        assert counted(rows_of(relation, data)) == counted(rows_of(normal(relation), data)), f"seed {seed}"
        assert normal(normal(relation)) == normal(relation), f"seed {seed}"


def test_a_wrong_rewriting_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above, with a normal form that forgets which side of < is which."""
    from discreet.plans import normal as module
    from discreet.plans.expressions import Less

    monkeypatch.setattr(module, "_COMMUTATIVE", (*module._COMMUTATIVE, Less))
    relation = plan_sql(POLICY, "SELECT COUNT(*) FROM visits WHERE cost < change").request.relation
    data = database(Random(1))
    assert counted(rows_of(relation, data)) != counted(rows_of(normal(relation), data))


EQUIVALENT = [
    (
        "SELECT SUM(cost) FROM visits WHERE ward = 'surgery'",
        "SELECT SUM(CASE WHEN ward = 'surgery' THEN cost END) FROM visits",
    ),
    ("SELECT COUNT(*) FROM visits WHERE urgent", "SELECT COUNT(*) FILTER (WHERE urgent) FROM visits"),
    ("SELECT COUNT(cost) FROM visits", "SELECT COUNT(*) FROM visits WHERE cost IS NOT NULL"),
]


@pytest.mark.parametrize("one, two", EQUIVALENT)
def test_rewritings_by_hand_agree_in_value_and_never_claim_less_than_the_truth(one: str, two: str) -> None:
    plans = [plan_sql(POLICY, sql).aggregate for sql in (one, two)]
    for seed in range(20):
        data = database(Random(seed))
        found = [[values[0] for values in groups_of(plan, data).values()] for plan in plans]
        assert found[0] == found[1]
    shares = {plan.sensitivity(plan.statistics[0]).l1 for plan in plans}
    assert len(shares) == 1


def test_plans_are_values() -> None:
    sql = "SELECT COUNT(*) FROM visits v JOIN patients p ON v.patient_id = p.patient_id"
    one, two = plan_sql(POLICY, sql).aggregate, plan_sql(POLICY, sql).aggregate
    assert one == two
    assert hash(one) == hash(two)
    assert isinstance(one, Aggregate)
    assert any(isinstance(node, Join) for node in one.child.walk())
    assert len({node.key for node in one.child.walk()}) == len(list(one.child.walk()))


def test_constants_that_python_takes_for_equal_are_told_apart_in_one_question() -> None:
    """Beside a float integers are compared as doubles, where 2**54 - 1 is 2**54."""
    wide = Policy([Table("t", row_is_unit=True, columns=[Declared("x", lower=0, upper=2**60)])], epsilon=1)
    both = [f"COUNT(*) FILTER (WHERE x IN ({2**54}{more}, 1))" for more in ("", ".0")]
    plan = plan_sql(wide, f"SELECT {', '.join(both)} FROM t")
    assert len(plan.statistics) == 2
    assert plan.statistics_of("m0") != plan.statistics_of("m1")
