"""The rules of asking and paying, each by its number."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import discreet as dp
from discreet.engines import Aggregates
from discreet.errors import BudgetError, DiscreetError, EngineError, ParameterError
from discreet.ledgers import MemoryLedger, Repeat
from discreet.mechanisms import DiscreteLaplace, PartitionSelection
from discreet.mechanisms.choosing.rank_choice import RankChoice, pure_rho
from discreet.plans import Bounding, plan_sql
from discreet.privacy import Pure
from discreet.privacy.costs import Cost
from discreet.releases import Question
from discreet.releases.asking.question import _selected
from discreet.releases.noise.protection import Price, Protection, _rho_of
from discreet.releases.noise.recipe import Recipe
from discreet.tables import Column, Policy, Purpose, Table
from tests.noise.replay import ReplayBits
from tests.plans.hospital import POLICY, TOML, database, without
from tests.releases.exact import aggregates_of

if TYPE_CHECKING:
    from discreet.plans.nodes import Aggregate
    from discreet.privacy.costs import Amount
    from tests.plans.interpreter import Database

PURE = Policy.from_toml(TOML.replace("delta = 1e-6", ""))
SUMMED = Policy.from_toml(TOML.replace("delta = 1e-6", 'delta = 1e-6\nfilter = "approximate"'))
CHANGE_ONE = Policy.from_toml(TOML.replace("delta = 1e-6", 'delta = 1e-6\nneighbors = "change_one"'))

KNOWN = [
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, COUNT(*), AVG(cost), SUM(change), MEDIAN(cost), COUNT(DISTINCT patient_id) FROM visits GROUP BY ward",
    "SELECT sex, city, STDDEV(age), CORR(age, age) FROM patients GROUP BY sex, city",
]
UNKNOWN = [
    "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
    "SELECT diagnosis, ward, AVG(cost), SUM(change) FROM visits GROUP BY diagnosis, ward",
]
SLACK = 1 + 1e-9
SIX = 0.0285  # six standard deviations, below 1e-9 on either side, of 4000 draws at 0.1 or below


def protected(policy: Policy, sql: str, **price: Any) -> Protection:  # noqa: ANN401 - numbers
    return Protection.of(Recipe.of(plan_sql(policy, sql)), Price.read(policy, **price))


def keeps(protection: Protection, epsilon: float) -> bool:
    """Whether the curve of all noise and of the selection keeps the price."""
    return protection.curve.epsilon(protection.delta) <= epsilon * SLACK


@pytest.mark.parametrize("policy", [POLICY, SUMMED, CHANGE_ONE])
@pytest.mark.parametrize("sql", [*KNOWN, *UNKNOWN])
def test_promise_1_the_price_is_that_of_the_whole_question(policy: Policy, sql: str) -> None:
    found = protected(policy, sql, epsilon="0.5", delta=1e-7)
    assert keeps(found, 0.5)
    louder = replace(found, noises=tuple(replace_scale(noise) for noise in found.noises))
    assert not keeps(louder, 0.5)  # half the noise is seen


def replace_scale(noise: Any) -> Any:  # noqa: ANN401 - either family
    if isinstance(noise, RankChoice):
        return replace(noise, scales=tuple(scale / 2 for scale in noise.scales))
    if isinstance(noise, DiscreteLaplace):
        return DiscreteLaplace(noise.sensitivity, scale=noise.scale / 2, neighbors=noise.neighbors)
    return type(noise)(noise.sensitivity, sigma=noise.sigma / 2, grid=1, inputs="snapped", neighbors=noise.neighbors)


@pytest.mark.parametrize("sql", [*KNOWN, *UNKNOWN])
def test_promise_1_rho_is_a_price_too(sql: str) -> None:
    found = protected(POLICY, sql, rho="0.01")
    assert isinstance(found.cost, Cost)
    assert 0 < found.cost.losses[1] <= 8 * 10**10 + 1  # at order 8, rounded up
    rhos = [noise.rho if isinstance(noise, RankChoice) else noise.privacy.zcdp() for noise in found.noises]
    assert sum(rhos) <= 0.01 * SLACK


WIDE = Policy(
    [
        Table(
            "t",
            unit="id",
            rows_per_unit=1000,
            columns=[
                Column("s", type="text"),
                *(Column(f"x{each}", lower=0, upper=10**each, nullable=False) for each in range(1, 10)),
            ],
        )
    ],
    epsilon=3,
    delta=1e-6,
)
UNKNOWN_GROUPS = [
    "MEDIAN(x1), MIN(x1), MAX(x2), MEDIAN(x3)",
    "COVAR_POP(x9, x8), AVG(x7)",
    "COUNT(*), AVG(x1), MEDIAN(x2)",
]


@pytest.mark.parametrize("measures", UNKNOWN_GROUPS)
@pytest.mark.parametrize("rho", ["0.00001", "0.001", "0.1", "1"])
def test_promise_1_all_parts_together_cost_no_more_than_rho(measures: str, rho: str) -> None:
    plan = plan_sql(WIDE, f"SELECT s, {measures} FROM t GROUP BY s")
    made = Protection.of(Recipe.of(plan), Price.read(WIDE, rho=rho))
    assert made.selection is not None
    coins = made.selection.touched
    parts = sum((_rho_of(noise) for noise in made.noises), Fraction(0))
    whole = parts + coins * pure_rho(made.selection.epsilon / coins)
    assert Fraction(rho) / 2 < whole <= Fraction(rho) * (1 + Fraction(1, 2**40))


@pytest.mark.parametrize("sql", KNOWN)
def test_promise_1_without_delta_the_release_is_pure(sql: str) -> None:
    found = protected(PURE, sql, epsilon="0.5")
    assert all(isinstance(noise, DiscreteLaplace | RankChoice) for noise in found.noises)
    assert (found.cost, found.promise) == (Pure("0.5"), "ε = 0.5")
    assert found.curve.epsilon(0) <= 0.5 * SLACK


def test_promise_1_gaussian_noise_says_its_delta() -> None:
    sql = "SELECT ward, visit_date, COUNT(*) FROM visits GROUP BY ward, visit_date"
    policy = Policy.from_toml(TOML.replace("rows_per_unit = 3", "rows_per_unit = 900"))
    recipe = Recipe.of(plan_sql(policy, sql, bounding=Bounding(groups=900, rows_per_group=1)))
    found = Protection.of(recipe, Price.read(policy, epsilon=1))
    assert found.gaussian
    assert found.promise == "ε = 1, δ = 1e-09"
    assert keeps(found, 1)


def test_promise_2_what_needs_delta_is_refused_in_a_pure_ledger() -> None:
    with pytest.raises(dp.QueryRefused, match="not known beforehand"):
        protected(PURE, UNKNOWN[0], epsilon=1)
    for price in ({"rho": 1}, {"epsilon": 1, "delta": 1e-6}):
        with pytest.raises(ParameterError):
            protected(PURE, KNOWN[0], **price)


@dataclass
class Told:
    """An engine over the reference interpreter that tells the order of what happens."""

    rows: Database
    events: list[str] = field(default_factory=list)
    living: bool = True
    working: bool = True

    def alive(self) -> bool:
        self.events.append("alive")
        return self.living

    def prepare(self, aggregate: Aggregate) -> Any:  # noqa: ANN401 - a prepared question
        @dataclass
        class Prepared:
            engine: Told

            def near(self, narrower: Aggregate) -> Any:  # noqa: ANN401 - as above
                return self.engine.prepare(narrower)

            def run(self) -> Aggregates:
                self.engine.events.append("run")
                if not self.engine.working:
                    raise EngineError
                return aggregates_of(aggregate, self.engine.rows)

        return Prepared(self)

    def run(self, questions: list[Any]) -> list[Aggregates]:
        return [question.run() for question in questions]


class ToldLedger(MemoryLedger):
    events: list[str]

    def take(self, costs: Any, repeats: Any) -> Any:  # noqa: ANN401 - as the ledger
        self.events.append("reserve")
        return super().take(costs, repeats)

    def record(self, reservation: Any, answer: Any) -> str:  # noqa: ANN401 - as the ledger
        self.events.append("record")
        return super().record(reservation, answer)


def told(
    rows: Database, policy: Policy = PURE, sql: str = KNOWN[1], *, living: bool = True, working: bool = True
) -> tuple[Question, Told, ToldLedger]:
    source = Told(rows, living=living, working=working)
    ledger = ToldLedger(policy)
    ledger.events = source.events
    return Question(plan_sql(policy, sql), source, ledger), source, ledger  # type: ignore[arg-type]


def spent(ledger: MemoryLedger) -> Amount:
    """What was taken from the dataset's budget."""
    return ledger.statement.whole.spent


