"""Models of a few sums: how far one unit moves them, what they cost, what they find."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.methods.learning import PCA, GaussianNB, StandardScaler, load
from discreet.methods.learning.tabular.features import SCALE
from discreet.methods.learning.tabular.moments import moments
from discreet.methods.learning.tabular.sums import noisy_sums, shares
from discreet.methods.learning.tabular.training import Goal
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

CHANCE = np.random.default_rng(0)
X = CHANCE.normal(0, 1, (4000, 2)) @ [[3.0, 4.0], [0.4, -0.3]] + [10, 0]
BOUNDS = ([-10, -20], [30, 20])


@pytest.mark.parametrize("count", [1, 2, 5])
def test_one_unit_moves_moments_by_at_most_their_length(count: int) -> None:
    for values in (np.ones((count, 3)), -np.ones((count, 3)), CHANCE.uniform(-1, 1, (count, 3))):
        cells, length = moments(values, shares(np.zeros(count, dtype=np.int64)))
        assert np.linalg.norm(cells.sum(axis=0)) <= length
        assert np.linalg.norm(cells, axis=1).sum() <= length
    ends, length = moments(np.ones((count, 3)), shares(np.zeros(count, dtype=np.int64)))
    assert np.linalg.norm(ends.sum(axis=0)) > 0.999 * length
    assert length == math.isqrt(7 * SCALE**2) + 1


@pytest.mark.parametrize("neighbors, movers", [(NeighborRelation.ADD_REMOVE, 1), (NeighborRelation.CHANGE_ONE, 2)])
def test_noise_is_for_as_many_units_as_neighbors_differ_in(neighbors: NeighborRelation, movers: int) -> None:
    goal = Goal.of(rho=2, neighbors=neighbors)
    told: dict[str, Any] = {"length": 10, "goal": goal, "share": Fraction(1, 2), "times": 4, "name": "sums"}
    _, step = noisy_sums(np.ones((3, 1)), np.zeros(3, dtype=np.int64), 1, **told, bits=ReplayBits(0))
    mechanism: Any = step.mechanism
    assert (mechanism.sensitivity, step.times) == (10 * movers, 4)
    assert 0.24999 < mechanism.claim.rho <= Fraction(1, 4)
    assert 0.9999 < float(mechanism.sigma) / (10 * movers / math.sqrt(2 * 0.25)) < 1.001


def test_scalers_components_and_classes_are_found() -> None:
    scaler = StandardScaler(epsilon=3, bounds=BOUNDS).fit(X)
    scaled = scaler.transform(X)
    assert np.abs(scaled.mean(axis=0)).max() < 0.1
    assert np.abs(scaled.std(axis=0) - 1).max() < 0.3
    components = PCA(n_components=1, epsilon=3, bounds=((-20, -20), (20, 20))).fit(X).components_[0]
    assert np.abs(np.abs(components) - [0.6, 0.8]).max() < 0.05
    y = np.where(X[:, 1] > 0, "up", "down")
    model = GaussianNB(epsilon=3, classes=["down", "up"], bounds=BOUNDS).fit(X, y)
    assert model.score(X, y) > 0.9
    for made in (scaler, model):
        assert load(made.to_json()).release_ == made.release_
        assert made.privacy.epsilon("1e-6") <= 3


def test_nothing_and_odd_rows_are_no_error() -> None:
    values = np.array([[np.nan, np.inf], [-np.inf, 1e300]])
    for rows in (values, values[:0]):
        assert np.isfinite(StandardScaler(epsilon="0.01", bounds=(0, 1)).fit(rows).transform(values)).all()
        assert np.isfinite(PCA(epsilon="0.01", bounds=(0, 1)).fit(rows).transform(values)).all()
        model = GaussianNB(epsilon="0.01", classes=[0, 1], bounds=(0, 1)).fit(rows, [0] * len(rows))
        assert np.isfinite(model.predict_proba(values)).all()
    with pytest.raises(ParameterError, match="n_components"):
        PCA(n_components=3, epsilon=1, bounds=(0, 1)).fit(values)
