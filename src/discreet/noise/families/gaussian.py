"""Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.noise.families.family import R

__all__ = ["Gaussian", "standard_normal"]


def standard_normal(u: R, v: R) -> R:
    """Enclose sqrt(-2 log U) cos(2 pi V): a standard normal variable (Box, Muller 1958).

    >>> from discreet.exact import Interval
    >>> z = standard_normal(Interval.of(Fraction(1, 2), 64), Interval.of(0, 64))
    >>> 1.1774 < z.lower < z.upper < 1.1775
    True
    """
    return u.log().scaled(Fraction(-2)).sqrt() * v.cos_turn()


@dataclass(frozen=True, slots=True)
class Gaussian:
    """The standard normal law.

    >>> Gaussian().uniforms
    2
    """

    @property
    def uniforms(self) -> int:
        """Two."""
        return 2

    def value(self, u: Sequence[R], /) -> R:
        """Enclose a standard normal variable."""
        return standard_normal(u[0], u[1])

    def margin(self, u: Sequence[R], /) -> R | None:  # noqa: ARG002 - every draw is kept
        """Keep every draw."""
        return None
