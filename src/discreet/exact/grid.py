"""Fixed-point arithmetic on a power-of-two grid: sums that do not depend on the order of the rows."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.rational import Number, integer, rational, shown
from discreet.exact.rounding import float_down, float_up, sqrt_upper

if TYPE_CHECKING:
    from typing import SupportsFloat

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Grid"]

_LARGEST_STEPS = 2**62
_EXACT_IN_FLOATS = 2**53
_FINEST, _COARSEST = -1000, 900  # 2**62 steps of either are far from the ends of the range of floats


@dataclass(frozen=True, slots=True)
class Grid:
    """The multiples of a power of two.

    Floats on the grid are integers times `step`, so they are clamped, summed and given noise as integers:
    nothing is rounded after the snap, and the order of the rows never changes a sum (the sensitivity
    of a float sum is not what the textbook says: Casacuberta, Shoemate, Vadhan, Wagaman 2022, arXiv:2207.10635).

    What snapping does to sensitivity, as exact numbers:

    - rows snapped *before* summing, to snapped bounds: nothing. The sum of integers in [lower, upper] moves by
      at most max(|lower|, |upper|) if one row is added or removed, by upper - lower if one row is changed to another,
      and by max(|lower|, |upper|, upper - lower) if a changed row may become NaN, which counts as no row.
    - d coordinates snapped *after* summing: each lands within step/2 of its value, so the distance of two
      neighbors grows by at most step per coordinate: d*step in L1, sqrt(d)*step in L2.

    >>> cents = Grid("1/64")
    >>> cents.sum([0.5, 0.25, 7.0, float("-inf")], lower=-1, upper=1)
    Fraction(3, 4)
    >>> cents.rounding_l1(dimensions=3)
    Fraction(3, 64)
    """

    step: Fraction

    def __init__(self, step: Number) -> None:
        # A float that is a power of two is meant as one, though 2.0**-30 prints as a decimal that is not quite it.
        size = Fraction(step) if isinstance(step, float) and math.frexp(step)[0] == 0.5 else rational(step, name="step")
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        if size <= 0 or size != Fraction(2) ** exponent or not _FINEST <= exponent <= _COARSEST:
            msg = (
                f"step is {shown(step)}; it must be a power of two from 2**{_FINEST} to 2**{_COARSEST}, such as 2**-10."
            )
            raise ParameterError(msg)
        object.__setattr__(self, "step", size)

    @staticmethod
    def below(scale: Number, *, bits: int = 10) -> Grid:
        """Choose the largest power of two that is at most scale / 2**bits; the scale must be public.

        >>> Grid.below(3, bits=1).step
        Fraction(1, 1)
        """
        size = rational(scale, name="scale")
        if size <= 0:
            msg = f"scale is {shown(scale)}; it must be above 0."
            raise ParameterError(msg)
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        if Fraction(2) ** exponent > size:
            exponent -= 1
        wanted = exponent - integer(bits, name="bits", least=0, most=-_FINEST)
        if not _FINEST <= wanted <= _COARSEST:
            msg = f"scale is {shown(scale)}; no grid from 2**{_FINEST} to 2**{_COARSEST} is 2**-{bits} of it."
            raise ParameterError(msg)
        return Grid(Fraction(2) ** wanted)

    def steps(self, value: Number, *, name: str = "value") -> int:
        """Round a number to the nearest grid point, halves to even, and count it in steps.

        >>> Grid("0.25").steps(0.9)
        4
        """
        return round(rational(value, name=name) / self.step)

    def snap(self, values: ArrayLike) -> NDArray[np.int64]:
        """Round finite floats to their nearest grid points, counted in steps.

        Dividing by a power of two is exact unless it leaves the range of floats; results beyond 2**62 steps
        are refused, so nothing wraps.
        """
        array = _floats(values)
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.rint(np.ldexp(array, -self.exponent))
        if scaled.size and not np.all(np.abs(scaled) <= _LARGEST_STEPS):  # NaN fails the comparison too
            msg = f"values hold NaN, an infinity or a number beyond 2**62 steps of {self.step}; clamp them first."
            raise ParameterError(msg)
        return scaled.astype(np.int64)

    @property
    def exponent(self) -> int:
        """The k of step = 2**k."""
        return self.step.numerator.bit_length() - self.step.denominator.bit_length()

    def clamp(self, values: ArrayLike, *, lower: Number, upper: Number) -> NDArray[np.int64]:
        """Clamp to the snapped bounds and snap, counted in steps; infinities go to the bounds, NaN is left out.

        >>> Grid(1).clamp([-5.0, 0.4, float("nan"), float("inf")], lower=0, upper=10)
        array([ 0,  0, 10])
        """
        low, high = self.bounds(lower, upper)
        array = _floats(values).ravel()
        kept = array[~np.isnan(array)]
        # Every float above the largest one that is not above the bound is above the bound itself; so on the other side.
        above, below = kept > float_down(high * self.step), kept < float_up(low * self.step)
        inside = self.snap(np.where(above | below, 0.0, kept))
        clamped: NDArray[np.int64] = np.where(above, high, np.where(below, low, inside))
        return clamped

    def bounds(self, lower: Number, upper: Number) -> tuple[int, int]:
        """Snap a pair of bounds; sensitivities are computed from what this returns.

        >>> Grid(2).bounds(-1, 5)
        (0, 2)
        """
        low, high = self.steps(lower, name="lower"), self.steps(upper, name="upper")
        if rational(lower) > rational(upper):
            msg = f"lower is {shown(lower)} and upper is {shown(upper)}; lower must not be above upper."
            raise ParameterError(msg)
        if max(abs(low), abs(high)) >= _LARGEST_STEPS:
            msg = f"the bounds {shown(lower)}, {shown(upper)} reach beyond 2**62 steps; take a coarser grid."
            raise ParameterError(msg)
        return low, high

    def sum(self, values: ArrayLike, *, lower: Number, upper: Number) -> Fraction:
        """Add up clamped and snapped values exactly.

        A block of n rows is summed in 64-bit integers only where n * max(|lower|, |upper|) < 2**63;
        blocks are made that small, and they are added as Python integers, so no sum can overflow.
        """
        low, high = self.bounds(lower, upper)
        counted = self.clamp(values, lower=lower, upper=upper)
        block = max(1, (2**63 - 1) // max(abs(low), abs(high), 1))
        total = sum(int(counted[start : start + block].sum()) for start in range(0, counted.size, block))
        return total * self.step

    def rounding_l1(self, dimensions: int) -> Fraction:
        """What snapping d coordinates after summing adds to an L1 sensitivity: d steps."""
        return integer(dimensions, name="dimensions", least=1) * self.step

    def rounding_l2(self, dimensions: int) -> Fraction:
        """What snapping d coordinates after summing adds to an L2 sensitivity: sqrt(d) steps, rounded up."""
        return sqrt_upper(Fraction(integer(dimensions, name="dimensions", least=1))) * self.step

    def values(self, steps: ArrayLike) -> NDArray[np.float64]:
        """Return grid points as floats, each rounded to nearest beyond 2**53 steps.

        >>> Grid("1/4").values(np.array([3, -1]))
        array([ 0.75, -0.25])
        """
        points = np.array(steps, dtype=np.float64)
        points *= float(self.step)  # a power of two: no rounding
        return points

    def value(self, steps: int) -> float:
        """Return the grid point as a float, rounded to nearest beyond 2**53 steps; at most the largest float.

        >>> Grid("1/4").value(3)
        0.75
        """
        if abs(steps) <= _EXACT_IN_FLOATS:
            return math.ldexp(steps, self.exponent)
        point = steps * self.step
        most = Fraction(sys.float_info.max)
        return float(min(max(point, -most), most))


def _floats(values: ArrayLike) -> NDArray[np.float64]:
    """Read numbers as floats, None as NaN; refuse what is no number, and integers that floats would round."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = np.array([math.nan if number is None else _number(number) for number in array.flat]).reshape(
                array.shape
            )
        kind, floats = str(array.dtype.kind), array.real.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        kind, floats = "?", np.empty(0)
    if kind not in "biuf":
        msg = "values must be a list or array of real numbers, of one length in each dimension."
        raise ParameterError(msg)
    if kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > _EXACT_IN_FLOATS:
        msg = "values hold integers beyond 2**53, which floats would round; divide them by a power of two first."
        raise ParameterError(msg)
    return floats


def _number(number: SupportsFloat) -> float:
    """Read one number that a float holds exactly, if it is an integer."""
    if isinstance(number, Integral) and abs(int(number)) > _EXACT_IN_FLOATS:
        raise OverflowError
    return float(number)
