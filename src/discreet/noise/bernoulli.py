"""Coins with an exact bias: one bias for all of them, or each with its own."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, overload

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Box, Interval, Number, rational, shown
from discreet.noise.bits import BLOCK, SYSTEM, BitSource, LazyUniform, array, once, parts, pooled, shape_of, toss
from discreet.noise.tables import WeightTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

__all__ = ["bernoulli", "bernoulli_exp", "coins", "truthful"]


class _Coin:
    """Fill arrays with 1 (heads) and 0."""

    def __init__(self, table: WeightTable) -> None:
        self._table = table

    def __call__(self, out: NDArray[np.int64], bits: BitSource) -> None:
        for part in parts(out):
            part[:] = self._table.draw(part.size, bits)[0]


class _Constant:
    """Fill arrays with one value: a coin that always falls on the same side."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __call__(self, out: NDArray[np.int64], bits: BitSource) -> None:  # noqa: ARG002 - the shape of all fills
        out[:] = self._value


@overload
def bernoulli(probability: Number, size: None = None, bits: BitSource = SYSTEM) -> bool: ...
@overload
def bernoulli(probability: Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM) -> NDArray[np.bool_]: ...
def bernoulli(
    probability: Number, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> bool | NDArray[np.bool_]:
    """Draw True with exactly the given rational probability.

    >>> bernoulli("1/3", size=5).dtype, bernoulli(0), bernoulli(1)
    (dtype('bool'), False, True)
    """
    if size is None:
        return pooled((bernoulli, type(probability), probability), lambda: _rational_coin(_read(probability)), bits) > 0
    return np.asarray(array(size, _rational_coin(_read(probability)), bits) > 0)


def _read(probability: Number) -> Fraction:
    value = rational(probability, name="probability")
    if not 0 <= value <= 1:
        msg = f"probability is {shown(probability)}; it must be between 0 and 1."
        raise ParameterError(msg)
    return value


@lru_cache(maxsize=64)
def _rational_coin(probability: Fraction) -> _Coin | _Constant:
    if probability in (0, 1):
        return _Constant(int(probability))
    heads, all_sides = probability.numerator, probability.denominator

    def weights(precision: int) -> tuple[Sequence[int], Sequence[int]]:
        exact = (heads << precision, (all_sides - heads) << precision)
        return exact, exact

    return _Coin(WeightTable([1, 0], weights))


@overload
def bernoulli_exp(exponent: Number, size: None = None, bits: BitSource = SYSTEM) -> bool: ...
@overload
def bernoulli_exp(exponent: Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM) -> NDArray[np.bool_]: ...
def bernoulli_exp(
    exponent: Number, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> bool | NDArray[np.bool_]:
    """Draw True with probability exp(-exponent), exactly.

    The same law as Algorithm 1 of Canonne, Kamath, Steinke 2020 (arXiv:2004.00010), by a certified threshold.

    >>> bernoulli_exp("0.5", size=3).shape, bernoulli_exp(0)
    ((3,), True)
    """
    if size is None:
        return pooled((bernoulli_exp, type(exponent), exponent), lambda: _exp_coin(_read_exponent(exponent)), bits) > 0
    return np.asarray(array(size, _exp_coin(_read_exponent(exponent)), bits) > 0)


def _read_exponent(exponent: Number) -> Fraction:
    value = rational(exponent, name="exponent")
    if value < 0:
        msg = f"exponent is {shown(exponent)}; it must be at least 0, as exp(-exponent) is a probability."
        raise ParameterError(msg)
    return value


@lru_cache(maxsize=64)
def _exp_coin(exponent: Fraction) -> _Coin | _Constant:
    if exponent == 0:
        return _Constant(1)

    def weights(precision: int) -> tuple[Sequence[int], Sequence[int]]:
        heads = Interval.of(-exponent, precision).exp()
        one = 1 << precision
        return (heads.lo, max(0, one - heads.hi)), (heads.hi, one - heads.lo)

    return _Coin(WeightTable([1, 0], weights))


@overload
def truthful(epsilon: Number, others: Number = 1, size: None = None, bits: BitSource = SYSTEM) -> bool: ...
@overload
def truthful(
    epsilon: Number, others: Number, size: int | tuple[int, ...], bits: BitSource = SYSTEM
) -> NDArray[np.bool_]: ...
def truthful(
    epsilon: Number, others: Number = 1, size: int | tuple[int, ...] | None = None, bits: BitSource = SYSTEM
) -> bool | NDArray[np.bool_]:
    """Draw True with probability 1 / (1 + others * exp(-epsilon)), exactly: tell the truth, and not one of the others.

    What is true has weight exp(epsilon), and all that could be told instead has weight `others` together: the number of
    other answers (Warner 1965; Kairouz, Oh & Viswanath 2016, arXiv:1407.1338), or the size of what is farther away,
    over that of what is near.

    >>> truthful(1, 3, size=5).dtype, truthful(10**6), truthful(1, 0)
    (dtype('bool'), True, True)
    """
    if size is None:
        key = (truthful, type(epsilon), epsilon, type(others), others)
        return pooled(key, lambda: _truth_coin(*_read_truth(epsilon, others)), bits) > 0
    return np.asarray(array(size, _truth_coin(*_read_truth(epsilon, others)), bits) > 0)


def _read_truth(epsilon: Number, others: Number) -> tuple[Fraction, Fraction]:
    rate, weight = rational(epsilon, name="epsilon"), rational(others, name="others")
    for name, value, given in (("epsilon", rate, epsilon), ("others", weight, others)):
        if value < 0:
            msg = f"{name} is {shown(given)}; it must be at least 0."
            raise ParameterError(msg)
    return rate, weight


@lru_cache(maxsize=64)
def _truth_coin(epsilon: Fraction, others: Fraction) -> _Coin | _Constant:
    if others == 0:
        return _Constant(1)

    def weights(precision: int) -> tuple[Sequence[int], Sequence[int]]:
        fall = Interval.of(-epsilon, precision).exp()
        truth = others.denominator << precision
        return (truth, others.numerator * fall.lo), (truth, others.numerator * fall.hi)

    return _Coin(WeightTable([1, 0], weights))


def coins(
    chances: Box, which: NDArray[np.int64], exact: Callable[[int, int], Interval], bits: BitSource = SYSTEM
) -> NDArray[np.bool_]:
    """Toss a coin for each entry of `which`, True with exactly the chance at that place of the list of chances.

    `chances` encloses them by floats; `exact(place, precision)` encloses one by big integers, as closely as is asked
    for. Each toss compares its chance with a uniform real. Floats and the first 64 digits settle nearly all of them;
    for the others that very real and the chance are refined until they are apart.

    >>> from fractions import Fraction
    >>> from discreet.exact import Interval
    >>> never_and_always = Box.of(np.array([0.0, 1.0]))
    >>> coins(never_and_always, np.array([1, 0, 1]), lambda place, precision: Interval.of(place, precision)).tolist()
    [True, False, True]
    """
    (size,) = shape_of(which.size, width=1, name="the number of coins")

    def toss() -> NDArray[np.bool_]:
        heads = np.empty(size, dtype=np.bool_)
        for start in range(0, size, BLOCK):
            some = which[start : start + BLOCK]
            heads[start : start + BLOCK] = _tossed(chances, some, exact, bits)
        return heads

    return once(toss)


def _tossed(
    chances: Box, which: NDArray[np.int64], exact: Callable[[int, int], Interval], bits: BitSource
) -> NDArray[np.bool_]:
    words = bits.words64(which.size)
    reals = Box.of_words(words)
    heads: NDArray[np.bool_] = reals.hi <= chances.lo[which]
    settled = heads | (reals.lo >= chances.hi[which])  # NaN, where floats tell nothing, settles nothing
    for number in np.flatnonzero(~settled).tolist():
        place = int(which[number])
        real = LazyUniform(bits, int(words[number]), 64)
        heads[number] = toss(lambda precision, place=place: exact(place, precision), bits, real)  # type: ignore[misc]
    return heads
