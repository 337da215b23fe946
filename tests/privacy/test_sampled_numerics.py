"""The numerics of subsampled Gaussians against integrals by mpmath, and against each other."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest

from discreet import privacy as p
from discreet.privacy.numerics.losses import sampled_nodes, sampled_tail
from discreet.privacy.numerics.losses.loss import Direction
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.solvers import convolution, jumps
from discreet.privacy.numerics.solvers.account import delta_interval, epsilon_interval
from discreet.privacy.numerics.solvers.contour import line_through, place, search_order, with_probe

if TYPE_CHECKING:
    from collections.abc import Iterator

PARAMETERS = [(0.5, 1e-5), (1.0, 0.01), (2.0, 0.001), (0.3, 0.3), (10.0, 0.5)]


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    with mpmath.workdps(30):
        yield


def ratio(sigma: float, rate: float, z: mpmath.mpf) -> mpmath.mpf:
    return 1 - rate + rate * mpmath.exp(z / sigma - 1 / (2 * mpmath.mpf(sigma) ** 2))


def single_delta(sigma: float, rate: float, epsilon: mpmath.mpf) -> mpmath.mpf:
    """The remove direction's profile, by the two tails of the normal law."""
    y = mpmath.exp(epsilon).real
    if y - 1 + rate <= 0:
        return 1 - y
    z = sigma * mpmath.log((y - 1 + rate) / rate) + 1 / (2 * mpmath.mpf(sigma))
    over = (1 - rate) * mpmath.ncdf(-z) + rate * mpmath.ncdf(1 / mpmath.mpf(sigma) - z)
    return over - y * mpmath.ncdf(-z)


