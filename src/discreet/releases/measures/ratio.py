"""What is divided by a noisy count: the ± of a mean and of a mean product, for a count that is noisy or expected."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.plans.aggregates import Divisor
from discreet.releases.measures.measure import NoisyMeasure
from discreet.releases.noise.blocks import combined

if TYPE_CHECKING:
    from discreet.plans.statistics import Snapped
    from discreet.releases.noise.blocks import Terms

__all__ = ["ROWS_UNKNOWN", "TOO_FEW_ROWS", "Ratio"]

ROWS_UNKNOWN = "its error depends on the number of rows; give expected_count= for a number."
TOO_FEW_ROWS = "the noisy count is too small for a ratio."

Estimate = tuple[float, float]
"""A number and its ±."""


class Ratio(NoisyMeasure):
    """A measure whose first statistic is the count that the others, sums of its rows, are divided by.

    >>> from discreet.plans.aggregates import mean
    >>> from discreet.releases.measures.measure import measure_kind
    >>> issubclass(measure_kind(mean("x")), Ratio)
    True
    """

    sums = True

    @cached_property
    def enough(self) -> float:
        """What the noisy count must exceed to be divided by."""
        return self.noisy.least_count(self.terms(0))

    def counted(self, group: int) -> float | None:
        """The noisy count of a group, or None where it is no more than noise and so says nothing."""
        count = self.number(0, group)
        return count if count > self.enough else None

    def reach_of_sum(self, index: int, confidence: float) -> float:
        """Bound |z - r z'| for the noise z of a sum and z' of its count, for every r that a mean can be.

        With S + z and n + z' released and r = S / n, (S + z)/(n + z') - r = (z - r z')/(n + z'), exactly. It is linear
        in r, so it is largest at an end of the values: there it is the noise of S - low n or of S - high n.
        """
        ends = (combined((self.terms(index), 1), (self.terms(0), -end)) for end in self.span(index))
        return max(self.noisy.reach(end, (1 + confidence) / 2) for end in ends)

    @cached_property
    def _bounds(self) -> dict[tuple[int, float], tuple[float, float, float]]:
        return {}

    def mean_error(self, index: int, count: float, confidence: float) -> float:
        """The ± of a mean, or of a mean product, over so many rows.

        It is the reach of the sum over the count, and what grids move a row by: half a step for a number, unless it
        follows from a coarser sum. A mean stays within its bounds, so it is never off by more than their distance.
        """
        if (index, confidence) not in self._bounds:
            factors = self.moment(index).factors
            reach = self.reach_of_sum(index, confidence) * float(math.prod(factor.step for factor in factors))
            if len(factors) == 1:
                rounding, widest = self.recipe.rounding(self.places[index]), self.width(index)
            else:
                rounding, widest = self._rounding_of_product(*factors), math.inf
            self._bounds[index, confidence] = reach, float(rounding), widest
        reach, rounding_of_rows, widest = self._bounds[index, confidence]
        return min(reach / count + rounding_of_rows, widest)

    def _rounding_of_product(self, first: Snapped, second: Snapped) -> Fraction:
        """By how much grids move a product: each factor by half a step times the other, and both together."""
        far = [max(abs(end) for end in factor.reach) * factor.step for factor in (first, second)]
        off = [self.recipe.half_step(factor) for factor in (first, second)]
        return off[0] * far[1] + off[1] * far[0] + off[0] * off[1]

    @cached_property
    def _centers(self) -> dict[int, list[tuple[float, float]]]:
        """For each sum the centers of its factors, and their steps."""
        return {
            index: [(factor.center * float(factor.step), float(factor.step)) for factor in self.moment(index).factors]
            for index in range(1, len(self.places))
        }

    @cached_property
    def _spans(self) -> dict[int, tuple[int, int]]:
        return {index: self.span(index) for index in range(1, len(self.places))}

    def mean(self, index: int, count: float, group: int) -> float:
        """The center and the noisy ratio, within the bounds."""
        low, high = self._spans[index]
        ((center, step),) = self._centers[index]
        return center + min(max(self.number(index, group) / count, low), high) * step

    def product_error(
        self, sums: tuple[int, int], product: int, count: float, away: tuple[float, float], confidence: float
    ) -> float:
        """The ± of E[(x - a)(y - b)] - (E x - a)(E y - b), for means that are so far `away` from the centers a and b.

        All of its ratios, three or for one value two, hold together: each has its part of the chance of a miss. The
        product of two means that are off by e and f is off by at most |E x - a| f + |E y - b| e + e f.
        """
        single = 1 - (1 - confidence) / (3 if sums[0] != sums[1] else 2)
        first, second = (self.mean_error(index, count, single) for index in sums)
        mixed = self.mean_error(product, count, single)
        return mixed + abs(away[0]) * second + abs(away[1]) * first + first * second

    def centered_product(self, sums: tuple[int, int], product: int, group: int, confidence: float) -> Estimate | None:
        """The mean product of both distances from the means, over n, with its ±; None where the count says nothing."""
        count = self.counted(group)
        if count is None:
            return None
        (a, step), (b, other) = self._centers[product]
        x, y = self.mean(sums[0], count, group) - a, self.mean(sums[1], count, group) - b
        mixed = self.number(product, group) / count * (step * other)
        return mixed - x * y, self.product_error(sums, product, count, (x, y), confidence)

    def foreseen_product(self, sums: tuple[int, int], product: int, rows: int) -> float:
        """The ± of `centered_product` over n - 1, for so many rows and means anywhere in their range."""
        x, y = (max(abs(end) for end in factor.reach) * float(factor.step) for factor in self.moment(product).factors)
        error = self.product_error(sums, product, rows, (x, y), self.confidence)
        return error * (rows / (rows - 1) if rows > 1 else 1.0)

    def spread(self, square: int) -> Terms:
        """The noise of a sum of squares less that of its mean times the count; the mean is a third of the largest."""
        return combined((self.terms(square), 1), (self.terms(0), -Fraction(self.span(square)[1], 3)))

    def width(self, index: int) -> float:
        """How far apart the bounds of a sum's values are."""
        factor = self.factor(index)
        return float((factor.upper - factor.lower) * factor.step)

    def divided(self, estimate: Estimate, group: int) -> Estimate:
        """From the mean over n to the mean over n - 1, where the measure asks for it."""
        count = self.number(0, group)
        if getattr(self.measure, "divisor", None) is not Divisor.SAMPLE:
            return estimate
        factor = count / (count - 1) if count > 1 else 1.0
        return estimate[0] * factor, estimate[1] * factor
