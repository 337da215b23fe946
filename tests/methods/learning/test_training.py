"""Training: what one unit moves, exactly and at most; what it costs; what it learns; what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.checks.audits import audit, cases
from discreet.database import Database
from discreet.errors import BudgetError, ParameterError
from discreet.ledgers import MemoryLedger
from discreet.methods.learning import LinearRegression, LinearSVC, LogisticRegression, load
from discreet.methods.learning.tabular import descent
from discreet.methods.learning.tabular.descent import Descent, Weighed
from discreet.methods.learning.tabular.features import SCALE, unit_rows
from discreet.methods.learning.tabular.losses import STEPS, Huber, Logistic, Loss, Softmax, Squared
from discreet.methods.learning.tabular.training import Goal
from discreet.privacy import ZCDP, NeighborRelation, Pure
from discreet.tables import Column, Policy, Table
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

LOSSES = [Logistic(), Softmax(3), Squared(), Huber()]


def random_rows(seed: int, loss: Loss, owners: list[int]) -> Weighed:
    """Rows anywhere within their bounds, some at the ends."""
    chance = np.random.default_rng(seed)
    values = np.column_stack([np.ones(len(owners)), chance.choice([-1, 1, 0, 0.3], size=(len(owners), 5))])
    values[:, 1:] *= chance.choice([1, chance.random()], size=(len(owners), 5))
    target = chance.uniform(-1, 1, len(owners)) if isinstance(loss, Squared) else chance.integers(0, 2, len(owners))
    return Weighed.of(values, target.astype(float), np.array(owners), scaled=isinstance(loss, Squared))


def without_last(rows: Weighed, count: int) -> Weighed:
    return Weighed(rows.vectors[:-count], rows.target[:-count], rows.share[:-count], rows.units[:-count])


def moves(rows: Weighed, loss: Loss, count: int, weights: NDArray[np.float64]) -> tuple[float, float]:
    """How far the last unit, with so many rows, moves the moment and the gradient, relative to their sensitivities."""
    exact: list[NDArray[np.int64]] = []

    class Told:
        sigma = Fraction(1)

        def release(self, value: NDArray[np.int64], **_: object) -> Any:  # noqa: ANN401
            exact.append(value)
            return type("Told", (), {"value": value.astype(float)})

    class Goals:
        claim = Goal.of(rho=1).claim
        sensitivity: int

        def gaussian(self, sensitivity: int, **_: object) -> Told:
            Goals.sensitivity = sensitivity
            return Told()

    for one in (rows, without_last(rows, count)):
        descent.moment_of(one, Goals(), Fraction(1), ReplayBits(0))  # type: ignore[arg-type]  # in their place
    clip = int(loss.clip * STEPS)
    before, after = (descent._gradient(one, loss, weights, clip) for one in (without_last(rows, count), rows))
    moment = float(np.linalg.norm((exact[0] - exact[1]).astype(float)))
    return moment / Goals.sensitivity, float(np.linalg.norm((after - before).astype(float))) / (SCALE * clip)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("count", [1, 3])
def test_one_unit_moves_exact_sums_by_at_most_their_sensitivities(loss: Loss, count: int) -> None:
    farthest = [0.0, 0.0]
    for number in range(60):
        chance = np.random.default_rng(number)
        rows = random_rows(number, loss, [0, 1, 1, 2, *[3] * count])
        weights = descent._rounded(chance.normal(size=(6, loss.outputs)) * chance.choice([0.1, 3, 1e9]))
        farthest = [max(pair) for pair in zip(farthest, moves(rows, loss, count, weights), strict=True)]
    assert (0.6 if count == 1 else 0.3) < farthest[0] <= 1
    assert (0.9 if count == 1 else 0.4) < farthest[1] <= 1


def test_the_moment_of_a_row_with_many_products_moves_by_at_most_its_sensitivity() -> None:
    rows = Weighed.of(np.ones((3, 6)), np.zeros(3), np.arange(3))
    assert 0.9 < moves(rows, Logistic(), 1, np.zeros((6, 1)))[0] <= 1


def test_many_equal_rows_of_a_unit_move_no_more_than_one() -> None:
    rows = Weighed.of(np.ones((5, 6)), np.zeros(5), np.array([0, 1, 2, 2, 2]))
    assert 0.99 < moves(rows, Logistic(), 3, np.ones((6, 1)))[1] <= 1


def test_without_clipping_one_unit_moves_farther(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent, "clipped", lambda residuals, share, _: np.trunc(residuals * share[:, None]))
    rows = random_rows(1, Logistic(), [0, 1, 2, 3])
    assert (
        moves(rows, Logistic(), 1, np.full((6, 1), 9.0))[1] > 1 or moves(rows, Logistic(), 1, -np.ones((6, 1)))[1] > 1
    )


def test_units_count_once_however_many_rows_they_have() -> None:
    """The partner counts each row once."""
    rows = random_rows(2, Logistic(), [0, 1, 1, 2, 3, 3, 3])
    whole = Weighed(np.tile(rows.vectors[-1], (7, 1)), np.zeros(7), np.ones(7), np.arange(7))
    assert moves(whole, Logistic(), 3, np.ones((6, 1)))[0] > 1
    assert (
        moves(Weighed(whole.vectors, whole.target, np.full(7, 1 / 3), whole.units), Logistic(), 3, np.ones((6, 1)))[0]
        <= 1
    )


def test_rows_have_a_length_of_at_most_one() -> None:
    chance = np.random.default_rng(0)
    values = np.r_[
        chance.uniform(-1, 1, (2000, 40)), np.eye(40), np.ones((1, 40)), np.zeros((1, 40)), 1e-7 * np.eye(40)
    ]
    squares = (unit_rows(values).astype(np.int64) ** 2).sum(axis=1)
    assert squares.max() <= SCALE**2
    assert squares[:2000].min() > 0.99 * SCALE**2


def test_a_row_is_the_same_whatever_rows_are_beside_it() -> None:
    chance = np.random.default_rng(3)
    values, scores = chance.uniform(-1, 1, (999, 7)), chance.normal(size=(999, 4)) * 9
    assert all((unit_rows(values)[place] == unit_rows(values[place : place + 1])[0]).all() for place in range(999))
    loss, target = Softmax(4), chance.integers(0, 4, 999).astype(float)
    whole = loss.residuals(scores, target)
    assert all(
        (whole[place] == loss.residuals(scores[place : place + 1], target[place : place + 1])[0]).all()
        for place in range(999)
    )


@pytest.mark.parametrize("neighbors", [NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE])
@pytest.mark.parametrize(
    "price",
    [
        {"epsilon": 1, "delta": "1e-6"},
        {"rho": "0.01"},
        {"epsilon": "1/100000", "delta": "1e-9"},
        {"epsilon": 30, "delta": "1e-12"},
    ],
)
def test_a_training_costs_its_price_and_hardly_less(price: dict[str, Any], neighbors: NeighborRelation) -> None:
    goal = Goal.of(**price, neighbors=neighbors)
    rows = Weighed.of(np.ones((3, 2)), np.zeros(3), np.arange(3))
    steps: Any = Descent(steps=5).fit(rows, Logistic(), goal, ReplayBits(0)).steps
    movers = 1 if neighbors is NeighborRelation.ADD_REMOVE else 2
    assert steps[0].mechanism.sensitivity == movers * 5 * SCALE**2
    assert steps[1].mechanism.sensitivity == movers * SCALE * int(0.3 * STEPS)
    rho = sum(step.mechanism.claim.rho * step.times for step in steps)
    assert 0.999999 < float(rho / goal.rho) <= 1
    if "epsilon" in price:
        curve = steps[0].mechanism.privacy + steps[1].mechanism.privacy * 5
        assert 0.9999 < curve.epsilon(price["delta"]) / float(Fraction(price["epsilon"])) <= 1


@pytest.mark.audit
def test_a_training_that_does_not_clip_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent, "clipped", lambda residuals, share, _: 3 * np.trunc(residuals * share[:, None]))
    case = cases()["training"][0]
    bits = ReplayBits(5)
    found = audit(
        *(
            lambda count, _, value=value: case.draw(case.mechanism, value, count, bits)
            for value in (case.first, case.second)
        ),
        claim=case.claim,
        delta=case.delta,
        draws=600,
        confidence="0.999999999",
    )
    assert found.refuted


X = np.linspace(-1, 1, 3000)[:, None]


@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("neighbors", [NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE])
def test_classifiers_learn(model: Any, neighbors: NeighborRelation) -> None:  # noqa: ANN401
    y = np.where(X[:, 0] > 0.2, "yes", "no")
    trained = model(epsilon=3, classes=["no", "yes"], bounds=(-1, 1), neighbors=neighbors).fit(X, y)
    assert trained.score(X, y) > 0.9
    assert trained.classes_.tolist() == ["no", "yes"]
    assert trained.privacy.epsilon("1e-6") <= 3


@pytest.mark.parametrize("method", ["gradient", "statistics"])
def test_regressions_learn(method: str) -> None:
    y = 40 + 20 * X[:, 0]
    trained = LinearRegression(epsilon=3, bounds=(-1, 1), target_bounds=(0, 100), method=method).fit(X, y)
    assert trained.score(X, y) > 0.9
    assert abs(trained.predict([[0.5]])[0] - 50) < 5


def clinic(count: int = 4000) -> tuple[Policy, dict[str, pa.Table]]:
    chance = np.random.default_rng(1)
    age = chance.integers(0, 100, count)
    visits = Table(
        "visits",
        unit="id",
        rows_per_unit=2,
        columns=[
            Column("age", lower=0, upper=100),
            Column("ward", keys=["a", "b"]),
            Column("ill", keys=["no", "yes"]),
            Column("cost", lower=0, upper=500),
        ],
    )
    data = pa.table(
        {
            "id": np.arange(count) // 2,
            "age": age,
            "ward": chance.choice(["a", "b", "c"], count),
            "ill": np.where(age > 50, "yes", "no"),
            "cost": age * 4,
        }
    )
    return Policy([visits], epsilon=20, delta="1e-3"), {"visits": data}


def test_a_loan_is_charged_once_and_found_again() -> None:
    policy, data = clinic()
    with Database(policy, data) as db:
        loan = db.table("visits").select("age", "ward", "ill").rows()
        first = LogisticRegression(epsilon=2).fit(loan, target="ill")
        left = db.remaining
        again = LogisticRegression(epsilon=2).fit(loan, target="ill")
        assert first.release_ == again.release_
        assert db.remaining == left
        assert first.release_.charged is not None
        assert first.predict({"age": [10, 90], "ward": ["a", "b"]}).tolist() == ["no", "yes"]
        assert "age" in json.dumps(first.card())
        with pytest.raises(BudgetError):
            LogisticRegression(epsilon=500).fit(loan, target="ill")
        costs = LinearRegression(epsilon=2).fit(db.table("visits").select("age", "cost").rows(), target="cost")
        assert abs(costs.predict({"age": [50]})[0] - 200) < 40


@pytest.mark.parametrize("kind", [{"epsilon": 9}, {"epsilon": 9, "delta": "1e-5", "filter": "zcdp"}])
def test_ledgers_of_other_currencies_are_charged_or_refuse(kind: dict[str, Any]) -> None:
    ledger = MemoryLedger(Policy([], **kind))
    model = LogisticRegression(rho="0.1", classes=[0, 1], bounds=(-1, 1))
    if "filter" not in kind:
        with pytest.raises(ParameterError):
            model.fit(X, (X[:, 0] > 0).astype(int), ledger=ledger)
        assert ledger.remaining == Pure(9)
        return
    model.fit(X, (X[:, 0] > 0).astype(int), ledger=ledger)
    assert model.release_.charged == ZCDP("0.1")


def test_models_travel_through_files(tmp_path: Path) -> None:
    model = LogisticRegression(epsilon=3, classes=[0, 1, 2], bounds=(-1, 1)).fit(X, np.arange(3000) // 1000)
    model.save(tmp_path / "model.json")
    read = load(tmp_path / "model.json")
    assert isinstance(read, LogisticRegression)
    assert (read.predict_proba(X[:9]) == model.predict_proba(X[:9])).all()
    assert read.release_ == model.release_
    record = json.loads(model.to_json())
    record["mechanism"]["claim"]["epsilon"] = "1/2"
    with pytest.raises(ParameterError, match="cost more than"):
        load(json.dumps(record))
    record = json.loads(model.to_json())
    record["value"]["map"] = [[key, 99 if key == "version" else item] for key, item in record["value"]["map"]]
    with pytest.raises(ParameterError, match="version 99"):
        load(json.dumps(record))


@pytest.mark.parametrize(
    "parameters, fitted, words",
    [
        ({"classes": [0, 1]}, {}, "bounds are missing"),
        ({"bounds": (-1, 1)}, {}, "classes are missing"),
        ({"bounds": (1, -1), "classes": [0, 1]}, {}, "must not lie above"),
        ({"bounds": (-1, 1), "classes": [1]}, {}, "two different classes"),
        ({"bounds": (-1, 1), "classes": [0, 1], "epsilon": 0}, {}, "epsilon is 0"),
        ({"bounds": (-1, 1), "classes": [0, 1]}, {"target": "y"}, "name"),
        ({"bounds": (-1, 1, 3), "classes": [0, 1]}, {}, "must be a pair"),
    ],
)
def test_refusals_say_what_to_write(parameters: dict[str, Any], fitted: dict[str, Any], words: str) -> None:
    model = LogisticRegression(**{"epsilon": 1, **parameters})
    with pytest.raises(ParameterError, match=words):
        model.fit(X, np.zeros(3000, dtype=int), **fitted)


def test_odd_rows_are_no_error() -> None:
    values = np.array([[np.nan], [np.inf], [-np.inf], [0.5], [1e300]])
    for y in ([0, 1, 7, None, "x"], [0, 0, 0, 0, 0]):
        model = LogisticRegression(epsilon="0.001", classes=[0, 1], bounds=(-1, 1)).fit(values, y)
        assert np.isfinite(model.predict_proba(values)).all()
    flat = LinearRegression(epsilon="0.001", bounds=(3, 3), target_bounds=(0, 1)).fit(
        values, [None, 9, -9, np.nan, 0.5]
    )
    assert ((flat.predict(values) >= 0) & (flat.predict(values) <= 1)).all()


def test_scikit_learn_takes_them_for_its_own() -> None:
    pytest.importorskip("sklearn")
    from sklearn.base import clone, is_classifier, is_regressor
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    model = LogisticRegression(epsilon=9, classes=[0, 1], bounds=(-1, 1))
    assert is_classifier(model)
    assert is_regressor(LinearRegression())
    assert clone(model).get_params() == model.get_params()
    x = np.random.default_rng(0).permutation(X)
    y = (x[:, 0] > 0).astype(int)
    chosen = make_pipeline(FunctionTransformer(), model)
    assert cross_val_score(chosen, x, y, cv=3).mean() > 0.9
