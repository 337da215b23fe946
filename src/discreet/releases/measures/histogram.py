"""HISTOGRAM, read from noisy numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.plans.aggregates import Histogram
from discreet.releases.measures.measure import Cell, NoisyMeasure

if TYPE_CHECKING:
    from discreet.plans.nodes.aggregate import Sensitivity

__all__ = ["NoisyHistogram"]


class NoisyHistogram(NoisyMeasure):
    """The noisy counts of all bins; the ± holds for each of them."""

    reads = (Histogram,)
    counts = True
    binned = True

    @property
    def _block(self) -> int:
        return self.recipe.block_of(self.places[0])

    def variances(self, moves: list[Sensitivity], *, gaussian: bool) -> dict[int, float]:  # noqa: ARG002 - one block
        """All from the block of its bins."""
        return {self._block: 1.0}

    @property
    def _error(self) -> float:
        return self.noisy.reach(((self._block, 0, Fraction(1)),), self.confidence)

    def cell(self, group: int) -> Cell:
        """The counts in the order of the bins."""
        return Cell(tuple(int(count) for count in self.noisy.blocks[self._block][group]), self._error)

    def foreseen(self, rows: int | None) -> tuple[float, str]:  # noqa: ARG002 - for any number
        """Noise does not depend on the data."""
        return self._error, ""
