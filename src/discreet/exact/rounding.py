"""Directed rounding: the only crossing from exact numbers to floats, and it names its direction."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact.interval import Interval
from discreet.exact.rational import Number, rational, shown

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "exp_lower",
    "exp_upper",
    "float_down",
    "float_up",
    "log_lower",
    "log_upper",
    "sqrt_lower",
    "sqrt_upper",
]


_FLOAT_UNDERFLOW = -746  # exp(-746) is below the smallest positive float
_FLOAT_OVERFLOW = 710  # exp(710) is above the largest


def float_up(value: Number) -> float:
    """Return the smallest float that is not below the value.

    >>> float_up(Fraction(1, 10)) >= Fraction(1, 10) > float_down(Fraction(1, 10))
    True
    """
    nearest, side = _nearest(rational(value))
    rounded = nearest if side >= 0 else math.nextafter(nearest, math.inf)
    if math.isinf(rounded):
        msg = "the value is beyond the largest float, 1.8e308, so no float is above it."
        raise ParameterError(msg)
    return rounded


def float_down(value: Number) -> float:
    """Return the largest float that is not above the value.

    >>> float_down(Fraction(1, 4))
    0.25
    """
    nearest, side = _nearest(rational(value))
    rounded = nearest if side <= 0 else math.nextafter(nearest, -math.inf)
    if math.isinf(rounded):
        msg = "the value is beyond the lowest float, -1.8e308, so no float is below it."
        raise ParameterError(msg)
    return rounded


def _nearest(value: Fraction) -> tuple[float, int]:
    """Return the nearest finite float, and the sign of what it exceeds the value by: by integers, without fractions."""
    above, below = value.as_integer_ratio()
    try:
        nearest = above / below  # correctly rounded for integers of any length
    except OverflowError:
        nearest = sys.float_info.max if above > 0 else -sys.float_info.max
    numerator, denominator = nearest.as_integer_ratio()
    difference = numerator * below - above * denominator
    return nearest, (difference > 0) - (difference < 0)


def exp_upper(exponent: Number) -> Fraction:
    """Return the smallest float that is not below exp(exponent), as a fraction.

    >>> exp_upper(Fraction(0)), exp_upper(Fraction(1)) == Fraction(2.7182818284590455)
    (Fraction(1, 1), True)
    """
    power = rational(exponent, name="exponent")
    if power < _FLOAT_UNDERFLOW:
        return Fraction(math.ulp(0.0))
    return Fraction(1) if power == 0 else _settled(Interval.exp, _not_too_large(power), float_up)


def exp_lower(exponent: Number) -> Fraction:
    """Return the largest float that is not above exp(exponent), as a fraction.

    >>> exp_lower(Fraction(1)) == Fraction(2.718281828459045)
    True
    """
    power = rational(exponent, name="exponent")
    if power < _FLOAT_UNDERFLOW:
        return Fraction(0)
    return Fraction(1) if power == 0 else _settled(Interval.exp, _not_too_large(power), float_down)


def log_upper(value: Number) -> Fraction:
    """Return the smallest float that is not below log(value), as a fraction.

    >>> float(log_upper(Fraction(3)))
    1.0986122886681098
    """
    return Fraction(0) if rational(value) == 1 else _settled(Interval.log, _positive(rational(value)), float_up)


def log_lower(value: Number) -> Fraction:
    """Return the largest float that is not above log(value), as a fraction.

    >>> float(log_lower(Fraction(3)))
    1.0986122886681096
    """
    return Fraction(0) if rational(value) == 1 else _settled(Interval.log, _positive(rational(value)), float_down)


def sqrt_upper(value: Number) -> Fraction:
    """Return the smallest float that is not below the square root, as a fraction.

    >>> sqrt_upper(Fraction(9, 4)), sqrt_upper(Fraction(2)) ** 2 > 2
    (Fraction(3, 2), True)
    """
    return _root(rational(value), float_up)


def sqrt_lower(value: Number) -> Fraction:
    """Return the largest float that is not above the square root, as a fraction.

    >>> sqrt_lower(Fraction(2)) ** 2 < 2
    True
    """
    return _root(rational(value), float_down)


def _root(value: Fraction, direction: Callable[[Fraction], float]) -> Fraction:
    if value < 0:
        msg = f"value is {shown(value)}; a square root needs a number of at least 0."
        raise ParameterError(msg)
    exact = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    return Fraction(direction(exact)) if exact * exact == value else _settled(Interval.sqrt, value, direction)


def _not_too_large(exponent: Fraction) -> Fraction:
    if exponent > _FLOAT_OVERFLOW:
        msg = f"exponent is beyond {_FLOAT_OVERFLOW}; the exponential of such a number is no float."
        raise ParameterError(msg)
    return exponent


def _positive(value: Fraction) -> Fraction:
    if value <= 0:
        msg = f"value is {shown(value)}; a logarithm needs a number above 0."
        raise ParameterError(msg)
    return value


def _settled(
    function: Callable[[Interval], Interval], argument: Fraction, direction: Callable[[Fraction], float]
) -> Fraction:
    """Raise the precision until both ends of the enclosure round to the same float (Ziv 1991).

    The callers have dealt with the arguments whose result is rational; every other result is irrational
    (Lindemann 1882 for exp and log), so it is no float and the loop ends.
    """
    size = argument.numerator.bit_length() - argument.denominator.bit_length()
    precision = 128 + 2 * abs(size)
    while True:
        enclosure = function(Interval.of(argument, precision))
        low, high = direction(enclosure.lower), direction(enclosure.upper)
        if low == high:
            return Fraction(low)
        precision *= 2
