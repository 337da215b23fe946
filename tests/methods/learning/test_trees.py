"""Random trees: a public shape, a row in one leaf of each, counts that one unit moves by what is claimed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.engines.bounded_rows import BoundedRows
from discreet.methods.learning import RandomDecisionTrees, load
from discreet.methods.learning.tabular.estimator import Task
from discreet.methods.learning.tabular.features import SCALE, Feature, Features
from discreet.methods.learning.tabular.training import Goal
from discreet.methods.learning.tabular.trees import Shape
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

FEATURES = Features((Feature("age", Fraction(0), Fraction(100)), Feature("ward", keys=("a", "b", "c"))))
TARGET = Feature("ill", keys=("no", "yes"))
GIVEN: dict[str, Any] = {
    "age": [5, 95, 50, 50, 50],
    "ward": ["a", "b", "c", "c", "x"],
    "ill": ["no", "yes", "yes", "yes", "no"],
}


def rows(count: int, owners: list[int], neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE) -> BoundedRows:
    columns = [feature.column for feature in (*FEATURES.columns, TARGET)]
    given = {name: cells[:count] for name, cells in GIVEN.items()}
    return BoundedRows.of(given, columns, units=owners[:count], rows_per_unit=3, neighbors=neighbors)


@pytest.mark.parametrize("neighbors, units", [(NeighborRelation.ADD_REMOVE, 1), (NeighborRelation.CHANGE_ONE, 2)])
def test_noise_is_for_a_leaf_in_each_tree(neighbors: NeighborRelation, units: int) -> None:
    goal = Goal.of(rho="0.5", neighbors=neighbors)
    model = RandomDecisionTrees(trees=9, depth=3)
    _, training = model._fitted(rows(5, [0, 1, 2, 2, 2], neighbors), Task(FEATURES, TARGET, goal), ReplayBits(1))
    mechanism: Any = training.steps[0].mechanism
    assert mechanism.sensitivity == units * SCALE * 3
    assert 0.9999 < float(mechanism.sigma) / (units * SCALE * 3) < 1.001


@pytest.mark.parametrize("owners", [[0, 1, 2, 3, 4], [0, 1, 2, 2, 2], [0, 1, 2, 3, 3]])
def test_one_unit_moves_counts_by_at_most_their_sensitivity(monkeypatch: pytest.MonkeyPatch, owners: list[int]) -> None:
    exact: list[Any] = []

    class Told:
        def release(self, value: Any, **_: object) -> Any:  # noqa: ANN401
            exact.append(value)
            return type("Told", (), {"value": value.astype(float)})

    monkeypatch.setattr(Goal, "gaussian", lambda *_, **__: Told())
    monkeypatch.setattr("discreet.methods.learning.tabular.trees.Training", lambda *_: None)
    last = owners.count(owners[-1])
    for count in (5, 5 - last):
        task = Task(FEATURES, TARGET, Goal.of(rho=1))
        RandomDecisionTrees(trees=16, depth=4)._fitted(rows(count, owners), task, ReplayBits(3))
    moved = np.linalg.norm((exact[0] - exact[1]).astype(float)) / (SCALE * math.sqrt(16))
    assert moved <= 1
    assert moved > (0.99 if last == 1 else 0.4)


def test_a_row_falls_into_one_leaf_of_each_tree() -> None:
    shape = Shape.drawn([1, 3, 1], trees=30, depth=5, bits=ReplayBits(2))
    values = np.random.default_rng(0).uniform(-1, 1, (500, 5))
    leaves = shape.leaves(values)
    assert leaves.shape == (500, 30)
    assert leaves.min() >= 0
    assert leaves.max() < 32
    assert (shape.leaves(values[7:8]) == leaves[7]).all()


def test_the_shape_does_not_depend_on_rows() -> None:
    shapes = []
    for count in (0, 5):
        value, _ = RandomDecisionTrees(trees=5, depth=3)._fitted(
            rows(count, [0, 1, 2, 3, 4]), Task(FEATURES, TARGET, Goal.of(rho=1)), ReplayBits(9)
        )
        shapes.append((value["splits"].tolist(), value["thresholds"].tolist()))
    assert shapes[0] == shapes[1]


def test_trees_learn_and_travel() -> None:
    chance = np.random.default_rng(1)
    x = chance.uniform(0, 1, (6000, 2))
    y = ((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5)).astype(int)
    model = RandomDecisionTrees(epsilon=3, trees=40, depth=7, classes=[0, 1], bounds=(0, 1)).fit(x, y)
    assert model.score(x, y) > 0.85
    read = load(model.to_json())
    assert (read.predict(x[:99]) == model.predict(x[:99])).all()  # type: ignore[attr-defined]
