"""Pure differential privacy, as its worst pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from discreet.exact.rational import read_nonnegative
from discreet.privacy.curve import Curve
from discreet.privacy.enclosures import shortened
from discreet.privacy.part import Part, Symmetric, as_float, require_size
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["PureBound", "pure"]


@dataclass(frozen=True, slots=True)
class PureBound(Symmetric):
    """Any mechanism with this epsilon: dominated by binary randomized response.

    Kairouz, Oh & Viswanath 2015 (arXiv:1311.0776).
    """

    kind: ClassVar[str] = "pure"

    epsilon: Fraction

    def check(self) -> None:
        """An epsilon of at least 0."""
        require_size(self.epsilon, "epsilon")

    def loss(self) -> Loss:
        """+-epsilon."""
        from discreet.privacy.numerics.losses.finite import two_point

        return two_point(as_float(self.epsilon))

    def pure(self) -> Fraction:
        """The stated epsilon."""
        return self.epsilon

    def grouped(self, size: int) -> Part:
        """Size times epsilon."""
        return replace(self, epsilon=shortened(self.epsilon * size))


def pure(epsilon: Number, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the worst curve of any mechanism that is epsilon-differentially private.

    >>> pure(epsilon=1).epsilon(delta=0)
    1.0
    """
    return Curve(((PureBound(read_nonnegative(epsilon, "epsilon")), 1),), neighbors)
