"""The exponential mechanism, equal to noisy max with Gumbel noise: bounded range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.privacy.curve import Curve
from discreet.privacy.curves.pure import PureBound
from discreet.privacy.part import Part, as_float, read_positive
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["ExponentialPair", "exponential"]


@dataclass(frozen=True, slots=True)
class ExponentialPair(PureBound):
    """All losses of one pair of neighbors lie in an interval of length epsilon.

    Dong, Durfee & Rogers 2020 (arXiv:1909.13830), on bounded range: selecting with probability proportional to
    exp(epsilon w / (2 sensitivity)) is epsilon-BR. The pair, which covers adaptive composition, is derived in
    numerics/losses/bounded_range.py. The interval of a chain of neighbors is at
    most as many times as long as there are steps.
    """

    kind: ClassVar[str] = "exponential"

    check = Part.check

    def loss(self) -> Loss:
        """The pair that dominates bounded range."""
        from discreet.privacy.numerics.losses.bounded_range import BoundedRangeLoss

        return BoundedRangeLoss(as_float(self.epsilon))

    def rho(self) -> Fraction:
        """epsilon^2 / 8 (Cesar & Rogers 2021, arXiv:2004.07223, Lemma 3.4)."""
        return self.epsilon**2 / 8


def exponential(epsilon: Number, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the curve of one selection by the exponential mechanism with weights exp(epsilon w / (2 sensitivity)).

    >>> exponential(epsilon=1).zcdp()
    0.125
    """
    return Curve(((ExponentialPair(read_positive(epsilon, "epsilon", "the mechanism's epsilon")), 1),), neighbors)
