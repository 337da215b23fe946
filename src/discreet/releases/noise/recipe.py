"""Which numbers of a plan get noise: each at the least joint sensitivity, and none twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.plans.bounding import Shape
from discreet.plans.refusals import refuse
from discreet.plans.statistics import BinCounts, Moment, RankedCells, RowCount, ValueCount
from discreet.releases.noise.blocks import Choice, Parts, Single, combined, corners, halves, pair, squares
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from discreet.plans import Plan
    from discreet.plans.statistics import Snapped
    from discreet.releases.noise.blocks import Block, Terms

__all__ = ["Recipe"]

_FEW_BINS = 4


@dataclass(frozen=True)
class Recipe:
    """The blocks of numbers that get noise, and how each statistic is made of them.

    Sums, squares and products of the same rows share their count in `Parts`, which move no farther than the count
    alone; the rest of them, and everything else, are a `Single` each, and ranks a `Choice`. A sum that follows from
    another one and a count (the same values counted from another center, or on a finer grid) is not released again:
    `slack` says by how much its rows were rounded where that is not half a step of its own. Nor is a count of values
    whose few bins are asked for, and no sums: it is that of the bins.

    >>> from discreet.plans import plan_sql
    >>> from discreet.tables import Column, Policy, Table
    >>> columns = [Column("age", lower=0, upper=120, nullable=False)]
    >>> policy = Policy([Table("people", row_is_unit=True, columns=columns)], epsilon=1)
    >>> recipe = Recipe.of(plan_sql(policy, "SELECT COUNT(*), SUM(age), AVG(age) FROM people"))
    >>> recipe.blocks
    (Parts(places=(0, 2), matrix=((60, 1), (60, -1)), unit=120, summands=2),)
    """

    plan: Plan
    blocks: tuple[Block, ...]
    terms: dict[int, Terms]
    slack: dict[int, Fraction]

    @staticmethod
    def of(plan: Plan) -> Recipe:
        """Arrange the statistics of a plan, or refuse it where public bounds tell a number already."""
        arrangement = _Arrangement(plan)
        arrangement.arrange()
        neighbors = plan.policy.budget.neighbors
        if any(block.sensitivity(plan.aggregate, neighbors).l1 == 0 for block in arrangement.blocks):
            refuse(
                "an aggregate of a constant",
                why="Its bounds leave only one value, so there is nothing to measure.",
                instead="the number itself.",
            )
        return Recipe(plan, tuple(arrangement.blocks), arrangement.terms, arrangement.slack)

    def rounding(self, place: int) -> Fraction:
        """By how much the grid of a sum moves a row's value at most: half a step, but nothing for whole numbers."""
        statistic = self.plan.statistics[place]
        assert isinstance(statistic, Moment)  # noqa: S101 - sums have grids
        return self.slack.get(place, self.half_step(statistic.factors[0]))

    def half_step(self, factor: Snapped) -> Fraction:
        """By how much a factor's grid moves a value at most."""
        whole = factor.value.facts(self.plan.row_schema).kind is Kind.INTEGER and factor.step == 1
        return Fraction(0) if whole else factor.step / 2

    @property
    def combines(self) -> bool:
        """Whether everything asked is a sum of noisy numbers, so that two releases are better than one.

        Bins and chosen points are read from one release.
        """
        return all(place in self.terms for place in range(len(self.plan.statistics)))

    def block_of(self, place: int) -> int:
        """Give the number of the block that holds a statistic of bins or cells, and nothing else."""
        return next(number for number, block in enumerate(self.blocks) if block.places == (place,))


