"""Discrete Laplace noise on the integers."""

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

__all__ = ["discrete_laplace"]


@overload
def discrete_laplace(scale: Number, size: None = None, bits: BitSource = SYSTEM) -> int: ...
@overload
def discrete_laplace(scale: Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM) -> NDArray[np.int64]: ...
def discrete_laplace(
    scale: Number, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> int | NDArray[np.int64]:
    """Draw integers z with probability proportional to exp(-|z| / scale), exactly.

    Pr[Z = z] = (1 - r) / (1 + r) * r**|z| with r = exp(-1 / scale): the two-sided geometric law of Ghosh, Roughgarden,
    Sundararajan 2009 (arXiv:0811.2841); the law that Algorithm 2 of Canonne, Kamath,
    Steinke 2020 (arXiv:2004.00010) samples. Sampled digit
    by digit (see `Digits`). A scale of sensitivity / epsilon gives epsilon-differential privacy to an integer query.

    >>> noise = discrete_laplace(10, size=1000)
    >>> noise.dtype, noise.shape
    (dtype('int64'), (1000,))
    >>> isinstance(discrete_laplace("0.5"), int)
    True
    >>> discrete_laplace(0)
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: scale is 0; it must be above 0, as noise of scale 0 protects nobody.
    """
    if size is None:
        return pooled((discrete_laplace, type(scale), scale), lambda: _digits(checked_scale(scale)), bits)
    return array(size, _digits(checked_scale(scale)), bits)


@lru_cache(maxsize=64)
def _digits(scale: Fraction) -> Digits:
    return Digits(ExponentialDecay(1 / scale), mirror=1)
