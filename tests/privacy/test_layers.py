"""Losses in layers, each along a line of its own: decay between several edges, sums of layers, answers."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from discreet import privacy as p
from discreet.privacy.numerics.losses import sampled_tail
from discreet.privacy.numerics.losses.loss import Direction
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.solvers import ladder, layers

LOSSES = ((0.9, 1e-4), (1.4, 1e-3), (3.0, 0.02))


def stacked(sigma: float, rate: float) -> SampledGaussianLoss:
    """A loss below three edges, the lowest of which cuts off losses above 0.05."""
    loss = SampledGaussianLoss(sigma, rate, add=False)
    first = replace(loss, cut=loss.z_of(0.5), soft=0.2)
    second = replace(first, cut=loss.z_of(0.1), soft=0.15, higher=first.ends)
    return replace(second, cut=loss.z_of(0.05), soft=0.1, higher=second.ends)


def moment(loss: SampledGaussianLoss, order: complex) -> mpmath.mpc:
    """M of what lies below all edges and above the lower one, by mpmath's own quadrature."""

    def integrand(z: mpmath.mpf) -> mpmath.mpc:
        ratio = 1 - loss.rate + loss.rate * mpmath.exp(z / loss.sigma - 0.5 / mpmath.mpf(loss.sigma) ** 2)
        kept = mpmath.mpf(1)
        for edge, width in loss.ends:
            kept *= mpmath.ncdf((edge - z) / width)
        if math.isfinite(loss.start):
            kept *= mpmath.ncdf((z - loss.start) / loss.rise)
        return mpmath.npdf(z) * ratio ** (order + 1) * kept

    with mpmath.workdps(20):
        return mpmath.quad(integrand, mpmath.linspace(-9, loss.cut + 2, 90), method="gauss-legendre", maxdegree=3)


@pytest.mark.slow
@pytest.mark.parametrize("sigma, rate", LOSSES)
def test_losses_below_several_edges_have_the_moments_of_an_independent_quadrature(sigma: float, rate: float) -> None:
    loss = stacked(sigma, rate)
    heights = np.asarray([0.0, 40.0])
    values, errors = loss.line(30.0, heights)
    for height, value, error in zip(heights, values, errors, strict=True):
        truth = moment(loss, complex(30.0, float(height)))
        assert abs(mpmath.exp(mpmath.mpc(complex(value))) / truth - 1) <= float(error) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("sigma, rate", LOSSES)
def test_the_decay_with_several_edges_holds_above_each_height(sigma: float, rate: float) -> None:
    loss = stacked(sigma, rate)
    for real in (5.0, 60.0, 200.0):
        whole = loss.moment(real)
        for height in (30.0, 200.0, 900.0):
            bound = loss.tail(real, height)
            assert bound <= whole + 1e-9
            for factor in (1.0, 1.3, 2.1):
                truth = moment(loss, complex(real, height * factor))
                assert float(mpmath.log(abs(truth))) <= bound + 1e-12
    assert loss.tail(5.0, 3e4) < loss.moment(5.0) - 0.1, "the bound does fall"


