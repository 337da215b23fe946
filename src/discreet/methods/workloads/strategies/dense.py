"""A strategy that is written out: a matrix of whole numbers over the cells of one axis."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.methods.workloads.algebra.compounds import Union, Weighted
from discreet.methods.workloads.algebra.lines import Intervals
from discreet.methods.workloads.strategies.strategy import STEPS, Reach, Strategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.methods.workloads.algebra.workload import Floats, Workload

__all__ = ["Dense", "snapped"]


def snapped(matrix: Floats, steps: int = STEPS) -> NDArray[np.int64]:
    """Snap the weights of a strategy to whole numbers of steps; rows that vanish are dropped.

    >>> snapped(np.array([[0.5, 0.25], [0.0, 0.0]]), steps=8).tolist()
    [[4, 2]]
    """
    whole = np.rint(matrix * steps).astype(np.int64)
    kept: NDArray[np.int64] = whole[np.abs(whole).max(axis=1) > 0]
    return kept


class Dense(Strategy):
    """Measure the product of a matrix of whole numbers with the counts.

    The reach is computed from the whole numbers themselves: entries of at most 2**20 in at most 2**12 rows have sums of
    squares below 2**53, which floats hold exactly.

    >>> from discreet.methods.workloads import Prefix
    >>> strategy = Dense(Prefix(2), np.array([[1, 1], [0, 2]]), "by hand")
    >>> strategy.measure([3, 4]).tolist(), strategy.reach.l1, strategy.reach.l2_squared
    ([7, 8], 3, 5)
    """

    def __init__(self, workload: Workload, matrix: NDArray[np.int64], name: str) -> None:
        self.workload = workload
        self.matrix = matrix
        self.name = name  # type: ignore[misc]  # each way to find a matrix has its own

    @property
    def measurements(self) -> int:
        """One for each row."""
        return len(self.matrix)

    @cached_property
    def reach(self) -> Reach:
        """The largest column, and the largest distance of two, exactly."""
        sizes = np.abs(self.matrix).sum(axis=0)
        floats = self.matrix.astype(float)
        products = floats.T @ floats
        squares = np.diag(products)
        apart = max(float((squares[:, None] + squares - 2 * products).max()), float(squares.max()))
        return Reach(int(sizes.max()), int(squares.max()), apart_squared=int(apart))

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the estimated cells, for noise of variance 1."""
        from scipy import linalg

        floats = self.matrix.astype(float)
        products = floats.T @ floats
        inverse: Floats = linalg.inv(products) if len(self.matrix) >= len(products) else linalg.pinvh(products)
        return (inverse + inverse.T) / 2

    @cached_property
    def total(self) -> float:
        """The trace of the Gram matrix times the covariance."""
        return float(np.sum(self.workload.gram() * self.covariance))

    def exact(self, counts: Any) -> NDArray[Any]:  # noqa: ANN401 - as the strategy says
        """Multiply whole numbers."""
        measured: NDArray[Any] = self.matrix @ self.workload.read_counts(counts).ravel()
        return measured

    def cells(self, noisy: Floats) -> Floats:
        """Solve by least squares."""
        found: Floats = self.covariance @ (self.matrix.T @ noisy)
        return found

    def answers(self, noisy: Floats) -> Floats:
        """Answer from the estimated cells."""
        return self.workload.answers(self.cells(noisy))

    def variances(self) -> Floats:
        """The variance of each query about the estimated cells."""
        return _quadratic(self.workload, self.covariance)


def _quadratic(workload: Workload, covariance: Floats) -> Floats:
    """Return q' V q for each query q; of a range by running sums of V along both axes."""
    if isinstance(workload, Weighted):
        return _quadratic(workload.workload, covariance)
    if isinstance(workload, Union):
        return np.concatenate([_quadratic(part, covariance) for part in workload.parts])
    if isinstance(workload, Intervals):
        sums = np.pad(np.cumsum(np.cumsum(covariance, axis=0), axis=1), ((1, 0), (1, 0)))
        starts, stops = workload.ends()
        corners: Floats = sums[stops, stops] - 2 * sums[starts, stops] + sums[starts, starts]
        return np.maximum(corners, 0.0)
    matrix = workload.matrix()
    squares: Floats = np.einsum("ij,jk,ik->i", matrix, covariance, matrix, optimize=True)
    return squares
