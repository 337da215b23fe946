"""CORR, read from noisy numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.mechanisms.adding.combinations import combined
from discreet.mechanisms.adding.ratios import correlated
from discreet.plans.aggregates import Correlation
from discreet.releases.measures.measure import Cell
from discreet.releases.measures.ratio import ROWS_UNKNOWN, TOO_FEW_ROWS, Ratio

if TYPE_CHECKING:
    from discreet.mechanisms.adding.ratios import Estimate, Product
    from discreet.mechanisms.adding.sums import Terms

__all__ = ["NoisyCorrelation"]

_PRODUCTS = ((1, 2, 5), (1, 1, 3), (2, 2, 4))  # the covariance, and both variances
_USUAL = 0.95


class NoisyCorrelation(Ratio):
    """The covariance over both deviations; NULL where a variance does not exceed its ± of 95 percent."""

    reads = (Correlation,)

    def combinations(self) -> list[Terms]:
        """In units of both deviations: the product, and half of each relative variance, for a correlation of 1/2."""
        x, y, both = (Fraction(1, 1 + self.span(index)[1]) for index in (3, 4, 5))
        return [
            combined((self.terms(5), both)),
            combined((self.spread(3), x / 4)),
            combined((self.spread(4), y / 4)),
        ]

    def cell(self, group: int) -> Cell:
        """The correlation with its ±: covariance and variances lie within their ±, all three with the confidence."""
        cross, *spreads = (self._centered(places, group, 1 - (1 - self.confidence) / 3) for places in _PRODUCTS)
        usual = [self._centered(places, group, _USUAL) for places in _PRODUCTS[1:]]
        if cross is None or spreads[0] is None or spreads[1] is None:
            return Cell(None, None, TOO_FEW_ROWS)
        if any(variance is not None and variance[0] <= variance[1] for variance in usual):
            return Cell(None, None, "a noisy variance is too small for a ratio.")
        return Cell(*correlated(cross, spreads[0], spreads[1]))

    def _centered(self, places: tuple[int, int, int], group: int, confidence: float) -> Estimate | None:
        return self.centered(self._products[places], places, group, confidence)

    @cached_property
    def _products(self) -> dict[tuple[int, int, int], Product]:
        return {places: self.product(*places) for places in _PRODUCTS}

    def foreseen(self, rows: int | None) -> tuple[None, str]:
        """Say what is to be expected: no bound holds for all values, as both variances may be as small as noise.

        With both deviations range / sqrt 12, as of values spread evenly, a correlation near 0 is off by the ± of the
        covariance over the product of the deviations.
        """
        if rows is None:
            return None, ROWS_UNKNOWN
        deviations = [self.width(index) / math.sqrt(12) for index in (1, 2)]
        about = self.foreseen_product(self._products[_PRODUCTS[0]], rows) / math.prod(deviations)
        evenly = f"about ± {about:.2g} for independent values spread evenly over their bounds"
        expected = evenly if about < 1 else "too few rows"
        return None, (
            f"{expected}; its error depends on how much values vary, and a release has a ± where an honest one exists."
        )
