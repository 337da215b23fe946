"""The rules of what a number promises, as far as planning decides them: one test for each."""

from __future__ import annotations

import datetime as dt
import pickle
from random import Random

import pytest

from discreet.errors import QueryRefused
from discreet.plans import Bounding, Place, Shape, plan_sql
from discreet.plans.nodes import BoundRows, Filter, Join, Node, Scan, UnionAll
from discreet.plans.statistics import DistinctCount, Moment, RowCount
from discreet.privacy import NeighborRelation
from discreet.tables import Bounds, Column, Policy, Table
from tests.plans.hospital import POLICY, TOML, database
from tests.plans.interpreter import Row, groups_of, rows_of


def nodes(sql: str, bounding: Bounding | None = None) -> list[Node]:
    return list(plan_sql(POLICY, sql, bounding=bounding).aggregate.child.walk())


def test_rule_7_explanations_use_public_facts_alone() -> None:
    plan = plan_sql(POLICY, "SELECT ward, diagnosis, AVG(cost) FROM visits WHERE urgent GROUP BY ward, diagnosis")
    before = plan.explain()
    for seed in range(3):
        groups_of(plan.aggregate, database(Random(seed)))
    assert plan.explain() == before
    assert "partition selection" in before
    assert "how many is not reported" in before


def test_rule_8_the_number_of_rows_is_never_a_public_fact() -> None:
    for node in nodes("SELECT COUNT(*) FROM visits JOIN wards USING (ward)"):
        assert not any(hasattr(node, name) for name in ("size", "row_count", "cardinality"))


def test_rule_9_the_version_is_the_owners_word_and_not_the_data() -> None:
    assert plan_sql(POLICY, "SELECT COUNT(*) FROM visits").policy.version == "1"
    newer = Policy.from_toml('[dataset]\nversion = "2024-02"\n' + TOML)
    assert newer.hash != POLICY.hash


def test_rule_10_bounds_are_enforced_not_believed() -> None:
    plan = plan_sql(POLICY, "SELECT SUM(change) FROM visits")
    (moment,) = plan.aggregate.statistics
    assert isinstance(moment, Moment)
    assert (moment.factors[0].lower, moment.factors[0].upper) == (-5, 7)
    huge = {"visits": [{"patient_id": "p", "change": 10**6}]}
    assert groups_of(plan.aggregate, huge) == {(): [(7,)]}


def test_rule_10_unverified_uniqueness_is_enforced_like_rows_per_unit() -> None:
    sql = "SELECT COUNT(*) FROM patients"
    unverified = plan_sql(POLICY, sql).aggregate
    assert any(isinstance(node, BoundRows) and node.limit == 1 for node in unverified.child.walk())
    twice = {"patients": [{"patient_id": "p", "age": 4}, {"patient_id": "p", "age": 5}]}
    assert groups_of(unverified, twice) == {(): [(1,)]}
    verified = plan_sql(POLICY, sql, verified=frozenset({"patients"})).aggregate
    assert not any(isinstance(node, BoundRows) for node in verified.child.walk())
    assert verified.rows_per_unit == 1


def test_rule_10_rows_beyond_the_limit_are_dropped_by_rank_not_by_order() -> None:
    plan = plan_sql(POLICY, "SELECT SUM(change) FROM visits").aggregate
    rows = [{"patient_id": "p", "change": number} for number in range(-5, 8)]
    found = {str(groups_of(plan, {"visits": Random(seed).sample(rows, len(rows))})) for seed in range(10)}
    assert len(found) == 1


def test_rule_10_nulls_and_other_values_are_enforced() -> None:
    people: list[Row] = [
        {"patient_id": "a", "age": None, "city": "north"},
        {"patient_id": "b", "age": 200, "city": "Atlantis"},
        {"patient_id": "c", "age": 30, "city": None},
    ]
    plan = plan_sql(POLICY, "SELECT city, COUNT(*) FROM patients GROUP BY city").aggregate
    assert groups_of(plan, {"patients": people}) == {("north",): [(0,)], ("south",): [(0,)], ("elsewhere",): [(1,)]}


