"""Races: the index of the largest noisy score, and nothing else."""

from __future__ import annotations

from fractions import Fraction
from functools import cmp_to_key
from numbers import Integral
from typing import TYPE_CHECKING, overload

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Box, Number, integer, rational, shown
from discreet.noise.bits import SYSTEM, BitSource
from discreet.noise.draws import once, shape_of
from discreet.noise.families import Exponential, Gumbel, Laplace
from discreet.noise.lazy import LazyUniform
from discreet.noise.rounded import LazyDraw

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.noise.families import Family

    Scores = NDArray[np.int64] | NDArray[np.float64] | NDArray[np.object_]

__all__ = ["exact_score", "exponential_race", "gumbel_race", "laplace_race", "read_scores"]

_LARGEST_INTEGER = 1 << 62
_EXACT_IN_FLOATS = 1 << 53
_LARGEST_FRACTION = 1 << 1001


@overload
def gumbel_race(scores: ArrayLike, scale: Number, top: None = None, bits: BitSource = SYSTEM) -> int: ...
@overload
def gumbel_race(
    scores: ArrayLike, scale: Number, top: SupportsIndex, bits: BitSource = SYSTEM
) -> NDArray[np.int64]: ...
def gumbel_race(
    scores: ArrayLike, scale: Number, top: SupportsIndex | None = None, bits: BitSource = SYSTEM
) -> int | NDArray[np.int64]:
    """Return the index of the largest score + scale * Gumbel noise, exactly.

    Index i wins with probability proportional to exp(score_i / scale): with scale = 2 sensitivity / epsilon, the
    exponential mechanism (McSherry, Talwar 2007). With `top` = k, the k best in order: the same as k rounds of it,
    each without the earlier winners (Durfee, Rogers 2019, arXiv:1905.04273, Lemma 4.2).

    Scores count as they are: a float is its binary value. Noisy scores are compared by enclosures, narrowed
    until the order is certain, so scores of 1e9 with a scale of 1 or a million candidates lose nothing to rounding.

    >>> gumbel_race([0, 1000, 3], scale=1)
    1
    >>> gumbel_race([0, 1000, 2000], scale=1, top=2).tolist()
    [2, 1]
    """
    return _race(Gumbel(), scores, scale, top, bits)


@overload
def exponential_race(scores: ArrayLike, scale: Number, top: None = None, bits: BitSource = SYSTEM) -> int: ...
@overload
def exponential_race(
    scores: ArrayLike, scale: Number, top: SupportsIndex, bits: BitSource = SYSTEM
) -> NDArray[np.int64]: ...
def exponential_race(
    scores: ArrayLike, scale: Number, top: SupportsIndex | None = None, bits: BitSource = SYSTEM
) -> int | NDArray[np.int64]:
    """Return the index of the largest score + scale * exponential noise, exactly.

    With scale = 2 sensitivity / epsilon this is permute-and-flip (McKenna, Sheldon 2020, arXiv:2010.12603; that the
    two are one: Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang 2021, arXiv:2105.07260), never worse than the
    exponential mechanism.

    >>> exponential_race([0, 1000, 3], scale=1)
    1
    """
    return _race(Exponential(), scores, scale, top, bits)


@overload
def laplace_race(scores: ArrayLike, scale: Number, top: None = None, bits: BitSource = SYSTEM) -> int: ...
@overload
def laplace_race(
    scores: ArrayLike, scale: Number, top: SupportsIndex, bits: BitSource = SYSTEM
) -> NDArray[np.int64]: ...
def laplace_race(
    scores: ArrayLike, scale: Number, top: SupportsIndex | None = None, bits: BitSource = SYSTEM
) -> int | NDArray[np.int64]:
    """Return the index of the largest score + scale * Laplace noise, exactly.

    Report noisy max (Dwork, Roth 2014, Claim 3.9), with scale = 2 sensitivity / epsilon in general.

    >>> laplace_race([0, 1000, 3], scale=1)
    1
    """
    return _race(Laplace(), scores, scale, top, bits)


