"""Laplace noise on numbers, on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from discreet.exact.rational import read_choice
from discreet.mechanisms.adding.gridded import GridNoise
from discreet.mechanisms.adding.grids import Inputs, Norm, converted, largest_within, place
from discreet.mechanisms.adding.reach import rounded_laplace_reach
from discreet.mechanisms.inputs.parameters import assign, exactly_one, read_dimensions, read_positive
from discreet.noise import BitSource, laplace_steps
from discreet.noise.laplace import checked_ratio
from discreet.privacy import NeighborRelation, Pure, curves
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from fractions import Fraction
    from typing import SupportsIndex

    import numpy as np
    from numpy.typing import NDArray

    from discreet.exact import Grid, Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Laplace"]


@dataclass(frozen=True, slots=True, init=False)
class Laplace(GridNoise):
    r"""Add Laplace noise to numbers, vectors or arrays, on a power-of-two grid.

    Privacy. Each coordinate is snapped to the grid and gets noise of density $e^{-|z|/b}/(2b)$, rounded to the grid,
    which is rounding (snapped value + real noise): post-processing. Snapping moves each of d coordinates by at most
    half a step, so neighbors that were at most the sensitivity apart in L1 are at most sensitivity + d steps apart
    afterwards, and

    $$\frac{p(z \mid x)}{p(z \mid x')} \le e^{\|x - x'\|_1 / b},$$

    multiplied over the coordinates, so epsilon = (sensitivity + d * step) / scale. The step is a millionth of the
    sensitivity unless a grid is given. `inputs="snapped"` states that the sensitivity holds for the snapped values, as
    it does for rows that were snapped before they were summed; nothing is added then.

    For delta > 0 the curve is that of one number that moves by the whole distance x (in scales), whatever the number of
    coordinates. A test that accepts one law with probability $\alpha$ accepts the law x away with at most
    $h_x(\alpha)$, which is $e^x\alpha$ up to $e^{-x}/2$, $1 - e^{-x}/(4\alpha)$ up to 1/2 and $1 - e^{-x}(1 - \alpha)$
    beyond. Moving the coordinates one after the other, it accepts with at most $h_{x_d}(\dots h_{x_1}(\alpha))$ (the
    argument of group privacy: Dong, Roth & Su 2022, arXiv:1905.02383), and
    $h_y(h_x(\alpha)) = h_{x+y}(\alpha)$ in each of the cases.

    A sensitivity in L2 is turned into an L1 one: $\Delta_1 \le \sqrt d\,\Delta_2$. If each coordinate moves by at most
    $\Delta_\infty$, then $\Delta_1 \le d\,\Delta_\infty$, and the curve is that of d numbers. For whole numbers use
    `DiscreteLaplace`.

    Values from 2**62 steps on are clamped, and NaN counts as 0, so that no error depends on a value.

    Dwork, McSherry, Nissim & Smith 2006 (doi:10.1007/11681878_14); the grid: Mironov 2012
    (doi:10.1145/2382196.2382264) shows why floats without one are not private.

    >>> mechanism = Laplace(sensitivity=1, epsilon="0.5")
    >>> mechanism.privacy.epsilon(delta=0), round(mechanism.error(confidence=0.95), 2)
    (0.5, 5.99)
    """

    kind: ClassVar[str] = "laplace"
    counted: ClassVar[Norm] = Norm.L1
    guarantee: ClassVar[str] = (
        "Numbers that move by at most the sensitivity in L1, snapped to a grid in d coordinates, with Laplace noise of "
        "this scale on each, are ((sensitivity + d * step) / scale)-differentially private."
    )
    accuracy: ClassVar[str] = "scale * ln(1 / (1 - confidence)), rounded to the grid, and half a step for the snap"
    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006, doi:10.1007/11681878_14"

    sensitivity: Fraction
    scale: Fraction
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
        scale: Number | None = None,
        grid: Grid | Number | None = None,
        dimensions: SupportsIndex = 1,
        norm: Norm | str = Norm.L1,
        inputs: Inputs | str = Inputs.RAW,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        given = exactly_one(epsilon=epsilon, scale=scale)
        size = read_dimensions(dimensions)
        stated = read_positive(sensitivity, "sensitivity", zero="what no unit can move needs no noise")
        in_norm = read_choice(Norm, norm, "norm")
        distance = converted(stated, in_norm, Norm.L1, size)
        rate = read_positive(epsilon, "epsilon", zero="no finite noise reaches it") if epsilon is not None else None
        rough = distance / rate if rate is not None else read_positive(scale, "scale", zero="it protects nobody")
        kind = read_choice(Inputs, inputs, "inputs")
        points, moved = place(distance, rough, norm=Norm.L1, dimensions=size, grid=grid, inputs=kind)
        spread = moved / rate if rate is not None else rough
        checked_ratio(spread, points, name=given if given == "scale" else "sensitivity / epsilon")
        assign(self, sensitivity=stated, scale=spread, grid=points, dimensions=size, norm=in_norm, inputs=kind)
        assign(self, neighbors=require_relation(neighbors))

    @classmethod
    def for_accuracy(  # noqa: PLR0913
        cls,
        sensitivity: Number,
        *,
        within: Number,
        confidence: float = 0.95,
        dimensions: SupportsIndex = 1,
        norm: Norm | str = Norm.L1,
        inputs: Inputs | str = Inputs.RAW,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> Self:
        """Return the mechanism with the most noise that keeps each coordinate within a distance, so confident.

        >>> made = Laplace.for_accuracy(sensitivity=1, within=5, confidence=0.95)
        >>> made.error(0.95) <= 5, round(float(made.claim.epsilon), 4)
        (True, 0.5991)
        """
        return largest_within(
            lambda scale: cls(
                sensitivity, scale=scale, dimensions=dimensions, norm=norm, inputs=inputs, neighbors=neighbors
            ),
            within=within,
            confidence=confidence,
            start=1.0,
        )

    @property
    def claim(self) -> Pure:
        """(sensitivity + d steps) / scale, exactly."""
        return Pure(self.moved / self.scale, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of one number that moves by the whole distance; of d numbers, if each may move so far."""
        if self.norm is Norm.LINF:
            per_number = self.moved / self.dimensions
            return curves.laplace(self.scale, per_number, neighbors=self.neighbors) * self.dimensions
        return curves.laplace(self.scale, self.moved, neighbors=self.neighbors)

    @property
    def _spread(self) -> Fraction:
        return self.scale

    def _reach(self, ratio: Fraction, chance: Fraction) -> int:
        return rounded_laplace_reach(ratio, chance)

    def _drawn(self, shape: tuple[int, ...] | None, bits: BitSource) -> int | NDArray[np.int64]:
        return laplace_steps(self.scale, self.grid, size=shape, bits=bits)