def test_rule_11_types_are_declared_and_bad_cells_are_null() -> None:
    plan = plan_sql(POLICY, "SELECT COUNT(cost), SUM(cost) FROM visits").aggregate
    odd = [{"patient_id": "a", "cost": cost} for cost in ("12", None, float("nan"))]
    counted, summed = groups_of(plan, {"visits": odd})[()]
    assert (counted, summed) == ((0,), (0,))


def test_rule_12_known_keys_are_the_policys_list_and_all_appear() -> None:
    plan = plan_sql(
        POLICY, "SELECT ward, sex, COUNT(*) FROM visits JOIN patients USING (patient_id) GROUP BY ward, sex"
    )
    groups = groups_of(plan.aggregate, {"visits": [], "patients": []})
    assert len(groups) == plan.aggregate.groups == 9
    assert all(values == [(0,)] for values in groups.values())
    columns = [key.column for key in plan.aggregate.keys]
    sexes = {group[columns.index(plan.key_column("key1"))] for group in groups}
    assert sexes == {"f", "m", None}


def test_rule_12_null_is_a_known_key_only_if_declared_and_may_be_found() -> None:
    by_sex = plan_sql(POLICY, "SELECT sex, COUNT(*) FROM patients GROUP BY sex").aggregate
    by_ward = plan_sql(POLICY, "SELECT ward, COUNT(*) FROM visits GROUP BY ward").aggregate
    by_text = plan_sql(POLICY, "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis").aggregate
    assert by_sex.keys[0].known == ("f", "m", None)
    assert by_ward.keys[0].known == ("cardiology", "oncology", "surgery")
    rows = [{"patient_id": "a", "diagnosis": None, "ward": None}]
    assert groups_of(by_text, {"visits": rows}) == {(None,): [(1,)]}  # which selection may show
    assert None not in {group[0] for group in groups_of(by_ward, {"visits": rows})}


def test_rule_12_the_cross_product_is_capped_by_a_public_limit() -> None:
    small = Policy.from_toml("[limits]\ngroups = 8\n" + TOML)
    sql = "SELECT ward, urgent, COUNT(*) FROM visits GROUP BY ward, urgent"
    assert plan_sql(small, sql).aggregate.groups == 6
    with pytest.raises(QueryRefused, match="9 groups, more than the policy's limit of 8"):
        plan_sql(small, "SELECT sex, city, COUNT(*) FROM patients GROUP BY sex, city")


def test_rule_14_rows_meet_their_own_units_rows_only() -> None:
    for sql in (
        "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
        "SELECT COUNT(*) FROM (SELECT cost FROM visits ORDER BY cost LIMIT 3) q",
        "SELECT COUNT(*) FROM (SELECT RANK() OVER (ORDER BY cost) AS r FROM visits) q WHERE r < 3",
        "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits WHERE urgent)",
        "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.patient_id = b.diagnosis",
        "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.diagnosis = b.patient_id",
    ):
        with pytest.raises(QueryRefused):
            plan_sql(POLICY, sql)
    plan_sql(POLICY, "SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM visits WHERE urgent)")


def test_rule_15_rows_without_a_unit_are_dropped() -> None:
    plan = plan_sql(POLICY, "SELECT COUNT(*) FROM visits").aggregate
    rows = [{"patient_id": unit} for unit in (None, float("nan"), "a")]
    assert groups_of(plan, {"visits": rows}) == {(): [(1,)]}


def test_rule_15_joins_multiply_unions_add_and_each_scan_counts_again() -> None:
    joined = [
        node
        for node in nodes("SELECT COUNT(*) FROM visits a JOIN visits b USING (patient_id)")
        if isinstance(node, Join)
    ]
    assert [node.rows for node in joined] == [9]
    costs = "SELECT cost FROM visits"
    union = f"SELECT COUNT(*) FROM ({costs} UNION ALL {costs} UNION ALL {costs}) u"
    assert [node.rows for node in nodes(union) if isinstance(node, UnionAll)] == [9, 6]
    assert sum(isinstance(node, Scan) for node in nodes(union)) == 3


