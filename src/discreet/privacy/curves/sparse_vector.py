"""The sparse vector technique, up to a number of answers above the threshold."""

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

__all__ = ["SparseVector", "examples", "sparse_vector"]


@dataclass(frozen=True, slots=True)
class SparseVector(Part):
    """One run of the sparse vector technique whose threshold and query noise together spend epsilon.

    Lyu, Su & Li 2017 (arXiv:1603.01699), the standard form: with threshold noise Lap(sensitivity / e1) and query noise
    Lap(2 c sensitivity / e2), stopping after c answers above, the run is (e1 + e2)-differentially private, however many
    answers below it gives. Numeric answers need their own budget.
    """

    kind: ClassVar[str] = "sparse_vector"

    epsilon: Fraction

    def check(self) -> None:
        """A positive epsilon."""
        require_positive(self.epsilon, "epsilon")

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
        return SparseVector(shortened(self.epsilon * size))


def sparse_vector(epsilon: Number, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the curve of one run of the sparse vector technique with this total epsilon.

    >>> sparse_vector(epsilon="0.5").epsilon(delta=0)
    0.5
    """
    return Curve(((SparseVector(read_positive(epsilon, "epsilon", "the run's epsilon")), 1),), neighbors)


def examples() -> tuple[Curve, ...]:
    """Return curves on which laws are tested, from much noise to little."""
    return sparse_vector("0.1"), sparse_vector(1)
