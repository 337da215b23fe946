"""The constants of noise for smooth sensitivity, against the divergence of the worst pairs worked out in 50 digits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import mpmath as mp
import numpy as np
import pytest
from scipy.special import logsumexp

from discreet.errors import ParameterError
from discreet.mechanisms.sensitivity.smooth_noise import (
    Law,
    SmoothNoise,
    _scaling_epsilon,
    calibrated,
    candidates,
    chosen,
)
from discreet.privacy import ZCDP, Approximate, Pure

if TYPE_CHECKING:
    from numpy.typing import NDArray

Density = Callable[[mp.mpf], mp.mpf]
PURE = [
    calibrated(law, Fraction(shape), Fraction(t) * Fraction(epsilon), Pure(epsilon))
    for epsilon in ("0.1", "1", "3")
    for law, shape, t in (
        (Law.POLYPLACE, "7.9", "1/8"),
        (Law.POLYPLACE, "3", "1/4"),
        (Law.STUDENT_T, "3", "1/10"),
        (Law.STUDENT_T, "1", "1/2"),
        (Law.CAUCHY, "4", "1/8"),
        (Law.CAUCHY, "1.5", "1/4"),
    )
]
APPROXIMATE = [
    calibrated(law, Fraction(shape), Fraction(t), Approximate(2, "0.01"))
    for law, shape, t in (
        (Law.LAPLACE, 1, "1/10"),
        (Law.GAUSSIAN, 1, "1/20"),
        (Law.LAPLACE_LOG_NORMAL, "1/4", "1/10"),
        (Law.UNIFORM_LOG_NORMAL, "4/5", "1/10"),
        (Law.ARCSINH_NORMAL, "3/4", "1/10"),
        (Law.ARCSINH_NORMAL, "1/2", "1/4"),
    )
]
CONCENTRATED = [
    calibrated(law, Fraction(shape), Fraction(t), ZCDP("0.5"))
    for law, shape, t in (
        (Law.LAPLACE_LOG_NORMAL, "1/4", "1/10"),
        (Law.UNIFORM_LOG_NORMAL, "4/5", "1/5"),
        (Law.ARCSINH_NORMAL, "3/4", "1/10"),
        (Law.POLYPLACE, "7.9", "1/8"),
    )
]


_A_LITTLE = Fraction(1, 10_000)


def real(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


_NODES = np.arange(-40, 160, 1 / 16)


def laplace_log_normal(z: float, shape: float) -> mp.mpf:
    """The trapezoidal rule in y, as logarithms of floats: 50 digits of 3,200 nodes would take minutes."""
    logs = -(_NODES**2) / 2 - shape * _NODES - abs(z) * np.exp(-shape * _NODES)
    return mp.exp(float(logsumexp(logs)) - math.log(2 * 16 * math.sqrt(2 * math.pi)))


def density(noise: SmoothNoise) -> Density:
    """The density of a family of scale 1, up to a factor for the Cauchy type."""
    k = real(noise.shape)
    laws: dict[Law, Density] = {
        Law.POLYPLACE: lambda z: (1 + abs(z) / k) ** (-k - 1) / 2,
        Law.STUDENT_T: lambda z: (1 + z * z / k) ** (-(k + 1) / 2),
        Law.CAUCHY: lambda z: 1 / (1 + abs(z) ** k),
        Law.LAPLACE: lambda z: mp.exp(-abs(z)) / 2,
        Law.GAUSSIAN: mp.npdf,
        Law.UNIFORM_LOG_NORMAL: lambda z: (
            mp.exp(k * k / 2) / 2 * (mp.erfc((mp.log(abs(z)) / k + k) / mp.sqrt(2)) / 2 if z else 1)
        ),
        Law.ARCSINH_NORMAL: lambda z: mp.npdf(mp.asinh(k * z) / k) / mp.sqrt(1 + k * k * z * z),
        Law.LAPLACE_LOG_NORMAL: lambda z: laplace_log_normal(float(z), float(noise.shape)),
    }
    return laws[noise.law]


def pairs(noise: SmoothNoise) -> Iterator[tuple[mp.mpf, mp.mpf]]:
    """Changes of scale and moves at the ends of what neighbors may do, and inside."""
    t, s = real(noise.smoothing), 1 / real(noise.stretch)
    for a in (-t, mp.mpf(0), t / 2, t):
        for part in (mp.mpf(1), mp.mpf(1) / 2):
            yield a, part * s * min(mp.mpf(1), mp.exp(a))


def largest_loss(noise: SmoothNoise) -> mp.mpf:
    """The largest log-ratio, both directions, over pairs and over points near and far."""
    with mp.workdps(50):
        f = density(noise)
        near = [mp.mpf(0)] + [mp.mpf(2) ** (mp.mpf(i) / 2) for i in range(-16, 160)]
        worst = mp.mpf(0)
        for a, b in pairs(noise):
            for z in [point for g in near for point in (g, -g, b + g, b - g)]:
                worst = max(worst, abs(mp.log(f(z)) + a - mp.log(f(mp.exp(-a) * (z - b)))))
        return worst


def largest_delta(noise: SmoothNoise, epsilon: mp.mpf) -> mp.mpf:
    """The largest of both directions' integrals of (p - exp(epsilon) q)+, by the trapezoidal rule in arcsinh(z)."""
    with mp.workdps(50):
        f, worst = density(noise), mp.mpf(0)
        points = [mp.mpf(i) / 16 for i in range(-16 * 12, 16 * 12 + 1)]
        plain = {x: f(mp.sinh(x)) for x in points}
        for a, b in pairs(noise):
            over = under = mp.mpf(0)
            for x in points:
                p, q = plain[x], mp.exp(-a) * f(mp.exp(-a) * (mp.sinh(x) - b))
                over += max(p - mp.exp(epsilon) * q, 0) * mp.cosh(x) / 16
                under += max(q - mp.exp(epsilon) * p, 0) * mp.cosh(x) / 16
            worst = max(worst, over, under)
        return worst


