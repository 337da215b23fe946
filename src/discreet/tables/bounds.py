"""Intervals of reals with exact ends: what is publicly known about the size of a number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import float_down, float_up, rational, shown

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = ["UNBOUNDED", "Bounds"]

_End = Fraction | float  # a fraction, or an infinity


@dataclass(frozen=True, slots=True, init=False)
class Bounds:
    """A closed interval; an end that is None is open to infinity.

    Operations return an interval that holds every result for operands inside theirs (Moore 1966, "Interval
    Analysis": the inclusion property). Ends are fractions, so nothing is rounded unless `outward` is called.

    >>> Bounds(-1, 2) * Bounds(0, 10)
    Bounds(-10, 20)
    >>> Bounds(0, None) - Bounds(1, 3)
    Bounds(-3, None)
    """

    lower: Fraction | None
    upper: Fraction | None

    def __init__(self, lower: Number | None = None, upper: Number | None = None) -> None:
        # Most ends are fractions already: of other bounds, computed.
        low = lower if lower is None or type(lower) is Fraction else rational(lower, name="lower")
        high = upper if upper is None or type(upper) is Fraction else rational(upper, name="upper")
        if low is not None and high is not None and low > high:
            msg = f"lower is {shown(lower)} and upper is {shown(upper)}; lower must not be above upper."
            raise ParameterError(msg)
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    @property
    def finite(self) -> bool:
        """Whether both ends are known."""
        return self.lower is not None and self.upper is not None

    @property
    def integral(self) -> bool:
        """Whether both ends are known and whole."""
        return self.finite and _low(self) == int(_low(self)) and _high(self) == int(_high(self))

    @property
    def magnitude(self) -> Fraction | None:
        """The largest absolute value inside, or None.

        >>> Bounds(-7, 3).magnitude
        Fraction(7, 1)
        """
        if self.lower is None or self.upper is None:
            return None
        return max(abs(self.lower), abs(self.upper))

    def contains(self, value: Number) -> bool:
        """Tell whether a number lies inside.

        >>> Bounds(0, 1).contains("1/2"), Bounds(0, None).contains(-1)
        (True, False)
        """
        number = rational(value)
        return _low(self) <= number <= _high(self)

    def within(self, other: Bounds) -> bool:
        """Tell whether this interval lies inside another.

        >>> Bounds(0, 1).within(Bounds(0, None))
        True
        """
        return _low(other) <= _low(self) and _high(self) <= _high(other)

    def hull(self, other: Bounds) -> Bounds:
        """Return the smallest interval that holds both.

        >>> Bounds(0, 1).hull(Bounds(5, 6))
        Bounds(0, 6)
        """
        return _of(min(_low(self), _low(other)), max(_high(self), _high(other)))

    def clamped(self, other: Bounds) -> Bounds:
        """Return where the numbers of this interval are after they were clamped to another.

        >>> Bounds(-5, 3).clamped(Bounds(0, 10)), Bounds(20, 30).clamped(Bounds(0, 10))
        (Bounds(0, 3), Bounds(10, 10))
        """
        return _of(
            min(max(_low(self), _low(other)), _high(other)),
            max(min(_high(self), _high(other)), _low(other)),
        )

    def __neg__(self) -> Bounds:
        return _of(-_high(self), -_low(self))

    def __add__(self, other: Bounds) -> Bounds:
        return _of(_low(self) + _low(other), _high(self) + _high(other))

    def __sub__(self, other: Bounds) -> Bounds:
        return self + -other

    def __mul__(self, other: Bounds) -> Bounds:
        ends = [_times(a, b) for a in (_low(self), _high(self)) for b in (_low(other), _high(other))]
        return _of(min(ends), max(ends))

    def inverse(self) -> Bounds:
        """Return where 1/x is for x in this interval, x not 0; unbounded if both signs or values near 0 occur.

        >>> Bounds(2, 4).inverse(), Bounds(-1, 1).inverse(), Bounds(0, 2).inverse()
        (Bounds(1/4, 1/2), Bounds(None, None), Bounds(1/2, None))
        """
        low, high = _low(self), _high(self)
        if low < 0 < high or low == high == 0:
            return UNBOUNDED
        # 1/x falls on either side of 0; an end at 0 sends the other end of the result to infinity.
        first = -math.inf if high == 0 else _over(high)
        second = math.inf if low == 0 else _over(low)
        return _of(first, second)

    def absolute(self) -> Bounds:
        """Return where |x| is.

        >>> Bounds(-3, 2).absolute()
        Bounds(0, 3)
        """
        low, high = _low(self), _high(self)
        ends = [-low if low < 0 else low, -high if high < 0 else high]
        return _of(Fraction(0) if low <= 0 <= high else min(ends), max(ends))

    def outward(self) -> Bounds:
        """Round the ends outward to floats.

        Rounding to nearest is monotone: for x in the interval, the float of x lies between the floats below and
        above the ends. So an operation on floats that is correctly rounded stays inside.

        >>> Bounds("1/3", "1/3").outward().contains("1/3")
        True
        """
        low = None if self.lower is None else _outward(self.lower, up=False)
        high = None if self.upper is None else _outward(self.upper, up=True)
        return Bounds(low, high)

    def __repr__(self) -> str:
        return f"Bounds({_shown(self.lower)}, {_shown(self.upper)})"

    def __str__(self) -> str:
        """Print as an interval.

        >>> str(Bounds(0, None))
        '[0, ∞)'
        """
        low = "(-∞" if self.lower is None else f"[{_shown(self.lower)}"
        high = "∞)" if self.upper is None else f"{_shown(self.upper)}]"
        return f"{low}, {high}"


UNBOUNDED = Bounds()
"""Nothing is known."""

_FLOATS = 2**1000


def _low(bounds: Bounds) -> _End:
    return -math.inf if bounds.lower is None else bounds.lower


def _high(bounds: Bounds) -> _End:
    return math.inf if bounds.upper is None else bounds.upper


def _of(low: _End, high: _End) -> Bounds:
    """Build from ends that may be infinite."""
    return Bounds(low if isinstance(low, Fraction) else None, high if isinstance(high, Fraction) else None)


def _times(a: _End, b: _End) -> _End:
    """Multiply ends; 0 times an open end is 0, as every number inside is finite."""
    return Fraction(0) if a == 0 or b == 0 else a * b


def _over(end: _End) -> _End:
    return Fraction(0) if isinstance(end, float) else 1 / end


def _outward(end: Fraction, *, up: bool) -> Fraction | None:
    """Round one end; beyond 2**1000 nothing is known."""
    if abs(end) > _FLOATS:
        return None
    return Fraction(float_up(end) if up else float_down(end))


def _shown(end: Fraction | None) -> str:
    """Print an end: as it is if short, else as a float."""
    if end is None:
        return "None"
    text = str(end)
    return text if len(text) <= 20 else f"{float(end):.6g}"
