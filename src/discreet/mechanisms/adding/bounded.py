"""Statistics of columns with public bounds: rows as whole numbers, their exact sums split into parts, and what follows.

A row with the shares s and t of the ways between the bounds of two columns adds b_i(s) b_j(t), where b_0, …, b_d are
the Bernstein polynomials of degree d: at least 0, and together 1. So the (d + 1)**2 sums move by exactly 1 in L1 for a
row more or less, and all mixed moments up to s**d t**d follow from them: the number of rows, both means, the
covariance (d = 1), and both variances as well (d = 2), for one price. See `Partition`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.mechanisms.adding.combinations import NoisyNumbers, combined
from discreet.mechanisms.adding.ratios import Average, Product
from discreet.mechanisms.adding.sums import (
    Moved,
    Noise,
    NoisySums,
    Partition,
    adds_rows,
    largest_move,
    noisy,
    pair,
    products,
    read_noise,
    read_size,
    require_rows,
    squares,
)
from discreet.mechanisms.inputs.columns import Clamp, default_grid, exact_sum, read_bounds, read_column
from discreet.mechanisms.inputs.parameters import assign, exactly_one
from discreet.mechanisms.inputs.values import read_pair
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import SupportsIndex

    from numpy.typing import ArrayLike

    from discreet.exact import Grid, Number
    from discreet.mechanisms.adding.sums import Terms
    from discreet.mechanisms.release import Release
    from discreet.noise import BitSource
    from discreet.privacy.relations import Relation

__all__ = ["BoundedColumn", "PairedColumns", "SplitSums", "around_middles", "read_pair_of_bounds"]

_FEWEST_BITS, _FEWEST_BITS_OF_PAIRS = 6, 3
_MOST_UNIT = 1 << 62
_TOO_PRIVATE = "epsilon or rho is so small that the samplers do not hold the noise on any grid; ask for more."
Bounds = tuple["Number", "Number"]
Place = tuple[Clamp, int]


class SplitSums(NoisySums[Any, Any]):
    """Sums of powers of bounded rows, of which noise is added to parts of one total.

    >>> from discreet.mechanisms import Mean
    >>> Mean(lower=0, upper=10, epsilon=1, grid=1).split.matrix
    ((0, 1), (10, -1))
    """

    __slots__ = ()

    no_error_because: ClassVar[str] = (
        "the error depends on the number of rows, which is private; a release has a ± from its noisy number."
    )

    size: int | None
    neighbors: Relation

    @property
    @abstractmethod
    def split(self) -> Partition:
        """How the sums are split; place 0 is the number of rows."""

    @property
    def _noisy(self) -> NoisyNumbers:
        """The noise alone: what a ± is made of."""
        return NoisyNumbers((), (self.noise,))

    def _assumed(self, grids: str) -> tuple[str, ...]:
        """One row per unit, and public bounds."""
        rows = () if self.size is None else (f"the number of rows, {self.size}, is public.",)
        return ("a unit owns one row.", f"the bounds and the {grids} were not read from the rows.", *rows)

    def _noisy_sums(self, sums: Sequence[int], bits: BitSource) -> tuple[int, dict[int, Fraction]]:
        """Add noise to the parts; return their total, and the sums that follow from them.

        Where the number of rows is public the parts are brought to its total, by equal parts.
        """
        split = self.split
        exact = split.parts([np.array([[number]], dtype=object) for number in sums])[0].tolist()
        parts, off = noisy(exact, self.noise, bits), Fraction(0)
        total = sum(parts) if self.size is None else self.size * split.unit
        if self.size is not None:
            off = Fraction(total - sum(parts), len(parts))
        terms = split.terms(0)
        return total, {
            place: sum((factor * (parts[part] + off) for _, part, factor in terms[place]), Fraction(0))
            for place in split.places
        }

    def _terms(self) -> dict[int, Terms]:
        """The sums as combinations of noises: what brings parts to a public total takes off their mean."""
        terms, count = self.split.terms(0), len(self.split.matrix)
        if self.size is None:
            return terms
        means = {place: sum((factor for _, _, factor in one), Fraction(0)) / count for place, one in terms.items()}
        every = tuple((0, part, Fraction(1)) for part in range(count))
        return {place: combined((one, 1), (every, -means[place])) for place, one in terms.items()}

    def _product(self, first: Place, second: Place, both: int) -> Product:
        """The mean product of two columns' distances from the middles of their bounds; see `around_middles`."""
        terms, far = self._terms(), first[0].middle * second[0].middle
        x, y = (self._around_middle(terms, *place) for place in (first, second))
        mixed = Average(
            self._noisy,
            combined(
                (terms[both], 1),
                (terms[first[1]], -second[0].middle),
                (terms[second[1]], -first[0].middle),
                (terms[0], far),
            ),
            terms[0],
            (Fraction(0) if first == second else -far, far),
            0.0,
            x.step * y.step,
            # half a step of either times the other, and both together
            float(first[0].middle + second[0].middle + Fraction(1, 2)) / 2 * x.step * y.step,
        )
        return Product(x, x if first == second else y, mixed)

    def _around_middle(self, terms: Mapping[int, Terms], clamp: Clamp, place: int) -> Average:
        """The mean distance of a column from the middle of its bounds."""
        step, total = float(clamp.grid.step), combined((terms[place], 1), (terms[0], -clamp.middle))
        widest = float((clamp.width + 1) * clamp.grid.step)
        return Average(self._noisy, total, terms[0], (-clamp.middle, clamp.middle), 0.0, step, step / 2, widest)