def test_rule_15_kinds_of_units_never_join() -> None:
    with pytest.raises(QueryRefused, match="different kinds, patient and staff_id"):
        plan_sql(POLICY, "SELECT COUNT(*) FROM visits JOIN staff ON patient_id = staff_id")


def test_rule_15_change_one_is_one_unit_out_and_another_in() -> None:
    plan = plan_sql(POLICY, "SELECT ward, COUNT(*), SUM(change) FROM visits GROUP BY ward").aggregate
    count, total = plan.statistics
    assert isinstance(count, RowCount)
    added = plan.sensitivity(count)
    changed = plan.sensitivity(count, NeighborRelation.CHANGE_ONE)
    assert (added.largest, added.l1, added.l2_squared) == (3, 3, 9)
    assert (changed.largest, changed.l1, changed.l2_squared) == (3, 6, 18)
    assert plan.sensitivity(total).largest == 3 * 7
    assert plan.sensitivity(total, NeighborRelation.CHANGE_ONE).largest == 3 * (7 + 5)
    assert plan.sensitivity(count, NeighborRelation.ADD_REMOVE.group(2)).l1 == 6


def test_rule_16_the_place_of_the_limit_is_chosen_and_shown() -> None:
    sql = "SELECT COUNT(*) FROM visits WHERE urgent"
    before = plan_sql(POLICY, sql)
    after = plan_sql(POLICY, sql, bounding=Bounding(place=Place.AFTER))
    order = [type(node).__name__ for node in before.aggregate.child.walk()]
    assert order == ["Project", "Filter", "BoundRows", "Scan"]
    assert [type(node).__name__ for node in after.aggregate.child.walk()] == ["Project", "BoundRows", "Filter", "Scan"]
    assert before.explain() != after.explain()
    rows = [{"patient_id": "p", "urgent": number < 3, "change": number} for number in range(7)]
    assert groups_of(after.aggregate, {"visits": rows}) == {(): [(3,)]}
    assert groups_of(before.aggregate, {"visits": rows})[()][0][0] <= 3


def test_rule_17_values_of_plans_show_no_data() -> None:
    plan = plan_sql(POLICY, "SELECT AVG(cost) FROM visits")
    shown = repr(plan)
    rows_of(plan.aggregate.child, database(Random(1)))
    assert repr(plan) == shown
    assert pickle.loads(pickle.dumps(plan)).key == plan.key  # noqa: S301 - our own


def test_rule_18_sensitivities_are_exact_integers_of_snapped_bounds() -> None:
    plan = plan_sql(POLICY, "SELECT SUM(weight), AVG(weight) FROM answers").aggregate
    for statistic in plan.statistics:
        found = plan.sensitivity(statistic)
        assert all(isinstance(number, int) for number in (found.largest, found.l1, found.l2_squared))
    moment = next(each for each in plan.statistics if isinstance(each, Moment))
    assert moment.factors[0].step.denominator & (moment.factors[0].step.denominator - 1) == 0


def test_sums_that_are_divided_are_centered_and_need_half_the_noise() -> None:
    plan = plan_sql(POLICY, "SELECT SUM(change), AVG(change) FROM visits").aggregate
    total, centered = (each for each in plan.statistics if isinstance(each, Moment))
    assert (plan.sensitivity(total).l1, plan.sensitivity(centered).l1) == (3 * 7, 3 * 6)


def test_counts_are_shared_and_paid_once() -> None:
    plan = plan_sql(POLICY, "SELECT COUNT(*), AVG(age), VARIANCE(age), SUM(age) FROM patients")
    assert sum(isinstance(each, RowCount) for each in plan.aggregate.statistics) == 1
    assert plan.statistics_of("m0") == (plan.statistics_of("m1")[0],) == (plan.statistics_of("m2")[0],)


