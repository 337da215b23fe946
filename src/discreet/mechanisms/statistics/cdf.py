"""The share of rows up to each of several public points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from scipy.special import ndtri

from discreet.exact import integer, sqrt_upper
from discreet.mechanisms.adding.sums import (
    Moved,
    Noise,
    NoisySums,
    adds_rows,
    best_noise,
    noisy_counts,
    read_size,
    require_kind,
    require_rows,
    variance_of,
)
from discreet.mechanisms.inputs.columns import points_below, read_column, read_points
from discreet.mechanisms.inputs.parameters import assign, exactly_one, miss
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import group_size, require_relation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["Cdf", "cdf"]

_MOST_BRANCHES = 64


@dataclass(frozen=True, slots=True, init=False)
class Cdf(NoisySums["ArrayLike", "NDArray[np.float64]"]):
    r"""Release the share of rows that are at most p, for each of several public points p.

    Privacy. The points cut the line into cells. The cells are the leaves of a tree in which every node has `branching`
    children and holds the number of rows below it. A row is in one node per level, so all nodes together move by the
    number of levels h in L1, by sqrt(h) in L2 (twice and sqrt(2) times that under change-one). Noise for that on every
    node; a count up to p is the sum of the largest nodes that make it up, at most branching - 1 per level.

    One level is the plain histogram, summed up. Its error grows with the number of points, that of a tree with a power
    of its logarithm: by default the branching with the least mean variance is taken, from the number of points alone.
    Afterwards the nearest shares that rise from 0 to 1 are taken. That costs nothing, and as the true shares rise too
    it moves the released ones no further from them, in the sum of squares and in the largest error.

    Hay, Rastogi, Miklau & Suciu 2010 (arXiv:0904.0942); Qardaji, Yang & Li 2013, "Understanding hierarchical methods
    for differentially private histograms", on the branching.

    >>> import numpy as np
    >>> answer = Cdf([10, 20, 30], epsilon=1).release(np.arange(4_000) % 40)
    >>> bool(np.abs(answer.value - [0.275, 0.525, 0.775]).max() < 0.02)
    True
    >>> Cdf(range(10), epsilon=1).branching, Cdf(range(1000), epsilon=1).levels
    (11, 3)
    """

    kind: ClassVar[str] = "cdf"
    guarantee: ClassVar[str] = (
        "The counts of all nodes of a tree with h levels, which one row moves by h together under add/remove and by "
        "2 h under change-one, with noise for that on each, keep the noise's promise; sums of them are post-processing."
    )
    accuracy: ClassVar[str] = "a Chernoff bound on the sums of noises in all shares, over the noisy number of rows"
    source: ClassVar[str] = "Hay, Rastogi, Miklau & Suciu 2010, arXiv:0904.0942"
    _assumes: ClassVar[tuple[str, ...]] = ("a unit owns one row.", "the points were not read from the rows.")
    no_error_because: ClassVar[str] = (
        "the error depends on the number of rows, which is private; a release has a ± from its noisy number."
    )

    points: tuple[Fraction, ...]
    branching: int
    noise: Noise
    size: int | None
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        points: Sequence[Number],
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: Noise | None = None,
        branching: SupportsIndex | None = None,
        size: SupportsIndex | None = None,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        exactly_one(epsilon=epsilon, rho=rho, noise=noise)  # type: ignore[arg-type]
        cuts = read_points(points, name="points", least=1)
        relation = require_relation(neighbors)
        cells = len(cuts) + 1
        wanted = [cells, *range(2, min(cells, _MOST_BRANCHES + 1))]
        if branching is not None:
            wanted = [integer(branching, name="branching", least=2, most=max(_MOST_BRANCHES, cells))]
        if noise is not None:
            require_kind(noise)
        made = [
            (number, noise if noise is not None else best_noise(
                _moved(cells, number, relation), neighbors=relation, epsilon=epsilon, delta=delta, rho=rho
            ))
            for number in wanted
        ]  # fmt: skip
        best, chosen = min(made, key=lambda pair: float(variance_of(pair[1])) * _mean_nodes(cells, pair[0]))
        _moved(cells, best, relation).require(chosen, relation)
        assign(self, points=cuts, branching=best, noise=chosen, size=read_size(size, relation), neighbors=relation)

    @property
    def levels(self) -> int:
        """How many levels the tree has, without its root."""
        return _levels(len(self.points) + 1, self.branching)

    def error(self, confidence: float = 0.95) -> float | None:
        """Return the error of all shares together where the number of rows is public; None under add/remove."""
        return None if self.size is None else self._bound(self.size, confidence)

    def error_of(self, value: object, details: Mapping[str, object], confidence: float = 0.95) -> float:
        """Return the error of all shares of one release together, from its noisy number of rows."""
        del value
        return self._bound(self.size or cast("int", details["count"]), confidence)

    def _bound(self, count: int, confidence: float) -> float:
        """Bound the error of all shares together, which making them rise does not increase.

        A share is off by ((1 - F) z - F z') / count for the noises z up to the point and z' beyond it, by z / count
        where the count is public. Each of these sums keeps its bound with an equal part of the miss.
        """
        if count <= 0:
            return 1.0
        cells = len(self.points) + 1
        tops, lower = _nodes(np.arange(1, cells + 1), self.branching, self.levels)
        terms, sums = int((tops + lower)[:-1].max()), len(self.points)
        if self.size is None:
            terms, sums = max(terms, int((tops[-1] - tops + lower[-1] + lower)[:-1].max())), 2 * sums
        return min(1.0, _sum_reach(self.noise, terms, float(miss(confidence)) / sums) / count)

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Release[NDArray[np.float64]]:
        """Return the private shares, one per point; `value` holds the rows."""
        column = read_column(value)
        require_rows(column.size, self.size)
        places = points_below(column, self.points, at=False)
        if self.size is not None:
            places = np.where(places < 0, len(self.points), places)  # a missing row counts as above all points
        cells = self.branching**self.levels
        leaves = np.bincount(places[places >= 0], minlength=cells).astype(np.int64)
        sums = np.zeros(cells + 1, dtype=np.int64)
        for level in range(self.levels):
            nodes = noisy_counts(leaves.reshape(-1, self.branching**level).sum(axis=1), self.noise, bits)
            before = np.concatenate([[0], np.cumsum(nodes)])
            ends = np.arange(cells + 1) // self.branching**level  # whole nodes of this level up to a leaf
            parents = ends // self.branching * self.branching if level + 1 < self.levels else 0 * ends
            sums += before[ends] - before[parents]
        count = int(sums[len(self.points) + 1]) if self.size is None else self.size
        shares = sums[1 : len(self.points) + 1] / max(count, 1)
        return Release(_rising(shares), self, MappingProxyType({"count": count}))


def _rising(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest shares, in the sum of squares, that rise and lie between 0 and 1.

    A projection to a convex set moves nothing away from any point of that set. As it keeps the order of its inputs, and
    moves with them if all are moved alike, the largest distance from rising shares does not grow either.

    >>> _rising(np.array([0.5, 0.25, 1.5])).tolist()
    [0.375, 0.375, 1.0]
    """
    from scipy.optimize import isotonic_regression

    rising: NDArray[np.float64] = np.clip(isotonic_regression(shares).x, 0.0, 1.0)
    return rising


def _nodes(ends: NDArray[np.int64], branching: int, levels: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many nodes of the top level, and of all lower ones, add up to the count before each leaf.

    >>> [each.tolist() for each in _nodes(np.array([3, 5]), 2, 3)]
    [[0, 1], [2, 1]]
    """
    lower = sum((ends // branching**level % branching for level in range(levels - 1)), start=0 * ends)
    return ends // branching ** (levels - 1), lower


def _levels(cells: int, branching: int) -> int:
    levels = 1
    while branching**levels < cells:
        levels += 1
    return levels


def _moved(cells: int, branching: int, neighbors: Relation) -> Moved:
    levels, size = _levels(cells, branching), group_size(neighbors)
    nodes = sum(branching ** (levels - level) for level in range(levels))
    moves = 1 if adds_rows(neighbors) else 2  # a row leaves one node per level and enters another
    return Moved(moves * levels * size, size * sqrt_upper(Fraction(moves * levels)), nodes)


def _mean_nodes(cells: int, branching: int) -> float:
    """Return how many nodes a count up to a leaf adds up on average: the sum of its digits."""
    ends, total = np.arange(1, cells), np.zeros(max(cells - 1, 1))
    for _ in range(_levels(cells, branching)):
        total[: ends.size] += ends % branching
        ends = ends // branching
    return float(total.mean())


def _sum_reach(noise: Noise, terms: int, chance: float) -> float:
    """Return t such that the sum of so many noises exceeds it, in magnitude, with at most this probability.

    Laplace: Chernoff, 2 M(theta)**terms exp(-theta t) for every theta below 1 / scale, with the moment generating
    function M = (1 - r)**2 / ((1 - r e**theta)(1 - r e**-theta)), r = exp(-1 / scale); the best of many theta.
    Gaussian: the quantile of the sum, and half a step of rounding for each.
    """
    if not isinstance(noise, DiscreteLaplace):
        return float(-ndtri(chance / 2)) * float(noise.sigma) * math.sqrt(terms) + terms / 2
    scale = float(noise.scale)
    theta = np.linspace(0.005, 0.995, 199) / scale
    top = 2 * math.log(-math.expm1(-1 / scale))
    log_m = top - np.log(-np.expm1(theta - 1 / scale)) - np.log(-np.expm1(-theta - 1 / scale))
    return float(np.min((terms * log_m + math.log(2 / chance)) / theta)) * (1 + 1e-12)


def cdf(  # noqa: PLR0913
    values: ArrayLike,
    points: Sequence[Number],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[NDArray[np.float64]]:
    """Release the share of rows up to each of several public points.

    >>> import numpy as np
    >>> answer = cdf(np.arange(10_000), [999, 4_999], epsilon=1)
    >>> bool(np.abs(answer.value - [0.1, 0.5]).max() < 0.01)
    True
    """
    size = None if adds_rows(neighbors) else read_column(values).size
    return Cdf(points, epsilon=epsilon, delta=delta, rho=rho, size=size, neighbors=neighbors).release(values)
