"""SUM, read from noisy numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.plans.aggregates import Sum
from discreet.releases.measures.measure import Cell, NoisyMeasure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


__all__ = ["NoisySum"]


class NoisySum(NoisyMeasure):
    """Steps times the step."""

    reads = (Sum,)
    sums = True

    @property
    def _step(self) -> float:
        return float(self.factor(0).step)

    def cell(self, group: int) -> Cell:
        """The sum in steps, times the step."""
        return Cell(self.number(0, group) * self._step, self.reach * self._step)

    def values(self) -> NDArray[np.float64]:
        """The same for all groups."""
        return self.array(0) * self._step

    def foreseen(self, rows: int | None) -> tuple[float, str]:  # noqa: ARG002 - for any number
        """Noise does not depend on the data."""
        return self.reach * self._step, ""

    def size(self, rows: int | None) -> tuple[float, float]:
        """As many times the value farthest from 0 as there are rows."""
        return 0.0, math.inf if rows is None else self.farthest(0) * rows
