"""Scores, cross-validation and search on private rows: what they cost, what they say, what a lie would hide."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.database import Database
from discreet.errors import BudgetError, ParameterError
from discreet.mechanisms.release import Release
from discreet.methods.learning import (
    AdditiveModel,
    LinearRegression,
    LogisticRegression,
    PrivateSearch,
    RandomDecisionTrees,
    cross_val_score,
    load,
)
from discreet.methods.learning.tabular.training import Goal, Training, composed
from discreet.methods.learning.tabular.tuning import BestOfRuns
from discreet.privacy import NeighborRelation
from tests.methods.learning.test_training import clinic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.engines import Loan


@pytest.fixture
def db() -> Iterator[Database]:
    policy, data = clinic()
    with Database(policy, data) as opened:
        yield opened


def loan_of(db: Database, target: str = "ill") -> Loan:
    return db.table("visits").select("age", "ward", target).rows()


def test_a_score_on_a_loan_is_charged_once_and_near_the_truth(db: Database) -> None:
    model = LogisticRegression(epsilon=2).fit(loan_of(db), target="ill")
    before = db.remaining
    score = model.score(loan_of(db), target="ill", epsilon=1)
    assert before != db.remaining
    after = db.remaining
    assert isinstance(score, Release)
    assert model.score(loan_of(db), target="ill", epsilon=1).value == score.value
    assert db.remaining == after
    assert 0.85 < score.value <= 1
    off = score.error(0.95)
    assert isinstance(off, float)
    assert 0 < off < 0.1
    assert score.privacy.epsilon("1e-6") <= 1
    regression = LinearRegression(epsilon=2).fit(loan_of(db, "cost"), target="cost")
    assert regression.score(loan_of(db, "cost"), target="cost", epsilon=1).value > 0.7
    with pytest.raises(BudgetError):
        model.score(loan_of(db), target="ill", epsilon=400)


def test_a_score_covers_the_truth_as_often_as_it_says() -> None:
    from discreet.methods.learning.tabular.estimator import Task
    from discreet.methods.learning.tabular.scoring import score_of
    from tests.noise.replay import ReplayBits

    x = np.linspace(-1, 1, 600)[:, None]
    y = np.where(x[:, 0] > 0.1, "yes", "no")
    model = LogisticRegression(epsilon=5, classes=["no", "yes"], bounds=(-1, 1)).fit(x, y)
    goal, target = Goal.of(rho="0.02"), model.target
    assert target is not None
    task, bits = Task(model.features, target, goal), ReplayBits(0)
    declared = [feature.column for feature in (*task.features.columns, target)]
    from discreet.engines.bounded_rows import BoundedRows

    rows = BoundedRows.of({"x0": x[:, 0], "y": y}, declared)
    made = [score_of(model, rows, task, goal, share=Fraction(1), bits=bits) for _ in range(400)]
    truth = model.score(x, y)
    inside = np.mean([abs(score - truth) <= 1.96 * deviation for score, deviation, _ in made])
    assert 0.88 < inside <= 1
    assert made[0][2].mechanism.sensitivity == 1 << 14  # type: ignore[attr-defined]
    assert 0.9999 < float(made[0][2].mechanism.claim.rho) / 0.02 <= 1  # type: ignore[union-attr]


def test_cross_validation_costs_all_trainings_but_one_and_a_score(db: Database) -> None:
    scores = cross_val_score(LogisticRegression(epsilon=1), loan_of(db), target="ill", cv=4, epsilon=1)
    assert len(scores.value) == 4
    assert min(scores.value) > 0.7
    training: Any = scores.mechanism
    assert [step.times for step in training.steps] == [3, 120, 1]
    one = LogisticRegression(epsilon=1)._plan(LogisticRegression(epsilon=1).task_of(loan_of(db), "ill"))
    alone = composed([training.steps[-1]])
    whole = one.privacy * 3 + alone
    assert math.isclose(scores.privacy.epsilon("1e-5"), whole.epsilon("1e-5"), rel_tol=1e-9)
    assert scores.charged is not None
    again = cross_val_score(LogisticRegression(epsilon=1), loan_of(db), target="ill", cv=4, epsilon=1)
    assert again.value == scores.value


def test_refusals_name_what_to_write(db: Database) -> None:
    model = LogisticRegression(epsilon=2).fit(loan_of(db), target="ill")
    with pytest.raises(ParameterError, match="no column"):
        model.score(db.table("visits").select("age", "ill").rows(), target="ill", epsilon=1)
    with pytest.raises(ParameterError, match="target is 'sick'"):
        model.score(loan_of(db), target="sick", epsilon=1)
    with pytest.raises(ParameterError, match="a price belong to a loan"):
        model.score([[1, 2]], ["no"], epsilon=1)
    with pytest.raises(ParameterError, match="rows on loan"):
        cross_val_score(model, np.zeros((3, 2)), target="ill", epsilon=1)  # type: ignore[arg-type]


def test_a_search_on_a_loan_is_one_charge(db: Database) -> None:
    grid = [{"depth": 1, "trees": 5}, {"depth": 4, "trees": 5}]
    search = PrivateSearch(model=RandomDecisionTrees(), grid=grid, runs=4, epsilon=4).fit(loan_of(db), target="ill")
    left = db.remaining
    assert search.predict({"age": [5, 95], "ward": ["a", "b"]}).tolist() == ["no", "yes"]
    assert isinstance(load(search.to_json()), RandomDecisionTrees)
    assert (
        PrivateSearch(model=RandomDecisionTrees(), grid=grid, runs=4, epsilon=4)
        .fit(loan_of(db), target="ill")
        .release_.value["counts"]
        .tolist()
        == search.release_.value["counts"].tolist()
    )
    assert db.remaining == left
    assert 0.99 < search.privacy.epsilon("1e-6") / 4 <= 1


@pytest.mark.parametrize("neighbors", [NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE])
@pytest.mark.parametrize("price", [{"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1"}])
def test_a_search_pays_for_one_run_and_for_searching(price: dict[str, Any], neighbors: NeighborRelation) -> None:
    x = np.linspace(-1, 1, 500)[:, None]
    search = PrivateSearch(
        model=AdditiveModel(classes=[0, 1]), grid=[{"turns": 2}], runs=3, bounds=(-1, 1), neighbors=neighbors, **price
    ).fit(x, (x[:, 0] > 0).astype(int))
    training: Any = search.release_.mechanism
    (step,) = training.steps
    assert Training.read(training.record()) == training
    assert step.mechanism.neighbors is neighbors
    if "rho" in price:
        assert 0.99 < float(step.mechanism.claim.rho) / 0.1 <= 1
    else:
        assert 0.99 < training.privacy.epsilon("1e-6") <= 1
    one = Goal.of(**price).rho
    assert step.mechanism.rho < one / 3


@pytest.mark.parametrize(
    "told, words",
    [
        ({"model": None}, "model is None"),
        ({"grid": []}, "grid is empty"),
        ({"runs": 1}, "at least 2 on average"),
        ({"grid": [{"magic": 1}]}, "magic"),
    ],
)
def test_searches_are_refused_in_words(told: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"model": AdditiveModel(classes=[0, 1]), "grid": [{"turns": 2}], **told}
    with pytest.raises((ParameterError, TypeError), match=words):
        PrivateSearch(epsilon=1, bounds=(0, 1), **given).fit([[0.1]], [1])


def best_of(law: np.ndarray, runs: float) -> np.ndarray:
    """The exact law of the best of a geometric number of runs; outcomes stand in the order of their scores."""
    below = np.cumsum(law)
    chance = below / runs / (1 - (1 - 1 / runs) * below)  # E[below**K]
    return np.diff(chance, prepend=0)


def divergence(order: float, first: np.ndarray, second: np.ndarray) -> float:
    return float(np.log((first**order * second ** (1 - order)).sum())) / (order - 1)


@pytest.mark.parametrize("runs", [2, 10, 100])
def test_the_exact_law_of_a_search_keeps_its_claim(runs: int) -> None:
    """A run is a normal number in cells, its cell the score; neighbors move it by mu, which is mu**2 / 2-zCDP."""
    from scipy.stats import norm

    worst = 0.0
    for mu in (0.05, 0.2, 0.5):
        edges = np.linspace(-8, 8, 321)
        laws = [np.diff(norm.cdf(edges, loc=loc)) + 1e-300 for loc in (0, mu)]
        first, second = (best_of(law / law.sum(), runs) for law in laws)
        claimed = BestOfRuns(rho=Fraction(mu**2 / 2), runs=Fraction(runs))
        for order in (2, 4, 16):
            exact = max(divergence(order, first, second), divergence(order, second, first))
            assert exact <= claimed.privacy.rdp(order) + 1e-9
            assert exact <= order * float(claimed.claim.rho)
            worst = max(worst, exact / (order * mu**2 / 2))
    assert worst > 1.3  # what a search that charges one run alone would hide


@pytest.mark.parametrize("runs, rho", [(2, 0.1), (10, 0.02), (1000, 1.5)])
def test_the_claim_of_a_search_is_the_theorem_at_its_best_order(runs: int, rho: float) -> None:
    """Theorem 2 with eta = 1, minimized over its second order by trying."""
    law, log = BestOfRuns(rho=Fraction(rho), runs=Fraction(runs)), math.log(runs)
    helps = np.exp(np.linspace(0, 12, 40_001))
    for order in (1.25, 2, 8, 64):
        bound = rho * order + (2 * (1 - 1 / helps) * rho * helps + 2 * log / helps).min() + log / (order - 1)
        assert math.isclose(law.privacy.rdp(order), bound, rel_tol=1e-4)
        assert bound <= float(law.claim.rho) * order or order < 1 + math.sqrt(log / rho)
    least = 1 + math.sqrt(log / rho)  # where the bound is least: divergences of lower orders are at most that
    bound = rho * least - 2 * rho + 4 * math.sqrt(rho * log) + log / (least - 1)
    assert bound <= float(law.claim.rho) <= bound + rho + 1e-9
