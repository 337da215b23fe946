"""Questions in Python: the same plans, the same refusals."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.errors import ParameterError, QueryRefused
from discreet.plans import Bounding, Place, Shape, aggregates, col, lit, plan_sql, table
from discreet.plans.nodes import JoinKind
from discreet.tables import Column, Policy, Table
from tests.plans.hospital import POLICY

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.plans import Extract, Frame, Plan


def same(plan: object, sql: str) -> bool:
    return plan.key == plan_sql(POLICY, sql).key  # type: ignore[attr-defined, no-any-return]


def test_every_measure_is_the_one_of_sql() -> None:
    visits = table(POLICY, "visits")
    agg = aggregates
    pairs = {
        "COUNT(*)": agg.count(),
        "COUNT(cost)": agg.count("cost"),
        "COUNT(DISTINCT patient_id)": agg.count_distinct("patient_id"),
        "SUM(cost)": agg.sum("cost"),
        "AVG(cost * 2)": agg.mean(col("cost") * 2),
        "VARIANCE(cost)": agg.var("cost"),
        "VAR_POP(cost)": agg.var("cost", divisor=agg.Divisor.POPULATION),
        "STDDEV(cost)": agg.std("cost"),
        "COVAR_SAMP(cost, change)": agg.covar("cost", "change"),
        "CORR(cost, change)": agg.corr("cost", "change"),
        "MEDIAN(cost)": agg.median("cost"),
        "QUANTILE_CONT(cost, [0.1, 0.9])": agg.quantile("cost", 0.1, 0.9),
        "MIN(cost)": agg.min("cost"),
        "MAX(cost)": agg.max("cost"),
        "HISTOGRAM(cost, [1, 2])": agg.histogram("cost", [1, 2]),
    }
    for sql, measure in pairs.items():
        assert same(visits.agg(x=measure), f"SELECT {sql} FROM visits"), sql


def test_terms_are_the_operators_of_sql() -> None:
    visits = table(POLICY, "visits")
    pairs = {
        "(cost + 1) * 2 - change / 3 > 4": (col("cost") + 1) * 2 - col("change") / 3 > 4,
        "1 + cost <= 2 * cost OR NOT urgent": (1 + col("cost") <= 2 * col("cost")) | ~col("urgent"),
        "change % 2 = 1 AND change // 2 <> 3": (col("change") % 2 == 1) & (col("change") // 2 != 3),
        "-cost >= 1 - change": -col("cost") >= 1 - col("change"),
        "10 / change < 3": 10 / col("change") < 3,
        "diagnosis IN ('a', 'b') AND ward IS NULL": col("diagnosis").is_in("a", "b") & col("ward").is_null(),
        "visit_date >= '2021-01-01'": col("visit_date") >= "2021-01-01",
        "ward = 'surgery'": lit("surgery") == col("ward"),
    }
    for sql, term in pairs.items():
        assert same(visits.where(term).agg(n=aggregates.count()), f"SELECT COUNT(*) FROM visits WHERE {sql}"), sql
        assert same(visits.where(sql).agg(n=aggregates.count()), f"SELECT COUNT(*) FROM visits WHERE {sql}"), sql


def test_joins_unions_and_rows_per_unit() -> None:
    visits, patients = table(POLICY, "visits"), table(POLICY, "patients")
    joined = visits.join(patients, "patient_id").group_by("sex").agg(cost=aggregates.mean("cost"))
    assert same(joined, "SELECT sex, AVG(cost) FROM visits JOIN patients USING (patient_id) GROUP BY sex")
    both = visits.select("cost").union_all(visits.select("cost")).agg(n=aggregates.count())
    assert both.aggregate.rows_per_unit == 6
    per = visits.per_unit(n=aggregates.count(), most=aggregates.max("cost"), total=aggregates.sum("cost"))
    found = per.agg(n=aggregates.mean("n"), total=aggregates.median("total")).aggregate
    assert (found.rows_per_unit, found.rows_per_group) == (1, 1)
    public = visits.join(table(POLICY, "wards"), "ward", how=JoinKind.LEFT)
    assert public.node.rows == 3
    assert public.node.schema["beds"].nullable


def test_computed_keys_and_limits() -> None:
    groups = table(POLICY, "visits").group_by("ward", year="EXTRACT(year FROM visit_date)")
    plan = groups.agg(Bounding(groups=2, rows_per_group=1), n=aggregates.count())
    assert list(plan.columns) == ["ward", "year", "n"]
    assert (plan.aggregate.groups, plan.aggregate.groups_per_unit, plan.aggregate.rows_per_unit) == (9, 2, 2)
    clamped = groups.agg(Bounding(shape=Shape.SUMS, groups=1), n=aggregates.count(), c=aggregates.mean("cost"))
    assert clamped.aggregate.rows_per_group == 1
    assert len(clamped.statistics_of("m1")) == 2


def test_refusals_and_wrong_arguments() -> None:
    visits = table(POLICY, "visits")
    assert visits.group_by("ward").agg().aggregate.groups == 3  # the keys alone
    with pytest.raises(QueryRefused, match="group of its own"):
        visits.group_by("patient_id").agg(n=aggregates.count())
    with pytest.raises(QueryRefused, match="no public bounds"):
        visits.agg(x=aggregates.sum("score"))
    with pytest.raises(QueryRefused, match="no such column"):
        visits.agg(x=aggregates.sum("scores"))
    with pytest.raises(QueryRefused, match="no such column"):
        visits.join(table(POLICY, "patients"), "ward")
    with pytest.raises(QueryRefused, match="meet rows of another"):
        visits.join(visits.select("ward", other="cost"), "ward")
    with pytest.raises(QueryRefused, match="Both sides"):
        visits.join(visits, "patient_id")
    with pytest.raises(QueryRefused, match="one name"):
        visits.group_by("ward").agg(ward=aggregates.count())
    with pytest.raises(QueryRefused, match="not computed per unit"):
        visits.per_unit(x=aggregates.median("cost"))
    with pytest.raises(QueryRefused, match="Exactly one statement"):
        visits.where("urgent; DROP TABLE visits")
    with pytest.raises(QueryRefused, match="not a single expression"):
        visits.where("urgent, cost > 3")
    with pytest.raises(QueryRefused, match="FROM"):
        visits.where("urgent FROM patients")
    with pytest.raises(ParameterError, match="is no measure"):
        visits.agg(x="count")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="is no expression"):
        visits.where(3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="combine conditions with &"):
        bool(col("cost") > 3)
    with pytest.raises(ParameterError, match="is no constant"):
        lit(float("nan"))
    with pytest.raises(ParameterError, match=r"there is no table 'visit'.*Did you mean 'visits'"):
        table(POLICY, "visit")


LIMITS = [{"rows": 0}, {"groups": 0}, {"rows": 1.5}, {"rows_per_group": 2}, {"shape": "sum"}, {"place": None}]


@pytest.mark.parametrize("limits", LIMITS)
def test_limits_that_keep_nothing_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ParameterError):
        Bounding(**limits)  # type: ignore[arg-type]


def test_limits_are_read_by_name_and_from_any_whole_number() -> None:
    """They are written into the key of a question, which a name or an array's number would fail."""
    named = Bounding(rows=np.int64(2), shape="sums", place="after")  # type: ignore[arg-type]
    assert named == Bounding(rows=2, shape=Shape.SUMS, place=Place.AFTER)
    sql = "SELECT COUNT(*) FROM visits"
    assert plan_sql(POLICY, sql, bounding=named).key == plan_sql(POLICY, sql, bounding=replace(named, rows=2)).key