def largest_rho(noise: SmoothNoise) -> mp.mpf:
    """The largest D_alpha / alpha over pairs, directions and orders."""
    with mp.workdps(50):
        f, worst = density(noise), mp.mpf(0)
        points = [mp.mpf(i) / 8 for i in range(-8 * 25, 8 * 25 + 1)]
        logs = {x: mp.log(f(mp.sinh(x))) for x in points}
        for a, b in [pair for i, pair in enumerate(pairs(noise)) if i in {0, 2, 6}]:
            moved = {x: mp.log(f(mp.exp(-a) * (mp.sinh(x) - b))) - a for x in points}
            for first, second in ((logs, moved), (moved, logs)):
                for order in (mp.mpf("1.1"), mp.mpf(2), mp.mpf(8), mp.mpf(64)):
                    total = sum(mp.exp(order * first[x] + (1 - order) * second[x]) * mp.cosh(x) for x in points) / 8
                    worst = max(worst, mp.log(total) / (order - 1) / order)
        return worst


def widened(noise: SmoothNoise, factor: int) -> SmoothNoise:
    """The same with too little noise: a forgotten factor."""
    return dataclasses.replace(noise, stretch=noise.stretch / factor)


def name(noise: SmoothNoise) -> str:
    return f"{noise.law.value}-{noise.shape}-{noise.claim!r}"


@pytest.mark.slow
@pytest.mark.parametrize("noise", PURE, ids=name)
def test_pure_families_keep_epsilon(noise: SmoothNoise) -> None:
    assert isinstance(noise.claim, Pure)
    assert largest_loss(noise) <= real(noise.claim.epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("noise", PURE[:6], ids=name)
def test_the_check_sees_half_the_noise(noise: SmoothNoise) -> None:
    assert isinstance(noise.claim, Pure)
    assert largest_loss(widened(noise, 2)) > real(noise.claim.epsilon)


def test_polyplace_noise_wastes_nothing() -> None:
    """The claim is reached to eleven digits, so no smaller stretch would do."""
    for noise in PURE[6:8]:
        assert largest_loss(noise) > 1 - mp.mpf(10) ** -11


def test_a_tail_that_is_too_light_for_the_smoothing_is_refused() -> None:
    """Changing the scale by exp(t) costs tail * t far out, however much noise there is."""
    with pytest.raises(ParameterError, match="which polyplace noise keeps no such promise"):
        calibrated(Law.POLYPLACE, Fraction(8), Fraction(1, 4), Pure(1))


@pytest.mark.slow
@pytest.mark.parametrize("noise", APPROXIMATE, ids=name)
def test_approximate_families_keep_delta(noise: SmoothNoise) -> None:
    assert isinstance(noise.claim, Approximate)
    assert largest_delta(noise, real(noise.claim.epsilon)) <= real(noise.claim.delta)


@pytest.mark.slow
@pytest.mark.parametrize("noise", APPROXIMATE, ids=name)
def test_the_check_sees_a_quarter_of_the_noise(noise: SmoothNoise) -> None:
    assert isinstance(noise.claim, Approximate)
    assert largest_delta(widened(noise, 4), real(noise.claim.epsilon)) > real(noise.claim.delta)


@pytest.mark.slow
@pytest.mark.parametrize("noise", CONCENTRATED, ids=name)
def test_concentrated_families_keep_rho(noise: SmoothNoise) -> None:
    assert isinstance(noise.claim, ZCDP)
    assert largest_rho(noise) <= real(noise.claim.rho)


@pytest.mark.slow
@pytest.mark.parametrize("noise", CONCENTRATED, ids=name)
def test_the_check_sees_a_third_of_the_noise(noise: SmoothNoise) -> None:
    assert isinstance(noise.claim, ZCDP)
    assert largest_rho(widened(noise, 3)) > real(noise.claim.rho)


def test_sharper_than_the_classic_constants() -> None:
    """Nissim, Raskhodnikova, Smith 2007; Bun, Steinke 2019: same smoothing, never less noise than ours."""
    t = Fraction(1, 10)  # epsilon / (2 (gamma + 1)) at gamma = 4, for which alpha is the same
    ours = calibrated(Law.CAUCHY, Fraction(4), t, Pure(1))
    assert ours.stretch < 1 / t
    theirs = 2 * math.sqrt(3) * (Fraction(1, 4) - t)  # epsilon = (d + 1)(t + s / (2 sqrt d)) at d = 3
    assert calibrated(Law.STUDENT_T, Fraction(3), t, Pure(1)).stretch < 1 / theirs


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.1])
def test_definition_two_five_composes_to_the_corrected_delta(epsilon: float, delta: float) -> None:
    """Sliding and dilation with (epsilon/2, delta/2) each give delta (1 + exp(epsilon/2)) / 2; delta is too little.

    Three laws on two outcomes that meet both conditions with equality reach it.
    """
    grown, least = math.exp(epsilon / 2), 0.01
    middle = grown * least + delta / 2
    most = grown * middle + delta / 2

    def leak(p: float, q: float, e: float) -> float:
        return max(p - math.exp(e) * q, 0.0) + max((1 - p) - math.exp(e) * (1 - q), 0.0)

    assert leak(most, middle, epsilon / 2) <= delta / 2 * (1 + 1e-9)
    assert leak(middle, least, epsilon / 2) <= delta / 2 * (1 + 1e-9)
    true = leak(most, least, epsilon)
    assert true == pytest.approx(delta * (1 + grown) / 2, rel=1e-6)
    assert true > delta * (1 + epsilon / 5)


