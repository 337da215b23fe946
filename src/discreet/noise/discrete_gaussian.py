"""Discrete Gaussian noise on the integers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, overload

from discreet.noise.bits import SYSTEM, BitSource, array, checked_scale, pooled
from discreet.noise.blocks import Blocks, Rounding

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from discreet.exact import Number

__all__ = ["discrete_gaussian"]


@overload
def discrete_gaussian(sigma: Number, size: None = None, bits: BitSource = SYSTEM) -> int: ...
@overload
def discrete_gaussian(sigma: Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM) -> NDArray[np.int64]: ...
def discrete_gaussian(
    sigma: Number, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> int | NDArray[np.int64]:
    """Draw integers z with probability proportional to exp(-z**2 / (2 sigma**2)), exactly.

    Canonne, Kamath, Steinke 2020 (arXiv:2004.00010), Definition 1: an integer query of sensitivity s with this
    noise satisfies s**2 / (2 sigma**2) zero-concentrated differential privacy (their Theorem 4). Sampled by blocks (see
    `Blocks`). Its variance is at most sigma**2 (their Corollary 9).

    >>> noise = discrete_gaussian(10, size=(2, 500))
    >>> noise.dtype, noise.shape
    (dtype('int64'), (2, 500))
    >>> isinstance(discrete_gaussian("0.5"), int)
    True
    """
    if size is None:
        key = (discrete_gaussian, type(sigma), sigma)
        return pooled(key, lambda: _blocks(checked_scale(sigma, name="sigma")), bits)
    return array(size, _blocks(checked_scale(sigma, name="sigma")), bits)


@lru_cache(maxsize=64)
def _blocks(sigma: Fraction) -> Blocks:
    return Blocks(sigma**2, Rounding.INTEGERS)
