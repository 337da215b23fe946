"""The searches of the numerics, and the bounds that hold whatever they find."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import mpmath as mp
import numpy as np
import pytest

from discreet.privacy.numerics.losses.finite import FiniteLoss, two_point
from discreet.privacy.numerics.losses.gaussian import NODES, WEIGHTS, GaussianLoss, gaussian_delta, gaussian_epsilon
from discreet.privacy.numerics.losses.laplace import LaplaceLoss
from discreet.privacy.numerics.losses.loss import ULP, Direction, log_conversion, log_conversions
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.losses.sampled_nodes import last_mode, window
from discreet.privacy.numerics.search import lowest_below, minimize_at_once
from discreet.privacy.numerics.solvers.account import delta_interval, dominated, epsilon_interval
from discreet.privacy.numerics.transform import exponential_sums

if TYPE_CHECKING:
    from discreet.privacy.numerics.losses.loss import Loss, Reals


@pytest.mark.parametrize("least", [3e-9, 0.2, 1.0, 17.0, 4e11])
@pytest.mark.parametrize("start", [None, 0.01, 1.0, 300.0])
def test_the_least_value_is_found_wherever_it_lies(least: float, start: float | None) -> None:
    def cusp(orders: Reals) -> Reals:
        away = np.log(orders / least)
        return np.asarray(np.where(away > 0, 50 * away, -away))

    found = minimize_at_once(cusp, None if start is None else start * least)
    assert abs(math.log(found / least)) < 0.25


@pytest.mark.parametrize("start", [1e-3, 0.9, 2.0])
@pytest.mark.parametrize("power", [0.1, 1.0, 2.0])
def test_what_is_found_below_zero_was_evaluated(start: float, power: float) -> None:
    seen: dict[float, float] = {}

    def excess(x: float, zero: float = 700.0) -> float:
        seen[x] = 20 * (1 - (x / zero) ** power)
        return seen[x]

    found = lowest_below(excess, start, 1.0, 1e5)
    assert found is not None
    assert seen[found] <= 0
    assert found < 1.5 * 700
    assert lowest_below(partial(excess, zero=2e5), start, 1.0, 1e5) is None


def test_many_orders_at_once_say_what_single_ones_do() -> None:
    orders = np.array([1e-8, 0.3, 2.0, 40.0, 3e3])
    losses: list[Loss] = [
        GaussianLoss(0.3),
        LaplaceLoss(0.2),
        two_point(0.2),
        two_point(0.2, 1e-6),
        SampledGaussianLoss(1.0, 0.01, add=True),
        SampledGaussianLoss(1.0, 0.01, add=False).trimmed(1e-9, 100.0),
    ]
    for loss in losses:
        assert loss.roughs(orders) == pytest.approx([loss.rough(float(s)) for s in orders], rel=1e-6, abs=1e-13), loss
    assert log_conversions(orders) == pytest.approx([log_conversion(float(s)) for s in orders], rel=1e-9)


@pytest.mark.parametrize("epsilon", [1e-7, 0.01, 0.7, 9.0])
@pytest.mark.parametrize("infinity", [0.0, 1e-9, 0.3])
def test_two_values_in_closed_form_agree_with_their_sum(epsilon: float, infinity: float) -> None:
    mp.mp.dps = 50
    loss = two_point(epsilon, infinity)
    assert isinstance(loss, FiniteLoss)
    e, left = mp.mpf(epsilon), 1 - mp.mpf(infinity)
    for real in (1e-3, 1.5, 25.0):
        heights = np.array([0.0, 0.7, 60.0])
        values, errors = loss.line(real, heights)
        for t, value, error in zip(heights, values, errors, strict=True):
            s = mp.mpc(real, float(t))
            exact = left * (mp.exp(s * e) + mp.exp(-(s + 1) * e)) / (1 + mp.exp(-e))
            assert abs(mp.exp(mp.mpmathify(complex(value))) / exact - 1) <= error + 2 * ULP * abs(complex(value))
        s = mp.mpf(real)
        exact = mp.log(left * (mp.exp(s * e) + mp.exp(-(s + 1) * e)) / (1 + mp.exp(-e)))
        assert mp.mpf(loss.moment(real)) >= exact
        assert loss.moment(real) == pytest.approx(float(exact), rel=1e-9, abs=1e-22)


@pytest.mark.slow
@pytest.mark.parametrize("soft", [0.05, 0.1346, 0.4])
@pytest.mark.parametrize("order", [3e3, 34_443.0])
def test_a_soft_edge_hides_no_mass_far_beyond_it(soft: float, order: float) -> None:
    loss = SampledGaussianLoss(2.0, 1e-5, add=False, cut=9.9, soft=soft)
    z = np.arange(-12.0, 4e4, 0.01)
    log = (order + 1) * loss.ratio(z) + loss.kept(z) - 0.5 * z * z
    peak = float(log.max())
    plain = peak + math.log(float(np.exp(log - peak).sum()) * 0.01 / math.sqrt(2 * math.pi))
    assert loss.moment(order) >= plain - 1e-9 * abs(plain)


def test_the_quadrature_is_that_of_gauss_and_legendre() -> None:
    nodes, weights = np.polynomial.legendre.leggauss(12)
    assert pytest.approx(nodes, rel=1e-14) == NODES
    assert pytest.approx(weights, rel=1e-13) == WEIGHTS


@pytest.mark.parametrize("mu", [1e-6, 0.02, 1.0, 20.0, 300.0])
@pytest.mark.parametrize("delta", [0.6, 1e-2, 1e-30, 1e-299])
def test_epsilon_of_one_gaussian(mu: float, delta: float) -> None:
    epsilon, rate = gaussian_epsilon(mu, delta)
    if epsilon == 0:
        assert float(gaussian_delta(mu, np.zeros(1))[0]) <= delta
        return
    near, far = gaussian_delta(mu, np.array([epsilon, epsilon * (1 + 1e-6)]))
    assert float(near) == pytest.approx(delta, rel=1e-6)
    assert rate == pytest.approx(math.log(near / far) / (1e-6 * epsilon), rel=1e-3)


@pytest.mark.parametrize("sigma, rate, uses", [(4.0, 0.01, 1000), (50.0, 0.5, 100), (1.0, 0.1, 20)])
def test_a_direction_is_left_out_only_where_it_is_the_better_one(sigma: float, rate: float, uses: int) -> None:
    add = Direction(((SampledGaussianLoss(sigma, rate, add=True), uses),))
    lower, upper = epsilon_interval(add, 1e-6)
    assert dominated(add, upper * (1 + 1e-4), 1e-6)
    assert not dominated(add, lower * (1 - 1e-6), 1e-6)
    assert delta_interval(add, upper * (1 + 1e-4))[1] <= 1e-6


def test_sums_over_crowded_cells_stay_within_their_error() -> None:
    """Thousands of losses near one value share a cell; the error that is granted does not grow with their number."""
    rng = np.random.default_rng(5)
    points = np.sort(np.concatenate([-1e-5 * rng.random(6000), rng.random(500)]))
    weights = rng.random(len(points))
    sums, errors = exponential_sums(points, weights, 2.0, 64)
    for k in (0, 1, 7, 63):
        phases = (2.0 * k) * points
        truth = complex(math.fsum(weights * np.cos(phases)), math.fsum(weights * np.sin(phases)))
        assert abs(sums[k] - truth) <= errors[k] + 1e-16 * len(points)
    assert float(errors.max()) < 2e-13 * float(weights.sum())


@pytest.mark.parametrize(
    "sigma, rate, tilt", [(0.5, 1e-3, 40.0), (1.4, 1e-3, 300.0), (3.0, 0.02, 2e4), (3.0, 0.02, 9.0)]
)
def test_beyond_the_last_mode_the_integrand_falls_with_any_number_of_edges(
    sigma: float, rate: float, tilt: float
) -> None:
    loss = SampledGaussianLoss(sigma, rate, add=False)
    first = replace(loss, cut=loss.z_of(0.5), soft=0.2)
    second = replace(first, cut=loss.z_of(0.1), soft=0.02, higher=first.ends)
    for each in (loss, first, second, replace(second, cut=loss.z_of(0.05), soft=0.3, higher=second.ends)):
        mode = last_mode(each, tilt)
        z = mode + np.linspace(1e-3, 9.0, 400)
        logs = tilt * each.ratio(z) - 0.5 * z * z + each.kept(z)
        slopes, middles = np.diff(logs) / np.diff(z), 0.5 * (z[1:] + z[:-1])
        assert (slopes <= -(middles - mode) + 1e-6 * (1 + np.abs(slopes))).all()


def test_a_window_holds_a_mode_that_is_sharper_than_a_coarse_scan() -> None:
    """Just below a sharp edge the integrand rises and falls by many orders of magnitude within 0.4."""
    loss = SampledGaussianLoss(0.03, 1e-3, add=False)
    for edge in np.linspace(17.0, 17.4, 9):
        sharp = replace(loss, cut=float(edge), soft=0.004)
        for tilt in (13.0, 14.0, 16.0):
            lower, upper, _ = window(sharp, tilt)
            z = np.linspace(-9.0, edge + 1.0, 40_001)
            logs = tilt * sharp.ratio(z) - 0.5 * z * z + sharp.kept(z)
            outside = logs[(z < lower) | (z > upper)]
            assert float(outside.max(initial=-math.inf)) <= float(logs.max()) - 43
