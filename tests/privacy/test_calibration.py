"""Calibrated noise keeps its promise, and a little less would not."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

from discreet import privacy as p
from discreet.errors import ParameterError

LESS = 1 - 1e-6


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "4", "20"])
@pytest.mark.parametrize("delta", ["0.1", "1e-5", "1e-12"])
def test_gaussian_sigma_is_the_analytic_one(epsilon: str, delta: str) -> None:
    sigma = p.gaussian_sigma(epsilon=epsilon, delta=delta)
    assert p.gaussian(sigma).delta(float(epsilon)) <= float(delta)
    assert p.gaussian(sigma).epsilon(float(delta)) <= float(epsilon)
    mp.mp.dps = 40
    e, d = mp.mpf(epsilon), mp.mpf(delta)

    def gap(s: mp.mpf) -> mp.mpf:
        return mp.ncdf(1 / (2 * s) - e * s) - mp.exp(e) * mp.ncdf(-1 / (2 * s) - e * s) - d

    assert gap(mp.mpf(repr(sigma))) <= 0
    assert gap(mp.mpf(repr(sigma * (1 - 1e-8)))) > 0


def test_gaussian_sigma_has_the_papers_value() -> None:
    """Balle & Wang 2018, Theorem 8, at epsilon = 1 and delta = 1e-5."""
    assert p.gaussian_sigma(epsilon=1, delta=1e-5) == pytest.approx(3.730631634, rel=1e-8)
    assert p.gaussian_sigma(epsilon=1, delta=1e-5, sensitivity=10) == pytest.approx(37.30631634, rel=1e-8)


@pytest.mark.parametrize("epsilon, delta", [("0.1", 0), (3, 0), ("1/3", 0), (1, "1e-6"), ("0.5", "0.01"), (0, "0.1")])
def test_laplace_scale_is_the_smallest(epsilon: str, delta: str) -> None:
    scale = p.laplace_scale(epsilon=epsilon, delta=delta)
    e, d = float(p.Budget(epsilon).epsilon), float(p.Budget(1, delta).delta)
    assert p.laplace(scale).delta_interval(e)[0] <= d
    assert p.laplace(scale).delta(e) <= d * (1 + 1e-9) + 1e-15
    assert p.laplace(scale * LESS).delta_interval(e)[0] > d


def test_laplace_scale_rounds_up() -> None:
    for epsilon in (3, 7, 11, "0.7"):
        assert p.Pure(repr(p.laplace_scale(epsilon=epsilon))).epsilon * p.Pure(epsilon).epsilon >= 1


@pytest.mark.parametrize(
    "epsilon, delta, rate, steps", [(2, 1e-6, 0.01, 10_000), (1, 1e-5, 0.01, 1000), (8, 1e-9, 1, 1)]
)
def test_dpsgd_noise_is_the_smallest(epsilon: float, delta: float, rate: float, steps: int) -> None:
    sigma = p.dpsgd_noise(epsilon=epsilon, delta=delta, rate=rate, steps=steps)
    assert (p.gaussian(sigma).subsample(rate) * steps).epsilon(delta) <= epsilon
    assert (p.gaussian(sigma * LESS).subsample(rate) * steps).interval(delta)[0] > epsilon


def test_dpsgd_steps_and_rate_are_the_largest() -> None:
    step = p.gaussian(1).subsample(0.01)
    steps = p.dpsgd_steps(epsilon=2, delta=1e-5, rate=0.01, sigma=1)
    assert (step * steps).epsilon(1e-5) <= 2 < (step * (steps + 1)).epsilon(1e-5)
    rate = p.dpsgd_rate(epsilon=2, delta=1e-5, sigma=1, steps=1000)
    assert (p.gaussian(1).subsample(rate) * 1000).epsilon(1e-5) <= 2
    assert (p.gaussian(1).subsample(rate / LESS) * 1000).epsilon(1e-5) > 2
    assert p.dpsgd_rate(epsilon=2, delta=1e-5, sigma=100, steps=1) == 1.0
    assert p.dpsgd_steps(epsilon="0.01", delta=1e-9, rate=1, sigma=1) == 0


def test_calibrate_takes_any_curve() -> None:
    def build(scale: float) -> p.Curve:
        return p.laplace(scale) * 10 + p.gaussian(scale)

    scale = p.calibrate(build, epsilon=3, delta=1e-6)
    assert build(scale).epsilon(1e-6) <= 3
    assert build(scale * LESS).interval(1e-6)[0] > 3


def test_calibrate_works_without_a_delta() -> None:
    scale = p.calibrate(lambda b: p.laplace(b) * 3, epsilon=1)
    assert scale == pytest.approx(3, rel=1e-8)
    assert (p.laplace(scale) * 3).epsilon(0.0) <= 1


def test_calibrate_says_when_there_is_no_answer() -> None:
    with pytest.raises(ParameterError, match="no parameter up to"):
        p.calibrate(lambda _: p.gaussian(1), epsilon="0.1", delta=1e-9)
    with pytest.raises(ParameterError, match="no smallest"):
        p.calibrate(lambda _: p.gaussian(100), epsilon=10, delta=1e-3)


@pytest.mark.parametrize("epsilon, delta", [(-1, 1e-5), (1, -1), (1, 1), (0, 0), (math.nan, 1e-5), (math.inf, 1e-5)])
def test_impossible_targets_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        p.gaussian_sigma(epsilon=epsilon, delta=delta)
    with pytest.raises(ParameterError):
        p.laplace_scale(epsilon=epsilon, delta=delta)
    with pytest.raises(ParameterError):
        p.dpsgd_noise(epsilon=epsilon, delta=delta, rate=0.1, steps=10)


def test_impossible_parameters_are_refused() -> None:
    for rate, steps in ((-0.1, 10), (1.5, 10), (0.1, 0), (0.1, -3), (0.1, 2.5), (0.1, 10**13)):
        with pytest.raises(ParameterError):
            p.dpsgd_noise(epsilon=1, delta=1e-5, rate=rate, steps=steps)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="delta"):
        p.gaussian_sigma(epsilon=1, delta=0)
    with pytest.raises(ParameterError, match="sensitivity"):
        p.laplace_scale(epsilon=1, sensitivity=0)


def test_no_rate_for_hardly_any_noise_is_said_in_these_words() -> None:
    with pytest.raises(ParameterError, match=r"sigma is .0\.01.; below 1/15"):
        p.dpsgd_rate(epsilon=1, delta="1e-5", sigma="0.01", steps=10)
    assert p.dpsgd_rate(epsilon=1, delta="1e-5", sigma="0.01", steps=1) == pytest.approx(1e-5, rel=1e-4)


def test_the_least_noise_that_is_sampled_has_a_rate() -> None:
    """About 1e-6, where the chance of one large loss in ten is delta; a search for it would take minutes."""
    less, more = (p.gaussian("0.07").subsample(rate) * 10 for rate in ("9.998e-7", "1.0002e-6"))
    assert less.delta(1) <= 1e-5
    assert more.delta_interval(1)[0] > 1e-5
