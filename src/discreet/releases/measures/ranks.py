"""MEDIAN, quantiles, MIN and MAX, read from points that were chosen."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.choosing.rank_choice import RankChoice
from discreet.plans.aggregates import Extreme, Quantiles
from discreet.plans.statistics import RankedCells, RowCount, ValueCount
from discreet.releases.measures.measure import Cell, NoisyMeasure
from discreet.releases.measures.ratio import TOO_FEW_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.plans.nodes.aggregate import Sensitivity

__all__ = ["NoisyRanks"]


class NoisyRanks(NoisyMeasure):
    """Chosen points, in the order of their levels; NULL where a noisy count says that hardly a row is there.

    Without a count in the question a group without rows cannot be told from others, and its points are random ones.
    """

    reads = (Quantiles, Extreme)

    def variances(self, moves: list[Sensitivity], *, gaussian: bool) -> dict[int, float]:  # noqa: ARG002 - one block
        """All from the block of its choice."""
        return {self._block: 1.0}

    @cached_property
    def _block(self) -> int:
        return self.recipe.block_of(self.places[0])

    @cached_property
    def _counts(self) -> tuple[NDArray[np.float64], float] | None:
        """The noisy counts of the values and what they must exceed, where the question asks for a count."""
        plan = self.recipe.plan
        (value,) = self._statistic.operands
        count = ValueCount((value,)) if value.facts(plan.row_schema).nullable else RowCount()
        if count not in plan.statistics:
            return None
        terms = self.recipe.terms[plan.statistics.index(count)]
        return self.noisy.array(terms), self.noisy.least_count(terms)

    @cached_property
    def _statistic(self) -> RankedCells:
        statistic = self.recipe.plan.statistics[self.places[0]]
        assert isinstance(statistic, RankedCells)  # noqa: S101 - what these measures are made of
        return statistic

    @cached_property
    def _choice(self) -> RankChoice:
        choice = self.noisy.noises[self._block]
        assert isinstance(choice, RankChoice)  # noqa: S101 - the block of a choice
        return choice

    @cached_property
    def _missed(self) -> str:
        """By how many rows the worst of the points misses its rank."""
        return self._choice.missed(self.measure.levels, self.confidence)

    @cached_property
    def _points(self) -> NDArray[np.float64]:
        """One row per group, one column per level asked for; NaN where the noisy count of a group is only noise.

        Points are put into order, which costs nothing. A step is a power of two: the nearest double of a point times
        it is the nearest double of the product.
        """
        columns = [self._choice.levels.index(level) for level in self.measure.levels]
        chosen = np.sort(self.noisy.blocks[self._block], axis=1)[:, columns].astype(np.float64)
        points: NDArray[np.float64] = chosen * float(self._statistic.factor.step)
        if self._counts is not None:
            points[self._counts[0] <= self._counts[1]] = np.nan
        return points

    def cell(self, group: int) -> Cell:
        """The points without a ±: values between them are private."""
        points: list[float] = self._points[group].tolist()
        one = self.measure.size == 1
        if np.isnan(points[0]):
            return Cell(None if one else (None,) * len(points), None, TOO_FEW_ROWS)
        return Cell(points[0] if one else tuple(points), None, f"it {self._missed}")

    def values(self) -> NDArray[np.float64] | None:
        """One point for all groups."""
        return self._points[:, 0] if self.measure.size == 1 else None

    def foreseen(self, rows: int | None) -> tuple[None, str]:  # noqa: ARG002 - for any number
        """By how many rows a point misses its rank; how far apart values lie there is private."""
        return None, self._missed
