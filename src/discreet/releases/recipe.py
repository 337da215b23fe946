"""Which numbers of a plan get noise: each at the least joint sensitivity, and none twice."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.plans.aggregates import Sum
from discreet.plans.statistics import Moment, RowCount, ValueCount

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.engines import Aggregates
    from discreet.plans import Plan
    from discreet.plans.nodes import Aggregate
    from discreet.plans.nodes.aggregate import Sensitivity
    from discreet.plans.statistics import Statistic
    from discreet.privacy.relations import Relation

__all__ = ["Block", "Pair", "Recipe", "Single", "Terms", "combined"]

Terms = tuple[tuple[int, int, Fraction], ...]
"""A linear combination of noisy numbers: (block, column, coefficient)."""

_FITS = 2**62


@dataclass(frozen=True, slots=True)
class Single:
    """One statistic as the engine counts it.

    >>> from discreet.plans import plan_sql
    >>> from discreet.privacy import NeighborRelation
    >>> from discreet.tables import Policy, Table
    >>> plan = plan_sql(Policy([Table("people", row_is_unit=True)], epsilon=1), "SELECT COUNT(*) FROM people")
    >>> Single(0).sensitivity(plan.aggregate, NeighborRelation.ADD_REMOVE).l1
    1
    """

    place: int

    def sensitivity(self, aggregate: Aggregate, neighbors: Relation) -> Sensitivity:
        """That of the plan."""
        return aggregate.sensitivity(aggregate.statistics[self.place], neighbors)

    def exact(self, aggregates: Aggregates) -> NDArray[np.int64] | NDArray[np.object_]:
        """The engine's integers: one row per group, one column per number."""
        return aggregates.unprotected(self.place)


@dataclass(frozen=True, slots=True)
class Pair:
    r"""A count n and a sum S of the same rows, as distances to both ends: $A = S - low\,n$ and $B = high\,n - S$.

    Each row adds 1 to n and s to S, low <= s <= high with low <= 0 <= high and W = high - low: it adds a = s - low >= 0
    to A and b = high - s >= 0 to B, and a + b = W. A unit with m rows in a group moves A + B there by W m, and as both
    are sums of numbers that are not negative, |A| + |B| by at most W m and A^2 + B^2 by at most (W m)^2. So the pair
    moves as far as W times the count does, in L1 and in L2, under either relation (change-one: contributions of one
    sign, as for a count). Two separate releases would cost the sum of both sensitivities.

    A row that is counted but has no value would add s = 0, which lies between low and high: the claim does not rest
    on what is known about NULLs. With sums clamped per unit, n is min(n, k) and S is clamped to [k low, k high]: as n
    low <= S <= n high before, min(n, k) low <= S <= min(n, k) high after, and the same follows.

    Kulesza, Suresh & Wang 2024, "Mean estimation in the add-remove model of differential privacy" (arXiv:2312.06658).

    >>> Pair(0, 1, -60, 60).width
    120
    """

    count: int
    total: int
    low: int
    high: int

    @property
    def width(self) -> int:
        """How far the ends are apart."""
        return self.high - self.low

    def sensitivity(self, aggregate: Aggregate, neighbors: Relation) -> Sensitivity:
        """The width times that of the count."""
        return aggregate.sensitivity(aggregate.statistics[self.count], neighbors).times(self.width)

    def exact(self, aggregates: Aggregates) -> NDArray[np.int64] | NDArray[np.object_]:
        """A and B: one row per group, two columns."""
        counts, totals = aggregates.unprotected(self.count), aggregates.unprotected(self.total)
        if self.width * 2**36 > _FITS:
            counts, totals = counts.astype(object), totals.astype(object)
        return np.hstack([totals - self.low * counts, self.high * counts - totals])


Block = Single | Pair


