"""A constant that is compared with a column's keys and is none of them is refused before anything is charged."""

from __future__ import annotations

import datetime as dt
from contextlib import nullcontext

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import QueryRefused
from discreet.plans import aggregates as agg
from discreet.plans import plan_sql, table
from discreet.plans.shell.shell import Shell
from discreet.plans.shell.splitting import read_sql
from discreet.plans.terms import col
from discreet.tables import Column, Policy, Table

DAYS = [dt.date(2024, 2, 1), dt.date(2024, 3, 1)]
VISITS = Table(
    "visits",
    unit="id",
    rows_per_unit=2,
    columns=[
        Column("ward", keys=["cardiology", "oncology"], other="elsewhere", null_key=True),
        Column("home", keys=["oncology", "surgery"]),
        Column("year", keys=[2019, 2021]),
        Column("day", keys=DAYS),
        Column("moment", type="timestamp", keys=[dt.datetime(2024, 2, 1)]),  # noqa: DTZ001 - timestamps carry no zone
        Column("free", type="text"),
        Column("age", lower=0, upper=120),
    ],
)
POLICY = Policy([VISITS], epsilon=1)

SLIPS = [
    ("ward = 'cardiolgy'", "'cardiology'"),
    ("'Oncology' = ward", "'oncology'"),
    ("ward <> ' oncology '", "'oncology'"),
    ("ward IN ('cardiology', 'oncolgy')", "'oncology'"),
    ("ward NOT IN ('xyz')", "one of them"),
    ("NOT (age > 3 AND ward = 'else')", "'elsewhere'"),
    ("CASE ward WHEN 'cardio' THEN 1 ELSE 0 END = 1", "'cardiology'"),
    ("CASE WHEN ward = 'onkology' THEN 1 ELSE 0 END = 1", "'oncology'"),
    ("NULLIF(ward, 'oncologi') IS NULL", "'oncology'"),
    ("COALESCE(ward, home) = 'surgeri'", "'surgery'"),
    ("CASE WHEN age > 3 THEN ward END = 'oncolog'", "'oncology'"),
    ("year = 2022", "2021"),
    ("year IN (2019, 2020.5)", "2021"),
    ("day = '2024-02-03'", "'2024-02-01'"),
    ("day = TIMESTAMP '2024-03-01 10:00:00'", "'2024-03-01'"),
    ("moment = DATE '2024-02-02'", "'2024-02-01 00:00:00'"),
]


@pytest.mark.parametrize("condition, near", SLIPS)
def test_a_slip_is_refused_with_the_nearest_key(condition: str, near: str) -> None:
    with pytest.raises(QueryRefused, match="It is compared with a column that has keys") as refusal:
        plan_sql(POLICY, f"SELECT COUNT(*) FROM visits WHERE {condition}")
    assert refusal.value.instead.startswith(f"{near}; the keys are ")


MEANT = [
    "ward = 'cardiology'",
    "ward = 'elsewhere'",  # what is none of the keys is read as this
    "ward IS NULL",
    "ward < 'm' AND ward LIKE 'x%'",
    "ward = 'cardiology' AND ward = 'oncology'",  # conditions leave fewer keys, and the policy lists both
    "UPPER(ward) = 'X' OR ward || 'x' = 'y'",
    "COALESCE(ward, home) = 'surgery'",
    "COALESCE(ward, free) = 'surgeri'",
    "year = 2019.0 OR year < 1 OR year BETWEEN 1 AND 2 OR year + 1 = 7",
    "free = 'flu' AND free = 'flue'",  # its values are found by private selection, if at all
    "age = 900",
    "day = TIMESTAMP '2024-02-01 00:00:00' AND moment = DATE '2024-02-01'",
    "CASE WHEN age > 3 THEN 'old' ELSE 'young' END = 'olt'",
]


