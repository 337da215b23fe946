"""The one reader of numbers and other arguments for the whole package, and the one printer of numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from enum import Enum
from fractions import Fraction
from numbers import Integral
from typing import SupportsIndex, TypeVar

import numpy as np

from discreet.errors import ParameterError

__all__ = [
    "Number",
    "as_text",
    "cost_text",
    "counted",
    "exact_text",
    "integer",
    "rational",
    "read_choice",
    "read_delta",
    "read_json",
    "read_list",
    "read_nonnegative",
    "require_kind",
    "shown",
]

Number = int | float | Fraction | Decimal | str
"""What `rational` reads; NumPy's integer and floating scalars are read as well."""

_LARGEST_EXPONENT = 5_000  # 10**5000 takes microseconds; "1e999999999" would take all memory
_EXPONENT = re.compile(r"[eE]([+-]?[\d_]+)\s*$")
_LONGEST_SHOWN = 60
_LONGEST_EXPONENT = 20  # characters: leading zeros and underscores are allowed
_LONGEST_TEXT = 4_000
_LONGEST_EXACT = 200_000  # hexadecimal digits: read in linear time, reduced to lowest terms within a second
_EXACT = re.compile(r"(-?)0x([0-9a-f]+)(?:/0x([0-9a-f]+))?")
Kind = TypeVar("Kind")
Item = TypeVar("Item")
Choice = TypeVar("Choice", bound=Enum)
_LONGEST_REPR = 120
_SIX_DIGITS = Context(prec=6, Emin=MIN_EMIN, Emax=MAX_EMAX)


def shown(value: object) -> str:
    """Print a public argument for a message: never longer than a line, and never an error itself.

    >>> shown(0.5), shown(10**5000), shown("x" * 500)[:6]
    ('0.5', 'a number of more than 4000 digits', "'xxxxx")
    """
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # Python prints no integer of more than 4300 digits
        return f"a number of more than {_LONGEST_TEXT} digits"
    except Exception:  # noqa: BLE001 - whatever a class of somebody else raises
        return f"a value of type {type(value).__name__}"
    if "\n" in text and not isinstance(value, str):  # a table, an array
        return f"a value of type {type(value).__name__}"
    if len(text) > _LONGEST_TEXT and not isinstance(value, str):
        return f"a number of more than {_LONGEST_TEXT} digits"
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"


def counted(count: int | Fraction | str, one: str) -> str:
    """Write how many there are of something, in the singular where it is one.

    >>> counted(1, "entry"), counted(0, "row"), counted(2, "entry"), counted("1,000", "key")
    ('1 entry', '0 rows', '2 entries', '1,000 keys')
    """
    if str(count) == "1":
        return f"1 {one}"
    return f"{count} {one[:-1]}ies" if one.endswith("y") and one[-2] not in "aeiou" else f"{count} {one}s"