@pytest.mark.parametrize("divisor", aggregates.Divisor)
def test_divisors_are_read_by_name(divisor: aggregates.Divisor) -> None:
    """A name that is none of them was taken for the population."""
    agg = aggregates
    assert agg.var("cost", divisor=divisor.value) == agg.var("cost", divisor=divisor)
    assert agg.std("cost", divisor=divisor.value) == agg.std("cost", divisor=divisor)
    assert agg.covar("cost", "change", divisor=divisor.value) == agg.covar("cost", "change", divisor=divisor)
    with pytest.raises(ParameterError, match="divisor is 'n'; it must be one of 'sample', 'population'"):
        agg.var("cost", divisor="n")


def test_measures_are_of_expressions_as_conditions_are() -> None:
    asked = plan_sql(POLICY, "SELECT AVG(cost / 100) AS c, COUNT(CASE WHEN urgent THEN 1 END) AS n FROM visits")
    built = table(POLICY, "visits").agg(
        c=aggregates.mean("cost / 100"), n=aggregates.count("CASE WHEN urgent THEN 1 END")
    )
    assert built.key == asked.key
    with pytest.raises(QueryRefused, match="Did you mean 'cost'"):
        table(POLICY, "visits").agg(c=aggregates.mean("csot"))


def test_joins_are_named_by_a_word() -> None:
    patients, visits = table(POLICY, "patients"), table(POLICY, "visits")
    left = patients.join(visits, "patient_id", how="left").agg(n=aggregates.count())
    assert left.key == patients.join(visits, "patient_id", how=JoinKind.LEFT).agg(n=aggregates.count()).key
    for how in ("outer", "LEFT", None, 3):
        with pytest.raises(ParameterError, match="one of inner, left, semi, anti"):
            patients.join(visits, "patient_id", how=how)  # type: ignore[arg-type]


