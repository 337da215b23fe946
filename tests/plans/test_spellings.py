"""Ordinary questions as analysts spell them: what other databases call by other names, and what refusals suggest."""

from __future__ import annotations

import pytest

from discreet.errors import QueryRefused
from discreet.plans import plan_sql
from discreet.tables import Column, Policy, Table
from tests.plans.hospital import POLICY

EITHER = "SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM patients"
PER_PATIENT = "(SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) AS p"

# A dialect, a question in its words, and the same in DuckDB's.
SAME = [
    (
        "postgres",
        "SELECT COUNT(*) FROM visits WHERE ward IS NOT NULL",
        "SELECT COUNT(*) FROM visits WHERE NOT ward IS NULL",
    ),
    (
        "postgres",
        "SELECT COUNT(*) FROM visits WHERE ward NOTNULL",
        "SELECT COUNT(*) FROM visits WHERE NOT ward IS NULL",
    ),
    (
        "postgres",
        "SELECT COUNT(*) FROM visits WHERE urgent IS NOT TRUE",
        "SELECT COUNT(*) FROM visits WHERE NOT urgent IS TRUE",
    ),
    ("spark", "SELECT mean(cost), std(cost) FROM visits", "SELECT AVG(cost), STDDEV(cost) FROM visits"),
    (
        "duckdb",
        "SELECT AVG(m) FROM (SELECT patient_id, mean(cost) AS m FROM visits GROUP BY 1) u",
        "SELECT AVG(m) FROM (SELECT patient_id, AVG(cost) AS m FROM visits GROUP BY 1) u",
    ),
    (
        "spark",
        "SELECT year(visit_date), quarter(visit_date), COUNT(1) FROM visits GROUP BY 1, 2",
        "SELECT date_part('year', visit_date), EXTRACT(quarter FROM visit_date), COUNT(*) FROM visits GROUP BY 1, 2",
    ),
    (
        "spark",
        "SELECT weekofyear(visit_date), COUNT(*) FROM visits GROUP BY 1",
        "SELECT EXTRACT(week FROM visit_date), COUNT(*) FROM visits GROUP BY 1",
    ),
    (
        "duckdb",
        "SELECT COUNT(*) FROM visits WHERE contains(diagnosis, 'a') AND ends_with(diagnosis, 'b')",
        "SELECT COUNT(*) FROM visits WHERE diagnosis LIKE '%a%' AND diagnosis LIKE '%b'",
    ),
    (
        "spark",
        "SELECT AVG(datediff(visit_date, '2020-01-01')) FROM visits",
        "SELECT AVG(visit_date - DATE '2020-01-01') FROM visits",
    ),
    (
        "spark",
        "SELECT AVG(datediff(DAY, DATE '2020-01-01', visit_date)) FROM visits",
        "SELECT AVG(visit_date - DATE '2020-01-01') FROM visits",
    ),
    (
        "spark",
        "SELECT COUNT(*) FROM visits WHERE to_date(left_at) = DATE '2021-01-01'",
        "SELECT COUNT(*) FROM visits WHERE CAST(left_at AS DATE) = DATE '2021-01-01'",
    ),
]


@pytest.mark.parametrize("dialect, sql, other", SAME, ids=[case[1][:70] for case in SAME])
def test_a_dialects_own_words_are_read(dialect: str, sql: str, other: str) -> None:
    assert plan_sql(POLICY, sql, dialect=dialect).key == plan_sql(POLICY, other).key


@pytest.mark.parametrize(
    "part", ["EXTRACT(dow FROM visit_date)", "date_part('dow', visit_date)", "dayofweek(visit_date)"]
)
def test_days_of_the_week_are_not_renumbered_in_silence(part: str) -> None:
    sql = f"SELECT {part} AS d, COUNT(*) FROM visits GROUP BY 1"
    assert plan_sql(POLICY, sql).aggregate.keys[0].known == tuple(range(7))
    with pytest.raises(QueryRefused, match="isodow"):
        plan_sql(POLICY, sql, dialect="spark")  # there Sunday is 1
    meant = "SELECT EXTRACT(isodow FROM visit_date) AS d, COUNT(*) FROM visits GROUP BY 1"
    assert plan_sql(POLICY, meant, dialect="spark").key == plan_sql(POLICY, meant).key


