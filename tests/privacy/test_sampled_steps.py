"""Heights at which the integrand of a subsampled Gaussian's moment turns faster than its nodes see."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from discreet import privacy as p
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss

TRIMMED = SampledGaussianLoss(1.909, 0.009168, add=False, cut=5.310647313170263, soft=0.0827848891307235)
ADDED = SampledGaussianLoss(4.023, 1.54e-5, add=True)


def fine_moment(loss: SampledGaussianLoss, order: float, height: float, width: float) -> complex:
    """M(c + it) / M(c) by a plain sum, far finer than one turn of the integrand."""
    z = np.arange(-14.0, 14.0, width)
    ratio = loss.ratio(z)
    log = loss.exponent(order) * ratio - 0.5 * z * z + loss.kept(z)
    weights = np.exp(log - log.max())
    sign = -1 if loss.add else 1
    return complex((weights * np.exp(1j * sign * height * ratio)).sum() / weights.sum())


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss, order, heights",
    [(TRIMMED, 135.48969567295964, (2e3, 8422.966, 21057.4, 47042.3)), (ADDED, 5e5, (1e6, 1e7, 3e7))],
)
def test_line_is_within_its_error_at_every_height(
    loss: SampledGaussianLoss, order: float, heights: tuple[float, ...]
) -> None:
    values, errors = loss.line(order, np.asarray([0.0, *heights]))
    ratio = np.exp(values - values[0].real)
    for height, value, error in zip(heights, ratio[1:], errors[1:], strict=True):
        exact = fine_moment(loss, order, height, 2e-5)
        assert abs(value - exact) <= 2 * error * abs(value) + 1e-12


@pytest.mark.slow
def test_two_uses_whose_upper_end_was_below_the_truth() -> None:
    sigma, rate, delta = mpmath.mpf("1.909"), mpmath.mpf("0.009168"), 2.337e-6
    lower, upper = (p.gaussian(sigma="1.909").subsample("0.009168") * 2).interval(delta)

    def profile(y: mpmath.mpf) -> mpmath.mpf:
        if y - 1 + rate <= 0:
            return 1 - y
        z = sigma * mpmath.log((y - 1 + rate) / rate) + 1 / (2 * sigma)
        return (1 - rate - y) * mpmath.ncdf(-z) + rate * mpmath.ncdf(1 / sigma - z)

    def exact(epsilon: float) -> mpmath.mpf:
        def integrand(z: mpmath.mpf) -> mpmath.mpf:
            ratio = 1 - rate + rate * mpmath.exp(z / sigma - 1 / (2 * sigma**2))
            return mpmath.npdf(z) * ratio * profile(mpmath.exp(epsilon) / ratio)

        return mpmath.quad(integrand, [-13, *range(-10, 13), 16, 20], maxdegree=5)

    with mpmath.workdps(25):
        assert exact(upper) <= delta <= exact(lower)
    assert math.isfinite(upper)
