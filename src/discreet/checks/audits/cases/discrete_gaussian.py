"""Discrete Gaussian noise: a move in one coordinate, and the same distance spread over four, which tells more."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.checks.audits.case import Case
from discreet.checks.audits.laws import convolved, discrete_law
from discreet.mechanisms import DiscreteGaussian

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise import BitSource

__all__ = ["cases"]


def _law(mechanism: DiscreteGaussian, value: int) -> dict[int, float]:
    sigma = float(mechanism.sigma)
    return discrete_law(lambda z: math.exp(-z * z / (2 * sigma * sigma)), value, -30, 30)


def _total_law(mechanism: DiscreteGaussian, value: list[int]) -> dict[int, float]:
    """The sum of coordinates: between neighbors that move all alike, the likelihood ratio depends on it alone."""
    sigma = float(mechanism.sigma)
    one = discrete_law(lambda z: math.exp(-z * z / (2 * sigma * sigma)), 0, -20, 20)
    return {total + sum(value): chance for total, chance in convolved(one, len(value)).items()}


def _totals(mechanism: DiscreteGaussian, value: list[int], count: int, bits: BitSource) -> NDArray[np.int64]:
    """Many vectors in one call; the noise on each is the same as in calls of their own."""
    found: NDArray[np.int64] = np.asarray(mechanism.release(np.tile(value, (count, 1)), bits=bits).value).sum(axis=1)
    return found


def cases() -> tuple[Case, ...]:
    """Return the pairs."""
    tenth, four = Fraction(1, 10), ([0] * 4, [1] * 4)
    return (
        Case("a count", DiscreteGaussian(1, sigma=1), 0, 1, delta=tenth, draws=20_000, law=_law, tight=True),
        Case("a sum of up to 2", DiscreteGaussian(2, sigma=1, dimensions=1), 0, 2, delta=tenth, law=_law, tight=True),
        Case("four counts", DiscreteGaussian(2, sigma=1), *four, _totals, tenth, 20_000, _total_law),
    )