@pytest.mark.parametrize(
    "dialect, part",
    [
        ("postgres", "diagnosis SIMILAR TO 'x'"),
        ("spark", "REGEXP_EXTRACT(diagnosis, 'x') = 'x'"),
        ("duckdb", "REGEXP_REPLACE(diagnosis, 'x', 'y') = 'y'"),
    ],
)
def test_the_part_that_is_refused_is_named_as_it_was_spelled(dialect: str, part: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        plan_sql(POLICY, f"SELECT COUNT(*) FROM visits WHERE urgent AND {part}", dialect=dialect)
    assert caught.value.part == part.partition(" =")[0]


def test_a_length_cuts_texts() -> None:
    short = plan_sql(
        POLICY, "SELECT COUNT(*) FROM visits WHERE CAST(diagnosis AS VARCHAR(3)) = 'car'", dialect="postgres"
    )
    same = plan_sql(POLICY, "SELECT COUNT(*) FROM visits WHERE SUBSTRING(diagnosis, 1, 3) = 'car'")
    assert short.key == same.key


PLAIN = [
    ("duckdb", "SELECT COUNT(*) FROM visits -- a remark", "SELECT COUNT(*) FROM visits"),
    ("duckdb", "/* Metabase:: userID: 1 */ SELECT COUNT(*) FROM visits;", "SELECT COUNT(*) FROM visits"),
    ("postgres", 'SELECT COUNT(*) FROM "public"."visits" AS "_"', "SELECT COUNT(*) FROM visits"),
    (
        "duckdb",
        "SELECT main.visits.ward, COUNT(*) FROM main.visits GROUP BY ALL",
        "SELECT ward, COUNT(*) FROM visits GROUP BY 1",
    ),
    (
        "duckdb",
        "SELECT COUNT(*) FROM visits v, patients p WHERE v.patient_id = p.patient_id AND age > 40",
        "SELECT COUNT(*) FROM visits v JOIN patients p ON v.patient_id = p.patient_id WHERE age > 40",
    ),
    (
        "duckdb",
        "SELECT COUNT(*) FROM patients p, wards w, visits v WHERE v.patient_id = p.patient_id AND w.ward = v.ward",
        "SELECT COUNT(*) FROM patients p JOIN visits v ON v.patient_id = p.patient_id JOIN wards w ON w.ward = v.ward",
    ),
    (
        "duckdb",
        "SELECT COUNT(*), COUNT(v.cost) FROM visits v RIGHT JOIN patients p ON v.patient_id = p.patient_id",
        "SELECT COUNT(*), COUNT(v.cost) FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id",
    ),
    (
        "duckdb",
        "SELECT COUNT(floor) FROM visits LEFT JOIN wards ON visits.ward = wards.ward AND beds > 3",
        "SELECT COUNT(floor) FROM visits LEFT JOIN (SELECT * FROM wards WHERE beds > 3) AS w ON visits.ward = w.ward",
    ),
    (
        "duckdb",
        "SELECT VAR(cost), APPROX_COUNT_DISTINCT(ward) FROM visits",
        "SELECT VARIANCE(cost), COUNT(DISTINCT ward) FROM visits",
    ),
    ("duckdb", "SELECT APPROX_QUANTILE(cost, 0.9) FROM visits", "SELECT QUANTILE_CONT(cost, 0.9) FROM visits"),
    ("duckdb", "SELECT SUM(urgent) FROM visits", "SELECT SUM(CAST(urgent AS INTEGER)) FROM visits"),
    (
        "duckdb",
        "SELECT REGR_COUNT(cost, change) FROM visits",
        "SELECT COUNT(CASE WHEN cost IS NOT NULL THEN change END) FROM visits",
    ),
    (
        "spark",
        "SELECT t, COUNT(*) FROM (SELECT EXPLODE(SLICE(SPLIT(diagnosis, ','), 2, 2)) AS t FROM visits) GROUP BY 1",
        "SELECT t, COUNT(*) FROM (SELECT UNNEST(STRING_SPLIT(diagnosis, ',')[2:3]) AS t FROM visits) GROUP BY 1",
    ),
    (
        "duckdb",
        "SELECT u.t, COUNT(*) FROM visits AS v, UNNEST(STRING_SPLIT(v.diagnosis, ',')[1:2]) AS u(t) GROUP BY u.t",
        "SELECT t, COUNT(*) FROM (SELECT *, UNNEST(STRING_SPLIT(diagnosis, ',')[1:2]) AS t FROM visits) v GROUP BY 1",
    ),
    (
        "duckdb",
        (
            "SELECT COUNT(*) FROM visits, UNNEST(STRING_SPLIT(diagnosis, ',')[1:2]) AS u(t), "
            "UNNEST(STRING_SPLIT(ward, 'o')[1:3]) AS v(s)"
        ),
        (
            "SELECT COUNT(*) FROM (SELECT *, UNNEST(STRING_SPLIT(ward, 'o')[1:3]) AS s FROM "
            "(SELECT *, UNNEST(STRING_SPLIT(diagnosis, ',')[1:2]) AS t FROM visits) AS q) AS q"
        ),
    ),
    ("postgres", "SELECT COUNT(*) FROM visits FETCH FIRST 3 ROWS ONLY", "SELECT COUNT(*) FROM visits LIMIT 3"),
    ("duckdb", 'SELECT AVG("Cost") FROM "Visits"', "SELECT AVG(cost) FROM visits"),
]
WHERE = [
    ("duckdb", "diagnosis ILIKE '%FLU%'", "LOWER(diagnosis) LIKE '%flu%'"),
    ("postgres", "diagnosis ~ '^fl.*u$'", "diagnosis LIKE 'fl%u'"),
    ("postgres", "diagnosis ~* 'Flu|COLD'", "LOWER(diagnosis) LIKE '%flu%' OR LOWER(diagnosis) LIKE '%cold%'"),
    ("spark", "diagnosis RLIKE 'a.b'", "diagnosis LIKE '%a_b%'"),
    ("duckdb", "regexp_full_match(diagnosis, 'flu|cold')", "diagnosis LIKE 'flu' OR diagnosis LIKE 'cold'"),
    ("postgres", "ward = ANY(ARRAY['surgery'])", "ward IN ('surgery')"),
    (
        "duckdb",
        "(code, urgent) IN ((1, TRUE), (2, FALSE))",
        "(code = 1 AND urgent = TRUE) OR (code = 2 AND urgent = FALSE)",
    ),
    (
        "duckdb",
        "CONCAT(ward, '-', code) = 'a-1'",
        "COALESCE(ward, '') || '-' || COALESCE(CAST(code AS VARCHAR), '') = 'a-1'",
    ),
    ("spark", "CONCAT(ward, 'x') = 'ax'", "ward || 'x' = 'ax'"),
    ("duckdb", "LOG10(cost) > 1", "LN(cost) / LN(10) > 1"),
    ("duckdb", "LOG(cost) > 1", "LN(cost) / LN(10) > 1"),
    ("spark", "LOG(cost) > 1", "LN(cost) > 1"),
    ("duckdb", "DATE(left_at) = '2021-01-01'", "CAST(left_at AS DATE) = '2021-01-01'"),
    ("duckdb", "SUBSTR(diagnosis, 2) = 'x'", "SUBSTRING(diagnosis, 2, 4096) = 'x'"),
    ("duckdb", "cost::DECIMAL(10, 2) > 1", "ROUND(cost, 2) > 1"),
    (
        "duckdb",
        "DATE_DIFF('year', visit_date, left_at) > 1",
        "EXTRACT(year FROM left_at) - EXTRACT(year FROM visit_date) > 1",
    ),
    (
        "duckdb",
        "ward IS DISTINCT FROM 'surgery'",
        (
            "NOT ((ward IS NULL AND 'surgery' IS NULL) OR "
            "(NOT (ward IS NULL) AND NOT ('surgery' IS NULL) AND ward = 'surgery'))"
        ),
    ),
]


@pytest.mark.parametrize("dialect, sql, other", PLAIN, ids=[case[1][:70] for case in PLAIN])
def test_what_tools_write_is_what_it_means(dialect: str, sql: str, other: str) -> None:
    assert plan_sql(POLICY, sql, dialect=dialect).key == plan_sql(POLICY, other).key


@pytest.mark.parametrize("dialect, condition, other", WHERE, ids=[case[1] for case in WHERE])
def test_a_condition_has_another_spelling(dialect: str, condition: str, other: str) -> None:
    asked, same = (f"SELECT COUNT(*) FROM visits WHERE {each}" for each in (condition, other))
    assert plan_sql(POLICY, asked, dialect=dialect).key == plan_sql(POLICY, same).key


def test_an_operator_that_databases_differ_on_is_refused() -> None:
    with pytest.raises(QueryRefused, match="REGEXP_FULL_MATCH"):
        plan_sql(POLICY, "SELECT COUNT(*) FROM visits WHERE diagnosis ~ 'x'")
    assert plan_sql(POLICY, "SELECT COUNT(*) FROM visits WHERE diagnosis = '~'").key


TENS = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120)
KEYS = [
    ("age // 10", tuple(range(13))),
    ("age // 10 * 10", TENS),
    ("FLOOR(age / 10) * 10", TENS),
    ("ROUND(age, -1)", TENS),
    ("age // -50", (-2, -1, 0)),
    ("age % 3", (0, 1, 2)),
    ("COALESCE(NULLIF(age, 120) // 60, -1)", (-1, 0, 1)),
    ("CASE WHEN age < 50 THEN age // 25 ELSE 9 END", (0, 1, 9)),
]


