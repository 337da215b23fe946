"""Cauchy-type noise: polynomial tails for smooth sensitivity with pure differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import Number, rational, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.noise.families.family import R

__all__ = ["Cauchy"]


@dataclass(frozen=True, slots=True)
class Cauchy:
    """Density proportional to 1 / (1 + |z|**exponent), exponent > 1 (Nissim, Raskhodnikova, Smith 2007, Lemma 2.7).

    With g the exponent, Y = |z|**g has density proportional to y**(1/g - 1) / (1 + y), so Y is X / (1 - X) for a
    beta variable X with parameters 1/g and 1 - 1/g. Jöhnk 1964 makes it from two uniforms S, V, kept if
    S**g + V**(g/(g-1)) <= 1, as S**g / (S**g + V**(g/(g-1))); hence |z| = S / V**(1/(g-1)). A uniform on (-1, 1) for S
    brings the sign. For g = 2 this is the ratio of two coordinates in the half disk, the Cauchy law.

    >>> Cauchy(4).exponent, Cauchy("1.5").exponent
    (Fraction(4, 1), Fraction(3, 2))
    """

    exponent: Fraction

    def __init__(self, exponent: Number = 4) -> None:
        value = rational(exponent, name="exponent")
        if not Fraction(101, 100) <= value <= 100:
            msg = f"exponent is {shown(exponent)}; it must be from 1.01 to 100: at 1 the density has no finite mass."
            raise ParameterError(msg)
        object.__setattr__(self, "exponent", value)

    @property
    def uniforms(self) -> int:
        """Two."""
        return 2

    def value(self, u: Sequence[R], /) -> R:
        """Enclose S / V**(1/(g-1))."""
        side = u[0].scaled(Fraction(2)) - u[0].constant(1)
        return side * u[1].power(-1 / (self.exponent - 1))

    def margin(self, u: Sequence[R], /) -> R | None:
        """Enclose 1 - |S|**g - V**(g/(g-1))."""
        side = u[0].scaled(Fraction(2)) - u[0].constant(1)
        first = (side * side).power(self.exponent / 2)
        return u[0].constant(1) - first - u[1].power(self.exponent / (self.exponent - 1))
