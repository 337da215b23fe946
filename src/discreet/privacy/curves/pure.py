"""Pure differential privacy, as its worst pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.privacy.curve import Curve
from discreet.privacy.enclosures import shortened
from discreet.privacy.part import Part, as_float, require_size
from discreet.privacy.readings import read_nonnegative
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["PureBound", "examples", "pure"]


@dataclass(frozen=True, slots=True)
class PureBound(Part):
    """Any mechanism with this epsilon: dominated by binary randomized response.

    Kairouz, Oh & Viswanath 2015 (arXiv:1311.0776).
    """

    kind: ClassVar[str] = "pure"

    epsilon: Fraction

    def check(self) -> None:
        """An epsilon of at least 0."""
        require_size(self.epsilon, "epsilon")

    def losses(self) -> tuple[Loss, Loss]:
        """+-epsilon."""
        from discreet.privacy.numerics.losses.finite import two_point

        loss = two_point(as_float(self.epsilon))
        return loss, loss

    def pure(self) -> Fraction:
        """The stated epsilon."""
        return self.epsilon

    def rho(self) -> Fraction:
        """epsilon^2 / 2 (Bun & Steinke 2016, Proposition 1.4)."""
        return self.epsilon**2 / 2

    def grouped(self, size: int) -> Part:
        """Size times epsilon."""
        return PureBound(shortened(self.epsilon * size))


def pure(epsilon: Number, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the worst curve of any mechanism that is epsilon-differentially private.

    >>> pure(epsilon=1).epsilon(delta=0)
    1.0
    """
    return Curve(((PureBound(read_nonnegative(epsilon, "epsilon")), 1),), neighbors)


def examples() -> tuple[Curve, ...]:
    """Return curves on which laws are tested, from much noise to little."""
    return pure(0), pure("0.1"), pure(2)
