"""COVAR, read from noisy numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.plans.aggregates import Covariance
from discreet.releases.measures.measure import Cell
from discreet.releases.measures.ratio import ROWS_UNKNOWN, TOO_FEW_ROWS, Ratio

if TYPE_CHECKING:
    from discreet.releases.noise.blocks import Terms

__all__ = ["NoisyCovariance"]


class NoisyCovariance(Ratio):
    """The mean product less the product of means."""

    reads = (Covariance,)

    def combinations(self) -> list[Terms]:
        """The sum of products; means of centered values are near 0."""
        return [self.terms(3)]

    def cell(self, group: int) -> Cell:
        """The covariance with its ±."""
        estimate = self.centered_product((1, 2), 3, group, self.confidence)
        return Cell(None, None, TOO_FEW_ROWS) if estimate is None else Cell(*self.divided(estimate, group))

    def foreseen(self, rows: int | None) -> tuple[float | None, str]:
        """The ± for the expected n and any means."""
        return (None, ROWS_UNKNOWN) if rows is None else (self.foreseen_product((1, 2), 3, rows), "")
