"""One quantile by the exponential mechanism on ranks, and the median."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ParameterError
from discreet.exact import Grid, float_up, rational, shown
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
    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Quantile", "median", "quantile"]

_GRID_BITS = 40
_MOST_DENOMINATOR = 10**8  # ranks of a hundred billion rows still fit into 64 bits


@dataclass(frozen=True, slots=True, init=False)
class Quantile(ExponentialChoice["ArrayLike", "float | int"]):
    r"""Release a q-quantile of a column: a point of a public grid, likelier the fewer rows it is from the rank q n.

    Privacy. Every grid point g between the bounds is a candidate. With B rows below g, E at g and A above, its score is
    minus the number of rows by which g misses the rank: $-\max(0,\, B - qn,\, qn - B - E)$, $n = B + E + A$. One row
    more or less moves it by at most max(q, 1 - q), one row exchanged for another by at most 1 (derived at
    `RankTarget`), and the exponential mechanism with twice that over epsilon is epsilon-differentially private with
    range epsilon. For the median under add/remove the chance of a point falls by a factor $e^{-\epsilon}$ per row.

    n is private under add/remove and is never used but in the scores. Rows are clamped to the bounds and snapped to the
    grid; NaN and None are left out. The release is a grid point, uniform among the points of its gap between rows.

    Smith 2011 (doi:10.1145/1993636.1993743), made exact; McSherry & Talwar 2007.

    >>> import numpy as np
    >>> Quantile("0.5", lower=0, upper=100, epsilon=50, grid=1).release(np.arange(101)).value
    50
    >>> round(Quantile("0.5", lower=0, upper=100, epsilon=1, grid=1).rank_error(confidence=0.95), 1)
    7.6
    """

    kind: ClassVar[str] = "quantile"
    guarantee: ClassVar[str] = (
        "The exponential mechanism over the points of a grid, scored by how many rows each misses the rank q n, which "
        "one row moves by at most max(q, 1 - q) (add/remove) or 1 (change-one), is epsilon-differentially private."
    )
    accuracy: ClassVar[str] = "misses the rank by at most 2 sensitivity / epsilon * ln(points / (1 - confidence)) rows"
    source: ClassVar[str] = "Smith 2011, doi:10.1145/1993636.1993743; McSherry & Talwar 2007, doi:10.1109/FOCS.2007.41"
    _assumes: ClassVar[tuple[str, ...]] = (
        "a unit owns one row.",
        "the bounds and the grid were not read from the rows.",
    )
    no_error_because: ClassVar[str] = (
        "how far apart rows lie is private; rank_error() bounds by how many rows the released point misses."
    )

    q: Fraction
    lower: Fraction
    upper: Fraction
    grid: Grid
    epsilon: Fraction
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        q: Number,
        *,
        lower: Number,
        upper: Number,
        epsilon: Number,
        grid: Grid | Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low, high = read_bounds((lower, upper))
        points = default_grid(low, high, bits=_GRID_BITS) if grid is None else grid
        assign(
            self,
            q=read_share(q),
            lower=low,
            upper=high,
            grid=Clamp.of(low, high, points).grid,
            epsilon=read_positive(epsilon, "epsilon", zero="every point would be equally likely"),
            neighbors=require_relation(neighbors),
        )

    @property
    def _target(self) -> RankTarget:
        return RankTarget.quantile(self.q)

    @property
    def scale(self) -> Fraction:
        """How many rows farther from the rank make a point less likely by a factor e."""
        return self._target.scale(self.epsilon, self.neighbors) / self.q.denominator

    def rank_error(self, confidence: float = 0.95) -> float:
        """Return by how many rows the released point misses the rank at most, with this probability, for any rows."""
        points = Clamp.of(self.lower, self.upper, self.grid).width + 1
        return float_up(rational(gap_bound(self.scale, points, 1, confidence)))

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[float | int]:
        """Return the private quantile; `value` holds the rows. Only the rows near the rank are sorted."""
        clamp, scale = Clamp.of(self.lower, self.upper, self.grid), self._target.scale(self.epsilon, self.neighbors)
        return Release(
            clamp.point(choose_point(ranked_rows(value, clamp), self._target, clamp.width, scale, bits)), self
        )


def read_share(q: Number) -> Fraction:
    """Read a share of the rows, with at most eight decimals.

    >>> read_share(0.25)
    Fraction(1, 4)
    """
    share = rational(q, name="q")
    if not 0 <= share <= 1 or share.denominator > _MOST_DENOMINATOR:
        msg = f"q is {shown(q)}; it must be from 0 to 1, a fraction with a denominator of at most 10**8, such as 0.25."
        raise ParameterError(msg)
    return share


def quantile(  # noqa: PLR0913
    values: ArrayLike,
    q: Number,
    *,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number,
    grid: Grid | Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[float | int]:
    """Release the q-quantile of a column: a value with about a share q of the rows below it.

    Without a grid, an array of whole numbers gets the grid of whole numbers, everything else about 2**40 points.

    >>> import numpy as np
    >>> answer = quantile(np.arange(10_000) / 100, 0.25, bounds=(0, 200), epsilon=1)
    >>> 24 < answer.value < 26, answer.mechanism.promise
    (True, 'ε = 1')
    """
    lower, upper = read_bounds(bounds)
    if grid is None:
        grid = default_grid(lower, upper, bits=_GRID_BITS, whole=whole_numbers(values))
    mechanism = Quantile(q, lower=lower, upper=upper, epsilon=epsilon, grid=grid, neighbors=neighbors)
    return mechanism.release(values)


def median(
    values: ArrayLike,
    *,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number,
    grid: Grid | Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[float | int]:
    """Release the median of a column.

    >>> import numpy as np
    >>> answer = median(np.arange(10_001), bounds=(0, 20_000), epsilon=1)
    >>> 4_900 < answer.value < 5_100, isinstance(answer.value, int)
    (True, True)
    """
    return quantile(values, Fraction(1, 2), bounds=bounds, epsilon=epsilon, grid=grid, neighbors=neighbors)
