"""Discrete Gaussian losses: the theta function against sums of many digits."""

from __future__ import annotations

from dataclasses import replace

import mpmath
import numpy as np
import pytest

from discreet.privacy.numerics.losses.discrete_gaussian import discrete_gaussian_loss
from discreet.privacy.numerics.losses.finite import FiniteLoss


def exact(sigma: float, shift: int, order: complex) -> mpmath.mpc:
    """M at one order, from the definition."""
    square, s = 2 * mpmath.mpf(sigma) ** 2, mpmath.mpc(order)
    reach = int(45 * sigma + abs(order.real) * shift) + 5
    integers = range(-reach, reach)
    whole = mpmath.fsum(mpmath.exp(-(mpmath.mpf(x) ** 2) / square) for x in integers)
    tilted = mpmath.fsum(
        mpmath.exp(-(mpmath.mpf(x) ** 2) / square + s * (shift * shift - 2 * x * shift) / square) for x in integers
    )
    return tilted / whole


@pytest.mark.parametrize("sigma, shift, real", [(2.0, 1, 3.0), (2.0, 3, 5.0), (7.5, 2, 10.0), (2.5, 1, 28.0)])
def test_moments_by_the_theta_function_are_within_their_error(sigma: float, shift: int, real: float) -> None:
    loss = discrete_gaussian_loss(sigma, shift)
    heights = np.linspace(0.0, 5.5 * np.pi * sigma**2 / shift, 12)  # nearly three periods
    values, errors = loss.line(real, heights)
    with mpmath.workdps(150):
        for height, value, error in zip(heights, values, errors, strict=True):
            truth = exact(sigma, shift, complex(real, float(height)))
            assert abs(mpmath.exp(mpmath.mpc(complex(value))) / truth - 1) <= error
        assert loss.moment(real) >= mpmath.log(exact(sigma, shift, complex(real)).real)


def test_the_list_takes_over_where_its_end_counts() -> None:
    loss = discrete_gaussian_loss(3.0, 1)
    assert isinstance(loss, FiniteLoss)
    plain = replace(loss, theta=None)  # type: ignore[call-arg]
    near, _ = loss.line(20.0, np.asarray([0.0, 1.0]))
    assert np.abs(near - plain.line(20.0, np.asarray([0.0, 1.0]))[0]).max() < 1e-10
    # at order 90 the tilted law lies beyond the list: its moment is smaller, and only the list's own may be used
    assert loss.moment(90.0) == plain.moment(90.0) < 0.5 * 90 * 91 / 9


def test_a_missing_turn_would_be_wrong() -> None:
    loss = discrete_gaussian_loss(2.0, 1)
    period = 2 * np.pi * 4.0
    values, errors = loss.line(3.0, np.asarray([0.0, 0.3, 0.3 + period]))
    odd = np.exp(values[2] - values[1])
    assert abs(odd + 1) <= 2 * (errors[1] + errors[2])  # a shift of 1 turns the sign with every period
    assert abs(odd - 1) > 1
