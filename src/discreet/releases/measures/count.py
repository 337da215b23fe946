"""COUNT(*), COUNT(x) and COUNT(DISTINCT x), read from noisy numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms.adding.combinations import rounding_of
from discreet.plans.aggregates import Count, CountDistinct
from discreet.releases.measures.measure import Cell, NoisyMeasure

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NoisyCount"]


class NoisyCount(NoisyMeasure):
    """A count is a whole number; where it is made of parts of noisy sums it is rounded."""

    reads = (Count, CountDistinct)
    counts = True

    @property
    def _error(self) -> float:
        return self.reach + rounding_of(self.terms(0))

    def cell(self, group: int) -> Cell:
        """The nearest whole number."""
        return Cell(round(self.number(0, group)), self._error)

    def values(self) -> NDArray[np.int64]:
        """The same for all groups."""
        return np.rint(self.array(0)).astype(np.int64)

    def foreseen(self, rows: int | None) -> tuple[float, str]:  # noqa: ARG002 - for any number
        """Noise does not depend on the data."""
        return self._error, ""

    def size(self, rows: int | None) -> tuple[float, float]:
        """All rows are counted, or no more than these."""
        most = math.inf if rows is None else float(rows)
        all_rows = isinstance(self.measure, Count) and not self.measure.operands and rows is not None
        return (most, most) if all_rows else (0.0, most)
