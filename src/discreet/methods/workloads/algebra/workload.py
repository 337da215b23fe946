"""What all workloads share: many linear counting queries over the cells of one domain."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact import integer, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, SupportsIndex

__all__ = ["MOST_CELLS", "MOST_DENSE", "MOST_QUERIES", "Floats", "Workload", "kron", "read_cells"]

Floats: TypeAlias = NDArray[np.float64]

MOST_CELLS = 1 << 26
"""The largest domain that is counted cell by cell."""
MOST_DENSE = 1 << 12
"""The largest domain for which a square matrix over its cells is written out."""
MOST_QUERIES = 1 << 24
"""The most queries whose answers are listed."""


def read_cells(cells: SupportsIndex, name: str = "cells") -> int:
    """Read the size of an axis: at least one cell, and no more than are counted one by one.

    >>> read_cells(1024)
    1024
    >>> read_cells(0)
    Traceback (most recent call last):
    ...
    discreet.errors.ParameterError: cells is 0; an axis has at least one cell. An empty domain has nothing to count.
    """
    size = integer(cells, name=name)
    if size < 1:
        msg = f"{name} is {size}; an axis has at least one cell. An empty domain has nothing to count."
        raise ParameterError(msg)
    if size > MOST_CELLS:
        msg = f"{name} is {size}; at most {MOST_CELLS} cells are counted one by one. Bin the values more coarsely."
        raise ParameterError(msg)
    return size


def kron(parts: Sequence[Floats]) -> Floats:
    """Return the Kronecker product of arrays.

    >>> kron([np.array([1.0, 2.0]), np.array([1.0, 10.0])]).tolist()
    [1.0, 10.0, 2.0, 20.0]
    """
    product: Floats = np.ones((1,) * parts[0].ndim)
    for part in parts:
        product = np.asarray(np.kron(product, part), dtype=np.float64)
    return product


class Workload(ABC):
    """Linear counting queries over the cells of a domain, asked together.

    A workload is a matrix W with one row per query and one column per cell, most often of zeros and ones; it is never
    written out where its structure is known. The Gram matrix W'W is all that the error of a plan depends on.

    >>> from discreet.methods.workloads import Prefix
    >>> workload = Prefix(4)
    >>> workload.queries, workload.cells, workload.answers([5, 0, 2, 1]).tolist()
    (4, 4, [5.0, 5.0, 7.0, 8.0])
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """How many cells each axis of the domain has."""

    @property
    @abstractmethod
    def queries(self) -> int:
        """How many queries there are."""

    @abstractmethod
    def answers(self, counts: Any) -> Floats:  # noqa: ANN401 - whatever numpy reads as an array
        """Answer all queries about counts of cells."""

    @abstractmethod
    def gram_dot(self, rows: Floats) -> Floats:
        """Multiply rows over the cells by the Gram matrix."""

    @abstractmethod
    def matrix(self) -> Floats:
        """Write the queries out, one row each; for small domains."""

    @abstractmethod
    def __str__(self) -> str:
        """Name it."""

    @property
    def cells(self) -> int:
        """How many cells the domain has."""
        return math.prod(self.shape)

    @property
    def importance(self) -> float:
        """The factor by which each squared error counts in the total, if it is the same for all queries."""
        return 1.0

    def gram(self) -> Floats:
        """Write the Gram matrix out; refused for large domains."""
        if self.cells > MOST_DENSE:
            msg = (
                f"the domain has {self.cells} cells; a matrix over them is written out for at most {MOST_DENSE}. "
                "Bin the values more coarsely, or ask for prefixes, ranges, marginals or products of them."
            )
            raise ParameterError(msg)
        return self._gram

    @cached_property
    def _gram(self) -> Floats:
        return self.gram_dot(np.eye(self.cells))

    def coverage(self) -> Floats:
        """How many queries count each cell."""
        covered: Floats = self.matrix().sum(axis=0)
        return covered

    def gram_diagonal(self) -> Floats:
        """Return the diagonal of the Gram matrix: how many queries count each cell, each with its importance."""
        return self.importance * self.coverage()

    def block_squares(self, block: int) -> Floats:
        """Sum for each query, over all blocks of so many neighboring cells, the squares of what it counts there."""
        sums = np.add.reduceat(self.matrix(), np.arange(0, self.cells, block), axis=1)
        squares: Floats = (sums**2).sum(axis=1)
        return squares

    def block_trace(self, block: int) -> float:
        """Sum these squares over all queries, each with its importance."""
        return self.importance * float(self.block_squares(block).sum())

    def singular_sum(self) -> float:
        """Return the sum of the singular values of W."""
        from scipy import linalg

        return float(np.sqrt(np.maximum(linalg.eigvalsh(self.gram()), 0)).sum())

    def read_counts(self, counts: Any) -> NDArray[Any]:  # noqa: ANN401 - as above
        """Read counts of the cells: whole numbers, one for each cell."""
        from discreet.methods.workloads.tallies import whole

        read = whole(counts)
        if read.size != self.cells:
            msg = f"counts holds {read.size} numbers; the domain has {self.cells} cells, of shape {self.shape}."
            raise ParameterError(msg)
        return read.reshape(self.shape)

    def _read_answers(self, counts: Any) -> Floats:  # noqa: ANN401 - as above
        """Read the cells for answers, and refuse more answers than are listed."""
        if self.queries > MOST_QUERIES:
            msg = (
                f"{self.queries} answers are too many to list: at most {MOST_QUERIES}. Take the estimates of the cells "
                "and add up those that you need."
            )
            raise ParameterError(msg)
        cells = np.asarray(counts, dtype=np.float64)
        if cells.size != self.cells:
            msg = f"counts has shape {shown(cells.shape)}; the domain has the shape {self.shape}."
            raise ParameterError(msg)
        return cells.reshape(self.shape)

    def __repr__(self) -> str:
        return str(self)
