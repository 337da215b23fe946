"""Which SQL is answered and with which claims, and which is refused and how."""

from __future__ import annotations

import pickle
import subprocess
import sys
from random import Random

import pytest

from discreet.errors import DiscreetError, ParameterError, PolicyError, QueryRefused
from discreet.plans import plan_sql
from discreet.plans.sql.reading import DIALECTS
from discreet.plans.statistics import RowCount
from discreet.plans.terms import lit
from discreet.tables import Column, Policy
from tests.plans.grammar import Questions
from tests.plans.hospital import POLICY, TOML

PER_PATIENT = "(SELECT patient_id, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY patient_id) AS p"

PER_WARD = "(SELECT patient_id, ward, COUNT(*) AS n FROM visits GROUP BY patient_id, ward) AS q"
OLD = "SELECT * FROM patients AS p WHERE age > 40"

# The question; rows, groups and rows per group of one unit; the number of known groups, or None.
ANSWERED: list[tuple[str, tuple[int | None, ...]]] = [
    ("SELECT COUNT(*) FROM visits", (3, 1, 3, 1)),
    ("select count(*) as n from VISITS v where V.COST > 10;", (3, 1, 3, 1)),
    ("SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward", (3, 3, 3, 3)),
    ("SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis ORDER BY n DESC LIMIT 10", (3, 3, 3, None)),
    ("SELECT SUM(cost) / COUNT(*) AS r, SQRT(VARIANCE(cost)) FROM visits HAVING COUNT(*) > 5 ORDER BY r", (3, 1, 3, 1)),
    ("SELECT COUNT(DISTINCT patient_id), COUNT(DISTINCT diagnosis), COUNT(cost) FROM visits", (3, 1, 3, 1)),
    ("SELECT VAR_POP(cost), STDDEV(cost), STDDEV_POP(cost), CORR(cost, change) FROM visits", (3, 1, 3, 1)),
    ("SELECT COVAR_POP(cost, change), COVAR_SAMP(cost, change) FROM visits", (3, 1, 3, 1)),
    ("SELECT MEDIAN(cost), QUANTILE_CONT(cost, [0.1, 0.9]), MIN(cost), MAX(change) FROM visits", (3, 1, 3, 1)),
    ("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost DESC) FROM visits", (3, 1, 3, 1)),
    ("SELECT HISTOGRAM(cost, [0, 100, 500]) FROM visits", (3, 1, 3, 1)),
    (
        "SELECT COUNT(*) FILTER (WHERE urgent), COUNT_IF(cost > 3), SUM(cost) FILTER (WHERE urgent) FROM visits",
        (3, 1, 3, 1),
    ),
    ("SELECT WIDTH_BUCKET(cost, 0, 1000, 10) AS b, COUNT(*) FROM visits GROUP BY b", (3, 3, 3, 12)),
    ("SELECT EXTRACT(year FROM visit_date), COUNT(*) FROM visits GROUP BY 1", (3, 3, 3, 3)),
    ("SELECT DATE_TRUNC('month', visit_date) AS m, COUNT(*) FROM visits GROUP BY m", (3, 3, 3, 36)),
    ("SELECT CASE WHEN age < 40 THEN 'young' ELSE 'old' END AS g, COUNT(*) FROM patients GROUP BY g", (1, 1, 1, 2)),
    ("SELECT age, COUNT(*) FROM patients GROUP BY age", (1, 1, 1, 121)),
    ("SELECT sex, city, COUNT(*) FROM patients GROUP BY sex, city", (1, 1, 1, 9)),
    (f"SELECT AVG(n), MEDIAN(total) FROM {PER_PATIENT}", (1, 1, 1, 1)),
    (f"SELECT ward, AVG(n) FROM {PER_WARD} GROUP BY ward", (3, 3, 1, 3)),
    ("SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost) > 5) AS q", (1, 1, 1, 1)),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, ward FROM visits) q", (3, 1, 3, 1)),
    ("WITH a AS (SELECT cost AS x FROM visits), b AS (SELECT x FROM a WHERE x > 3) SELECT AVG(x) FROM b", (3, 1, 3, 1)),
    ("SELECT COUNT(*) FROM (SELECT cost FROM visits UNION ALL SELECT age FROM patients) u", (4, 1, 4, 1)),
    ("SELECT AVG(v.cost) FROM visits v JOIN patients p ON p.patient_id = v.patient_id AND p.age > 30", (3, 1, 3, 1)),
    ("SELECT sex, AVG(cost) FROM visits LEFT JOIN patients USING (patient_id) GROUP BY sex", (3, 3, 3, 3)),
    ("SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id", (9, 1, 9, 1)),
    ("SELECT floor, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY floor", (3, 3, 3, 3)),
    ("SELECT COUNT(*) FROM wards JOIN visits ON visits.ward = wards.ward", (3, 1, 3, 1)),
    ("SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM patients WHERE age > 40)", (3, 1, 3, 1)),
    ("SELECT COUNT(*) FROM visits WHERE patient_id NOT IN (SELECT patient_id FROM patients)", (3, 1, 3, 1)),
    (f"SELECT COUNT(*) FROM visits v WHERE EXISTS ({OLD} AND p.patient_id = v.patient_id)", (3, 1, 3, 1)),
    (f"SELECT COUNT(*) FROM visits v WHERE NOT EXISTS ({OLD} AND p.patient_id = v.patient_id)", (3, 1, 3, 1)),
    ("SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT ward FROM wards WHERE beds > 5)", (3, 1, 3, 1)),
    ("SELECT AVG(weight) FROM answers WHERE rating BETWEEN 2 AND 4 AND comment LIKE '%good%'", (1, 1, 1, 1)),
    (
        "SELECT COUNT(*) FROM visits WHERE visit_date >= '2021-01-01' AND left_at < TIMESTAMP '2022-01-01 00:00:00'",
        (3, 1, 3, 1),
    ),
    ("SELECT SUM(LEAST(GREATEST(score, -10), 10)), SUM(CASE WHEN urgent THEN 1 ELSE 0 END) FROM visits", (3, 1, 3, 1)),
    ("SELECT SUM(TRY_CAST(diagnosis AS INT) % 10), AVG(LENGTH(ward) % 7) FROM visits", (3, 1, 3, 1)),
]