def test_promise_3_reserve_before_the_engine_runs_and_record_after() -> None:
    question, engine, ledger = told(database(Random(1)))
    answer = question.release(epsilon=1)
    assert engine.events == ["alive", "reserve", "run", "record"]
    assert spent(ledger) == Pure(1)
    assert [line.body["answer"] for line in ledger.entries(kind="recorded")] == [json.loads(answer.to_json())]


def test_promise_3_no_refund_after_a_failure_and_no_charge_before() -> None:
    question, engine, ledger = told(database(Random(1)), working=False)
    with pytest.raises(EngineError):
        question.release(epsilon=1)
    assert spent(ledger) == Pure(1)
    assert engine.events == ["alive", "reserve", "run"]
    question, engine, ledger = told(database(Random(1)), living=False)
    with pytest.raises(EngineError):
        question.release(epsilon=1)
    assert (spent(ledger), engine.events) == (Pure(0), ["alive"])


def test_a_budget_that_is_spent_refuses_before_the_engine_runs() -> None:
    question, engine, ledger = told(database(Random(1)))
    question.release(epsilon="2.5")
    engine.events.clear()
    other = Question(plan_sql(PURE, KNOWN[0]), engine, ledger)  # type: ignore[arg-type]
    with pytest.raises(BudgetError):
        other.release(epsilon="0.6")
    assert engine.events == ["alive", "reserve"]
    assert ledger.remaining == Pure("0.5")


