"""Decisions that follow noisy sums: closed forms, clipping, and regret within its bound."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from discreet.errors import BudgetError, ParameterError
from discreet.mechanisms import Release
from discreet.mechanisms.promise import read_promise
from discreet.methods.streaming import ContinualSum, FollowTheLeader, Leader, ball, regret
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

STEPS = 60


@pytest.mark.parametrize("how", [{"convexity": 2}, {"rate": 30}, {}])
def test_decisions_are_the_minimizers_of_the_paper(how: dict[str, Any]) -> None:
    """By a search for the minimum of what the paper minimizes, with almost no noise."""
    from scipy.optimize import NonlinearConstraint, minimize

    random = np.random.default_rng(1)
    learner = FollowTheLeader(STEPS, dimension=2, lipschitz=1, rho=10**9, **how)
    decisions, gradients = [learner.decision], []
    for _ in range(STEPS):
        gradient = random.normal(0, 0.4, 2)
        gradients.append(gradient / max(1.0, float(np.linalg.norm(gradient))))
        decisions.append(learner.feed(gradient).value)
    total, earlier = np.sum(gradients, axis=0), np.array(decisions[:-1])

    def cost(w: np.ndarray[Any, Any]) -> float:
        if learner.promise.convexity is not None:
            return float(total @ w + ((w - earlier) ** 2).sum() * 2 / 2)
        return float(total @ w + float(learner.promise.rate or 0) / 2 * (w**2).sum())

    inside = NonlinearConstraint(lambda w: w @ w, 0, 1)
    found = minimize(cost, np.zeros(2), constraints=[inside], method="SLSQP", tol=1e-12).x
    assert decisions[-1] == pytest.approx(found, abs=3e-3)


def test_gradients_are_clipped_and_noise_is_that_of_the_bound() -> None:
    learner = FollowTheLeader(9, dimension=2, lipschitz=2, rho=10**9, rate=1000, radius=50)
    assert learner.feed([300.0, 400.0]).value == pytest.approx([-2 * 0.6 / 1000, -2 * 0.8 / 1000], abs=1e-5)
    one, two = (
        FollowTheLeader(9, dimension=2, lipschitz=2, rho=1, neighbors=relation).promise.sums
        for relation in (NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE)
    )
    assert float(two.scale / one.scale) == pytest.approx(2)
    assert one.norm.value == "l2"


def test_any_projection_may_be_given() -> None:
    learner = FollowTheLeader(5, dimension=1, lipschitz=1, rho=10**9, rate=1, project=lambda w: np.clip(w, 0, 1))
    assert [float(learner.feed([1.0]).value[0]), float(learner.feed([-1.0]).value[0])] == [
        0,
        pytest.approx(0, abs=1e-3),
    ]
    assert ball(np.array([0.3, 0.4]), 1).tolist() == [0.3, 0.4]


@pytest.mark.parametrize("how", [{}, {"convexity": 1}])
def test_regret_stays_within_its_bound_on_average(how: dict[str, Any], seed: int) -> None:
    """Costs |w - x|^2 / 2 in a ball: 1-convex, gradients of length 2 at most; the best decision is the mean."""
    bits, lost, steps = ReplayBits(seed), [], 300
    targets = np.random.default_rng(7).normal(0.3, 0.3, (steps, 2))
    targets = np.array([ball(target, 1) for target in targets])
    costs = [lambda w, x=x: float(((w - x) ** 2).sum()) / 2 for x in targets]
    for _ in range(6):
        learner = FollowTheLeader(steps, dimension=2, lipschitz=2, rho=1, bits=bits, **how)
        decisions = []
        for target in targets:
            decisions.append(learner.decision)
            learner.feed(learner.decision - target)
        lost.append(regret(costs, decisions, best=targets.mean(axis=0)))
    assert 0 < np.mean(lost) < learner.promise.regret_bound()
    assert regret(costs, decisions) == pytest.approx(lost[-1], abs=1e-3)


def test_the_approximate_leader_needs_convexity_and_loses_less_by_it() -> None:
    sums = ContinualSum(3000, 2, rho=1, dimension=2)
    assert Leader(sums, convexity=1).regret_bound() < Leader(sums).regret_bound()
    rates = [Leader(sums, rate=str(float(Leader(sums).rate or 0) * factor)).regret_bound() for factor in (0.9, 1, 1.1)]
    assert rates[1] == min(rates)


def test_promises_and_releases_survive_json() -> None:
    learner = FollowTheLeader(9, dimension=2, lipschitz=1, epsilon=1, convexity="1/3")
    release = learner.feed([1.0, 0.0])
    assert Release.from_json(release.to_json()) == release
    assert read_promise(json.loads(json.dumps(learner.promise.record()))) == learner.promise
    assert release.error() is None
    assert math.isfinite(learner.promise.regret_bound())


def test_nonsense_is_refused() -> None:
    how: dict[str, Any] = {"dimension": 2, "lipschitz": 1, "rho": 1}
    for change in ({"convexity": 1, "rate": 1}, {"radius": 0}, {"horizon": None}, {"project": 3}, {"lipschitz": 0}):
        with pytest.raises(ParameterError):
            FollowTheLeader(**{"horizon": 9, **how, **change})
    learner = FollowTheLeader(1, **how)
    with pytest.raises(ParameterError, match="shape"):
        learner.feed([1.0])
    learner.feed([1.0, math.nan])
    with pytest.raises(BudgetError):
        learner.feed([1.0, 0.0])
    with pytest.raises(ParameterError, match="one decision for each"):
        regret([], [])