def double_delta(sigma: float, rate: float, epsilon: float) -> mpmath.mpf:
    """Two uses: the mean of the profile over the first loss."""

    def integrand(z: mpmath.mpf) -> mpmath.mpf:
        x = ratio(sigma, rate, z)
        return mpmath.npdf(z) * x * single_delta(sigma, rate, epsilon - mpmath.log(x).real)

    # The profile bends where the first loss alone reaches epsilon.
    reach = mpmath.exp(epsilon) / (1 - rate) - 1 + rate
    bend = sigma * mpmath.log(reach / rate) + 1 / (2 * mpmath.mpf(sigma))
    return mpmath.quad(integrand, sorted({-12, -6, -3, 0, 3, 6, 9, float(bend), 12, 16, 20, 26, 34}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "sigma, rate, epsilon",
    [
        (0.5, 1e-5, 0.3),
        (0.5, 1e-5, 5.0),
        (2.0, 0.001, 0.0036),
        (1.0, 0.01, 0.5),
        (0.4, 0.0002, 12.0),
        (1.2, 4e-5, 0.09),
        (5.0, 0.002, 0.01),
        (0.8, 0.3, 6.0),
        (1.0, 1e-5, 3e-5),
    ],
)
def test_two_uses_equal_an_integral(sigma: float, rate: float, epsilon: float) -> None:
    exact = double_delta(sigma, rate, epsilon)
    direction = Direction(((SampledGaussianLoss(sigma, rate, add=False), 2),))
    low, high = delta_interval(direction, epsilon)
    assert low <= exact <= high
    lower, upper = epsilon_interval(direction, float(exact))
    assert lower * (1 - 1e-12) <= epsilon <= upper * (1 + 1e-12)
    assert upper - lower <= 1e-6 * max(epsilon, 1e-3)


@pytest.mark.parametrize("sigma, rate", PARAMETERS)
@pytest.mark.parametrize("add", [False, True])
def test_the_tail_bounds_all_higher_moments(sigma: float, rate: float, *, add: bool) -> None:
    loss = SampledGaussianLoss(sigma, rate, add=add)
    for cut in (math.inf, 6.0) if not add else (math.inf,):
        trimmed = replace(loss, cut=cut, soft=0.3)
        order = 3.0
        for height in (0.5, 3.0, 20.0, 200.0):
            bound = trimmed.tail(order, height)
            for factor in (1.0, 1.3, 4.0):
                value, error = trimmed.line(order, np.asarray([0.0, factor * height]))
                assert bound >= float(value[1].real - error[1]) - 1e-9


def test_a_tail_with_larger_angles_would_be_wrong() -> None:
    loss = SampledGaussianLoss(1.0, 0.01, add=False)
    tail = sampled_tail.Tail.at(loss, 3.0)
    value, _ = loss.line(3.0, np.asarray([0.0, 20.0]))
    assert tail.above(20.0) >= float(value[1].real)
    blocks = {place: replace(block, angles=3 * block.angles) for place, block in tail.blocks.items()}
    broken = replace(tail, blocks=blocks)
    assert broken.above(20.0) < float(value[1].real)


@pytest.mark.slow
@pytest.mark.parametrize("sigma, rate", PARAMETERS)
def test_moments_of_a_trimmed_loss(sigma: float, rate: float) -> None:
    loss = SampledGaussianLoss(sigma, rate, add=False, cut=7.0, soft=0.25)
    for order, height in ((0.7, 0.0), (4.0, 3.0)):
        power = mpmath.mpc(order + 1, height)

        def integrand(z: mpmath.mpf, power: mpmath.mpc = power) -> mpmath.mpc:
            return mpmath.npdf(z) * ratio(sigma, rate, z) ** power * mpmath.ncdf((7 - z) / mpmath.mpf(0.25))

        exact = mpmath.log(mpmath.quad(integrand, [-12, -6, -3, 0, 2, 4, 5, 6, 6.5, 7, 7.5, 8.5, 10]))
        heights = np.asarray([0.0, height]) if height else np.zeros(1)
        value, error = loss.line(order, heights)
        assert abs(complex(exact) - complex(value[-1])) <= float(error[-1]) + 1e-15


def test_what_is_trimmed_is_counted() -> None:
    loss = SampledGaussianLoss(1.0, 0.01, add=False).trimmed(1e-7, order=20.0)
    removed = mpmath.quad(
        lambda z: mpmath.npdf(z) * ratio(1.0, 0.01, z) * (1 - mpmath.ncdf((loss.cut - z) / mpmath.mpf(loss.soft))),
        [-10, 0, 3, 4, 5, 6, 7, 8, 10, 14],
    )
    assert float(removed) <= loss.infinity <= 1e-7
    assert loss.certain == 0


@pytest.mark.parametrize(
    "sigma, rate, epsilon", [(0.5, 1e-5, 1.0), (1.0, 0.01, 1.0), (0.4, 0.001, 8.0), (3.0, 0.01, 0.05)]
)
@pytest.mark.parametrize("add", [False, True])
def test_laws_lie_above_and_below(sigma: float, rate: float, epsilon: float, *, add: bool) -> None:
    loss = SampledGaussianLoss(sigma, rate, add=add)
    direction = Direction(((loss, 3),))
    epsilon = min(epsilon, 0.5 * direction.top)
    work = convolution._work(direction, 1e-9)
    assert work is not None
    work.convolve(epsilon, 0.5 * epsilon, 1e-3, 0.0)
    plan = work._plan(epsilon, 0.5 * epsilon, 1e-3, 0.0)
    assert plan is not None
    above, below = convolution._laws(loss, plan, work.sketches[0], 1e-3, None)
    points = np.linspace(0.1 * epsilon, epsilon, 101)
    exact = loss.delta(points)
    for law, sign in ((above, 1), (below, -1)):
        gaps = np.maximum(law.values - points[:, None], 0.0)
        profile = -np.expm1(-gaps) @ law.masses + (law.beyond[0] if sign > 0 else 0.0)
        assert np.all(sign * (profile - exact) >= -1e-13)
        assert np.all(np.abs(profile - exact) <= 0.05 * exact + 1e-6)
        moved = -np.expm1(-np.maximum(law.values - sign * 0.05 * epsilon - points[:, None], 0.0)) @ law.masses
        assert not np.all(sign * (moved - exact) >= -1e-13)


@pytest.mark.parametrize(
    "sigma, rate, uses, delta",
    [
        (2.0, 0.001, 2, 1e-6),
        (0.8, 0.3, 5, 1e-12),
        (1.0, 0.01, 20, 1e-8),
        (4.0, 0.02, 50, 1e-6),
        (0.6, 0.001, 100, 1e-15),
    ],
)
def test_convolution_and_contour_agree(sigma: float, rate: float, uses: int, delta: float) -> None:
    direction = Direction(((SampledGaussianLoss(sigma, rate, add=False), uses),))
    lower, upper = epsilon_interval(direction, delta)
    convolved = convolution.convolve_until(direction, 1.5 * upper, delta, delta)
    assert convolved[0] <= upper
    assert lower <= convolved[1]
    assert convolved[1] - convolved[0] <= 1e-4 * upper


@pytest.mark.parametrize("sigma, rate, uses, delta", [(0.5, 1e-5, 1_000, 1e-10), (1.2, 3e-4, 100, 1e-12)])
def test_jumps_change_nothing(sigma: float, rate: float, uses: int, delta: float) -> None:
    whole = Direction(((SampledGaussianLoss(sigma, rate, add=False), uses),))
    upper = epsilon_interval(whole, delta)[1]
    trimmed = whole.trimmed(1e-9 * delta, 10.0)
    order = search_order(trimmed, math.log(delta))
    cut = jumps.without_jumps(trimmed, upper, delta, order)
    assert cut is not trimmed
    order = search_order(cut, math.log(delta))
    where = place(cut, order, upper, math.log(delta))
    line = line_through(cut, where, upper, math.log(delta))
    if line is None:
        line = with_probe(cut, where, upper, math.log(delta), 1e-3)
    assert line is not None
    low, high = line.delta(upper)
    reference = delta_interval(whole, upper)
    assert low <= reference[1]
    assert reference[0] <= high
    # Without the jumps' share the answer would be too small.
    assert line.delta(upper)[1] - line.outside(upper)[1] < reference[0]


def test_a_published_example_is_reproduced() -> None:
    curve = p.gaussian(sigma=1).subsample(0.01) * 1_000
    lower, upper = curve.interval(delta=1e-5)
    assert lower <= 1.82823666651639456 <= upper
    assert upper - lower < 1e-8


def test_what_is_folded_from_afar_lowers_the_lower_end() -> None:
    # 1.4393112176e-5 is the integral of these two in ball arithmetic; a bound on the fold that stops at 1 is too small.
    parts = ((0.4395, 9.703e-5), (18.24, 0.0195))
    direction = Direction(tuple((SampledGaussianLoss(sigma, rate, add=False), 1) for sigma, rate in parts))
    epsilon = 0.0062333808695484855
    made = convolution.convolve_at(direction, epsilon, 1e-4)
    assert made is not None
    low, high = made.delta(epsilon)
    assert low <= 1.4393112176e-5 <= high


@pytest.mark.parametrize(
    "sigma, rate, tilt, soft, cut",
    [
        (0.358166, 5.86e-5, 240.12, 0.002, 4.402043),
        (0.5274782, 1.391e-3, 78.685, 0.002, 4.428416),
        (0.8936651, 2.1058e-3, 52.428, 0.004, 6.986541),
        (1.5, 0.05, 8.0, 0.4, 7.0),
    ],
)
def test_what_lies_outside_the_window_is_bounded(
    sigma: float, rate: float, tilt: float, soft: float, cut: float
) -> None:
    """A sharp mode at the edge is narrow, so that the bulk, left out at exp(-45) of its height, weighs more."""
    loss = SampledGaussianLoss(sigma, rate, add=False, cut=cut, soft=soft)
    low, high, _ = sampled_nodes.window(loss, tilt)
    z = np.concatenate([np.arange(-12, cut - 0.4, 0.01), np.arange(cut - 0.4, max(high, cut) + 2, soft / 5)])
    logs = tilt * loss.rough_ratio(z) - 0.5 * z * z + loss.kept(z)
    masses = np.exp(logs - logs.max()) * np.gradient(z)
    share = masses[(z < low) | (z > high)].sum() / masses.sum()
    assert share <= sampled_tail.outside(loss, tilt)


def test_delta_is_certified_where_no_float_holds_the_ratio() -> None:
    """exp(750) is beyond all floats; the line and the convolution agree there, and one of them answers."""
    truth = (p.gaussian("1.181").subsample("0.7825") * 2900).delta_interval(750)
    made = convolution.convolve_at((p.gaussian("1.181").subsample("0.7825") * 2900).directions()[0], 750.0, truth[1])
    assert made is not None
    low, high = made.delta(750.0)
    assert low <= truth[0] <= truth[1] <= high <= 1.1 * low
    low, high = (p.gaussian("1.181").subsample("0.7825") * 3600).delta_interval(750)
    assert truth[1] < 0.5 < low <= high <= 1
