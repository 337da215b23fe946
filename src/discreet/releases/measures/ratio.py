"""What is divided by a noisy count: the ± of a mean and of a mean product, for a count that is noisy or expected."""

from __future__ import annotations

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

    @cached_property
    def _reaches(self) -> dict[tuple[int, float], float]:
        return {}

    def reach_of_sum(self, index: int, confidence: float) -> float:
        """Bound |z - r z'| for the noise z of a sum and z' of its count, for every r that a mean can be.

        With S + z and n + z' released and r = S / n, (S + z)/(n + z') - r = (z - r z')/(n + z'), exactly. It is linear
        in r, so it is largest at an end of the values: there it is the noise of S - low n or of S - high n.
        """
        if (index, confidence) not in self._reaches:
            ends = (combined((self.terms(index), 1), (self.terms(0), -end)) for end in self.span(index))
            self._reaches[index, confidence] = max(self.noisy.reach(end, (1 + confidence) / 2) for end in ends)
        return self._reaches[index, confidence]

    def mean_error(self, index: int, count: float, confidence: float) -> float:
        """The ± of a mean over so many rows: the ratio's, and half a step for snapping; never more than the range."""
        low, high = self.span(index)
        step = float(self.factor(index).step)
        error = self.reach_of_sum(index, confidence) / count * step + float(self.recipe.rounding(self.places[index]))
        return min(error, (high - low) * step)

    def mean(self, index: int, count: float, group: int) -> float:
        """The center and the noisy ratio, within the bounds."""
        low, high = self.span(index)
        factor = self.factor(index)
        return (factor.center + min(max(self.number(index, group) / count, low), high)) * float(factor.step)

    def product_error(
        self, sums: tuple[int, int], product: int, count: float, away: tuple[float, float], confidence: float
    ) -> float:
        """The ± of E[(x - a)(y - b)] - (E x - a)(E y - b), for means that are so far `away` from the centers a and b.

        All of its ratios, three or for one value two, hold together: each has its part of the chance of a miss. The
        product of two means that are off by e and f is off by at most |E x - a| f + |E y - b| e + e f.
        """
        single = 1 - (1 - confidence) / (3 if sums[0] != sums[1] else 2)
        first, second = (self.mean_error(index, count, single) for index in sums)
        factors = self.moment(product).factors
        mixed = self.reach_of_sum(product, single) / count * float(factors[0].step * factors[1].step)
        mixed += float(self.rounding_of_product(*factors))
        return mixed + abs(away[0]) * second + abs(away[1]) * first + first * second

    def rounding_of_product(self, first: Snapped, second: Snapped) -> Fraction:
        """By how much grids move a product: each factor by half a step times the other, and both together."""
        far = [max(abs(end) for end in factor.reach) * factor.step for factor in (first, second)]
        off = [self.recipe.half_step(factor) for factor in (first, second)]
        return off[0] * far[1] + off[1] * far[0] + off[0] * off[1]

    def centered_product(self, sums: tuple[int, int], product: int, group: int, confidence: float) -> Estimate | None:
        """The mean product of both distances from the means, over n, with its ±; None where the count says nothing."""
        count = self.counted(group)
        if count is None:
            return None
        factors = self.moment(product).factors
        means = (self.mean(index, count, group) for index in sums)
        x, y = (mean - factor.center * float(factor.step) for mean, factor in zip(means, factors, strict=True))
        mixed = self.number(product, group) / count * float(factors[0].step * factors[1].step)
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