@pytest.mark.parametrize("sql, shares", ANSWERED, ids=[case[0][:70] for case in ANSWERED])
def test_answered(sql: str, shares: tuple[int | None, ...]) -> None:
    plan = plan_sql(POLICY, sql)
    found = plan.aggregate
    assert (found.rows_per_unit, found.groups_per_unit, found.rows_per_group, found.groups) == shares
    assert all(
        0 <= place < len(found.statistics) for name, _ in plan.request.measures for place in plan.statistics_of(name)
    )
    assert plan.explain().startswith("answer: ")


# The question, and a word of the reason.
REFUSED = [
    ("SELECT * FROM visits", "single row"),
    ("SELECT visits.* FROM visits", "single row"),
    ("SELECT cost FROM visits", "aggregate of it such as AVG(cost)"),
    ("SELECT ward FROM visits", "GROUP BY ward."),
    ("SELECT patient_id, COUNT(*) FROM visits", "COUNT(DISTINCT patient_id)"),
    ("SELECT COUNT(*) FROM (SELECT * FROM visits v JOIN patients p ON v.patient_id = p.patient_id) q", "one name"),
    ("SELECT COUNT(*) FROM (SELECT x.* FROM visits v) q", "no such table"),
    ("SELECT COUNT(*) FROM (SELECT * EXCLUDE (cost) FROM visits) q", "EXCEPT"),
    ("SELECT COUNT(*) FROM (SELECT patient_id, * FROM visits) q", ""),
    ("SELECT cost, COUNT(*) FROM visits", "single rows"),
    ("SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id", "group of its own"),
    ("SELECT COUNT(*) FROM visits GROUP BY PATIENT_ID", "group of its own"),
    ("SELECT COUNT(*) FROM visits; DROP TABLE visits", "Exactly one statement"),
    ("SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits", "Exactly one statement"),
    ("", "Exactly one statement"),
    ("DROP TABLE visits", "one SELECT"),
    ("INSERT INTO visits SELECT COUNT(*) FROM visits", "one SELECT"),
    ("CREATE TABLE x AS SELECT COUNT(*) FROM visits", "one SELECT"),
    ("COPY visits TO 'x.csv'", "one SELECT"),
    ("ATTACH 'x.db'", ""),
    ("PRAGMA version", ""),
    ("EXPLAIN SELECT COUNT(*) FROM visits", ""),
    ("SELECT COUNT(*) INTO x FROM visits", ""),
    ("SELECT COUNT(*) FROM 'visits.csv'", ""),
    ("SELECT COUNT(*) FROM read_csv('x.csv')", "no files"),
    ("SELECT COUNT(*) FROM glob('*')", "no files"),
    ("SELECT COUNT(*) FROM generate_series(1, 10)", "no files"),
    ("SELECT COUNT(*) FROM information_schema.tables", "no such table"),
    ("SELECT COUNT(*) FROM duckdb_tables()", "no files"),
    ("SELECT COUNT(*) FROM visit", "Did you mean 'visits'"),
    ("SELECT AVG(csot) FROM visits", "Did you mean 'cost'"),
    ("SELECT COUNT(*) FROM visits TABLESAMPLE 10 PERCENT", "SAMPLE"),
    ("SELECT ROW_NUMBER() OVER () FROM visits", "window"),
    ("SELECT SUM(cost) OVER (PARTITION BY ward) FROM visits", "window"),
    ("SELECT COUNT(*) FROM visits QUALIFY ROW_NUMBER() OVER () = 1", "QUALIFY"),
    ("SELECT COUNT(*) FROM (SELECT cost, ROW_NUMBER() OVER (ORDER BY cost) AS r FROM visits) q WHERE r = 1", "window"),
    ("SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)", "other units"),
    ("SELECT (SELECT COUNT(*) FROM visits) FROM visits", "other units"),
    ("SELECT COUNT(*) FROM visits v WHERE cost > ALL (SELECT cost FROM visits)", "other units"),
    (
        "SELECT COUNT(*) FROM visits v WHERE cost = (SELECT MAX(cost) FROM visits w WHERE w.ward = v.ward)",
        "other units",
    ),
    ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.ward = v.ward)", "other units"),
    (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.cost < v.cost)",
        "equality of columns",
    ),
    ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM patients)", "does not depend"),
    ("SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM visits)", "other units"),
    ("SELECT COUNT(*) FROM visits WHERE change NOT IN (SELECT beds FROM wards)", "holds NULL"),
    (
        "SELECT COUNT(*) FROM visits WHERE urgent OR patient_id IN (SELECT patient_id FROM patients)",
        "condition of its own",
    ),
    ("SELECT COUNT(*) FROM wards WHERE ward IN (SELECT ward FROM visits)", "other units"),
    ("SELECT AVG(cost) FROM (SELECT cost FROM visits LIMIT 5) q", "LIMIT"),
    ("SELECT AVG(cost) FROM (SELECT cost FROM visits ORDER BY cost) q", "ORDER BY"),
    ("SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) q", "different units"),
    ("SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM visits) q", "different units"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits) q", "merged"),
    ("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits", "one SELECT"),
    ("SELECT COUNT(*) FROM (SELECT cost FROM visits UNION SELECT cost FROM visits) q", "merge rows"),
    ("SELECT COUNT(*) FROM (SELECT cost FROM visits EXCEPT SELECT cost FROM visits) q", "NULLs count as equal"),
    ("SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL SELECT ward FROM wards) q", "different units"),
    ("SELECT COUNT(*) FROM (SELECT ward FROM visits UNION ALL SELECT hours FROM staff) q", "same kinds"),
    ("SELECT COUNT(*) FROM (SELECT change FROM visits UNION ALL SELECT hours FROM staff) q", "different units"),
    ("SELECT COUNT(*) FROM visits, patients", "every row"),
    ("SELECT COUNT(*) FROM visits CROSS JOIN wards", "JOIN … ON"),
    ("SELECT COUNT(*) FROM visits NATURAL JOIN patients", "USING"),
    ("SELECT COUNT(*) FROM visits FULL JOIN patients USING (patient_id)", "LEFT JOIN"),
    ("SELECT COUNT(*) FROM visits SEMI JOIN patients USING (patient_id)", "WHERE EXISTS"),
    ("SELECT COUNT(*) FROM visits ANTI JOIN patients USING (patient_id)", "WHERE NOT EXISTS"),
    ("SELECT COUNT(*) FROM visits ASOF JOIN patients USING (patient_id)", ""),
    ("SELECT COUNT(*) FROM visits POSITIONAL JOIN patients", ""),
    ("SELECT COUNT(*) FROM visits a JOIN visits b ON a.ward = b.ward", "meet rows of another"),
    ("SELECT COUNT(*) FROM visits a JOIN visits b ON a.cost < b.cost", "equality"),
    ("SELECT COUNT(*) FROM visits JOIN staff ON patient_id = staff_id", "different kinds"),
    ("SELECT COUNT(*) FROM visits JOIN wards ON visits.change = wards.floor", "several rows"),
    ("SELECT COUNT(*) FROM wards LEFT JOIN visits USING (ward)", "without a partner"),
    ("SELECT COUNT(*) FROM visits v JOIN visits v ON v.patient_id = v.patient_id", "called v"),
    ("SELECT COUNT(*) FROM visits JOIN LATERAL (SELECT 1) q ON TRUE", ""),
    ("SELECT COUNT(*) FROM visits PIVOT (COUNT(*) FOR ward IN ('a'))", ""),
    ("SELECT COUNT(*) FROM wards", "public tables only"),
    ("SELECT COUNT(*)", "reads no table"),
    ("SELECT 1", "reads no table"),
    ("SELECT MIN(diagnosis) FROM visits", "one unit's value"),
    ("SELECT SUM(score) FROM visits", "no public bounds"),
    ("SELECT MEDIAN(score) FROM visits", "no public bounds"),
    ("SELECT SUM(ward) FROM visits", "needs numbers"),
    ("SELECT SUM(DISTINCT cost) FROM visits", "DISTINCT is for COUNT"),
    ("SELECT MIN(cost, 3) FROM visits", "COUNT"),
    ("SELECT AVG(SUM(cost)) FROM visits", "its own grouping"),
    ("SELECT STRING_AGG(diagnosis, ',') FROM visits", "single units"),
    ("SELECT LIST(cost) FROM visits", "single units"),
    ("SELECT ANY_VALUE(cost) FROM visits", "single units"),
    ("SELECT FIRST(cost) FROM visits", "single units"),
    ("SELECT MODE(ward) FROM visits", "one unit can decide"),
    ("SELECT BOOL_OR(urgent) FROM visits", "FILTER"),
    ("SELECT SKEWNESS(cost) FROM visits", "This aggregate is not answered"),
    ("SELECT ARG_MAX(ward, cost) FROM visits", "single units"),
    ("SELECT MODE() WITHIN GROUP (ORDER BY ward) FROM visits", "one unit can decide"),
    ("SELECT COUNT(*) FROM visits WHERE visit_date + INTERVAL 1 MONTH < DATE '2021-01-01'", "INTERVAL 1 MONTH"),
    ("SELECT COUNT(*) FROM visits WHERE visit_date + change < DATE '2021-01-01'", "day + 7"),
    ("SELECT COUNT(*) FROM visits WHERE visit_date + INTERVAL change DAY < DATE '2021-01-01'", "a number"),
    ("SELECT COUNT(*) FROM visits WHERE visit_date + INTERVAL '1 fortnight' < DATE '2021-01-01'", "INTERVAL 30 DAY"),
    ("SELECT COUNT(*) FROM visits WHERE visit_date < DATE '9999-12-31' + INTERVAL 1 DAY", "day + 7"),
    ("SELECT COUNT(*) FROM visits WHERE visit_date < DATE '9999-12-31' + 1", "a date"),
    ("SELECT COUNT(*) FROM visits WHERE visit_date + 4000000 < DATE '2021-01-01'", "within the calendar"),
    ("SELECT COUNT(*) FROM visits WHERE cost + INTERVAL 1 DAY < 3", "day + 7"),
    ("SELECT COUNT(*) FROM visits WHERE visit_date < INTERVAL 1 DAY", "difference of two moments"),
    ("SELECT COUNT(*) FROM visits WHERE contains(diagnosis, '50%')", "would mean a pattern"),
    ("SELECT IFF(urgent, 1, 2) AS u, COUNT(*) FROM visits GROUP BY u", "IF(condition"),
    ("SELECT SUM(visit_date) FROM visits", "EXTRACT(year"),
    ("SELECT `ward`, COUNT(*) FROM visits GROUP BY 1", "dialect='spark'"),
    ("SELECT SUM(cost ORDER BY cost) FROM visits", ""),
    ("SELECT HISTOGRAM(cost) FROM visits", "edges must be given"),
    ("SELECT QUANTILE_CONT(cost, 1.5) FROM visits", "between 0 and 1"),
    ("SELECT QUANTILE_CONT(cost, change) FROM visits", "constant"),
    ("SELECT QUANTILE_CONT(cost, [0.1, 0.9]) + 1 FROM visits", "cannot be computed with"),
    ("SELECT QUANTILE_CONT(cost, [0.1, 0.9]) AS q FROM visits HAVING q > 1", "cannot be computed with"),
    ("SELECT COUNT(*) FROM visits HAVING HISTOGRAM(cost, [1, 2]) IS NULL", "cannot be computed with"),
    ("SELECT ward, HISTOGRAM(cost, [1, 2]) AS h FROM visits GROUP BY ward ORDER BY h", "cannot be computed with"),
    ("SELECT ward, HISTOGRAM(cost, [1, 2]) AS h FROM visits GROUP BY ward ORDER BY 2", "cannot be computed with"),
    ("SELECT COUNT(*) FROM visits WHERE COUNT(*) > 3", "before aggregates"),
    ("SELECT COUNT(*) FROM visits HAVING cost > 3", "single rows"),
    ("SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING MAX(diagnosis) = 'x'", "one unit's value"),
    (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT MAX(1) FROM patients p WHERE p.patient_id = v.patient_id)",
        "always true",
    ),
    (
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT aeg FROM patients p WHERE p.patient_id = v.patient_id)",
        "Did you mean 'age'",
    ),
    ("SELECT COUNT(*) FROM visits ORDER BY cost", "single rows"),
    ("SELECT COUNT(*) FROM visits LIMIT -1", ""),
    ("SELECT WIDTH_BUCKET(cost, 0, 100,) AS k, COUNT(*) FROM visits GROUP BY k", "both ends"),
    ("SELECT WIDTH_BUCKET(DISTINCT cost, 0, 100, 5) AS k, COUNT(*) FROM visits GROUP BY k", ""),
    ("SELECT SUM(IF(cost > 3)) FROM visits", ""),
    ("SELECT COUNT(*) FROM visits LIMIT 5 OFFSET 2", "OFFSET"),
    ("SELECT COUNT(*) FROM visits GROUP BY ROLLUP (ward)", "several questions"),
    ("SELECT COUNT(*) FROM visits GROUP BY CUBE (ward)", "CUBE"),
    ("SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward), ())", "GROUPING"),
    ("SELECT COUNT(*) FROM visits GROUP BY 7", "position"),
    ("SELECT COUNT(*) FROM visits WHERE my_udf(cost) > 3", "not known to be safe"),
    ("SELECT COUNT(*) FROM visits WHERE random() < 0.5", "Chance"),
    ("SELECT COUNT(*) FROM visits WHERE visit_date < CURRENT_DATE", "when it is computed"),
    ("SELECT COUNT(*) FROM visits WHERE diagnosis SIMILAR TO 'x'", "Databases differ"),
    ("SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'x!%' ESCAPE '!'", "Escapes"),
    ("SELECT COUNT(*) FROM visits WHERE diagnosis LIKE ward", "constant text"),
    ("SELECT COUNT(*) FROM visits WHERE ward = NULL", "IS NULL"),
    ("SELECT COUNT(*) FROM visits WHERE ward IN ('a', NULL)", "NULL"),
    ("SELECT COUNT(*) FROM visits WHERE ward = 3", "cannot be compared"),
    ("SELECT COUNT(*) FROM visits WHERE cost > 1 AND ward = 3", "ward = 3 This operation"),
    (
        "SELECT COUNT(*) FROM visits WHERE DATE_DIFF('day', ward, visit_date) < 3",
        "DATE_DIFF('DAY', ward, visit_date) <",
    ),
    ("SELECT SUM(cost) || 'x' FROM visits", "SUM(cost) || 'x'"),
    ("SELECT COUNT(*) FROM visits WHERE visit_date > 'yesterday'", "compared with a date"),
    ("SELECT COUNT(*) FROM visits WHERE cost", "truth value"),
    ("SELECT COUNT(*) FROM visits WHERE cost > $1", "parameters"),
    ("SELECT COUNT(*) FROM visits WHERE cost > 1e999", "number"),
    ("SELECT COUNT(*) FROM visits WHERE diagnosis[1] = 'a'", "Lists"),
    ("SELECT COUNT(*) FROM visits WHERE (cost, change) = (1, 2)", "a = 1 AND b = 2"),
    ("SELECT COUNT(*) FROM visits WHERE (patient_id, cost) IN (SELECT patient_id, cost FROM visits)", "EXISTS"),
    ("SELECT SUM(a) FROM (SELECT patient_id, MIN(cost) AS a, MAX(cost) AS A FROM visits GROUP BY 1) q", "lower case"),
    ("SELECT SUM(COST) FROM (SELECT *, change AS COST FROM visits) q", "lower case"),
    ("SELECT COUNT(*) AS a, SUM(cost) AS a FROM visits ORDER BY a", "Several outputs"),
    ("SELECT ward, COUNT(*) AS a, SUM(cost) AS A FROM visits GROUP BY ward HAVING a > 3", "Several outputs"),
    ("SELECT HISTOGRAM(code, [18014398509481984]) FROM visits", "2**53"),
    ("SELECT HISTOGRAM(code, [-9007199254740993, 0]) FROM visits", "2**53"),
    ("SELECT NULLIF('a', 'a') AS k, COUNT(*) FROM visits GROUP BY k", "known keys"),
    ("SELECT change, COUNT(*) FROM visits WHERE change > 4 AND change < 2 GROUP BY change", "known keys"),
    ("SELECT change * 2 AS k, COUNT(*) FROM visits WHERE change > 4 AND change < 2 GROUP BY k", "known keys"),
    ("SELECT change * 2 AS k, COUNT(*) FROM visits WHERE change * 2 > 90 GROUP BY k", "known keys"),
    ("SELECT visit_date, COUNT(*) FROM visits WHERE visit_date > '2023-05-01' GROUP BY visit_date", "known keys"),
    ("SELECT COUNT(*) FROM visits WHERE CAST(cost AS BLOB) = 'a'", "type"),
    ("SELECT COUNT(*) FROM visits WHERE CAST(cost AS VARCHAR) = 'a'", "cannot be cast"),
    ("WITH RECURSIVE a AS (SELECT cost FROM visits) SELECT COUNT(*) FROM a", "RECURSIVE"),
    ("WITH a AS (SELECT cost FROM a) SELECT COUNT(*) FROM a", "no such table"),
    ("SELECT COUNT(*) FROM _hidden", "no such table"),
    ("SELECT " + "(" * 3000 + "COUNT(*)" + ")" * 3000 + " FROM visits", ""),
    ("SELECT COUNT(*) FROM visits WHERE " + " AND ".join(["cost > 1"] * 3000), ""),
]