@pytest.mark.parametrize("key, known", KEYS)
def test_a_function_of_few_values_has_just_its_own_values_as_keys(key: str, known: tuple[float, ...]) -> None:
    plan = plan_sql(POLICY, f"SELECT {key} AS k, COUNT(*) FROM patients GROUP BY k")
    assert plan.aggregate.keys[0].known == known
    below = plan_sql(POLICY, f"SELECT k, COUNT(*) FROM (SELECT {key} AS k FROM patients) p GROUP BY k")
    assert below.key == plan.key


def test_what_engines_may_compute_differently_is_no_known_key() -> None:
    plan = plan_sql(POLICY, "SELECT ROUND(LN(age), 1) AS k, COUNT(*) FROM patients GROUP BY k")
    assert plan.aggregate.keys[0].known is None


def test_quotients_of_whole_numbers_have_close_bounds() -> None:
    plan = plan_sql(POLICY, "SELECT SUM(age // 10) FROM patients")
    assert plan.row_schema["v0"].bounds.upper == 12
    bounded = plan_sql(POLICY, "SELECT AVG(cost / change) FROM visits WHERE change > 0")
    assert bounded.row_schema["v0"].bounds.upper == 1000


# What was refused, and what its refusal says to write, word for word with the names of this policy.
SUGGESTED = [
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
    "SELECT COUNT(DISTINCT patient_id) FROM visits",
    "SELECT QUANTILE_CONT(cost, 0.5), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost), MEDIAN(cost) FROM visits",
    "SELECT COUNT(*) FILTER (WHERE urgent) FROM visits",
    "SELECT COVAR_POP(cost, change) / VAR_POP(change) FROM visits WHERE cost IS NOT NULL AND change IS NOT NULL",
    "SELECT DATE_TRUNC('month', visit_date) AS m, COUNT(*) FROM visits GROUP BY m",
    "SELECT COUNT(*) FROM visits WHERE visit_date + 7 > DATE '2024-02-01' - INTERVAL 1 MONTH",
    "SELECT MAX(DATE_DIFF('day', DATE '2024-01-01', visit_date)) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE DATE_DIFF('day', visit_date, DATE '2022-01-01') < 30",
    "SELECT COUNT(*) FROM visits WHERE LOWER(diagnosis) LIKE 'flu%'",
    "SELECT COUNT(*) FROM visits WHERE LN(cost) / LN(10) > 1",
    "SELECT COUNT(DISTINCT ward || '-' || CAST(change AS VARCHAR)) FROM visits",
    "SELECT SUM(CAST(urgent AS INTEGER)) FROM visits",
    "SELECT AVG(s) FROM (SELECT patient_id, SUM(CASE WHEN urgent THEN cost END) AS s FROM visits GROUP BY 1) q",
    "SELECT COUNT(b.floor) FROM visits a LEFT JOIN (SELECT * FROM wards WHERE beds > 3) AS b ON a.ward = b.ward",
    "SELECT COUNT(*) FROM patients a LEFT JOIN visits b ON a.patient_id = b.patient_id",
    "SELECT COUNT(*) FROM visits a WHERE EXISTS (SELECT 1 FROM patients b WHERE b.patient_id = a.patient_id)",
    "SELECT COUNT(*) FROM visits a WHERE NOT EXISTS (SELECT 1 FROM patients b WHERE b.patient_id = a.patient_id)",
    "SELECT COUNT(*) FROM visits WHERE ward = diagnosis OR (ward IS NULL AND diagnosis IS NULL)",
    "SELECT COUNT(*) FROM visits WHERE ward <> diagnosis OR (ward IS NULL) <> (diagnosis IS NULL)",
    "SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'start%' OR diagnosis LIKE '%part%'",
    f"SELECT COUNT(*) FROM (SELECT DISTINCT patient_id FROM ({EITHER}) u) t",
    f"SELECT COUNT(*) FROM patients a LEFT JOIN {PER_PATIENT} ON a.patient_id = p.patient_id WHERE n > 0 OR age > 30",
    "SELECT MAX(visit_date - DATE '2024-01-01') FROM visits",
    "SELECT ROUND(AVG(cost), 2), CAST(SUM(cost) AS DOUBLE) FROM visits",
]


