"""What statistics made of sums share: rows as whole numbers, one vector of exact sums, and one noise for it.

Every statistic here maps a row to whole numbers that are at least 0 and add up to the same total W for every row. Then
one row more or less moves the vector of sums by exactly W in L1, and by at most W in L2, however many coordinates it
has: under add/remove nothing is paid for the number of moments. A row exchanged for another moves it by at most 2 W in
L1 and sqrt(2) W in L2 (two vectors of W at right angles).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

from discreet.errors import ParameterError
from discreet.exact import Grid, counted, integer, rational, shown, sqrt_lower, sqrt_upper
from discreet.mechanisms.additive import added, assign, exactly_one, read_positive, unbounded_laplace
from discreet.mechanisms.columns import Clamp, default_grid, read_bounds, read_column
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.noise import discrete_laplace, gaussian_steps
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import group_size, require_relation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.noise import BitSource
    from discreet.privacy import ZCDP, Approximate, Curve, Pure
    from discreet.privacy.relations import Relation

__all__ = [
    "BoundedColumn",
    "Moved",
    "Noise",
    "NoisySums",
    "adds_rows",
    "best_noise",
    "largest_move",
    "noisy",
    "noisy_counts",
    "read_size",
    "require_kind",
    "require_rows",
]

Noise: TypeAlias = DiscreteLaplace | Gaussian
Given = TypeVar("Given")
Released = TypeVar("Released")
_LAPLACE, _GAUSSIAN = Fraction(1 << 54), Fraction(1 << 36)
_TOO_PRIVATE = "epsilon or rho is so small that the samplers do not hold the noise on any grid; ask for more."
_FEWEST_BITS = 6
_MOST_TO_SQUARE = 1 << 31


def adds_rows(neighbors: Relation) -> bool:
    """Tell whether neighbors differ by a row that is there or not, so that the number of rows is private.

    >>> adds_rows(NeighborRelation.ADD_REMOVE), adds_rows(NeighborRelation.CHANGE_ONE.group(2))
    (True, False)
    """
    return neighbors.relation is NeighborRelation.ADD_REMOVE


@dataclass(frozen=True, slots=True)
class Moved:
    """How far one unit, or a group of them, moves a vector of whole numbers.

    >>> Moved.by_row(7, 3, NeighborRelation.CHANGE_ONE).l1
    14
    """

    l1: int
    l2: Fraction
    dimensions: int

    @staticmethod
    def by_row(total: int, dimensions: int, neighbors: Relation) -> Moved:
        """Return the move where every row adds whole numbers, at least 0, that add up to `total`."""
        size = group_size(neighbors)
        if adds_rows(neighbors):
            return Moved(size * total, Fraction(size * total), dimensions)
        return Moved(2 * size * total, size * total * sqrt_upper(2), dimensions)

    def require(self, noise: Noise, neighbors: Relation) -> None:
        """Refuse noise, as read from JSON, that was made for other sums or other neighbors."""
        require_kind(noise)
        fits = noise.neighbors == neighbors and (
            noise.sensitivity >= self.l1
            if isinstance(noise, DiscreteLaplace)
            else noise.sensitivity >= self.l2 and noise.dimensions >= self.dimensions and noise.grid == Grid(1)
        )
        if not fits:
            msg = "noise was made for other sums, or for other neighbors; give epsilon or rho instead."
            raise ParameterError(msg)


def require_kind(noise: object) -> None:
    """Refuse noise of a kind that sums do not get.

    >>> require_kind(DiscreteLaplace(1, epsilon=1))
    """
    if not isinstance(noise, Noise):
        msg = (
            f"noise is of type {type(noise).__name__}; it must be a DiscreteLaplace, or a Gaussian on the grid 1. Or "
            "give epsilon or rho instead."
        )
        raise ParameterError(msg)


def best_noise(
    moved: Moved,
    *,
    neighbors: Relation,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
) -> Noise:
    """Return the noise with the smaller variance for a promise, from public facts alone.

    A pure epsilon gets discrete Laplace noise, rho Gaussian noise, and (epsilon, delta) whichever varies less: Laplace
    2 (l1 / epsilon)**2, Gaussian sigma**2 of the analytic formula.

    >>> move = Moved.by_row(1, 1, NeighborRelation.ADD_REMOVE)
    >>> type(best_noise(move, neighbors=NeighborRelation.ADD_REMOVE, epsilon=1, delta=1e-6)).__name__
    'DiscreteLaplace'
    >>> wide = Moved(100, Fraction(10), 100)
    >>> type(best_noise(wide, neighbors=NeighborRelation.ADD_REMOVE, epsilon=1, delta=1e-6)).__name__
    'Gaussian'
    """
    exactly_one(epsilon=epsilon, rho=rho)
    if rho is not None and delta is not None:
        msg = (
            f"delta is {shown(delta)} beside rho={shown(rho)}; zero-concentrated privacy needs no delta. Leave it out."
        )
        raise ParameterError(msg)

    made = partial(Gaussian, moved.l2, grid=1, dimensions=moved.dimensions, inputs="snapped", neighbors=neighbors)
    if rho is not None:
        return made(rho=rho)
    laplace = DiscreteLaplace(moved.l1, epsilon=epsilon, neighbors=neighbors)
    if delta is None or rational(delta, name="delta") == 0:
        return laplace
    other = made(epsilon=epsilon, delta=delta)
    return other if other.sigma**2 < 2 * laplace.scale**2 else laplace


def largest_move(*, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Fraction:
    """Return how far a unit may move whole numbers so that the samplers hold the noise that this takes.

    Discrete Laplace noise may have a scale of 2**57, Gaussian noise a sigma of 2**40 steps; some bits are left for
    delta.

    >>> largest_move(epsilon=1, delta=None, rho=None) == 2**54
    True
    """
    if rho is not None:
        return _GAUSSIAN * sqrt_lower(read_positive(rho, "rho", zero="no finite noise reaches it"))
    if epsilon is None:
        return _LAPLACE
    price = read_positive(epsilon, "epsilon", zero="no finite noise reaches it")
    return price * (_LAPLACE if delta is None else _GAUSSIAN)


def noisy(values: Sequence[int], noise: Noise, bits: BitSource) -> list[int]:
    """Add noise to exact sums of any size: noise without an end, as sums without one are not clamped afterwards.

    >>> from discreet.noise import SYSTEM
    >>> found = noisy([10**30, 0], DiscreteLaplace(1, epsilon=1), SYSTEM)
    >>> abs(found[0] - 10**30) < 1000
    True
    """
    if isinstance(noise, DiscreteLaplace):
        return [int(value) + unbounded_laplace(noise.scale, bits) for value in values]
    draws = gaussian_steps(noise.sigma, noise.grid, size=len(values), bits=bits)  # 2**22 sigma fit into 64 bits
    return [int(value) + int(draw) for value, draw in zip(values, draws, strict=True)]


def noisy_counts(counts: NDArray[np.int64], noise: Noise, bits: BitSource) -> NDArray[np.int64]:
    """Add noise to an array of counts in one call.

    >>> import numpy as np
    >>> from discreet.noise import SYSTEM
    >>> noisy_counts(np.zeros((2, 3), dtype=np.int64), DiscreteLaplace(1, epsilon=1), SYSTEM).shape
    (2, 3)
    """
    if isinstance(noise, DiscreteLaplace):
        return added(counts, discrete_laplace(noise.scale, size=counts.shape, bits=bits))
    return added(counts, gaussian_steps(noise.sigma, noise.grid, size=counts.shape, bits=bits))


def read_size(size: SupportsIndex | None, neighbors: Relation) -> int | None:
    """Read the number of rows: public under change-one, where it is needed, and private under add/remove.

    >>> read_size(10, NeighborRelation.CHANGE_ONE)
    10
    """
    if adds_rows(neighbors):
        if size is not None:
            msg = "size is given, but under add_remove the number of rows is private. Leave it out."
            raise ParameterError(msg)
        return None
    if size is None:
        msg = f"size is missing: under {neighbors.value} the number of rows is public and must be stated, as size=n."
        raise ParameterError(msg)
    return integer(size, name="size", least=1)


def require_rows(count: int, size: int | None) -> None:
    """Refuse another number of rows than was stated; it is public then.

    >>> require_rows(3, None)
    """
    if size is not None and count != size:
        msg = (
            f"the data have {counted(count, 'row')}, but size={size} was stated. Under change-one the number is public."
        )
        raise ParameterError(msg)


class NoisySums(Mechanism[Given, Released]):
    """A statistic of sums, or counts, that get one noise for all of them and keep its promise.

    >>> from discreet.mechanisms import Count
    >>> Count(epsilon=1).privacy.epsilon(delta=0)
    1.0
    """

    __slots__ = ()

    noise: Noise

    @property
    def privacy(self) -> Curve:
        """The curve of the noise."""
        return self.noise.privacy

    @property
    def claim(self) -> Pure | Approximate | ZCDP:
        """The noise's promise."""
        return self.noise.claim


