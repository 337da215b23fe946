"""Noise between Laplace and power law: the exact fit for a smooth bound on the local sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import Number, rational, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.noise.families.family import R

__all__ = ["PolyPlace"]


@dataclass(frozen=True, slots=True)
class PolyPlace:
    """Density (1 + |z| / tail)**(-tail - 1) / 2: flat like Laplace noise in the middle, a power law far out.

    |z| = tail (U**(-1/tail) - 1) has the tail Pr[|z| > r] = (1 + r / tail)**-tail, which is exp(-r) as the tail grows.
    With U = |S| for S uniform on (-1, 1), S brings the sign. For smooth sensitivity with pure differential privacy;
    the family that Hladík, Tětek 2025 ("Smooth Sensitivity Revisited: Towards Optimality", FORC 2025) proposed.

    >>> PolyPlace(8).tail, PolyPlace("2.5").uniforms
    (Fraction(8, 1), 1)
    """

    tail: Fraction

    def __init__(self, tail: Number = 8) -> None:
        value = rational(tail, name="tail")
        if not Fraction(101, 100) <= value <= 2**20:
            msg = f"tail is {shown(tail)}; it must be from 1.01 to 2**20: at 1 the noise has no mean."
            raise ParameterError(msg)
        object.__setattr__(self, "tail", value)

    @property
    def uniforms(self) -> int:
        """One."""
        return 1

    def value(self, u: Sequence[R], /) -> R:
        """Enclose tail sign(S) (|S|**(-1/tail) - 1)."""
        side = u[0].scaled(Fraction(2)) - u[0].constant(1)
        square = side * side  # |S| = sqrt(S**2), sign(S) = S / |S|
        size = square.power(-1 / (2 * self.tail)) - u[0].constant(1)
        return (side * square.power(Fraction(-1, 2)) * size).scaled(self.tail)

    def margin(self, u: Sequence[R], /) -> R | None:  # noqa: ARG002 - every draw is kept
        """Keep every draw."""
        return None
