"""What a measure's noisy statistics say, and how far that can be off."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.plans import aggregates as agg
from discreet.releases.recipe import combined
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.plans.aggregates import Measure
    from discreet.plans.statistics import Snapped, Statistic
    from discreet.releases.numbers import NoisyNumbers
    from discreet.releases.recipe import Recipe, Terms

__all__ = ["Cell", "decoder"]

Value = int | float | tuple[int, ...] | tuple[float | None, ...] | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A released value with its ±, both from noisy numbers alone; `reason` says why where there is no ±.

    >>> Cell(12, 3.0).error
    3.0
    """

    value: Value
    error: float | None
    reason: str = ""


@dataclass(frozen=True)
class _Numbers:
    """The noisy numbers of one measure, by their place in the measure; what groups share is worked out once."""

    recipe: Recipe
    places: tuple[int, ...]
    noisy: NoisyNumbers
    confidence: float
    _ratios: dict[tuple[int, float], float] = field(default_factory=dict)

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        found = self.recipe.plan.statistics
        return tuple(found[place] for place in self.places)

    @cached_property
    def _values(self) -> tuple[list[float], ...]:
        return tuple(self.noisy.values(self.recipe.terms.get(place, ())) for place in self.places)

    @cached_property
    def reach(self) -> float:
        """How far the first number's noise reaches."""
        return self.noisy.reach(self.terms(0), self.confidence)

    @cached_property
    def enough(self) -> float:
        """What a noisy count must exceed to say something: 1, and what noise alone reaches."""
        return max(self.noisy.reach(self.terms(0), 0.95), 1.0)

    def factor(self, index: int, which: int = 0) -> Snapped:
        found: Snapped = self.statistics[index].factors[which]  # type: ignore[attr-defined]
        return found

    def terms(self, index: int) -> Terms:
        return self.recipe.terms[self.places[index]]

    def value(self, index: int, group: int) -> float:
        return self._values[index][group]

    def reach_of_ratio(self, index: int, confidence: float) -> float:
        """Bound |z - r z'| for the noise z of a sum and z' of its count, for every r that a mean can be.

        With S + z and n + z' released and r = S / n, (S + z)/(n + z') - r = (z - r z')/(n + z'), exactly. It is linear
        in r, so it is largest at an end of the values: there it is the noise of S - low n or of S - high n.
        """
        if (index, confidence) not in self._ratios:
            low, high = self.statistics[index].reach(self.recipe.plan.row_schema)
            ends = (combined((self.terms(index), 1), (self.terms(0), -end)) for end in (low, high))
            self._ratios[index, confidence] = max(self.noisy.reach(end, (1 + confidence) / 2) for end in ends)
        return self._ratios[index, confidence]

    def counted(self, group: int) -> float | None:
        """The noisy count, or None where it says nothing."""
        count = self.value(0, group)
        return count if count > self.enough else None


def decoder(recipe: Recipe, name: str, noisy: NoisyNumbers, confidence: float) -> Callable[[int], Cell]:
    """Give the function that reads a measure of a group."""
    measure = dict(recipe.plan.request.measures)[name]
    numbers = _Numbers(recipe, recipe.plan.statistics_of(name), noisy, confidence)
    read = next(read for kind, read in _READERS if isinstance(measure, kind))
    return lambda group: read(measure, numbers, group)


_UNKNOWN = "the noisy count is too small for a ratio."