def rational(value: Number | np.floating | np.integer, *, name: str = "value") -> Fraction:
    """Read a number exactly.

    A float is read as the decimal that it prints as: 0.1 is one tenth, and not the binary fraction
    0.1000000000000000055… that stores it. An epsilon read in the second way would be larger than what was
    written, and three tenths would not hold 0.1 + 0.2.

    >>> rational(0.1), rational("1/3"), rational("1e-6")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000))
    >>> rational(0.1) + rational(0.2) == rational(0.3)
    True
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (bool, np.bool_)):
        msg = f"{name} is {value}; a truth value is no number. Write 0 or 1 where a number is meant."
        raise ParameterError(msg)
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, (float, np.floating)):
        return _from_float(value, name)
    if isinstance(value, Decimal):
        return _from_decimal(value, name)
    if isinstance(value, str):
        return _from_text(value, name)
    msg = f"{name} is of type {type(value).__name__}; it must be an int, float, Fraction, Decimal or text."
    raise ParameterError(msg)


def _from_float(value: float | np.floating, name: str) -> Fraction:
    if not math.isfinite(value):
        _refuse(float(value), name)
    # str() of a NumPy scalar prints its own shortest decimal (float32's 0.1 is 0.1); repr() would name its type.
    return Fraction(float.__repr__(value) if isinstance(value, float) else str(value))


def _from_decimal(value: Decimal, name: str) -> Fraction:
    if not value.is_finite():
        _refuse(value, name)
    if abs(value.adjusted()) > _LARGEST_EXPONENT:
        _refuse_exponent(name)
    return Fraction(value)


def _from_text(value: str, name: str) -> Fraction:
    exact = _EXACT.fullmatch(value) if len(value) <= _LONGEST_EXACT else None
    if exact and exact[3] != "0":
        sign = -1 if exact[1] else 1
        return Fraction(sign * int(exact[2], 16), int(exact[3] or "1", 16))
    exponent = _EXPONENT.search(value)
    if len(value) > _LONGEST_TEXT or (exponent and len(exponent[1]) > _LONGEST_EXPONENT):
        _refuse_exponent(name)
    try:
        if exponent and abs(int(exponent[1])) > _LARGEST_EXPONENT:
            _refuse_exponent(name)
        return Fraction(value)
    except (ValueError, ZeroDivisionError) as error:
        if isinstance(error, ParameterError):
            raise
        msg = f'{name} is {shown(value)}; it must be a finite number, such as 10, "0.1" or "1/3".'
        raise ParameterError(msg) from None


def _refuse(value: object, name: str) -> None:
    msg = f'{name} is {value}; it must be a finite number, such as 10, "0.1" or Fraction(1, 3).'
    raise ParameterError(msg)


def _refuse_exponent(name: str) -> None:
    msg = f"{name} is beyond 10**{_LARGEST_EXPONENT}, below its inverse, or longer than {_LONGEST_TEXT} characters."
    raise ParameterError(msg)


def exact_text(value: Fraction) -> str:
    """Write a fraction as text from which `rational` reads the same number, however long it is.

    Up to 4,000 characters it is the decimal form, such as 1/3; beyond, the hexadecimal one, which Python converts in
    linear time and without a limit. A number that would need more than 200,000 characters is refused.

    >>> exact_text(Fraction(1, 3)), exact_text(Fraction(2))
    ('1/3', '2')
    >>> long = Fraction(10**5000 + 1, 3**9000)
    >>> exact_text(long)[:6], rational(exact_text(long)) == long
    ('0x31e2', True)
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) <= _LONGEST_TEXT:
        return str(value)  # at most 1,205 digits above and below the line
    text = f"{value.numerator:#x}/{value.denominator:#x}"
    if len(text) > _LONGEST_EXACT:
        msg = f"a number of more than {_LONGEST_EXACT} digits is not written; round it first."
        raise ParameterError(msg)
    return text


def integer(value: SupportsIndex, *, name: str = "value", least: int | None = None, most: int | None = None) -> int:
    """Read a whole number within given limits; 2.0 and True are refused, as they hide a mistake.

    >>> integer(7, name="size", least=0)
    7
    >>> integer(2.5, name="size")
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: size is 2.5; it must be a whole number, such as 3.
    """
    # Nearly always it is a plain int; asking for Integral takes longer than all else here.
    if type(value) is not int and (isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral)):
        msg = f"{name} is {shown(value)}; it must be a whole number, such as 3."
        raise ParameterError(msg)
    number = int(value)
    if least is not None and number < least:
        msg = f"{name} is {shown(number)}; it must be at least {shown(least)}."
        raise ParameterError(msg)
    if most is not None and number > most:
        msg = f"{name} is {shown(number)}; it must be at most {shown(most)}."
        raise ParameterError(msg)
    return number


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


def read_choice(choices: type[Choice], value: Choice | str, name: str) -> Choice:
    """Read one of an enumeration, or its name.

    >>> read_choice(Enum("Norm", {"L1": "l1", "L2": "l2"}), "l2", "norm")
    <Norm.L2: 'l2'>
    """
    try:
        return choices(value)
    except ValueError:
        allowed = ", ".join(repr(choice.value) for choice in choices)
        msg = f"{name} is {shown(value)}; it must be one of {allowed}."
        raise ParameterError(msg) from None


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
