"""Permute-and-flip, equal to noisy max with exponential noise."""

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

__all__ = ["PermuteAndFlip", "examples", "permute_and_flip"]


@dataclass(frozen=True, slots=True)
class PermuteAndFlip(Part):
    """Selection with exponential noise of rate epsilon / (2 sensitivity): epsilon-differentially private.

    McKenna & Sheldon 2020 (arXiv:2010.12603); Ding et al. 2021 (arXiv:2105.07260) for the equality with report
    noisy max. Bounded range is not claimed: the pair of pure privacy is used.
    """

    kind: ClassVar[str] = "permute_and_flip"

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
        return PermuteAndFlip(shortened(self.epsilon * size))


def permute_and_flip(epsilon: Number, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the curve of one selection by permute-and-flip (report noisy max with exponential noise).

    >>> permute_and_flip(epsilon=1).epsilon(delta=0)
    1.0
    """
    return Curve(((PermuteAndFlip(read_positive(epsilon, "epsilon", "the mechanism's epsilon")), 1),), neighbors)


def examples() -> tuple[Curve, ...]:
    """Return curves on which laws are tested, from much noise to little."""
    return permute_and_flip("0.05"), permute_and_flip(2)
