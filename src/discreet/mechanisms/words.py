"""Promises and errors in the words of one line."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy import Approximate, Pure
from discreet.privacy.costs import Cost
from discreet.privacy.relations import Unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.privacy import ZCDP
    from discreet.privacy.relations import Relation

__all__ = ["error_in_words", "movers", "number_up", "percent", "promise_in_words", "value_in_words"]

_FEW, _LONGEST = 6, 60


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
    if exact and not 1e-300 < abs(exact) < 1e300:  # beyond floats, where 1e-400 would print as 0
        return f"{rounded.normalize():e}"
    return f"{float(rounded):.{digits}g}"


def promise_in_words(claim: Pure | Approximate | ZCDP | Cost) -> str:
    """Print a promise as one phrase.

    >>> promise_in_words(Pure("0.5")), promise_in_words(Approximate(1, 1e-5))
    ('ε = 0.5', 'ε = 1, δ = 1e-05')
    """
    if isinstance(claim, Pure):
        return f"ε = {number_up(claim.epsilon)}"
    if isinstance(claim, Cost):
        return f"{claim!r}, by the ledger's certificates"
    if isinstance(claim, Approximate):
        return f"ε = {number_up(claim.epsilon)}, δ = {number_up(claim.delta)}"
    return f"ρ = {number_up(claim.rho)}" + (f", δ = {number_up(claim.delta)}" if claim.delta else "")


def movers(neighbors: Relation) -> str:
    """Name those whom a promise protects at once.

    >>> from discreet.privacy import NeighborRelation
    >>> movers(NeighborRelation.ADD_REMOVE), movers(NeighborRelation.ADD_REMOVE.group(5))
    ('one unit', 'a group of 5 units')
    """
    unit = "unit" if neighbors.unit is Unit.PERSON else neighbors.unit.value
    return f"one {unit}" if neighbors.size == 1 else f"a group of {neighbors.size} {unit}s"


def percent(confidence: float) -> str:
    """Print a probability as a percentage.

    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * confidence:.10g} %"


def error_in_words(error: float | NDArray[np.float64] | None) -> str:
    """Print an error bar; of an array, its largest.

    >>> error_in_words(5.991), error_in_words(None), error_in_words(np.array([1.5, 3.0]))
    ('± 6.0', 'no ±', 'each ± 3.0 or less')
    """
    if error is None:
        return "no ±"
    if isinstance(error, np.ndarray):
        return f"each ± {_plain(float(error.max()))} or less" if error.size else "nothing to ±"
    return f"± {_plain(error)}"


def _plain(error: float) -> str:
    """Print an error with at least two digits and none behind the point from 10 on, rounded up."""
    if 10 <= error < 1e15:
        return f"{math.ceil(error)}.0"
    text = number_up(error, 2)
    return text if any(mark in text for mark in ".e∞") else f"{text}.0"


def value_in_words(value: object, error: float | NDArray[np.float64] | None) -> str:
    """Print a value on one line, numbers to a tenth of the error's leading digit: the rest is noise.

    >>> value_in_words(43.872814178, 5.99), value_in_words(1203, 30.0), value_in_words("blue", None)
    ('43.9', '1203', "'blue'")
    """
    size = float(np.max(error)) if error is not None and np.size(error) else 0.0
    if 0 < size < math.inf:
        digits = 1 - math.floor(math.log10(size))
        if isinstance(value, float):
            value = round(value, max(digits, 0)) + 0.0  # no -0.0
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size <= _FEW:
            value = np.round(value, max(digits, 0))
    if isinstance(value, np.ndarray):
        text = repr(value.tolist()) if value.size <= _FEW else f"array of shape {value.shape}"
    else:
        text = repr(value)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