def test_a_count_of_units_moves_by_one_in_each_group() -> None:
    plan = plan_sql(POLICY, "SELECT ward, COUNT(DISTINCT patient_id) FROM visits GROUP BY ward").aggregate
    (units,) = plan.statistics
    assert isinstance(units, DistinctCount)
    found = plan.sensitivity(units)
    assert (found.largest, found.l1, found.l2_squared) == (1, 3, 3)
    values = plan_sql(POLICY, "SELECT COUNT(DISTINCT diagnosis) FROM visits").aggregate
    assert values.sensitivity(values.statistics[0]).l1 == 3


def test_without_any_limit_a_question_is_refused_and_says_what_helps() -> None:
    free = Policy([Table("visits", unit="id", columns=[Column("x", lower=0, upper=1)])], epsilon=1)
    with pytest.raises(QueryRefused, match="rows_per_unit"):
        plan_sql(free, "SELECT COUNT(*) FROM visits")
    assert plan_sql(free, "SELECT COUNT(DISTINCT id) FROM visits").aggregate.groups_per_unit == 1
    limited = plan_sql(free, "SELECT COUNT(*) FROM visits", bounding=Bounding(rows=4)).aggregate
    assert limited.rows_per_unit == 4
    clamped = plan_sql(free, "SELECT SUM(x) FROM visits", bounding=Bounding(shape=Shape.SUMS, rows_per_group=4))
    assert clamped.aggregate.rows_per_unit == 1
    with pytest.raises(QueryRefused, match="how much a unit may add"):
        plan_sql(free, "SELECT SUM(x) FROM visits", bounding=Bounding(shape=Shape.SUMS))


def test_clamped_sums_lose_no_rows_and_equal_counts() -> None:
    sql = "SELECT COUNT(*), SUM(change) FROM visits"
    rows = plan_sql(POLICY, sql).aggregate
    sums = plan_sql(POLICY, sql, bounding=Bounding(shape=Shape.SUMS)).aggregate
    for seed in range(20):
        data = database(Random(seed))
        assert groups_of(rows, data)[()][0] == groups_of(sums, data)[()][0]
    many = {"visits": [{"patient_id": "p", "change": 1} for _ in range(10)]}
    assert groups_of(rows, many)[()] == [(3,), (3,)]
    assert groups_of(sums, many)[()] == [(3,), (10,)]
    for change, clamped in ((7, 3 * 7), (-5, 3 * -5), (-1, -10)):
        rows_of_one = {"visits": [{"patient_id": "p", "change": change} for _ in range(10)]}
        assert groups_of(sums, rows_of_one)[()][1] == (clamped,)


def test_filters_narrow_what_is_known() -> None:
    plan = plan_sql(POLICY, "SELECT AVG(age) FROM patients WHERE age BETWEEN 18 AND 65")
    (found,) = [node for node in plan.aggregate.child.walk() if isinstance(node, Filter)]
    assert found.schema["age"].bounds == Bounds(18, 65)
    months = "SELECT DATE_TRUNC('month', visit_date) AS m, COUNT(*) FROM visits WHERE visit_date {} GROUP BY m"
    assert plan_sql(POLICY, months.format(">= '2022-03-05'")).aggregate.groups == 10
    assert plan_sql(POLICY, months.format("<= DATE '2020-03-01' AND visit_date IS NOT NULL")).aggregate.groups == 3
    assert plan_sql(POLICY, months.format("< DATE '2020-03-01'")).aggregate.groups == 2
    assert plan_sql(POLICY, months.format("> '2022-11-30' AND visit_date < '2023-01-01'")).aggregate.groups == 1
    assert plan_sql(POLICY, months.format("< DATE '0001-01-01'")).aggregate.groups == 1  # no row, and no error
    assert plan_sql(POLICY, "SELECT age, COUNT(*) FROM patients WHERE age > 64 GROUP BY age").aggregate.groups == 56
    least = plan_sql(POLICY, f"SELECT SUM(code) FROM visits WHERE code < {-(2**63)} AND code > -9223372036854775807")
    assert least.row_schema["v0"].bounds.within(Bounds(-(2**63), 2**63 - 1))
    contradiction = plan_sql(POLICY, "SELECT AVG(age) FROM patients WHERE age < 2 AND age > 5")
    assert contradiction.aggregate.sensitivity(contradiction.aggregate.statistics[-1]).l1 >= 0


