"""Discrete Gaussian noise on an integer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.privacy.curve import Curve
from discreet.privacy.part import Noise, as_float, read_positive, read_whole
from discreet.privacy.relations import NeighborRelation, Relation

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.exact import Number
    from discreet.privacy.numerics.losses.loss import Loss

__all__ = ["DiscreteGaussianPair", "discrete_gaussian"]


@dataclass(frozen=True, slots=True)
class DiscreteGaussianPair(Noise):
    """Pr[Z = z] proportional to exp(-z^2 / (2 sigma^2)), against its shift by the integer sensitivity.

    Canonne, Kamath & Steinke 2020 (arXiv:2004.00010), Theorem 7. The law is neither scale- nor rotation-invariant: the
    curve is for one integer. A vector is covered by the zCDP promise (L2 sensitivity)^2 / (2 sigma^2), or by composing
    the curves of its coordinates' actual shifts. Smaller shifts are dominated: the law is log-concave.
    """

    kind: ClassVar[str] = "discrete_gaussian"

    sigma: Fraction
    sensitivity: int

    def loss(self) -> Loss:
        """N_Z(0, sigma^2) against N_Z(sensitivity, sigma^2)."""
        from discreet.privacy.numerics.losses.discrete_gaussian import discrete_gaussian_loss

        return discrete_gaussian_loss(as_float(self.sigma), self.sensitivity)

    def rho(self) -> Fraction:
        """mu^2 / 2 (Canonne, Kamath & Steinke 2020, concentrated privacy of this noise)."""
        return (self.sensitivity / self.sigma) ** 2 / 2


def discrete_gaussian(
    sigma: Number, sensitivity: int = 1, *, neighbors: Relation = NeighborRelation.ADD_REMOVE
) -> Curve:
    """Return the curve of adding discrete Gaussian noise to one integer of this sensitivity.

    >>> round(discrete_gaussian(sigma=1, sensitivity=2).delta(epsilon=12), 10)
    5.3e-09
    """
    part = DiscreteGaussianPair(
        read_positive(sigma, "sigma", "the parameter sigma of the noise"),
        read_whole(sensitivity, "sensitivity", "integer noise needs an integer sensitivity"),
    )
    return Curve(((part, 1),), neighbors)
