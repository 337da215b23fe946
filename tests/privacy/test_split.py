"""Compositions with a large loss, taken apart from the others: sums, decay and answers against independent ones."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet import privacy as p
from discreet.privacy.numerics.losses.loss import Direction
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.losses.sampled_nodes import _turns
from discreet.privacy.numerics.solvers import ladder, questions, split
from discreet.privacy.numerics.solvers.contour import place

LOSSES = ((0.3, 1e-5, 1000), (0.5, 1e-3, 5), (2.0, 0.01, 3))


def edges(loss: SampledGaussianLoss) -> tuple[SampledGaussianLoss, SampledGaussianLoss]:
    """A trimmed loss, and what of it lies above a lower edge."""
    whole = replace(loss, cut=min(loss.z_of(1.0) + 1.0, 8.0), soft=0.2)
    return whole, replace(whole, start=min(loss.z_of(0.1), 5.0), rise=min(0.1 * loss.sigma, 0.1))


def moment(loss: SampledGaussianLoss, order: complex) -> mpmath.mpc:
    """M of the part between the edges by mpmath's own quadrature."""

    def integrand(z: mpmath.mpf) -> mpmath.mpc:
        ratio = 1 - loss.rate + loss.rate * mpmath.exp(z / loss.sigma - 0.5 / mpmath.mpf(loss.sigma) ** 2)
        kept = mpmath.ncdf((loss.cut - z) / loss.soft)
        if math.isfinite(loss.start):
            kept *= mpmath.ncdf((z - loss.start) / loss.rise)
        return mpmath.npdf(z) * ratio ** (order + 1) * kept

    low = loss.start - 10 * loss.rise if math.isfinite(loss.start) else -10.0
    high = loss.cut + 10 * loss.soft
    count = int((high - low) / (1.5 * loss.rise if math.isfinite(loss.start) else 0.2))
    return mpmath.quad(integrand, mpmath.linspace(low, high, count), method="gauss-legendre", maxdegree=3)


@pytest.mark.slow
@pytest.mark.parametrize("sigma, rate, uses", LOSSES)
def test_the_part_above_an_edge_has_the_moments_of_an_independent_quadrature(
    sigma: float, rate: float, uses: int
) -> None:
    whole, large = edges(SampledGaussianLoss(sigma, rate, add=False))
    del uses
    heights = np.asarray([0.0, 2.0])
    values, errors = large.line(2.0, heights)
    for height, value, error in zip(heights, values, errors, strict=True):
        truth = moment(large, complex(2.0, float(height)))
        assert abs(mpmath.exp(mpmath.mpc(complex(value))) / truth - 1) <= float(error) + 1e-13
    assert large.moment(2.0) < whole.moment(2.0)


@pytest.mark.slow
@pytest.mark.parametrize("sigma, rate, uses", LOSSES)
def test_the_difference_of_powers_is_within_its_error(sigma: float, rate: float, uses: int) -> None:
    whole, large = edges(SampledGaussianLoss(sigma, rate, add=False))
    heights = np.asarray([0.0, 2.0])
    values, errors = split.difference([(whole, uses)], [(large, uses)], 2.0, heights)
    with mpmath.workdps(20):
        for height, value, error in zip(heights, values, errors, strict=True):
            order = complex(2.0, float(height))
            total, part = moment(whole, order), moment(large, order)
            truth = total**uses - (total - part) ** uses
            assert abs(mpmath.exp(mpmath.mpc(complex(value))) / truth - 1) <= float(error) + 1e-9


@pytest.mark.parametrize("sigma, rate, uses", LOSSES)
@pytest.mark.parametrize("real", [1.0, 4.0])
def test_the_bound_holds_for_every_higher_node(sigma: float, rate: float, uses: int, real: float) -> None:
    whole, large = edges(SampledGaussianLoss(sigma, rate, add=False))
    for height in (1.0, 5.0, 20.0):
        bound = split.decay([(whole, uses)], [(large, uses)], real, height)
        for factor in (1.0, 1.3, 4.0):
            values, errors = split.difference(
                [(whole, uses)], [(large, uses)], real, np.asarray([0.0, factor * height])
            )
            assert bound >= float(values[1].real) - math.log1p(float(errors[1]) + 1e-9)


