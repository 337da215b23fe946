"""What is cut off a contour is bounded for all heights above, and sums of few values come out right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import privacy as p
from discreet.privacy.numerics.solvers import account

CURVES = [
    p.laplace("0.7"),
    p.laplace(3),
    p.discrete_laplace(2),
    p.gaussian(2),
    p.discrete_gaussian(2),
    p.randomized_response("0.4"),
    p.randomized_response(1, 5),
    p.pure(1),
    p.approximate(1, "1e-3"),
    p.exponential(1),
    p.gaussian(1).subsample("0.1"),
]


@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_nothing_rises_above_the_bound_of_a_tail(curve: p.Curve) -> None:
    for direction in curve.directions():
        for loss, _ in direction.parts:
            for real in (0.5, 3.0, 20.0):
                for height in (0.5, 2.0, 7.0, 40.0):
                    values, errors = loss.line(real, height / 100 * np.arange(4000))  # lines begin on the axis
                    assert float((values.real - errors)[100:].max()) <= loss.tail(real, height) + 1e-9


def law(epsilon: float, count: int) -> list[tuple[float, float]]:
    """The privacy loss of so many randomized responses, written out."""
    keep = 1 / (1 + math.exp(-epsilon))
    return [
        ((2 * k - count) * epsilon, math.comb(count, k) * keep**k * (1 - keep) ** (count - k)) for k in range(count + 1)
    ]


def exact(first: tuple[float, int], second: tuple[float, int], epsilon: float) -> float:
    pairs = [(x + y, a * b) for x, a in law(*first) for y, b in law(*second)]
    return math.fsum(mass * -math.expm1(epsilon - loss) for loss, mass in pairs if loss > epsilon)


@pytest.mark.parametrize(
    "first, second",
    [((0.5, 20), (0.3, 20)), ((2.0, 8), (0.1, 30)), ((1.0, 20), (0.5000001, 20)), ((1.0, 12), (0.03, 100))],
    ids=str,
)
def test_sums_of_two_kinds_of_responses_contain_their_enumeration(
    first: tuple[float, int], second: tuple[float, int]
) -> None:
    curve = p.pure(first[0]) * first[1] + p.pure(second[0]) * second[1]
    for delta in (1e-1, 1e-3, 1e-5, 1e-8):
        lower, upper = curve.interval(delta)
        assert exact(first, second, upper) <= delta * (1 + 1e-9)
        assert exact(first, second, lower) >= delta * (1 - 1e-9)
        low, high = curve.delta_interval(upper)
        assert low * (1 - 1e-9) <= exact(first, second, upper) <= high * (1 + 1e-9)


@pytest.mark.slow
def test_an_upper_end_that_was_only_tried_is_not_returned() -> None:
    """Both z below z0: delta(e) >= P[z < z0]^2 (1 - exp(e - 2 L(z0))), in the direction of adding."""
    sigma, rate, delta = 0.288, 0.78, 2e-27
    curve = p.gaussian(sigma).subsample(rate) * 2
    (direction,) = [each for each in curve.directions() if getattr(each.parts[0][0], "add", False)]
    upper = account.epsilon_interval(direction, delta)[1]
    for z in np.arange(-10.0, 0.0, 0.05):
        loss = -math.log(1 - rate + rate * math.exp(z / sigma - 0.5 / sigma**2))
        chance = (0.5 * math.erfc(-z / math.sqrt(2))) ** 2
        assert chance * -math.expm1(min(upper - 2 * loss, 0.0)) <= delta * (1 + 1e-9)
