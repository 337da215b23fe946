"""What a measure's noisy statistics say, and how far that can be off."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans import aggregates as agg
from discreet.plans.statistics import RankedCells, RowCount, ValueCount
from discreet.releases.noise.blocks import combined, rounding_of
from discreet.releases.noise.choices import RankChoice
from discreet.releases.noise.recipe import levels_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.plans.aggregates import Measure
    from discreet.plans.statistics import Snapped, Statistic
    from discreet.releases.noise.blocks import Terms
    from discreet.releases.noise.numbers import NoisyNumbers
    from discreet.releases.noise.recipe import Recipe

__all__ = ["Cell", "decoder", "rounding_of_product", "values_of"]

Value = int | float | tuple[int, ...] | tuple[float | None, ...] | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A released value with its ±, both from noisy numbers alone; `reason` says why where there is no ±.

    Keys are `exact`.

    >>> Cell(12, 3.0).error
    3.0
    """

    value: Value
    error: float | None
    reason: str = ""
    exact: bool = False


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

    def array(self, index: int) -> NDArray[np.float64]:
        """One number of all groups."""
        return self.noisy.array(self.recipe.terms.get(self.places[index], ()))

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

    @cached_property
    def _number_of_values(self) -> tuple[list[float], float] | None:
        """The noisy counts of a value whose points are chosen, and what they must exceed; None if there are none."""
        plan = self.recipe.plan
        (value,) = self.statistics[0].operands
        nullable = value.facts(plan.row_schema).nullable
        counts = [ValueCount((value,))] if nullable else [RowCount()]
        terms = next(
            (self.recipe.terms[plan.statistics.index(each)] for each in counts if each in plan.statistics), None
        )
        if terms is None:
            return None
        return self.noisy.values(terms), max(self.noisy.reach(terms, 0.95), 1.0)

    def too_few(self, group: int) -> bool:
        """Whether the noisy count of a group, where there is one, is no more than noise."""
        found = self._number_of_values
        return found is not None and found[0][group] <= found[1]

    def points(self, level: Fraction) -> NDArray[np.float64]:
        """The chosen points of a level; NaN where the noisy count of a group is no more than noise.

        A step is a power of two: the nearest double of a point times it is the nearest double of the product.
        """
        block, choice = self.recipe.choice(self.places[0])
        statistic = self.statistics[0]
        assert isinstance(statistic, RankedCells)  # noqa: S101 - choices are among these alone
        chosen = np.sort(self.noisy.blocks[block], axis=1)[:, choice.levels.index(level)]
        found: NDArray[np.float64] = chosen.astype(np.float64) * float(statistic.factor.step)
        counts = self._number_of_values
        return found if counts is None else np.where(np.array(counts[0]) <= counts[1], np.nan, found)

    def missed(self, block: int, levels: tuple[Fraction, ...]) -> str:
        """Say by how many rows the worst of some chosen points misses its rank."""
        choice = self.noisy.noises[block]
        assert isinstance(choice, RankChoice)  # noqa: S101 - the block of a choice
        return f"it {choice.missed(levels, self.confidence)}"

    def rounding(self, index: int) -> float:
        """By how much the snapping of rows moves their mean at most."""
        return float(self.recipe.rounding(self.places[index]))

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


def values_of(recipe: Recipe, name: str, noisy: NoisyNumbers) -> NDArray[Any] | None:
    """Read a count, a sum, a mean or one quantile for all groups at once, NaN for NULL; None for other measures.

    The values are those of `decoder`, which computes the same one by one.
    """
    measure = dict(recipe.plan.request.measures)[name]
    numbers = _Numbers(recipe, recipe.plan.statistics_of(name), noisy, 0.95)
    if isinstance(measure, agg.Count | agg.CountDistinct):
        return np.rint(numbers.array(0)).astype(np.int64)
    if isinstance(measure, agg.Sum):
        return numbers.array(0) * float(numbers.factor(0).step)
    if isinstance(measure, agg.Quantiles | agg.Extreme) and measure.size == 1:
        return numbers.points(levels_of(measure)[0])
    if not isinstance(measure, agg.Mean):
        return None
    counts, factor = numbers.array(0), numbers.factor(1)
    known = counts > numbers.enough
    shares = np.clip(numbers.array(1) / np.where(known, counts, 1.0), *factor.reach)
    return np.where(known, (factor.center + shares) * float(factor.step), np.nan)


_UNKNOWN = "the noisy count is too small for a ratio."


