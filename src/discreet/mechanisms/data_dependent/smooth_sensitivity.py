"""Any number with a smooth bound that its caller has worked out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.mechanisms.inputs.columns import Clamp, default_grid, read_bounds
from discreet.mechanisms.inputs.parameters import assign
from discreet.mechanisms.inputs.values import read_pair
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import Smooth, read_private
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from discreet.exact import Grid, Number
    from discreet.mechanisms.sensitivity.smooth_noise import Law
    from discreet.privacy.relations import Relation

__all__ = ["SmoothSensitivity"]

_GRID_BITS = 40


@dataclass(frozen=True, slots=True, init=False)
class SmoothSensitivity(Smooth):
    r"""Release a number with noise in proportion to a smooth bound on its local sensitivity, both given by the caller.

    Privacy. Let S bound $|f(x) - f(x')|$ for every neighbor x' of x, and $S(x) \le e^t S(x')$. Then
    $f + \mathrm{stretch} \cdot S \cdot Z$ keeps the promise for which Z was calibrated with the smoothing t (Nissim,
    Raskhodnikova, Smith 2007; the constants are derived in `discreet.mechanisms.sensitivity.smooth_noise`). The sum is
    rounded once to the grid. Clamping f to the bounds moves no two values apart, and neither may S exceed their
    distance then.

    `release` takes the pair (value, bound). NaN counts as the lower bound and as the distance of the bounds.

    >>> made = SmoothSensitivity(lower=0, upper=1, epsilon=1, smoothing="0.1")
    >>> made.law.value, round(float(made.noise.stretch), 3)
    ('polyplace', 1.061)
    """

    kind: ClassVar[str] = "smooth_sensitivity"
    guarantee: ClassVar[str] = (
        "A number plus admissible noise in proportion to a smooth bound on its local sensitivity keeps the promise for "
        "which the noise was calibrated."
    )
    accuracy: ClassVar[str] = "stretch * smooth bound * a quantile of the noise, of which the second is private"
    source: ClassVar[str] = "Nissim, Raskhodnikova & Smith 2007, doi:10.1145/1250790.1250803"
    _assumes: ClassVar[tuple[str, ...]] = (
        "the bound is at least the number's move to any neighbor.",
        "the bound changes by at most a factor exp(smoothing) between neighbors.",
    )

    lower: Fraction
    upper: Fraction
    grid: Grid

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        *,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        grid: Grid | Number | None = None,
        law: Law | str | None = None,
        shape: Number | None = None,
        smoothing: Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low, high = read_bounds((lower, upper))
        points = Clamp.of(low, high, default_grid(low, high, bits=_GRID_BITS) if grid is None else grid).grid
        assign(self, lower=low, upper=high, grid=points)
        self.promise_to(
            epsilon=epsilon, delta=delta, rho=rho, law=law, shape=shape, smoothing=smoothing, neighbors=neighbors
        )

    def value_and_bound(self, value: tuple[Number, Number]) -> tuple[Fraction, Fraction]:
        """Return the number clamped to the bounds, and the bound clamped to their distance; both are private."""
        exact, bound = read_pair(value, "value, smooth bound")
        inside = read_private(exact, self.lower, self.upper, missing=self.lower)
        return inside, read_private(bound, Fraction(0), self.upper - self.lower, missing=self.upper - self.lower)

    def release(self, value: tuple[Number, Number], *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return the private number, clamped to the bounds; `value` is (value, smooth bound)."""
        clamp = Clamp.of(self.lower, self.upper, self.grid)
        steps = int(self.noisy(value, self.grid, bits) / self.grid.step)
        return Release(self.grid.value(max(clamp.low, min(steps, clamp.high))), self)
