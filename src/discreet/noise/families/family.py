"""Families of real noise as formulas in uniform reals, written once for floats and for big integers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["Family", "Real"]


class Real(Protocol):
    """What a formula may do: `Interval` (one number, big integers) and `Box` (an array, floats) both offer it.

    >>> from fractions import Fraction
    >>> from discreet.exact import Interval
    >>> Interval.of(1, precision=8).exp().scaled(Fraction(1, 2))
    Interval(lo=347, hi=348, precision=8)
    """

    def __add__(self, other: Self, /) -> Self:
        """Add."""

    def __sub__(self, other: Self, /) -> Self:
        """Subtract."""

    def __mul__(self, other: Self, /) -> Self:
        """Multiply."""

    def __truediv__(self, other: Self, /) -> Self:
        """Divide."""

    def __neg__(self) -> Self:
        """Change the sign."""

    def constant(self, value: Fraction | int, /) -> Self:
        """Enclose a rational number."""

    def scaled(self, factor: Fraction, /) -> Self:
        """Multiply by a rational number."""

    def exp(self) -> Self:
        """Take the exponential."""

    def log(self) -> Self:
        """Take the logarithm."""

    def sqrt(self) -> Self:
        """Take the square root."""

    def power(self, exponent: Fraction, /) -> Self:
        """Take a rational power."""

    def sinh(self) -> Self:
        """Take the hyperbolic sine."""

    def cos_turn(self) -> Self:
        """Take the cosine of 2 pi x."""


R = TypeVar("R", bound=Real)


class Family(Hashable, Protocol):
    """A law of real noise with scale 1, as a function of independent uniform reals in (0, 1).

    >>> from fractions import Fraction
    >>> from discreet.exact import Interval
    >>> from discreet.noise.families import Laplace
    >>> half = Interval.of(Fraction(1, 2), precision=8)
    >>> Laplace().value([half, half]).contains(Fraction(0))
    True
    """

    @property
    def uniforms(self) -> int:
        """How many uniform reals one draw takes."""

    def value(self, u: Sequence[R], /) -> R:
        """Enclose the noise."""

    def margin(self, u: Sequence[R], /) -> R | None:
        """Enclose a number that is at least 0 where these uniforms are kept; None where all are."""
