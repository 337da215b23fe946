"""What statistics made of sums share: how far rows move them, parts that they are split into, and one noise for all.

A row of a `Partition` adds whole numbers that are at least 0 and the same total W for every row. Then one row more or
less moves the vector of sums by exactly W in L1, and by at most W in L2, however many coordinates it has: under
add/remove nothing is paid for the number of moments. A row exchanged for another moves it by at most 2 W in L1 and
sqrt(2) W in L2 (two vectors of W at right angles).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact import Grid, counted, integer, rational, shown, sqrt_lower, sqrt_upper
from discreet.mechanisms.adding.grids import added, unbounded_laplace
from discreet.mechanisms.inputs.parameters import exactly_one, read_positive
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.noise import discrete_laplace, gaussian_steps
from discreet.privacy import NeighborRelation
from discreet.privacy.relations import group_size

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    from discreet.exact import Number
    from discreet.noise import BitSource
    from discreet.privacy import ZCDP, Approximate, Curve, Pure
    from discreet.privacy.relations import Relation

__all__ = [
    "Integers",
    "Moved",
    "Noise",
    "NoisySums",
    "Partition",
    "Terms",
    "adds_rows",
    "best_noise",
    "corners",
    "halves",
    "largest_move",
    "noisy",
    "noisy_counts",
    "noisy_sums",
    "pair",
    "products",
    "read_noise",
    "read_size",
    "require_kind",
    "require_rows",
    "squares",
    "variance_of",
]

Noise: TypeAlias = DiscreteLaplace | Gaussian
Integers: TypeAlias = NDArray[np.int64] | NDArray[np.object_]
Terms: TypeAlias = tuple[tuple[int, int, Fraction], ...]
"""A linear combination of noisy numbers: (block, column, coefficient)."""
Given = TypeVar("Given")
Released = TypeVar("Released")
_LAPLACE, _GAUSSIAN = Fraction(1 << 54), Fraction(1 << 36)
_FITS = 2**62


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


def read_noise(  # noqa: PLR0913  a price, or noise that was made for one
    moved: Moved,
    neighbors: Relation,
    *,
    noise: Noise | None,
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
) -> Noise:
    """Return the best noise for a price, or the one that was made before, if it fits; exactly one of both is given.

    >>> moved = Moved.by_row(1, 1, NeighborRelation.ADD_REMOVE)
    >>> read_noise(moved, NeighborRelation.ADD_REMOVE, noise=None, epsilon=1, delta=None, rho=None).scale
    Fraction(1, 1)
    """
    exactly_one(epsilon=epsilon, rho=rho, noise=noise)  # type: ignore[arg-type]
    if noise is None:
        return best_noise(moved, neighbors=neighbors, epsilon=epsilon, delta=delta, rho=rho)
    if delta is not None:
        msg = "delta is given beside noise, which has a promise of its own. Leave it out."
        raise ParameterError(msg)
    moved.require(noise, neighbors)
    return noise


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


def noisy_sums(sums: Integers, noise: Noise, bits: BitSource) -> Integers:
    """Add noise to an array of exact sums, of 64 bits or of any size, in one call.

    >>> from discreet.noise import SYSTEM
    >>> noisy_sums(np.array([[10**30, 0]], dtype=object), DiscreteLaplace(1, epsilon=1), SYSTEM).shape
    (1, 2)
    """
    if sums.dtype == np.int64:
        return noisy_counts(sums, noise, bits)  # type: ignore[arg-type]  # as was seen
    flat: NDArray[np.object_] = np.array(noisy(sums.ravel().tolist(), noise, bits), dtype=object)
    return flat.reshape(sums.shape)


def variance_of(noise: Noise) -> Fraction:
    """Return the variance of noise; of discrete Laplace noise up to less than 1/6 more.

    >>> variance_of(DiscreteLaplace(1, epsilon="0.1"))
    Fraction(200, 1)
    """
    return 2 * noise.scale**2 if isinstance(noise, DiscreteLaplace) else noise.sigma**2


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


@dataclass(frozen=True, slots=True)
class Partition:
    r"""Sums of which every row adds numbers that are not negative, and `unit` in all: its share of each of some parts.

    The sums at `places` among some others, multiplied by `matrix`, are such sums. A unit with m rows in a group moves
    the total of all parts there by unit times m, and as all parts move in one direction, the sum of their moves by no
    more and the sum of their squares by at most the square of it. So all parts together move as far as `unit` times the
    count of rows does (the first place), in L1 and in L2, under either relation (change-one: contributions of one sign,
    as for a count). Separate releases would cost the sum of all sensitivities.

    The parts, for a value s between low <= 0 <= high, W = high - low, with a = s - low and b = high - s:

    - `halves`: rows with and without a value; the unit is 1.
    - `pair`: a + b = W. Count and sum follow.
    - `squares`: b^2 + 2 a b + a^2 = W^2 (the Bernstein polynomials of degree 2). Count, sum and sum of squares follow.
    - `products` of two: each part of one value times each of another, in all the product of both units. Count, sums
      and sums of products follow; `corners` are those of two pairs, (a + b)(a' + b') = W W'.

    Each may have one part more, `unit` times the number of rows without a value: a row is in it, or in the others.

    Kulesza, Suresh & Wang 2024, "Mean estimation in the add-remove model of differential privacy" (arXiv:2312.06658),
    for the pair; Lorentz 1986, "Bernstein Polynomials", for the partition of unity.

    >>> pair(0, 1, (-60, 60)).unit
    120
    """

    places: tuple[int, ...]
    matrix: tuple[tuple[int, ...], ...]
    unit: int
    summands: int = 2
    """How many times the unit a row can add to the terms of one part, before they cancel."""

    def moved(self, neighbors: Relation) -> Moved:
        """Return how far one row moves all parts."""
        return Moved.by_row(self.unit, len(self.matrix), neighbors)

    def parts(self, columns: Sequence[Integers]) -> Integers:
        """Split sums, given as one column each in the order of the places, into parts: one column each."""
        wide = any(column.dtype == object for column in columns) or self.summands * self.unit * 2**36 > _FITS
        if wide:
            columns = [column.astype(object) for column in columns]
        split: Integers = np.hstack(columns) @ np.array(self.matrix, dtype=object if wide else np.int64).T
        return split

    def with_missing(self, rows: int) -> Self:
        """Add a part for the rows that have no value; `rows` is the place of the count of all rows.

        >>> pair(0, 1, (-60, 60)).with_missing(2).matrix
        ((0, 60, 1), (0, 60, -1), (120, -120, 0))
        """
        inside = tuple((0, *row) for row in self.matrix)
        missing = (self.unit, -self.unit, *(0 for _ in self.places[1:]))
        return type(self)((rows, *self.places), (*inside, missing), self.unit, self.summands)

    def terms(self, block: int) -> dict[int, Terms]:
        """Solve for the sums: each as a combination of the parts, exactly."""
        return {
            place: tuple((block, part, number) for part, number in enumerate(row) if number)
            for place, row in zip(self.places, _solved(self.matrix), strict=True)
        }


@lru_cache(maxsize=256)
def _solved(matrix: tuple[tuple[int, ...], ...]) -> tuple[tuple[Fraction, ...], ...]:
    """The inverse of a matrix, exactly."""
    size = len(matrix)
    rows = [
        [*map(Fraction, row), *(Fraction(int(place == number)) for place in range(size))]
        for number, row in enumerate(matrix)
    ]
    for column in range(size):
        pivot = next(row for row in rows[column:] if row[column])
        rows.remove(pivot)
        rows.insert(column, pivot)
        rows[column] = [number / pivot[column] for number in pivot]
        for number, row in enumerate(rows):
            if number != column and row[column]:
                rows[number] = [a - row[column] * b for a, b in zip(row, rows[column], strict=True)]
    return tuple(tuple(row[size:]) for row in rows)


def halves(rows: int, values: int) -> Partition:
    """Split rows into those with a value and those without.

    >>> halves(0, 1).terms(0)[0]
    ((0, 0, Fraction(1, 1)), (0, 1, Fraction(1, 1)))
    """
    return Partition((rows, values), ((0, 1), (1, -1)), 1)


def pair(count: int, total: int, ends: tuple[int, int]) -> Partition:
    """Split each row by how far its value is from both ends.

    >>> pair(0, 1, (0, 10)).matrix
    ((0, 1), (10, -1))
    """
    low, high = ends
    return Partition((count, total), ((-low, 1), (high, -1)), high - low)


def squares(count: int, total: int, square: int, ends: tuple[int, int]) -> Partition:
    """Split each row by the products of its distances from both ends.

    >>> squares(0, 1, 2, (-1, 1)).matrix
    ((1, -2, 1), (2, 0, -2), (1, 2, 1))
    """
    low, high = ends
    below, middle, above = (high**2, -2 * high, 1), (-2 * low * high, 2 * (low + high), -2), (low**2, -2 * low, 1)
    return Partition((count, total, square), (below, middle, above), (high - low) ** 2, summands=4)


def products(places: tuple[int, ...], first: Partition, second: Partition) -> Partition:
    """Split each row by two values at once; the places are those of the products of each sum with each.

    >>> products((0, 1, 2, 3), pair(0, 1, (0, 1)), pair(0, 1, (0, 2))).matrix
    ((0, 0, 0, 1), (0, 0, 2, -1), (0, 1, 0, -1), (2, -1, -2, 1))
    """
    matrix = tuple(tuple(a * b for a in one for b in other) for one in first.matrix for other in second.matrix)
    return Partition(places, matrix, first.unit * second.unit, first.summands * second.summands)


def corners(
    count: int, sums: tuple[int, int], product: int, ends: tuple[tuple[int, int], tuple[int, int]]
) -> Partition:
    """Split each row among the four corners of the range of two values.

    >>> corners(0, (1, 2), 3, ((0, 1), (0, 2))).matrix
    ((0, 0, 0, 1), (2, -2, -1, 1), (0, 2, 0, -1), (0, 0, 1, -1))
    """
    split = products((count, *sums, product), *(pair(0, 1, reach) for reach in ends))
    rows = (split.matrix[row] for row in (0, 3, 1, 2))  # the two opposite corners first, as ledgers know them
    return replace(split, matrix=tuple((one, first, second, both) for one, second, first, both in rows))