def _race(
    family: Family, scores: ArrayLike, scale: Number, top: SupportsIndex | None, bits: BitSource
) -> int | NDArray[np.int64]:
    values = read_scores(scores)
    spread = rational(scale, name="scale")
    if spread <= 0:
        msg = f"scale is {shown(scale)}; it must be above 0, as noise of scale 0 protects nobody."
        raise ParameterError(msg)
    wanted = 1 if top is None else integer(top, name="top", least=1, most=values.size)
    shape_of(values.size, width=80 * family.uniforms, name="the number of scores")
    winners = once(lambda: _ranked(family, values, spread, wanted, bits))
    return winners[0] if top is None else np.array(winners, dtype=np.int64)


def read_scores(scores: ArrayLike) -> Scores:
    """Read a list of finite scores, integers as integers; an array of fractions is taken as it is."""
    try:
        array = np.asarray(scores)
    except ValueError:  # rows of unequal length
        array = np.empty((0, 0))
    if array.ndim != 1 or array.size == 0:
        msg = f"scores have the shape {shown(array.shape)}; they must be a list of at least one number."
        raise ParameterError(msg)
    if array.dtype.kind == "O" and all(isinstance(each, Fraction) and abs(each) < _LARGEST_FRACTION for each in array):
        return array
    if array.dtype.kind in "iu":
        if not ((array <= _LARGEST_INTEGER) & (array >= -_LARGEST_INTEGER)).all():
            msg = "scores reach beyond 2**62; divide them and their sensitivity by a common factor."
            raise ParameterError(msg)
        return array.astype(np.int64)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8 or not np.isfinite(array).all():
        msg = "scores must be finite floats or integers of at most 64 bits; give impossible candidates a low score."
        raise ParameterError(msg)
    if not isinstance(scores, np.ndarray) and any(_rounds(each) for each in scores):  # type: ignore[union-attr]
        msg = "scores mix floats with integers beyond 2**53, which floats would round; write all of them as integers."
        raise ParameterError(msg)
    return array.astype(np.float64)


def exact_score(score: Fraction | np.int64 | np.float64) -> Fraction:
    """Return the value of one score.

    >>> exact_score(np.float64(0.5)), exact_score(Fraction(1, 3))
    (Fraction(1, 2), Fraction(1, 3))
    """
    return score if isinstance(score, Fraction) else Fraction(score.item())


def _rounds(score: object) -> bool:
    return isinstance(score, Integral) and abs(int(score)) > _EXACT_IN_FLOATS


def _ranked(
    family: Family,
    scores: Scores,
    scale: Fraction,
    wanted: int,
    bits: BitSource,
) -> list[int]:
    """Rank the noisy scores, (score - largest score) / scale + noise, as far as asked for."""
    words = bits.words64(family.uniforms * scores.size).reshape(family.uniforms, scores.size)
    largest = scores.max()
    with np.errstate(all="ignore"):  # an entry that floats cannot bound is settled exactly
        behind = Box.of(scores.astype(np.float64)) - Box.of(np.array(float(largest)))
        if scores.dtype != np.float64:  # the difference is exact, its float is the nearest
            behind = Box.of((scores - largest).astype(np.float64)) + Box.of(np.zeros(1))
        keys = behind.scaled(1 / scale) + family.value([Box.of_words(row) for row in words])
        low, high = np.nan_to_num(keys.lo, nan=-np.inf), np.nan_to_num(keys.hi, nan=np.inf, posinf=np.inf)
    bar = np.partition(low, low.size - wanted)[low.size - wanted]
    runners = np.flatnonzero(high >= bar)  # everyone else is below at least `wanted` others for certain
    draws = {int(i): LazyDraw(family, [LazyUniform(bits, int(row[i]), 64) for row in words]) for i in runners}
    first = exact_score(largest)
    lead = {i: (exact_score(scores[i]) - first) / scale for i in draws}

    def compare(i: int, j: int) -> int:
        if low[i] > high[j] or high[i] < low[j]:
            return 1 if low[i] > high[j] else -1
        return _settle(lead[i] - lead[j], draws[i], draws[j])

    return sorted(draws, key=cmp_to_key(compare), reverse=True)[:wanted]


def _settle(lead: Fraction, one: LazyDraw, other: LazyDraw) -> int:
    """Tell the sign of lead + one - other; two continuous draws are never equal."""
    precision = 128
    while True:
        first, second = one.interval(precision), other.interval(precision)
        if lead + first.lower > second.upper:
            return 1
        if lead + first.upper < second.lower:
            return -1
        precision *= 2
