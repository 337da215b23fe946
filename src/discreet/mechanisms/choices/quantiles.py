"""Several quantiles at once, by halving: the middle one first, then those on either side of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, rational, shown
from discreet.mechanisms.choices.quantile import read_share
from discreet.mechanisms.choosing.ranks import RankTarget, SortedRows, choose_point
from discreet.mechanisms.inputs.columns import Clamp, default_grid, read_bounds, whole_numbers
from discreet.mechanisms.inputs.parameters import assign, exactly_one, read_positive
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource, uniform_integer
from discreet.privacy import Approximate, NeighborRelation, Pure, calibrate_largest, curves
from discreet.privacy.relations import group_size, require_relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Quantiles", "points_of", "quantiles", "read_shares", "spread_ties"]

_GRID_BITS = 36
_TIE_BITS = 20
_MOST_DENOMINATOR = 10**8
_MOST_QUANTILES = 10_000


@dataclass(frozen=True, slots=True, init=False)
class Quantiles(Mechanism["ArrayLike", "NDArray[np.float64] | NDArray[np.int64]"]):
    r"""Release several quantiles: the middle one of all rows, then the middle one of the rows on either side of it.

    Privacy. m quantiles take $\lceil \log_2(m + 1) \rceil$ levels. The released points of earlier levels cut the rows
    into parts, and each part gets one quantile of its own rows by the exponential mechanism (see `Quantile`), at the
    share (q - left) / (right - left) of the part. Under add/remove one row is in one part per level, so a level costs
    what one part costs, $\epsilon_0$, and the levels compose adaptively: levels times $\epsilon_0$, or the composed
    curve of bounded ranges for a delta. Under change-one a row may leave one part and enter another, which adds two
    ranges: the scale is that of a sensitivity of 2 max(q, 1 - q) instead of max(q, 1 - q), which also covers a change
    within a part.

    Ties would leave parts with more rows than their share. So each row is moved by a random part of a step, one draw of
    its own per row, and the released points are rounded back down: rows are changed one by one, which costs nothing.

    Kaplan, Schnapp & Stemmer 2022 (arXiv:2110.05429); the constants are derived here.

    >>> import numpy as np
    >>> made = Quantiles(["0.25", "0.5", "0.75"], lower=0, upper=1000, epsilon=200, grid=1)
    >>> made.levels, np.abs(made.release(np.arange(1000)).value - [250, 500, 750]).max() <= 2
    (2, np.True_)
    """

    kind: ClassVar[str] = "quantiles"
    guarantee: ClassVar[str] = (
        "One quantile per part, by the exponential mechanism with epsilon_0, on the parts that earlier quantiles cut "
        "the rows into: under add/remove each level costs epsilon_0, and the levels compose."
    )
    accuracy: ClassVar[str] = "about ln(points) * levels^2 / epsilon rows, as every level adds to the miss"
    source: ClassVar[str] = "Kaplan, Schnapp & Stemmer 2022, arXiv:2110.05429"
    _assumes: ClassVar[tuple[str, ...]] = (
        "a unit owns one row.",
        "the bounds and the grid were not read from the rows.",
    )
    no_error_because: ClassVar[str] = (
        "how far apart rows lie is private, and with it how far a missed rank is from the true value."
    )

    qs: tuple[Fraction, ...]
    lower: Fraction
    upper: Fraction
    grid: Grid
    level_epsilon: Fraction
    delta: Fraction
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        qs: Sequence[Number],
        *,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        delta: Number = 0,
        level_epsilon: Number | None = None,
        grid: Grid | Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low, high = read_bounds((lower, upper))
        points = default_grid(low, high, bits=_GRID_BITS) if grid is None else grid
        shares = read_shares(qs)
        chance = rational(delta, name="delta")
        if not 0 <= chance < 1:
            msg = f"delta is {shown(delta)}; it must be at least 0 and below 1, such as delta=1e-6."
            raise ParameterError(msg)
        exactly_one(epsilon=epsilon, level_epsilon=level_epsilon)
        if epsilon is not None:
            total = read_positive(epsilon, "epsilon", zero="every point would be equally likely")
            per_level = _per_level(len(shares).bit_length(), total, chance)
        else:
            per_level = read_positive(level_epsilon, "level_epsilon", zero="every point would be equally likely")
        assign(
            self,
            qs=shares,
            lower=low,
            upper=high,
            grid=Clamp.of(low, high, points).grid,
            level_epsilon=per_level,
            delta=chance,
            neighbors=require_relation(neighbors),
        )

    @property
    def levels(self) -> int:
        """How many levels of parts there are: ceil(log2(m + 1))."""
        return len(self.qs).bit_length()

    @property
    def privacy(self) -> Curve:
        """The composition of the levels."""
        return curves.exponential(self.level_epsilon, neighbors=self.neighbors) * self.levels

    @property
    def claim(self) -> Pure | Approximate:
        """The sum of the levels' epsilons, or what the curve keeps at delta."""
        if self.delta == 0:
            return Pure(self.levels * self.level_epsilon, neighbors=self.neighbors)
        return Approximate(Fraction(self.privacy.epsilon(self.delta)), self.delta, neighbors=self.neighbors)

    def release(
        self, value: ArrayLike, *, bits: BitSource = SYSTEM
    ) -> Release[NDArray[np.float64] | NDArray[np.int64]]:
        """Return the quantiles in the order in which they were asked for; `value` holds the rows."""
        clamp = Clamp.of(self.lower, self.upper, self.grid)
        rows, ties = spread_ties(clamp.steps(value), clamp.width, bits)
        order = sorted(range(len(self.qs)), key=self.qs.__getitem__)
        places = np.zeros(len(order), dtype=np.int64)
        parts = [(0, len(order), 0, ((clamp.width + 1) << ties) - 1, Fraction(0), Fraction(1))]
        for first, last, left, right, low, high in parts:  # the list grows behind the part at hand
            if first == last:
                continue
            middle = (first + last) // 2
            q = self.qs[order[middle]]
            inside = rows[np.searchsorted(rows, left) : np.searchsorted(rows, right, side="right")]
            share = ((q - low) / (high - low)).limit_denominator(_MOST_DENOMINATOR) if high > low else q
            point = left + self._part(inside - left, share, right - left, bits)
            places[order[middle]] = point >> ties
            parts.append((first, middle, left, point - 1, low, q))  # without points if point is the leftmost
            parts.append((middle + 1, last, point, right, q, high))
        return Release(points_of(places, clamp), self)

    def _part(self, rows: NDArray[np.int64], share: Fraction, width: int, bits: BitSource) -> int:
        """Choose one quantile of one part; a part without points has no rows, and its end stands for it."""
        if width < 0:
            return 0
        target = RankTarget.quantile(share)
        # under change-one a row leaves one part and enters another
        moves = 1 if self.neighbors.relation is NeighborRelation.ADD_REMOVE else 2
        sensitivity = moves * max(target.a, target.b) * group_size(self.neighbors)
        return choose_point(SortedRows(rows), target, width, 2 * sensitivity / self.level_epsilon, bits)


