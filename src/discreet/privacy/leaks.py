"""The exact chance that a loss is infinite, in one direction: what decides whether epsilon is finite at all.

Floats round the mass at infinity, and at a delta that equals it the answer jumps between the largest finite loss and
infinity. So the two are compared as fractions, before and after anything is computed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.privacy.enclosures import DOWN, UP, decimal, power
from discreet.privacy.part import Part, pair_of

if TYPE_CHECKING:
    from decimal import Context

    Chances = tuple[Fraction, Fraction]

__all__ = ["leak_of"]

_MOST_EXACT = 32  # with more uses the exact product would be long


def leak_of(terms: tuple[tuple[Part, int], ...], side: int) -> Chances | None:
    """Return bounds (equal for few uses) on the chance that some loss is infinite; None where one is not known.

    Side 0 is with the unit against without it, side 1 the reverse. With p the chance of one use, the whole has
    1 - prod (1 - p)^n; where that is rounded, the inequalities of Bonferroni, sum n p and sum n p - (sum n p)^2 / 2,
    keep the digits of rare failures.

    >>> from discreet import privacy as p
    >>> leak_of((p.approximate(1, "0.1") * 2).terms, 0)
    (Fraction(19, 100), Fraction(19, 100))
    """
    leaking = []
    for part, count in terms:
        if pair_of(part)[side].leaks:
            chances = part.infinite(side)
            if chances is None:
                return None
            leaking.append((*chances, count))
    if not leaking:
        return Fraction(0), Fraction(0)
    if sum(count for *_, count in leaking) <= _MOST_EXACT:
        kept = [Fraction(1), Fraction(1)]
        for low, high, count in leaking:
            kept = [kept[0] * Fraction((1 - low) ** count), kept[1] * Fraction((1 - high) ** count)]
        return 1 - kept[0], 1 - kept[1]
    least = sum((low * count for low, _, count in leaking), Fraction(0))
    most = sum((high * count for _, high, count in leaking), Fraction(0))
    lower = 1 - _kept([(low, count) for low, _, count in leaking], UP)
    upper = 1 - _kept([(high, count) for _, high, count in leaking], DOWN)
    return max(lower, least - least * least / 2 if least < 1 else lower), min(upper, most)


def _kept(uses: list[tuple[Fraction, int]], context: Context) -> Fraction:
    """Return prod (1 - p)^n, rounded in the direction of the context."""
    total = decimal(1, context)
    for chance, count in uses:
        total = context.multiply(total, power(decimal(1 - chance, context), count, context))
    return Fraction(total)