def around_middles(
    noisy_sums: Mapping[int, Fraction], first: Place, second: Place, both: int
) -> tuple[float, float, float]:
    """Count sums from the middles of the bounds, as `Product` takes them.

    Each column is given with the place of its sum; `both` is the place of the sum of their products.

    >>> from discreet.exact import Grid
    >>> clamp = Clamp.of(Fraction(0), Fraction(10), Grid(1))
    >>> around_middles({0: Fraction(2), 1: Fraction(10), 2: Fraction(68)}, (clamp, 1), (clamp, 1), 2)
    (0.0, 0.0, 18.0)
    """
    (c, x), (d, y) = ((clamp.middle, noisy_sums[place]) for clamp, place in (first, second))
    count = noisy_sums[0]
    return float(x - c * count), float(y - d * count), float(noisy_sums[both] - d * x - c * y + c * d * count)


@dataclass(frozen=True, slots=True, init=False)
class BoundedColumn(SplitSums):
    """A statistic of a column with public bounds: fields, promise and checks that all of them share.

    Subclasses say how far one row moves their sums, in steps of the grid.

    >>> from discreet.mechanisms import Mean
    >>> Mean(lower=0, upper=10, epsilon=1).noise.promise
    'ε = 1'
    """

    lower: Fraction
    upper: Fraction
    grid: Grid
    noise: Noise
    size: int | None
    neighbors: Relation

    _bits: ClassVar[int] = 30

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        *,
        lower: Number,
        upper: Number,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: Noise | None = None,
        grid: Grid | Number | None = None,
        size: SupportsIndex | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        low, high = read_bounds((lower, upper))
        relation = require_relation(neighbors)
        assign(self, lower=low, upper=high, neighbors=relation, size=read_size(size, relation))
        exactly_one(epsilon=epsilon, rho=rho, noise=noise)  # type: ignore[arg-type]
        reach = largest_move(epsilon=epsilon, delta=delta, rho=rho)
        points = self._fitting(low, high, reach) if grid is None else grid
        assign(self, grid=Clamp.of(low, high, points).grid)
        price: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho}
        assign(self, noise=read_noise(self._moved(), relation, noise=noise, **price))

    def _fitting(self, low: Fraction, high: Fraction, reach: Fraction) -> Grid:
        """Choose the finest grid, up to the statistic's bits, on which the sampler holds the noise."""
        for bits in range(self._bits, _FEWEST_BITS - 1, -1):
            grid = default_grid(low, high, bits=bits)
            assign(self, grid=grid)
            if self._moved().l1 <= reach:
                return grid
        raise ParameterError(_TOO_PRIVATE)

    @property
    def split(self) -> Partition:
        """How far each row is from both bounds."""
        return pair(0, 1, (0, self._clamp.width))

    @abstractmethod
    def _moved(self) -> Moved:
        """Return how far one unit moves the sums, in steps of the grid."""

    @property
    def _clamp(self) -> Clamp:
        return Clamp.of(self.lower, self.upper, self.grid)

    @property
    def _missing(self) -> int:
        """What a missing row counts as where the number of rows is public."""
        return self._clamp.between(self.lower, self.upper)

    @property
    def _span(self) -> float:
        return float(self.upper - self.lower)

    @property
    def assumed(self) -> tuple[str, ...]:
        """One row per unit, and public bounds."""
        return self._assumed("grid")

    @classmethod
    def of_rows(
        cls,
        values: ArrayLike,
        bounds: tuple[Number, Number] | None,
        neighbors: Relation,
        **given: Any,  # noqa: ANN401  a price, and a grid
    ) -> Self:
        """Make the mechanism for the rows at hand, whose number is public under change-one and not used otherwise."""
        lower, upper = read_bounds(bounds)
        size = None if adds_rows(neighbors) else read_column(values).size
        return cls(lower=lower, upper=upper, size=size, neighbors=neighbors, **given)


