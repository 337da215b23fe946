"""Staircase noise on a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.privacy.curve import Curve
from discreet.privacy.part import Symmetric, as_float, read_positive, require_positive
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["StaircasePair", "staircase"]


@dataclass(frozen=True, slots=True)
class StaircasePair(Symmetric):
    """A density that falls by exp(-epsilon) at (k + share) * sensitivity, k = 0, 1, ..., symmetric around 0.

    Geng & Viswanath 2014 (arXiv:1212.1186). Against its shift by d <= sensitivity the loss is epsilon, 0 or
    -epsilon; the
    set where it is epsilon grows with d, so the full shift dominates. There, with b = exp(-epsilon) and g = share, the
    density is a = (1 - b) / (2 sensitivity (g + b (1 - g))) near 0. Left of 0 the loss is epsilon; between 0 and the
    sensitivity it is epsilon up to min(g, 1 - g), -epsilon beyond max(g, 1 - g), and 0 between. Mass of loss epsilon:
    1/2 + m a sensitivity with m = min(g, 1 - g); of loss -epsilon: b times that.
    """

    kind: ClassVar[str] = "staircase"

    epsilon: Fraction
    share: Fraction

    def check(self) -> None:
        """A positive epsilon, and a share strictly between 0 and 1."""
        super(StaircasePair, self).check()
        require_positive(1 - self.share, "1 - share")

    def loss(self) -> Loss:
        """Three values."""
        import math

        import numpy as np

        from discreet.privacy.numerics.losses.finite import FiniteLoss, two_point

        epsilon, g = as_float(self.epsilon), as_float(self.share)
        fall = math.exp(-epsilon)
        height = -math.expm1(-epsilon) / (2 * (g + fall * (1 - g)))
        top = 0.5 + min(g, 1 - g) * height
        middle = (1 - 2 * g) * height * fall if 2 * g < 1 else (2 * g - 1) * height
        if middle == 0:
            return two_point(epsilon)
        return FiniteLoss(np.array([-epsilon, 0.0, epsilon]), np.array([top * fall, middle, top]), 0.0, epsilon)

    def pure(self) -> Fraction:
        """The stated epsilon."""
        return self.epsilon


def staircase(epsilon: Number, share: Number = "1/2", *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the curve of staircase noise with this epsilon; `share` is where in each step the density falls.

    >>> round(staircase(epsilon=1, share="0.3").epsilon(delta=0), 12)
    1.0
    """
    place = rational(share, name="share")
    if not 0 < place < 1:
        msg = f"share is {shown(share)}; it must lie strictly between 0 and 1, such as share='1/2'."
        raise ParameterError(msg)
    return Curve(((StaircasePair(read_positive(epsilon, "epsilon", "the noise's epsilon"), place), 1),), neighbors)
