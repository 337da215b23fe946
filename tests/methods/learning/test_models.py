"""Additive models, forests, clusters and votes: what one unit moves, what it costs, what they learn."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from discreet.checks.attacks import infer_membership
from discreet.engines.bounded_rows import BoundedRows
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian
from discreet.methods.learning import PATE, AdditiveModel, KMeans, LogisticRegression, RandomForest, load
from discreet.methods.learning.tabular.clusters import closest
from discreet.methods.learning.tabular.estimator import Estimator, Task
from discreet.methods.learning.tabular.features import SCALE, Feature, Features
from discreet.methods.learning.tabular.training import Goal, Step, Training
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

FEATURES = Features((Feature("age", Fraction(0), Fraction(100)), Feature("ward", keys=("a", "b", "c"))))
TARGET = Feature("ill", keys=("no", "yes"))
ASKED = {"age": [0.0, 100.0, 30.0], "ward": ["a", "b", "c"]}
MODELS: list[Estimator] = [
    AdditiveModel(turns=2, bins=4),
    KMeans(n_clusters=2, turns=2),
    PATE(public=ASKED, teachers=3),
]


def rows(count: int, owners: list[int], neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE) -> BoundedRows:
    """Ten rows of others, and the last unit's at the ends of their range."""
    given: dict[str, Any] = {
        "age": [*range(0, 100, 10), 100, 100, 100],
        "ward": [*"abcabcabca", "b", "b", "b"],
        "ill": [*["no", "yes"] * 5, "yes", "yes", "yes"],
    }
    columns = [feature.column for feature in (*FEATURES.columns, TARGET)]
    given = {name: cells[:count] for name, cells in given.items()}
    return BoundedRows.of(given, columns, units=owners[:count], rows_per_unit=3, neighbors=neighbors)


class Silent:
    """A mechanism that adds no noise and keeps what it was given."""

    kept: list[tuple[float, Any]]

    def __init__(self, sensitivity: object, **_: object) -> None:
        self.sensitivity, self.sigma, self.claim = float(sensitivity), Fraction(1), None  # type: ignore[arg-type]

    def release(self, value: Any, **_: object) -> Any:  # noqa: ANN401
        Silent.kept.append((self.sensitivity, np.array(value, dtype=float)))
        return type("Told", (), {"value": np.array(value, dtype=float)})


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Goal, "gaussian", lambda _, *given, **named: Silent(*given, **named))
    for module in ("additive", "clusters", "votes"):
        monkeypatch.setattr(f"discreet.methods.learning.tabular.{module}.Training", lambda *_: None)


def first_answers(model: Estimator, given: BoundedRows) -> list[tuple[float, Any]]:
    """The exact sums that a model asks for up to the first that depends on one before it, and their sensitivities."""
    Silent.kept = []
    task = Task(FEATURES, TARGET if model.supervised else None, Goal.of(rho=1))
    model._fitted(given, task, ReplayBits(4))
    return Silent.kept[: 2 if isinstance(model, AdditiveModel) else 1]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.usefixtures("silent")
def test_one_unit_moves_what_is_released_by_at_most_its_sensitivity(model: Estimator, count: int) -> None:
    owners = [*range(10), *[10] * count]
    whole, less = (first_answers(model, rows(many, owners)) for many in (10 + count, 10))
    shares = [
        float(np.linalg.norm(first - second)) / sensitivity
        for (sensitivity, first), (_, second) in zip(whole, less, strict=True)
    ]
    assert max(shares) <= 1
    least = {"additive_model": 0.999, "k_means": 0.7, "pate": 0.0}[model.kind]
    assert shares[0] >= least


@pytest.mark.usefixtures("silent")
def test_a_teacher_that_changes_its_mind_moves_votes_by_their_sensitivity() -> None:
    model = PATE(public={"age": [100.0] * 5, "ward": ["b"] * 5}, teachers=1)
    ((sensitivity, one),) = first_answers(model, rows(11, [*range(10), 10][:11]))
    columns = [feature.column for feature in (*FEATURES.columns, TARGET)]
    nobody = BoundedRows.of({"age": [], "ward": [], "ill": []}, columns)
    ((_, none),) = first_answers(model, nobody)
    assert none[:, 0].sum() == 5
    assert one[:, 1].sum() == 5
    assert 0.999 < np.linalg.norm(one - none) / sensitivity <= 1


@pytest.mark.parametrize("model", [*MODELS, RandomForest(trees=2, depth=1)], ids=lambda model: model.kind)
def test_trainings_cost_their_price_for_either_relation(model: Estimator) -> None:
    sigmas = []
    for neighbors in (NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE):
        goal = Goal.of(rho="0.5", neighbors=neighbors)
        task = Task(FEATURES, TARGET if model.supervised else None, goal)
        training = model._fitted(rows(13, [*range(10), 10, 10, 10], neighbors), task, ReplayBits(0))[1]
        steps: tuple[Step, ...] = training.steps
        assert 0.9999 < float(sum(step.mechanism.claim.rho * step.times for step in steps)) / 0.5 <= 1  # type: ignore[union-attr, misc]
        assert Training.read(training.record()) == training
        sigmas.append([step.mechanism.sigma for step in steps if isinstance(step.mechanism, Gaussian)])
    assert all(1.99 < second / first < 2.01 for first, second in zip(*sigmas, strict=True))


