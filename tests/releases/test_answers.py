"""Answers from a real DuckDB: end to end, and cell by cell against the exact ones."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.plans import plan_sql
from discreet.releases.asking.question import answered
from discreet.releases.noise.protection import Price, Protection
from discreet.releases.noise.recipe import Recipe
from discreet.releases.showing.texts import cell_text
from discreet.tables import Column, Policy, Table
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.database import Database
    from discreet.engines import Aggregates

TOML = """
[source]
url = "hospital.duckdb"
[budget]
epsilon = 1000
delta = 1e-6
[tables.visits]
unit = "patient_id"
unit_kind = "patient"
rows_per_unit = 2
[tables.visits.columns]
visit_date = { type = "date" }
ward = { keys = ["cardiology", "oncology", "surgery"] }
cost = { lower = 0, upper = 50_000 }
stay = { lower = -1.5, upper = 30.0, nullable = false }
diagnosis = { type = "text" }
[tables.patients]
unit = "patient_id"
unique = ["patient_id"]
[tables.patients.columns]
age = { lower = 0, upper = 120 }
[tables.wards]
public = true
unique = ["ward"]
[tables.wards.columns]
ward = { type = "text" }
floor = { keys = [1, 2] }
"""
PATIENTS = 3000
MANY = 10**6  # an epsilon at which noise hardly shows, and no promise that anybody should buy


def visits() -> pa.Table:
    random = Random(5)
    rows = [
        {
            "patient_id": number // 2,
            "visit_date": f"2024-0{random.randint(1, 9)}-11",
            "ward": random.choice(["cardiology", "cardiology", "oncology", "attic"]),
            "cost": None if random.random() < 0.1 else random.randint(0, 50_000),
            "stay": random.uniform(0, 12),
            "diagnosis": random.choice(["flu", "burn"]) if number > 1 else "very rare",
        }
        for number in range(2 * PATIENTS)
    ]
    return pa.Table.from_pylist(rows)


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hospital")
    patients = pa.table({"patient_id": range(PATIENTS), "age": [number % 90 for number in range(PATIENTS)]})
    wards = pa.table({"ward": ["cardiology", "oncology", "surgery"], "floor": [1, 2, 2]})
    with duckdb.connect(str(folder / "hospital.duckdb")) as connection:
        for name, table in {"visits": visits(), "patients": patients, "wards": wards}.items():
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    (folder / "hospital.toml").write_text(TOML)
    return folder


@pytest.fixture(scope="module")
def db(hospital: Path) -> Iterator[Database]:
    with dp.open(hospital / "hospital.toml") as opened:
        yield opened


def exactly(hospital: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(hospital / "hospital.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def loud(db: Database, sql: str) -> tuple[Recipe, Protection, Aggregates]:
    """What a release is made of; a price far above the budget shows the meaning without the noise."""
    question = db.sql(sql)
    recipe = Recipe.of(question.plan)
    protection = Protection.of(
        recipe, Price.read(db.policy, epsilon=MANY if question.plan.aggregate.known else 1000, delta="0.4")
    )
    return recipe, protection, question.engine.prepare(question.plan.aggregate).run()  # all cells: windows save work


MEANINGS = [
    """SELECT ward, COUNT(*), COUNT(cost), SUM(cost), AVG(cost), AVG(stay), SUM(stay) FROM visits
    WHERE ward <> 'surgery' GROUP BY ward ORDER BY 1""",
    "SELECT VARIANCE(cost), VAR_POP(stay), STDDEV(stay), COUNT(DISTINCT patient_id) FROM visits",
    "SELECT COVAR_POP(cost, stay), CORR(cost, stay) FROM visits",
    """SELECT diagnosis, SUM(cost) / COUNT(cost) AS x FROM visits WHERE diagnosis <> 'very rare' GROUP BY diagnosis
    HAVING COUNT(*) > 10 ORDER BY x DESC LIMIT 1""",
    "SELECT AVG(t) FROM (SELECT patient_id, SUM(stay) AS t FROM visits GROUP BY patient_id) u",
    "SELECT w.floor, COUNT(*), AVG(v.stay) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.floor ORDER BY 1",
]


@pytest.mark.parametrize("sql", MEANINGS)
def test_without_noise_an_answer_is_what_sql_means(db: Database, hospital: Path, sql: str, seed: int) -> None:
    answer = answered(*loud(db, sql), bits=ReplayBits(seed))
    found = [tuple(row.values()) for row in answer.to_dicts()]
    exact = exactly(hospital, sql)
    known = {row[0]: row for row in exact}
    for row in found:
        wanted = known.get(row[0]) if isinstance(row[0], str) else exact[found.index(row)]
        if wanted is None:  # surgery has no visits
            assert row[:4] == ("surgery", 0, 0, 0.0)
            assert row[4:6] == (None, None)
            continue
        keys = 1 if isinstance(row[0], str) else 0
        assert row[keys:] == pytest.approx(wanted[keys:], rel=2e-3, abs=1e-3)


def test_quantiles_land_between_their_rows(db: Database, hospital: Path, seed: int) -> None:
    sql = "SELECT QUANTILE_CONT(stay, [0.1, 0.5, 0.9]) AS q, MEDIAN(cost) AS m FROM visits"
    (row,) = answered(*loud(db, sql), bits=ReplayBits(seed)).to_dicts()
    ((q, m),) = exactly(hospital, sql)
    assert row["q"] == pytest.approx(q, abs=12 / 600)  # rows lie about 12 / 6000 apart
    assert row["m"] == pytest.approx(m, abs=50_000 / 500)


def test_extremes_lie_near_the_true_ones(db: Database, hospital: Path, seed: int) -> None:
    sql = "SELECT MIN(stay) AS low, MAX(stay) AS high FROM visits"
    ((low, high),) = exactly(hospital, sql)
    recipe, protection, aggregates = loud(db, sql)
    (row,) = answered(recipe, protection, aggregates, bits=ReplayBits(seed)).to_dicts()
    assert row["low"] == pytest.approx(low, abs=12 / 600)
    assert row["high"] == pytest.approx(high, abs=12 / 600)
    noisy = Protection.of(recipe, Price.read(db.policy, epsilon=1))
    for draw in range(40):
        (row,) = answered(recipe, noisy, aggregates, bits=ReplayBits(seed + draw)).to_dicts()
        assert low <= row["low"] < 1  # a point beyond the last row is 10 scales off its rank
        assert 11 < row["high"] <= high


@pytest.mark.fixed_bits  # the count of an empty ward exceeds its own ± at 95 percent once in forty releases
def test_the_hospital_end_to_end(db: Database) -> None:
    question = db.sql("SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward")
    before = db.remaining
    answer = question.release(epsilon=1)
    assert db.remaining != before
    frame, table = answer.to_pandas(), answer.to_arrow()
    assert list(frame.columns) == table.column_names == ["ward", "n", "cost"]
    assert frame["ward"].tolist() == ["cardiology", "oncology", "surgery"]
    assert abs(frame["n"][0] - 3000) < 500
    assert str(answer).splitlines()[0].split() == ["ward", "n", "cost"]
    assert answer.to_dicts()[2]["cost"] is None
    same = db.table("visits").group_by("ward").agg(n=dp.agg.count(), cost=dp.agg.mean("cost"))
    assert same.plan.key == question.plan.key
    with pytest.raises(dp.QueryRefused):
        db.sql("SELECT cost FROM visits; DROP TABLE visits")


def test_a_key_of_one_unit_does_not_appear(db: Database) -> None:
    found = db.sql("SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis ORDER BY n DESC").release(epsilon=1)
    assert {row["diagnosis"] for row in found.to_dicts()} == {"flu", "burn"}
    counts = [row["n"] for row in found.to_dicts()]
    assert counts == sorted(counts, reverse=True)


COVERED = """SELECT COUNT(*) AS n, COUNT(cost) AS m, SUM(cost) AS s, AVG(cost) AS a, AVG(stay) AS b, STDDEV(stay) AS d
    FROM visits"""
DRAWS = 300


def misses(db: Database, price: dict[str, Any], bits: ReplayBits, shrink: float = 1.0) -> dict[str, int]:
    """How often each cell of a release lies farther from the exact one than its ± says."""
    question = db.sql(COVERED)
    recipe = question.recipe
    aggregates = question.engine.prepare(question.plan.aggregate).run()
    calm = Protection.of(recipe, Price.read(db.policy, epsilon=MANY, delta="0.4"))
    (exact,) = answered(recipe, calm, aggregates, bits=bits).to_dicts()
    protection = Protection.of(recipe, Price.read(db.policy, **price))
    found = dict.fromkeys(exact, 0)
    for _ in range(DRAWS):
        answer = answered(recipe, protection, aggregates, bits=bits)
        (row,), (errors,) = answer.to_dicts(), answer.errors(0.95)
        for name, value in row.items():
            found[name] += abs(value - exact[name]) > (errors[name] or 0) * shrink + 1e-3 * abs(exact[name]) / MANY
    return found


# Of 300 draws at 5 percent more than 48 miss with a probability below 1e-9 (binomial).
MOST_MISSES = 48


@pytest.mark.slow
@pytest.mark.parametrize("price", [{"epsilon": 1, "delta": 0}, {"rho": "0.1"}])
def test_errors_cover_what_they_say(db: Database, price: dict[str, Any], seed: int) -> None:
    found = misses(db, price, ReplayBits(seed))
    assert max(found.values()) <= MOST_MISSES, found
    assert max(misses(db, price, ReplayBits(seed), shrink=0.5).values()) > MOST_MISSES  # half the ± is seen


def test_the_bound_on_misses_is_that_of_the_binomial_law() -> None:
    tail = sum(math.comb(DRAWS, k) * 0.05**k * 0.95 ** (DRAWS - k) for k in range(MOST_MISSES + 1, DRAWS + 1))
    assert tail < 1e-9


def test_what_is_not_known_about_nulls_does_not_matter() -> None:
    policy = Policy.from_toml(TOML)
    blocks = Recipe.of(plan_sql(policy, "SELECT SUM(stay), COUNT(*) FROM visits")).blocks
    (pair,) = blocks
    assert min(row[0] for row in pair.matrix) >= 0  # type: ignore[attr-defined]


def test_what_is_shown_of_questions_and_answers_is_public(db: Database) -> None:
    question = db.sql("SELECT COUNT(*) AS n FROM visits")
    assert repr(question) == "Question(n of visits)"
    assert repr(question.release(epsilon=1)) == "Answer(n: 1 row, ε = 1)"
    assert repr(db) == "Database('hospital', version '1')"


def test_counts_from_zero_on_request() -> None:
    """Empty groups: as often below 0 as above, and half a scale too many once they are cut off."""
    columns = [Column("k", keys=range(2000), nullable=False), Column("x", lower=0, upper=9, nullable=False)]
    policy = Policy([Table("t", row_is_unit=True, columns=columns)], epsilon=100)
    sql = "SELECT k, COUNT(*) AS n, AVG(x) AS m, COUNT(*) + 1 AS more FROM t GROUP BY k"
    with dp.Database(policy, {"t": pa.table({"k": [0] * 500, "x": [3] * 500})}) as opened:
        answer = opened.sql(sql).release(epsilon="0.1")
        cut = answer.nonnegative()
        pairs = list(zip(answer.to_dicts(), cut.to_dicts(), strict=True))
        assert any(before["n"] < 0 for before, _ in pairs)
        for before, after in pairs:
            assert after["n"] == max(before["n"], 0)
            assert (after["m"], after["k"]) == (before["m"], before["k"])
            assert after["more"] == after["n"] + 1
        assert [each["n"] for each in cut.errors()] == [each["n"] for each in answer.errors()]
        assert cut.to_json() == answer.to_json()  # what is stored is what was released
        bias = sum(after["n"] for _, after in pairs[1:]) / len(pairs[1:])
        assert 3 < bias < 15  # scale / 2 and the pair's two draws; it would be near 0 without the cut


@pytest.mark.parametrize(
    "what",
    ["MEDIAN(cost)", "QUANTILE_CONT(stay, [0.1, 0.5, 0.9])", "MIN(cost)", "COUNT(*)", "HISTOGRAM(cost, [0, 9, 99])"],
)
def test_if_no_unknown_key_is_released_the_answer_is_empty(db: Database, what: str) -> None:
    """Whether one is, is private; so it may decide about rows, and not about an error."""
    question = db.sql(f"SELECT diagnosis, {what} AS x FROM visits WHERE diagnosis LIKE 'very%' GROUP BY diagnosis")
    answer = question.release(epsilon="0.001")
    assert answer.to_dicts() == []
    assert answer.to_arrow().num_rows == 0


@pytest.mark.parametrize(
    "value, error", [(12.34, 1.049), (-7.05, 5.949), (0.3337, 0.0), (1234567.8125, 0.0), (1e6, 5940.0), (2, 1234564.5)]
)
def test_what_is_printed_holds_as_well_as_what_was_released(value: float, error: float) -> None:
    """The printed interval holds the released one: digits that are left out make no ± smaller."""
    text, _, off = cell_text(value, error).partition(" ± ")
    shown, wide = float(text.replace(",", "")), float(off.replace(",", ""))
    assert shown - wide <= value - error + 1e-9
    assert shown + wide >= value + error - 1e-9
    assert wide <= error * 1.2 + 0.01