def _count(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """A count is a whole number; where it is made of two noisy sums it is rounded."""
    del measure
    rounding = 0.0 if len(numbers.terms(0)) == 1 else 0.5
    return Cell(round(numbers.value(0, group)), numbers.reach + rounding)


def _sum(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """Steps times the step."""
    del measure
    step = float(numbers.factor(0).step)
    return Cell(numbers.value(0, group) * step, numbers.reach * step)


def _mean(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """The center and the noisy ratio, within the bounds."""
    del measure
    found = _mean_of(numbers, 1, group, numbers.confidence)
    return Cell(None, None, _UNKNOWN) if found is None else Cell(*found)


def _mean_of(numbers: _Numbers, index: int, group: int, confidence: float) -> tuple[float, float] | None:
    """The mean of a sum's values and its ±: the ratio's, and half a step for snapping; never more than the range."""
    count, factor = numbers.counted(group), numbers.factor(index)
    if count is None:
        return None
    low, high = factor.reach
    share = min(max(numbers.value(index, group) / count, low), high)
    step = float(factor.step)
    error = numbers.reach_of_ratio(index, confidence) / count * step + (step / 2 if step != 1 else 0)
    return (factor.center + share) * step, min(error, (high - low) * step)


def _product_of(numbers: _Numbers, index: int, group: int, confidence: float) -> tuple[float, float] | None:
    """The mean product of two centered numbers, and its ±; snapping moves a factor by half a step at most."""
    count = numbers.counted(group)
    if count is None:
        return None
    first, second = numbers.factor(index), numbers.factor(index, 1)
    steps = float(first.step * second.step)
    error = numbers.reach_of_ratio(index, confidence) / count * steps
    most = [max(abs(end) for end in factor.reach) for factor in (first, second)]
    if steps != 1:
        error += steps * (most[0] + most[1] + 1) / 2
    return numbers.value(index, group) / count * steps, error


def _centered_product(numbers: _Numbers, sums: tuple[int, int], product: int, group: int) -> tuple[float, float] | None:
    """E[(x - a)(y - b)] - (E x - a)(E y - b), and its ±: all three ratios within theirs, together."""
    parts = 3 if sums[0] != sums[1] else 2
    each = 1 - (1 - numbers.confidence) / parts
    found = [_mean_of(numbers, index, group, each) for index in sums]
    mixed = _product_of(numbers, product, group, each)
    if found[0] is None or found[1] is None or mixed is None:
        return None
    away = [
        mean - factor.center * float(factor.step)
        for (mean, _), factor in zip(
            [found[0], found[1]], [numbers.factor(product), numbers.factor(product, 1)], strict=True
        )
    ]
    (_, first), (_, second) = found[0], found[1]
    error = mixed[1] + abs(away[0]) * second + abs(away[1]) * first + first * second
    return mixed[0] - away[0] * away[1], error


def _with_divisor(measure: Measure, numbers: _Numbers, group: int, found: tuple[float, float]) -> tuple[float, float]:
    """From the mean over n to the mean over n - 1, where the measure asks for it."""
    count = numbers.value(0, group)
    if getattr(measure, "divisor", None) is not agg.Divisor.SAMPLE:
        return found
    factor = count / (count - 1) if count > 1 else 1.0
    return found[0] * factor, found[1] * factor


def _variance(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """Never below 0, nor above what the range allows."""
    found = _centered_product(numbers, (1, 1), 2, group)
    if found is None:
        return Cell(None, None, _UNKNOWN)
    value, error = _with_divisor(measure, numbers, group, found)
    value = max(value, 0.0)
    if not isinstance(measure, agg.StdDev):
        return Cell(value, error)
    root = math.sqrt(value)
    below = root - math.sqrt(max(value - error, 0.0))
    return Cell(root, max(math.sqrt(value + error) - root, below))


def _covariance(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """The mean product less the product of means."""
    found = _centered_product(numbers, (1, 2), 3, group)
    return Cell(None, None, _UNKNOWN) if found is None else Cell(*_with_divisor(measure, numbers, group, found))


def _correlation(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """The covariance over both deviations; NULL where a variance does not exceed its own ±."""
    del measure
    cross = _centered_product(numbers, (1, 2), 5, group)
    spreads = [_centered_product(numbers, (1, 1), 3, group), _centered_product(numbers, (2, 2), 4, group)]
    if cross is None or spreads[0] is None or spreads[1] is None:
        return Cell(None, None, _UNKNOWN)
    if any(value <= error for value, error in (spreads[0], spreads[1])):
        return Cell(None, None, "a noisy variance is too small for a ratio.")
    root = math.sqrt(spreads[0][0] * spreads[1][0])
    return Cell(min(max(cross[0] / root, -1.0), 1.0), None, "the error of a correlation depends on the data.")


def _histogram(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """The noisy counts of all bins; the ± holds for each of them."""
    del measure
    block = numbers.recipe.bins(numbers.places[0])
    counts = tuple(int(each) for each in numbers.noisy.blocks[block][group])
    return Cell(counts, numbers.noisy.noises[block].error(numbers.confidence))


@dataclass(frozen=True, slots=True)
class _Bins:
    """The noisy counts of the bins of one group, from each edge to the next."""

    block: int
    counts: list[int]
    edges: tuple[float, ...]
    whole: bool

    @staticmethod
    def of(numbers: _Numbers, group: int) -> _Bins:
        """Leave the bin below the first edge out: values are clamped to the bounds, so it holds noise alone."""
        block = numbers.recipe.bins(numbers.places[0])
        statistic = numbers.statistics[0]
        facts = statistic.operands[0].facts(numbers.recipe.plan.row_schema)
        lower: tuple[float, ...] = statistic.edges  # type: ignore[attr-defined]
        whole = facts.kind is Kind.INTEGER and all(b - a <= 1 for a, b in itertools.pairwise(lower))
        counts = [int(each) for each in numbers.noisy.blocks[block][group, 1:]]
        return _Bins(block, counts, (*lower, float(facts.bounds.upper or 0)), whole)

    def terms(self, places: range) -> Terms:
        """The sum of the counts at these places."""
        return tuple((self.block, place + 1, Fraction(1)) for place in places)


_NO_ROWS = "the noisy counts are too small to find it."
_IN_DATA = "how far it is off depends on the data."


def _quantiles(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """Read quantiles off the running sum of the noisy bins; NULL where their total is no more than noise."""
    assert isinstance(measure, agg.Quantiles)  # noqa: S101 - the table of readers says so
    bins = _Bins.of(numbers, group)
    if sum(bins.counts) <= numbers.noisy.reach(bins.terms(range(len(bins.counts))), 0.95):
        return Cell(None if measure.size == 1 else (None,) * measure.size, None, _NO_ROWS)
    levels = sorted(set(measure.levels))
    found = dict(zip(levels, _crossings(bins, levels), strict=True))
    values = tuple(found[level] for level in measure.levels)
    return Cell(values if measure.size > 1 else values[0], None, _IN_DATA)


def _extreme(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """Give the edge farthest out that some row certainly lies beyond: more are counted there than noise reaches.

    With m bins each of the m sums from the end exceeds its noise's bound with probability at most 0.05/m, so with
    probability 0.95 the true extreme lies at the edge or beyond; rows that are fewer than noise are passed over.
    """
    assert isinstance(measure, agg.Extreme)  # noqa: S101 - the table of readers says so
    bins = _Bins.of(numbers, group)
    size = len(bins.counts)
    ends = [range(place, size) if measure.largest else range(place + 1) for place in range(size)]
    for end in reversed(ends) if measure.largest else ends:
        total = sum(bins.counts[place] for place in end)
        if total > numbers.noisy.reach(bins.terms(end), 1 - 0.05 / size):
            edge = end.start if measure.largest else end.stop - (1 if bins.whole else 0)
            return Cell(bins.edges[edge], None, _IN_DATA)
    return Cell(None, None, _NO_ROWS)


def _crossings(bins: _Bins, levels: list[Fraction]) -> list[float]:
    """Find the bins in which the running sum of noisy counts passes each level, and the place inside them.

    Noise makes the running sum go up and down, so several bins may qualify; the middle one is taken. Whole numbers
    are their bin's lower edge where each has a bin of its own; others are placed as if spread evenly over the bin.
    """
    counts, edges = bins.counts, bins.edges
    below = [0, *itertools.accumulate(counts)]
    found = []
    for level in levels:
        wanted = level * below[-1]
        gaps = [max(min(a, b) - wanted, wanted - max(a, b), Fraction(0)) for a, b in itertools.pairwise(below)]
        best = [place for place, gap in enumerate(gaps) if gap == min(gaps)]
        place = best[len(best) // 2]
        share = float((wanted - below[place]) / counts[place]) if counts[place] > 0 and not bins.whole else 0.0
        found.append(edges[place] + min(max(share, 0.0), 1.0) * (edges[place + 1] - edges[place]))
    return sorted(found)


_READERS: tuple[tuple[type[Measure], Callable[[Measure, _Numbers, int], Cell]], ...] = (
    (agg.Count, _count),
    (agg.CountDistinct, _count),
    (agg.Sum, _sum),
    (agg.Mean, _mean),
    (agg.Variance, _variance),
    (agg.Covariance, _covariance),
    (agg.Correlation, _correlation),
    (agg.Histogram, _histogram),
    (agg.Quantiles, _quantiles),
    (agg.Extreme, _extreme),
)
