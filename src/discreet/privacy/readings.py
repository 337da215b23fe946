"""Reading and printing the numbers of promises, in one place."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import rational

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = ["as_text", "cost_text", "read_delta", "read_nonnegative"]


def read_nonnegative(value: Number, name: str) -> Fraction:
    """Read a number that may not be negative.

    >>> read_nonnegative("0.1", "epsilon")
    Fraction(1, 10)
    """
    number = rational(value, name=name)
    if number < 0:
        msg = f"{name} is {value}; it must be at least 0. A promise cannot cost less than nothing."
        raise ParameterError(msg)
    return number


def read_delta(value: Number, name: str = "delta") -> Fraction:
    """Read a probability of failure: at least 0 and below 1.

    >>> read_delta(1e-6)
    Fraction(1, 1000000)
    """
    number = rational(value, name=name)
    if not 0 <= number < 1:
        msg = (
            f"{name} is {value}; it must be at least 0 and below 1. "
            "At 1 the promise would be empty; choose it well below 1/n for n units."
        )
        raise ParameterError(msg)
    return number


def as_text(value: Fraction) -> str:
    """Print a fraction so that `rational` reads the same number back.

    >>> as_text(Fraction(1, 10)), as_text(Fraction(1, 3)), as_text(Fraction(2))
    ('0.1', "'1/3'", '2')
    """
    if value.denominator == 1:
        return str(value.numerator)
    try:
        decimal = repr(float(value))
    except OverflowError:
        return f"'{value}'"
    return decimal if Fraction(decimal) == value else f"'{value}'"


def cost_text(value: float, digits: int) -> str:
    """Print a cost with so many digits, rounded up: what is shown is never below what was found.

    >>> cost_text(1.82823665, 6), cost_text(1258.6412, 6), cost_text(2.0, 6)
    ('1.82824', '1258.65', '2')
    """
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))
    return f"{float(rounded):.{digits}g}"