@dataclass
class _Arrangement:
    """The blocks so far, while a recipe is put together."""

    plan: Plan
    blocks: list[Block] = field(default_factory=list)
    terms: dict[int, Terms] = field(default_factory=dict)
    slack: dict[int, Fraction] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    """For each sum, square or product the place of the count of its rows, where the question asks for it."""

    def arrange(self) -> None:
        self._find_counts()
        bases = {place: self._base(place) for place in self.counts if self._is_sum(place)}
        for count in dict.fromkeys(self.counts.values()):
            self._share(count, [place for place in dict.fromkeys(bases.values()) if self.counts[place] == count])
        self._count_bins()
        self._split_rows()
        for place, statistic in enumerate(self.plan.statistics):
            if isinstance(statistic, RankedCells):
                self.blocks.append(Choice(place, self._levels(place)))
            elif place not in self.terms and bases.get(place, place) == place and Single(place) not in self.blocks:
                self.blocks.append(Single(place))
                if statistic.size == 1:
                    self.terms[place] = ((len(self.blocks) - 1, 0, Fraction(1)),)
        for place, base in bases.items():
            if place != base:
                self._derive(place, base)

    def _find_counts(self) -> None:
        """A ratio has its count before its sums; a sum by itself takes the count that another column asks for."""
        statistics = self.plan.statistics
        for name, _ in self.plan.request.measures:
            first, *others = self.plan.statistics_of(name)
            self.counts |= dict.fromkeys(others, first)
            if self._is_sum(first):
                (value,) = statistics[first].operands
                asked = [count for count in (ValueCount((value,)), RowCount()) if count in statistics]
                if asked:
                    self.counts.setdefault(first, statistics.index(asked[0]))

    def _factors(self, place: int) -> tuple[Snapped, ...]:
        statistic = self.plan.statistics[place]
        return statistic.factors if isinstance(statistic, Moment) else ()

    def _is_sum(self, place: int) -> bool:
        return len(self._factors(place)) == 1

    def _base(self, place: int) -> int:
        """The sum that a sum follows from: of the same values and rows, with squares of its own, or centered."""
        (factor,) = self._factors(place)
        same = [
            other
            for other in self.counts
            if self._is_sum(other)
            and self.counts[other] == self.counts[place]
            and self._factors(other)[0].value == factor.value
        ]
        multiplied = {factor for other in self.counts for factor in self._factors(other) if not self._is_sum(other)}

        def better(other: int) -> tuple[bool, bool, bool]:
            theirs = self._factors(other)[0]
            return theirs in multiplied, theirs.center != 0, other == place

        return max(same, key=better)

    def _share(self, count: int, sums: list[int]) -> None:
        """Put a count into one block with the sums of its rows that it shares the price with."""
        parts = self._parts(count, [place for place in sums if self._width(place)])
        if parts is None:
            return
        statistics = self.plan.statistics
        if isinstance(statistics[count], ValueCount) and RowCount() in statistics:
            rows = statistics.index(RowCount())
            if rows not in self.counts.values() and rows not in self.terms:
                parts = parts.with_missing(rows)
        self._add(parts)

    def _parts(self, count: int, sums: list[int]) -> Parts | None:
        if not sums:
            return None
        clamped = self.plan.bounding.shape is Shape.SUMS
        products = {self._factors(place): place for place, own_count in self.counts.items() if own_count == count}
        ends = {place: self._factors(place)[0].reach for place in sums}
        for factors, product in products.items() if not clamped else ():
            both = [place for factor in factors for place in sums if self._factors(place) == (factor,)]
            if len(factors) == 2 and len(set(both)) == 2:
                return corners(count, (both[0], both[1]), product, (ends[both[0]], ends[both[1]]))
        for place in sums if not clamped else ():
            (factor,) = self._factors(place)
            if (factor, factor) in products:
                return squares(count, place, products[factor, factor], factor.reach)
        return pair(count, sums[0], self.plan.statistics[sums[0]].reach(self.plan.row_schema))

    def _width(self, place: int) -> int:
        low, high = self.plan.statistics[place].reach(self.plan.row_schema)
        return high - low

    def _count_bins(self) -> None:
        """A count beside the histogram of the same values is the sum of its bins, so that both agree.

        With a share x of an epsilon for the count, of the variance 1 / x^2, and 1 - x for k bins, the product of both
        is least at x = 1/2, and 16; with all for the bins it is k. With shares of a rho it is 4, and k. So up to four
        bins lose by neither. Each row with a value is in one bin, and sums that are clamped per unit have no bins.
        """
        statistics = self.plan.statistics
        for place, statistic in enumerate(statistics):
            if not isinstance(statistic, BinCounts) or statistic.size > _FEW_BINS:
                continue
            whole = not statistic.value.facts(self.plan.row_schema).nullable
            for count in [ValueCount((statistic.value,)), *([RowCount()] if whole else [])]:
                if count in statistics and statistics.index(count) not in self.terms:
                    if Single(place) not in self.blocks:
                        self.blocks.append(Single(place))
                    block = self.blocks.index(Single(place))
                    bins = ((block, column, Fraction(1)) for column in range(statistic.size))
                    self.terms[statistics.index(count)] = tuple(bins)

    def _split_rows(self) -> None:
        """Rows with and without a value, where both are asked for and neither is paid yet."""
        statistics = self.plan.statistics
        if RowCount() not in statistics or statistics.index(RowCount()) in self.terms:
            return
        rows = statistics.index(RowCount())
        for place, statistic in enumerate(statistics):
            if isinstance(statistic, ValueCount) and place not in self.terms:
                self._add(halves(rows, place))
                return

    def _add(self, parts: Parts) -> None:
        self.blocks.append(parts)
        self.terms |= parts.terms(len(self.blocks) - 1)

    def _derive(self, place: int, base: int) -> None:
        """A sum from another of the same rows: s = ratio * (their s + their center) - center, up to rounding."""
        (here,), (there,) = self._factors(place), self._factors(base)
        ratio = there.step / here.step
        count = self.terms[self.counts[place]]
        self.terms[place] = combined((self.terms[base], ratio), (count, ratio * there.center - here.center))
        if here.step != there.step:
            self.slack[place] = there.step / 2

    def _levels(self, place: int) -> tuple[Fraction, ...]:
        """All levels that measures ask of one statistic, in rising order."""
        asked = [measure for name, measure in self.plan.request.measures if place in self.plan.statistics_of(name)]
        return tuple(sorted({level for measure in asked for level in measure.levels}))
