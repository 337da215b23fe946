"""Choosing one of many by noisy scores: races, whose largest key wins, and lotteries, drawn once for all candidates."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, overload

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Box, Interval, Number, integer, rational, shown
from discreet.noise.bits import SYSTEM, BitSource, LazyUniform, once, shape_of, toss, uniform_integer
from discreet.noise.families import Exponential, Gumbel, Laplace
from discreet.noise.rounded import LazyDraw

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.noise.families import Family

    Scores = NDArray[np.int64] | NDArray[np.float64] | NDArray[np.object_]
    Weights = NDArray[np.int64] | NDArray[np.float64]

__all__ = ["exact_score", "exponential_race", "gumbel_race", "laplace_race", "lotteries", "lottery", "read_scores"]

_LARGEST_INTEGER = 1 << 62
_EXACT_IN_FLOATS = 1 << 53
_LARGEST_FRACTION = 1 << 1001
_ALL_TICKETS = 61  # bits: their sum is an exact 64-bit integer
_SLACK = 2.0**-50
_FAR = 1 << 12
_FINEST = Fraction(1, 1 << 200)  # tickets for a smaller scale are those for this one, which are more
_ROUNDING = 1 + 2.0**-48  # above the three roundings (of a weight, of a product, of a power) that it covers


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
    if array.dtype.kind == "O" and all(
        isinstance(score, Fraction) and abs(score) < _LARGEST_FRACTION for score in array
    ):
        return array
    if array.dtype.kind in "iu":
        if not ((array <= _LARGEST_INTEGER) & (array >= -_LARGEST_INTEGER)).all():
            msg = "scores reach beyond 2**62; divide them and their sensitivity by a common factor."
            raise ParameterError(msg)
        return array.astype(np.int64)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8 or not np.isfinite(array).all():
        msg = "scores must be finite floats or integers of at most 64 bits; give impossible candidates a low score."
        raise ParameterError(msg)
    if not isinstance(scores, np.ndarray) and any(_rounds(score) for score in scores):  # type: ignore[union-attr]
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


def lottery(scores: ArrayLike, scale: Number, weights: ArrayLike | None = None, bits: BitSource = SYSTEM) -> int:
    """Return index i with probability proportional to weight_i * exp(score_i / scale), exactly.

    With scale = 2 sensitivity / epsilon, the exponential mechanism with a base measure (McSherry, Talwar 2007,
    "Mechanism Design via Differential Privacy", Definition 2). The law is that of `gumbel_race` with log(weight)
    added to each score, but it takes two random numbers and not one per candidate.

    Why it is exact: each candidate gets a whole number of tickets, T_i >= c weight_i exp((score_i - best) / scale), for
    one c, from certified float intervals. One ticket is drawn, uniformly among integers, and its owner is kept with
    probability c weight_i exp(…) / T_i, which a lazily revealed uniform real decides with as many digits as it takes;
    otherwise the draw is repeated. So i is returned with probability proportional to T_i times that chance, which is
    its weight times its exponential (von Neumann 1951, rejection). Candidates far below the best hold one ticket of
    2**61 / count, so that nothing underflows to "impossible".

    >>> lottery([0, 1000, 3], scale=1)
    1
    >>> lottery([5, 5], scale=1, weights=[0, 3])
    1
    """
    return lotteries(scores, scale, weights, bits=bits)[0]


def lotteries(
    scores: ArrayLike,
    scale: Number,
    weights: ArrayLike | None = None,
    counts: Sequence[int] | NDArray[np.int64] | None = None,
    bits: BitSource = SYSTEM,
) -> list[int]:
    """Return one index for each of several independent lotteries, in one pass over the scores of all.

    The first counts[0] scores and weights are those of the first lottery, the next counts[1] those of the second, and
    so on; each index is one among all scores. Each is drawn as `lottery` says: tickets, their number and coins are of
    its own.

    >>> lotteries([0, 1000, 3, 5, 5], scale=1, weights=[1, 1, 1, 0, 3], counts=[3, 2])
    [1, 4]
    """
    values = read_scores(scores)
    spread = rational(scale, name="scale")
    if spread <= 0:
        msg = f"scale is {shown(scale)}; it must be above 0, as a choice without noise protects nobody."
        raise ParameterError(msg)
    shape_of(values.size, width=80, name="the number of scores")
    sizes = np.array([values.size] if counts is None else counts, dtype=np.int64)
    if sizes.sum() != values.size or sizes.min() < 1:
        msg = f"counts are for {sizes.sum()} scores, and there are {values.size}; each lottery must have one or more."
        raise ParameterError(msg)
    starts = np.cumsum(sizes) - sizes
    return _drawn(values, spread, _read_weights(weights, values.size, starts), starts, bits)


def _read_weights(weights: ArrayLike | None, count: int, starts: NDArray[np.int64]) -> Weights | None:
    """Read weights: they are public, so a message may say that one is negative."""
    if weights is None:
        return None
    array = np.asarray(weights)
    if array.shape != (count,) or array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        msg = f"weights have the shape {shown(array.shape)}; there must be one number for each of {count} scores."
        raise ParameterError(msg)
    inside = bool((np.isfinite(array) & (array >= 0) & (array < 2.0**62)).all())
    if not inside or not np.logical_or.reduceat(array > 0, starts).all():
        msg = "weights must be finite, from 0 to 2**62, and at least one of them above 0."
        raise ParameterError(msg)
    return array.astype(np.float64) if array.dtype.kind == "f" else array.astype(np.int64)


def _drawn(
    values: Scores, scale: Fraction, weights: Weights | None, starts: NDArray[np.int64], bits: BitSource
) -> list[int]:
    best = np.maximum.reduceat(values if weights is None else np.where(weights > 0, values, values.min()), starts)
    tickets, shifts = _tickets(values, best, scale, weights, starts)
    ends: list[int] = [*starts.tolist(), values.size]
    sums = [np.cumsum(tickets[start:end]) for start, end in pairwise(ends)]

    def draw(number: int) -> int:
        total, first, shift = int(sums[number][-1]), exact_score(best[number]), shifts[number]
        while True:
            i: int = ends[number] + int(np.searchsorted(sums[number], uniform_integer(total, bits=bits), side="right"))
            behind = (first - exact_score(values[i])) / scale
            over, under = (1, 1) if weights is None else weights[i].item().as_integer_ratio()
            factor = Fraction(over << max(shift, 0), (under * int(tickets[i])) << max(-shift, 0))
            if _kept(behind, factor, bits):
                return i

    return once(lambda: [draw(number) for number in range(starts.size)])


def _kept(behind: Fraction, factor: Fraction, bits: BitSource) -> bool:
    """Toss a coin with chance factor * exp(-behind), at most 1.

    A float within `slack` of the chance settles nearly all tosses by the first 64 digits of a uniform real; that very
    real is refined for the rest. Slack: behind as a float is off by 2**-53 of itself, exp by 2**-49 (see `Box`).

    Far behind, exp(-behind) is below 2**-behind, and no number need hold it: a uniform real that shows a digit 1 within
    its first behind - log2(factor) digits is above the chance.
    """
    chance = LazyUniform(bits, bits.integer(64), 64)
    zeros = math.floor(behind) - max(0, math.ceil(factor).bit_length())
    while behind > _FAR and chance.known < zeros:
        if chance.digits:
            return False
        chance.interval(2 * chance.known)
    if behind < 600:
        near = math.exp(-float(behind)) * float(factor)
        slack, place = near * (float(behind) + 64) * _SLACK, chance.digits * 2.0**-64
        if abs(place - near) > slack + _SLACK:
            return place < near
    return toss(lambda precision: Interval.of(-behind, precision).exp().scaled(factor), bits, chance)


def _tickets(
    values: Scores, best: Scores, scale: Fraction, weights: Weights | None, starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[int]]:
    """Return whole numbers of at least 2**shift * weight * exp((score - best) / scale), and the shift of each lottery.

    Scores above `best` have a weight of 0 and get no ticket; so does everybody with a weight of 0.
    """
    counts = np.diff(starts, append=values.size)
    bests: NDArray[Any] = np.repeat(best, counts)
    with np.errstate(all="ignore"):  # what floats cannot bound counts as not behind at all, an upper bound
        if values.dtype != np.float64:  # the difference is exact, its float is the nearest
            behind = Box.of((bests - values).astype(np.float64)) + Box.of(np.zeros(1))
        else:
            behind = Box.of(bests.astype(np.float64)) - Box.of(values.astype(np.float64))
        rate = 1 / max(scale, _FINEST)
        near = np.maximum(np.nan_to_num(behind.scaled(rate).lo, nan=0.0, posinf=np.inf, neginf=0.0), 0.0)
        mass = (-Box.of(near)).exp().hi
        if weights is not None:
            mass = np.where(weights > 0, mass * weights.astype(np.float64) * _ROUNDING, 0.0)
    powers = np.frexp(np.maximum.reduceat(mass, starts))[1].tolist()
    shifts = [_ALL_TICKETS - count.bit_length() - power for count, power in zip(counts.tolist(), powers, strict=True)]
    tickets = np.maximum(np.ceil(np.ldexp(mass, np.repeat(shifts, counts))), 1.0).astype(np.int64)
    if weights is not None:
        tickets[weights == 0] = 0
    return tickets, shifts
