"""VARIANCE and STDDEV, read from noisy numbers."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.mechanisms.adding.ratios import rooted
from discreet.plans.aggregates import StdDev, Variance
from discreet.releases.measures.measure import Cell
from discreet.releases.measures.ratio import ROWS_UNKNOWN, TOO_FEW_ROWS, Ratio

if TYPE_CHECKING:
    from discreet.mechanisms.adding.ratios import Product
    from discreet.mechanisms.adding.sums import Terms

__all__ = ["NoisyVariance"]


class NoisyVariance(Ratio):
    """The mean square less the square of the mean, never below 0; or its root."""

    reads = (Variance, StdDev)

    @property
    def _is_root(self) -> bool:
        return isinstance(self.measure, StdDev)

    @cached_property
    def _squares(self) -> Product:
        return self.product(1, 1, 2)

    def combinations(self) -> list[Terms]:
        """The squares less their mean times the count."""
        return [self.spread(2)]

    def cell(self, group: int) -> Cell:
        """The variance with its ±, or its root."""
        estimate = self.centered(self._squares, (1, 1, 2), group, self.confidence)
        if estimate is None:
            return Cell(None, None, TOO_FEW_ROWS)
        value, error = max(estimate[0], 0.0), estimate[1]
        return Cell(*rooted((value, error))) if self._is_root else Cell(value, error)

    def foreseen(self, rows: int | None) -> tuple[float | None, str]:
        """The ± for the expected n and any mean; of a root, for any variance.

        |sqrt(a) - sqrt(b)| <= sqrt(|a - b|), reached by values that do not vary; a deviation is at most half the range.
        """
        if rows is None:
            return None, ROWS_UNKNOWN
        error = self.foreseen_product(self._squares, rows)
        if not self._is_root:
            return error, ""
        most = self.width(1) / 2 * math.sqrt(rows / (rows - 1) if rows > 1 else 1)
        return min(math.sqrt(error), most), ""

    def size(self, rows: int | None) -> tuple[float, float]:  # noqa: ARG002 - for any number
        """No more than the range, or its square."""
        wide = self.width(2)
        return 0.0, wide if self._is_root else wide**2
