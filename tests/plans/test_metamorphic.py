"""Equivalent questions: rewriting one never lowers what it claims below what one unit truly moves."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from discreet.plans import plan_sql
from discreet.privacy import NeighborRelation
from tests.plans.claims import differences, violations
from tests.plans.hospital import POLICY, database, patient, visit, without
from tests.plans.interpreter import groups_of

if TYPE_CHECKING:
    from discreet.plans import Plan
    from tests.plans.interpreter import Database

# Each list holds one question in several words.
FORMS = {
    "conditions": [
        "SELECT ward, COUNT(*), SUM(change) FROM visits WHERE change >= 0 AND change <= 4 GROUP BY ward",
        "SELECT ward, COUNT(*), SUM(change) FROM visits WHERE change BETWEEN 0 AND 4 GROUP BY ward",
        "SELECT ward, COUNT(*), SUM(change) FROM visits WHERE NOT (change < 0 OR change > 4) GROUP BY ward",
        """SELECT ward, COUNT(*), SUM(change) FROM (SELECT ward, change FROM visits WHERE change >= 0) a
        WHERE change <= 4 GROUP BY ward""",
        """WITH some AS (SELECT ward AS w, change AS c FROM visits WHERE change >= 0)
        SELECT w, COUNT(*), SUM(c) FROM some WHERE c <= 4 GROUP BY w""",
        "SELECT ward, COUNT(*), SUM(change) FROM visits WHERE change IN (0, 1, 2, 3, 4) GROUP BY ward",
    ],
    "counts of some": [
        "SELECT COUNT(*) FILTER (WHERE urgent) FROM visits",
        "SELECT COUNT_IF(urgent) FROM visits",
        "SELECT COUNT(CASE WHEN urgent THEN 1 END) FROM visits",
        "SELECT COUNT(*) FROM visits WHERE urgent",
        "SELECT COUNT(*) FROM (SELECT urgent AS u FROM visits WHERE urgent) v",
        "SELECT SUM(CASE WHEN urgent THEN 1 ELSE 0 END) FROM visits",
    ],
    "sums": [
        "SELECT SUM(2 * change) FROM visits",
        "SELECT SUM(change + change) FROM visits",
        "SELECT SUM(x) FROM (SELECT change * 2 AS x FROM visits) v",
        "SELECT SUM(CASE WHEN change > 0 THEN 2 * change ELSE change * 2 END) FROM visits",
    ],
    "parts": [
        "SELECT COUNT(*), SUM(cost) FROM visits WHERE cost IS NOT NULL",
        """SELECT COUNT(*), SUM(cost) FROM (SELECT cost FROM visits WHERE cost > 100
        UNION ALL SELECT cost FROM visits WHERE NOT cost > 100) u""",
        """SELECT COUNT(*), SUM(cost) FROM (SELECT cost FROM visits WHERE cost < 10 UNION ALL SELECT cost FROM visits
        WHERE cost >= 10 AND cost < 500 UNION ALL SELECT cost FROM visits WHERE cost >= 500) u""",
    ],
    "units": [
        "SELECT COUNT(DISTINCT patient_id) FROM visits",
        "SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) u",
        "SELECT COUNT(*) FROM (SELECT DISTINCT patient_id FROM visits) u",
        "SELECT COUNT(DISTINCT p) FROM (SELECT patient_id AS p FROM visits) u",
    ],
    "semi-joins": [
        "SELECT COUNT(*), SUM(change) FROM visits WHERE patient_id IN (SELECT patient_id FROM patients WHERE age > 40)",
        """SELECT COUNT(*), SUM(change) FROM visits v WHERE EXISTS
        (SELECT 1 FROM patients p WHERE p.patient_id = v.patient_id AND p.age > 40)""",
        "SELECT COUNT(*), SUM(v.change) FROM visits v JOIN patients p ON v.patient_id = p.patient_id WHERE p.age > 40",
        """SELECT COUNT(*), SUM(v.change) FROM (SELECT patient_id FROM patients WHERE age > 40) p
        JOIN visits v ON p.patient_id = v.patient_id""",
    ],
    "groups": [
        "SELECT CASE WHEN change > 0 THEN 'up' ELSE 'down' END AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT k, COUNT(*) FROM (SELECT CASE WHEN change > 0 THEN 'up' ELSE 'down' END AS k FROM visits) v GROUP BY k",
        "SELECT CASE WHEN 0 < change THEN 'up' ELSE 'down' END, COUNT(*) FROM visits GROUP BY 1",
    ],
    "public joins": [
        "SELECT w.floor, COUNT(*), SUM(v.cost) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.floor",
        "SELECT w.floor, COUNT(*), SUM(v.cost) FROM wards w JOIN visits v ON w.ward = v.ward GROUP BY w.floor",
        "SELECT floor, COUNT(*), SUM(cost) FROM visits JOIN wards USING (ward) GROUP BY floor",
        """SELECT f, COUNT(*), SUM(c) FROM
        (SELECT w.floor AS f, v.cost AS c FROM visits v JOIN wards w ON v.ward = w.ward) j GROUP BY f""",
    ],
}


def calm(random: Random, units: int = 3) -> Database:
    """A database in which nobody has more rows than the limits allow: no rank decides, so equal questions agree."""
    found = database(random, units)
    names = [f"p{number}" for number in range(units)]
    found["visits"] = [visit(random, name) for name in names for _ in range(random.randrange(4))]
    found["patients"] = [patient(random, name) for name in names if random.random() < 0.8]
    return found


def forms(name: str) -> list[Plan]:
    return [plan_sql(POLICY, sql) for sql in FORMS[name]]


def moved(plan: Plan, first: Database, second: Database) -> list[int]:
    """By how much two databases move each statistic, over all groups."""
    here, there = groups_of(plan.aggregate, first), groups_of(plan.aggregate, second)
    return [
        sum(
            abs(each)
            for group in {*here, *there}
            for each in differences(
                statistic, *(found[group][place] if group in found else () for found in (here, there))
            )
        )
        for place, statistic in enumerate(plan.aggregate.statistics)
    ]


def claims(plan: Plan, relation: NeighborRelation) -> list[int]:
    return [plan.aggregate.sensitivity(statistic, relation).l1 for statistic in plan.aggregate.statistics]


def compared(name: str, databases: int, first: int = 0) -> float:
    """Compare all forms on so many databases; return the largest share of a claim that was reached."""
    plans = forms(name)
    truth = {relation: [0] * len(plans[0].aggregate.statistics) for relation in NeighborRelation}
    for seed in range(first, first + databases):
        rows = calm(Random(seed))
        exact = [list(groups_of(plan.aggregate, rows).values()) for plan in plans]
        assert all(each == exact[0] for each in exact), (name, seed)
        pairs = {
            NeighborRelation.ADD_REMOVE: (rows, without(rows, "p0")),
            NeighborRelation.CHANGE_ONE: (without(rows, "p1"), without(rows, "p0")),
        }
        for relation, pair in pairs.items():
            truth[relation] = [max(a, b) for a, b in zip(truth[relation], moved(plans[0], *pair), strict=True)]
    reached = 0.0
    for relation, moves in truth.items():
        for plan in plans:
            for move, claim in zip(moves, claims(plan, relation), strict=True):
                assert move <= claim, (name, plan.explain(), relation)
                reached = max(reached, move / claim)
    return reached


@pytest.mark.parametrize("name", FORMS)
def test_equivalent_questions_claim_at_least_what_one_unit_moves(name: str) -> None:
    assert compared(name, 40) > 0.5  # half of a claim would be too little, and be seen


@pytest.mark.fuzz
@pytest.mark.parametrize("name", FORMS)
def test_equivalent_questions_claim_at_least_what_one_unit_moves_on_thousands_of_databases(
    name: str, seed: int
) -> None:
    first = seed % 2**32
    print(f"{name}: databases from seed {first} on")  # noqa: T201 - `make fuzz` shows it
    assert compared(name, 1000, first) > 0.5


def refuted(name: str, seeds: range) -> list[tuple[int, str, list[str]]]:
    """Give the claims of all forms that random databases refute, in which units have too many rows."""
    found = []
    for plan in forms(name):
        for seed in seeds:
            wrong = list(violations(plan.aggregate, database(Random(seed), units=4), "p0", "p1"))
            found += [(seed, plan.explain(), wrong)] if wrong else []
    return found


@pytest.mark.parametrize("name", FORMS)
def test_every_form_keeps_its_claims_where_units_have_too_many_rows(name: str) -> None:
    assert refuted(name, range(12)) == []


@pytest.mark.fuzz
@pytest.mark.parametrize("name", FORMS)
def test_every_form_keeps_its_claims_on_hundreds_of_databases(name: str, seed: int) -> None:
    first = seed % 2**32
    print(f"{name}: databases from seed {first} on")  # noqa: T201 - `make fuzz` shows it
    assert refuted(name, range(first, first + 100)) == []


def test_normal_forms_of_equal_words_are_one_question() -> None:
    assert len({plan.key for plan in forms("groups")[:2]}) == 1
    assert len({plan.key for plan in forms("conditions")[3:5]}) == 1
