"""Discreet's own samplers, from the current environment."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from benchmarks.cases import GRID_EXPONENT, Case, Family
from discreet import noise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from benchmarks.cases import Batch, Single

    Sampler = Callable[[Fraction, int], NDArray[np.int64] | NDArray[np.float64]]

DISTRIBUTIONS = ("discreet", "numpy", "cryptography")
GRID = Fraction(2) ** GRID_EXPONENT


def sampler(family: Family) -> Sampler:
    """Return the family's noise as a function of scale and size."""
    match family:
        case Family.DISCRETE_LAPLACE:
            return noise.discrete_laplace
        case Family.DISCRETE_GAUSSIAN:
            return noise.discrete_gaussian
        case Family.LAPLACE:
            return lambda scale, size: noise.laplace(scale, GRID, size)
        case Family.GAUSSIAN:
            return lambda scale, size: noise.gaussian(scale, GRID, size)


def batches(case: Case) -> Mapping[str, Batch]:
    """Return the one way: an array of draws."""
    draw, scale = sampler(case.family), Fraction(case.scale)
    return {"array": lambda n: draw(scale, n)}


def taker(family: Family, scale: Fraction) -> Single:
    """Return a call without a size, which takes one draw from the pool."""
    match family:
        case Family.DISCRETE_LAPLACE:
            return lambda: noise.discrete_laplace(scale)
        case Family.DISCRETE_GAUSSIAN:
            return lambda: noise.discrete_gaussian(scale)
        case Family.LAPLACE:
            return lambda: noise.laplace(scale, GRID)
        case Family.GAUSSIAN:
            return lambda: noise.gaussian(scale, GRID)


def single(case: Case) -> Single:
    """Return a draw from the pool."""
    return taker(case.family, Fraction(case.scale))


def references() -> Mapping[str, Batch]:
    """Nothing is timed beside the noise."""
    return {}
