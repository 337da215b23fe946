"""Gaussian noise on a power-of-two grid, at full speed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, overload

import numpy as np

from discreet.noise.bits import SYSTEM, BitSource, array, pooled
from discreet.noise.blocks import Blocks, Rounding
from discreet.noise.laplace import checked_ratio
from discreet.noise.rounded import read_grid

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.exact import Grid, Number

__all__ = ["gaussian", "gaussian_steps"]

_FINE = 20  # sigma is at least 2**20 of the cells that are sampled, so a cell's inside hardly ever matters


@overload
def gaussian(sigma: Number, grid: Grid | Number, size: None = None, bits: BitSource = SYSTEM) -> float: ...
@overload
def gaussian(
    sigma: Number, grid: Grid | Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM
) -> NDArray[np.float64]: ...
def gaussian(
    sigma: Number, grid: Grid | Number, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> float | NDArray[np.float64]:
    """Draw normal noise of standard deviation sigma, rounded to the nearest point of a grid, exactly.

    This is the *continuous* Gaussian, rounded, and not the discrete Gaussian: for values on the grid it is
    post-processing of value + N(0, sigma**2), so the curve of the real Gaussian mechanism (Balle, Wang 2018,
    arXiv:1805.06530) holds. The total variation distance to the rounded real variable is 0.

    >>> noise = gaussian(2, grid="1/1024", size=1000)
    >>> bool((noise * 1024 == np.rint(noise * 1024)).all())
    True
    """
    points = read_grid(grid)
    if size is None:
        return points.value(gaussian_steps(sigma, points, None, bits))
    return points.values(gaussian_steps(sigma, points, size, bits))


@overload
def gaussian_steps(sigma: Number, grid: Grid | Number, size: None = None, bits: BitSource = SYSTEM) -> int: ...
@overload
def gaussian_steps(
    sigma: Number, grid: Grid | Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM
) -> NDArray[np.int64]: ...
def gaussian_steps(
    sigma: Number, grid: Grid | Number, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> int | NDArray[np.int64]:
    """Draw as `gaussian` does, counted in steps of the grid.

    >>> gaussian_steps(2, grid="1/1024", size=3).dtype
    dtype('int64')
    """
    points = read_grid(grid)
    if size is None:
        key = (gaussian, type(sigma), sigma, points.exponent)
        return pooled(key, lambda: _rounding(checked_ratio(sigma, points, name="sigma")), bits)
    return array(size, _rounding(checked_ratio(sigma, points, name="sigma")), bits)


@lru_cache(maxsize=64)
def _rounding(ratio: Fraction) -> _Rounding:
    return _Rounding(ratio)


class _Rounding:
    """Fill arrays with normal noise of a standard deviation given in steps, rounded.

    Sampled is y = floor(2**e z) with e >= 1; the nearest integer to z is floor(z + 1/2) =
    floor((y + 2**(e-1)) / 2**e), because flooring by a finer grid first changes no floor.
    """

    def __init__(self, ratio: Fraction) -> None:
        size = ratio.numerator.bit_length() - ratio.denominator.bit_length()
        self._finer = max(1, _FINE + 1 - size)
        self._blocks = Blocks((ratio * 2**self._finer) ** 2, Rounding.FLOORS)

    def __call__(self, out: NDArray[np.int64], bits: BitSource) -> None:
        self._blocks(out, bits)
        out += np.int64(1 << (self._finer - 1))  # the noise stays below 2**62 but for 1 in exp(2**30)
        out >>= self._finer
