"""Noise in the objective, on the minimum, and draws: their exact laws against their claims, and broken partners."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from discreet.checks.audits import audit
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian
from discreet.methods.learning import LinearRegression, LinearSVC, LogisticRegression, load
from discreet.methods.learning.tabular.descent import Descent, Statistics, Weighed
from discreet.methods.learning.tabular.losses import Huber, Logistic, Loss, Softmax, Squared
from discreet.methods.learning.tabular.minimum import SMALL, Objective, minimizer
from discreet.methods.learning.tabular.perturbing import (
    PerturbedObjective,
    PosteriorSample,
    Price,
    fit_adapted,
    fit_objective,
    fit_output,
    fit_posterior,
)
from discreet.methods.learning.tabular.training import Goal, Training, composed
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SLIP = Gaussian(1, rho="0.000001")
LOSSES = [Logistic(), Softmax(3), Squared(), Squared(steepest=0.2), Huber()]


def rows_of(values: list[list[float]], target: list[float], units: list[int] | None = None) -> Weighed:
    owners = np.arange(len(target)) if units is None else np.array(units)
    return Weighed.of(np.array(values, dtype=float), np.array(target, dtype=float), owners)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{type(loss).__name__} {loss.steepest:.1f}")
def test_derivatives_are_those_of_the_loss_and_within_its_bounds(loss: Loss) -> None:
    chance = np.random.default_rng(0)
    scores = chance.normal(size=(300, loss.outputs)) * chance.choice([0.1, 1, 30], size=(300, 1))
    goal = chance.uniform(-1, 1, 300) if isinstance(loss, Squared) else chance.integers(0, 2, 300).astype(float)
    slopes, bends = loss.slopes(scores, goal), loss.bends(scores, goal)
    for place in range(loss.outputs):
        step = np.zeros(loss.outputs)
        step[place] = 1e-6
        up, down = scores + step, scores - step
        assert np.abs((loss.values(up, goal) - loss.values(down, goal)) / 2e-6 - slopes[:, place]).max() < 1e-6
        near = np.abs((loss.slopes(up, goal) - loss.slopes(down, goal)) / 2e-6 - bends[:, place])
        assert np.median(near) < 1e-6
    assert 0.8 * loss.steepest < np.linalg.norm(slopes, axis=1).max() <= loss.steepest * (1 + 1e-12)
    traces = np.trace(bends, axis1=1, axis2=2)
    assert 0.6 * loss.trace < traces.max() <= loss.trace * (1 + 1e-12)
    assert traces.min() >= 0


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: f"{type(loss).__name__} {loss.steepest:.1f}")
@pytest.mark.parametrize("ridge", [1e-2, 3.0, 1e7])
def test_minima_are_found_from_anywhere(loss: Loss, ridge: float) -> None:
    chance = np.random.default_rng(1)
    for count in (0, 1, 400):
        goal = chance.uniform(-1, 1, count) if isinstance(loss, Squared) else chance.integers(0, 2, count)
        rows = Weighed.of(chance.choice([-1, 1, 0.5], size=(count, 4)), goal.astype(float), np.arange(count))
        objective = Objective(rows, loss, ridge, chance.normal(size=(4, loss.outputs)) * 100)
        assert np.linalg.norm(objective.gradient(minimizer(objective))) <= SMALL / 2 * ridge


def renyi(order: float, first: NDArray[np.float64], second: NDArray[np.float64], width: float) -> float:
    """The divergence of two densities on a grid, given as logarithms."""
    return float(logsumexp(order * first + (1 - order) * second + math.log(width))) / (order - 1)


def minima(loss: Loss, target: list[float], ridge: float, sigma: float) -> tuple[NDArray[np.float64], float]:
    """The log-density of the minimum with noise in the objective, for rows that are the number 1."""
    places = np.linspace(-14 * sigma / ridge, 14 * sigma / ridge, 200_001)
    noise, bend = ridge * places, np.full(places.size, ridge)
    for goal in target:
        goals = np.full(places.size, goal)
        noise = noise + loss.slopes(places[:, None], goals)[:, 0]
        bend = bend + loss.bends(places[:, None], goals)[:, 0, 0]
    return stats.norm.logpdf(noise, scale=sigma) + np.log(bend), places[1] - places[0]


@pytest.mark.parametrize("loss", [Logistic(), Huber(), Squared()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("others", [[], [0.0], [1.0, 1.0, 0.0]])
@pytest.mark.parametrize("ridge, sigma", [(1.0, 2.0), (0.5, 0.7), (4.0, 6.0)])
def test_the_exact_law_of_a_perturbed_minimum_keeps_its_claim(
    loss: Loss, others: list[float], ridge: float, sigma: float
) -> None:
    law = PerturbedObjective(
        ridge=Fraction(ridge), reach=Fraction(loss.steepest / sigma), shift=Fraction(loss.trace / ridge), slip=SLIP
    )
    for goal in (0.0, 1.0):
        first, width = minima(loss, others, ridge, sigma)
        second, _ = minima(loss, [*others, goal], ridge, sigma)
        for order in (1.1, 2.0, 5.0, 20.0):
            claimed = law._divergence(order)
            assert max(renyi(order, first, second, width), renyi(order, second, first, width)) <= claimed + 1e-9
            assert claimed <= order * float(law.rho)


def test_a_claim_without_the_corrections_is_below_the_exact_law() -> None:
    """Taking the product of noise and gradient for a normal number, without curvature, understates the divergence."""
    loss, ridge, sigma = Squared(), 0.5, 10.0
    first, width = minima(loss, [], ridge, sigma)
    second, _ = minima(loss, [1.0], ridge, sigma)
    exact = max(renyi(4.0, first, second, width), renyi(4.0, second, first, width))
    assert exact > 2 * (4.0 * (loss.steepest / sigma) ** 2 / 2)


def test_half_the_noise_in_the_objective_breaks_its_claim() -> None:
    loss, ridge, sigma = Huber(), 8.0, 10.0
    law = PerturbedObjective(ridge=Fraction(8), reach=Fraction(1, 10), shift=Fraction(1, 8), slip=SLIP)
    first, width = minima(loss, [], ridge, sigma / 2)
    second, _ = minima(loss, [1.0], ridge, sigma / 2)
    assert max(renyi(64.0, first, second, width), renyi(64.0, second, first, width)) > law._divergence(64.0)


def normal_divergence(order: float, first: tuple[float, float], second: tuple[float, float]) -> float:
    """Of two normal laws (mean, variance), in closed form."""
    (m0, v0), (m1, v1) = first, second
    mixed = order * v1 + (1 - order) * v0
    if mixed <= 0:
        return math.inf
    log = math.log(mixed) - (1 - order) * math.log(v0) - order * math.log(v1)
    return order / 2 * (m0 - m1) ** 2 / mixed - log / (2 * (order - 1))


@pytest.mark.parametrize("ridge", [4.0, 30.0])
@pytest.mark.parametrize("others", [[], [1.0] * 9, [-1.0, 0.5]])
def test_the_exact_law_of_a_posterior_draw_keeps_its_claim(ridge: float, others: list[float]) -> None:
    radius, reach = 0.5, 0.4
    law = PosteriorSample(ridge=Fraction(ridge), reach=Fraction(reach), shift=1 / Fraction(ridge), slip=SLIP)
    gamma = reach**2 * ridge / (1 + radius) ** 2

    def drawn(target: list[float]) -> tuple[float, float]:
        curvature = ridge + len(target)
        return float(np.clip(sum(target) / curvature, -radius, radius)), 1 / (gamma * curvature)

    for goal in (-1.0, 1.0):
        pair = drawn(others), drawn([*others, goal])
        for order in (1.1, 2.0, 3.0):
            exact = max(normal_divergence(order, *pair), normal_divergence(order, *pair[::-1]))
            assert exact <= law._divergence(order) + 1e-12
    assert law._divergence(1000.0) == math.inf
    first, second = drawn([]), drawn([1.0])
    half = [(mean, variance / 4) for mean, variance in (first, second)]
    if ridge == 30:
        assert normal_divergence(2.0, half[0], half[1]) > law._divergence(2.0) * (1 / (1 + radius)) ** 2 * 2


ONE = rows_of([[1.0]], [1.0])


@pytest.mark.audit
def test_the_uncorrected_sensitivity_of_output_perturbation_is_refuted() -> None:
    """Without the ridge in it, the bound is |gradient| alone: four times too small at a ridge of a quarter."""
    goal, loss, ridge = Goal.of(rho="0.5"), Huber(), 4
    right: Any = fit_output(ONE, loss, Price(goal, Fraction(ridge)), ReplayBits(0)).steps[-1].mechanism
    assert 0.25 < float(right.sensitivity) < 0.25001
    claim = right.privacy
    for wrong, refuted in ((1.0, False), (0.25, True)):
        bits = ReplayBits(7)
        moved = float(minimizer(Objective(ONE, loss, ridge, np.zeros((1, 1))))[0, 0])
        noise = Gaussian(1, sigma=right.sigma * Fraction(wrong), grid=2.0**-30, dimensions=1500)
        draws = [
            np.round(np.asarray(noise.release(np.full(1500, value), bits=bits).value) * 4) for value in (0.0, moved)
        ]
        found = audit(
            *((lambda *_, drawn=drawn: drawn) for drawn in draws),
            claim=claim,
            delta="0.2",
            draws=1500,
            confidence="0.999999999",
        )
        assert found.refuted == refuted


@pytest.mark.parametrize(
    "loss", [Logistic(), Huber(), Softmax(3), Squared(steepest=1.5)], ids=lambda x: type(x).__name__
)
@pytest.mark.parametrize("count", [1, 3])
def test_one_unit_moves_minima_by_at_most_their_sensitivity(loss: Loss, count: int) -> None:
    farthest = 0.0
    for number in range(25):
        chance = np.random.default_rng(number)
        owners = [0, 1, 2, *[3] * count]
        goal = chance.uniform(-1, 1, len(owners)) if isinstance(loss, Squared) else chance.integers(0, 2, len(owners))
        values = chance.choice([-1, 1, 0.2], size=(len(owners), 3)).tolist()
        whole = rows_of(values, goal.tolist(), owners)
        less = rows_of(values[:-count], goal[:-count].tolist(), owners[:-count])
        both = [minimizer(Objective(rows, loss, 2.0, np.zeros((3, loss.outputs)))) for rows in (whole, less)]
        farthest = max(farthest, float(np.linalg.norm(both[0] - both[1])) * 2 / loss.steepest)
    assert (0.25 if count == 1 else 0.15) < farthest <= 1


@pytest.mark.parametrize("neighbors, units", [(NeighborRelation.ADD_REMOVE, 1), (NeighborRelation.CHANGE_ONE, 2)])
def test_noise_is_for_as_many_units_as_neighbors_differ_in(neighbors: NeighborRelation, units: int) -> None:
    goal = Goal.of(rho="0.5", neighbors=neighbors)
    mechanism: Any = fit_output(ONE, Huber(), Price(goal, Fraction(5)), ReplayBits(0)).steps[0].mechanism
    assert abs(float(mechanism.sensitivity) - (units / 5 + 2 * SMALL)) < 1e-12
    assert 0.9999 < float(mechanism.claim.rho) / 0.5 <= 1
    law: Any = fit_objective(ONE, Huber(), Price(goal, Fraction(50)), ReplayBits(0)).steps[0].mechanism
    given = Objective(ONE, Huber(), 50.0, np.zeros((1, 1)))
    spread = np.std([law.release(given, bits=ReplayBits(seed)).value[0, 0] * 50 for seed in range(300)])
    assert 0.8 < spread / (units / float(law.reach)) < 1.25


@pytest.mark.parametrize(
    "price", [{"epsilon": 1, "delta": "1e-6"}, {"rho": "0.02"}, {"epsilon": "1e-7", "delta": "1e-9"}]
)
@pytest.mark.parametrize("fit", [fit_output, fit_objective, fit_posterior])
def test_fits_cost_their_price_and_hardly_less(price: dict[str, Any], fit: Callable[..., Any]) -> None:
    goal = Goal.of(**price)
    if "rho" in price and fit is fit_posterior:
        with pytest.raises(ParameterError, match="no zCDP"):
            fit(ONE, Squared(), Price(goal), ReplayBits(0))
        return
    steps = fit(ONE, Squared(), Price(goal), ReplayBits(0)).steps
    training = Training("a model", goal.claim, steps)
    assert Training.read(training.record()) == training
    if "rho" in price:
        assert 0.999 < float(steps[-1].mechanism.claim.rho / goal.rho) <= 1
    else:
        assert 0.999 < composed(steps).epsilon(price["delta"]) / float(Fraction(price["epsilon"])) <= 1


def test_the_second_stage_is_paid_beside_the_first() -> None:
    goal = Goal.of(epsilon=1, delta="1e-6")
    for fit in (fit_objective, fit_posterior):
        steps: Any = fit_adapted(ONE, fit, Price(goal), ReplayBits(0), radius=1).steps
        assert [step.name for step in steps[:2]] == ["second moment", "products"]
        assert 0.99 < composed(steps).epsilon("1e-6") <= 1
        assert sum(step.mechanism.claim.rho for step in steps[:2]) <= goal.rho / 3


def test_sampled_units_take_part_by_chance_and_are_paid_as_such() -> None:
    rows = rows_of([[1.0]] * 4000, [1.0] * 4000, [unit // 2 for unit in range(4000)])
    drawn = rows.sampled(Fraction(1, 4), ReplayBits(1))
    assert 300 < np.unique(drawn.units).size < 700
    assert drawn.units.size == 2 * np.unique(drawn.units).size
    goal = Goal.of(epsilon=1, delta="1e-6")
    full, sampled = (
        Descent(steps=5, rate=Fraction(rate)).fit(rows, Logistic(), goal, ReplayBits(0)) for rate in (1, "0.25")
    )
    assert sampled.steps[1].rate == Fraction(1, 4)
    assert 0.95 < composed(sampled.steps).epsilon("1e-6") <= 1
    first, second = (Gaussian.from_record(made.steps[1].mechanism.record()) for made in (full, sampled))
    ratio = first.sigma / second.sigma
    assert 1.5 < float(ratio) < 4.5
    assert sampled.weights[0, 0] > 0
    for wrong in ({"rho": 1}, {"epsilon": 1, "delta": "1e-6", "neighbors": NeighborRelation.CHANGE_ONE}):
        with pytest.raises(ParameterError, match="sampling units pays"):
            Descent(rate=Fraction(1, 4)).fit(rows, Logistic(), Goal.of(**wrong), ReplayBits(0))


X = np.linspace(-1, 1, 3000)[:, None]


@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("neighbors", [NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE])
def test_classifiers_learn_by_every_method(model: Any, method: str, neighbors: NeighborRelation) -> None:  # noqa: ANN401
    y = np.where(X[:, 0] > 0.2, "yes", "no")
    trained = model(epsilon=3, classes=["no", "yes"], bounds=(-1, 1), method=method, neighbors=neighbors).fit(X, y)
    assert trained.score(X, y) > 0.85
    assert trained.privacy.epsilon("1e-6") <= 3
    assert load(trained.to_json()).release_ == trained.release_
    assert trained.card()["units, with noise"] is None


METHODS = ["output", "objective", "posterior", "adaptive objective", "adaptive posterior", "gradient", "statistics"]


@pytest.mark.parametrize("method", METHODS)
def test_regressions_learn_by_every_method(method: str) -> None:
    y = 40 + 20 * X[:, 0]
    trained = LinearRegression(epsilon=5, bounds=(-1, 1), target_bounds=(0, 100), method=method).fit(X, y)
    assert trained.score(X, y) > 0.8
    assert load(trained.to_json()).release_ == trained.release_
    if method != "statistics":
        with pytest.raises(ParameterError, match="does not know its errors"):
            trained.predict_interval(X)


@pytest.mark.parametrize("method", METHODS)
def test_a_tiny_price_buys_a_useless_model_that_is_finite(method: str) -> None:
    model = LinearRegression("1e-6", "1e-9", bounds=(-1, 1), target_bounds=(0, 1), method=method).fit(X[:9], [0.5] * 9)
    predicted = model.predict([[0.3], [np.nan]])
    assert ((predicted >= 0) & (predicted <= 1)).all()


def test_intervals_hold_targets_as_often_as_they_say() -> None:
    """Of 40 trainings on 1500 rows each: about 95 of 100 new targets, and hardly more where noise is small."""
    chance, inside = np.random.default_rng(3), {}
    for epsilon in ("0.5", "20"):
        held = []
        for _ in range(20):
            x = chance.uniform(-1, 1, (1500, 2))
            y = x @ [3.0, -2.0] + chance.normal(0, 1, 1500)
            model = LinearRegression(epsilon=epsilon, bounds=(-1, 1), target_bounds=(-10, 10), method="statistics")
            ends = model.fit(x[:1000], y[:1000]).predict_interval(x[1000:])
            held.append(((ends[:, 0] <= y[1000:]) & (y[1000:] <= ends[:, 1])).mean())
        inside[epsilon] = np.mean(held)
    assert inside["0.5"] > 0.93
    assert 0.93 < inside["20"] < 0.995


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"method": "magic"}, "method is 'magic'"),
        ({"ridge": 0}, "ridge is 0"),
        ({"ridge": "1e-9"}, "at least 1/64"),
        ({"ridge": "1/64", "method": "objective"}, "at this price it takes a larger one"),
        ({"rate": 2}, "rate is 2"),
        ({"method": "objective", "classes": [0, 1, 2]}, "proved for two classes"),
    ],
)
def test_refusals_say_what_to_write(parameters: dict[str, Any], words: str) -> None:
    method = {"method": "output"} if "ridge" in parameters else {}
    model = LogisticRegression(**{"epsilon": 1, "bounds": (-1, 1), "classes": [0, 1], **method, **parameters})
    with pytest.raises(ParameterError, match=words):
        model.fit(X, np.zeros(3000, dtype=int))


def test_draws_are_as_wide_as_their_law() -> None:
    """A draw's precision is gamma H with gamma = ridge (reach / (1 + P))**2: what the exact law above assumes."""
    law = PosteriorSample(
        ridge=Fraction(9), reach=Fraction("0.3"), shift=Fraction(1, 9), slip=SLIP.__class__(Fraction(1, 10**9), rho=1)
    )
    rows = rows_of([[1.0]] * 7, [0.0] * 7)
    given = Objective(rows, Squared(steepest=1.5), 9.0, np.zeros((1, 1)))
    drawn = np.array([law.release(given, bits=ReplayBits(seed)).value[0, 0] for seed in range(500)])
    wanted = 1.5 / (0.3 * math.sqrt(9.0 * 16))
    assert 0.85 < drawn.std() / wanted < 1.15
    assert abs(drawn.mean()) < 5 * wanted / math.sqrt(500)


