"""What a plan claims about one unit holds on random databases: intervals, nulls, rows, groups, sensitivities.

Each check has partners: a node or rule that lies, which the same check must catch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

import pytest

from discreet.errors import QueryRefused
from discreet.plans import Bounding, Place, Plan, Shape, plan_sql
from discreet.plans.expressions import Add, Case, Column, Divide, Ln, Multiply
from discreet.plans.nodes import (
    Aggregate,
    BoundGroups,
    BoundRows,
    Filter,
    Join,
    JoinKind,
    Numbered,
    PerUnit,
    Project,
    Scan,
    Sensitivity,
    Spread,
    UnionAll,
)
from discreet.plans.nodes.node import Node, least
from discreet.plans.statistics import DistinctCount, RowCount, UnitSum
from discreet.privacy import NeighborRelation
from discreet.tables import Bounds
from tests.plans.claims import violations
from tests.plans.grammar import Questions
from tests.plans.hospital import POLICY, database
from tests.plans.interpreter import Database, Rows, rows_of

if TYPE_CHECKING:
    from discreet.plans.expressions.expression import Facts, Schema
    from discreet.plans.statistics import Statistic
    from discreet.privacy.relations import Relation

QUESTIONS = 250
DATABASES = 2


def planned(seed: int, bounding: Bounding | None = None) -> Plan | None:
    """A random question, if it is answered."""
    try:
        return plan_sql(POLICY, Questions(Random(seed)).question(), bounding=bounding)
    except QueryRefused:
        return None


def refuted(plan: Plan, seed: int) -> list[str]:
    """What random databases say against a plan."""
    random = Random(seed)
    units = ("a0", "a1") if "answers" in plan.tables else ("p0", "p1")
    return [text for _ in range(DATABASES) for text in violations(plan.aggregate, database(random), *units)]


# Counts of units of which each moves a group by one: the unit where a condition holds, or where a partner is there.
UNITS_COUNTED = [
    "COUNT(DISTINCT patient_id) FILTER (WHERE urgent) FROM visits",
    "COUNT(DISTINCT CASE WHEN cost > 500 THEN patient_id WHEN urgent THEN patient_id END) FROM visits",
    "COUNT(DISTINCT NULLIF(patient_id, diagnosis)) FROM visits",
    "COUNT(DISTINCT p.patient_id) FROM visits v LEFT JOIN patients p ON v.patient_id = p.patient_id",
    "COUNT(DISTINCT u) FROM (SELECT IF(urgent, patient_id, NULL) AS u FROM visits WHERE cost > 3) q",
]
VALUES_COUNTED = [
    "COUNT(DISTINCT CASE WHEN urgent THEN patient_id ELSE 'nobody' END) FROM visits",
    "COUNT(DISTINCT CASE WHEN urgent THEN patient_id ELSE ward END) FROM visits",
    "COUNT(DISTINCT COALESCE(IF(urgent, patient_id, NULL), ward)) FROM visits",
    "COUNT(DISTINCT CASE WHEN urgent THEN UPPER(patient_id) ELSE patient_id END) FROM visits",
    "COUNT(DISTINCT u) FROM (SELECT patient_id AS u FROM visits UNION ALL SELECT UPPER(patient_id) AS u FROM visits) q",
    "COUNT(DISTINCT GREATEST(LENGTH(patient_id), change)) FROM visits",
]


@pytest.mark.parametrize("asked", UNITS_COUNTED + VALUES_COUNTED)
def test_only_what_is_the_unit_or_null_counts_once_per_unit(asked: str) -> None:
    plan = plan_sql(POLICY, f"SELECT {asked}")
    assert (plan.aggregate.sensitivity(plan.aggregate.statistics[0]).l1 == 1) is (asked in UNITS_COUNTED)
    assert [text for seed in range(20) for text in refuted(plan, seed)] == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(5))
def test_random_questions_keep_their_claims(block: int) -> None:
    answered = 0
    for seed in range(block * QUESTIONS // 5, (block + 1) * QUESTIONS // 5):
        plan = planned(seed)
        if plan is not None:
            answered += 1
            assert refuted(plan, seed) == [], f"seed {seed}"
    assert answered > QUESTIONS // 10


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_many_random_questions_keep_their_claims(block: int, seed: int) -> None:
    for number in range(seed % 2**32 + block * 500, seed % 2**32 + (block + 1) * 500):
        plan = planned(number)
        assert plan is None or refuted(plan, number) == [], f"seed {number}"


LIMITS = [
    Bounding(rows=1),
    Bounding(groups=1, rows_per_group=2),
    Bounding(groups=2),
    Bounding(place=Place.AFTER),
    Bounding(rows=2, groups=1, rows_per_group=1, place=Place.AFTER),
    Bounding(shape=Shape.SUMS, rows_per_group=2),
    Bounding(shape=Shape.SUMS, groups=1),
]


@pytest.mark.slow
@pytest.mark.parametrize("bounding", LIMITS, ids=str)
def test_every_way_of_limiting_rows_keeps_its_claims(bounding: Bounding) -> None:
    answered = 0
    for seed in range(40):
        plan = planned(seed, bounding)
        if plan is not None:
            answered += 1
            assert refuted(plan, seed) == [], f"seed {seed}"
    assert answered > 10


def halved(self: Aggregate, statistic: Statistic, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Sensitivity:
    found = HONEST_SENSITIVITY(self, statistic, neighbors)
    return Sensitivity(found.largest // 2, found.l1 // 2, found.l2_squared // 4)


def larger_side(self: UnionAll) -> int | None:
    return max(self.left.rows or 0, self.right.rows or 0)


def left_side(self: Join) -> int | None:
    return self.left.rows


def same_spreads(self: Join) -> tuple[Spread, ...]:
    """Rows in a group that a join has multiplied are claimed to be as many as before."""
    return tuple(
        Spread(frozenset(f"l.{name}" for name in spread.columns), spread.groups, spread.rows)
        for spread in self.left.spreads
    )


def first_branch(self: Case, given: tuple[Facts, ...]) -> Facts:  # noqa: ARG001 - speaks for all branches
    return given[1]


def first_operand(self: Add, *bounds: Bounds) -> Bounds:  # noqa: ARG001 - forgets the second one
    return bounds[0]


def end_by_end(self: Multiply, *bounds: Bounds) -> Bounds:  # noqa: ARG001 - the beginner's mistake
    low, high = ((getattr(bounds[0], end) or 0) * (getattr(bounds[1], end) or 0) for end in ("lower", "upper"))
    return Bounds(min(low, high), max(low, high))


def one_row(self: UnitSum, schema: Schema, rows: int | None) -> Facts:  # noqa: ARG001 - forgets the rows
    return self.value.facts(schema)


def one_in_group(self: Node, columns: frozenset[str]) -> int | None:  # noqa: ARG001 - whatever the columns
    return 1


def finer_groups(self: Node, columns: frozenset[str]) -> int | None:
    """A bound on the rows of finer groups is taken for one of coarser groups."""
    return least(self.rows, *(spread.rows for spread in self.spreads if spread.columns >= columns))


def overlapping_groups(self: Node, columns: frozenset[str]) -> int | None:
    """A bound on the rows of groups that share a column with these is taken for one of these."""
    return least(self.rows, *(spread.rows for spread in self.spreads if spread.columns & columns))


def no_group_of_nulls(self: Join) -> tuple[Spread, ...]:
    """Rows without a partner are forgotten, which a left join keeps with NULLs on its right side."""
    spreads: tuple[Spread, ...] = HONEST_SPREADS(replace(self, how=JoinKind.INNER))
    return spreads


def never_null(self: Divide, given: tuple[Facts, ...]) -> Facts:
    return replace(HONEST_DIVISION(self, given), nullable=False)


def stale(self: Project) -> dict[str, Facts]:
    """A redefined column keeps what was known about the old one."""
    old = self.child.schema
    return {name: old.get(name, expression.facts(old)) for name, expression in self.columns}


_stale_schema = cached_property(stale)
_stale_schema.__set_name__(Project, "schema")
HONEST_SENSITIVITY = Aggregate.sensitivity
HONEST_DIVISION = Divide.derive
HONEST_SPREADS = Join.spreads.func  # type: ignore[attr-defined]  # it is derived once
PER_WARD = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
WARDS = "(SELECT patient_id, ward AS w FROM visits GROUP BY patient_id, ward) AS q"
FINER = "(SELECT patient_id, ward AS w, diagnosis AS d FROM visits GROUP BY patient_id, ward, diagnosis) AS q"
ONE_EACH = """(SELECT patient_id, CASE WHEN age > 40 THEN 'surgery' ELSE 'oncology' END AS w, COUNT(*) AS n
FROM patients GROUP BY patient_id, w) AS q"""
MATCHED = f"visits AS v LEFT JOIN {ONE_EACH} ON v.patient_id = q.patient_id AND v.ward = q.w"
NUMBER = "ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY cost)"
PER_WARD_NUMBER = "ROW_NUMBER() OVER (PARTITION BY patient_id, ward ORDER BY cost)"
RENAMED = "SELECT patient_id, change - 5 AS cost FROM visits"
LIES: list[tuple[type, str, object, str]] = [
    (Aggregate, "sensitivity", halved, PER_WARD),
    (
        UnionAll,
        "rows",
        property(larger_side),
        "SELECT COUNT(*) FROM (SELECT cost FROM visits UNION ALL SELECT cost FROM visits) u",
    ),
    (Join, "rows", property(left_side), "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id"),
    (
        Join,
        "spreads",
        property(same_spreads),
        f"SELECT w, COUNT(*) FROM {WARDS} JOIN visits USING (patient_id) GROUP BY w",
    ),
    (DistinctCount, "once_per_unit", lambda self, schema: True, "SELECT COUNT(DISTINCT score) FROM visits"),  # noqa: ARG005
    (BoundRows, "rows", property(lambda self: self.limit - 1), "SELECT COUNT(*) FROM visits"),
    (Case, "derive", first_branch, "SELECT SUM(CASE WHEN urgent THEN 1 ELSE 2 END) FROM visits"),
    (Add, "combine", first_operand, "SELECT SUM(change + 3) FROM visits"),
    (Multiply, "combine", end_by_end, "SELECT SUM(change * change) FROM visits"),
    (
        UnitSum,
        "facts",
        one_row,
        "SELECT SUM(t) FROM (SELECT patient_id, SUM(cost) AS t FROM visits GROUP BY patient_id) u",
    ),
    (Node, "rows_in_group", one_in_group, "SELECT SUM(change) FROM visits"),
    (Node, "rows_in_group", finer_groups, f"SELECT COUNT(w) FROM {WARDS}"),
    (Node, "rows_in_group", overlapping_groups, f"SELECT w, COUNT(d) FROM {FINER} GROUP BY w"),
    (Join, "spreads", property(no_group_of_nulls), f"SELECT q.w, COUNT(*) FROM {MATCHED} GROUP BY q.w"),
    (
        Numbered,
        "spreads",
        property(lambda self: (Spread(frozenset({self.name}), None, 1),)),  # one row for each number, whatever the keys
        f"SELECT COUNT(*) FROM (SELECT {PER_WARD_NUMBER} AS rn FROM visits) AS n WHERE rn = 1",
    ),
    (
        Filter,
        "_rows_of",
        lambda self, spread: spread.rows,  # however many numbers are left  # noqa: ARG005
        f"SELECT COUNT(*) FROM (SELECT {NUMBER} AS rn FROM visits) AS n WHERE rn <= 2",
    ),
    (
        UnionAll,
        "rows",
        property(larger_side),
        "SELECT COUNT(*) FROM (SELECT UNNEST(STRING_SPLIT(ward, 'r')[1:2]) AS part FROM visits) AS p",
    ),
    (Divide, "derive", never_null, "SELECT COUNT(cost / change) FROM visits"),
    (Ln, "undefined", lambda self, bounds: False, "SELECT COUNT(LN(age)) FROM patients"),  # noqa: ARG005
    (
        Project,
        "schema",
        _stale_schema,
        f"SELECT SUM(cost) FROM ({RENAMED} UNION ALL {RENAMED}) v",
    ),
]


@pytest.mark.parametrize("owner, attribute, lie, sql", LIES, ids=[f"{lie[0].__name__}.{lie[1]}" for lie in LIES])
def test_a_false_claim_is_seen(
    owner: type, attribute: str, lie: object, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any(refuted(plan_sql(POLICY, sql), seed) for seed in range(15))
    monkeypatch.setattr(owner, attribute, lie)
    assert any(refuted(plan_sql(POLICY, sql), seed) for seed in range(15))


class Crowded(Filter):
    """A filter that looks at other units: it keeps rows only while the table is large."""


@rows_of.register
def _(node: Crowded, database: Database) -> Rows:
    rows = rows_of(node.child, database)
    return rows if len(rows) > 6 else []


def test_a_look_at_other_units_is_seen() -> None:
    crowd = Crowded(BoundRows(Scan(POLICY.table("visits")), 3), Column("urgent"))
    nosy = Aggregate(crowd, (), (RowCount(),))
    found = [text for seed in range(30) for text in violations(nosy, database(Random(seed)), "p0", "p1")]
    assert any("removing a unit changes other rows" in text for text in found)


def test_limits_by_groups_need_their_nodes() -> None:
    sql = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
    plan = plan_sql(POLICY, sql, bounding=Bounding(groups=1, rows_per_group=2))
    kinds = {type(node) for node in plan.aggregate.child.walk()}
    assert {BoundGroups, BoundRows} <= kinds
    assert (plan.aggregate.groups_per_unit, plan.aggregate.rows_per_group, plan.aggregate.rows_per_unit) == (1, 2, 2)
    clamped = plan_sql(POLICY, sql, bounding=Bounding(shape=Shape.SUMS, rows_per_group=2))
    assert BoundRows not in {type(node) for node in clamped.aggregate.child.walk()}
    assert PerUnit in {type(node) for node in clamped.aggregate.child.walk()}
    assert clamped.aggregate.sensitivity(clamped.aggregate.statistics[0]) == Sensitivity(2, 6, 12)