def test_sensitivities_are_those_of_the_derivations() -> None:
    task = Task(FEATURES, TARGET, Goal.of(rho=1))
    given = rows(11, [*range(11)])
    steps: Any = AdditiveModel(turns=3, bins=4)._fitted(given, task, ReplayBits(0))[1].steps
    assert [step.times for step in steps] == [1, 6]
    assert math.isclose(float(steps[0].mechanism.sensitivity), SCALE * math.sqrt(2), rel_tol=1e-9)
    assert steps[1].mechanism.sensitivity == 1 << 12
    votes: Any = PATE(public=ASKED)._fitted(given, task, ReplayBits(0))[1].steps[0].mechanism
    assert math.isclose(float(votes.sensitivity), math.sqrt(6), rel_tol=1e-9)
    means: Any = KMeans(turns=5)._fitted(given, Task(FEATURES, None, Goal.of(rho=1)), ReplayBits(0))[1].steps[0]
    assert means.times == 5
    assert SCALE * math.sqrt(5) <= means.mechanism.sensitivity <= SCALE * math.sqrt(5) + 1


CHANCE = np.random.default_rng(0)
XOR = CHANCE.uniform(0, 1, (6000, 2))


def test_forests_learn_what_no_line_parts() -> None:
    y = ((XOR[:, 0] > 0.5) ^ (XOR[:, 1] > 0.5)).astype(int)
    model = RandomForest(epsilon=3, trees=12, depth=4, classes=[0, 1], bounds=(0, 1)).fit(XOR, y)
    assert model.score(XOR, y) > 0.8
    assert (load(model.to_json()).predict(XOR[:99]) == model.predict(XOR[:99])).all()  # type: ignore[attr-defined]


def test_additive_models_learn_curves_and_classes() -> None:
    y = np.digitize(np.abs(XOR[:, 0] - 0.5), [0.15, 0.35])
    model = AdditiveModel(epsilon=3, classes=[0, 1, 2], bounds=(0, 1)).fit(XOR, y)
    assert model.score(XOR, y) > 0.8
    assert model.curves_["x0"].shape == (33, 3)
    assert np.ptp(model.curves_["x0"]) > 1.5 * np.ptp(model.curves_["x1"])
    assert np.isfinite(model.predict_proba([[np.nan, 0.5]])).all()


def test_clusters_are_found_and_rows_are_judged_alone() -> None:
    x = CHANCE.normal(0, 0.4, (6000, 2)) + np.repeat([[-3, -3], [3, 3]], 3000, axis=0)
    model = KMeans(n_clusters=2, epsilon=3, bounds=(-5, 5)).fit(x)
    near = np.linalg.norm(x - model.cluster_centers_[model.predict(x)], axis=1)
    assert np.median(near) < 1
    assert model.transform(x[:5]).shape == (5, 2)
    values, centers = CHANCE.uniform(-1, 1, (500, 3)), CHANCE.uniform(-1, 1, (4, 3))
    whole = closest(values, centers)
    assert all(closest(values[place : place + 1], centers)[0] == whole[place] for place in range(500))


def test_a_student_learns_from_votes() -> None:
    x = CHANCE.uniform(-1, 1, (20_000, 1))
    y = np.digitize(x[:, 0], [-0.3, 0.3])
    model = PATE(epsilon=5, public=np.linspace(-1, 1, 60)[:, None], classes=[0, 1, 2], bounds=(-1, 1)).fit(x, y)
    assert model.score(x, y) > 0.8
    assert "public" not in repr(model)
    others = PATE(epsilon=5, public=np.linspace(-1, 0, 60)[:, None], classes=[0, 1, 2], bounds=(-1, 1))
    assert others.described() != model.described()
    with pytest.raises(ParameterError, match="public is missing"):
        PATE(epsilon=5, classes=[0, 1], bounds=(-1, 1)).fit(x, y)
    with pytest.raises(ParameterError, match="public has no rows"):
        PATE(epsilon=5, classes=[0, 1], bounds=(-1, 1), public=np.zeros((0, 1))).fit(x, y)


ODD = np.array([[np.nan, np.inf], [-np.inf, 1e300], [0.5, 0.5]])


@pytest.mark.parametrize("given", [ODD, ODD[:0], ODD[:1]], ids=["odd", "none", "one"])
def test_nothing_and_odd_rows_are_no_error(given: Any) -> None:  # noqa: ANN401
    told: dict[str, Any] = {"epsilon": "0.001", "bounds": ([0, 1], [1, 1])}
    for model in (
        AdditiveModel(classes=[0, 1], **told),
        RandomForest(classes=[0, 1, 2], **told),
        PATE(public=[[0.0, 1.0]], classes=[0, 1], **told),
        LogisticRegression(classes=[0, 1], method="objective", **told),
    ):
        assert np.isfinite(model.fit(given, [0] * len(given)).predict_proba(ODD)).all()
    assert np.isfinite(KMeans(**told).fit(given).transform(ODD)).all()


class Trained:
    """A private model as an attacker trains copies of it."""

    def __init__(self, **price: object) -> None:
        self._model = AdditiveModel(classes=[0, 1], bounds=(0, 1), bins=64, turns=10, **price)  # type: ignore[arg-type]

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ANN401, N803
        return self._model.fit(X, y)

    def predict_proba(self, X: Any) -> Any:  # noqa: ANN401, N803
        return self._model.predict_proba(X)


@pytest.mark.slow
@pytest.mark.audit
def test_an_attack_on_membership_finds_members_only_where_there_is_hardly_any_noise() -> None:
    """Labels are coins: whoever knows one better than a coin has seen it. The partner's price is no price."""
    x = CHANCE.uniform(0, 1, (80, 6))
    y = CHANCE.integers(0, 2, 80)
    seen = {}
    for epsilon in ("0.5", "100000"):
        seen[epsilon] = infer_membership(partial(Trained, epsilon=epsilon), x, y, shadows=16).auc
    assert seen["0.5"] < 0.65 < seen["100000"]