def test_the_distance_from_the_exact_law_is_paid_twice() -> None:
    """Both neighbors may be so far off, each its own way."""
    law: Any = fit_objective(ONE, Huber(), Price(Goal.of(rho=1)), ReplayBits(0)).steps[0].mechanism
    assert law.slip.sensitivity == 2 * Fraction(SMALL)
    drawn: Any = (
        fit_posterior(ONE, Squared(), Price(Goal.of(epsilon=1, delta="1e-6")), ReplayBits(0)).steps[0].mechanism
    )
    assert 1.9999 / 1024 < float(drawn.slip.sensitivity) * math.sqrt(float(drawn.ridge)) < 2.0001 / 1024


@pytest.mark.parametrize("count", [1, 3])
def test_one_unit_moves_noisy_sums_by_at_most_their_sensitivity(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    kept: list[tuple[float, Any]] = []

    class Silent:
        sigma = Fraction(1)

        def __init__(self, sensitivity: int) -> None:
            self.sensitivity = sensitivity

        def release(self, value: Any, **_: object) -> Any:  # noqa: ANN401
            kept.append((self.sensitivity, np.array(value, dtype=float)))
            return type("Told", (), {"value": np.array(value, dtype=float)})

    monkeypatch.setattr(Goal, "gaussian", lambda _, sensitivity, **__: Silent(sensitivity))
    owners = [0, 1, *[2] * count]
    for many in (2 + count, 2):
        Statistics().fit(rows_of([[1.0, 0.0]] * many, [1.0] * many, owners[:many]), Goal.of(rho=1), ReplayBits(0))
    (_, _), (sensitivity, whole), (_, _), (_, less) = kept
    assert 0.999 < np.linalg.norm(whole - less) / sensitivity <= 1


@pytest.mark.parametrize("order", [1.25, 2.0, 8.0])
def test_the_claim_of_a_perturbed_minimum_is_that_of_the_absolute_value_of_a_normal_number(order: float) -> None:
    """The loss is at most c + mu**2 / 2 + mu |N|; its moments are worked out by adding up."""
    mu, shift = 0.6, 0.05
    places = np.linspace(-40, 40, 400_001)
    losses = shift + mu**2 / 2 + mu * np.abs(places)
    moment = np.exp((order - 1) * losses + stats.norm.logpdf(places)).sum() * (places[1] - places[0])
    law = PerturbedObjective(ridge=Fraction(20), reach=Fraction("0.6"), shift=Fraction("0.05"), slip=SLIP)
    assert math.isclose(law._divergence(order), math.log(moment) / (order - 1), rel_tol=1e-6)


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
def test_the_claim_of_a_draw_is_that_of_two_normal_laws_as_far_apart_as_it_says(order: float) -> None:
    """In coordinates in which one is N(0, 1): means mu apart, and variances 1 and 1 / (1 + t)."""
    mu, shift = 0.4, 0.1
    law = PosteriorSample(ridge=Fraction(10), reach=Fraction("0.4"), shift=Fraction("0.1"), slip=SLIP)
    first, second = (0.0, 1.0), (mu, 1 / (1 + shift))
    there, back = normal_divergence(order, first, second), normal_divergence(order, second, first)
    assert law._divergence(order) >= back
    assert math.isclose(law._divergence(order), max(there, back), rel_tol=1e-9)
