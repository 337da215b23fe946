"""A cell of a grid, told as a cell that is likelier the nearer it is, and a map made of many such reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer
from discreet.mechanisms.inputs.parameters import assign
from discreet.methods.local.places import read_cells
from discreet.methods.local.randomizer import Randomizer, Reports
from discreet.noise import SYSTEM, BitSource, discrete_laplace
from discreet.privacy import NeighborRelation, Pure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["DistanceScores", "Heatmap"]


@dataclass(frozen=True, slots=True, eq=False)
class Heatmap:
    """How many units are in each cell, estimated without bias, a row for each column of the grid.

    >>> Heatmap(np.array([[3.0]]), np.array([[1.0]]), 3).counts
    array([[3.]])
    """

    counts: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    responses: int
    refused: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class DistanceScores(Randomizer):
    r"""Tell a cell of a grid by the exponential mechanism, with the negative distance as its score.

    Cells are (column, row), and their distance is $|i - x| + |j - y|$. The cell y is told with a chance in proportion
    to $e^{-\lambda d(x, y)}$, $\lambda = \varepsilon / (2 D)$, where D is the largest distance on the grid. (With the
    score 1 for the true cell and 0 for every other one it is `Direct` over the cells.)

    Privacy. For two cells x and x' the weight of each y differs by at most a factor $e^{\lambda d(x, x')}$, and so does
    the sum of all weights; so the chances differ by at most $e^{2 \lambda d(x, x')}$, which is `within(d)`, and
    $e^{\varepsilon}$ at most.

    Estimate. The weights are a product over columns and rows, and so is the matrix of chances; the counts of what was
    told are multiplied by the inverse of it. A report adds $W_{v,y}$ to the count of the cell v, whose mean is 1 for
    the own cell and 0 for others; the standard error is the root of $\sum W_{v,y}^2 - \hat n_v$.

    McSherry & Talwar 2007 (doi:10.1109/FOCS.2007.66), Theorem 6.

    >>> scores = DistanceScores(10, 10, epsilon=6)
    >>> scores.within(3)
    Pure(epsilon=1, neighbors=change_one_ordered)
    """

    kind: ClassVar[str] = "distance_scores"
    guarantee: ClassVar[str] = (
        "The exponential mechanism with the negative distance as score, of which the largest on the grid is D, is "
        "epsilon-locally differentially private with weights exp(-epsilon d / (2 D))."
    )
    accuracy: ClassVar[str] = "the root of the sum of squares of what the reports add, less the count"
    source: ClassVar[str] = "McSherry & Talwar 2007, doi:10.1109/FOCS.2007.66"

    columns: int
    rows: int

    def __init__(
        self,
        columns: SupportsIndex,
        rows: SupportsIndex,
        *,
        epsilon: Number,
        neighbors: Relation = NeighborRelation.CHANGE_ONE_ORDERED,
    ) -> None:
        wide = integer(columns, name="columns", least=1, most=1 << 10)
        high = integer(rows, name="rows", least=1, most=1 << 10)
        if wide * high < 2:
            msg = "columns and rows make one cell; of one cell there is nothing to tell."
            raise ParameterError(msg)
        assign(self, columns=wide, rows=high)
        self.promise_to(epsilon, neighbors)

    def __repr__(self) -> str:
        return f"DistanceScores({self.columns} × {self.rows}, {self.promise})"

    @property
    def rate(self) -> Fraction:
        """Lambda: by how much the weight's logarithm falls with each step."""
        return self.epsilon / (2 * (self.columns + self.rows - 2))

    def within(self, distance: int) -> Pure:
        """What is promised about two cells at most so many steps apart."""
        return Pure(
            min(2 * self.rate * integer(distance, name="distance", least=0), self.epsilon), neighbors=self.neighbors
        )

    @property
    def messages(self) -> int:
        """One for each cell."""
        return self.columns * self.rows

    def report(self, values: ArrayLike, *, bits: BitSource = SYSTEM) -> Reports:
        """Randomize cells, a pair (column, row) of each unit; one off the grid counts as its nearest cell.

        The weights are a product, so the column and the row of what is told are independent: each the own one with
        discrete Laplace noise of scale 1 / lambda, drawn again until it is on the grid.
        """
        told = read_cells(values, self.columns, self.rows)
        left = np.ones(told.shape, dtype=np.bool_)
        own, sides = told.copy(), np.array([self.columns, self.rows])
        while left.any():
            told[left] = own[left] + discrete_laplace(1 / self.rate, int(left.sum()), bits)
            left &= (told < 0) | (told >= sides)
        return Reports(self, told[:, 0] * self.rows + told[:, 1])

    def _undo(self, size: int) -> NDArray[np.float64]:
        """The inverse of the chances on one axis: what a report adds to each place, by what was told."""
        weights = np.exp(-float(self.rate) * np.abs(np.arange(size)[:, None] - np.arange(size)))
        return np.asarray(np.linalg.inv(weights / weights.sum(axis=1, keepdims=True)).T, dtype=np.float64)

    def estimate(self, reports: Reports | Iterable[bytes]) -> Heatmap:
        """Estimate how many units are in each cell; this is post-processing and costs nothing."""
        given = self.read_reports(reports)
        told = np.bincount(given.messages, minlength=self.messages).reshape(self.columns, self.rows)
        across, down = self._undo(self.columns), self._undo(self.rows)
        counts = across @ told @ down.T
        squares = across**2 @ told @ (down**2).T
        return Heatmap(counts, np.sqrt(np.maximum(squares - counts, 0)), len(given), given.refused)
