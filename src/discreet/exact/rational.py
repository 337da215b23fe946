"""The one reader of numbers for the whole package."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import SupportsIndex

import numpy as np

from discreet.errors import ParameterError

__all__ = ["Number", "counted", "exact_text", "integer", "rational", "shown"]

Number = int | float | Fraction | Decimal | str
"""What `rational` reads; NumPy's integer and floating scalars are read as well."""

_LARGEST_EXPONENT = 5_000  # 10**5000 takes microseconds; "1e999999999" would take all memory
_EXPONENT = re.compile(r"[eE]([+-]?[\d_]+)\s*$")
_LONGEST_SHOWN = 60
_LONGEST_EXPONENT = 20  # characters: leading zeros and underscores are allowed
_LONGEST_TEXT = 4_000
_LONGEST_EXACT = 200_000  # hexadecimal digits: read in linear time, reduced to lowest terms within a second
_EXACT = re.compile(r"(-?)0x([0-9a-f]+)(?:/0x([0-9a-f]+))?")


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
