"""Questions are audited on tables that the policy alone makes up: what is charged too little for is refuted."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from discreet import noise
from discreet import privacy as p
from discreet.checks.audits import audit, audit_question
from discreet.checks.audits.made_up import made_up_neighbors
from discreet.database import Database
from discreet.errors import BudgetError, ParameterError
from discreet.ledgers import MemoryLedger
from discreet.mechanisms.adding import sums
from discreet.plans import plan_sql
from discreet.privacy import NeighborRelation
from discreet.tables import Analyst, Column, Policy, Table
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from discreet.tables import Policy as Stated

VISITS = Table(
    "visits",
    unit="pid",
    rows_per_unit=3,
    columns=[Column("ward", keys=["a", "b"]), Column("cost", lower=0, upper=500), Column("drug", type="text")],
)
WARDS = Table(
    "wards", public=True, unique=["ward"], columns=[Column("ward", type="text"), Column("beds", type="integer")]
)
FACTS: dict[str, Any] = {"epsilon": 30, "delta": "1e-1", "release_delta": "1e-2", "filter": "approximate"}
POLICY = Policy([VISITS, WARDS], **FACTS)
SURE: dict[str, Any] = {"confidence": "0.999999999", "draws": 1500, "tries": 4}
SQL = "SELECT ward, SUM(cost) AS s FROM visits WHERE drug = 'aspirin' GROUP BY ward"


@pytest.mark.parametrize(
    "sql, least",  # how much is proven at least: the made-up unit is one that the question counts
    [
        (SQL, 0.5),
        ("SELECT COUNT(*) AS n FROM visits JOIN wards USING (ward) WHERE beds > 5", 0.5),
        pytest.param("SELECT drug, COUNT(*) AS n FROM visits GROUP BY drug", 0.0, marks=pytest.mark.slow),
    ],
)
def test_a_promise_is_kept(sql: str, least: float) -> None:
    found = audit_question(plan_sql(POLICY, sql), asked=sql, epsilon=3, bits=ReplayBits(2), **SURE)
    assert not found.refuted
    assert found.claimed <= 3 + 1e-9
    assert found.epsilon >= least


@pytest.fixture
def _a_quarter_of_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let counts be drawn with a quarter of the noise that their promise says."""
    drawn = noise.discrete_laplace
    monkeypatch.setattr(sums, "discrete_laplace", lambda scale, *given, **named: drawn(scale / 4, *given, **named))


@pytest.mark.usefixtures("_a_quarter_of_the_noise")
def test_too_little_noise_is_refuted() -> None:
    sql = "SELECT COUNT(*) AS n FROM visits WHERE cost > 100"
    assert audit_question(plan_sql(POLICY, sql), asked=sql, epsilon=1, bits=ReplayBits(2), **SURE).refuted


def test_a_question_of_a_database_is_a_target_and_nothing_of_it_is_spent() -> None:
    ledger = MemoryLedger(POLICY)
    rows = {"pid": [1], "ward": ["a"], "cost": [7.0], "drug": ["aspirin"]}
    source = {"visits": pa.table(rows), "wards": pa.table({"ward": ["a"], "beds": [3]})}
    with Database(POLICY, source, ledger=ledger) as db:
        before = db.remaining
        found = audit(db.sql(SQL), epsilon=3, claim=p.pure("0.2"), ledger=ledger, draws=1500, confidence="0.999999999")
        assert db.remaining == before
    assert found.refuted
    assert found.name == SQL
    assert [line.body["refuted"] for line in ledger.entries(kind="audit")] == [True]
    with pytest.raises(ParameterError, match="leave neighbors"):
        audit(db.sql(SQL), (0, 1), epsilon=1)


def test_what_the_budget_does_not_allow_is_not_audited() -> None:
    with pytest.raises(BudgetError):
        audit_question(plan_sql(POLICY, SQL), epsilon=31, tries=1, draws=100)
    with pytest.raises(ParameterError, match="exactly one of epsilon and rho"):
        audit_question(plan_sql(POLICY, SQL), tries=1, draws=100)