def test_a_decay_that_forgets_the_edges_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pieces of the path that end at the edges, the bound falls below the truth."""
    real, height = 200.0, 900.0
    truth = float(mpmath.log(abs(moment(stacked(3.0, 0.02), complex(real, height)))))
    assert truth <= stacked(3.0, 0.02).tail(real, height)
    monkeypatch.setattr(sampled_tail, "_log_ends", lambda _, z: np.full(len(z), -np.inf))
    assert stacked(3.0, 0.02).tail(real, height) < truth - 1


CASES = (  # small losses and a single large one count alike: each was wider than 1e-3 of epsilon on one line alone
    ("0.9162", "1.656e-5", 10**6, "2.384e-21"),
    ("1.307", "3.647e-5", 10**5, "1.072e-23"),
    ("1.367", "2.866e-4", 10**5, "1.41e-29"),
    ("1.325", "2.421e-5", 10**6, "5.799e-29"),
    ("2.215", "7.983e-4", 1000, "4.488e-28"),
    ("3.015", "1.373e-5", 50, "5.87e-30"),
)


@pytest.mark.parametrize("sigma, rate, uses, delta", CASES)
def test_epsilon_is_narrow_where_small_and_large_losses_count_alike(
    sigma: str, rate: str, uses: int, delta: str
) -> None:
    curve = p.gaussian(sigma).subsample(rate) * uses
    lower, upper = curve.interval(delta)
    assert upper - lower <= 1e-6 * max(upper, 1e-3)
    low, high = curve.delta_interval(upper)
    assert high - low <= 1e-6 * high
    assert low <= float(delta) * (1 + 1e-6)
    assert high >= float(delta) * (1 - 1e-4)


@pytest.mark.parametrize("sigma, rate, uses, delta", CASES[:3])
def test_answers_do_not_depend_on_where_the_edges_lie(
    sigma: str, rate: str, uses: int, delta: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    curve = p.gaussian(sigma).subsample(rate) * uses
    found = curve.interval(delta)
    monkeypatch.setattr(layers, "THICKNESS", 2.3)
    monkeypatch.setattr(layers, "LEVELS", tuple(0.7 * 0.77**k for k in range(40)))
    monkeypatch.setattr(layers, "WIDTH", 0.8 * layers.WIDTH)
    other = curve.interval(delta)
    assert max(found[0], other[0]) <= min(found[1], other[1])
    monkeypatch.setattr(ladder, "layers_through", lambda *_: None)
    without = curve.interval(delta)
    assert max(found[0], without[0]) <= min(found[1], without[1])


def test_layers_agree_with_one_line_where_that_serves() -> None:
    curve = p.gaussian(1).subsample("0.01") * 1000
    direction = curve.directions()[0].trimmed(1e-20, 20.0)
    for epsilon in (1.0, 1.8, 3.0):
        truth = curve.delta_interval(epsilon)
        made = layers.layers_through(direction, epsilon, math.log(truth[1]))
        assert made is not None
        low, high = made.delta(epsilon)
        assert low <= truth[1]
        assert truth[0] <= high
        assert high - low <= 1e-6 * high


def test_a_layer_left_out_would_be_seen() -> None:
    """Each layer counts: without one of them the sum misses the truth."""
    sigma, rate, uses, delta = CASES[1]
    curve = p.gaussian(sigma).subsample(rate) * uses
    lower, upper = curve.interval(delta)
    direction = curve.directions()[0].trimmed(1e-9 * float(delta), 300.0)
    made = layers.layers_through(direction, upper, math.log(float(delta)))
    assert made is not None
    assert made.delta(lower)[1] >= float(delta) * (1 - 1e-6)
    for k in range(len(made.contours)):
        if made.contours[k].delta(upper)[0] < 1e-3 * float(delta):
            continue
        fewer = replace(made, contours=tuple(contour for i, contour in enumerate(made.contours) if i != k))
        assert fewer.delta(lower)[1] < float(delta) * (1 - 1e-4)


def test_other_mechanisms_are_composed_on_top() -> None:
    """A sampled Gaussian beside randomized response: by layers, and as a mean of shifted profiles.

    With losses +-e of probability p and 1 - p, delta(x) = p D(x - e) + (1 - p) D(x + e), D the profile of the rest.
    """
    sampled = p.gaussian("1.5").subsample("0.001") * 1000
    response = p.randomized_response("0.01")
    for point in (0.06, 0.1):
        chance = math.exp(0.01) / (1 + math.exp(0.01))
        ends = [sampled.delta_interval(point - shift) for shift in (0.01, -0.01)]
        low, high = (chance * a + (1 - chance) * b for a, b in zip(*ends, strict=True))
        found = (sampled + response).delta_interval(point)
        assert found[0] <= high * (1 + 1e-12)
        assert low <= found[1] * (1 + 1e-12)
        parts = (sampled + response).directions()[0]
        made = layers.layers_through(Direction(parts.parts).trimmed(1e-12 * low, 100.0), point, math.log(low))
        assert made is not None
        assert made.delta(point)[0] <= high * (1 + 1e-9)
        assert made.delta(point)[1] >= low * (1 - 1e-9)
        assert made.delta(point)[1] - made.delta(point)[0] <= 1e-6 * high


@pytest.mark.parametrize("epsilon", ["0.001", "0.5", "1", "5", "49"])
@pytest.mark.parametrize(
    "sigma, rate, uses", [("42.28", "2.141e-5", 2), ("8.64", "1.841e-4", 10), ("50", "1e-5", 10**6)]
)
def test_deltas_below_all_floats_are_bounded(sigma: str, rate: str, uses: int, epsilon: str) -> None:
    low, high = (p.gaussian(sigma).subsample(rate) * uses).delta_interval(epsilon)
    assert 0 <= low <= high < 1e-10
