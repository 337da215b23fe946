"""Baselines of the theory on tiny domains: noise shaped by the queries, and a search through all small databases."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.mechanisms import Exponential
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.inputs.values import exact_integers
from discreet.noise import SYSTEM, BitSource, bernoulli_exp, discrete_laplace
from discreet.privacy import Pure, curves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.methods.workloads.algebra.workload import Floats
    from discreet.privacy import Curve

__all__ = ["BlumLigettRoth", "KNorm", "Shown"]

_MOST_DIMENSIONS, _MOST_COLUMNS, _MOST_DATABASES = 4, 12, 200_000


@dataclass(frozen=True)
class Shown:
    """What a baseline gives out.

    >>> Shown((1, 2)).value
    (1, 2)
    """

    value: object


@dataclass(frozen=True, init=False)
class KNorm:
    r"""Answer a few queries with noise whose shape is that of what a row can do to them.

    Privacy. K is the convex hull of the columns of W and their negatives; a row more or less moves the answers by a
    point of K, so by at most 1 in the norm of K. Noise on the whole numbers with chance proportional to
    exp(-epsilon |z|_K) has a normalizer that does not depend on the answers, and the triangle inequality gives epsilon.

    The noise is drawn exactly: the norm of whole numbers is a largest value over the facets of K, a fraction; a draw
    of independent discrete Laplace noise of the scale max |k|_1 / epsilon over K, whose chance is at least as large
    everywhere, is kept with the chance of what is missing.

    Hardt & Talwar 2010, "On the geometry of differential privacy" (arXiv:0907.3754). A baseline for at most 4 queries;
    `plan` answers large workloads.

    >>> KNorm([[1, 0], [1, 1]], epsilon=1).norm((3, 3))
    Fraction(3, 1)
    """

    queries: tuple[tuple[int, ...], ...]
    epsilon: Fraction

    def __init__(self, queries: ArrayLike, *, epsilon: Number) -> None:
        """Refuse more than a few queries, and such as do not span a body."""
        rows = exact_integers(queries)
        if rows.ndim != 2 or rows.shape[0] > _MOST_DIMENSIONS or np.unique(rows, axis=1).shape[1] > _MOST_COLUMNS:
            msg = f"queries must be at most {_MOST_DIMENSIONS} rows with at most {_MOST_COLUMNS} different columns."
            raise ParameterError(msg)
        if np.linalg.matrix_rank(rows.astype(float)) < len(rows):
            msg = "queries must be independent of each other: leave out those that are sums of others."
            raise ParameterError(msg)
        assign(self, queries=tuple(tuple(int(entry) for entry in row) for row in rows.tolist()))
        assign(self, epsilon=read_positive(epsilon, "epsilon", zero="no finite noise reaches it"))

    @property
    def privacy(self) -> Curve:
        """The curve of a pure promise."""
        return curves.pure(self.epsilon)

    @property
    def claim(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon)

    def norm(self, point: Sequence[int]) -> Fraction:
        """The norm of whole numbers: the largest value of a facet."""
        return max(
            sum((a * b for a, b in zip(facet, point, strict=True)), Fraction(0)) for facet in _facets(self.queries)
        )

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Shown:
        """Answer the queries about counts of cells."""
        counts = exact_integers(value).ravel()
        exact = np.array(self.queries, dtype=np.int64) @ counts
        return Shown(tuple(int(a) + b for a, b in zip(exact, self._noise(bits), strict=True)))

    def _noise(self, bits: BitSource) -> tuple[int, ...]:
        longest = max(sum(abs(entry) for entry in column) for column in zip(*self.queries, strict=True))
        while True:
            drawn = discrete_laplace(longest / self.epsilon, size=len(self.queries), bits=bits)
            point = tuple(int(number) for number in drawn)
            missing = self.norm(point) - Fraction(sum(map(abs, point)), longest)
            if bernoulli_exp(self.epsilon * missing, bits=bits):
                return point


@lru_cache(maxsize=64)
def _facets(queries: tuple[tuple[int, ...], ...]) -> tuple[tuple[Fraction, ...], ...]:
    """Find the facets f of K, as f . x <= 1, among the planes through as many corners as there are dimensions."""
    columns = dict.fromkeys(zip(*queries, strict=True))
    corners = [*columns, *(tuple(-entry for entry in column) for column in columns)]
    found: dict[tuple[Fraction, ...], None] = {}
    for chosen in itertools.combinations(corners, len(queries)):
        plane = _solved(chosen)
        if plane is not None and all(sum(a * b for a, b in zip(plane, c, strict=True)) <= 1 for c in corners):
            found[plane] = None
    return tuple(found)


def _solved(corners: Sequence[Sequence[int]]) -> tuple[Fraction, ...] | None:
    """Solve corner . f = 1 for all corners, exactly; None if they lie in a plane through 0 or a smaller one."""
    rows = [[*map(Fraction, corner), Fraction(1)] for corner in corners]
    for place in range(len(rows)):
        pivot = next((row for row in rows[place:] if row[place]), None)
        if pivot is None:
            return None
        rows.remove(pivot)
        rows.insert(place, [number / pivot[place] for number in pivot])
        for other, row in enumerate(rows):
            if other != place and row[place]:
                rows[other] = [a - row[place] * b for a, b in zip(row, rows[place], strict=True)]
    return tuple(row[-1] for row in rows)


@dataclass(frozen=True, init=False)
class BlumLigettRoth:
    """Choose a small synthetic database by how well it answers a list of queries, among all of its size.

    Privacy. The score of a database is minus the largest error over all queries, each a count of rows as a share of the
    public `population`, times the population: one row moves it by at most 1. The exponential mechanism chooses.

    Blum, Ligett & Roth 2008, "A learning theory approach to non-interactive database privacy" (arXiv:1109.2229). A
    baseline for tiny domains: there are as many databases as ways to put `size` rows into the cells.

    >>> BlumLigettRoth([[1, 0], [0, 1]], size=2, population=100, epsilon=1).databases.tolist()
    [[2, 0], [1, 1], [0, 2]]
    """

    queries: tuple[tuple[float, ...], ...]
    size: int
    population: int
    choice: Exponential

    def __init__(self, queries: ArrayLike, *, size: SupportsIndex, population: SupportsIndex, epsilon: Number) -> None:
        """Refuse more databases than can be listed."""
        from discreet.methods.workloads.multiplicative import read_queries

        rows = read_queries(queries)
        rows_of = integer(size, name="size", least=1)
        if math.comb(rows_of + rows.shape[1] - 1, rows_of) > _MOST_DATABASES:
            msg = f"there are more than {_MOST_DATABASES} databases of {rows_of} rows in {rows.shape[1]} cells."
            raise ParameterError(msg)
        assign(self, queries=tuple(tuple(row) for row in rows.tolist()), size=rows_of)
        assign(self, population=integer(population, name="population", least=1))
        assign(self, choice=Exponential(1, epsilon=epsilon))

    @property
    def privacy(self) -> Curve:
        """The curve of the choice."""
        return self.choice.privacy

    @property
    def claim(self) -> Pure:
        """Epsilon."""
        return self.choice.claim

    @property
    def databases(self) -> NDArray[np.int64]:
        """All databases of the size, as counts of cells."""
        return np.array(list(_ways(self.size, len(self.queries[0]))), dtype=np.int64)

    def release(self, value: ArrayLike, *, bits: BitSource = SYSTEM) -> Shown:
        """Choose a database, scaled to the population."""
        counts = exact_integers(value).ravel().astype(np.float64)
        rows: Floats = np.array(self.queries)
        scaled = self.databases * (self.population / self.size)
        errors = np.abs(rows @ counts - np.rint(scaled @ rows.T * 2**16) / 2**16).max(axis=1)
        chosen = int(str(self.choice.release(-errors, bits=bits).value))
        return Shown(tuple(scaled[chosen].tolist()))


def _ways(rows: int, cells: int) -> Iterator[tuple[int, ...]]:
    """List the ways to put rows into cells."""
    if cells == 1:
        yield (rows,)
        return
    for first in range(rows, -1, -1):
        yield from ((first, *rest) for rest in _ways(rows - first, cells - 1))
