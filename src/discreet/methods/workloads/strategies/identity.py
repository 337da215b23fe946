"""The identity: every cell gets noise, and the answers are sums of noisy cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.methods.workloads.strategies.strategy import Reach, Strategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.methods.workloads.algebra.workload import Floats, Workload

__all__ = ["Cells"]


@dataclass(frozen=True)
class Cells(Strategy):
    """Measure every cell: the second algorithm of the notes.

    A row is in one cell, so one row moves the cells by 1 in every norm. An answer that adds up k cells has k times the
    variance of one.

    >>> from discreet.methods.workloads import Predicates
    >>> men_and_women = Predicates([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]])
    >>> Cells(men_and_women).total
    6.0
    """

    name: ClassVar[str] = "identity"
    whole: ClassVar[bool] = True

    workload: Workload

    @property
    def measurements(self) -> int:
        """One for each cell."""
        return self.workload.cells

    @property
    def reach(self) -> Reach:
        """One row is in one cell."""
        return Reach(1, 1)

    @property
    def total(self) -> float:
        """The trace of the Gram matrix."""
        return float(self.workload.gram_diagonal().sum())

    def exact(self, counts: Any) -> NDArray[Any]:  # noqa: ANN401 - as the strategy says
        """Take the counts."""
        return self.workload.read_counts(counts).ravel()

    def answers(self, noisy: Floats) -> Floats:
        """Add up noisy cells."""
        return self.workload.answers(noisy)

    def variances(self) -> Floats:
        """How many cells each query counts."""
        return self.workload.block_squares(1)

    def cells(self, noisy: Floats) -> Floats:
        """The noisy cells."""
        return noisy.reshape(self.workload.shape)
