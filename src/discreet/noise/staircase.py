"""Staircase noise on the integers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, overload

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Interval, Number, integer, rational, shown
from discreet.noise.bits import SYSTEM, BitSource, array, checked_scale, parts, pooled, uniform_integer
from discreet.noise.tables import Digits, ExponentialDecay, WeightTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction
    from typing import SupportsIndex

    from numpy.typing import NDArray

__all__ = ["staircase"]

_LIMIT = np.iinfo(np.int64).max
_WIDEST = 1 << 40


@overload
def staircase(
    epsilon: Number, sensitivity: SupportsIndex, near: SupportsIndex, size: None = None, bits: BitSource = SYSTEM
) -> int: ...
@overload
def staircase(
    epsilon: Number,
    sensitivity: SupportsIndex,
    near: SupportsIndex,
    size: int | tuple[int, ...],
    bits: BitSource = SYSTEM,
) -> NDArray[np.int64]: ...
def staircase(
    epsilon: Number,
    sensitivity: SupportsIndex,
    near: SupportsIndex,
    size: int | tuple[int, ...] | None = None,
    bits: BitSource = SYSTEM,
) -> int | NDArray[np.int64]:
    """Draw integers from the staircase law, exactly.

    For a magnitude k * sensitivity + j with 0 <= j < sensitivity the probability is proportional to exp(-k epsilon)
    where j < near, and to exp(-(k + 1) epsilon) elsewhere: steps that are `near` and `sensitivity - near` wide. Two
    outcomes at a distance of at most the sensitivity differ by at most one step, a factor exp(epsilon). Geng,
    Viswanath 2014 (arXiv:1212.1186), Theorem 7 (integer-valued queries). near = sensitivity = 1 is the discrete
    Laplace law.

    >>> staircase(1, sensitivity=4, near=2, size=10).shape
    (10,)
    """
    key = (staircase, type(epsilon), epsilon, type(sensitivity), sensitivity, type(near), near)
    if size is None:
        return pooled(key, lambda: _checked(epsilon, sensitivity, near), bits)
    return array(size, _checked(epsilon, sensitivity, near), bits)


def _checked(epsilon: Number, sensitivity: SupportsIndex, near: SupportsIndex) -> _Stairs:
    rate = rational(epsilon, name="epsilon")
    if rate <= 0:
        msg = f"epsilon is {shown(epsilon)}; it must be above 0."
        raise ParameterError(msg)
    width = integer(sensitivity, name="sensitivity", least=1, most=_WIDEST)
    first = integer(near, name="near", least=1, most=width)
    checked_scale(1 / rate, name="1 / epsilon")
    checked_scale(width / rate, name="sensitivity / epsilon")
    return _stairs(rate, width, first)


@lru_cache(maxsize=64)
def _stairs(epsilon: Fraction, sensitivity: int, near: int) -> _Stairs:
    return _Stairs(epsilon, sensitivity, near)


class _Stairs:
    """Fill arrays: a geometric number of whole periods, one of two steps, a uniform place on it, a fair sign.

    Zero would come up under both signs, so minus zero is drawn again.
    """

    def __init__(self, epsilon: Fraction, sensitivity: int, near: int) -> None:
        self._period, self._near = sensitivity, near
        self._periods = Digits(ExponentialDecay(epsilon))

        def weights(precision: int) -> tuple[Sequence[int], Sequence[int]]:
            far = Interval.of(-epsilon, precision).exp()
            rest = sensitivity - near
            return (near << precision, rest * far.lo), (near << precision, rest * far.hi)

        self._step = WeightTable([0, 1], weights) if near < sensitivity else None

    def __call__(self, out: NDArray[np.int64], bits: BitSource) -> None:
        for part in parts(out):
            left = np.arange(part.size)
            while left.size:
                magnitude = self._magnitude(left.size, bits)
                negative = bits.take(left.size) & 1 == 1
                part[left] = np.where(negative, -magnitude, magnitude)
                left = left[negative & (magnitude == 0)]

    def _magnitude(self, count: int, bits: BitSource) -> NDArray[np.int64]:
        periods = np.empty(count, dtype=np.int64)
        self._periods(periods, bits)
        place = uniform_integer(self._near, size=count, bits=bits)
        if self._step is not None:
            far = self._step.draw(count, bits)[0] == 1
            beyond = uniform_integer(self._period - self._near, size=count, bits=bits) + self._near
            place = np.where(far, beyond, place)
        most = (_LIMIT - self._period) // self._period
        whole = np.minimum(periods, most) * self._period + place
        return np.where(periods > most, _LIMIT, whole)