@pytest.mark.parametrize("sql", SUGGESTED)
def test_what_refusals_suggest_is_answered(sql: str) -> None:
    assert plan_sql(POLICY, sql).aggregate.statistics


def test_a_table_of_another_schema_is_named_as_in_sql() -> None:
    beds = Table("clinic.beds", row_is_unit=True, columns=[Column("weight", lower=0, upper=9)])
    policy = Policy([beds], epsilon=1)
    asked = plan_sql(policy, "SELECT AVG(beds.weight) FROM clinic.beds WHERE weight > 1")
    assert asked.key == plan_sql(policy, 'SELECT AVG(weight) FROM "clinic.beds" WHERE weight > 1').key
    named = "WITH beds AS (SELECT 1 AS weight FROM clinic.beds) SELECT SUM(weight) FROM {}"
    assert plan_sql(policy, named.format("clinic.beds")).key != plan_sql(policy, named.format("beds")).key


@pytest.mark.parametrize(
    "asked, meant",
    [
        ("visit_date >= DATE '2021-03-31' - INTERVAL 1 MONTH", "visit_date >= DATE '2021-02-28'"),
        ("visit_date >= DATE '2020-02-29' + INTERVAL '1 year'", "visit_date >= DATE '2021-02-28'"),
        ("visit_date >= DATE '2021-12-31' - INTERVAL '10 months 3 days'", "visit_date >= DATE '2021-02-25'"),
        ("visit_date >= DATE '2021-03-01' - 1", "visit_date >= DATE '2021-02-28'"),
        ("visit_date > DATE '2021-03-01' + INTERVAL 36 HOURS", "visit_date > TIMESTAMP '2021-03-02 12:00:00'"),
        ("visit_date + INTERVAL 2 WEEKS > DATE '2021-03-01'", "14 + visit_date > DATE '2021-03-01'"),
        ("DATE_ADD(visit_date, INTERVAL 7 DAY) > DATE '2021-03-01'", "visit_date - -7 > DATE '2021-03-01'"),
    ],
)
def test_days_are_added_to_dates(asked: str, meant: str) -> None:
    keys = {plan_sql(POLICY, f"SELECT COUNT(*) FROM visits WHERE {words}").key for words in (asked, meant)}
    assert len(keys) == 1