def read_pair_of_bounds(bounds: tuple[Bounds, Bounds] | None) -> tuple[Bounds, Bounds]:
    """Read the public bounds of two columns.

    >>> read_pair_of_bounds(((0, 1), (0, 10)))
    ((0, 1), (0, 10))
    """
    try:
        first, second = bounds  # type: ignore[misc]
    except (TypeError, ValueError):
        msg = (
            f"bounds is {shown(bounds)}; it must be a pair of bounds for each column, such as ((0, 1), (0, 100)): "
            "without bounds one row can move the answer without limit. Take the numbers from outside knowledge, not "
            "from the data."
        )
        raise ParameterError(msg) from None
    return first, second


def _read_grids(grids: tuple[Grid | Number, Grid | Number]) -> tuple[Grid | Number, Grid | Number]:
    try:
        first, second = grids
    except (TypeError, ValueError):
        msg = f"grids is {shown(grids)}; give a pair of steps, one for each column."
        raise ParameterError(msg) from None
    return first, second


@dataclass(frozen=True, slots=True, init=False)
class PairedColumns(SplitSums):
    """A statistic of two columns with public bounds; `value` is a pair of columns of the same length.

    >>> from discreet.mechanisms import Covariance
    >>> Covariance(first=(0, 1), second=(0, 10), epsilon=1).promise
    'ε = 1'
    """

    first: tuple[Fraction, Fraction]
    second: tuple[Fraction, Fraction]
    grids: tuple[Grid, Grid]
    noise: Noise
    size: int | None
    neighbors: Relation

    degree: ClassVar[int] = 1
    _bits: ClassVar[int] = 24

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        *,
        first: Bounds,
        second: Bounds,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: Noise | None = None,
        grids: tuple[Grid | Number, Grid | Number] | None = None,
        size: SupportsIndex | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        relation = require_relation(neighbors)
        bounds = read_bounds(first), read_bounds(second)
        assign(self, first=bounds[0], second=bounds[1], neighbors=relation, size=read_size(size, relation))
        exactly_one(epsilon=epsilon, rho=rho, noise=noise)  # type: ignore[arg-type]
        reach = largest_move(epsilon=epsilon, delta=delta, rho=rho)
        steps = self._fitting(reach) if grids is None else _read_grids(grids)
        assign(self, grids=tuple(Clamp.of(*ends, grid).grid for ends, grid in zip(bounds, steps, strict=True)))
        self._require_small()
        price: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho}
        assign(self, noise=read_noise(self._moved(), relation, noise=noise, **price))

    def _fitting(self, reach: Fraction) -> tuple[Grid, Grid]:
        """Choose the finest grids on which the sampler holds the noise."""
        for bits in range(self._bits // self.degree, _FEWEST_BITS_OF_PAIRS - 1, -1):
            grids = default_grid(*self.first, bits=bits), default_grid(*self.second, bits=bits)
            assign(self, grids=grids)
            if self._moved().l1 <= reach:
                return grids
        raise ParameterError(_TOO_PRIVATE)

    def _require_small(self) -> None:
        if self._unit >= _MOST_UNIT:
            msg = "the grids are so fine that products of rows do not fit into 64 bits; take coarser ones."
            raise ParameterError(msg)

    @property
    def _clamps(self) -> tuple[Clamp, Clamp]:
        return Clamp.of(*self.first, self.grids[0]), Clamp.of(*self.second, self.grids[1])

    @property
    def _unit(self) -> int:
        """What one row adds to all sums together."""
        one, other = self._clamps
        return int((one.width * other.width) ** self.degree)

    @property
    def split(self) -> Partition:
        """How far each row is from the bounds of both columns; place i (degree + 1) + j is the sum of s**i t**j."""
        one, other = (
            pair(0, 1, (0, clamp.width)) if self.degree == 1 else squares(0, 1, 2, (0, clamp.width))
            for clamp in self._clamps
        )
        return products(tuple(range((self.degree + 1) ** 2)), one, other)

    def _moved(self) -> Moved:
        return Moved.by_row(self._unit, (self.degree + 1) ** 2, self.neighbors)

    @property
    def assumed(self) -> tuple[str, ...]:
        """One row per unit, and public bounds."""
        return self._assumed("grids")

    def _sums(self, value: tuple[ArrayLike, ArrayLike]) -> list[int]:
        columns = [read_column(column) for column in read_pair(value, "first column, second column")]
        if columns[0].size != columns[1].size:
            msg = "the data must be a pair of columns with as many rows in one as in the other."
            raise ParameterError(msg)
        require_rows(columns[0].size, self.size)
        steps = [clamp.steps(column, missing=-1) for clamp, column in zip(self._clamps, columns, strict=True)]
        if self.size is None:  # a row that misses one of its two numbers is left out
            there = (steps[0] >= 0) & (steps[1] >= 0)
            steps = [counted[there] for counted in steps]
        else:
            bounds = self.first, self.second
            middles = [clamp.between(*ends) for clamp, ends in zip(self._clamps, bounds, strict=True)]
            steps = [np.where(rows < 0, middle, rows) for rows, middle in zip(steps, middles, strict=True)]
        powers = range(self.degree + 1)
        return [exact_sum(steps[0] ** i * steps[1] ** j, self._unit) for i in powers for j in powers]

    def _columns(self, first: int, second: int) -> tuple[Place, Place, int]:
        """The sums of two columns, 0 or 1, and of their products, as `_product` takes them."""
        places = (self.degree + 1, 1)
        one, other = ((self._clamps[column], places[column]) for column in (first, second))
        return one, other, places[first] + places[second]

    @classmethod
    def released(
        cls,
        columns: tuple[ArrayLike, ArrayLike],
        bounds: tuple[Bounds, Bounds] | None,
        neighbors: Relation,
        **price: Any,  # noqa: ANN401  epsilon, delta, rho
    ) -> Release[float]:
        """Make the mechanism for two columns, whose number of rows is public under change-one, and release them."""
        first, second = read_pair_of_bounds(bounds)
        size = None if adds_rows(neighbors) else read_column(columns[0]).size
        made = cls(first=first, second=second, size=size, neighbors=neighbors, **price)
        return cast("Release[float]", made.release(columns))
