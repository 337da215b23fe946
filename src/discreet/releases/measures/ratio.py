"""What is divided by a noisy count: the averages and mean products of a measure, from the facts of its plan."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.mechanisms.adding.combinations import combined
from discreet.mechanisms.adding.ratios import Average, Product, over_one_less
from discreet.plans.aggregates import Divisor
from discreet.releases.measures.measure import NoisyMeasure

if TYPE_CHECKING:
    from discreet.mechanisms.adding.ratios import Estimate
    from discreet.mechanisms.adding.sums import Terms
    from discreet.plans.statistics import Snapped

__all__ = ["ROWS_UNKNOWN", "TOO_FEW_ROWS", "Ratio"]

ROWS_UNKNOWN = "its error depends on the number of rows; give expected_count= for a number."
TOO_FEW_ROWS = "the noisy count is too small for a ratio."
_MISS_OF_N = 1 / 16


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

    @cached_property
    def averages(self) -> dict[int, Average]:
        """For each sum, or sum of products, its average.

        A grid moves a row by half a step for a number, unless it follows from a coarser sum.
        """
        return {index: self._average(index) for index in range(1, len(self.places))}

    def _average(self, index: int) -> Average:
        factors = self.moment(index).factors
        step = float(math.prod(factor.step for factor in factors))
        about = self.noisy, self.terms(index), self.terms(0), self.span(index)
        if len(factors) > 1:
            return Average(*about, 0.0, step, float(self._rounding_of_product(*factors)))
        center, rounding = factors[0].center * step, float(self.recipe.rounding(self.places[index]))
        return Average(*about, center, step, rounding, self.width(index))

    def _rounding_of_product(self, first: Snapped, second: Snapped) -> Fraction:
        """By how much grids move a product: each factor by half a step times the other, and both together."""
        far = [max(abs(end) for end in factor.reach) * factor.step for factor in (first, second)]
        off = [self.recipe.half_step(factor) for factor in (first, second)]
        return off[0] * far[1] + off[1] * far[0] + off[0] * off[1]

    def product(self, first: int, second: int, mixed: int) -> Product:
        """The mean product of two values' distances from their means."""
        return Product(*(self.averages[index] for index in (first, second, mixed)))

    def centered(
        self, product: Product, indices: tuple[int, int, int], group: int, confidence: float
    ) -> Estimate | None:
        """That of a group over n, or over n - 1 where the measure asks for it, with its ±.

        None where the count says nothing.
        """
        count = self.counted(group)
        if count is None:
            return None
        first, second, mixed = (self.number(index, group) for index in indices)
        own, about_n = self._confidences(confidence)
        return self._divided(product.estimate((first, second, mixed), count, own), count, about_n)

    def foreseen_product(self, product: Product, rows: int) -> float:
        """The ± of the same, for so many rows and means anywhere in their range."""
        own, about_n = self._confidences(self.confidence)
        largest = product.first.farthest * product.second.farthest
        return self._divided((largest, product.foreseen(rows, own)), rows, about_n)[1]

    @property
    def _is_over_one_less(self) -> bool:
        return getattr(self.measure, "divisor", None) is Divisor.SAMPLE

    def _confidences(self, confidence: float) -> tuple[float, float]:
        """With which probability a mean product over n lies within its ±, and n itself where n - 1 is divided by.

        What n is off by counts little beside the rest where n is large, so n gets little of the chance of a miss.
        """
        about_n = (1 - confidence) * _MISS_OF_N if self._is_over_one_less else 0.0
        return confidence + about_n, 1 - about_n

    def _divided(self, estimate: Estimate, count: float, confidence: float) -> Estimate:
        if not self._is_over_one_less:
            return estimate
        return over_one_less(estimate, (count, self.noisy.reach(self.terms(0), confidence)))

    def spread(self, square: int) -> Terms:
        """The noise of a sum of squares less that of its mean times the count; the mean is a third of the largest."""
        return combined((self.terms(square), 1), (self.terms(0), -Fraction(self.span(square)[1], 3)))

    def width(self, index: int) -> float:
        """How far apart the bounds of a sum's values are."""
        factor = self.factor(index)
        return float((factor.upper - factor.lower) * factor.step)
