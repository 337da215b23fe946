"""Discrete Gaussian noise on whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from discreet.exact import rational, sqrt_upper
from discreet.exact.rational import read_choice
from discreet.mechanisms.adding.grids import Norm, added, converted, ends, largest_within, read_whole_move, require_size
from discreet.mechanisms.adding.reach import discrete_gaussian_reach
from discreet.mechanisms.inputs.parameters import (
    assign,
    exactly_one,
    miss,
    read_dimensions,
    read_optional_delta,
    read_positive,
)
from discreet.mechanisms.inputs.values import exact_integers, is_integer, limited
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.mechanisms.words import movers
from discreet.noise import SYSTEM, BitSource, discrete_gaussian
from discreet.noise.bits import checked_scale
from discreet.privacy import ZCDP, Approximate, NeighborRelation, calibrate, curves
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["DiscreteGaussian"]


@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussian(Mechanism["int | Sequence[int] | NDArray[np.integer]", "int | NDArray[np.int64]"]):
    r"""Add whole-number noise with Gaussian tails to whole numbers.

    Privacy. With independent noise $\Pr[Z = z] \propto e^{-z^2/(2\sigma^2)}$ on each coordinate, whole numbers that
    move by at most the sensitivity in L2 are zCDP with rho = sensitivity^2 / (2 sigma^2) (Canonne, Kamath & Steinke
    2020, arXiv:2004.00010, Theorem 4 for one coordinate; the divergences of independent coordinates add).

    The law is neither rotation- nor scale-invariant: a move by (1, 1, 1, 1) tells more than one by 2. The exact
    curve is therefore used where one coordinate alone moves: with dimensions = 1, and where the sensitivity is
    below $\sqrt 2$, because a whole-number move that short is 1 in one coordinate. If each of d coordinates may
    move by the sensitivity (norm="linf"), the curve is that of d such moves. Otherwise it is that of rho-zCDP.
    Values and sums are clamped to below 2**62.

    >>> DiscreteGaussian(sensitivity=1, rho="0.5").sigma
    Fraction(1, 1)
    >>> mechanism = DiscreteGaussian(sensitivity=1, epsilon=1, delta=1e-5)
    >>> round(float(mechanism.sigma), 4), mechanism.privacy.delta(epsilon=1) <= 1e-5
    (3.7405, True)
    """

    kind: ClassVar[str] = "discrete_gaussian"
    guarantee: ClassVar[str] = (
        "Whole numbers that move by at most the sensitivity in L2, with noise of probability proportional to "
        "exp(-z^2 / (2 sigma^2)) on each, are (sensitivity^2 / (2 sigma^2))-zCDP; where one coordinate alone moves, "
        "the exact curve of the law against its shift holds."
    )
    accuracy: ClassVar[str] = "smallest m with Pr[|Z| > m] <= 1 - confidence, the weights added up"
    source: ClassVar[str] = "Canonne, Kamath & Steinke 2020, arXiv:2004.00010, Theorem 4"

    sensitivity: Fraction
    sigma: Fraction
    delta: Fraction | None
    dimensions: int | None
    norm: Norm
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        sensitivity: Number,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        sigma: Number | None = None,
        dimensions: SupportsIndex | None = None,
        norm: Norm | str = Norm.L2,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        exactly_one(epsilon=epsilon, rho=rho, sigma=sigma)
        size = None if dimensions is None else read_dimensions(dimensions)
        in_norm = read_choice(Norm, norm, "norm")
        stated = read_whole_move(sensitivity, in_norm, Norm.L2, size)
        chance = read_optional_delta(delta, needed=epsilon is not None)
        assign(self, sensitivity=stated, delta=chance, dimensions=size, norm=in_norm)
        assign(self, neighbors=require_relation(neighbors))
        if rho is not None:
            rate = read_positive(rho, "rho", zero="no finite noise reaches it")
            sigma = sqrt_upper(self.moved**2 / (2 * rate))
        elif epsilon is not None:
            sigma = calibrate(self._curve, epsilon=epsilon, delta=chance or 0, start=float(self.moved))
        assign(self, sigma=checked_scale(sigma if sigma is not None else 0, name="sigma"))

    @classmethod
    def for_accuracy(  # noqa: PLR0913
        cls,
        sensitivity: Number,
        *,
        within: Number,
        confidence: float = 0.95,
        delta: Number | None = None,
        dimensions: SupportsIndex | None = None,
        norm: Norm | str = Norm.L2,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> Self:
        """Return the mechanism with the most noise that keeps each coordinate within a distance, so confident.

        >>> made = DiscreteGaussian.for_accuracy(sensitivity=1, within=50, confidence=0.95)
        >>> made.error(0.95), round(float(made.sigma), 2)
        (50.0, 25.77)
        """
        return largest_within(
            lambda sigma: cls(
                sensitivity, sigma=sigma, delta=delta, dimensions=dimensions, norm=norm, neighbors=neighbors
            ),
            within=within,
            confidence=confidence,
            start=1.0,
        )

    @property
    def moved(self) -> Fraction:
        """How far two neighbors' whole numbers can be apart in L2, rounded up."""
        return converted(self.sensitivity, self.norm, Norm.L2, self.dimensions or 1)

    @property
    def claim(self) -> Approximate | ZCDP:
        """The epsilon at the stated delta; without one, rho."""
        if self.delta is None:
            return ZCDP(self._whole**2 / (2 * self.sigma**2), neighbors=self.neighbors)
        return Approximate(Fraction(self.privacy.epsilon(self.delta)), self.delta, neighbors=self.neighbors)

    @property
    def _whole(self) -> Fraction:
        """The move, rounded down to what whole numbers in one coordinate can do where one alone moves."""
        alone = self.dimensions == 1 or self.moved**2 < 2
        return Fraction(math.floor(self.moved)) if alone else self.moved

    @property
    def privacy(self) -> Curve:
        """The exact curve where one coordinate alone moves or each may move so far, that of zCDP otherwise."""
        return self._curve(self.sigma)

    def _curve(self, sigma: Number) -> Curve:
        if self.norm is Norm.LINF and self.dimensions:
            per_number = math.floor(self.sensitivity)
            return curves.discrete_gaussian(sigma, per_number, neighbors=self.neighbors) * self.dimensions
        if self.dimensions == 1 or self.moved**2 < 2:
            return curves.discrete_gaussian(sigma, int(self._whole), neighbors=self.neighbors)
        return curves.zcdp(self.moved**2 / (2 * rational(sigma) ** 2), neighbors=self.neighbors)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The sensitivity."""
        norm = self.norm.value
        return (
            f"{movers(self.neighbors)} moves the whole numbers by at most {self.sensitivity} in the norm {norm}.",
            ends(Fraction(1)),
        )

    def error(self, confidence: float = 0.95, *, together: int = 1) -> float:
        """Return the smallest m that the noise of `together` coordinates exceeds nowhere, with this probability."""
        return float(discrete_gaussian_reach(self.sigma, miss(confidence, together)))

    def release(
        self, value: int | Sequence[int] | NDArray[np.integer], *, bits: BitSource = SYSTEM
    ) -> Release[int | NDArray[np.int64]]:
        """Return the whole numbers with noise, in one call for an array of any shape."""
        if is_integer(value):
            noise = discrete_gaussian(self.sigma, bits=bits)
            return Release(limited(limited(int(value)) + noise), self)
        counts = exact_integers(value)
        if self.dimensions is not None:
            require_size(counts.size, self.dimensions)
        noisy = added(counts, np.asarray(discrete_gaussian(self.sigma, size=counts.shape, bits=bits)))
        return Release(noisy if noisy.ndim else int(noisy), self)