def test_tables_of_another_policy_are_refused() -> None:
    visits = table(POLICY, "visits")
    open_to_all = Policy(
        [Table("patients", public=True, unique=["patient_id"], columns=[Column("patient_id", type="text")])],
        epsilon=1,
    )
    with pytest.raises(ParameterError, match="the table patients is that of another policy"):
        visits.join(table(open_to_all, "patients"), "patient_id").agg(n=aggregates.count())


def test_what_is_computed_per_unit_is_the_question_of_sql() -> None:
    visits, patients = table(POLICY, "visits"), table(POLICY, "patients")
    per = "SELECT patient_id, {} FROM visits GROUP BY patient_id"
    total = visits.per_unit(total=aggregates.sum("cost")).agg(x=aggregates.mean("total"))
    assert same(total, f"SELECT AVG(s) FROM ({per.format('SUM(cost) AS s')}) q")
    joined = patients.join(visits.per_unit(n=aggregates.count()), "patient_id", how="left")
    assert same(
        joined.group_by("sex").agg(n=aggregates.mean("n")),
        f"SELECT sex, AVG(n) FROM patients LEFT JOIN ({per.format('COUNT(*) AS n')}) q USING (patient_id) GROUP BY sex",
    )
    wards = visits.per_unit("ward").group_by("ward").agg(n=aggregates.count())
    grouped = "SELECT patient_id, ward FROM visits GROUP BY patient_id, ward"
    assert same(wards, f"SELECT ward, COUNT(*) FROM ({grouped}) q GROUP BY ward")


def test_semi_joins_are_exists() -> None:
    visits, old = table(POLICY, "visits"), table(POLICY, "patients").where("age > 40")
    inner = "SELECT 1 FROM patients p WHERE p.patient_id = visits.patient_id AND p.age > 40"
    for how, word in (("semi", "EXISTS"), ("anti", "NOT EXISTS")):
        built = visits.join(old, "patient_id", how=how).agg(n=aggregates.count())
        assert same(built, f"SELECT COUNT(*) FROM visits WHERE {word} ({inner})")


def test_released_values_are_computed_with_by_name() -> None:
    groups = table(POLICY, "visits").group_by("ward")
    found = groups.agg(total=aggregates.sum("cost"), n=aggregates.count(), each=col("total") / col("n"))
    asked = plan_sql(POLICY, "SELECT ward, SUM(cost), COUNT(*) AS n, SUM(cost) / COUNT(*) FROM visits GROUP BY ward")
    assert (found.key, list(found.columns)) == (asked.key, ["ward", "total", "n", "each"])
    assert found.request.outputs[-1][1] == asked.request.outputs[-1][1]
    with pytest.raises(QueryRefused, match="no such column"):
        groups.agg(each=col("total") / col("n"), total=aggregates.sum("cost"), n=aggregates.count())
    with pytest.raises(ParameterError, match="by their names in the answer"):
        aggregates.sum("cost") / aggregates.count()


def test_equal_measures_are_one() -> None:
    built = table(POLICY, "visits").agg(a=aggregates.count(), b=aggregates.count())
    assert same(built, "SELECT COUNT(*) AS a, COUNT(*) AS b FROM visits")


def test_unions_of_integers_and_floats() -> None:
    visits = table(POLICY, "visits")
    built = visits.select(x="change").union_all(visits.select(x="cost")).agg(s=aggregates.sum("x"))
    assert same(built, "SELECT SUM(x) FROM (SELECT change AS x FROM visits UNION ALL SELECT cost AS x FROM visits) q")


def test_names_are_found_as_in_sql() -> None:
    visits, patients = table(POLICY, "visits"), table(POLICY, "patients")
    assert visits.join(patients, "PATIENT_ID").agg(n=aggregates.count()).key == (
        visits.join(patients, "patient_id").agg(n=aggregates.count()).key
    )
    assert list(visits.per_unit("Ward").node.schema) == ["patient_id", "ward"]
    assert visits.group_by(col("ward")).agg(n=aggregates.count()).key == (
        visits.group_by("ward").agg(n=aggregates.count()).key
    )
    assert list(visits.select(col("cost")).node.schema) == ["cost"]


