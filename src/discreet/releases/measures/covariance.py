"""COVAR, read from noisy numbers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from discreet.plans.aggregates import Covariance
from discreet.releases.measures.measure import Cell
from discreet.releases.measures.ratio import ROWS_UNKNOWN, TOO_FEW_ROWS, Ratio

if TYPE_CHECKING:
    from discreet.mechanisms.adding.ratios import Product
    from discreet.mechanisms.adding.sums import Terms

__all__ = ["NoisyCovariance"]


class NoisyCovariance(Ratio):
    """The mean product less the product of means."""

    reads = (Covariance,)

    @cached_property
    def _products(self) -> Product:
        return self.product(1, 2, 3)

    def combinations(self) -> list[Terms]:
        """The sum of products; means of centered values are near 0."""
        return [self.terms(3)]

    def cell(self, group: int) -> Cell:
        """The covariance with its ±."""
        estimate = self.centered(self._products, (1, 2, 3), group, self.confidence)
        return Cell(None, None, TOO_FEW_ROWS) if estimate is None else Cell(*estimate)

    def foreseen(self, rows: int | None) -> tuple[float | None, str]:
        """The ± for the expected n and any means."""
        return (None, ROWS_UNKNOWN) if rows is None else (self.foreseen_product(self._products, rows), "")