def test_days_are_added_as_spark_does() -> None:
    asked = "SELECT COUNT(*) FROM visits WHERE DATE_SUB(visit_date, 7) > DATE '2021-03-01'"
    meant = "SELECT COUNT(*) FROM visits WHERE visit_date - INTERVAL '7 days' > DATE '2021-03-01'"
    assert plan_sql(POLICY, asked, dialect="spark").key == plan_sql(POLICY, meant, dialect="postgres").key


def test_outputs_without_a_name_are_called_after_their_function() -> None:
    asked = "COUNT(*), AVG(cost), STDDEV_SAMP(cost), COVAR_POP(cost, change), COUNT_IF(urgent), SUM(cost) / COUNT(*)"
    plan = plan_sql(POLICY, f"SELECT ward, {asked} FROM visits GROUP BY ward")
    assert list(plan.columns) == ["ward", "count", "avg", "stddev_samp", "covar_pop", "count_if", "column7"]
    asked = "VAR_POP(cost), QUANTILE_CONT(cost, 0.5), SUM(cost) FILTER (WHERE urgent), HISTOGRAM(cost, [5, 9])"
    within = "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY change)"
    plan = plan_sql(POLICY, f"SELECT {asked}, {within} FROM visits")
    assert list(plan.columns) == ["var_pop", "quantile_cont", "sum", "histogram", "percentile_cont"]


def test_an_explanation_tells_which_numbers_are_meant_and_their_bounds() -> None:
    text = plan_sql(
        POLICY, "SELECT SUM(cost), VAR_POP(change), COUNT(DISTINCT ward) FROM visits WHERE change > 2"
    ).explain()
    assert "v0 = change, within [3, 7]" in text
    assert "v1 = cost, within [0, 1000]" in text
    for words in ("sum of v1 in steps of ", "  sum of v0: ", "  sum of v0 × v0", "  different values of v2: "):
        assert words in text
