"""Products over axes: for each axis the best strategy for its own queries."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.methods.workloads.algebra.workload import kron
from discreet.methods.workloads.strategies.strategy import Reach, Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.methods.workloads.algebra.compounds import Kron
    from discreet.methods.workloads.algebra.workload import Floats
    from discreet.methods.workloads.strategies.dense import Dense

__all__ = ["Product", "along"]


def along(array: NDArray[Any], matrix: NDArray[Any], axis: int) -> NDArray[Any]:
    """Multiply every line of an array along an axis by a matrix.

    >>> along(np.array([[1, 2], [3, 4]]), np.array([[1, 1]]), 0).tolist()
    [[4, 6]]
    """
    return np.moveaxis(np.tensordot(matrix, array, axes=(1, axis)), 0, axis)


class Product(Strategy):
    """Measure all products of one row per axis: the Kronecker product of the strategies of the axes.

    Column norms of a Kronecker product are products of column norms, in L1 and in L2; so are its error and the bound.

    >>> from discreet.methods.workloads import Identity, Kron, Prefix
    >>> from discreet.methods.workloads.strategies.dense import Dense
    >>> workload = Kron([Prefix(2), Identity(2)])
    >>> axes = [Dense(Prefix(2), np.array([[1, 1], [0, 1]]), "a"), Dense(Identity(2), np.eye(2, dtype=int), "b")]
    >>> Product(workload, axes).measure([[1, 2], [3, 4]]).tolist(), Product(workload, axes).reach.l1
    ([4, 6, 3, 4], 2)
    """

    name: ClassVar[str] = "product"

    workload: Kron

    def __init__(self, workload: Kron, axes: Sequence[Dense]) -> None:
        self.workload = workload
        self.axes = tuple(axes)

    @property
    def measurements(self) -> int:
        """All combinations of rows."""
        return math.prod(axis.measurements for axis in self.axes)

    @cached_property
    def reach(self) -> Reach:
        """The product of those of the axes."""
        acute = all(bool((axis.matrix >= 0).all()) for axis in self.axes)
        reaches = [axis.reach for axis in self.axes]
        return Reach(
            math.prod(reach.l1 for reach in reaches), math.prod(reach.l2_squared for reach in reaches), acute=acute
        )

    @cached_property
    def total(self) -> float:
        """The product of those of the axes."""
        return math.prod(axis.total for axis in self.axes)

    def exact(self, counts: Any) -> NDArray[Any]:  # noqa: ANN401 - as the strategy says
        """Multiply axis by axis."""
        measured = self.workload.read_counts(counts)
        for place, axis in enumerate(self.axes):
            measured = along(measured, axis.matrix, place)
        return measured.ravel()

    def cells(self, noisy: Floats) -> Floats:
        """Invert axis by axis."""
        found = noisy.reshape([axis.measurements for axis in self.axes])
        for place, axis in enumerate(self.axes):
            found = along(found, axis.covariance @ axis.matrix.T, place)
        return found

    def answers(self, noisy: Floats) -> Floats:
        """Answer from the estimated cells."""
        return self.workload.answers(self.cells(noisy))

    def variances(self) -> Floats:
        """The products of those of the axes."""
        return kron([axis.variances() for axis in self.axes])
