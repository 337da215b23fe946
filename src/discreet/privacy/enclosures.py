"""Logarithms, exponentials and their sums as intervals: the working precision of exact promises.

An `Interval` holds the true value; `.upper` is what a cost may be rounded to, `.lower` what a limit
may be rounded to. All enclosures here share one precision, so they combine freely.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from discreet.exact import Interval

__all__ = [
    "DOWN",
    "PRECISION",
    "UP",
    "chain",
    "decimal",
    "enclose",
    "exp",
    "log",
    "power",
    "round_down",
    "round_up",
    "shortened",
]

PRECISION = 256
"""Binary places kept: 77 decimals, so that cancellation is never felt in a float."""


_TINY = Fraction(1, 2**100)
_LONGEST = 4096

UP = Context(prec=60, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""Decimal arithmetic that rounds up; with its exponents nothing underflows or overflows."""

DOWN = Context(prec=60, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""Decimal arithmetic that rounds down."""


def enclose(value: Fraction | int) -> Interval:
    """Enclose a rational number.

    >>> enclose(3).contains(Fraction(3))
    True
    """
    return Interval.of(value, PRECISION)


def log(value: Fraction | int) -> Interval:
    """Enclose the logarithm of a positive rational number, however small.

    >>> float(log(Fraction(1, 10**400)).upper)
    -921.0340371976183
    """
    ratio = Fraction(value)
    return -enclose(1 / ratio).log() if ratio < 1 else enclose(ratio).log()


def exp(value: Fraction | int) -> Interval:
    """Enclose the exponential of a rational number.

    >>> float(exp(1).lower)
    2.718281828459045
    """
    return enclose(value).exp()


def chain(epsilon: Fraction, size: int) -> Interval:
    """Enclose 1 + e^epsilon + ... + e^((size - 1) epsilon), the factor on delta of a chain of neighbors.

    It is (e^(size epsilon) - 1) / (e^epsilon - 1). For an epsilon so small that the quotient would cancel it lies
    between size and size * e^((size - 1) epsilon).

    >>> round(float(chain(Fraction(1), 2).upper), 6), chain(Fraction(0), 3).contains(Fraction(3))
    (3.718282, True)
    """
    if epsilon < _TINY:
        most = exp((size - 1) * epsilon).scaled(Fraction(size))
        return Interval(size << PRECISION, most.hi, PRECISION)
    return (exp(size * epsilon) - enclose(1)) / (exp(epsilon) - enclose(1))


def round_up(value: Interval | Fraction) -> Fraction:
    """Round a cost up to a float's decimal: how it leaves the exact world.

    The result is the decimal that a float prints as, so that `rational` reads the very same number
    back from that float. Beyond the largest float the next whole number is returned.

    >>> round_up(Fraction(1, 3))
    Fraction(33333333333333337, 100000000000000000)
    """
    end = value.upper if isinstance(value, Interval) else value
    try:
        nearest = end.numerator / end.denominator
    except OverflowError:
        return Fraction(math.ceil(end))
    while nearest < math.inf and Fraction(repr(nearest)) < end:
        nearest = math.nextafter(nearest, math.inf)
    return Fraction(repr(nearest)) if nearest < math.inf else Fraction(math.ceil(end))


def round_down(value: Interval | Fraction) -> Fraction:
    """Round a limit down to a float's decimal: how it leaves the exact world.

    >>> round_down(Fraction(1, 3))
    Fraction(3333333333333333, 10000000000000000)
    """
    end = value.lower if isinstance(value, Interval) else value
    try:
        nearest = end.numerator / end.denominator
    except OverflowError:
        return Fraction(math.floor(end))
    while nearest > -math.inf and Fraction(repr(nearest)) > end:
        nearest = math.nextafter(nearest, -math.inf)
    return Fraction(repr(nearest)) if nearest > -math.inf else Fraction(math.floor(end))


def shortened(value: Fraction) -> Fraction:
    """Round a cost up if it has more binary digits than a curve keeps; sums of many costs may.

    >>> shortened(Fraction(1, 3)), 1 < shortened(Fraction(7**2000 + 1, 7**2000)) < Fraction(10001, 10000)
    (Fraction(1, 3), True)
    """
    long = max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONGEST
    return round_up(value) if long else value


def decimal(value: Fraction | int, context: Context) -> Decimal:
    """Round a rational number to 60 digits in the direction of the context.

    >>> decimal(Fraction(1, 3), UP) > decimal(Fraction(1, 3), DOWN)
    True
    """
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def power(base: Decimal, exponent: int, context: Context) -> Decimal:
    """Raise a positive decimal to a whole power by squaring, rounding one way.

    >>> power(Decimal("1.5"), 2, UP)
    Decimal('2.25')
    """
    result = Decimal(1)
    while exponent:
        if exponent % 2:
            result = context.multiply(result, base)
        base = context.multiply(base, base)
        exponent //= 2
    return result