def _count(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """A count is a whole number; where it is made of parts of noisy sums it is rounded."""
    del measure
    return Cell(round(numbers.value(0, group)), numbers.reach + rounding_of(numbers.terms(0)))


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
    error = numbers.reach_of_ratio(index, confidence) / count * step + numbers.rounding(index)
    return (factor.center + share) * step, min(error, (high - low) * step)


def _product_of(numbers: _Numbers, index: int, group: int, confidence: float) -> tuple[float, float] | None:
    """The mean product of two centered numbers, and its ±."""
    count = numbers.counted(group)
    if count is None:
        return None
    first, second = numbers.factor(index), numbers.factor(index, 1)
    steps = float(first.step * second.step)
    error = numbers.reach_of_ratio(index, confidence) / count * steps
    return numbers.value(index, group) / count * steps, error + rounding_of_product(numbers.recipe, first, second)


def rounding_of_product(recipe: Recipe, first: Snapped, second: Snapped) -> float:
    """By how much grids move a product: each factor by half a step times the other, and both together.

    >>> from discreet.plans import plan_sql
    >>> from discreet.releases.noise.recipe import Recipe
    >>> from discreet.tables import Column, Policy, Table
    >>> people = Table("people", row_is_unit=True, columns=[Column("age", lower=0, upper=120)])
    >>> recipe = Recipe.of(plan_sql(Policy([people], epsilon=1), "SELECT VARIANCE(age) FROM people"))
    >>> rounding_of_product(recipe, *recipe.plan.statistics[2].factors)  # whole numbers are not rounded
    0.0
    """
    far = [max(abs(end) for end in factor.reach) * factor.step for factor in (first, second)]
    off = [recipe.half_step(factor) for factor in (first, second)]
    return float(off[0] * far[1] + off[1] * far[0] + off[0] * off[1])


def _centered_product(
    numbers: _Numbers, sums: tuple[int, int], product: int, group: int, confidence: float | None = None
) -> tuple[float, float] | None:
    """E[(x - a)(y - b)] - (E x - a)(E y - b), and its ±: all three ratios within theirs, together."""
    parts = 3 if sums[0] != sums[1] else 2
    each = 1 - (1 - (numbers.confidence if confidence is None else confidence)) / parts
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
    """The covariance over both deviations; NULL where a variance does not exceed its ± of 95 percent.

    Covariance and variances lie within their ±, all three with the confidence; so the correlation lies between the
    least and the largest of their ratios.
    """
    del measure
    usual, each = 0.95, 1 - (1 - numbers.confidence) / 3
    clear = [_centered_product(numbers, (one, one), two, group, usual) for one, two in ((1, 3), (2, 4))]
    cross = _centered_product(numbers, (1, 2), 5, group, each)
    spreads = [_centered_product(numbers, (one, one), two, group, each) for one, two in ((1, 3), (2, 4))]
    if cross is None or None in clear or spreads[0] is None or spreads[1] is None:
        return Cell(None, None, _UNKNOWN)
    if any(found is not None and found[0] <= found[1] for found in clear):
        return Cell(None, None, "a noisy variance is too small for a ratio.")
    (x, off_x), (y, off_y) = spreads[0], spreads[1]
    # Roots first: the product of two variances may be too large or too small for a double.
    value = min(max(cross[0] / (math.sqrt(x) * math.sqrt(y)), -1.0), 1.0)
    least = math.sqrt(max(x - off_x, 0.0)) * math.sqrt(max(y - off_y, 0.0))
    roots = [least, math.sqrt(x + off_x) * math.sqrt(y + off_y)]
    if not roots[0]:
        return Cell(value, max(1 - value, 1 + value))
    ends = [(cross[0] + sign * cross[1]) / root for sign in (-1, 1) for root in roots]
    low, high = max(min(ends), -1.0), min(max(ends), 1.0)
    return Cell(value, max(high - value, value - low))


def _histogram(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """The noisy counts of all bins; the ± holds for each of them."""
    del measure
    block = numbers.recipe.bins(numbers.places[0])
    counts = tuple(int(each) for each in numbers.noisy.blocks[block][group])
    return Cell(counts, numbers.noisy.reach(((block, 0, Fraction(1)),), numbers.confidence))


def _quantiles(measure: Measure, numbers: _Numbers, group: int) -> Cell:
    """The chosen points, in the order of their levels; NULL where a noisy count says that hardly a row is there.

    Without a count in the question a group without rows cannot be told from others, and its points are random ones.
    """
    place = numbers.places[0]
    block, choice = numbers.recipe.choice(place)
    levels = levels_of(measure)
    if numbers.too_few(group):
        return Cell(None if measure.size == 1 else (None,) * measure.size, None, _UNKNOWN)
    statistic = numbers.statistics[0]
    assert isinstance(statistic, RankedCells)  # noqa: S101 - the table of readers says so
    chosen = sorted(int(each) for each in numbers.noisy.blocks[block][group])
    found = {level: float(point * statistic.factor.step) for level, point in zip(choice.levels, chosen, strict=True)}
    values = tuple(found[level] for level in levels)
    return Cell(values if measure.size > 1 else values[0], None, numbers.missed(block, levels))


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
    (agg.Extreme, _quantiles),
)
