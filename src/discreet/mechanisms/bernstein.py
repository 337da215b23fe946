"""Pairs of bounded columns as sums of products of Bernstein polynomials.

A row with the shares s and t of the ways between the bounds of two columns adds b_i(s) b_j(t), where b_0, …, b_d are
the Bernstein polynomials of degree d: at least 0, and together 1. So the (d + 1)**2 sums move by exactly 1 in L1 for a
row more or less, and all mixed moments up to s**d t**d follow from them: the number of rows, both means, the
covariance (d = 1), and both variances as well (d = 2), for one price.

Lorentz 1986, "Bernstein Polynomials", for the partition of unity.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.mechanisms.additive import assign, exactly_one
from discreet.mechanisms.columns import Clamp, default_grid, exact_sum, read_bounds, read_column
from discreet.mechanisms.sums import (
    Moved,
    Noise,
    NoisySums,
    adds_rows,
    best_noise,
    largest_move,
    noisy,
    read_size,
    require_rows,
)
from discreet.mechanisms.values import read_pair
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Grid, Number
    from discreet.mechanisms.release import Release
    from discreet.noise import BitSource
    from discreet.privacy.relations import Relation

__all__ = ["PairedColumns", "Shares", "read_pair_of_bounds"]

_FEWEST_BITS = 3
_BINOMIALS = {1: (1, 1), 2: (1, 2, 1)}
Bounds = tuple["Number", "Number"]


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


@dataclass(frozen=True, slots=True)
class Shares:
    """The released sums as shares of their total: means of b_i(s) b_j(t).

    >>> Shares(1, (Fraction(1, 2), Fraction(0), Fraction(0), Fraction(1, 2)), 10).moment(1, 1)
    Fraction(1, 2)
    """

    degree: int
    shares: tuple[Fraction, ...]
    total: int

    def moment(self, first: int, second: int) -> Fraction:
        """Return the mean of s**first t**second; s**k is the sum of C(i, k) / C(d, k) times b_i."""
        size = self.degree + 1
        powers = {0: [Fraction(1)] * size, 1: [Fraction(i, self.degree) for i in range(size)]}
        if self.degree == 2:
            powers[2] = [Fraction(0), Fraction(0), Fraction(1)]
        left, right = powers[first], powers[second]
        return sum(
            (left[i] * right[j] * self.shares[i * size + j] for i in range(size) for j in range(size)), Fraction(0)
        )

    @property
    def covariance(self) -> Fraction:
        """The covariance of s and t."""
        return self.moment(1, 1) - self.moment(1, 0) * self.moment(0, 1)

    def variance(self, column: int) -> Fraction:
        """The variance of s (column 0) or t (column 1)."""
        second = self.moment(2, 0) if column == 0 else self.moment(0, 2)
        first = self.moment(1, 0) if column == 0 else self.moment(0, 1)
        return second - first**2


@dataclass(frozen=True, slots=True, init=False)
class PairedColumns(NoisySums[Any, Any]):
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
        assign(self, grids=tuple(Clamp.of(*each, grid).grid for each, grid in zip(bounds, steps, strict=True)))
        self._require_small()
        if noise is None:
            noise = best_noise(self._moved(), neighbors=relation, epsilon=epsilon, delta=delta, rho=rho)
        self._moved().require(noise, relation)
        assign(self, noise=noise)

    def _fitting(self, reach: Fraction) -> tuple[Grid, Grid]:
        """Choose the finest grids on which the sampler holds the noise."""
        for bits in range(self._bits // self.degree, _FEWEST_BITS - 1, -1):
            grids = default_grid(*self.first, bits=bits), default_grid(*self.second, bits=bits)
            assign(self, grids=grids)
            if self._moved().l1 <= reach:
                return grids
        msg = "epsilon or rho is so small that the samplers do not hold the noise on any grid; ask for more."
        raise ParameterError(msg)

    def _require_small(self) -> None:
        if self._unit >= 1 << 62:
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

    def _moved(self) -> Moved:
        return Moved.by_row(self._unit, (self.degree + 1) ** 2, self.neighbors)

    @property
    def assumed(self) -> tuple[str, ...]:
        """One row per unit, and public bounds."""
        rows = () if self.size is None else (f"the number of rows, {self.size}, is public.",)
        return ("a unit owns one row.", "the bounds and the grids were not read from the rows.", *rows)

    @property
    def no_error_because(self) -> str:
        """The number of rows is private."""
        return "the error depends on the number of rows, which is private; a release has a ± from its noisy number."

    def error(self, confidence: float = 0.95) -> None:
        """Return None: the error depends on the number of rows and on both means; each release has its own."""
        del confidence

    def reach(self, total: float, confidence: float) -> float:
        """Return a bound on all noises together, as a share of the noisy total."""
        return self.noise.error(confidence, together=(self.degree + 1) ** 2) / total

    def noisy_shares(self, value: tuple[ArrayLike, ArrayLike], bits: BitSource) -> Shares:
        """Return the noisy sums as shares; under change-one, brought to the public total by equal parts."""
        sums = noisy(self._sums(value), self.noise, bits)
        count, total = len(sums), sum(sums)
        if self.size is not None:
            known = self.size * self._unit
            off = Fraction(known - total, count)
            return Shares(self.degree, tuple((each + off) / known for each in sums), known)
        if total <= 0:
            return Shares(self.degree, (Fraction(1, count),) * count, 0)
        return Shares(self.degree, tuple(Fraction(each, total) for each in sums), total)

    def _sums(self, value: tuple[ArrayLike, ArrayLike]) -> list[int]:
        columns = [read_column(each) for each in read_pair(value, "first column, second column")]
        if columns[0].size != columns[1].size:
            msg = "the data must be a pair of columns with as many rows in one as in the other."
            raise ParameterError(msg)
        require_rows(columns[0].size, self.size)
        steps = [clamp.steps(column, missing=-1) for clamp, column in zip(self._clamps, columns, strict=True)]
        if self.size is None:  # a row that misses one of its two numbers is left out
            there = (steps[0] >= 0) & (steps[1] >= 0)
            steps = [each[there] for each in steps]
        else:
            steps = [np.where(s < 0, c.width // 2, s) for s, c in zip(steps, self._clamps, strict=True)]
        left, right = (self._polynomials(s, c.width) for s, c in zip(steps, self._clamps, strict=True))
        return [exact_sum(a * b, self._unit) for a in left for b in right]

    def _polynomials(self, steps: NDArray[np.int64], width: int) -> list[NDArray[np.int64]]:
        d = self.degree
        return [n * (width - steps) ** (d - i) * steps**i for i, n in enumerate(_BINOMIALS[d])]

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