@dataclass(frozen=True)
class Recipe:
    """The blocks of numbers that get noise, and how each statistic is made of them.

    A count and the first sum over the same rows form a `Pair`. A sum that follows from another one and a count (the
    same values counted from another center) is not released again. Everything else is a `Single`.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> columns = [Column("age", lower=0, upper=120, nullable=False)]
    >>> policy = Policy([Table("people", row_is_unit=True, columns=columns)], epsilon=1)
    >>> recipe = Recipe.of(plan_sql(policy, "SELECT COUNT(*), SUM(age), AVG(age) FROM people"))
    >>> recipe.blocks
    (Pair(count=0, total=2, low=-60, high=60),)
    """

    plan: Plan
    blocks: tuple[Block, ...]
    terms: dict[int, Terms]

    @staticmethod
    def of(plan: Plan) -> Recipe:
        """Arrange the statistics of a plan."""
        counts = _counts(plan)
        blocks: list[Block] = []
        terms: dict[int, Terms] = {}
        _pair(plan, counts, blocks, terms)
        for place, statistic in enumerate(plan.statistics):
            if place not in terms and _twin(plan, counts, place) is None:
                blocks.append(Single(place))
                if statistic.size == 1:
                    terms[place] = ((len(blocks) - 1, 0, Fraction(1)),)
        for place in range(len(plan.statistics)):
            twin = _twin(plan, counts, place)
            if place not in terms and twin is not None:
                terms[place] = combined((terms[twin], 1), (terms[counts[place]], _shift(plan, twin, place)))
        return Recipe(plan, tuple(blocks), terms)

    def bins(self, place: int) -> int:
        """Give the block of a statistic of several numbers."""
        return self.blocks.index(Single(place))


def combined(*parts: tuple[Terms, int | Fraction]) -> Terms:
    """Add up linear combinations, each times a number.

    >>> one = ((0, 0, Fraction(1)),)
    >>> combined((one, 2), (one, 3))
    ((0, 0, Fraction(5, 1)),)
    """
    found: dict[tuple[int, int], Fraction] = {}
    for terms, factor in parts:
        for block, column, coefficient in terms:
            found[block, column] = found.get((block, column), Fraction(0)) + coefficient * factor
    return tuple((block, column, each) for (block, column), each in found.items() if each)


def _counts(plan: Plan) -> dict[int, int]:
    """Find, for each sum, the count of the same rows, where the question asks for it."""
    statistics = plan.statistics
    found: dict[int, int] = {}
    for name, measure in plan.request.measures:
        places = plan.statistics_of(name)
        sums = [place for place in places if _is_sum(statistics[place])]
        if isinstance(measure, Sum):
            value = statistics[places[0]].operands[0]
            count: Statistic = ValueCount((value,)) if value.facts(plan.row_schema).nullable else RowCount()
            if count in statistics:
                found[places[0]] = statistics.index(count)
        elif sums:
            found |= dict.fromkeys(sums, places[0])
    return found


def _is_sum(statistic: Statistic) -> bool:
    return isinstance(statistic, Moment) and len(statistic.factors) == 1


def _same_values(plan: Plan, first: int, second: int) -> bool:
    """Tell whether two sums run over the same values on the same grid, perhaps from different centers."""
    x, y = (plan.statistics[place].factors[0] for place in (first, second))  # type: ignore[attr-defined]
    return (x.value, x.lower, x.upper, x.step) == (y.value, y.lower, y.upper, y.step)


def _shift(plan: Plan, twin: int, place: int) -> int:
    """How much larger each value is in one sum than in its twin."""
    there, here = (plan.statistics[each].factors[0].center for each in (twin, place))  # type: ignore[attr-defined]
    return int(there - here)


def _twin(plan: Plan, counts: dict[int, int], place: int) -> int | None:
    """Find the centered sum that another sum of the same values and rows follows from."""
    if place not in counts or plan.statistics[place].factors[0].center:  # type: ignore[attr-defined]
        return None
    for other, count in counts.items():
        same_rows = other != place and count == counts[place]
        centered = plan.statistics[other].factors[0].center != 0  # type: ignore[attr-defined]
        if same_rows and centered and _same_values(plan, other, place):
            return other
    return None


def _pair(plan: Plan, counts: dict[int, int], blocks: list[Block], terms: dict[int, Terms]) -> None:
    """Pair each count with the first sum of its rows that is released."""
    used: set[int] = set()
    for place, count in counts.items():
        statistic = plan.statistics[place]
        low, high = statistic.reach(plan.row_schema)
        if count in used or high == low or _twin(plan, counts, place) is not None:
            continue
        used.add(count)
        block = len(blocks)
        blocks.append(Pair(count, place, low, high))
        width = high - low
        terms[count] = ((block, 0, Fraction(1, width)), (block, 1, Fraction(1, width)))
        # S = A + low n = A + low (A + B) / W = (high A + low B) / W
        ends = ((block, 0, Fraction(high, width)), (block, 1, Fraction(low, width)))
        terms[place] = tuple(each for each in ends if each[2])