HALF = Policy.from_toml(TOML.replace("delta = 1e-6", "delta = 0.5").replace("rows_per_unit = 3", "rows_per_unit = 900"))
LAPLACE = (Bounding(groups=3, rows_per_group=1), 20, "0.1")  # all of the delta is the selection's
GAUSSIAN = (Bounding(groups=40, rows_per_group=1), 1, "0.2")  # half of it is the noise's


def alone_in(limit: Bounding, epsilon: int, delta: str) -> tuple[Protection, PartitionSelection, Aggregates]:
    """A question for groups that are not known, and a database in which a unit is alone in all that it may touch."""
    plan = plan_sql(HALF, UNKNOWN[0], bounding=limit)
    protection = Protection.of(Recipe.of(plan), Price.read(HALF, epsilon=epsilon, delta=delta))
    assert protection.selection is not None
    groups = limit.groups or 0
    names = [[f"rare {number}" for number in range(groups)]]
    numbers = [[[1]] * groups] * len(plan.aggregate.statistics)
    return protection, protection.selection, Aggregates(plan.aggregate, names, numbers, [1] * groups)


def share_shown(selection: PartitionSelection, aggregates: Aggregates, seed: int, draws: int = 4000) -> float:
    bits = ReplayBits(seed)
    return sum(bool(_selected(selection, aggregates, bits)[1]) for _ in range(draws)) / draws


@pytest.mark.slow
@pytest.mark.parametrize("limit, epsilon, delta", [LAPLACE, GAUSSIAN])
def test_promise_6_a_unit_alone_in_g_keys_is_seen_with_at_most_delta(
    limit: Bounding, epsilon: int, delta: str, seed: int
) -> None:
    protection, selection, aggregates = alone_in(limit, epsilon, delta)
    assert protection.gaussian == (limit is GAUSSIAN[0])
    assert selection.delta == Fraction(1, 10)
    assert selection.keys == limit.groups
    assert protection.delta == Fraction(delta)  # charged once, with the noise's
    assert 1 - (1 - selection.keep(1)) ** selection.keys <= Fraction(1, 10)
    assert abs(share_shown(selection, aggregates, seed) - 0.1) < SIX


@pytest.mark.slow
@pytest.mark.parametrize("limit, epsilon, delta", [LAPLACE, GAUSSIAN])
def test_promise_6_a_threshold_for_each_key_alone_is_caught(
    limit: Bounding, epsilon: int, delta: str, seed: int
) -> None:
    _, _, aggregates = alone_in(limit, epsilon, delta)
    forgetful = PartitionSelection(epsilon=1, delta="0.1", keys=1)
    assert share_shown(forgetful, aggregates, seed) > 0.1 + SIX


def test_promise_7_explanations_and_previews_do_not_look_at_data() -> None:
    rows = database(Random(3))
    nobody: Database = {name: [] for name in rows}
    for sql in [*KNOWN, *UNKNOWN]:
        texts = set()
        for data in (rows, without(rows, "p0"), nobody):
            question, engine, ledger = told(data, POLICY, sql)
            texts.add(
                (
                    question.explain(),
                    str(question.preview(epsilon=1)),
                    str(question.preview(epsilon=1, expected_count=9)),
                )
            )
            assert engine.events == []
            assert spent(ledger).fields().keys() == {"epsilon", "delta", "renyi 8", "failures"}
            assert not any(spent(ledger).fields().values())
        assert len(texts) == 1


def test_promise_7_the_preview_is_the_error_of_the_release() -> None:
    question, _, _ = told(database(Random(3), units=50), sql="SELECT COUNT(*) AS n, SUM(change) AS s FROM visits")
    preview = question.preview(epsilon=1)
    assert [preview.errors] == question.release(epsilon=1).errors()