def read_shares(qs: Sequence[Number]) -> tuple[Fraction, ...]:
    """Read a list of shares of the rows.

    >>> read_shares([0.5, "1/4"])
    (Fraction(1, 2), Fraction(1, 4))
    """
    try:
        given = list(qs)
    except TypeError:
        msg = f"qs is {shown(qs)}; it must be a list of shares of the rows, such as [0.25, 0.5, 0.75]."
        raise ParameterError(msg) from None
    shares = tuple(read_share(q) for q in given)
    if not 0 < len(shares) <= _MOST_QUANTILES:
        msg = f"qs holds {len(shares)} shares; ask for 1 to {_MOST_QUANTILES} quantiles at once."
        raise ParameterError(msg)
    return shares


def spread_ties(steps: NDArray[np.int64], width: int, bits: BitSource) -> tuple[NDArray[np.int64], int]:
    """Move every row up by a random part of a step, sort, and return in how many bits a step was divided.

    >>> rows, ties = spread_ties(np.array([7, 7]), 10, SYSTEM)
    >>> (rows >> ties).tolist()
    [7, 7]
    """
    ties = max(0, min(_TIE_BITS, 61 - (width + 1).bit_length()))
    if ties == 0:
        return np.sort(steps), 0
    return np.sort((steps << ties) + uniform_integer(1 << ties, steps.size, bits)), ties


def points_of(places: NDArray[np.int64], clamp: Clamp) -> NDArray[np.float64] | NDArray[np.int64]:
    """Return grid points by their numbers, as an array of integers where the grid has only whole numbers.

    >>> from fractions import Fraction
    >>> points_of(np.array([1, 2]), Clamp.of(Fraction(5), Fraction(9), Grid(1)))
    array([6, 7])
    """
    return np.array([clamp.point(int(place)) for place in places])


def _per_level(levels: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest epsilon per level whose composition keeps (epsilon, delta)."""
    if delta == 0 or levels == 1:
        return epsilon / levels
    largest = calibrate_largest(
        lambda per_level: curves.exponential(per_level) * levels,
        epsilon=epsilon,
        delta=delta,
        start=float(epsilon) / levels,
    )
    return max(rational(largest), epsilon / levels)


def quantiles(  # noqa: PLR0913
    values: ArrayLike,
    qs: Sequence[Number],
    *,
    bounds: tuple[Number, Number] | None = None,
    epsilon: Number,
    delta: Number = 0,
    grid: Grid | Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[NDArray[np.float64] | NDArray[np.int64]]:
    """Release several quantiles of a column for one price.

    >>> import numpy as np
    >>> answer = quantiles(np.arange(10_000) / 100, [0.1, 0.5, 0.9], bounds=(0, 200), epsilon=1)
    >>> bool(np.abs(answer.value - [10, 50, 90]).max() < 4), answer.mechanism.promise
    (True, 'ε = 1')
    """
    lower, upper = read_bounds(bounds)
    if grid is None:
        grid = default_grid(lower, upper, bits=_GRID_BITS, whole=whole_numbers(values))
    mechanism = Quantiles(qs, lower=lower, upper=upper, epsilon=epsilon, delta=delta, grid=grid, neighbors=neighbors)
    return mechanism.release(values)
