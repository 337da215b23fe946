"""Statements with a shell: the price is that of the cores, the shell is free, and each ± holds as often as it says."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.errors import BudgetError, EngineError, ParameterError, QueryRefused
from discreet.mechanisms import DiscreteLaplace
from discreet.mechanisms.adding import sums
from discreet.noise import SYSTEM
from discreet.privacy import Pure
from discreet.releases import Answer
from discreet.releases.noise.protection import Price, Protection
from discreet.releases.noise.recipe import Recipe
from discreet.releases.shell import ShellAnswer, ShellQuestion, simulation
from discreet.releases.shell import tables as shell_tables
from discreet.tables import Analyst, Column, Policy, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet import Database
    from discreet.mechanisms.adding.sums import Integers, Noise
    from discreet.noise import BitSource

WARDS = [f"w{place:02}" for place in range(40)]
COLUMNS = [
    Column("ward", keys=WARDS),
    Column("half", keys=["x", "y"]),
    Column("cost", lower=0, upper=500, type="float"),
    Column("day", type="date", lower=dt.date(2024, 1, 1), upper=dt.date(2024, 6, 30)),
]
VISITS = Table("visits", unit="patient", rows_per_unit=1, columns=COLUMNS)
BEDS = Table("beds", public=True, columns=[Column("ward", keys=WARDS), Column("n", lower=0, upper=99)])
RANDOM = np.random.default_rng(18)
SIZE = 30_000
DATA = {
    "visits": pa.table(
        {
            "patient": np.arange(SIZE),
            "ward": np.array(WARDS)[RANDOM.integers(0, 40, SIZE)],
            "half": np.where(RANDOM.random(SIZE) < 0.5, "x", "y"),
            "cost": RANDOM.gamma(2, 60, SIZE).clip(0, 500),
            "day": [dt.date(2024, 1, 1) + dt.timedelta(int(days)) for days in RANDOM.integers(0, 182, SIZE)],
        }
    ),
    "beds": pa.table({"ward": WARDS, "n": range(40)}),
}
POLICY = Policy([VISITS, BEDS], epsilon=100_000, analysts=[Analyst("ann", epsilon=2), Analyst("bob")])
MEAN = "(SELECT AVG(cost) FROM visits)"
OWN_MEAN = "(SELECT AVG(w.cost) FROM visits AS w WHERE w.ward = v.ward)"
BY_WARD = "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"


@pytest.fixture(scope="module")
def opened() -> Iterator[Database]:
    with discreet.Database(POLICY, DATA) as db:
        yield db.as_("bob")


@pytest.fixture
def db() -> Iterator[Database]:
    with discreet.Database(POLICY, DATA) as fresh:
        yield fresh.as_("bob")


def plainly(text: str) -> list[dict[str, object]]:
    """What DuckDB says without any noise; what it calls an error is NULL."""
    text = text.replace("LN(COUNT(*) - 1e6)", "NULL").replace("SQRT(-COUNT(*))", "NULL")
    with duckdb.connect() as connection:
        for name, table in DATA.items():
            connection.register(name, table)
        result = connection.execute(text)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


AS_PLAIN = [
    "SELECT ward, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC, ward) AS r FROM visits GROUP BY ward ORDER BY r",
    "SELECT ward, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward ORDER BY 2 DESC, 1",
    f"SELECT a.ward, a.n - b.n AS d FROM {BY_WARD} AS a JOIN {BY_WARD} AS b ON a.ward > b.ward ORDER BY 2, 1 LIMIT 9",
    "SELECT MONTH(day) AS m, LAG(COUNT(*)) OVER (ORDER BY MONTH(day)) AS p FROM visits GROUP BY 1 ORDER BY 1",
    f"SELECT ward, n FROM {BY_WARD} AS q UNION ALL SELECT 'all', COUNT(*) FROM visits ORDER BY n DESC, ward OFFSET 3",
    f"SELECT b.ward, q.n / b.n AS per FROM beds AS b JOIN {BY_WARD} AS q USING (ward) WHERE b.n > 30 ORDER BY per, 1",
    "SELECT ward, n FROM beds WHERE n % 7 = 3 ORDER BY n DESC",
    (
        "SELECT k, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS s FROM "
        "(SELECT patient, COUNT(*) AS k FROM visits GROUP BY patient) AS q GROUP BY k"
    ),
    (
        f"SELECT ward, COUNT(*) AS n FROM visits WHERE ward IN "
        f"(SELECT ward FROM {BY_WARD} AS q ORDER BY n, ward LIMIT 2) GROUP BY ward ORDER BY ward"
    ),
    (
        f"SELECT v.ward, v.half, COUNT(*) AS n FROM visits AS v JOIN (SELECT ward AS w, n FROM {BY_WARD} AS q "
        "ORDER BY n DESC, ward LIMIT 2) AS top ON v.ward = top.w GROUP BY 1, 2 ORDER BY 1, 2"
    ),
    (
        f"WITH top AS (SELECT ward FROM {BY_WARD} AS q WHERE n > 780) SELECT ward, SUM(cost) > 0 AS y FROM visits "
        "JOIN top USING (ward) GROUP BY ward ORDER BY ward"
    ),
    (
        f"SELECT ward, COUNT(*) AS n FROM visits WHERE ward NOT IN (SELECT ward FROM {BY_WARD} AS q WHERE n > 760) "
        "GROUP BY ward ORDER BY n, ward"
    ),
    "SELECT ward, CASE WHEN COUNT(*) > 750 THEN 'many' ELSE 'few' END AS size FROM visits GROUP BY ward ORDER BY 1",
    f"SELECT ward, n FROM {BY_WARD} AS q QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC, ward) <= 3 ORDER BY n DESC, ward",
    f"WITH t AS {BY_WARD}, s AS (SELECT SUM(n) AS s FROM t) SELECT ward, n / s AS share FROM t, s ORDER BY 1 LIMIT 5",
    "SELECT half, COUNT(*) AS n, (SELECT COUNT(*) FROM visits) AS whole FROM visits GROUP BY half ORDER BY half",
    f"SELECT ward FROM {BY_WARD} AS q WHERE n > (SELECT AVG(n) FROM {BY_WARD} AS r) ORDER BY ward",
    "SELECT COUNT(*) AS n FROM visits WHERE ward = (SELECT MAX(ward) FROM beds)",
    "SELECT b.ward, (SELECT COUNT(*) FROM visits AS v WHERE v.ward = b.ward) AS n FROM beds AS b ORDER BY b.ward",
    "SELECT v.half, COUNT(*) AS n, (SELECT MAX(n) FROM beds) AS m FROM visits AS v GROUP BY v.half ORDER BY 1",
    "SELECT STRFTIME(day, '%d.%m.') AS d, n FROM (SELECT day, COUNT(*) AS n FROM visits GROUP BY day) AS q ORDER BY d",
    "SELECT * FROM (SELECT half, COUNT(*) AS n FROM visits GROUP BY half) AS q ORDER BY n, half",
    "SELECT LN(COUNT(*) - 1e6) AS l, SQRT(-COUNT(*)) AS r, SQRT(COUNT(*)) AS s, LOG10(COUNT(*)) AS d FROM visits",
    "SELECT ward, half, COUNT(*) AS n FROM visits GROUP BY CUBE (ward, half) HAVING COUNT(*) > 360 ORDER BY 1, 2, 3",
    (
        "SELECT half, MONTH(day) AS m, GROUPING(half) AS g, COUNT(*) FILTER (WHERE cost > 9) AS n, SUM(cost) > 1 AS s, "
        "RANK() OVER (ORDER BY COUNT(*)) AS r FROM visits GROUP BY ROLLUP (half, m) ORDER BY 1, 2"
    ),
    "SELECT ward, half, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward, half) ORDER BY n DESC, ward, half",
    "SELECT ward, GROUPING(ward) AS g, AVG(cost) > 0 AS y FROM visits GROUP BY CUBE (ward) ORDER BY g, ward",
    (
        "SELECT ward, half, GROUPING_ID(ward, half) AS g, COUNT(*) AS n FROM visits "
        "GROUP BY GROUPING SETS ((ward), (half), ()) HAVING COUNT(*) > 700 ORDER BY g, ward, half"
    ),
    (
        f"SELECT ward, COUNT(*) AS n FROM visits WHERE ward IN (SELECT ward FROM {BY_WARD} AS q WHERE n > 780) "
        "GROUP BY ROLLUP (ward) HAVING COUNT(*) > 99 ORDER BY ward"
    ),
    "SELECT half, COUNT(DISTINCT patient) AS n FROM visits GROUP BY CUBE (half) ORDER BY half",
    "SELECT half, MODE(ward) AS m, COUNT(*) AS n FROM visits GROUP BY half ORDER BY half",
    "SELECT ward FROM visits WHERE half = 'x' INTERSECT SELECT ward FROM beds WHERE n > 10 ORDER BY ward",
    f"SELECT half, COUNT(*) AS n FROM visits WHERE ward IN (SELECT ward FROM {BY_WARD} AS q WHERE n > 780) GROUP BY 1",
    (
        f"SELECT COUNT(*) AS n FROM visits WHERE ward NOT IN "
        f"(SELECT ward FROM {BY_WARD} AS q ORDER BY n DESC, ward LIMIT 3)"
    ),
    f"SELECT COUNT(*) AS n FROM visits AS v JOIN (SELECT ward FROM {BY_WARD} AS q WHERE n > 780) AS t USING (ward)",
    "SELECT NULL AS nothing, COUNT(*) AS n, TRUE AS yes, 'a' || COUNT(*) AS text FROM visits",
]


@pytest.mark.parametrize("text", AS_PLAIN)
def test_a_shell_is_plain_sql(opened: Database, text: str) -> None:
    """With hardly any noise the answer is that of plain DuckDB: names, order, types and all."""
    answer = opened.sql(text).release(epsilon=500)
    found, expected = answer.to_dicts(), plainly(text)
    assert len(found) == len(expected)
    for row, plain in zip(found, expected, strict=True):
        assert list(row) == list(plain)
        for name, value in plain.items():
            assert row[name] == (pytest.approx(float(value)) if isinstance(value, float | Decimal) else value), name


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT COUNT(*) AS n FROM visits WHERE cost > {MEAN}",
        f"SELECT half, SUM(CASE WHEN cost > 2 * {MEAN} THEN 1 ELSE 0 END) AS n FROM visits GROUP BY half ORDER BY half",
        f"SELECT ward, COUNT(*) AS n FROM visits AS v WHERE cost > {OWN_MEAN} GROUP BY ward ORDER BY ward",
        f"SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits WHERE cost > {MEAN})",
        "WITH a AS (SELECT AVG(cost) AS m FROM visits) SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT m FROM a)",
    ],
)
def test_a_subquery_of_a_core_is_released_first(opened: Database, text: str) -> None:
    found, expected = opened.sql(text).release(epsilon=500).to_dicts(), plainly(text)
    for row, plain in zip(found, expected, strict=True):
        for name, value in plain.items():
            assert row[name] == (
                value if isinstance(value, str) else pytest.approx(float(cast("float", value)), abs=12)
            )


def test_the_constant_of_a_subquery_decides_no_bounds_noise_or_price(db: Database) -> None:
    """SUM(cost) of rows below a constant has the noise of all rows, whatever it is; a written constant narrows it."""
    question = db.sql("SELECT SUM(cost) AS s FROM visits WHERE cost < (SELECT AVG(cost) FROM visits)")
    assert isinstance(question, ShellQuestion)
    before = question.preview(epsilon=2).errors["s"]
    first, second = question.release(epsilon=2).answers
    noise = second.parts[0].noises[0]
    assert second.errors(0.95)[0]["s"] == before
    whole = db.sql("SELECT SUM(cost) AS s FROM visits").release(epsilon=1)
    assert isinstance(whole, Answer)
    assert noise == whole.parts[0].noises[0]
    narrowed = db.sql("SELECT SUM(cost) AS s FROM visits WHERE cost < 100").release(epsilon=1)
    assert isinstance(narrowed, Answer)
    assert narrowed.parts[0].noises[0] != noise
    assert first.plan.key != second.plan.key


@pytest.mark.parametrize(
    "value",
    [
        "SUM(GREATEST(LEAST({}, 500), 0))",
        "COUNT(*) FILTER (WHERE cost = {})",
        "SUM(CASE WHEN cost < {} THEN cost END)",
        "COUNT(DISTINCT CASE WHEN cost > {} THEN patient END)",
    ],
)
def test_every_constant_has_the_plan_of_every_other(opened: Database, value: str) -> None:
    """Grids, how far a unit moves each number, groups and noise: all are fixed before the constant is there."""
    text = f"SELECT half, {value.format('(SELECT AVG(cost) FROM visits)')} AS s FROM visits GROUP BY half"
    question = opened.sql(text)
    assert isinstance(question, ShellQuestion)
    core, before = question.shell.cores[1], question.cores[1]
    price = Price.read(POLICY, epsilon=1)
    for constant in (None, -1e9, 0.0, 0.5, 250.0, 499.9, 1e9):
        plan = core.filled({core.holes[0].name: constant})
        recipe = Recipe.of(plan)
        assert plan.aggregate.groups == before.plan.aggregate.groups
        assert recipe.blocks == before.recipe.blocks
        moves = [block.sensitivity(plan.aggregate, POLICY.budget.neighbors) for block in recipe.blocks]
        assert moves == [block.sensitivity(before.plan.aggregate, POLICY.budget.neighbors) for block in recipe.blocks]
        assert Protection.of(recipe, price).noises == Protection.of(before.recipe, price).noises
        bounds = [facts.bounds for facts in plan.row_schema.values()]
        assert bounds == [facts.bounds for facts in before.plan.row_schema.values()]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT half, SUM(cost) AS s FROM visits WHERE ward {} GROUP BY half",
        "SELECT UPPER(ward) AS u, COUNT(*) AS n FROM visits WHERE ward {} GROUP BY UPPER(ward)",
        "SELECT COUNT(*) FILTER (WHERE ward {}) AS n, COUNT(DISTINCT CASE WHEN ward {} THEN patient END) FROM visits",
    ],
)
@pytest.mark.parametrize("word", ["IN", "NOT IN"])
def test_every_choice_of_rows_has_the_plan_of_every_other(opened: Database, text: str, word: str) -> None:
    """Which of the known values are chosen is released first; groups, grids and noise are fixed before it is there."""
    chosen = f"{word} (SELECT ward FROM {BY_WARD} AS q ORDER BY n LIMIT 2)"
    question = opened.sql(text.replace("{}", chosen))
    assert isinstance(question, ShellQuestion)
    core, before = question.shell.cores[-1], question.cores[-1]
    (hole,) = core.holes
    price = Price.read(POLICY, epsilon=1)
    for choice in (None, True, False):
        for odd in (None, True, False):
            values = dict.fromkeys(hole.names, choice) | {hole.names[0]: odd}
            plan = core.filled(values)
            recipe = Recipe.of(plan)
            assert plan.aggregate.keys == before.plan.aggregate.keys
            assert recipe.blocks == before.recipe.blocks
            assert Protection.of(recipe, price).noises == Protection.of(before.recipe, price).noises


def test_different_constants_are_different_questions(db: Database) -> None:
    """Two cores that differ in their constants alone are two releases, before and after these are there."""
    text = (
        "SELECT (SELECT COUNT(*) FROM visits WHERE cost > {}) AS a, (SELECT COUNT(*) FROM visits WHERE cost > {}) AS b"
    )
    question = db.sql(text.format("(SELECT AVG(cost) FROM visits)", "(SELECT 2 * AVG(cost) FROM visits)"))
    answer = question.release(epsilon=300)
    assert isinstance(answer, ShellAnswer)
    assert len({part.plan.key for part in answer.answers}) == 3
    (row,) = answer.to_dicts()
    assert row["a"] > row["b"] + 1000


def test_the_price_is_that_of_all_cores_together(db: Database) -> None:
    text = f"SELECT q.ward, q.n, s.c FROM {BY_WARD} AS q, (SELECT SUM(cost) AS c FROM visits) AS s"
    question = db.sql(text)
    preview = question.preview(epsilon=1)
    assert (preview.cost, preview.promise, preview.fits) == (Pure(1), "ε = 1", True)
    answer = question.release(epsilon=1)
    assert isinstance(answer, ShellAnswer)
    assert db.remaining == Pure(POLICY_EPSILON - 1)
    assert (answer.cost, answer.promise, answer.repeated) == (Pure(1), "ε = 1", False)
    assert [part.promise for part in answer.answers] == ["ε = 0.5", "ε = 0.5"]
    assert answer.privacy.epsilon(0) == pytest.approx(1, abs=1e-6)
    again = db.sql(text)
    assert again.preview(epsilon=1).repeated
    repeated = again.release(epsilon=1)
    assert repeated.repeated
    assert repeated.to_dicts() == answer.to_dicts()
    assert db.remaining == Pure(POLICY_EPSILON - 1)


POLICY_EPSILON = 100_000


def test_totals_are_the_sums_of_their_parts_and_cost_nothing(db: Database) -> None:
    asked = "SELECT ward, half, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY {}"
    before = db.remaining
    parts = db.sql(asked.format("ward, half")).release(epsilon="0.25").to_dicts()
    assert before.epsilon - db.remaining.epsilon == Fraction(1, 4)  # type: ignore[union-attr]
    rows = db.sql(asked.format("CUBE (ward, half)")).release(epsilon="0.25").to_dicts()
    assert before.epsilon - db.remaining.epsilon == Fraction(1, 4)  # type: ignore[union-attr]  # the same core, released
    assert [row for row in rows if None not in row.values()] == parts
    assert len(rows) == 41 * 3
    for row in rows:
        own = [part for part in parts if row["ward"] in {None, part["ward"]} and row["half"] in {None, part["half"]}]
        assert row["n"] == sum(cast("int", part["n"]) for part in own)
        assert row["s"] == pytest.approx(sum(cast("float", part["s"]) for part in own))


def test_one_core_used_twice_is_one_release(db: Database) -> None:
    once = f"SELECT a.ward, a.n, b.n AS m FROM {BY_WARD} AS a JOIN {BY_WARD} AS b ON a.ward = b.ward ORDER BY a.ward"
    answer = db.sql(once).release(epsilon=1)
    assert isinstance(answer, ShellAnswer)
    assert len(answer.answers) == 1
    assert all(row["n"] == row["m"] for row in answer.to_dicts())
    # Spelled otherwise, it is the same plan, and so the same release.
    other = once.replace("COUNT(*) AS n FROM visits GROUP BY ward) AS b", "COUNT(1) AS n FROM visits GROUP BY 1) AS b")
    answer = db.sql(other).release(epsilon=1)
    assert answer.repeated
    assert all(row["n"] == row["m"] for row in answer.to_dicts())
    # And that of a question without a shell: another shell over what is released is free.
    plain = db.sql("SELECT ward, COUNT(*) AS k FROM visits GROUP BY ward").release(epsilon=1)
    assert plain.repeated
    assert db.remaining == Pure(POLICY_EPSILON - 1)


def test_a_repeat_of_two_stages_is_free(db: Database) -> None:
    text = "SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)"
    answer = db.sql(text).release(epsilon=1)
    assert db.remaining == Pure(POLICY_EPSILON - 1)
    assert db.sql(text).preview(epsilon=1).repeated
    again = db.sql(text).release(epsilon=1)
    assert again.repeated
    assert again.to_dicts() == answer.to_dicts()
    assert db.remaining == Pure(POLICY_EPSILON - 1)
    # The average alone was paid for as well.
    assert db.sql("SELECT AVG(cost) AS a FROM visits").release(epsilon="0.5").repeated


def test_two_stages_are_bought_together_or_not_at_all(db: Database) -> None:
    ann = db.as_("ann")
    text = "SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)"
    with pytest.raises(BudgetError, match="Nothing was spent"):
        ann.sql(text).release(epsilon=3)
    assert ann.remaining == Pure(2)
    ann.sql(text).release(epsilon=2)
    assert ann.remaining == Pure(0)
    with pytest.raises(BudgetError):
        ann.sql(f"SELECT MAX(n) AS m FROM {BY_WARD} AS q").release(epsilon=1)


def test_a_key_pays_once(db: Database) -> None:
    text = "SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)"
    first = db.sql(text).release(epsilon=1, key="k")
    second = db.sql(text).release(epsilon=1, key="k")
    assert first.to_dicts() == second.to_dicts()
    assert db.remaining == Pure(POLICY_EPSILON - 1)


def test_several_statements_share_one_price(db: Database) -> None:
    asked = [
        f"SELECT n / SUM(n) OVER () AS s FROM {BY_WARD} AS q",
        "SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
        "SELECT ward FROM beds ORDER BY ward",
    ]
    questions = db.ask_all(asked)
    promises = [preview.promise for preview in questions.preview(epsilon=2)]
    assert promises == ["ε = 1", "ε = 0.5 + ε = 0.5", "public"]
    answers = questions.release(epsilon=2)
    assert db.remaining == Pure(POLICY_EPSILON - 2)
    assert [len(answer.to_dicts()) for answer in answers] == [40, 1, 40]
    assert all(answer.repeated for answer in db.ask_all(asked[:2]).release(epsilon=2))


def test_public_tables_alone_are_free(db: Database) -> None:
    answer = db.sql("SELECT COUNT(*) AS k, SUM(n) AS s FROM beds").release(epsilon=1)
    assert (answer.to_dicts(), db.remaining) == ([{"k": 40, "s": 780}], Pure(POLICY_EPSILON))
    assert all(cell.exact for cell in answer.cells()[0].values())
    assert db.sql("SELECT ward FROM beds").preview(epsilon=1).cost == Pure(0)


def test_an_answer_looks_like_any_other(db: Database) -> None:
    text = (
        f"SELECT ward, n, n / SUM(n) OVER () AS share, RANK() OVER (ORDER BY n) AS r FROM {BY_WARD} AS q ORDER BY ward"
    )
    answer = db.sql(text).release(epsilon=1)
    assert answer.columns == ("ward", "n", "share", "r")
    row = answer.cells()[0]
    assert (row["ward"].exact, row["n"].error, row["r"].error) == (True, 3.0, None)
    assert 0 < cast("float", row["share"].error) < 0.01
    frame = answer.to_pandas(errors=True)
    assert list(frame.columns) == ["ward", "n", "n_error", "share", "share_error", "r", "r_error"]
    assert str(frame["n"].dtype) == "int64"
    text = str(answer)
    assert "the ± of share is estimated" in text
    assert "r has no ±: a rank jumps" in text
    assert "ε = 1; charged ε = 1" in text
    assert "<table>" in answer._repr_html_()
    assert len(json.loads(answer.to_json())["cores"]) == 1
    assert answer.plot("share") is not None
    lines = db.sql(f"SELECT n FROM {BY_WARD} AS q").explain().splitlines()
    assert lines[1].startswith("core1, which is released: SELECT ward")
    assert lines[-1].startswith("shell, which is computed from that for free: SELECT n FROM")


def test_the_error_of_what_a_core_shows_is_that_of_the_core(db: Database) -> None:
    """No simulation where the law is known: also for arithmetic of one row, and where rows are left out."""
    text = (
        "SELECT ward, AVG(cost) AS a, SUM(cost) / COUNT(*) AS b, RANK() OVER (ORDER BY ward) AS r FROM visits "
        "GROUP BY ward HAVING COUNT(*) > 700 ORDER BY a DESC LIMIT 4"
    )
    shown = db.sql(text).release(epsilon=10)
    assert isinstance(shown, ShellAnswer)
    plain = db.sql(text.replace(", RANK() OVER (ORDER BY ward) AS r", "")).release(epsilon=10)
    for row, other in zip(shown.cells(), plain.cells(), strict=True):
        assert row["a"] == other["a"]
        assert row["b"].error == pytest.approx(cast("float", other["b"].error))
    assert shown.estimated == ()


def test_what_has_no_error_says_why(db: Database) -> None:
    text = (
        "SELECT MEDIAN(cost) AS m, MEDIAN(cost) * 2 AS d, CAST(COUNT(*) AS VARCHAR) AS t, COUNT(*) > 5 AS b, "
        "NULLIF(COUNT(*), COUNT(*)) AS z, ROW_NUMBER() OVER () AS r FROM visits"
    )
    (row,) = db.sql(text).release(epsilon=10).cells()
    reasons = {name: cell.reason for name, cell in row.items()}
    assert all(cell.error is None for cell in row.values())
    assert "rank" in reasons["m"]
    assert "none" in reasons["d"]
    assert reasons["t"] == reasons["b"] == "it is no number."
    assert "NULL" in reasons["z"]
    assert "rank" in reasons["r"]


@pytest.mark.parametrize(
    "text, why",
    [
        (f"SELECT nn FROM {BY_WARD} AS q", "nn"),
        (f"SELECT n + FROM {BY_WARD} AS q", "."),
        (f"SELECT ward + 1 FROM {BY_WARD} AS q", "."),
        (f"SELECT n FROM {BY_WARD} AS q ORDER BY m", "m"),
        (f"SELECT FIRST_VALUE(n) FROM {BY_WARD} AS q", "."),
        (f"SELECT n FROM {BY_WARD} AS q GROUP BY ward", "n"),
        (f"SELECT INTERVAL 1 DAY AS i FROM {BY_WARD} AS q", "INTERVAL"),
        (f"SELECT {{'a': n}} AS s FROM {BY_WARD} AS q", "."),
        (f"SELECT n FROM {BY_WARD} AS q UNION SELECT 1, 2", "."),
        ("SELECT ward, HISTOGRAM(cost, [9]) AS h, RANK() OVER () AS r FROM visits GROUP BY ward", "row for each bin"),
        ("SELECT h FROM (SELECT HISTOGRAM(cost, [9, 99]) AS h FROM visits) AS q", "row for each bin"),
        ("SELECT COUNT(*) FROM visits WHERE cost > (SELECT HISTOGRAM(cost, [9]) AS h FROM visits)", "row for each bin"),
    ],
)
def test_what_a_shell_does_not_understand_is_refused_before_it_is_paid(db: Database, text: str, why: str) -> None:
    with pytest.raises(QueryRefused, match=why):
        db.sql(text)
    assert db.remaining == Pure(POLICY_EPSILON)


def test_within_and_narrow_are_for_plain_questions(db: Database) -> None:
    question = db.sql(f"SELECT n / 2 AS h FROM {BY_WARD} AS q")
    with pytest.raises(ParameterError, match="within"):
        question.release(within=5)
    with pytest.raises(ParameterError, match="narrow"):
        question.preview(epsilon=1, narrow="0.1")


def test_a_subquery_with_several_rows_keeps_the_release(db: Database) -> None:
    text = f"SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT n FROM {BY_WARD} AS q)"
    for _ in range(2):
        with pytest.raises(EngineError, match="one value"):
            db.sql(text).release(epsilon=1)
        assert db.remaining == Pure(POLICY_EPSILON - Fraction(1, 2))


SERIES = """
SELECT ward, m, n,
    s / n AS ratio,
    n / SUM(n) OVER (PARTITION BY ward) AS share,
    SUM(n) OVER (PARTITION BY ward ORDER BY m) AS running,
    AVG(n) OVER (PARTITION BY ward ORDER BY m ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS moving
FROM (SELECT ward, MONTH(day) AS m, COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE cost > -1 GROUP BY 1, 2) AS q
ORDER BY ward, m
"""
ESTIMATED = ("ratio", "share", "running", "moving")


def covered(db: Database, rounds: int) -> dict[str, float]:
    """How often the true value lies within its ±, over all cells of several releases, by column."""
    truth = plainly(SERIES)
    hits = dict.fromkeys(ESTIMATED, 0)
    for number in range(rounds):
        another = SERIES.replace("cost > -1", f"cost > -{number + 1}")  # a release of its own, of the same rows
        answer = db.sql(another).release(epsilon=Fraction(3, 10))
        for row, true in zip(answer.cells(), truth, strict=True):
            for name in ESTIMATED:
                off = abs(cast("float", row[name].value) - float(cast("float", true[name])))
                hits[name] += off <= cast("float", row[name].error) + 1e-9
    return {name: count / (rounds * len(truth)) for name, count in hits.items()}


def scaled(monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> None:
    """Let copies have more or less noise than the release."""

    def drawn(exact: Integers, noise: Noise, bits: BitSource) -> Integers:
        other = replace(noise, scale=noise.scale * factor) if isinstance(noise, DiscreteLaplace) else noise
        return sums.noisy_sums(exact, other, bits)

    monkeypatch.setattr(shell_tables, "noisy_sums", drawn)


def test_a_simulated_error_holds_as_often_as_it_says(opened: Database) -> None:
    """480 series, at worst as many independent cells: six standard deviations of their share are 0.06."""
    shares = covered(opened, rounds=12)
    assert all(0.89 <= share <= 0.999 for share in shares.values()), shares


def test_the_check_sees_half_the_noise(opened: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    scaled(monkeypatch, Fraction(1, 2))
    assert all(share < 0.89 for share in covered(opened, rounds=12).values())


@pytest.mark.slow
def test_a_simulated_error_holds_close_to_as_often_as_it_says(opened: Database) -> None:
    """6,000 series: six standard deviations are 0.017, and the ± of counts, which are whole, holds a bit too often."""
    shares = covered(opened, rounds=150)
    assert all(0.93 <= share <= 0.97 for share in shares.values()), shares


@pytest.mark.slow
@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(14, 10)])
def test_the_close_check_sees_other_noise(opened: Database, monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> None:
    scaled(monkeypatch, factor)
    assert all(not 0.93 <= share <= 0.97 for share in covered(opened, rounds=30).values())


def test_the_same_release_has_the_same_simulated_error(db: Database) -> None:
    """Its copies are drawn from what was released, and not from the system's bits, which the release was made of."""
    text = f"SELECT ward, n / SUM(n) OVER () AS share FROM {BY_WARD} AS q"
    answer, again, other = (db.sql(text).release(epsilon=epsilon) for epsilon in (1, 1, 2))
    assert again.repeated
    assert again.errors() == answer.errors() != other.errors()
    assert type(simulation.drawn_from(b"")) is not type(SYSTEM)