def test_constants_of_the_question_are_known_keys() -> None:
    by_diagnosis = "SELECT diagnosis, COUNT(*) FROM visits WHERE {} GROUP BY diagnosis"
    found = plan_sql(POLICY, by_diagnosis.format("diagnosis IN ('flu', 'burn', 'flu') AND urgent")).aggregate
    assert found.keys[0].known == ("flu", "burn") or found.keys[0].known == ("burn", "flu")
    assert plan_sql(POLICY, by_diagnosis.format("diagnosis <> 'flu'")).aggregate.keys[0].known is None
    assert plan_sql(POLICY, by_diagnosis.format("diagnosis = 'flu' OR urgent")).aggregate.keys[0].known is None
    wards = plan_sql(POLICY, "SELECT ward, COUNT(*) FROM visits WHERE ward IN ('surgery') GROUP BY ward")
    assert wards.aggregate.keys[0].known == ("surgery",)
    both = "ward = 'surgery' AND ward = 'oncology'"
    with pytest.raises(QueryRefused, match="none of the known keys"):
        plan_sql(POLICY, f"SELECT ward, COUNT(*) FROM visits WHERE {both} GROUP BY ward")
    with pytest.raises(QueryRefused, match="none of the known keys"):
        plan_sql(POLICY, f"SELECT ward, diagnosis, COUNT(*) FROM visits WHERE {both} GROUP BY ward, diagnosis")


def test_a_midnight_is_the_key_of_its_date() -> None:
    """It equals the date in the rows, but no known key equaled it: groups were missing, or the question refused."""
    days = "SELECT visit_date, COUNT(*) FROM visits WHERE visit_date {} GROUP BY visit_date"
    midnight, noon = "TIMESTAMP '2020-05-06 00:00:00'", "TIMESTAMP '2020-05-07 12:00:00'"
    for condition in (f"= {midnight}", f"IN ({midnight}, {noon})"):
        assert plan_sql(POLICY, days.format(condition)).aggregate.keys[0].known == (dt.date(2020, 5, 6),)
    both = plan_sql(POLICY, days.format(f"IN ({midnight}, DATE '2020-05-08')")).aggregate
    assert both.keys[0].known == (dt.date(2020, 5, 6), dt.date(2020, 5, 8))
    moments = "SELECT left_at, COUNT(*) FROM visits WHERE left_at = DATE '2020-05-06' GROUP BY left_at"
    assert plan_sql(POLICY, moments).aggregate.keys[0].known == (dt.datetime(2020, 5, 6),)  # noqa: DTZ001 - no zone


def test_rights_see_every_table_that_is_read() -> None:
    inside = "patient_id IN (SELECT patient_id FROM patients) AND ward IN (SELECT ward FROM wards)"
    assert plan_sql(POLICY, f"SELECT COUNT(*) FROM visits WHERE {inside}").tables == ("patients", "visits", "wards")


def test_noise_for_squares_fits_into_64_bits() -> None:
    wide = Table(
        "t", row_is_unit=True, columns=[Column("x", lower=0, upper=10**12), Column("y", lower=-1.0, upper=1e9)]
    )
    policy = Policy([wide], epsilon=1)
    plan = plan_sql(policy, "SELECT VARIANCE(x), VARIANCE(y), CORR(x, y), SUM(x) FROM t").aggregate
    for statistic in plan.statistics:
        assert plan.sensitivity(statistic).largest <= 2**34


def test_wide_integers_are_snapped_and_clamped() -> None:
    policy = Policy([Table("t", row_is_unit=True, columns=[Column("x", lower=0, upper=2**40)])], epsilon=1)
    plan = plan_sql(policy, "SELECT SUM(x) FROM t").aggregate
    (moment,) = plan.statistics
    assert isinstance(moment, Moment)
    assert moment.factors[0].step == 2**8
    rows = {"t": [{"x": 2**40 + 5}, {"x": 3 * 2**8 + 1}]}
    assert groups_of(plan, rows) == {(): [(2**32 + 3,)]}
