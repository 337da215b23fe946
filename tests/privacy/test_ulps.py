"""The assumed errors of elementary functions, the fast transform and the log-moment functions, against mpmath."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mpmath as mp
import numpy as np
import pytest

from discreet.privacy.numerics import elementary
from discreet.privacy.numerics.losses.bounded_range import BoundedRangeLoss
from discreet.privacy.numerics.losses.finite import FiniteLoss, two_point
from discreet.privacy.numerics.losses.gaussian import GaussianLoss, gaussian_delta
from discreet.privacy.numerics.losses.laplace import LaplaceLoss
from discreet.privacy.numerics.losses.loss import ULP
from discreet.privacy.numerics.losses.sampled_gaussian import SampledGaussianLoss
from discreet.privacy.numerics.losses.sampled_nodes import Nodes
from discreet.privacy.numerics.transform import exponential_sums

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.numerics.losses.loss import Loss, Reals

ASSUMED = 8 * ULP
MARGIN = 2
generator = np.random.default_rng(7)


def worst(found: Reals, expected: list[mp.mpf]) -> float:
    errors = [abs(mp.mpmathify(complex(f)) - e) / abs(e) for f, e in zip(found, expected, strict=True) if e != 0]
    return float(max(errors))


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "sinh", "arctan2"])
def test_real_functions_are_within_the_assumed_error(name: str) -> None:
    mp.mp.dps = 40
    x = np.exp(generator.uniform(-30, 3, 400)) * generator.choice([-1, 1], 400)
    if name in {"log", "log1p"}:
        x = np.abs(x)
    exact = {"exp": mp.exp, "expm1": mp.expm1, "log": mp.log, "log1p": mp.log1p, "sinh": mp.sinh, "arctan2": mp.atan}
    found = np.arctan2(x, 1.0) if name == "arctan2" else getattr(np, name)(x)
    assert worst(found, [exact[name](mp.mpf(float(v))) for v in x]) <= ASSUMED / MARGIN


@pytest.mark.parametrize("name", ["erfcx", "ndtr"])
def test_special_functions_are_within_their_error(name: str) -> None:
    from scipy import special

    mp.mp.dps = 40
    x = generator.uniform(-5, 30, 300) if name == "erfcx" else generator.uniform(-30, 8, 300)
    exact = (lambda v: mp.exp(v * v) * mp.erfc(v)) if name == "erfcx" else mp.ncdf
    assert worst(getattr(special, name)(x), [exact(mp.mpf(float(v))) for v in x]) <= 2.0**-42


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e-2, 0.4, 2.0])
def test_complex_functions_near_zero(scale: float) -> None:
    mp.mp.dps = 60
    z = scale * (generator.normal(size=100) + 1j * generator.normal(size=100))
    exact: dict[str, Callable[[mp.mpc], mp.mpc]] = {
        "log1p": lambda v: mp.log(1 + v),
        "exp_minus": lambda v: mp.exp(v) - 1 - v,
        "sinhc_minus": lambda v: mp.sinh(v) / v - 1,
    }
    for name, function in exact.items():
        found = getattr(elementary, name)(z)
        assert worst(found, [function(mp.mpmathify(complex(v))) for v in z]) <= 64 * ULP, name


def test_numpy_log1p_would_not_do() -> None:
    tiny = np.array([1e-12 + 1e-9j])
    exact = mp.log(1 + mp.mpmathify(complex(tiny[0])))
    error = abs(float(np.log1p(tiny)[0].real) - exact.real) / abs(exact.real)
    ours = abs(float(elementary.log1p(tiny)[0].real) - exact.real) / abs(exact.real)
    assert ours < 1e-12
    assert error > ours


@pytest.mark.parametrize("count", [50, 5000])
def test_the_fast_transform_keeps_its_error(count: int) -> None:
    points = generator.normal(size=3000) * 4
    weights = np.exp(generator.normal(size=3000) * 3)
    sums, errors = exponential_sums(points, weights, 0.37, count)
    for k in {0, 1, count // 3, count - 1}:
        phases = [mp.mpf(0.37) * int(k) * mp.mpf(float(x)) for x in points]
        exact = mp.fsum(mp.mpf(float(w)) * mp.expj(a) for w, a in zip(weights, phases, strict=True))
        assert abs(mp.mpmathify(complex(sums[k])) - exact) <= errors[k] / MARGIN


def exact_moment(loss: Loss, s: mp.mpc) -> mp.mpc:
    """M(s) in high precision from the definition of each family."""
    if isinstance(loss, GaussianLoss):
        return mp.exp(s * (s + 1) * mp.mpf(loss.mu) ** 2 / 2)
    if isinstance(loss, LaplaceLoss):
        e = mp.mpf(loss.strength)
        return ((s + 1) * mp.exp(s * e) + s * mp.exp(-(s + 1) * e)) / (2 * s + 1)
    if isinstance(loss, BoundedRangeLoss):
        e, v = mp.mpf(loss.epsilon), s + mp.mpf(1) / 2
        return mp.sinh(v * e) / (2 * v * mp.sinh(e / 2))
    assert isinstance(loss, FiniteLoss)
    e = mp.mpf(float(loss.values[1]))
    return (mp.exp(s * e) + mp.exp(-(s + 1) * e)) / (1 + mp.exp(-e))


@pytest.mark.parametrize("make", [GaussianLoss, LaplaceLoss, BoundedRangeLoss, two_point])
@pytest.mark.parametrize("size", [1e-6, 1e-3, 0.2, 3.0])
@pytest.mark.parametrize("reach", [0.3, 4.0, 60.0])
def test_log_moments_keep_their_error(make: Callable[[float], Loss], size: float, reach: float) -> None:
    mp.mp.dps = 60
    loss = make(size)
    heights = np.array([0.0, 0.5, 3.0]) * reach
    values, errors = loss.line(reach, heights)
    for t, value, error in zip(heights, values, errors, strict=True):
        exact = exact_moment(loss, mp.mpc(reach, float(t)))
        difference = mp.exp(mp.mpmathify(complex(value)) - mp.log(exact)) - 1
        assert abs(difference) <= error + ULP * abs(complex(value))


@pytest.mark.slow
@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("sigma, rate, real", [(1.0, 0.01, 6.8), (0.3, 0.1, 0.7), (5.0, 1e-4, 30.0), (1.0, 0.01, 0.05)])
def test_log_moments_of_the_sampled_gaussian(
    add: bool,  # noqa: FBT001  a parameter of the test
    sigma: float,
    rate: float,
    real: float,
) -> None:
    mp.mp.dps = 30
    loss = SampledGaussianLoss(sigma, rate, add)
    heights = np.array([0.0, 2.0, 17.0])
    values, errors = loss.line(real, heights)
    s, q = mp.mpf(sigma), mp.mpf(rate)
    reach = 14 + (real + 1) / sigma
    pieces = [mp.mpf(i) / 2 for i in range(-2 * int(reach), 2 * int(reach) + 1)]
    for t, value, error in zip(heights, values, errors, strict=True):
        order = mp.mpc(real, float(t))
        a = -order if add else order + 1

        def integrand(z: mp.mpf, a: mp.mpc = a) -> mp.mpc:
            ratio = 1 - q + q * mp.exp(z / s - 1 / (2 * s * s))
            return mp.npdf(z) * mp.exp(a * mp.log(ratio))

        exact = mp.quad(integrand, pieces, method="gauss-legendre", maxdegree=4)  # double exponential: alike to 1e-21
        difference = mp.exp(mp.mpmathify(complex(value))) - exact
        assert abs(difference) <= (error + 4 * ULP * (1 + abs(complex(value)))) * abs(exact) + 1e-22


@pytest.mark.parametrize("mu", [1e-6, 1e-2, 0.4, 0.6, 3.0, 40.0])
def test_gaussian_profile_has_a_small_relative_error(mu: mp.mpf) -> None:
    mp.mp.dps = 60
    epsilons = np.concatenate([mu * np.linspace(-3, 30, 60), mu * mu / 2 + mu * np.linspace(-3, 12, 20)])
    m = mp.mpf(mu)
    for e, found in zip(epsilons, gaussian_delta(mu, epsilons), strict=True):
        x = mp.mpf(float(e))
        exact = mp.ncdf(m / 2 - x / m) - mp.exp(x) * mp.ncdf(-m / 2 - x / m)
        assert abs(found - exact) <= 2.0**-38 * abs(exact) + 1e-307


def test_losses_of_little_noise_are_off_by_more_than_their_own_ulps() -> None:
    """For a small sigma the exponent is a small difference of large numbers; the grant knows."""
    mp.mp.dps = 40
    loss = SampledGaussianLoss(0.3, 1e-5, add=False)
    nodes = Nodes.at(loss, 2.0, 0.0)
    sigma, rate = mp.mpf(loss.sigma), mp.mpf(loss.rate)
    exact = [mp.log1p(rate * mp.expm1(mp.mpf(float(z)) / sigma - 1 / (2 * sigma**2))) for z in nodes.z]
    errors = np.asarray([float(abs(mp.mpf(float(f)) - e)) for f, e in zip(nodes.ratio, exact, strict=True)])
    assert (MARGIN * errors <= nodes.slack).all()
    assert (errors > 2 * ULP * np.abs(nodes.ratio)).any()