def test_tables_that_are_not_asked_about_need_no_columns_and_names_are_no_paths() -> None:
    given: dict[str, Any] = {"epsilon": 2, "tries": 1, "draws": 100}
    more = Policy([VISITS, Table("rooms", public=True)], **FACTS)
    assert audit_question(plan_sql(more, "SELECT COUNT(*) AS n FROM visits"), **given).claimed <= 2 + 1e-9
    away = Policy([VISITS, Table("../rooms", public=True)], **FACTS)
    with pytest.raises(ParameterError, match="no name of a file"):
        audit_question(plan_sql(away, "SELECT COUNT(*) AS n FROM visits"), **given)


def test_who_asks_is_who_may() -> None:
    named = Policy([VISITS, WARDS], analysts=[Analyst("ann", epsilon=2)], **FACTS)
    given: dict[str, Any] = {"asked": SQL, "epsilon": 2, "tries": 1, "draws": 100}
    assert audit_question(plan_sql(named, SQL), analyst="ann", **given).claimed <= 2 + 1e-9
    with pytest.raises(ParameterError, match="may not explain"):
        audit_question(plan_sql(named, SQL), **given)


def test_of_a_statement_its_core_is_audited_and_of_several_each() -> None:
    one = "SELECT ward, n / SUM(n) OVER () AS share FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"
    two = f"SELECT share, (SELECT COUNT(*) FROM visits WHERE cost > 9) AS m FROM ({one})"
    given: dict[str, Any] = {"epsilon": 3, "draws": 300, "tries": 1, "bits": ReplayBits(3)}
    rows = {"pid": [1], "ward": ["a"], "cost": [7.0], "drug": ["aspirin"]}
    source = {"visits": pa.table(rows), "wards": pa.table({"ward": ["a"], "beds": [3]})}
    with Database(POLICY, source, ledger="memory") as db:
        assert audit_question(db.sql(one), claim=p.pure("0.01"), **given).refuted
        with pytest.raises(ParameterError, match="releases 2 cores"):
            audit(db.sql(two), epsilon=3)


def pairs(policy: Stated, asked: str = "", many: int = 40) -> list[Any]:
    return list(islice(made_up_neighbors(policy, [table.name for table in policy.tables], asked, ReplayBits(1)), many))


def test_made_up_neighbors_differ_in_one_unit_within_what_the_policy_allows() -> None:
    for pair in pairs(POLICY, SQL):
        without, rows = pair.first["visits"], pair.second["visits"]
        assert rows[: len(without)] == without
        more = rows[len(without) :]
        assert 1 <= len(more) <= 3
        (unit,) = {row["pid"] for row in more}
        assert unit not in {row["pid"] for row in without}
        assert pair.first["wards"] == pair.second["wards"]
    assert max(len(pair.second["visits"]) - len(pair.first["visits"]) for pair in pairs(POLICY)) == 3
    assert any(row["drug"] == "aspirin" for pair in pairs(POLICY, SQL) for row in pair.second["visits"])


def test_under_change_one_a_unit_is_exchanged_and_what_is_unique_stays_so() -> None:
    table = Table("t", unit="pid", unique=["pid", "code"], columns=[Column("code", keys=["x", "y"])])
    exchanged = Policy([table], neighbors=NeighborRelation.CHANGE_ONE, **FACTS)
    exchanges = 0
    for pair in pairs(exchanged):
        first, second = ({row["pid"] for row in side["t"]} for side in (pair.first, pair.second))
        assert len(first - second) <= 1
        assert len(second - first) <= 1
        exchanges += bool(first - second and second - first)
        for side in (pair.first, pair.second):
            codes = [row["code"] for row in side["t"]]
            assert len(codes) == len(set(codes))
    assert exchanges


def test_a_public_table_without_columns_cannot_be_made_up() -> None:
    bare = Policy([VISITS, Table("wards", public=True)], **FACTS)
    with pytest.raises(ParameterError, match="wards is public and states no columns"):
        pairs(bare)