def test_promise_7_a_mean_previews_for_an_expected_count_or_as_a_formula() -> None:
    question, _, _ = told(database(Random(3)), sql="SELECT AVG(cost) AS c, CORR(cost, change) AS r FROM visits")
    assert question.preview(epsilon=1).errors == {"c": None, "r": None}
    assert "/ n" in question.preview(epsilon=1).notes["c"]
    few, many = (question.preview(epsilon=1, expected_count=n).errors["c"] or 0 for n in (1000, 100_000))
    assert 0 < many < few / 50


def test_promise_12_every_known_key_appears_in_key_order_and_no_other() -> None:
    nobody: Database = {name: [] for name in database(Random(5))}
    for rows in (database(Random(5)), nobody):
        question, _, _ = told(rows, sql="SELECT sex, city, COUNT(*) AS n FROM patients GROUP BY sex, city")
        answer = question.release(epsilon=1)
        cities = ["north", "south", "elsewhere"]
        found = [(row["sex"], row["city"]) for row in answer.to_dicts()]
        assert sorted(found, key=repr) == sorted(((s, c) for s in ("f", "m", None) for c in cities), key=repr)
        known = [key.known or () for key in question.plan.aggregate.keys]
        assert answer.groups == tuple(itertools.product(*known))


def test_promise_17_the_answer_holds_no_exact_number() -> None:
    question, _, _ = told(database(Random(5)), sql="SELECT COUNT(*) AS n FROM visits")
    answer = question.release(epsilon=1)
    kinds = {type(value) for value in vars(answer).values()} | {type(value) for value in vars(answer.numbers).values()}
    assert Aggregates not in kinds


def test_the_system_source_makes_answers_differ() -> None:
    asked = [told(database(Random(5)), sql="SELECT SUM(cost) AS n FROM visits")[0] for _ in range(5)]
    assert len({question.release(epsilon="0.1").to_dicts()[0]["n"] for question in asked}) == 5


def test_rights_come_first() -> None:
    policy = Policy.from_toml(TOML + '\n[analysts.ann]\nmay = ["explain", "preview"]\n')
    source = Told(database(Random(1)))
    with pytest.raises(ParameterError, match="may not explain"):
        Question(plan_sql(policy, KNOWN[0]), source, MemoryLedger(policy), "bob")  # type: ignore[arg-type]
    question = Question(plan_sql(policy, KNOWN[0]), source, MemoryLedger(policy), "ann")  # type: ignore[arg-type]
    question.preview(epsilon=1)
    with pytest.raises(ParameterError, match="may not release"):
        question.release(epsilon=1)
    assert source.events == []


def test_of_several_stored_answers_each_is_owed() -> None:
    """Two answers, of which an analyst has seen neither and a purpose the first."""
    analyst, purpose = ("analyst", "ada"), ("purpose", "care")
    unseen = (frozenset({analyst}), frozenset({analyst, purpose}))
    repeat = Repeat(({}, {}), Pure(3), numbers=(1, 2), costs=(Pure(1), Pure(2)), unseen=unseen)
    assert repeat.owed == {analyst: Pure(3), purpose: Pure(2)}
    assert repeat.only([1]).owed == {analyst: Pure(2), purpose: Pure(2)}


def test_rows_of_two_databases_do_not_meet() -> None:
    """Each has a budget of its own: a join of both would be paid from one."""
    policy = Policy([Table("t", unit="id", rows_per_unit=1, columns=[Column("x", lower=0, upper=1)])], epsilon=1)
    rows = {"t": pd.DataFrame({"id": ["a"], "x": [1]})}
    with dp.Database(policy, rows, ledger="memory") as one, dp.Database(policy, rows, ledger="memory") as two:
        with pytest.raises(ParameterError, match="database"):
            one.table("t").join(two.table("t"), "id")
        with pytest.raises(ParameterError, match="database"):
            one.table("t").union_all(two.table("t"))


def test_a_database_is_opened_for_a_purpose_of_its_policy_alone() -> None:
    table = Table("t", unit="id", rows_per_unit=1, columns=[Column("x", lower=0, upper=1)])
    policy = Policy([table], epsilon=1, purposes=[Purpose("care")])
    rows = {"t": pd.DataFrame({"id": ["a"], "x": [1]})}
    for purpose in ("sales", None):
        with pytest.raises(DiscreetError, match="care"):
            dp.Database(policy, rows, ledger="memory", purpose=purpose)
    dp.Database(policy, rows, ledger="memory", purpose="care").close()
