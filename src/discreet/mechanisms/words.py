"""Promises and errors in the words of one line."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy import Approximate, Pure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.privacy import ZCDP

__all__ = ["error_in_words", "number_up", "percent", "promise_in_words"]


def number_up(value: Fraction | float, digits: int = 6) -> str:
    """Print a cost or an error with so many digits, rounded up where it is rounded.

    >>> number_up(Fraction(1, 2)), number_up(Fraction(1, 3)), number_up(1e-5)
    ('0.5', '0.333334', '1e-05')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return "∞"
    exact = Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)
    context = Context(prec=digits, rounding=ROUND_CEILING)
    rounded = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return f"{float(rounded):.{digits}g}"


def promise_in_words(claim: Pure | Approximate | ZCDP) -> str:
    """Print a promise as one phrase.

    >>> promise_in_words(Pure("0.5")), promise_in_words(Approximate(1, 1e-5))
    ('ε = 0.5', 'ε = 1, δ = 1e-05')
    """
    if isinstance(claim, Pure):
        return f"ε = {number_up(claim.epsilon)}"
    if isinstance(claim, Approximate):
        return f"ε = {number_up(claim.epsilon)}, δ = {number_up(claim.delta)}"
    return f"ρ = {number_up(claim.rho)}" + (f", δ = {number_up(claim.delta)}" if claim.delta else "")


def percent(confidence: float) -> str:
    """Print a probability as a percentage.

    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * confidence:.10g} %"


def error_in_words(error: float | NDArray[np.float64] | None) -> str:
    """Print an error bar; of an array, its largest.

    >>> error_in_words(6.0), error_in_words(None), error_in_words(np.array([1.5, 3.0]))
    ('± 6.0', 'no ±', 'each ± 3.0 or less')
    """
    if error is None:
        return "no ±"
    if isinstance(error, np.ndarray):
        return f"each ± {_plain(float(error.max()))} or less" if error.size else "nothing to ±"
    return f"± {_plain(error)}"


def _plain(error: float) -> str:
    """Print 6.0 as 6.0 and 5.991464547 as 5.992: four digits, rounded up."""
    text = number_up(error, 4)
    return text if any(mark in text for mark in ".e∞") else f"{text}.0"
