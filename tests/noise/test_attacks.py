"""Attacks on floating-point noise: they break the textbook sampler and find nothing in ours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.exact import Grid
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Sampler = "Callable[[float, int, int], NDArray[np.float64]]"
EPSILON = 1
DRAWS = 4000
FALSE_ALARM = 1e-9


def textbook(value: float, count: int, seed: int) -> NDArray[np.float64]:
    """The Laplace mechanism as often written: value + numpy.random's laplace, in floats."""
    return value + np.random.Generator(np.random.PCG64(seed)).laplace(0.0, 1 / EPSILON, count)


def ours(value: float, count: int, seed: int) -> NDArray[np.float64]:
    """The value snapped to the noise's grid, plus noise on the grid."""
    grid = Grid("1/1048576")
    steps = grid.steps(value) + noise.laplace_steps(1, grid, count, ReplayBits(seed))
    return np.ldexp(steps.astype(np.float64), grid.exponent)


def reachable(output: float, value: float) -> bool:
    """Tell whether the textbook sampler can produce this float from this value (Mironov 2012).

    Its noise is the logarithm of a multiple of 2**-53; most floats are no such logarithm. Candidates next to
    exp(-|output - value|) are tried one by one.
    """
    middle = round(math.exp(-abs(output - value)) * 2**53)
    reach = np.arange(max(middle - 40, 1), min(middle + 40, 2**53))
    logs = np.log(reach * 2.0**-53)
    return bool(((value + logs == output) | (value - logs == output)).any())


def porous(outputs: NDArray[np.float64]) -> float:
    """How often an output is possible for the value 1 and impossible for the value 0."""
    return float(np.mean([reachable(y, 1.0) and not reachable(y, 0.0) for y in outputs]))


def precise(outputs: NDArray[np.float64]) -> float:
    """How often an output has bits below 2**-53: 1 + noise, rounded to a float, has none (Haney et al. 2022)."""
    scaled = np.ldexp(outputs, 53)
    return float(np.mean((scaled != np.rint(scaled)) & (np.abs(outputs) < 1)))


def refuted(high: float, low: float) -> float:
    """The largest epsilon that the two frequencies of one event refute, each bounded at half the false alarm."""
    top = stats.beta.ppf(FALSE_ALARM / 2, max(high * DRAWS, 1e-9), DRAWS - high * DRAWS + 1)
    bottom = stats.beta.ppf(1 - FALSE_ALARM / 2, low * DRAWS + 1, DRAWS - low * DRAWS)
    return float(np.log(max(top, 1e-300) / bottom))


ATTACKS = {"porous set": (porous, 1.0, 0.0), "precision": (precise, 0.0, 1.0)}


@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_breaks_the_textbook_sampler(name: str) -> None:
    event, likely, unlikely = ATTACKS[name]
    assert event(textbook(unlikely, DRAWS, 2)) == 0
    assert refuted(event(textbook(likely, DRAWS, 1)), 0.0) > 1.5 * EPSILON


@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_finds_nothing_in_ours(name: str, seed: int) -> None:
    event, likely, unlikely = ATTACKS[name]
    high, low = event(ours(likely, DRAWS, seed)), event(ours(unlikely, DRAWS, seed + 1))
    assert refuted(high, low) <= EPSILON
    assert refuted(low, high) <= EPSILON


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -1e5])
def test_the_outputs_lie_on_one_grid_whatever_the_value(value: float, seed: int) -> None:
    outputs = ours(value, DRAWS, seed) * 2**20
    assert (outputs == np.rint(outputs)).all()


@pytest.mark.parametrize("name", ["Laplace", "Gaussian"])
def test_low_bits_of_grid_noise_are_as_uniform_as_its_density(name: str, seed: int) -> None:
    """Every residue modulo 16 occurs: the support has no holes for a porous-set attack to find."""
    draw: Callable[..., NDArray[np.int64]] = noise.laplace_steps if name == "Laplace" else noise.gaussian_steps
    residues = np.bincount(draw(1, "1/1024", 50_000, ReplayBits(seed)) % 16, minlength=16)
    assert stats.chisquare(residues).pvalue > FALSE_ALARM
    holes = np.bincount((draw(1, "1/1024", 50_000, ReplayBits(seed)) // 2 * 2) % 16, minlength=16)
    assert not stats.chisquare(holes).pvalue > FALSE_ALARM
