"""Arrays of float intervals: the fast half of lazy refinement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Box"]

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
