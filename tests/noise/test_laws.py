"""Every sampler follows its law; every check rejects a broken sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet import noise
from tests.noise.laws import DRAWS, LAWS, Law, follows, gaussian_mass, has_moments, laplace_mass
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_draws_follow_the_law(law: Law, seed: int) -> None:
    assert law.fits(law.draw(DRAWS, ReplayBits(seed)))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_check_rejects_a_broken_sampler(law: Law, seed: int) -> None:
    assert not law.fits(law.broken(DRAWS, ReplayBits(seed)))


def never_minus_one(draws: NDArray[np.int64]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = np.where(draws == -1, 0, draws)
    return found


def shifted(draws: NDArray[np.int64]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = draws + np.arange(draws.size) % 2
    return found


def short_tail(draws: NDArray[np.int64]) -> NDArray[np.int64]:
    return draws[np.abs(draws) < 25]


@pytest.mark.parametrize("wrong", [never_minus_one, shifted, short_tail])
def test_the_check_rejects_small_faults(wrong: Callable[..., NDArray[np.int64]], seed: int) -> None:
    draws = noise.discrete_laplace(8, DRAWS, ReplayBits(seed))
    assert follows(draws, laplace_mass(8))
    assert not follows(wrong(draws), laplace_mass(8))


@pytest.mark.parametrize("scale", [0.5, 1, 10, 1e3, 1e6, 2**40, 2**56])
def test_discrete_laplace_has_its_moments(scale: float, seed: int) -> None:
    r = np.exp(-1 / scale)
    variance = 2 * r / (1 - r) ** 2 if scale < 1e4 else 2 * scale**2
    fourth = 2 * r * (1 + 10 * r + r * r) / (1 - r) ** 4 if scale < 1e4 else 24 * scale**4
    draws = noise.discrete_laplace(scale, DRAWS, ReplayBits(seed))
    assert has_moments(draws, 0, variance, fourth)
    assert not has_moments(noise.discrete_laplace(scale * 0.9, DRAWS, ReplayBits(seed)), 0, variance, fourth)


@pytest.mark.parametrize("sigma", [1, 10, 1e3, 1e6, 2**40, 2**56])
def test_discrete_gaussian_has_its_moments(sigma: float, seed: int) -> None:
    draws = noise.discrete_gaussian(sigma, DRAWS, ReplayBits(seed))
    if sigma < 1e3:
        reach = np.arange(-15 * int(sigma), 15 * int(sigma) + 1)
        mass = gaussian_mass(sigma)(reach)
        variance, fourth = (mass * reach**2.0).sum(), (mass * reach**4.0).sum()
    else:  # within exp(-1e7) of the continuous values (Canonne, Kamath, Steinke 2020, Fact 18)
        variance, fourth = sigma**2.0, 3 * sigma**4.0
    assert has_moments(draws, 0, variance, fourth)
    assert not has_moments(noise.discrete_gaussian(sigma * 0.95, DRAWS, ReplayBits(seed)), 0, variance, fourth)


def test_single_draws_follow_the_same_law(seed: int) -> None:
    bits = ReplayBits(seed)
    draws = np.array([noise.discrete_laplace(3, bits=bits) for _ in range(20_000)])
    assert follows(draws, laplace_mass(3))
    assert not follows(np.abs(draws), laplace_mass(3))