@pytest.mark.parametrize("sql, word", REFUSED, ids=[case[0][:70] for case in REFUSED])
def test_refused(sql: str, word: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        plan_sql(POLICY, sql)
    refusal = caught.value
    assert isinstance(refusal, DiscreetError)
    assert word.lower() in f"{refusal.part} {refusal.why} {refusal.instead}".lower()
    assert refusal.why.endswith((".", "?"))
    assert refusal.instead
    assert len(str(refusal)) < 700
    assert str(pickle.loads(pickle.dumps(refusal))) == str(refusal)  # noqa: S301 - our own


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects_are_read_with_one_meaning(dialect: str) -> None:
    sql = "SELECT ward, COUNT(*) AS n, AVG(cost) FROM visits WHERE change >= 2 GROUP BY ward"
    assert plan_sql(POLICY, sql, dialect=dialect).key == plan_sql(POLICY, sql).key


def test_division_keeps_the_meaning_of_its_dialect() -> None:
    sql = "SELECT SUM(change / 2) FROM visits"
    whole = plan_sql(POLICY, sql, dialect="postgres").key
    assert whole == plan_sql(POLICY, "SELECT SUM(change // 2) FROM visits").key
    assert whole != plan_sql(POLICY, sql).key


SAME = [
    ("SELECT COUNT(1) FROM visits", "SELECT COUNT(*) FROM visits"),
    ("SELECT COUNT() FROM visits", "SELECT COUNT(*) FROM visits"),
    ("SELECT COUNT() FILTER (WHERE urgent) FROM visits", "SELECT COUNT(*) FILTER (WHERE urgent) FROM visits"),
    ("SELECT COUNT('a') FROM visits WHERE urgent", "SELECT COUNT(*) FROM visits WHERE urgent"),
    ("SELECT COUNT(2 - 1) FILTER (WHERE urgent) FROM visits", "SELECT COUNT(*) FILTER (WHERE urgent) FROM visits"),
    (
        "SELECT AVG(n) FROM (SELECT patient_id, COUNT(1) AS n FROM visits GROUP BY 1) u",
        "SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) u",
    ),
    ("SELECT AVG(cost) FROM (SELECT * FROM visits WHERE urgent) v", "SELECT AVG(cost) FROM visits WHERE urgent"),
    ("SELECT AVG(cost) FROM (SELECT v.* FROM visits v) q", "SELECT AVG(cost) FROM visits"),
    (
        "SELECT AVG(age) FROM (SELECT v.ward, p.* FROM visits v JOIN patients p USING (patient_id)) q",
        "SELECT AVG(p.age) FROM visits v JOIN patients p ON v.patient_id = p.patient_id",
    ),
    ("WITH q AS (SELECT *, cost + 1 AS more FROM visits) SELECT SUM(more) FROM q", "SELECT SUM(cost + 1) FROM visits"),
]


@pytest.mark.parametrize("sql, other", SAME, ids=[case[0][:70] for case in SAME])
def test_two_words_for_one_question_are_one_question(sql: str, other: str) -> None:
    assert plan_sql(POLICY, sql).key == plan_sql(POLICY, other).key


def test_a_count_of_nothing_is_one_of_rows_in_duckdb_alone() -> None:
    for dialect in ("postgres", "spark"):
        with pytest.raises(QueryRefused, match=r"COUNT\(\*\)"):
            plan_sql(POLICY, "SELECT COUNT() FROM visits", dialect=dialect)


def test_a_null_that_is_written_adds_no_key() -> None:
    both = "SELECT ward FROM visits UNION ALL SELECT NULLIF('a', 'a') AS ward FROM visits"
    found = plan_sql(POLICY, f"SELECT ward, COUNT(*) FROM ({both}) q GROUP BY ward")
    assert found.aggregate.keys[0].known == ("cardiology", "oncology", "surgery")


def test_outputs_of_one_name_and_one_meaning_are_sorted_by() -> None:
    found = plan_sql(POLICY, "SELECT ward, COUNT(*) AS n, COUNT(1) AS n FROM visits GROUP BY ward ORDER BY n")
    assert [name for name, _ in found.request.measures] == [each.value.name for each in found.request.order]  # type: ignore[attr-defined]


def test_what_the_parser_has_to_say_is_not_printed() -> None:
    code = "from discreet.plans.sql.reading import read_statement\nread_statement('EXPLAIN SELECT 1')"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stderr == b""


def test_counting_null_is_not_counting_rows() -> None:
    rows, nulls = (plan_sql(POLICY, f"SELECT COUNT({what}) FROM visits") for what in ("*", "NULLIF(1, 1)"))
    assert rows.aggregate.statistics == (RowCount(),)
    assert nulls.aggregate.statistics != rows.aggregate.statistics


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_name_in_order_by_is_that_of_an_output_before_that_of_a_column(dialect: str) -> None:
    counted = "SELECT ward AS w, COUNT(*) AS ward FROM visits GROUP BY visits.ward ORDER BY"
    for sql, place in [(f"{counted} ward DESC", 1), (f"{counted} visits.ward", 0), (f"{counted} w", 0)]:
        request = plan_sql(POLICY, sql, dialect=dialect).request
        assert [each.value for each in request.order] == [request.outputs[place][1]]


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "a\0b"])
def test_what_is_no_character_is_refused_before_anything_is_spent(text: str) -> None:
    with pytest.raises(QueryRefused, match="no character"):
        plan_sql(POLICY, f"SELECT COUNT(*) FROM visits WHERE ward = '{text}'")
    with pytest.raises(ParameterError, match="is no constant"):
        lit(text)
    with pytest.raises(PolicyError, match="of kind text"):
        Column("ward", keys=[text])


