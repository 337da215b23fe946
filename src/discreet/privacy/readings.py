"""Reading and printing the numbers of promises, in one place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from discreet.errors import ParameterError
from discreet.exact import rational, shown

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = [
    "as_text",
    "cost_text",
    "read_delta",
    "read_json",
    "read_list",
    "read_nonnegative",
    "require_kind",
]

Kind = TypeVar("Kind")
Item = TypeVar("Item")

_LONGEST_REPR = 120
_SIX_DIGITS = Context(prec=6, Emin=MIN_EMIN, Emax=MAX_EMAX)


def read_nonnegative(value: Number, name: str) -> Fraction:
    """Read a number that may not be negative.

    >>> read_nonnegative("0.1", "epsilon")
    Fraction(1, 10)
    """
    number = rational(value, name=name)
    if number < 0:
        msg = f"{name} is {shown(value)}; it must be at least 0. A promise cannot cost less than nothing."
        raise ParameterError(msg)
    return number


def read_delta(value: Number, name: str = "delta") -> Fraction:
    """Read a probability of failure: at least 0 and below 1.

    >>> read_delta(1e-6)
    Fraction(1, 1000000)
    """
    number = rational(value, name=name)
    if not 0 <= number.numerator < number.denominator:
        msg = (
            f"{name} is {shown(value)}; it must be at least 0 and below 1. "
            "At 1 the promise would be empty; choose it well below 1/n for n units."
        )
        raise ParameterError(msg)
    return number


def as_text(value: Fraction) -> str:
    """Print a fraction so that `rational` reads the same number back; one of more than a line is only described.

    >>> as_text(Fraction(1, 10)), as_text(Fraction(1, 3)), as_text(Fraction(2))
    ('0.1', "'1/3'", '2')
    >>> as_text(Fraction(1, 7**1000))
    '<about 7.97921e-846>'
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 3 * _LONGEST_REPR:
        about = _SIX_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
        return f"<about {about.normalize(_SIX_DIGITS):g}>"
    if value.denominator == 1:
        return str(value.numerator)
    decimal = repr(float(value))
    return decimal if Fraction(decimal) == value else f"'{value}'"


def require_kind(value: object, kind: type[Kind], name: str) -> Kind:
    """Return an argument of the right type, or say which one was expected.

    >>> require_kind(3, int, "size")
    3
    >>> require_kind("3", int, "size")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: size is '3' of type str; it must be of type int.
    """
    if not isinstance(value, kind):
        what = f"{name} is {shown(value)} of type {type(value).__name__}"
        msg = f"{what}; it must be of type {kind.__name__}."
        raise ParameterError(msg)
    return value


def read_list(value: Iterable[Item], name: str) -> Sequence[Item]:
    """Return a list of arguments; a text or a single number is none, although Python would walk through a text.

    >>> read_list((2, 3), "orders")
    (2, 3)
    """
    # an array without dimensions has __iter__ and cannot be walked through
    if isinstance(value, str | bytes | bytearray) or not hasattr(value, "__iter__") or getattr(value, "ndim", 1) == 0:
        msg = f"{name} is {shown(value)}; it must be a list, such as [2, 8, 32]."
        raise ParameterError(msg)
    return value if isinstance(value, Sequence) else tuple(value)


def read_json(text: str, what: str) -> dict[str, object]:
    """Read one JSON object; whatever else the text holds is refused with a sentence.

    >>> read_json('{"epsilon": "1/3"}', "a promise")
    {'epsilon': '1/3'}
    """
    if not isinstance(text, str | bytes | bytearray):
        msg = f"{what} is read from JSON text, and this is of type {type(text).__name__}."
        raise ParameterError(msg)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:  # no JSON, no Unicode, endless digits, or brackets without an end
        msg = f"this text is no JSON, so it is not {what} ({type(error).__name__}). Write what to_json() returns."
        raise ParameterError(msg) from None
    if not isinstance(record, dict):
        msg = f"this JSON is no object, so it is not {what}. Write what to_json() returns."
        raise ParameterError(msg)
    return record


def cost_text(value: float, digits: int) -> str:
    """Print a cost with so many digits, rounded up: what is shown is never below what was found.

    >>> cost_text(1.82823665, 6), cost_text(1258.6412, 6), cost_text(2.0, 6)
    ('1.82824', '1258.65', '2')
    """
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(repr(value)))
    return f"{float(rounded):.{digits}g}"