@dataclass(frozen=True, slots=True, init=False)
class BoundedColumn(NoisySums[Any, Any]):
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
        if noise is None:
            noise = best_noise(self._moved(), neighbors=relation, epsilon=epsilon, delta=delta, rho=rho)
        elif delta is not None:
            msg = "delta is given beside noise, which has a promise of its own. Leave it out."
            raise ParameterError(msg)
        assign(self, noise=noise)
        self._moved().require(noise, relation)

    def _fitting(self, low: Fraction, high: Fraction, reach: Fraction) -> Grid:
        """Choose the finest grid, up to the statistic's bits, on which the sampler holds the noise."""
        for bits in range(self._bits, _FEWEST_BITS - 1, -1):
            grid = default_grid(low, high, bits=bits)
            assign(self, grid=grid)
            if self._moved().l1 <= reach:
                return grid
        raise ParameterError(_TOO_PRIVATE)

    @abstractmethod
    def _moved(self) -> Moved:
        """Return how far one unit moves the sums, in steps of the grid."""

    def _squares(self) -> int:
        """Return the square of the width; refuse grids so fine that squares of rows do not fit into 64 bits."""
        width = self._clamp.width
        if width >= _MOST_TO_SQUARE:
            msg = f"the grid is {self.grid.step}; squares of rows need fewer than 2**31 steps between the bounds."
            raise ParameterError(msg)
        return width**2

    @property
    def _clamp(self) -> Clamp:
        return Clamp.of(self.lower, self.upper, self.grid)

    @property
    def _span(self) -> float:
        return float(self.upper - self.lower)

    @property
    def _snapped_span(self) -> float:
        """How far the snapped bounds are apart: on a coarse grid up to a step more than the bounds."""
        return float(self._clamp.width * self.grid.step)

    @property
    def assumed(self) -> tuple[str, ...]:
        """One row per unit, and public bounds."""
        rows = () if self.size is None else (f"the number of rows, {self.size}, is public.",)
        return ("a unit owns one row.", "the bounds and the grid were not read from the rows.", *rows)

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
