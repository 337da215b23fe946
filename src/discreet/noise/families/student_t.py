"""Student's t noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import Number, rational, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.noise.families.family import R

__all__ = ["StudentT"]


@dataclass(frozen=True, slots=True)
class StudentT:
    """Density proportional to (1 + z**2 / d)**(-(d + 1) / 2) with d >= 1 degrees of freedom.

    sqrt(d (U**(-2/d) - 1)) cos(2 pi V) has this law for every real d (Bailey 1994, "Polar generation of random variates
    with the t-distribution"). For smooth sensitivity see Bun, Steinke 2019 (arXiv:1906.02830).

    >>> StudentT(3).degrees
    Fraction(3, 1)
    """

    degrees: Fraction

    def __init__(self, degrees: Number = 3) -> None:
        value = rational(degrees, name="degrees")
        if not 1 <= value <= 1000:
            msg = f"degrees is {shown(degrees)}; it must be from 1 to 1000."
            raise ParameterError(msg)
        object.__setattr__(self, "degrees", value)

    @property
    def uniforms(self) -> int:
        """Two."""
        return 2

    def value(self, u: Sequence[R], /) -> R:
        """Enclose sqrt(d (U**(-2/d) - 1)) cos(2 pi V)."""
        stretched = (u[0].power(-2 / self.degrees) - u[0].constant(1)).scaled(self.degrees)
        return stretched.sqrt() * u[1].cos_turn()

    def margin(self, u: Sequence[R], /) -> R | None:  # noqa: ARG002 - every draw is kept
        """Keep every draw."""
        return None