@pytest.mark.parametrize("claim", [Pure("0.01"), Pure(10), Approximate(1, "1e-9"), ZCDP("1e-4"), ZCDP(2)])
def test_the_choice_is_the_least_noise_of_all(claim: Pure | Approximate | ZCDP) -> None:
    root = float(claim.epsilon) if not isinstance(claim, ZCDP) else math.sqrt(2 * float(claim.rho))
    smoothing = Fraction(root) / 8
    found = candidates(claim, smoothing)
    assert found[0] == chosen(claim, smoothing)
    assert all(found[0].rms <= other.rms for other in found)
    assert {noise.law for noise in found} >= {Law.POLYPLACE, Law.STUDENT_T, Law.CAUCHY}


def test_no_noise_keeps_a_promise_below_the_smoothing() -> None:
    with pytest.raises(ParameterError, match="no noise keeps the promise"):
        chosen(Pure(1), Fraction(1))


def scaling_delta(noise: SmoothNoise, epsilon: float) -> float:
    """The exact delta of a change of scale alone, by the trapezoidal rule in arcsinh(z): the worse direction."""
    places = np.linspace(-14, 14, 100_001)
    z, k, t = np.sinh(places), float(noise.shape), float(noise.smoothing)

    def logs(value: NDArray[np.float64]) -> NDArray[np.float64]:
        if noise.law is Law.LAPLACE:
            return -np.abs(value) - math.log(2)
        normal = np.arcsinh(k * value) / k
        return -(normal**2) / 2 - math.log(2 * math.pi) / 2 - np.log1p((k * value) ** 2) / 2

    plain, widened = logs(z), logs(z * math.exp(-t)) - t
    gaps = (np.exp(a) - np.exp(epsilon + b) for a, b in ((plain, widened), (widened, plain)))
    return max(float(np.trapezoid(np.maximum(gap, 0) * np.cosh(places), places)) for gap in gaps)


@pytest.mark.parametrize("smoothing", ["1/20", "1/5", "1"])
@pytest.mark.parametrize("law, shape", [(Law.LAPLACE, "1"), (Law.ARCSINH_NORMAL, "2"), (Law.ARCSINH_NORMAL, "3/4")])
def test_a_smoothing_at_its_limit_keeps_delta(law: Law, shape: str, smoothing: str) -> None:
    """Where nearly all of epsilon goes to the change of scale, delta is used up to a few percent and no further."""
    delta = Fraction(1, 10_000)
    least = _scaling_epsilon(law, float(Fraction(shape)), float(Fraction(smoothing)), float(delta))
    noise = calibrated(law, Fraction(shape), Fraction(smoothing), Approximate(Fraction(least) * (1 + _A_LITTLE), delta))
    true = scaling_delta(noise, float(noise.claim.epsilon)) if isinstance(noise.claim, Approximate) else math.inf
    assert 0.7 < true / delta <= 1
