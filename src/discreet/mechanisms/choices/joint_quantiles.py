"""Several quantiles at once, as one choice among all rising tuples of points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms.choices.quantiles import points_of, read_shares
from discreet.mechanisms.choosing.choice import ExponentialChoice
from discreet.mechanisms.choosing.joint import toss_product
from discreet.mechanisms.inputs.columns import Clamp, default_grid, read_bounds
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource, lottery, uniform_integer
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import group_size, require_relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Grid, Number
    from discreet.privacy.relations import Relation

__all__ = ["JointQuantiles"]

_GRID_BITS = 9
_MOST_POINTS = 4096
_TIE_POINTS = 2048
_MOST_PARTS = 1 << 24  # so that this many times four times 2**36 rows fit into 64 bits
_LARGEST_UNIT = 1 << 256
_STEEPEST = Fraction(10) ** 200
_SLACK = 2.0**-20
_UP = 1 - 2.0**-48  # a rate a little too small makes scores a little too large
_FARTHEST = -700.0


@dataclass(frozen=True, slots=True, init=False)
class JointQuantiles(ExponentialChoice["ArrayLike", "NDArray[np.float64] | NDArray[np.int64]"]):
    r"""Release several quantiles by one exponential mechanism over all rising tuples of points of a coarse grid.

    Privacy. With p_1, …, p_(m+1) the shares between neighboring quantiles and n_j the number of rows between points
    j - 1 and j of a tuple, its score is $-\sum_j |n_j - p_j n|$. A row more raises one n_j and all p_i n: that term
    moves by at most 1 - p_j, the others by p_i each, together by 2 (1 - p_j), at most 2 (1 - min p) under add/remove.
    A row exchanged for another raises one n_j and lowers another: at most 2. The scale is twice that over epsilon.

    Many rows may share a point. So points are divided into up to 2048 in all, every row is moved to a random part of
    its point, one draw of its own per row, and the released points are rounded back down; rows at a part count half as
    below it. A row that counts half in two terms moves the score by no more than one that counts in one of them, as
    the sum of distances is convex.

    There are about points^m / m! tuples. They are drawn from last to first by the sums of all weights to the right of a
    point, in floats; each step is an exact lottery for its floats, and the tuple is kept with the chance that makes up
    for what the floats were off, to as many digits as that takes. So the law is exact (rejection). Time grows with the
    number of points and its logarithm, whatever the number of rows: the grid has at most 4096 points.

    For few quantiles this is closer to the true ranks than the recursion of `Quantiles`, but no closer than its grid.

    Gillenwater, Joseph & Kulesza 2021 (arXiv:2102.08244); sensitivities derived here.

    >>> import numpy as np
    >>> made = JointQuantiles(["0.25", "0.5", "0.75"], lower=0, upper=1000, epsilon=50, grid=8)
    >>> np.abs(made.release(np.arange(1000)).value - [250, 500, 750]).max() <= 8
    np.True_
    """

    kind: ClassVar[str] = "joint_quantiles"
    guarantee: ClassVar[str] = (
        "The exponential mechanism over rising tuples, scored by how far the numbers of rows between them are from "
        "their shares, which one row moves by at most 2 (1 - min share) under add/remove and 2 under change-one, is "
        "epsilon-differentially private."
    )
    accuracy: ClassVar[str] = "all misses together at most 2 sensitivity / epsilon * ln(tuples / (1 - confidence)) rows"
    source: ClassVar[str] = "Gillenwater, Joseph & Kulesza 2021, arXiv:2102.08244"
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
    epsilon: Fraction
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        qs: Sequence[Number],
        *,
        lower: Number,
        upper: Number,
        epsilon: Number,
        grid: Grid | Number | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low, high = read_bounds((lower, upper))
        clamp = Clamp.of(low, high, default_grid(low, high, bits=_GRID_BITS) if grid is None else grid)
        if clamp.width >= _MOST_POINTS:
            msg = f"the grid has {clamp.width + 1} points; this mechanism takes at most {_MOST_POINTS}. See Quantiles."
            raise ParameterError(msg)
        price = read_positive(epsilon, "epsilon", zero="every tuple would be equally likely")
        assign(self, qs=read_shares(qs), lower=low, upper=high, grid=clamp.grid, epsilon=price)
        assign(self, neighbors=require_relation(neighbors))
        if self._shares[0] > _LARGEST_UNIT:
            msg = (
                "qs have a common denominator of more than 2**256, with which rows are multiplied. Write them with "
                "fewer digits, or as '1/3'; or see Quantiles."
            )
            raise ParameterError(msg)

    @property
    def _shares(self) -> tuple[int, tuple[int, ...]]:
        """Return the shares between neighboring quantiles as whole numbers, and their unit."""
        ends = [Fraction(0), *sorted(self.qs), Fraction(1)]
        unit = math.lcm(*(end.denominator for end in ends))
        return unit, tuple(int((b - a) * unit) for a, b in pairwise(ends))

    @property
    def scale(self) -> Fraction:
        """Twice the sensitivity over epsilon, in rows times the unit of the shares."""
        unit, shares = self._shares
        moved = unit - min(shares) if self.neighbors.relation is NeighborRelation.ADD_REMOVE else unit
        return 2 * 2 * moved * group_size(self.neighbors) / self.epsilon

    def release(
        self, value: ArrayLike, *, bits: BitSource = SYSTEM
    ) -> Release[NDArray[np.float64] | NDArray[np.int64]]:
        """Return the quantiles in the order in which they were asked for; `value` holds the rows."""
        clamp = Clamp.of(self.lower, self.upper, self.grid)
        ties = max(0, (_TIE_POINTS // (clamp.width + 1)).bit_length() - 1)
        steps = clamp.steps(value) << ties
        if ties:
            steps += uniform_integer(1 << ties, steps.size, bits)
        counts = np.bincount(steps, minlength=(clamp.width + 1) << ties)
        below = 2 * (np.cumsum(counts) - counts)  # and half of the rows at a point count as below it
        chain = _Chain(self._shares, self.scale, below + counts, int(steps.size))
        drawn = [point >> ties for point in chain.draw(bits)]
        order = sorted(range(len(self.qs)), key=self.qs.__getitem__)
        places = np.zeros(len(order), dtype=np.int64)
        places[order] = drawn
        return Release(points_of(places, clamp), self)


class _Chain:
    """Rising tuples with weights that are products over neighbors, drawn exactly.

    `twice` is, for each point, twice the number of rows below it. Step j from point g to h has the cost
    |unit (twice_h - twice_g) - 2 share_j n|, a whole number, the end after the last point likewise with 2 n; a tuple
    has the weight exp(-sum of costs / (2 scale)).
    """

    def __init__(
        self, shares: tuple[int, tuple[int, ...]], scale: Fraction, twice: NDArray[np.int64], rows: int
    ) -> None:
        unit, parts = shares
        kind = np.int64 if unit <= _MOST_PARTS else object  # whole numbers of any size where 64 bits do not hold them
        self._scale = 2 * scale
        self._rate = float(min(1 / self._scale, _STEEPEST))
        self._places = twice.astype(kind) * unit  # in the unit of the costs
        self._whole = 2 * rows * unit
        self._wanted = [2 * part * rows for part in parts]
        self._ahead = self._costs_ahead()
        self._slack = Fraction((len(parts) + 1) * _SLACK)

    def _costs_ahead(self) -> list[_Costs]:
        """Return for each step and each point the sum of all weights after it.

        The cost of a step falls with the place of its end until it is as far as wanted, and rises from there on. So the
        sum over all ends is one over those before and one over those after, in which the start is a common factor: two
        sums over stretches of points, read off from sums over stretches of lengths 1, 2, 4, ….
        """
        places = self._places
        ahead = [_Costs(np.abs(self._whole - places - self._wanted[-1]), np.zeros(places.size))]
        starts, last = np.arange(places.size), np.full(places.size, places.size)
        for wanted in reversed(self._wanted[1:-1]):
            after = ahead[0]
            split = np.maximum(np.searchsorted(places, places + wanted), starts)
            near = _Costs(after.whole - places, after.rest).over(starts, split, self._rate)
            far = _Costs(after.whole + places, after.rest).over(split, last, self._rate)
            near = _Costs(near.whole + (places + wanted), near.rest)
            far = _Costs(far.whole - (places + wanted), far.rest)
            ahead.insert(0, near.joined(far, self._rate))
        return ahead

    def _cost(self, step: int, start: int, end: int) -> int:
        return abs(end - start - self._wanted[step])

    def _scores(self, step: int, start: int, first: int) -> tuple[NDArray[np.float64], Fraction]:
        """Return the floats by which the next point is drawn, from `first` on, and how much they lie below the truth.

        They are at most 0, rounded up, and far ones are raised to -700: what is drawn too often is made up for.
        """
        after = self._ahead[step]
        costs = np.abs(self._places[first:] - start - self._wanted[step]) + after.whole[first:]
        least = costs.min()
        most = float(after.rest[first:].max())
        scores = (after.rest[first:] - most) - (costs - least).astype(np.float64) * (self._rate * _UP)
        return np.maximum(scores, _FARTHEST), Fraction(most) - int(least) / self._scale

    def draw(self, bits: BitSource) -> list[int]:
        """Return a tuple with probability proportional to its weight."""
        while True:
            points, start, first = [], 0, 0
            for step in range(len(self._wanted) - 1):
                first += lottery(self._scores(step, start, first)[0], 1, bits=bits)
                start = int(self._places[first])
                points.append(first)
            if self._kept(points, bits):
                return points

    def _kept(self, points: list[int], bits: BitSource) -> bool:
        """Toss the coin that turns the law of the lotteries into that of the weights.

        The lotteries drew these points with probability prod exp(s_j) / Z_j, where s_j is the float that stood for
        point j and Z_j the sum of exp over all of step j. The weight is exp(-costs / scale), so a chance in proportion
        to exp(-costs / scale - sum s_j) prod Z_j is needed; Z_1 is the same for all tuples and left out, and so is
        what step 1 lies below the truth. But for rounding, s_j is the logarithm of the weight of step j and of all that
        follows, less a number of the step, and Z_(j+1) is that sum, less the next number: the exponents cancel. A
        float is off by less than 2**-35 here where it is above -700, as costs are subtracted as whole numbers, and sums
        of 4096 terms are too. `slack` is far above that for all steps together, and keeps the chance below 1; so does
        rounding s_j up.
        """
        exponent, sums, start, first = -self._slack, [], 0, 0
        for step, point in enumerate(points):
            scores, below = self._scores(step, start, first)
            end = int(self._places[point])
            exponent -= self._cost(step, start, end) / self._scale + Fraction(float(scores[point - first]))
            if step:
                sums.append(scores)
            else:
                exponent -= below
            start, first = end, point
        exponent -= self._cost(len(self._wanted) - 1, start, self._whole) / self._scale
        return toss_product(exponent, Fraction(1), sums, bits)


@dataclass(frozen=True, slots=True, eq=False)
class _Costs:
    """Sums of weights, as exp(rest - rate * whole): the large part is a whole number, so that nothing is rounded off.

    A sum over nothing has a rest of minus infinity.
    """

    whole: NDArray[Any]
    rest: NDArray[np.float64]

    def joined(self, other: _Costs, rate: float) -> _Costs:
        """Return the sums of both."""
        least = np.where(np.isneginf(self.rest), other.whole, np.minimum(self.whole, other.whole))
        least = np.where(np.isneginf(other.rest), self.whole, least)
        ours, theirs = (
            np.where(np.isneginf(costs.rest), -np.inf, costs.rest - (costs.whole - least).astype(np.float64) * rate)
            for costs in (self, other)
        )
        return _Costs(least, np.logaddexp(ours, theirs))

    def over(self, starts: NDArray[np.int64], ends: NDArray[np.int64], rate: float) -> _Costs:
        """Return the sums over stretches of points, from each start up to before its end."""
        total = _Costs(np.zeros(starts.size, dtype=self.whole.dtype), np.full(starts.size, -np.inf))
        table, length, at = self, 1, starts
        while length <= starts.size:
            taken = ((ends - starts) & length) > 0
            inside = np.minimum(at, table.rest.size - 1)
            piece = _Costs(table.whole[inside], np.where(taken, table.rest[inside], -np.inf))
            total, at = total.joined(piece, rate), at + np.where(taken, length, 0)
            if table.rest.size > length:
                left = _Costs(table.whole[:-length], table.rest[:-length])
                table = left.joined(_Costs(table.whole[length:], table.rest[length:]), rate)
            length *= 2
        return total
