"""Discrete Laplace noise on whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from discreet.exact.rational import read_choice
from discreet.mechanisms.adding.grids import (
    Norm,
    added,
    converted,
    ends,
    largest_within,
    read_whole_move,
    require_size,
    unbounded_laplace,
)
from discreet.mechanisms.adding.reach import discrete_laplace_reach
from discreet.mechanisms.inputs.parameters import assign, exactly_one, miss, read_dimensions, read_positive
from discreet.mechanisms.inputs.values import exact_integers, is_integer
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.mechanisms.words import movers
from discreet.noise import SYSTEM, BitSource, discrete_laplace
from discreet.noise.bits import checked_scale
from discreet.privacy import NeighborRelation, Pure, curves
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["DiscreteLaplace"]

_LARGEST_EXACT = 1 << 12  # the exact curve keeps one loss for each step of a move


@dataclass(frozen=True, slots=True, init=False)
class DiscreteLaplace(Mechanism["int | Sequence[int] | NDArray[np.integer]", "int | NDArray[np.int64]"]):
    r"""Add whole-number noise to whole numbers: counts, histograms, sums of integers.

    Privacy. For neighbors whose values x, x' are at most the sensitivity apart in L1, and every output z,

    $$\frac{\Pr[x + Z = z]}{\Pr[x' + Z = z]} = \prod_i e^{(|z_i - x'_i| - |z_i - x_i|) / \text{scale}}
    \le e^{\|x - x'\|_1 / \text{scale}},$$

    so epsilon = sensitivity / scale, for any number of coordinates. For delta > 0 the curve is that of one coordinate
    that moves by the whole sensitivity, however the move is spread. With $b = e^{1/\text{scale}}$ a test that accepts
    one law with probability $\alpha$ accepts the law moved by 1 with at most
    $h(\alpha) = \min(b\alpha, 1 - (1 - \alpha)/b)$; after k moves, in whatever coordinates, with at most $h$ applied k
    times (the argument of group privacy: Dong, Roth & Su 2022, arXiv:1905.02383). That has slopes
    $b^k, b^{k-2}, \dots, b^{-k}$, as has the best test for k moves of one coordinate, which therefore reaches it.
    A sensitivity in L2 or in the largest coordinate is turned into an L1 one, which takes the number of coordinates.

    A histogram has sensitivity 1 under add/remove and 2 under change-one. A single Python integer is released exactly
    whatever its size; in arrays, values and sums are clamped to below 2**62.

    Ghosh, Roughgarden & Sundararajan 2009 (arXiv:0811.2841); Canonne, Kamath & Steinke 2020 (arXiv:2004.00010).

    >>> DiscreteLaplace(sensitivity=1, epsilon="0.1").scale
    Fraction(10, 1)
    >>> DiscreteLaplace(sensitivity=1, epsilon="0.1").error(confidence=0.95)
    30.0
    """

    kind: ClassVar[str] = "discrete_laplace"
    guarantee: ClassVar[str] = (
        "Whole numbers that move by at most the sensitivity in L1, with noise of probability proportional to "
        "exp(-|z| / scale) on each, are (sensitivity / scale)-differentially private."
    )
    accuracy: ClassVar[str] = "smallest m with 2 r^(m+1) / (1 + r) <= 1 - confidence, r = exp(-1 / scale)"
    source: ClassVar[str] = "Ghosh, Roughgarden & Sundararajan 2009, arXiv:0811.2841"

    sensitivity: Fraction
    scale: Fraction
    dimensions: int | None
    norm: Norm
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        sensitivity: Number,
        *,
        epsilon: Number | None = None,
        scale: Number | None = None,
        dimensions: SupportsIndex | None = None,
        norm: Norm | str = Norm.L1,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        exactly_one(epsilon=epsilon, scale=scale)
        size = None if dimensions is None else read_dimensions(dimensions)
        in_norm = read_choice(Norm, norm, "norm")
        stated = read_whole_move(sensitivity, in_norm, Norm.L1, size)
        assign(self, sensitivity=stated, dimensions=size, norm=in_norm, neighbors=require_relation(neighbors))
        if epsilon is not None:
            scale = self.moved / read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
        assign(self, scale=checked_scale(scale if scale is not None else 0))

    @classmethod
    def for_accuracy(  # noqa: PLR0913
        cls,
        sensitivity: Number,
        *,
        within: Number,
        confidence: float = 0.95,
        dimensions: SupportsIndex | None = None,
        norm: Norm | str = Norm.L1,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> Self:
        """Return the mechanism with the most noise that stays within a distance, with this probability.

        >>> made = DiscreteLaplace.for_accuracy(sensitivity=1, within=30, confidence=0.95)
        >>> made.error(0.95), 0.097 < made.claim.epsilon < 0.1
        (30.0, True)
        """
        return largest_within(
            lambda scale: cls(sensitivity, scale=scale, dimensions=dimensions, norm=norm, neighbors=neighbors),
            within=within,
            confidence=confidence,
            start=1.0,
        )

    @property
    def moved(self) -> int:
        """How far two neighbors' whole numbers can be apart in L1, a whole number too."""
        if self.norm is Norm.LINF:
            return math.floor(self.sensitivity) * (self.dimensions or 1)
        return math.floor(converted(self.sensitivity, self.norm, Norm.L1, self.dimensions or 1))

    @property
    def claim(self) -> Pure:
        """Sensitivity / scale, exactly."""
        return Pure(self.moved / self.scale, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of one coordinate that moves by the whole distance; of d of them, if each may move so far.

        A move by 1 has two losses alone, +-1/scale: the worst pure promise, and accounted as such. So are moves of
        more than 4096, for which that is an upper bound.
        """
        times = self.dimensions if self.norm is Norm.LINF and self.dimensions else 1
        per_number = self.moved // times
        if per_number == 1 or per_number > _LARGEST_EXACT:
            return curves.pure(per_number / self.scale, neighbors=self.neighbors) * times
        return curves.discrete_laplace(self.scale, per_number, neighbors=self.neighbors) * times

    @property
    def assumed(self) -> tuple[str, ...]:
        """The sensitivity."""
        norm = self.norm.value
        return (
            f"{movers(self.neighbors)} moves the whole numbers by at most {self.sensitivity} in the norm {norm}.",
            f"in arrays, {ends(Fraction(1))} A single whole number may have any size.",
        )

    def error(self, confidence: float = 0.95, *, together: int = 1) -> float:
        """Return the smallest m that the noise of `together` coordinates exceeds nowhere, with this probability."""
        return float(discrete_laplace_reach(self.scale, miss(confidence, together)))

    def release(
        self, value: int | Sequence[int] | NDArray[np.integer], *, bits: BitSource = SYSTEM
    ) -> Release[int | NDArray[np.int64]]:
        """Return the whole numbers with noise, in one call for an array of any shape."""
        if is_integer(value):
            return Release(int(value) + unbounded_laplace(self.scale, bits), self)
        counts = exact_integers(value)
        if self.dimensions is not None:
            require_size(counts.size, self.dimensions)
        noisy = added(counts, np.asarray(discrete_laplace(self.scale, size=counts.shape, bits=bits)))
        return Release(noisy if noisy.ndim else int(noisy), self)
