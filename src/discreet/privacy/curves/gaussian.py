"""Gaussian noise on a number."""

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

__all__ = ["Gaussian", "examples", "gaussian"]


@dataclass(frozen=True, slots=True)
class Gaussian(Part):
    """Continuous Gaussian noise of standard deviation sigma on a value that moves by at most the sensitivity.

    Balle & Wang 2018 (arXiv:1805.06530), Theorem 8. Vectors are covered with the L2 sensitivity: the noise is
    rotation-invariant.
    """

    kind: ClassVar[str] = "gaussian"

    sigma: Fraction
    sensitivity: Fraction

    def check(self) -> None:
        """A positive sigma and sensitivity."""
        require_positive(self.sigma, "sigma")
        require_positive(self.sensitivity, "sensitivity")

    def losses(self) -> tuple[Loss, Loss]:
        """N(mu, 1) against N(0, 1), mu = sensitivity / sigma."""
        from discreet.privacy.numerics.losses.gaussian import GaussianLoss

        loss = GaussianLoss(as_float(self.sensitivity / self.sigma))
        return loss, loss

    def rho(self) -> Fraction:
        """mu^2 / 2 (Bun & Steinke 2016, arXiv:1605.02065, Proposition 1.6)."""
        return (self.sensitivity / self.sigma) ** 2 / 2

    def grouped(self, size: int) -> Part:
        """A group moves the value by at most size times the sensitivity."""
        return Gaussian(self.sigma, shortened(self.sensitivity * size))


def gaussian(sigma: Number, sensitivity: Number = 1, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the curve of adding N(0, sigma^2) to a value of this (L2) sensitivity.

    The noise is continuous, or continuous noise rounded afterwards; for discrete Gaussian noise use
    `discrete_gaussian`.

    >>> round(gaussian(sigma=2).epsilon(delta=1e-6), 6)
    2.254085
    """
    part = Gaussian(
        read_positive(sigma, "sigma", "the standard deviation of the noise"),
        read_positive(sensitivity, "sensitivity", "how far one unit moves the value"),
    )
    return Curve(((part, 1),), neighbors)


def examples() -> tuple[Curve, ...]:
    """Return curves on which laws are tested, from much noise to little."""
    return gaussian(20), gaussian(3), gaussian("1/2", sensitivity=2)
