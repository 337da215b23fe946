"""A statement about privacy, with the number that decides it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from fractions import Fraction

__all__ = ["Comparison", "Shown", "advantage", "require_above"]

ROUNDING = 1e-12


class Comparison(StrEnum):
    """How what was computed stands to what is stated.

    >>> Comparison("at most") is Comparison.AT_MOST
    True
    """

    EQUALS = "equals"
    AT_MOST = "at most"
    AT_LEAST = "at least"


@dataclass(frozen=True, slots=True)
class Shown:
    """What was computed from output laws, and what the statement says of it.

    >>> print(Shown("a coin's chance of heads", 0.5, Comparison.AT_MOST, 1))
    holds: a coin's chance of heads is 0.5, at most 1
    """

    what: str
    computed: float | Fraction
    comparison: Comparison
    stated: float | Fraction

    @property
    def holds(self) -> bool:
        """Whether it is so; exact for fractions, within 1e-12 for logarithms.

        >>> Shown("a coin's chance of heads", 0.5, Comparison.EQUALS, 1).holds
        False
        """
        gap = float(self.computed - self.stated) if self.computed != self.stated else 0.0
        return {
            Comparison.EQUALS: abs(gap) <= ROUNDING,
            Comparison.AT_MOST: gap <= ROUNDING,
            Comparison.AT_LEAST: gap >= -ROUNDING,
        }[self.comparison]

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "FAILS"
        return f"{verdict}: {self.what} is {float(self.computed):.6g}, {self.comparison} {float(self.stated):.6g}"


def require_above(least: float, **numbers: float) -> None:
    """Refuse what is not a finite number above a limit.

    >>> require_above(0, epsilon=-1)
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: epsilon is -1; it must be a finite number above 0.
    """
    for name, number in numbers.items():
        if not least < number < math.inf:
            msg = f"{name} is {shown(number)}; it must be a finite number above {least:g}."
            raise ParameterError(msg)


def advantage(
    first: Mapping[Hashable, Fraction], second: Mapping[Hashable, Fraction], *, factor: Fraction | int = 1
) -> Fraction | int:
    """Return the smallest delta for which P(E) <= factor Q(E) + delta holds for all events, exactly.

    >>> from fractions import Fraction
    >>> advantage({0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 4), 1: Fraction(3, 4)})
    Fraction(1, 2)
    """
    gains = [chance - factor * second.get(output, 0) for output, chance in first.items()]
    return sum(gain for gain in gains if gain > 0)