def test_other_dialects_and_other_things_than_text_are_refused() -> None:
    with pytest.raises(ParameterError, match="one of duckdb"):
        plan_sql(POLICY, "SELECT COUNT(*) FROM visits", dialect="oracle")
    with pytest.raises(ParameterError, match="a question is a text"):
        plan_sql(POLICY, None)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="it must be a Bounding"):
        plan_sql(POLICY, "SELECT COUNT(*) FROM visits", bounding=5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="Did you mean 'patients'"):
        plan_sql(POLICY, "SELECT COUNT(*) FROM visits", verified=frozenset({"patient"}))


def test_a_query_that_doubles_itself_is_stopped() -> None:
    names = ["(SELECT cost FROM visits)"]
    text = "WITH c0 AS (SELECT cost FROM visits)"
    for number in range(1, 40):
        text += f", c{number} AS (SELECT cost FROM c{number - 1} UNION ALL SELECT cost FROM c{number - 1})"
        names.append(f"c{number}")
    with pytest.raises(QueryRefused, match="tables are read"):
        plan_sql(POLICY, f"{text} SELECT COUNT(*) FROM c39")


def test_the_refusal_depends_on_question_and_policy_alone() -> None:
    other = Policy.from_toml(TOML.replace('keys = ["cardiology", "oncology", "surgery"]', 'type = "text"'))
    for sql, _ in REFUSED[:40]:
        for policy in (POLICY, other):
            with pytest.raises(QueryRefused):
                plan_sql(policy, sql)


def planned(count: int, start: int) -> tuple[int, int]:
    """Plan random questions; whatever is not answered is refused."""
    answered = refused = 0
    for number in range(start, start + count):
        questions = Questions(Random(number))
        sql = questions.question() if number % 5 else questions.broken()
        try:
            plan_sql(POLICY, sql)
            answered += 1
        except QueryRefused:
            refused += 1
    return answered, refused


@pytest.mark.slow
@pytest.mark.parametrize("block", range(2))
def test_random_questions_are_planned_or_refused(block: int) -> None:
    answered, refused = planned(400, start=10_000 + block * 400)
    assert answered > 200
    assert refused > 20
