"""The smallest and the largest values of a column, a few rows from the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from discreet.exact import Grid, integer
from discreet.mechanisms.choosing.choice import ExponentialChoice
from discreet.mechanisms.choosing.ranks import RankTarget, choose_point, ranked_rows
from discreet.mechanisms.choosing.scores import gap_bound
from discreet.mechanisms.inputs.columns import Clamp, default_grid, read_bounds, whole_numbers
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from fractions import Fraction
    from typing import SupportsIndex

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Maximum", "Minimum", "maximum", "minimum"]

_GRID_BITS = 40


@dataclass(frozen=True, slots=True, init=False)
class Minimum(ExponentialChoice["ArrayLike", "float | int"]):
    """Release a value with about `rank` rows below it: the smallest value that many rows can hide.

    The exact minimum belongs to one row, and nothing private says more about it than the bounds do. So the released
    point aims at the row of rank r from the end; by default r = 20 / epsilon, so that points beyond the last row, which
    are r rows off, are unlikely unless their gap is thousands of times wider than the ones at rank r.

    Privacy. The exponential mechanism over the points of a grid; the score of a point with B rows below and E at it is
    -max(0, B - r, r - B - E). One row more or less, or exchanged for another, moves it by at most 1 (see `RankTarget`):
    scale 2 / epsilon.

    McSherry & Talwar 2007 (doi:10.1109/FOCS.2007.41); Smith 2011 (doi:10.1145/1993636.1993743).

    >>> import numpy as np
    >>> found = Minimum(lower=0, upper=1000, epsilon=10, rank=10).release(np.arange(100, 900)).value
    >>> 100 < found < 120
    True
    """

    kind: ClassVar[str] = "minimum"
    guarantee: ClassVar[str] = (
        "The exponential mechanism over the points of a grid, scored by how many rows each misses a rank from the end, "
        "which one row moves by at most 1, with scale 2 / epsilon, is epsilon-differentially private."
    )
    accuracy: ClassVar[str] = "misses the rank by at most 2 / epsilon * ln(points / (1 - confidence)) rows"
    source: ClassVar[str] = "McSherry & Talwar 2007, doi:10.1109/FOCS.2007.41"
    _assumes: ClassVar[tuple[str, ...]] = (
        "a unit owns one row.",
        "the bounds and the grid were not read from the rows.",
    )
    no_error_because: ClassVar[str] = (
        "how far apart rows lie is private; rank_error() bounds by how many rows the released point misses."
    )

    lower: Fraction
    upper: Fraction
    rank: int
    grid: Grid
    epsilon: Fraction
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        *,
        lower: Number,
        upper: Number,
        epsilon: Number,
        rank: SupportsIndex | None = None,
        grid: Grid | Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low, high = read_bounds((lower, upper))
        points = default_grid(low, high, bits=_GRID_BITS) if grid is None else grid
        price = read_positive(epsilon, "epsilon", zero="every point would be equally likely")
        place = -(-20 // price) if rank is None else integer(rank, name="rank", least=0, most=1 << 40)
        assign(self, lower=low, upper=high, rank=min(int(place), 1 << 40), epsilon=price)
        assign(self, grid=Clamp.of(low, high, points).grid, neighbors=require_relation(neighbors))

    @classmethod
    def of_rows(
        cls,
        values: ArrayLike,
        bounds: tuple[Number, Number] | None,
        grid: Grid | Number | None,
        **given: Any,  # noqa: ANN401  a price, and a rank
    ) -> Self:
        """Make the mechanism for the rows at hand: with a grid of whole numbers where they are declared as such."""
        lower, upper = read_bounds(bounds)
        if grid is None:
            grid = default_grid(lower, upper, bits=_GRID_BITS, whole=whole_numbers(values))
        return cls(lower=lower, upper=upper, grid=grid, **given)

    @property
    def _target(self) -> RankTarget:
        return RankTarget(1, 0, self.rank)

    def rank_error(self, confidence: float = 0.95) -> float:
        """Return by how many rows the point misses its rank at most, if there are that many rows."""
        points = Clamp.of(self.lower, self.upper, self.grid).width + 1
        return gap_bound(self._target.scale(self.epsilon, self.neighbors), points, 1, confidence)

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float | int]:
        """Return the private value; `value` holds the rows."""
        clamp, scale = Clamp.of(self.lower, self.upper, self.grid), self._target.scale(self.epsilon, self.neighbors)
        return Release(
            clamp.point(choose_point(ranked_rows(value, clamp), self._target, clamp.width, scale, bits)), self
        )


@dataclass(frozen=True, slots=True, init=False)
class Maximum(Minimum):
    """Release a value with about `rank` rows above it: see `Minimum`, from the other end.

    >>> import numpy as np
    >>> found = Maximum(lower=0, upper=1000, epsilon=10, rank=10).release(np.arange(100, 900)).value
    >>> 880 < found < 900
    True
    """

    kind: ClassVar[str] = "maximum"

    @property
    def _target(self) -> RankTarget:
        return RankTarget(0, 1, -self.rank)


def minimum(  # noqa: PLR0913
    values: ArrayLike,
    *,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number,
    rank: SupportsIndex | None = None,
    grid: Grid | Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[float | int]:
    """Release a value near the smallest of a column, with about `rank` rows below it.

    >>> import numpy as np
    >>> 100 < minimum(np.arange(100, 9_000), bounds=(0, 10_000), epsilon=10, rank=10).value < 120
    True
    """
    return Minimum.of_rows(values, bounds, grid, epsilon=epsilon, rank=rank, neighbors=neighbors).release(values)


def maximum(  # noqa: PLR0913
    values: ArrayLike,
    *,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number,
    rank: SupportsIndex | None = None,
    grid: Grid | Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[float | int]:
    """Release a value near the largest of a column, with about `rank` rows above it.

    >>> import numpy as np
    >>> 8_980 < maximum(np.arange(100, 9_000), bounds=(0, 10_000), epsilon=10, rank=10).value < 9_000
    True
    """
    return Maximum.of_rows(values, bounds, grid, epsilon=epsilon, rank=rank, neighbors=neighbors).release(values)
