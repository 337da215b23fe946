"""Bases of one column: vectors that add up to 0, as whole numbers with a scale for each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.methods.workloads.strategies.product import along

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.methods.workloads.algebra.workload import Floats, Workload

__all__ = ["AxisBasis", "Differences", "Residues"]

_STEPS = 1 << 12


class AxisBasis(Protocol):
    """A matrix Z of whole numbers whose rows add up to 0, with a scale for each row: S = diag(scales) Z.

    >>> Differences(3).apply(np.array([5, 1, 1]), 0).tolist()
    [4, 4]
    """

    @property
    def rows(self) -> int:
        """How many rows Z has."""

    @property
    def scales(self) -> Floats:
        """The scale of each row."""

    @property
    def largest(self) -> Fraction:
        """The largest squared column of S, exactly."""

    @property
    def longest(self) -> float:
        """The largest sum of absolute values of a column of S, rounded up."""

    @property
    def most(self) -> int:
        """The largest number of Z, at least."""

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """Multiply every line by Z."""

    def invert(self, table: Floats, axis: int) -> Floats:
        """Multiply every line by the pseudoinverse of Z."""

    def needed(self, factor: Workload) -> tuple[float, float]:
        """Return how much of some queries lies in the span of S and in the constants: the sum of `lengths`."""

    def lengths(self, factor: Workload) -> tuple[Floats, Floats]:
        """Return for each query q the squared length of q S^+, and the square of its mean."""


@dataclass(frozen=True)
class Differences:
    """Each value against the mean of those before it: Helmert's contrasts, orthogonal, in whole numbers.

    Row k is 1 for the first k values and -k for the next; its length is sqrt(k (k + 1)).

    >>> Differences(3).largest
    Fraction(2, 3)
    """

    size: int

    @property
    def rows(self) -> int:
        """One less than there are values."""
        return self.size - 1

    @property
    def _numbers(self) -> NDArray[np.int64]:
        return np.arange(1, self.size)

    @property
    def scales(self) -> Floats:
        """One over the length of each row: S has orthonormal rows."""
        scales: Floats = 1 / np.sqrt(self._numbers * (self._numbers + 1.0))
        return scales

    @property
    def largest(self) -> Fraction:
        """All columns are equally long: S'S takes the mean out."""
        return 1 - Fraction(1, self.size)

    @property
    def longest(self) -> float:
        """Of column j: the scales of all rows after it, and j times that of its own."""
        own = np.append(0.0, self._numbers * self.scales)
        after = np.append(np.cumsum(self.scales[::-1])[::-1], 0.0)
        return float((own + after).max()) * (1 + 1e-9)

    @property
    def most(self) -> int:
        """The last k."""
        return self.size

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """Subtract k times each value from the sum of the k before it."""
        lines = np.moveaxis(table, axis, -1)
        sums = np.cumsum(lines, axis=-1)
        return np.moveaxis(sums[..., :-1] - self._numbers * lines[..., 1:], -1, axis)

    def invert(self, table: Floats, axis: int) -> Floats:
        """Multiply by the transpose, after dividing by squared lengths."""
        lines = np.moveaxis(table, axis, -1) * self.scales**2
        after = np.cumsum(lines[..., ::-1], axis=-1)[..., ::-1]
        zeros = np.zeros((*lines.shape[:-1], 1))
        values = np.concatenate([after, zeros], axis=-1) - np.concatenate([zeros, self._numbers * lines], axis=-1)
        return np.moveaxis(values, -1, axis)

    def needed(self, factor: Workload) -> tuple[float, float]:
        """Of the identity n - 1, and 1 / n."""
        del factor
        return self.size - 1.0, 1 / self.size

    def lengths(self, factor: Workload) -> tuple[Floats, Floats]:
        """Of each value alone."""
        del factor
        return np.full(self.size, 1 - 1 / self.size), np.full(self.size, 1 / self.size**2)


@dataclass(frozen=True, eq=False)
class Residues:
    """The best basis for queries about an ordered column, such as prefixes, snapped to whole numbers.

    >>> from discreet.methods.workloads import Prefix
    >>> Residues.best([Prefix(4)]).matrix.sum(axis=1).tolist()
    [0, 0, 0]
    """

    matrix: NDArray[np.int64]

    @staticmethod
    def best(factors: Sequence[Workload]) -> Residues:
        """Solve for the queries without their mean; rows are mended to add up to 0 after they were snapped."""
        from discreet.methods.workloads.strategies.fixed_point import factored, solve

        gram = np.sum([factor.gram() for factor in factors], axis=0)
        gram = gram - gram.mean(axis=0)
        gram = gram - gram.mean(axis=1, keepdims=True)
        whole = np.rint(factored(solve(gram).product) * _STEPS).astype(np.int64)
        for row in whole:
            excess = int(row.sum())
            order = np.argsort(-np.sign(excess) * row)
            row[order[: abs(excess)]] -= np.sign(excess)
        return Residues(whole)

    @property
    def rows(self) -> int:
        """One for each dimension without the mean."""
        return len(self.matrix)

    @property
    def scales(self) -> Floats:
        """The same for all rows."""
        return np.full(self.rows, 1 / _STEPS)

    @property
    def largest(self) -> Fraction:
        """The largest squared column."""
        return Fraction(int((self.matrix**2).sum(axis=0).max()), _STEPS**2)

    @property
    def longest(self) -> float:
        """The largest sum of a column."""
        return float(np.abs(self.matrix).sum(axis=0).max()) / _STEPS

    @cached_property
    def _inverse(self) -> Floats:
        inverse: Floats = np.linalg.pinv(self.matrix.astype(float))
        return inverse

    @property
    def most(self) -> int:
        """As it was written."""
        return int(np.abs(self.matrix).max(initial=1))

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """Multiply."""
        product: NDArray[Any] = along(table, self.matrix, axis)
        return product

    def invert(self, table: Floats, axis: int) -> Floats:
        """Multiply by the pseudoinverse."""
        product: Floats = along(table, self._inverse, axis)
        return product

    def needed(self, factor: Workload) -> tuple[float, float]:
        """Sum the lengths of all queries."""
        inside, mean = self.lengths(factor)
        return float(inside.sum()), float(mean.sum())

    def lengths(self, factor: Workload) -> tuple[Floats, Floats]:
        """Multiply the queries by the pseudoinverse of S."""
        queries: Any = factor.matrix()
        inside: Floats = ((queries @ self._inverse * _STEPS) ** 2).sum(axis=1)
        mean: Floats = queries.mean(axis=1) ** 2
        return inside, mean
