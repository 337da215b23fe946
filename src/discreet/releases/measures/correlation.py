"""CORR, read from noisy numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.plans.aggregates import Correlation
from discreet.releases.measures.measure import Cell
from discreet.releases.measures.ratio import ROWS_UNKNOWN, TOO_FEW_ROWS, Ratio
from discreet.releases.noise.blocks import combined

if TYPE_CHECKING:
    from discreet.releases.noise.blocks import Terms

__all__ = ["NoisyCorrelation"]

_SPREADS = ((1, 3), (2, 4))  # of either value: its sum and its sum of squares
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
        """The correlation with its ±.

        Covariance and variances lie within their ±, all three with the confidence; so the correlation lies between the
        least and the largest of their ratios.
        """
        single = 1 - (1 - self.confidence) / 3
        usual = [self.centered_product((one, one), two, group, _USUAL) for one, two in _SPREADS]
        cross = self.centered_product((1, 2), 5, group, single)
        first, second = (self.centered_product((one, one), two, group, single) for one, two in _SPREADS)
        if cross is None or first is None or second is None:
            return Cell(None, None, TOO_FEW_ROWS)
        if any(variance is not None and variance[0] <= variance[1] for variance in usual):
            return Cell(None, None, "a noisy variance is too small for a ratio.")
        (x, off_x), (y, off_y) = first, second
        # Roots first: the product of two variances may be too large or too small for a double.
        value = min(max(cross[0] / (math.sqrt(x) * math.sqrt(y)), -1.0), 1.0)
        least = math.sqrt(max(x - off_x, 0.0)) * math.sqrt(max(y - off_y, 0.0))
        if not least:
            return Cell(value, max(1 - value, 1 + value))
        roots = [least, math.sqrt(x + off_x) * math.sqrt(y + off_y)]
        ends = [(cross[0] + sign * cross[1]) / root for sign in (-1, 1) for root in roots]
        low, high = max(min(ends), -1.0), min(max(ends), 1.0)
        return Cell(value, max(high - value, value - low))

    def foreseen(self, rows: int | None) -> tuple[None, str]:
        """Say what is to be expected: no bound holds for all values, as both variances may be as small as noise.

        With both deviations range / sqrt 12, as of values spread evenly, a correlation near 0 is off by the ± of the
        covariance over the product of the deviations.
        """
        if rows is None:
            return None, ROWS_UNKNOWN
        deviations = [self.width(index) / math.sqrt(12) for index in (1, 2)]
        about = self.foreseen_product((1, 2), 5, rows) / math.prod(deviations)
        evenly = f"about ± {about:.2g} for independent values spread evenly over their bounds"
        expected = evenly if about < 1 else "too few rows"
        return None, (
            f"{expected}; its error depends on how much values vary, and a release has a ± where an honest one exists."
        )