def test_divisors_and_lists_are_read_in_words() -> None:
    assert aggregates.var("x", divisor="population") == aggregates.var("x", divisor=aggregates.Divisor.POPULATION)
    assert aggregates.quantile("x", [0.1, 0.9]) == aggregates.quantile("x", 0.1, 0.9)
    assert aggregates.count("*") == aggregates.count()
    assert col("ward").is_in(["a", "b"]).expression == col("ward").is_in("a", "b").expression
    assert (col("x") > np.int64(3)).expression == (col("x") > 3).expression  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "mistake, said",
    [
        (lambda v: v.where((col("cost") > 3) and (col("cost") < 9)), "each in parentheses"),
        (lambda v: v.where(3 < col("cost") < 9), "each in parentheses"),
        (lambda v: v.where(col("ward").is_in()), "at least one constant"),
        (lambda v: v.where(col("cost") == None), "is_null"),  # noqa: E711 - the mistake
        (lambda v: v.where(col(3) > 2), "the name of a column, not 3"),  # type: ignore[arg-type]
        (lambda v: v.where(np.array([[1], [2]])), "a value of type ndarray is no expression"),
        (lambda v: v.group_by("ward", ward="urgent"), "Two columns have this name"),
        (lambda v: v.group_by(col("cost") / 100), "needs a name"),
        (lambda v: v.per_unit("cost + 1"), "This is no column"),
        (lambda v: v.join("patients", "patient_id"), "is no table"),
        (lambda v: v.join(v, 3), "is no expression"),
        (lambda v: v.union_all(None), "is no table"),
        (lambda v: v.group_by("ward").order_by("n", descending=[False]), "True or False"),
        (
            lambda v: v.group_by("ward").having("n").agg(n=aggregates.count()),
            "HAVING: .* of kind integer",
        ),
        (lambda v: v.agg(n=aggregates.sum(None)), "nothing to aggregate"),  # type: ignore[arg-type]
        (lambda v: v.agg(n=aggregates.sum(aggregates.sum("cost"))), "nothing to aggregate"),  # type: ignore[arg-type]
        (lambda v: v.agg(n=aggregates.var("cost", divisor=0)), "'sample', 'population'"),  # type: ignore[arg-type]
        (lambda v: v.agg(n=aggregates.histogram("cost", 10)), "write a list of numbers"),  # type: ignore[arg-type]
    ],
)
def test_mistakes_are_answered_in_a_sentence(mistake: Callable[[Frame[Plan, Extract]], object], said: str) -> None:
    with pytest.raises((ParameterError, QueryRefused), match=said):
        mistake(table(POLICY, "visits"))


def test_misspelled_aggregates_are_guessed() -> None:
    for wrong, right in (("avg", "mean"), ("stddev", "std"), ("meen", "mean")):
        with pytest.raises(AttributeError, match=f"Did you mean '{right}'"):
            getattr(aggregates, wrong)


@pytest.mark.parametrize(
    "name, instead",
    [
        ("groupby", "group_by('ward')"),
        ("filter", "where('cost > 100')"),
        ("mean", "agg(cost=agg.mean('cost'))"),
        ("head", "no single row is ever shown"),
        ("wheres", "Did you mean 'where'?"),
    ],
)
def test_words_of_other_libraries_are_answered_with_what_to_write(name: str, instead: str) -> None:
    visits = table(POLICY, "visits")
    for frame in (visits, visits.group_by("ward")):
        with pytest.raises(AttributeError, match=re.escape(instead)):
            getattr(frame, name)
        assert not hasattr(frame, name)


def test_a_column_in_brackets_is_a_term() -> None:
    visits = table(POLICY, "visits")
    chosen = visits.where((visits["cost"] > 100) & (visits["ward"] == "surgery")).agg(n=aggregates.count())
    assert same(chosen, "SELECT COUNT(*) FROM visits WHERE cost > 100 AND ward = 'surgery'")
    with pytest.raises(QueryRefused, match="Did you mean 'cost'"):
        visits["csot"]
    for wrong in (visits["cost"] > 100, ["cost"], 0):
        with pytest.raises(ParameterError, match=re.escape("write where(…) or select(…)")):
            visits[wrong]  # type: ignore[index]


@pytest.mark.parametrize(
    "name, instead",
    [
        ("mean", "t.agg(m=agg.mean('cost'))"),
        ("value_counts", "t.group_by('ward').agg(n=agg.count())"),
        ("isin", "is_in('surgery', 'oncology')"),
        ("is_nul", "Did you mean 'is_null'?"),
        ("head", "No single row is ever shown"),
    ],
)
def test_methods_of_columns_elsewhere_are_answered_with_what_to_write(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(instead)):
        getattr(table(POLICY, "visits")["cost"], name)


def test_a_column_as_an_attribute_is_told_its_brackets() -> None:
    with pytest.raises(AttributeError, match=re.escape("write t['cost']")):
        _ = table(POLICY, "visits").cost  # type: ignore[attr-defined]


def test_an_aggregate_without_a_name_is_told_to_have_one() -> None:
    visits = table(POLICY, "visits")
    for frame in (visits, visits.group_by("ward")):
        for unnamed in (
            (aggregates.count(),),
            (aggregates.count(), aggregates.mean("cost")),
            (Bounding(), aggregates.count()),
            ({"cost": "mean"},),
            ("count",),
        ):
            with pytest.raises(ParameterError, match=re.escape("agg(n=agg.count()")):
                frame.agg(*unnamed)