@pytest.mark.parametrize("condition", MEANT)
def test_what_is_no_slip_is_planned(condition: str) -> None:
    assert plan_sql(POLICY, f"SELECT COUNT(*) FROM visits WHERE {condition}").key


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FILTER (WHERE ward = 'x') FROM visits",
        "SELECT SUM(CASE WHEN ward = 'x' THEN age ELSE 0 END) FROM visits",
        "SELECT COUNT(*) FROM (SELECT id, ward AS w FROM visits) AS v WHERE w = 'x'",
        "SELECT ward = 'x' AS k, COUNT(*) FROM visits GROUP BY 1",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward = 'x'",
        "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.id = b.id AND b.ward = 'x'",
        "SELECT COUNT(*) FROM visits AS a WHERE EXISTS (SELECT 1 FROM visits AS b WHERE a.id = b.id AND b.ward = 'x')",
    ],
)
def test_slips_are_seen_in_every_part_of_a_question(text: str) -> None:
    with pytest.raises(QueryRefused, match="It is compared with a column that has keys"):
        plan_sql(POLICY, text)
    assert plan_sql(POLICY, text.replace("'x'", "'oncology'")).key


GROUPS = "SELECT ward, day, COUNT(*) AS n FROM visits GROUP BY ward, day"
ABOVE = [
    "SELECT ward, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM visits GROUP BY ward HAVING ward = 'x'",
    f"SELECT n FROM ({GROUPS}) AS g WHERE ward <> 'x'",
    f"SELECT n FROM (SELECT ward AS k, n FROM ({GROUPS}) AS g) AS h WHERE h.k IN ('cardiology', 'x')",
    f"WITH g AS ({GROUPS}) SELECT n / (SELECT SUM(n) FROM g WHERE 'x' = ward) AS share FROM g",
    f"SELECT CASE (ward) WHEN 'x' THEN 1 ELSE 0 END AS k, n FROM ({GROUPS}) AS g",
    f"SELECT SUM(n) FILTER (WHERE NULLIF(ward, 'x') IS NOT NULL) AS s FROM ({GROUPS}) AS g",
    f"SELECT SUM(n) AS s FROM ({GROUPS}) AS g WHERE ward IS NOT DISTINCT FROM 'x'",
]


@pytest.mark.parametrize("text", ABOVE)
def test_slips_above_what_is_released_are_seen(text: str) -> None:
    with pytest.raises(QueryRefused, match="'x': It is compared with a column that has keys"):
        read_sql(POLICY, text)
    assert isinstance(read_sql(POLICY, text.replace("'x'", "'oncology'")), Shell)


@pytest.mark.parametrize("day, known", [("'2024-02-01'", True), ("'2024-02-03'", False), ("DATE '2024-02-03'", False)])
def test_days_above_what_is_released_are_read_as_below(day: str, *, known: bool) -> None:
    with nullcontext() if known else pytest.raises(QueryRefused, match=r"'2024-02-03'.*'2024-02-01'; the keys are"):
        assert read_sql(POLICY, f"SELECT n FROM ({GROUPS}) AS g WHERE day = {day}")


@pytest.mark.parametrize(
    "condition", ["ward <> ''", "n = 3", "UPPER(ward) = 'X'", "COALESCE(ward, 'x') = 'x'", "ward > 'x'"]
)
def test_other_conditions_on_what_is_released_are_as_they_are(condition: str) -> None:
    assert isinstance(read_sql(POLICY, f"SELECT n FROM ({GROUPS}) AS g WHERE {condition}"), Shell)


def test_slips_in_terms_are_refused_alike() -> None:
    visits = table(POLICY, "visits")
    for term in (col("ward") == "x", col("ward") != "x", col("ward").is_in("oncology", "x")):
        with pytest.raises(QueryRefused, match="It is compared with a column that has keys"):
            visits.where(term)
    with pytest.raises(QueryRefused, match="It is compared with a column that has keys"):
        visits.group_by("ward").having(col("ward") == "x").agg(n=agg.count())


def test_a_refused_slip_costs_nothing_and_does_not_depend_on_the_rows() -> None:
    said = []
    for ward in ("cardiolgy", "oncology"):
        rows = {"id": ["a"] * 2, "ward": [ward] * 2, "home": ["x"] * 2, "year": [1] * 2, "day": DAYS}
        frame = pa.table({**rows, "moment": DAYS, "free": ["x"] * 2, "age": [3] * 2})
        with dp.Database(POLICY, {"visits": frame}) as db:
            with pytest.raises(QueryRefused) as refusal:
                db.sql("SELECT COUNT(*) FROM visits WHERE ward = 'cardiolgy'")
            said.append(str(refusal.value))
            assert db.remaining == dp.privacy.Pure(1)
            assert [entry.kind for entry in db.ledger.entries()] == ["opened"]
    assert said[0] == said[1]
