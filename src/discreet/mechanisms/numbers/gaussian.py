"""Gaussian noise on numbers, on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from discreet.errors import ParameterError
from discreet.exact import Grid, log_upper, rational, shown, sqrt_upper
from discreet.exact.rational import read_choice
from discreet.mechanisms.adding.gridded import GridNoise
from discreet.mechanisms.adding.grids import Inputs, Norm, converted, largest_within, place
from discreet.mechanisms.adding.reach import rounded_gaussian_reach
from discreet.mechanisms.inputs.parameters import (
    assign,
    exactly_one,
    read_dimensions,
    read_optional_delta,
    read_positive,
)
from discreet.noise import BitSource, gaussian_steps
from discreet.noise.laplace import checked_ratio
from discreet.privacy import ZCDP, Approximate, NeighborRelation, curves, gaussian_sigma
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from typing import SupportsIndex

    import numpy as np
    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Gaussian"]


@dataclass(frozen=True, slots=True, init=False)
class Gaussian(GridNoise):
    r"""Add Gaussian noise to numbers, vectors or arrays, on a power-of-two grid.

    Privacy. Each coordinate is snapped to the grid and gets $N(0, \sigma^2)$, rounded to the grid, which is rounding
    (snapped value + real noise): post-processing. The real noise is invariant under rotations, so only the L2 distance
    of two neighbors matters. Snapping moves each of d coordinates of either by at most half a step, so it is at most
    $\mu\sigma$ = sensitivity + sqrt(d) steps, and, exactly,

    $$\delta(\varepsilon) = \Phi\left(\frac{\mu}{2} - \frac{\varepsilon}{\mu}\right)
    - e^\varepsilon\,\Phi\left(-\frac{\mu}{2} - \frac{\varepsilon}{\mu}\right).$$

    With epsilon and delta, sigma is the smallest that this formula allows (the analytic Gaussian mechanism: Balle &
    Wang 2018, arXiv:1805.06530, Theorem 8). With rho, sigma = sensitivity / sqrt(2 rho) is rho-zCDP (Bun & Steinke
    2016, arXiv:1605.02065, Proposition 1.6). `Gaussian.classic` is the textbook's formula, refused from epsilon = 1 on.

    A sensitivity in L1 is an L2 one as it stands; $\Delta_2 \le \sqrt d\,\Delta_\infty$. Values from 2**62 steps on are
    clamped, and NaN counts as 0, so that no error depends on a value.

    >>> mechanism = Gaussian(sensitivity=1, epsilon=1, delta=1e-5)
    >>> round(float(mechanism.sigma), 4), mechanism.privacy.epsilon(delta=1e-5) <= 1
    (3.7306, True)
    >>> Gaussian(sensitivity=1, rho="0.5").promise
    'ρ = 0.5'
    """

    kind: ClassVar[str] = "gaussian"
    counted: ClassVar[Norm] = Norm.L2
    guarantee: ClassVar[str] = (
        "Numbers that move by at most the sensitivity in L2, snapped to a grid in d coordinates, with N(0, sigma^2) on "
        "each, are (epsilon, delta(epsilon))-differentially private with delta(epsilon) = Phi(mu/2 - epsilon/mu) - "
        "e^epsilon Phi(-mu/2 - epsilon/mu), mu = (sensitivity + sqrt(d) * step) / sigma; and (mu^2/2)-zCDP."
    )
    accuracy: ClassVar[str] = "sigma * Phi^-1((1 + confidence) / 2), rounded to the grid, and half a step for the snap"
    source: ClassVar[str] = "Balle & Wang 2018, arXiv:1805.06530, Theorem 8; Bun & Steinke 2016, arXiv:1605.02065"

    sensitivity: Fraction
    sigma: Fraction
    delta: Fraction | None
    grid: Grid
    dimensions: int
    norm: Norm
    inputs: Inputs
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        sensitivity: Number,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        sigma: Number | None = None,
        grid: Grid | Number | None = None,
        dimensions: SupportsIndex = 1,
        norm: Norm | str = Norm.L2,
        inputs: Inputs | str = Inputs.RAW,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        exactly_one(epsilon=epsilon, rho=rho, sigma=sigma)
        size, in_norm = read_dimensions(dimensions), read_choice(Norm, norm, "norm")
        stated = read_positive(sensitivity, "sensitivity", zero="what no unit can move needs no noise")
        distance = converted(stated, in_norm, Norm.L2, size)
        chance = read_optional_delta(delta, needed=epsilon is not None)
        if sigma is not None:
            rough = read_positive(sigma, "sigma", zero="noise of scale 0 protects nobody")
        elif rho is not None:
            rough = distance * sqrt_upper(1 / (2 * read_positive(rho, "rho", zero="no finite noise reaches it")))
        else:
            rough = distance * _analytic(epsilon, chance)
        kind = read_choice(Inputs, inputs, "inputs")
        points, moved = place(distance, rough, norm=Norm.L2, dimensions=size, grid=grid, inputs=kind)
        # The curve depends on distance / sigma alone: what snapping adds to one is added to the other in proportion.
        spread = rough if sigma is not None else rough * moved / distance
        checked_ratio(spread, points, name="sigma")
        assign(self, sensitivity=stated, sigma=spread, delta=chance, grid=points, dimensions=size, norm=in_norm)
        assign(self, inputs=kind, neighbors=require_relation(neighbors))

    @classmethod
    def classic(
        cls,
        sensitivity: Number,
        *,
        epsilon: Number,
        delta: Number,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> Self:
        """Return the textbook's mechanism for one number: sigma = sensitivity * sqrt(2 ln(1.25 / delta)) / epsilon.

        It is proved for epsilon < 1 only (Dwork & Roth 2014), and adds more noise than is needed; it
        stands here for comparison.

        >>> classic, analytic = (make(1, epsilon="0.5", delta=1e-5) for make in (Gaussian.classic, Gaussian))
        >>> round(float(classic.sigma), 2), round(float(analytic.sigma), 2)
        (9.69, 7.03)
        """
        rate, chance = read_positive(epsilon, "epsilon", zero="no finite noise reaches it"), _needed_delta(delta)
        if rate >= 1:
            msg = (
                f"epsilon is {shown(epsilon)}; the classic formula is proved for epsilon below 1 only, and too little "
                "noise for large ones. Use Gaussian(sensitivity, epsilon=..., delta=...)."
            )
            raise ParameterError(msg)
        stated = read_positive(sensitivity, "sensitivity", zero="what no unit can move needs no noise")
        factor = sqrt_upper(2 * log_upper(Fraction(5, 4) / chance)) / rate
        grid, moved = place(stated, stated * factor, norm=Norm.L2, dimensions=1, grid=None, inputs=Inputs.RAW)
        return cls(stated, sigma=moved * factor, delta=chance, grid=grid, neighbors=neighbors)

    @classmethod
    def for_accuracy(  # noqa: PLR0913
        cls,
        sensitivity: Number,
        *,
        within: Number,
        confidence: float = 0.95,
        delta: Number | None = None,
        dimensions: SupportsIndex = 1,
        norm: Norm | str = Norm.L2,
        inputs: Inputs | str = Inputs.RAW,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> Self:
        """Return the mechanism with the most noise that keeps each coordinate within a distance, so confident.

        >>> made = Gaussian.for_accuracy(sensitivity=1, within=50, confidence=0.95)
        >>> made.error(0.95) <= 50, round(float(made.sigma), 2)
        (True, 25.51)
        """
        return largest_within(
            lambda sigma: cls(
                sensitivity,
                sigma=sigma,
                delta=delta,
                dimensions=dimensions,
                norm=norm,
                inputs=inputs,
                neighbors=neighbors,
            ),
            within=within,
            confidence=confidence,
            start=1.0,
        )

    @property
    def claim(self) -> Approximate | ZCDP:
        """The epsilon at the stated delta; without one, rho."""
        if self.delta is None:
            return ZCDP((self.moved / self.sigma) ** 2 / 2, neighbors=self.neighbors)
        return Approximate(Fraction(self.privacy.epsilon(self.delta)), self.delta, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The exact curve, for any number of coordinates."""
        return curves.gaussian(self.sigma, self.moved, neighbors=self.neighbors)

    @property
    def _spread(self) -> Fraction:
        return self.sigma

    def _reach(self, ratio: Fraction, chance: Fraction) -> int:
        return rounded_gaussian_reach(ratio, chance)

    def _drawn(self, shape: tuple[int, ...] | None, bits: BitSource) -> int | NDArray[np.int64]:
        return gaussian_steps(self.sigma, self.grid, size=shape, bits=bits)


def _analytic(epsilon: Number | None, delta: Fraction | None) -> Fraction:
    """Return the smallest sigma for a sensitivity of 1, rounded up."""
    rate = rational(epsilon if epsilon is not None else 0, name="epsilon")
    if rate < 0:
        msg = f"epsilon is {shown(epsilon)}; it must be at least 0."
        raise ParameterError(msg)
    return rational(gaussian_sigma(epsilon=rate, delta=_needed_delta(delta)))


def _needed_delta(delta: Number | None) -> Fraction:
    """Read a delta above 0, without which Gaussian noise keeps no epsilon."""
    chance = read_optional_delta(delta, needed=True)
    return chance if chance is not None else Fraction(0)
