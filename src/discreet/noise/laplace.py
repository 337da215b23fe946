"""Laplace noise on a power-of-two grid, at full speed."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, overload

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, Number, rational, shown
from discreet.noise.bits import SYSTEM, BitSource, array, parts, pooled
from discreet.noise.rounded import read_grid
from discreet.noise.tables import Digits, ExponentialDecay

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["checked_ratio", "laplace", "laplace_steps"]

_LEAST, _MOST = Fraction(1, 1 << 10), Fraction(1 << 40)


def checked_ratio(scale: Number, grid: Grid, *, name: str) -> Fraction:
    """Read scale / step: from 2**-10 to 2**40, so that floats hold the noise (all but exp(-2**13) of it)."""
    size = rational(scale, name=name)
    if size <= 0:
        msg = f"{name} is {shown(scale)}; it must be above 0, as noise of scale 0 protects nobody."
        raise ParameterError(msg)
    ratio = size / grid.step
    if not _LEAST <= ratio <= _MOST:
        msg = (
            f"{name} is {shown(scale)} on a grid of {grid.step}; {name} / grid must be from 2**-10 to 2**40. "
            f"Grid.below({name}) chooses a fitting grid."
        )
        raise ParameterError(msg)
    return ratio


@overload
def laplace(scale: Number, grid: Grid | Number, size: None = None, bits: BitSource = SYSTEM) -> float: ...
@overload
def laplace(
    scale: Number, grid: Grid | Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM
) -> NDArray[np.float64]: ...
def laplace(
    scale: Number, grid: Grid | Number, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> float | NDArray[np.float64]:
    """Draw Laplace noise, density exp(-|z| / scale) / (2 scale), rounded to the nearest point of a grid, exactly.

    The law is that of the rounded real variable, with total variation distance 0. Adding it to a value on the grid
    is rounding value + noise, so epsilon = sensitivity / scale holds as for the real noise; and the float that comes
    out cannot betray the value by the gaps between floats (Mironov 2012, "On significance of the least significant
    bits"), for every output lies on the same grid whatever the value was.

    >>> noise = laplace(2, grid="1/1024", size=1000)
    >>> bool((noise * 1024 == np.rint(noise * 1024)).all())
    True
    """
    points = read_grid(grid)
    if size is None:
        return points.value(laplace_steps(scale, points, None, bits))
    return points.values(laplace_steps(scale, points, size, bits))


@overload
def laplace_steps(scale: Number, grid: Grid | Number, size: None = None, bits: BitSource = SYSTEM) -> int: ...
@overload
def laplace_steps(
    scale: Number, grid: Grid | Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM
) -> NDArray[np.int64]: ...
def laplace_steps(
    scale: Number, grid: Grid | Number, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> int | NDArray[np.int64]:
    """Draw as `laplace` does, counted in steps of the grid.

    >>> laplace_steps(2, grid="1/1024", size=3).dtype
    dtype('int64')
    """
    points = read_grid(grid)
    if size is None:
        key = (laplace, type(scale), scale, points.exponent)
        return pooled(key, lambda: _rounding(checked_ratio(scale, points, name="scale")), bits)
    return array(size, _rounding(checked_ratio(scale, points, name="scale")), bits)


@lru_cache(maxsize=64)
def _rounding(ratio: Fraction) -> _Rounding:
    return _Rounding(ratio)


class _Rounding:
    """Fill arrays with Laplace noise of a scale given in steps, rounded.

    y = floor(2 z) is a geometric variable G with ratio exp(-1 / (2 scale)) for z >= 0 and -1 - G for z < 0, each with
    probability 1/2; and the nearest integer to z is floor(z + 1/2) = floor((y + 1) / 2).
    """

    def __init__(self, ratio: Fraction) -> None:
        self._digits = Digits(ExponentialDecay(1 / (2 * ratio)), mirror=0)

    def __call__(self, out: NDArray[np.int64], bits: BitSource) -> None:
        for part in parts(out):
            self._digits(part, bits)
            np.add(part, part < _MOST_INT, out=part)
            np.right_shift(part, 1, out=part)


_MOST_INT = np.iinfo(np.int64).max
