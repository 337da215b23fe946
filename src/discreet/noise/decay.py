"""Geometric decay: the enclosed powers of a ratio between 0 and 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from discreet.exact import Interval

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["Decay", "ExponentialDecay", "RationalDecay"]


class Decay(Protocol):
    """A ratio r with 0 < r < 1."""

    @property
    def scale(self) -> float:
        """About -1 / log(r); it guides the choice of tables and decides nothing else."""

    def power(self, exponent: int, precision: int) -> Interval:
        """Enclose r**exponent."""


@dataclass(frozen=True, slots=True)
class ExponentialDecay:
    """The ratio exp(-rate)."""

    rate: Fraction

    @property
    def scale(self) -> float:
        """1 / rate."""
        return float(1 / self.rate)

    def power(self, exponent: int, precision: int) -> Interval:
        """Enclose exp(-rate * exponent)."""
        return Interval.of(-self.rate * exponent, precision).exp()


@dataclass(frozen=True, slots=True)
class RationalDecay:
    """A rational ratio."""

    ratio: Fraction

    @property
    def scale(self) -> float:
        """-1 / log(ratio), through 1 - ratio where the ratio is close to 1."""
        if 2 * self.ratio > 1:
            return -1 / math.log1p(-float(1 - self.ratio))
        return -1 / math.log(max(float(self.ratio), 1e-300))

    def power(self, exponent: int, precision: int) -> Interval:
        """Enclose ratio**exponent by repeated squaring; each squaring doubles the error, hence the guard bits."""
        guard = exponent.bit_length() + 8
        base, found = Interval.of(self.ratio, precision + guard), Interval.of(1, precision + guard)
        for digit in f"{exponent:b}":
            found = found * found
            if digit == "1":
                found = found * base
        return Interval(found.lo >> guard, -(-found.hi >> guard), precision)
