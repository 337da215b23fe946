"""Numbers in words: a bound is never rounded to the side on which it would be false."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.exact.rational import as_text, cost_text

__all__ = ["MILLION", "Paragraph", "chance", "count", "factor", "of_hundred", "promise", "whole"]

MILLION = 10**6
_UNCOUNTED = 10**15


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One sentence or two about one claim, with the numbers that it uses.

    >>> Paragraph("guess", "At most 73.2 of 100 guesses are right.", {"accuracy": 0.731}).claim
    'guess'
    """

    claim: str
    text: str
    numbers: dict[str, float] = field(default_factory=dict)


def of_hundred(share: float) -> str:
    """Write a share as so many of 100, rounded up to three digits.

    >>> of_hundred(0.7310585), of_hundred(0.5), of_hundred(0.99999)
    ('73.2 of 100', '50 of 100', '100 of 100')
    """
    return f"{cost_text(min(100.0, 100 * share * (1 + 2**-50)) if share not in {0.5, 1.0} else 100 * share, 3)} of 100"


def factor(value: float) -> str:
    """Write a factor, rounded up; beyond a million its size says nothing any more.

    >>> factor(2.71828), factor(1.0), factor(1e9)
    ('2.72', '1', 'more than a million')
    """
    if value > MILLION:
        return "more than a million"
    return cost_text(value, 3) if value < 1000 else f"{math.ceil(value):,}"


def chance(value: Fraction) -> str:
    """Write a probability, rounded up.

    >>> from fractions import Fraction
    >>> chance(Fraction(1, 10**6)), chance(Fraction(2, 3)), chance(Fraction(3, 10**7))
    ('1 in 1,000,000', '66.7 of 100', '1 in 3,333,333')
    >>> chance(Fraction(1, 10**30))
    '1 in 10^30'
    """
    if value > Fraction(1, 100):
        return f"{math.ceil(value * 1000) / 10:g} of 100"
    return f"1 in {whole(value.denominator // value.numerator)}"


def count(value: float) -> str:
    """Write a number of people or rows, rounded up.

    >>> count(3.0), count(0.00100001), count(29957.3), count(4e12)
    ('3', '0.0011', '29,958', '4,000,000,000,000')
    """
    return f"{math.ceil(value):,}" if value >= 1 or value == 0 else cost_text(value, 2)


def whole(value: int) -> str:
    """Write a number of people, rounded down where it is beyond all that are counted.

    >>> whole(1_000_000), whole(3 * 10**20)
    ('1,000,000', '10^20')
    """
    return f"{value:,}" if value < _UNCOUNTED else f"10^{len(str(value)) - 1}"


def promise(epsilon: Fraction, delta: Fraction) -> str:
    """Name a promise as it was given.

    >>> from fractions import Fraction
    >>> promise(Fraction(1, 2), Fraction(0)), promise(Fraction(1), Fraction(1, 10**6))
    ('ε = 0.5', 'ε = 1, δ = 1e-06')
    """
    first = f"ε = {_bare(epsilon)}"
    return f"{first}, δ = {_bare(delta)}" if delta else first


def _bare(value: Fraction) -> str:
    return as_text(value).strip("'")
