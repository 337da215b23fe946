"""Intervals that hold the truth: of one number by big integers, and of arrays of numbers by floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError, PrecisionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Box", "Interval"]


def _ceil_shift(value: int, bits: int) -> int:
    return -(-value >> bits)


@dataclass(frozen=True, slots=True)
class Interval:
    """The real numbers from lo / 2**precision to hi / 2**precision, both included.

    Sums, products, quotients, roots and the elementary functions return intervals that contain every
    value the operation can take on its operands (Moore, Kearfott, Cloud 2009, "Introduction to Interval
    Analysis"). Lower ends are rounded down, upper ends up, so the enclosure survives any chain of operations;
    a wider precision only makes it narrower. All operands of one operation have one precision.

    >>> third = Interval.of(Fraction(1, 3), precision=8)
    >>> third
    Interval(lo=85, hi=86, precision=8)
    >>> third.contains(Fraction(1, 3)), (third * third).contains(Fraction(1, 9))
    (True, True)
    """

    lo: int
    hi: int
    precision: int

    @staticmethod
    def of(value: Fraction | int, precision: int) -> Interval:
        """Enclose a rational number."""
        numerator, denominator = value.numerator << precision, value.denominator
        return Interval(numerator // denominator, -(-numerator // denominator), precision)

    def constant(self, value: Fraction | int) -> Interval:
        """Enclose a rational number at this interval's precision."""
        return Interval.of(value, self.precision)

    def contains(self, value: Fraction) -> bool:
        """Tell whether a rational number lies inside."""
        return self.lower <= value <= self.upper

    @property
    def lower(self) -> Fraction:
        """The lower end as a fraction."""
        return Fraction(self.lo, 1 << self.precision)

    @property
    def upper(self) -> Fraction:
        """The upper end as a fraction."""
        return Fraction(self.hi, 1 << self.precision)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lo + other.lo, self.hi + other.hi, self.precision)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.lo - other.hi, self.hi - other.lo, self.precision)

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo, self.precision)

    def __mul__(self, other: Interval) -> Interval:
        if self.lo >= 0 and other.lo >= 0:
            least, most = self.lo * other.lo, self.hi * other.hi
        else:
            corners = (self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi)
            least, most = min(corners), max(corners)
        return Interval(least >> self.precision, _ceil_shift(most, self.precision), self.precision)

    def __truediv__(self, other: Interval) -> Interval:
        if other.lo <= 0 <= other.hi:
            msg = "the divisor's interval holds zero; ask for a higher precision."
            raise PrecisionError(msg)
        p = self.precision
        tops = (self.lo << p, self.hi << p)
        least = min(top // bottom for top in tops for bottom in (other.lo, other.hi))
        most = max(-(-top // bottom) for top in tops for bottom in (other.lo, other.hi))
        return Interval(least, most, p)

    def scaled(self, factor: Fraction) -> Interval:
        """Multiply by a rational number, without rounding the factor first."""
        ends = (self.lo * factor.numerator, self.hi * factor.numerator)
        d = factor.denominator
        return Interval(min(ends) // d, -(-max(ends) // d), self.precision)

    def exp(self) -> Interval:
        """The exponential function."""
        return Interval(_exp(self.lo, self.precision)[0], _exp(self.hi, self.precision)[1], self.precision)

    def log(self) -> Interval:
        """The natural logarithm; the interval must lie above zero."""
        if self.lo <= 0:
            msg = "the logarithm's interval reaches zero; ask for a higher precision."
            raise PrecisionError(msg)
        return Interval(_log(self.lo, self.precision)[0], _log(self.hi, self.precision)[1], self.precision)

    def sqrt(self) -> Interval:
        """The square root; a lower end below zero counts as zero."""
        low = isqrt(max(self.lo, 0) << self.precision)
        return Interval(low, 1 + isqrt(max(self.hi, 0) << self.precision), self.precision)

    def power(self, exponent: Fraction) -> Interval:
        """A rational power of a positive interval."""
        return self.log().scaled(exponent).exp()

    def sinh(self) -> Interval:
        """The hyperbolic sine, (e**x - e**-x) / 2; it increases, so the ends go to the ends."""
        grown, shrunk = self.exp(), (-self).exp()
        return Interval((grown.lo - shrunk.hi) >> 1, _ceil_shift(grown.hi - shrunk.lo, 1), self.precision)

    def cos_turn(self) -> Interval:
        """The cosine of 2*pi*x, for x counted in turns.

        |cos(2 pi a) - cos(2 pi b)| <= 2 pi |a - b| <= 7 |a - b|, so one evaluation at the lower end, widened,
        encloses the whole range.
        """
        slack = 7 * (self.hi - self.lo)
        low, high = _cos_turn(self.lo, self.precision)
        return Interval(low - slack, high + slack, self.precision)


_INVERSE_LN2 = 6_497_320_848_556_798  # 2**52 / ln 2, rounded
_LARGEST_BINARY_EXPONENT = 1 << 20
_GUARD = 32  # extra working bits; each kernel below loses fewer than 2**20 units of its last place


@lru_cache(maxsize=64)
def _ln2(p: int) -> tuple[int, int]:
    """Enclose ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)."""
    (a, b), (c, d), (e, f) = (_arc(n, p + _GUARD, 1) for n in (26, 4801, 8749))
    return (18 * a - 2 * d + 8 * e) >> _GUARD, _ceil_shift(18 * b - 2 * c + 8 * f, _GUARD)


@lru_cache(maxsize=64)
def _pi(p: int) -> tuple[int, int]:
    """Enclose pi = 16 atan(1/5) - 4 atan(1/239) (Machin)."""
    (a, b), (c, d) = (_arc(n, p + _GUARD, -1) for n in (5, 239))
    return (16 * a - 4 * d) >> _GUARD, _ceil_shift(16 * b - 4 * c, _GUARD)


def _arc(n: int, p: int, sign: int) -> tuple[int, int]:
    """Enclose atanh(1/n) (sign 1) or atan(1/n) (sign -1): the sum of sign**i / ((2i+1) n**(2i+1)).

    Each of the terms + 1 divisions pairs loses less than 2 units; what is left out is below one unit.
    """
    power, total, i = (1 << p) // n, 0, 0
    while power:
        total += (sign**i) * (power // (2 * i + 1))
        power //= n * n
        i += 1
    loss = 2 * i + 4
    return total - loss, total + loss


def _exp(x: int, p: int) -> tuple[int, int]:
    """Enclose exp(x / 2**p) in units of 2**-p.

    x = k ln 2 + r with 0 <= r < ln 2 + tiny, s = r / 2**m, a Taylor sum for exp(s), m squarings, a shift by k.
    """
    k = (x * _INVERSE_LN2 >> 52) >> p  # floor of x / ln 2, or one off it; both are covered below
    if k < -p - 2:
        return 0, 1  # exp(x) <= 2**(k + 2) < 2**-p
    if k > _LARGEST_BINARY_EXPONENT:
        msg = f"the exponential would exceed 2**{_LARGEST_BINARY_EXPONENT}; scale the exponent down."
        raise ParameterError(msg)
    m = 8
    w = p + max(k, 0) + m + _GUARD
    lift = w - p
    ln2 = _ln2(w)
    ends = (k * ln2[0], k * ln2[1])
    low, high = (x << lift) - max(ends), (x << lift) - min(ends)
    low, high = _taylor(low >> m, w)[0], _taylor(_ceil_shift(high, m), w)[1]
    for _ in range(m):
        low, high = low * low >> w, _ceil_shift(high * high, w)
    shift = lift - k
    return low >> shift, _ceil_shift(high, shift)


def _taylor(s: int, w: int) -> tuple[int, int]:
    """Enclose exp(s / 2**w) for |s| < 2**(w - 6).

    With |s| / 2**w <= 1/64 a term's error e_i <= e_(i-1)/64 + 2 < 3 units, and the terms left out sum to less
    than 2 units once a term is 0 or -1 (floor division never lets a negative term reach zero).
    """
    term = total = 1 << w
    i = 0
    while term not in (0, -1):
        i += 1
        term = (term * s >> w) // i
        total += term
    loss = 3 * i + 4
    return total - loss, total + loss


def _log(x: int, p: int) -> tuple[int, int]:
    """Enclose log(x / 2**p) in units of 2**-p, x > 0.

    x / 2**p = y 2**e with 1 <= y < 2; eight square roots bring y to a <= 2**(1/256); log y = 256 * 2 atanh t with
    t = (a - 1) / (a + 1) <= 0.0014.
    """
    e = x.bit_length() - 1 - p
    roots = 8
    w = p + abs(e).bit_length() + roots + _GUARD
    shift = w - p - e
    low = x << shift if shift >= 0 else x >> -shift
    high = x << shift if shift >= 0 else _ceil_shift(x, -shift)
    for _ in range(roots):
        low, high = isqrt(low << w), isqrt(high << w) + 1
    one = 1 << w
    low, high = _atanh(((low - one) << w) // (low + one), w)[0], _atanh(-((one - high << w) // (high + one)), w)[1]
    ln2 = _ln2(w)
    low, high = (low << roots + 1) + e * ln2[e < 0], (high << roots + 1) + e * ln2[e >= 0]
    return low >> w - p, _ceil_shift(high, w - p)


def _atanh(t: int, w: int) -> tuple[int, int]:
    """Enclose atanh(t / 2**w) = sum of t**(2i+1)/(2i+1) for 0 <= t < 2**(w - 9); each term loses below 3 units."""
    square, power, total, i = t * t >> w, t, 0, 0
    while power > 0:
        total += power // (2 * i + 1)
        power = power * square >> w
        i += 1
    return total, total + 3 * i + 4


def _cos_turn(x: int, p: int) -> tuple[int, int]:
    """Enclose cos(2 pi x / 2**p) in units of 2**-p.

    The turn is folded exactly onto [0, 1/4] by cos(2 pi (1 - u)) = cos(2 pi u) and cos(2 pi (1/2 - u)) = -cos(2 pi u);
    then the alternating series in theta = 2 pi u <= pi/2.
    """
    one = 1 << p
    u = x % one
    u = min(u, one - u)
    negative = 4 * u > one
    if negative:
        u = (one >> 1) - u
    w = p + _GUARD
    pi = _pi(w)
    theta = (2 * u * pi[0] >> p, _ceil_shift(2 * u * pi[1], p))
    # cos decreases on [0, pi/2]; its slope is at most 1, so theta's width is added instead of a second evaluation
    loss = theta[1] - theta[0]
    square, term, total, i = theta[0] * theta[0] >> w, 1 << w, 0, 0
    while term:
        total += -term if i % 2 else term
        term = (term * square >> w) // ((2 * i + 1) * (2 * i + 2))
        i += 1
    loss += 16 * i + 16  # theta**2 < 2.5 lets an early term's error grow at most fivefold before the factorials win
    low, high = total - loss, total + loss
    if negative:
        low, high = -high, -low
    return low >> _GUARD, _ceil_shift(high, _GUARD)


_SLACK = 2.0**-46
"""Relative widening after each operation.

Assumed of NumPy: + - * / and sqrt are correctly rounded (2**-53); exp, log, sinh and cos are within 16 units in
the last place (2**-49) of the true value for the float that they are given. 2**-46 is eight times that. The tests
compare all of them with 60-digit values.
"""
_TINY = 2.0**-1000
_SMALLEST = Fraction(1, 1 << 900)
_TURN = 2 * np.pi


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """One closed interval of reals per array entry; every operation encloses the true result.

    It offers the same operations as `Interval`, so that one formula serves both: floats settle nearly all entries
    at the speed of NumPy, and the few whose interval is too wide are done again with big integers. An entry that
    floats cannot bound (an overflow, a logarithm at zero) becomes infinite or NaN, which no comparison
    with a finite bound can mistake for settled.

    >>> box = Box.of(np.array([0.5, 2.0])).log().exp()
    >>> bool(np.all(box.lo <= [0.5, 2.0]) and np.all(box.hi >= [0.5, 2.0])), float(np.max(box.hi - box.lo)) < 1e-12
    (True, True)
    """

    lo: NDArray[np.float64]
    hi: NDArray[np.float64]

    @staticmethod
    def of(values: NDArray[np.float64]) -> Box:
        """Hold floats exactly."""
        return Box(values, values)

    @staticmethod
    def of_words(words: NDArray[np.uint64]) -> Box:
        """Enclose uniform reals of which the first 64 bits are known: from w to w + 1, over 2**64."""
        value = words.astype(np.float64) * 2.0**-64  # rounded to nearest: off by at most 2**-53 of itself
        return Box(value * (1 - 2.0**-52), value * (1 + 2.0**-52) + 2.0**-64)

    def constant(self, value: Fraction | int) -> Box:
        """Enclose a rational number in every entry."""
        if not _moderate(value):
            return Box(np.array(-np.inf), np.array(np.inf))
        number = np.array(float(value))
        return _outward(number, number)

    def __add__(self, other: Box) -> Box:
        return _outward(self.lo + other.lo, self.hi + other.hi)

    def __sub__(self, other: Box) -> Box:
        return _outward(self.lo - other.hi, self.hi - other.lo)

    def __neg__(self) -> Box:
        return Box(-self.hi, -self.lo)

    def __mul__(self, other: Box) -> Box:
        a, b, c, d = self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi
        return _outward(np.minimum(np.minimum(a, b), np.minimum(c, d)), np.maximum(np.maximum(a, b), np.maximum(c, d)))

    def __truediv__(self, other: Box) -> Box:
        a, b, c, d = self.lo / other.lo, self.lo / other.hi, self.hi / other.lo, self.hi / other.hi
        bad = (other.lo <= 0) & (other.hi >= 0)
        low = np.minimum(np.minimum(a, b), np.minimum(c, d))
        high = np.maximum(np.maximum(a, b), np.maximum(c, d))
        return _outward(np.where(bad, -np.inf, low), np.where(bad, np.inf, high))

    def scaled(self, factor: Fraction) -> Box:
        """Multiply by a rational number."""
        if not _moderate(factor):  # its float would be rounded without measure: leave everything open
            return Box(np.full_like(self.lo, -np.inf), np.full_like(self.hi, np.inf))
        number = float(factor)
        a, b = self.lo * number, self.hi * number
        return _outward(np.minimum(a, b), np.maximum(a, b))

    def total(self) -> Box:
        """The sum over the last axis, which stays with length one.

        Adding n floats in any order is off by less than n 2**-53 times the sum of their magnitudes (Higham 2002,
        "Accuracy and Stability of Numerical Algorithms", Section 4.2). Summed in blocks of about sqrt(n), the longest
        chain has at most 2 sqrt(n) + 3 additions; four times the bound for that is added here.
        """
        count = self.lo.shape[-1]
        width = max(1, math.isqrt(count))
        starts = np.arange(0, count, width)

        def chained(values: NDArray[np.float64]) -> NDArray[np.float64]:
            total: NDArray[np.float64] = np.add.reduceat(values, starts, axis=-1).sum(axis=-1, keepdims=True)
            return total

        slack = (2 * width + 4) * 2.0**-51 * chained(np.maximum(np.abs(self.lo), np.abs(self.hi)))
        return _outward(chained(self.lo) - slack, chained(self.hi) + slack)

    def exp(self) -> Box:
        """The exponential function."""
        box = _outward(np.exp(self.lo), np.exp(self.hi))
        return Box(np.maximum(box.lo, 0.0), box.hi)

    def log(self) -> Box:
        """The natural logarithm; minus infinity where the interval reaches zero.

        Near 1 the logarithm is small while its argument's rounding is not; the arguments here are intervals
        that already carry that rounding, and log itself is accurate relative to its own result.
        """
        return _outward(np.log(np.maximum(self.lo, 0.0)), np.log(np.maximum(self.hi, 0.0)))

    def sqrt(self) -> Box:
        """The square root; a lower end below zero counts as zero."""
        return _outward(np.sqrt(np.maximum(self.lo, 0.0)), np.sqrt(np.maximum(self.hi, 0.0)))

    def power(self, exponent: Fraction) -> Box:
        """A rational power of a positive interval."""
        return self.log().scaled(exponent).exp()

    def sinh(self) -> Box:
        """The hyperbolic sine."""
        return _outward(np.sinh(self.lo), np.sinh(self.hi))

    def cos_turn(self) -> Box:
        """The cosine of 2*pi*x, widened by an absolute 2**-44 and the interval's own width.

        For |x| <= 2 the product 2*pi*x is off by less than 2**-48, and the cosine's slope is at most one.
        """
        center = np.cos(_TURN * self.lo)
        slack = 2.0**-44 + 7 * (self.hi - self.lo)
        return Box(center - slack, center + slack)


def _moderate(value: Fraction | int) -> bool:
    """Tell whether a number, or its inverse, is far from the ends of the range of floats."""
    return value == 0 or _SMALLEST <= abs(Fraction(value)) <= 1 / _SMALLEST


def _outward(lo: NDArray[np.float64], hi: NDArray[np.float64]) -> Box:
    return Box(lo - (np.abs(lo) * _SLACK + _TINY), hi + (np.abs(hi) * _SLACK + _TINY))
