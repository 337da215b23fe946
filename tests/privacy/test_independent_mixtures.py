"""Sums of different mechanisms against an independent method: means of shifted closed-form profiles, by mpmath.

Composing a mechanism with profile D on top of a loss L gives delta(e) = E[D(e - L)]. Randomized response is two values,
Laplace noise two values and a density, and a single sampled Gaussian has a closed form, so no line, lattice or
transform is used here. Below 0 a profile is D(-x) = 1 - exp(-x) + exp(-x) D'(x), D' that of the other direction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import mpmath as mp
import pytest

from discreet import privacy as p

if TYPE_CHECKING:
    from collections.abc import Callable

    Profile = Callable[[mp.mpf], mp.mpf]


def gaussian(mu: mp.mpf, e: mp.mpf) -> mp.mpf:
    """The profile of Gaussian noise at any real e (Balle & Wang 2018)."""
    return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


def sampled(sigma: str, rate: str) -> tuple[Profile, Profile]:
    """Both profiles of one use of a sampled Gaussian: remove and add."""
    mu, q = 1 / mp.mpf(sigma), mp.mpf(rate)

    def remove(e: mp.mpf) -> mp.mpf:
        y = mp.exp(e)
        return 1 - y if y <= 1 - q else q * gaussian(mu, mp.log((y - 1 + q) / q))

    def add(e: mp.mpf) -> mp.mpf:
        y = mp.exp(e)
        rest = 1 - y * (1 - q)
        return mp.mpf(0) if rest <= 0 else rest * gaussian(mu, mp.log(y * q / rest))

    return remove, add


def with_response(profile: Profile, epsilon: str) -> Profile:
    """Compose with one binary response."""
    size = mp.mpf(epsilon)
    chance = 1 / (1 + mp.exp(-size))
    return lambda e: chance * profile(e - size) + (1 - chance) * profile(e + size)


def with_laplace(profile: Profile, scale: str) -> Profile:
    """Compose with Laplace noise: losses +-s with chances 1/2, exp(-s)/2, and a density exp(-(s - L)/2)/4 between."""
    size = 1 / mp.mpf(scale)

    def delta(e: mp.mpf) -> mp.mpf:
        cells = mp.linspace(-size, size, 7)
        inside = mp.quad(lambda loss: mp.exp((loss - size) / 2) / 4 * profile(e - loss), cells)
        return profile(e - size) / 2 + mp.exp(-size) / 2 * profile(e + size) + inside

    return delta


CASES: dict[str, tuple[tuple[str, str], Callable[[Profile], Profile]]] = {
    "responses": (("7.876", "0.001203"), lambda f: with_response(with_response(f, "0.001272"), "0.001272")),
    "a strong response": (("1.2", "0.01"), lambda f: with_response(f, "0.8")),
    "Laplace": (("4.694", "0.2758"), lambda f: with_laplace(f, "17.93")),
    "Laplace and a response": (("2", "0.05"), lambda f: with_laplace(with_response(f, "0.1"), "10")),
}
CURVES = {
    "responses": p.gaussian("7.876").subsample("0.001203") + p.randomized_response("0.001272") * 2,
    "a strong response": p.gaussian("1.2").subsample("0.01") + p.randomized_response("0.8"),
    "Laplace": p.gaussian("4.694").subsample("0.2758") + p.laplace("17.93"),
    "Laplace and a response": p.gaussian(2).subsample("0.05") + p.laplace(10) + p.randomized_response("0.1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["1e-3", "1e-8", "1e-16"])
@pytest.mark.parametrize("name", CASES)
def test_a_sum_holds_the_truth(name: str, delta: str) -> None:
    (sigma, rate), compose = CASES[name]
    both = [compose(profile) for profile in sampled(sigma, rate)]
    lower, upper = CURVES[name].interval(delta)
    assert upper - lower <= 1e-4 * max(upper, 1e-3)
    target = mp.mpf(delta)
    assert max(profile(mp.mpf(upper)) for profile in both) <= target * (1 + mp.mpf(10) ** -12)
    if lower > 0:
        assert max(profile(mp.mpf(lower)) for profile in both) >= target * (1 - mp.mpf(10) ** -12)
    low, high = CURVES[name].delta_interval(upper)
    truth = max(profile(mp.mpf(upper)) for profile in both)
    assert low <= truth <= high


def test_a_sum_without_its_response_would_be_caught() -> None:
    lower, _ = CURVES["a strong response"].interval("1e-8")
    assert max(profile(mp.mpf(lower)) for profile in sampled("1.2", "0.01")) < mp.mpf("1e-8") / 2
    assert not math.isclose(lower, p.gaussian("1.2").subsample("0.01").epsilon("1e-8"), rel_tol=1e-3)
