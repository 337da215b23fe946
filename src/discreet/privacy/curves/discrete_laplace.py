"""Discrete Laplace noise on an integer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.privacy.curve import Curve
from discreet.privacy.part import Noise, as_float, read_positive, read_whole
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["DiscreteLaplacePair", "discrete_laplace"]

LARGEST_SHIFT = 1 << 20


@dataclass(frozen=True, slots=True)
class DiscreteLaplacePair(Noise):
    """Pr[Z = z] proportional to exp(-|z| / scale), against its shift by the integer sensitivity.

    Ghosh, Roughgarden & Sundararajan 2009 (arXiv:0811.2841). With r = exp(-1/scale) the losses are (d - 2k) / scale for
    k = 0..d, with masses 1/(1 + r), r^k (1 - r)/(1 + r) and r^d/(1 + r). Smaller shifts are dominated: the law is
    log-concave.
    """

    kind: ClassVar[str] = "discrete_laplace"

    scale: Fraction
    sensitivity: int

    def check(self) -> None:
        """A positive scale, and a whole sensitivity whose losses fit into memory."""
        super(DiscreteLaplacePair, self).check()
        if self.sensitivity > LARGEST_SHIFT:
            msg = (
                f"sensitivity is {shown(self.sensitivity)}; the exact curve is kept up to {LARGEST_SHIFT}. Use "
                "laplace(scale, sensitivity), whose curve is the limit of fine grids, with the grid's rounding counted."
            )
            raise ParameterError(msg)

    def loss(self) -> Loss:
        """The d + 1 values with their masses."""
        import numpy as np

        from discreet.privacy.numerics.losses.finite import FiniteLoss

        rate = as_float(1 / self.scale)
        d = self.sensitivity
        steps = np.arange(d, -1, -1)
        masses = np.exp(-rate * steps) * (-np.expm1(-rate))
        masses[-1] = 1.0
        masses[0] = float(np.exp(-rate * d))
        masses = masses / (1 + float(np.exp(-rate)))
        return FiniteLoss((d - 2 * steps) * rate, masses, 0.0, 2 * rate)

    def pure(self) -> Fraction:
        """The largest loss, sensitivity / scale."""
        return self.sensitivity / self.scale


def discrete_laplace(
    scale: Number, sensitivity: int = 1, *, neighbors: Relation = NeighborRelation.ADD_REMOVE
) -> Curve:
    """Return the curve of adding discrete Laplace noise to one integer of this sensitivity.

    >>> round(discrete_laplace(scale=10, sensitivity=2).epsilon(delta=0), 12)
    0.2
    """
    part = DiscreteLaplacePair(
        read_positive(scale, "scale", "the scale of the noise"),
        read_whole(sensitivity, "sensitivity", "integer noise needs an integer sensitivity"),
    )
    return Curve(((part, 1),), neighbors)
