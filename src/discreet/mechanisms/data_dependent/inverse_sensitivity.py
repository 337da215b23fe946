"""A number chosen by how many units would have to change to make it the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.mechanisms.choosing.choice import ExponentialChoice
from discreet.mechanisms.choosing.ladder import choose_on_ladder, rungs
from discreet.mechanisms.inputs.columns import Clamp, default_grid, read_bounds
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.inputs.rows import listed
from discreet.mechanisms.inputs.values import read_pair
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import read_private
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.exact import Grid, Number
    from discreet.privacy.relations import Relation

__all__ = ["InverseSensitivity"]

_GRID_BITS = 40


@dataclass(frozen=True, slots=True, init=False)
class InverseSensitivity(ExponentialChoice["tuple[Number, Sequence[Number]]", float]):
    r"""Release a number near a private one, by the exponential mechanism on how many units it is away.

    Privacy. The caller gives f(x) and bounds U_0, U_1, … with $|f(x) - f(x')| \le U_0(x)$ and $U_k(x) \le U_{k+1}(x')$
    for neighbors, as smooth sensitivity needs them. Within k units f moves by at most $D_k = \sum_{i<k} U_i$, and
    $D_{k+1}(x') \ge U_0(x') + D_k(x)$; so the interval of radius $D_k(x)$ around f(x) lies in that of radius
    $D_{k+1}(x')$ around f(x'). The rung of a point y, the smallest k with $|y - f| \le D_k$, moves by at most one per
    unit, and the exponential mechanism with weight $e^{-\epsilon\,\mathrm{rung}/2}$ is epsilon-differentially private.
    Beyond the last bound all points share a rung. Rounding every U up to whole steps keeps the inequalities.

    With the exact bounds this is the inverse sensitivity mechanism of Asi & Duchi 2020 (arXiv:2005.10630). It needs no
    smoothing: where the bounds stay small for many units and jump then, a smooth bound is ruled by the jump, and this
    is far closer; where they grow slowly, noise by a smooth bound is closer, as half of epsilon is lost here to the
    normalization of the exponential mechanism. For medians it is what `Quantile` does.

    `release` takes the pair (value, bounds).

    >>> made = InverseSensitivity(lower=0, upper=100, epsilon=200, grid=1)
    >>> made.release((50, [1, 1, 2, 4])).value
    50.0
    """

    kind: ClassVar[str] = "inverse_sensitivity"
    guarantee: ClassVar[str] = (
        "The exponential mechanism over the points of a grid, scored by how many units must change before the "
        "statistic can reach them, is epsilon-differentially private."
    )
    accuracy: ClassVar[str] = "within D_k, k = 2 / epsilon * ln(points / (1 - confidence)) units, of which D is private"
    source: ClassVar[str] = "Asi & Duchi 2020, arXiv:2005.10630"
    _assumes: ClassVar[tuple[str, ...]] = (
        "the first bound is at least the value's move to any neighbor.",
        "the k-th bound is at most any neighbor's next one.",
        "the number of bounds is public.",
    )
    no_error_because: ClassVar[str] = (
        "how far the value moves per unit depends on the rows, and telling it would cost privacy."
    )

    lower: Fraction
    upper: Fraction
    grid: Grid
    epsilon: Fraction
    neighbors: Relation

    def __init__(
        self,
        *,
        lower: Number,
        upper: Number,
        epsilon: Number,
        grid: Grid | Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low, high = read_bounds((lower, upper))
        points = Clamp.of(low, high, default_grid(low, high, bits=_GRID_BITS) if grid is None else grid).grid
        size = read_positive(epsilon, "epsilon", zero="every point would be equally likely")
        assign(self, lower=low, upper=high, grid=points, epsilon=size, neighbors=require_relation(neighbors))

    def release(self, value: tuple[Number, Sequence[Number]], *, bits: BitSource = SYSTEM) -> Release[float]:
        """Return a point of the grid; `value` is (value, bounds by distance)."""
        number, bounds = read_pair(value, "value, bounds by distance")
        clamp = Clamp.of(self.lower, self.upper, self.grid)
        span = clamp.width * self.grid.step
        lowest = clamp.low * self.grid.step
        center = (read_private(number, lowest, lowest + span, missing=lowest) - lowest) / self.grid.step
        given = listed(bounds, name="bounds")[: rungs(self.epsilon)]
        moves = [read_private(bound, Fraction(0), span, missing=span) for bound in given]
        climbs = [math.ceil(move / self.grid.step) for move in moves]
        steps = choose_on_ladder(center, climbs, clamp.width, self.epsilon, bits)
        return Release(float(clamp.point(steps)), self)
