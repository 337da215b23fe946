"""Sampled Gaussians against two methods that share no code with the package, over all steps, rates and deltas.

`benchmarks.reference_profile` composes one step after the other, `benchmarks.reference_moments` inverts a Fourier
integral in 80-bit floats. Each is run with two settings; cases in which these disagree are left out, and a test fails
if those become many. An interval must hold the value to within the error of the reference.
"""

from __future__ import annotations

import math
import random

import pytest

from benchmarks import reference_moments
from benchmarks.reference_moments import Sampled, moments_epsilon
from benchmarks.reference_profile import Profiles
from discreet import privacy as p

ALLOWED = 2e-11
"""The error granted to a reference, beyond how far its two values lie apart, relative to max(epsilon, 1e-3)."""

SPREAD = 1e-9
"""How far the two values may lie apart."""

FEW = range(3, 9)


def misses(interval: tuple[float, float], values: tuple[float, float]) -> bool:
    """Whether an interval proves itself wrong: it does not hold the number that a reference computed twice."""
    slack = abs(values[0] - values[1]) + ALLOWED * max(values[0], 1e-3)
    return not interval[0] - slack <= values[0] <= interval[1] + slack


def ours(sigma: float, rate: float, steps: int, delta: float) -> tuple[float, float]:
    """The package's interval."""
    return (p.gaussian(sigma).subsample(rate) * steps).interval(delta)


def by_profiles(sigma: float, rate: float, deltas: list[float]) -> dict[tuple[int, float], tuple[float, float]]:
    """Both values of the profile method for 3 to 8 steps, where they agree."""
    one, other = (Profiles(sigma, rate, FEW[-1], min(deltas), variant) for variant in (0, 1))
    found = {}
    for steps in FEW:
        one.advance(steps)
        other.advance(steps)
        for delta in deltas:
            values = max(one.epsilon(delta)), max(other.epsilon(delta))
            if abs(values[0] - values[1]) <= SPREAD * max(values[0], 1e-3):
                found[steps, delta] = values
    return found


def by_moments(sigma: float, rate: float, steps: int, delta: float) -> tuple[float, float] | None:
    """Both values of the Fourier integral; None where it does not decay or they do not agree."""
    found = [0.0, 0.0]
    for removed in (True, False):
        if not removed and -steps * math.log1p(-rate) <= found[0]:
            break  # no loss is so large when a unit is added
        law = Sampled(sigma, repr(rate), steps, removed=removed)
        try:
            values = [moments_epsilon(law, delta, variant) for variant in (0, 1)]
        except ArithmeticError:
            return None
        if not abs(values[0] - values[1]) <= SPREAD * max(values[0], 1e-3):
            return None
        found = [max(pair) for pair in zip(found, values, strict=True)]
    return found[0], found[1]


def rounded(number: float) -> float:
    """Four digits, so that a failing case can be typed."""
    return float(f"{number:.4g}")


def drawn(seed: int, low: float, high: float) -> float:
    """A number between both, evenly in its logarithm."""
    return rounded(math.exp(random.Random(seed).uniform(math.log(low), math.log(high))))


@pytest.mark.slow
@pytest.mark.parametrize("sigma, rate", [(0.9, 0.05), pytest.param(1.3, 0.7, marks=pytest.mark.slow)])
def test_three_to_eight_steps(sigma: float, rate: float) -> None:
    found = by_profiles(sigma, rate, [1e-3, 1e-9, 1e-14])
    assert len(found) >= 12
    for (steps, delta), values in found.items():
        assert not misses(ours(sigma, rate, steps, delta), values), (sigma, rate, steps, delta, values)


FOURIER = [
    (50.0, 1e-5, 3, 1e-8),
    (50.0, 0.9, 5, 1e-30),
    (1.0, 0.5, 8, 1e-10),
    (4.0, 0.01, 1_000, 1e-5),
    (20.0, 0.001, 1_000, 1e-30),
    (2.0, 0.001, 1_000_000, 1e-9),
    (50.0, 0.01, 1_000_000, 1e-2),
]


@pytest.mark.parametrize("sigma, rate, steps, delta", FOURIER)
def test_many_steps_and_much_noise(sigma: float, rate: float, steps: int, delta: float) -> None:
    values = by_moments(sigma, rate, steps, delta)
    assert values is not None
    assert not misses(ours(sigma, rate, steps, delta), values)


@pytest.mark.parametrize("change", [{"rate": 0.99999}, {"rate": 1.00001}, {"sigma": 0.99999}, {"sigma": 1.00001}])
def test_the_check_sees_parameters_that_are_off_by_a_hundred_thousandth(change: dict[str, float]) -> None:
    sigma, rate, steps, delta = 4.0, 0.01, 1_000, 1e-5
    values = by_moments(sigma, rate, steps, delta)
    assert values is not None
    broken = ours(sigma * change.get("sigma", 1.0), rate * change.get("rate", 1.0), steps, delta)
    assert misses(broken, values)


def test_the_check_sees_one_step_too_few() -> None:
    values = by_moments(2.0, 0.001, 1_000_000, 1e-9)
    assert values is not None
    assert misses(ours(2.0, 0.001, 999_999, 1e-9), values)


def test_the_check_sees_a_direction_that_was_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    values = by_moments(10.0, 0.5, 10, 1e-10)
    assert values is not None
    whole = p.Curve.directions
    monkeypatch.setattr(p.Curve, "directions", lambda self: whole(self)[1:])
    assert misses(ours(10.0, 0.5, 10, 1e-10), values)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_three_to_eight_steps_anywhere(seed: int) -> None:
    sigma, rate = drawn(seed, 0.3, 1.6), drawn(1_000 + seed, 1e-5, 0.99)
    deltas = [drawn(10_000 + 10 * seed + i, 1e-30, 1e-2) for i in range(5)]
    found = by_profiles(sigma, rate, deltas)
    assert len(found) >= 20
    wrong = [
        (sigma, rate, steps, delta, values)
        for (steps, delta), values in found.items()
        if misses(ours(sigma, rate, steps, delta), values)
    ]
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_many_steps_and_much_noise_anywhere(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_moments, "MOST", 1_500)
    compared, wrong = 0, []
    for i in range(40 * seed, 40 * seed + 40):
        few = i % 3 == 0
        steps = int(drawn(i, 3, 9)) if few else int(drawn(i, 1_000, 1_000_000))
        sigma, rate = drawn(5_000 + i, 3 if few else 0.7, 50), drawn(10_000 + i, 1e-5, 0.99)
        if steps * (rate / sigma) ** 2 > 1e4:  # epsilons in the thousands, where nothing is left to be private
            continue
        if not few and steps * rate < 3:  # the integral would hardly decay
            continue
        delta = drawn(15_000 + i, 1e-30, 1e-2)
        values = by_moments(sigma, rate, steps, delta)
        if values is None:
            continue
        compared += 1
        if misses(ours(sigma, rate, steps, delta), values):
            wrong.append((sigma, rate, steps, delta, values))
    assert compared >= 15
    assert not wrong
