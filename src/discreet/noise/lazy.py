"""Uniform reals that are revealed bit by bit, and decisions that wait for enough bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.exact import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.noise.bits import BitSource

__all__ = ["LazyUniform", "bernoulli"]


class LazyUniform:
    """A uniform real in [0, 1) whose binary digits are drawn when somebody asks for them.

    The same number answers every question about it: digits once drawn stay.

    >>> from discreet.noise import SYSTEM
    >>> u = LazyUniform(SYSTEM)
    >>> rough, fine = u.interval(16), u.interval(100)
    >>> rough.lower <= fine.lower <= fine.upper <= rough.upper
    True
    """

    __slots__ = ("bits", "digits", "known")

    def __init__(self, bits: BitSource, digits: int = 0, known: int = 0) -> None:
        """Start with `known` digits already drawn, as an integer below 2**known."""
        self.bits = bits
        self.digits = digits
        self.known = known

    def interval(self, precision: int) -> Interval:
        """Enclose the number to within 2**-precision."""
        if self.known < precision:
            more = precision - self.known
            self.digits = self.digits << more | self.bits.integer(more)
            self.known = precision
        low = self.digits >> (self.known - precision)
        return Interval(low, low + 1, precision)


def bernoulli(probability: Callable[[int], Interval], bits: BitSource, chance: LazyUniform | None = None) -> bool:
    """Return True with a probability that is known by enclosures of growing precision, exactly.

    A uniform real, a given one or a new one, is compared with the probability; both are refined until they are apart.
    """
    chance = chance or LazyUniform(bits)
    precision = 64
    while True:
        bound, place = probability(precision), chance.interval(precision)
        if place.hi <= bound.lo:
            return True
        if place.lo >= bound.hi:
            return False
        precision *= 2
