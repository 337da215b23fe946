"""The workload itself: every answer gets noise of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.methods.workloads.strategies.strategy import Reach, Strategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.methods.workloads.algebra.workload import Floats, Workload

__all__ = ["Itself", "Separately", "importance_of"]


@dataclass(frozen=True)
class Itself(Strategy):
    """Measure the answers, with noise for how far one row moves all of them together.

    >>> from discreet.methods.workloads import Predicates
    >>> men_and_women = Predicates([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]])
    >>> Itself(men_and_women).reach.l1, Itself(men_and_women).total
    (2, 4.0)
    """

    name: ClassVar[str] = "the workload itself"
    whole: ClassVar[bool] = True

    workload: Workload

    @property
    def measurements(self) -> int:
        """One for each query."""
        return self.workload.queries

    @property
    def reach(self) -> Reach:
        """The most queries that count one cell."""
        most = round(float(self.workload.coverage().max()))
        return Reach(most, most)

    @property
    def total(self) -> float:
        """One for each query, with its importance: the trace of the Gram matrix over blocks of the whole domain."""
        return importance_of(self.workload)

    def exact(self, counts: Any) -> NDArray[Any]:  # noqa: ANN401 - as the strategy says
        """Answer exactly: floats hold sums below 2**53, and cells are clamped so that there are no larger ones."""
        most = (1 << 52) // self.workload.cells
        return np.rint(self.workload.answers(np.clip(self.workload.read_counts(counts), -most, most)))

    def answers(self, noisy: Floats) -> Floats:
        """Take them as they are."""
        return noisy

    def variances(self) -> Floats:
        """One for each."""
        return np.ones(self.workload.queries)


class Separately(Itself):
    """Ask one query after another, each for its share of the price: the first algorithm of the notes.

    >>> from discreet.methods.workloads import Predicates
    >>> men_and_women = Predicates([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]])
    >>> Separately(men_and_women).reach.l1
    4
    """

    name: ClassVar[str] = "each query for its share"

    @property
    def reach(self) -> Reach:
        """Every query moves by 1, and the prices add up."""
        return Reach(self.workload.queries, self.workload.queries)


def importance_of(workload: Workload) -> float:
    """Sum the importance of all queries.

    >>> from discreet.methods.workloads import Prefix, Weighted
    >>> importance_of(Weighted(Prefix(4), 2))
    8.0
    """
    from discreet.methods.workloads.algebra.compounds import Union, Weighted

    if isinstance(workload, Weighted):
        return float(workload.weight) * importance_of(workload.workload)
    if isinstance(workload, Union):
        return sum(importance_of(part) for part in workload.parts)
    return float(workload.queries)
