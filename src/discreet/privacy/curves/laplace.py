"""Laplace noise on a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.privacy.curve import Curve
from discreet.privacy.enclosures import shortened
from discreet.privacy.part import Part, as_float, read_positive, require_positive
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["Laplace", "examples", "laplace"]


@dataclass(frozen=True, slots=True)
class Laplace(Part):
    """Laplace noise of a scale on a value that moves by at most the sensitivity.

    Shifts below the sensitivity are dominated: the noise is log-concave (Dong, Roth & Su 2022, arXiv:1905.02383).
    """

    kind: ClassVar[str] = "laplace"

    scale: Fraction
    sensitivity: Fraction

    def check(self) -> None:
        """A positive scale and sensitivity."""
        require_positive(self.scale, "scale")
        require_positive(self.sensitivity, "sensitivity")

    def losses(self) -> tuple[Loss, Loss]:
        """Lap(0, b) against Lap(sensitivity, b)."""
        from discreet.privacy.numerics.losses.laplace import LaplaceLoss

        loss = LaplaceLoss(as_float(self.sensitivity / self.scale))
        return loss, loss

    def pure(self) -> Fraction:
        """The largest loss, sensitivity / scale."""
        return self.sensitivity / self.scale

    def rho(self) -> Fraction:
        """epsilon^2 / 2 (Bun & Steinke 2016, Proposition 1.4)."""
        return (self.sensitivity / self.scale) ** 2 / 2

    def grouped(self, size: int) -> Part:
        """A group moves the value by at most size times the sensitivity."""
        return Laplace(self.scale, shortened(self.sensitivity * size))


def laplace(scale: Number, sensitivity: Number = 1, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the curve of adding Laplace noise of this scale to one number of this sensitivity.

    >>> laplace(scale=10).epsilon(delta=0)
    0.1
    """
    part = Laplace(
        read_positive(scale, "scale", "the scale of the noise"),
        read_positive(sensitivity, "sensitivity", "how far one unit moves the value"),
    )
    return Curve(((part, 1),), neighbors)


def examples() -> tuple[Curve, ...]:
    """Return curves on which laws are tested, from much noise to little."""
    return laplace(100), laplace(10), laplace("1/2")
