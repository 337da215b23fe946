"""Laplace noise on a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.privacy.curve import Curve
from discreet.privacy.part import Noise, as_float, read_positive
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["LaplacePair", "laplace"]


@dataclass(frozen=True, slots=True)
class LaplacePair(Noise):
    """Laplace noise of a scale on a value that moves by at most the sensitivity.

    Shifts below the sensitivity are dominated: the noise is log-concave (Dong, Roth & Su 2022, arXiv:1905.02383).
    """

    kind: ClassVar[str] = "laplace"

    scale: Fraction
    sensitivity: Fraction

    def loss(self) -> Loss:
        """Lap(0, b) against Lap(sensitivity, b)."""
        from discreet.privacy.numerics.losses.laplace import LaplaceLoss

        return LaplaceLoss(as_float(self.sensitivity / self.scale))

    def pure(self) -> Fraction:
        """The largest loss, sensitivity / scale."""
        return self.sensitivity / self.scale


def laplace(scale: Number, sensitivity: Number = 1, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the curve of adding Laplace noise of this scale to one number of this sensitivity.

    >>> laplace(scale=10).epsilon(delta=0)
    0.1
    """
    part = LaplacePair(
        read_positive(scale, "scale", "the scale of the noise"),
        read_positive(sensitivity, "sensitivity", "how far one unit moves the value"),
    )
    return Curve(((part, 1),), neighbors)