def test_an_edge_that_is_carried_along_for_nothing_would_be_wrong() -> None:
    """Without the growth of the lower edge off the axis the bound falls below the truth."""
    _, large = edges(SampledGaussianLoss(0.5, 1e-3, add=False))
    height = 60.0
    value, error = large.line(1.0, np.asarray([0.0, height]))
    size = float(value[1].real) - math.log1p(float(error[1]))
    assert large.tail(1.0, height) >= size

    class Free(SampledGaussianLoss):
        """An edge that costs nothing off the axis."""

        rising = 0.0

    free = Free(large.sigma, large.rate, False, large.cut, large.soft, large.start, large.rise)  # noqa: FBT003
    assert free.tail(1.0, height) < size


@pytest.mark.parametrize("sigma, rate, uses", [("0.3", "1e-5", 1000), ("0.5", "1e-3", 5), ("0.4", "0.01", 30)])
def test_answers_agree_with_the_plain_contour_and_the_convolution(
    sigma: str, rate: str, uses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    curve = p.gaussian(sigma).subsample(rate) * uses
    found = curve.interval("1e-8")
    assert found[1] - found[0] <= 1e-6 * found[1]
    monkeypatch.setattr(ladder, "split_through", lambda *_: None)
    other = curve.interval("1e-8")
    assert found[0] <= other[1] * (1 + 1e-12)
    assert other[0] <= found[1] * (1 + 1e-12)


def test_an_edge_too_high_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out without being charged, small losses that sum to epsilon would be missed."""
    curve = p.gaussian("0.4").subsample("0.01") * 30
    truth = curve.delta_interval("9")
    direction = curve.directions()[0].trimmed(1e-20, 10.0)
    where = place(direction, 2.0, 9.0, math.log(truth[1]))
    uses = [(loss, n) for loss, n in direction.parts if isinstance(loss, SampledGaussianLoss)]
    high = split.small_losses(uses, 4.0, 0.1)
    large = [
        (replace(loss, start=edge.cut, rise=edge.soft), n) for (loss, n), (edge, _) in zip(uses, high, strict=True)
    ]
    monkeypatch.setattr(split, "_edge", lambda *_: (large, (0.0, -math.inf)))
    contour = split.split_through(direction, where, 9.0, math.log(truth[1]))
    assert contour is not None
    assert contour.delta(9.0)[1] < truth[0]
    order = 10.0
    value = Direction(tuple(high)).moment(order)
    monkeypatch.setattr(split, "_edge", lambda *_: (large, (order, value)))
    charged = split.split_through(direction, where, 9.0, math.log(truth[1]))
    assert charged is not None
    assert charged.delta(9.0)[1] >= truth[0]


def test_waves_by_blocks_are_within_their_error() -> None:
    rng = np.random.default_rng(3)
    values, weights = rng.normal(size=300) * 3, rng.random(300) ** 8
    heights = 0.37 * np.arange(150)
    sums, errors = _turns(values, weights, np.zeros(300), heights)
    with mpmath.workdps(30):
        for k in (0, 1, 7, 12, 77, 149):
            phases = [mpmath.mpf(float(heights[1])) * k * mpmath.mpf(float(v)) for v in values]
            truth = mpmath.fsum(
                mpmath.mpf(float(w)) * mpmath.expm1(1j * phase) for w, phase in zip(weights, phases, strict=True)
            )
            assert 2 * abs(mpmath.mpc(complex(sums[k])) - truth) <= float(errors[k]) or k == 0
            assert float(errors[k]) < 1e-11
    assert sums[0] == 0
    assert errors[0] == 0


def test_a_guess_that_is_too_low_is_corrected(monkeypatch: pytest.MonkeyPatch) -> None:
    curve = p.gaussian(1).subsample("0.001") * 10
    plain = curve.interval(Fraction(1, 10**6))
    monkeypatch.setattr(questions, "jump_guess", lambda _direction, upper, _delta: 0.3 * upper)
    low, high = curve.interval(Fraction(1, 10**6))
    assert low <= plain[1]
    assert plain[0] <= high
    assert high - low <= 1e-6 * high
