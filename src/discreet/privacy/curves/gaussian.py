"""Gaussian noise on a number."""

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

__all__ = ["GaussianPair", "gaussian"]


@dataclass(frozen=True, slots=True)
class GaussianPair(Noise):
    """Continuous Gaussian noise of standard deviation sigma on a value that moves by at most the sensitivity.

    Balle & Wang 2018 (arXiv:1805.06530), Theorem 8. Vectors are covered with the L2 sensitivity: the noise is
    rotation-invariant.
    """

    kind: ClassVar[str] = "gaussian"

    sigma: Fraction
    sensitivity: Fraction

    def loss(self) -> Loss:
        """N(mu, 1) against N(0, 1), mu = sensitivity / sigma."""
        from discreet.privacy.numerics.losses.gaussian import GaussianLoss

        return GaussianLoss(as_float(self.sensitivity / self.sigma))

    def rho(self) -> Fraction:
        """mu^2 / 2 (Bun & Steinke 2016, arXiv:1605.02065, Proposition 1.6)."""
        return (self.sensitivity / self.sigma) ** 2 / 2


def gaussian(sigma: Number, sensitivity: Number = 1, *, neighbors: Relation = NeighborRelation.ADD_REMOVE) -> Curve:
    """Return the curve of adding N(0, sigma^2) to a value of this (L2) sensitivity.

    The noise is continuous, or continuous noise rounded afterwards; for discrete Gaussian noise use
    `discrete_gaussian`.

    >>> round(gaussian(sigma=2).epsilon(delta=1e-6), 6)
    2.254085
    """
    part = GaussianPair(
        read_positive(sigma, "sigma", "the standard deviation of the noise"),
        read_positive(sensitivity, "sensitivity", "how far one unit moves the value"),
    )
    return Curve(((part, 1),), neighbors)
