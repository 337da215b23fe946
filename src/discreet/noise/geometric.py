"""Geometric noise: the number of failures before a success."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, overload

from discreet.noise.bits import SYSTEM, BitSource, array, checked_scale, pooled
from discreet.noise.tables import Digits, ExponentialDecay

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from discreet.exact import Number

__all__ = ["geometric"]


@overload
def geometric(scale: Number, size: None = None, bits: BitSource = SYSTEM) -> int: ...
@overload
def geometric(scale: Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM) -> NDArray[np.int64]: ...
def geometric(
    scale: Number, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> int | NDArray[np.int64]:
    """Draw integers g >= 0 with probability proportional to exp(-g / scale), exactly.

    This is the floor of an exponential variable of that scale, sampled digit by digit (see `Digits`).

    >>> int(geometric(2, size=100).min()) >= 0
    True
    """
    if size is None:
        return pooled((geometric, type(scale), scale), lambda: _digits(checked_scale(scale)), bits)
    return array(size, _digits(checked_scale(scale)), bits)


@lru_cache(maxsize=64)
def _digits(scale: Fraction) -> Digits:
    return Digits(ExponentialDecay(1 / scale))
