"""Which numbers of a plan get noise: in blocks, each at the least joint sensitivity, and none twice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from discreet.exact import counted, sqrt_lower, sqrt_upper
from discreet.mechanisms.adding.combinations import combined
from discreet.mechanisms.adding.sums import Partition, corners, halves, noisy_sums, pair, squares, variance_of
from discreet.mechanisms.choosing.rank_choice import POOLED_SHARE, RankChoice, choose, learns
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.noise.bits import SMALLEST_SCALE
from discreet.plans.explain import named
from discreet.plans.normal import Shape
from discreet.plans.refusals import refuse
from discreet.plans.statistics import BinCounts, Moment, RankedCells, RowCount, ValueCount, Window
from discreet.tables.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from discreet.engines import Aggregates
    from discreet.mechanisms.adding.sums import Integers, Noise
    from discreet.noise import BitSource
    from discreet.plans import Plan
    from discreet.plans.nodes import Aggregate
    from discreet.plans.nodes.aggregate import Sensitivity
    from discreet.plans.statistics import Statistic
    from discreet.privacy.relations import Relation

    Kept: TypeAlias = NDArray[np.int64] | None
    from discreet.mechanisms.adding.sums import Terms
    from discreet.plans.statistics import Snapped

__all__ = ["Block", "Choice", "Parts", "Recipe", "Single", "Sums", "windows_of"]

_SIGMAS = (Fraction(1, 2**10), Fraction(2**40))  # what the sampler of Gaussian noise holds


class Block(Protocol):
    """Numbers that are protected together, with a part of the price of their own.

    `noise` is what `laplace`, or `gaussian` where noise is added, made for this block.

    >>> blocks: list[Block] = [Single(0), Choice(0, (Fraction(1, 2),))]
    >>> [block.added for block in blocks]
    [True, False]
    """

    added: ClassVar[bool]
    """Whether noise is added to its numbers, of one family or the other; else points are chosen."""

    @property
    def places(self) -> tuple[int, ...]:
        """The places of the statistics that it is made of, in the plan."""

    def sensitivity(self, aggregate: Aggregate, neighbors: Relation) -> Sensitivity:
        """How far one unit moves its numbers."""

    def explained(self, plan: Plan, moved: Sensitivity) -> Iterator[str]:
        """Say which numbers it holds and how far one unit moves them."""

    def laplace(
        self, plan: Plan, moved: Sensitivity, *, epsilon: Fraction | None, rho: Fraction | None
    ) -> Noise | RankChoice:
        """Laplace noise, or a choice, for its part of a price."""

    def gaussian(self, plan: Plan, moved: Sensitivity, sigma: Fraction) -> Noise | None:
        """Gaussian noise of a sigma for each length 1 that a unit moves it; None where no sampler holds it."""

    def statistics(self, plan: Plan, noise: Any) -> dict[int, Statistic]:  # noqa: ANN401 - see the class
        """What the engine is asked in place of the plan's statistics, by their places: only what the noise needs."""

    def protected(self, plan: Plan, noise: Any, aggregates: Aggregates, kept: Kept, bits: BitSource) -> Integers:  # noqa: ANN401
        """The engine's integers made private: one row per group, or per group that is kept, one column per number."""

    def variance(self, plan: Plan, noise: Any) -> Fraction | None:  # noqa: ANN401
        """The variance by which two releases are weighed; None where one of them is shown, the one of less `spread`."""

    def spread(self, noise: Any) -> Fraction:  # noqa: ANN401
        """How noisy it is."""


class Sums(ABC):
    """What blocks share to whose numbers noise is added.

    >>> issubclass(Single, Sums), issubclass(Choice, Sums)
    (True, False)
    """

    __slots__ = ()

    added: ClassVar[bool] = True

    @abstractmethod
    def exact(self, aggregates: Aggregates, kept: Kept = None) -> Integers:
        """What noise is added to."""

    def protected(self, plan: Plan, noise: Noise, aggregates: Aggregates, kept: Kept, bits: BitSource) -> Integers:
        """Add noise, in one call for all groups."""
        del plan
        return noisy_sums(self.exact(aggregates, kept), noise, bits)

    def laplace(
        self, plan: Plan, moved: Sensitivity, *, epsilon: Fraction | None, rho: Fraction | None
    ) -> DiscreteLaplace:
        """Laplace noise of the scale l1 / epsilon.

        zCDP of epsilon is at most epsilon^2 / 2: with rho = epsilon^2 / 2 it keeps its part of a price in rho.
        """
        paid = epsilon if epsilon is not None else sqrt_lower(2 * (rho or 0))
        scale = max(moved.l1 / paid, SMALLEST_SCALE)  # what samplers hold: more noise than was paid for
        return DiscreteLaplace(moved.l1, scale=scale, neighbors=plan.policy.budget.neighbors)

    def gaussian(self, plan: Plan, moved: Sensitivity, sigma: Fraction) -> Gaussian | None:
        """Gaussian noise of a sigma for each length 1 that a unit moves it; None where no sampler holds it."""
        length = sqrt_upper(Fraction(moved.l2_squared))
        if not _SIGMAS[0] <= length * sigma <= _SIGMAS[1]:
            return None
        neighbors = plan.policy.budget.neighbors
        return Gaussian(length, sigma=length * sigma, grid=1, inputs="snapped", neighbors=neighbors)

    def statistics(self, plan: Plan, noise: Noise) -> dict[int, Statistic]:  # noqa: ARG002 - sums are whole
        """Nothing."""
        return {}

    def variance(self, plan: Plan, noise: Noise) -> Fraction | None:  # noqa: ARG002 - of any sum
        """That of its noise."""
        return variance_of(noise)

    def spread(self, noise: Noise) -> Fraction:
        """The variance of its noise."""
        return variance_of(noise)


@dataclass(frozen=True, slots=True)
class Single(Sums):
    """One statistic as the engine counts it.

    >>> from discreet.plans import plan_sql
    >>> from discreet.privacy import NeighborRelation
    >>> from discreet.tables import Policy, Table
    >>> plan = plan_sql(Policy([Table("people", row_is_unit=True)], epsilon=1), "SELECT COUNT(*) FROM people")
    >>> Single(0).sensitivity(plan.aggregate, NeighborRelation.ADD_REMOVE).l1
    1
    """

    place: int

    @property
    def places(self) -> tuple[int, ...]:
        """One."""
        return (self.place,)

    def sensitivity(self, aggregate: Aggregate, neighbors: Relation) -> Sensitivity:
        """That of the plan."""
        return aggregate.sensitivity(aggregate.statistics[self.place], neighbors)

    def exact(self, aggregates: Aggregates, kept: Kept = None) -> Integers:
        """The engine's integers."""
        return aggregates.unprotected(self.place, kept)

    def variance(self, plan: Plan, noise: Noise) -> Fraction | None:
        """Bins are shown as one release counted them, so that a count of values that is their sum agrees with them."""
        return variance_of(noise) if plan.statistics[self.place].size == 1 else None

    def explained(self, plan: Plan, moved: Sensitivity) -> Iterator[str]:
        """Name the statistic."""
        yield f"{named(plan.statistics[self.place])}: one unit moves them by at most {moved.l1} together"


@dataclass(frozen=True, slots=True)
class Parts(Partition, Sums):
    """Sums of the same rows as parts of one total, which move as far as its unit times their count does.

    A row that is counted but has no value adds s = 0 to all sums, which lies between low and high: the claim does not
    rest on what is known about NULLs. With sums clamped per unit (`Shape.SUMS`), n is min(n, k) and S is clamped to
    [k low, k high]: as n low <= S <= n high before, min(n, k) low <= S <= min(n, k) high after, and the claim follows
    for halves and pairs. It does not for squares and corners, which are not used then.

    >>> from discreet.mechanisms.adding.sums import halves
    >>> Parts.of(halves(0, 1)).unit
    1
    """

    @staticmethod
    def of(split: Partition) -> Parts:
        """Take a partition of the plan's statistics."""
        return Parts(split.places, split.matrix, split.unit, split.summands)

    def sensitivity(self, aggregate: Aggregate, neighbors: Relation) -> Sensitivity:
        """The unit times that of the count."""
        return aggregate.sensitivity(aggregate.statistics[self.places[0]], neighbors).times(self.unit)

    def exact(self, aggregates: Aggregates, kept: Kept = None) -> Integers:
        """The parts: one column each."""
        return self.parts([aggregates.unprotected(place, kept) for place in self.places])

    def explained(self, plan: Plan, moved: Sensitivity) -> Iterator[str]:
        """Name the statistics that follow from the parts."""
        symbols = ", ".join(dict.fromkeys(named(plan.statistics[place]) for place in self.places))
        parts = f"{symbols} as {counted(len(self.matrix), 'part')} of one"
        yield f"{parts}: one unit moves them by at most {moved.l1} together"


@dataclass(frozen=True, slots=True)
class Choice:
    """Points of a grid near ranks, chosen and not counted: all quantiles and extremes of one value.

    The level 0 stands for the smallest value and 1 for the largest.

    >>> Choice(0, (Fraction(1, 2),)).levels
    (Fraction(1, 2),)
    """

    added: ClassVar[bool] = False

    place: int
    levels: tuple[Fraction, ...]

    @property
    def places(self) -> tuple[int, ...]:
        """One."""
        return (self.place,)

    def sensitivity(self, aggregate: Aggregate, neighbors: Relation) -> Sensitivity:
        """That of a count of rows: see `RankChoice` for what follows from it."""
        return aggregate.sensitivity(aggregate.statistics[self.place], neighbors)

    def _cells(self, plan: Plan) -> RankedCells:
        statistic = plan.statistics[self.place]
        assert isinstance(statistic, RankedCells)  # noqa: S101 - points are chosen among these alone
        return statistic

    def laplace(self, plan: Plan, moved: Sensitivity, *, epsilon: Fraction | None, rho: Fraction | None) -> RankChoice:
        """A choice; the histogram that may come before it has Laplace noise."""
        return RankChoice.of(
            self.levels,
            self._cells(plan).width,
            moved,
            plan.policy.budget.neighbors,
            epsilon=epsilon,
            rho=rho,
            several=plan.aggregate.several,
        )

    def gaussian(self, plan: Plan, moved: Sensitivity, sigma: Fraction) -> None:
        """Points have no noise of either family."""

    def statistics(self, plan: Plan, noise: RankChoice) -> dict[int, Statistic]:
        """The cells that a choice may fall on, and bins if they are paid for; how far around follows from the price."""
        return {self.place: replace(self._cells(plan), windows=windows_of(noise), bins=noise.pooled is not None)}

    def protected(
        self, plan: Plan, noise: RankChoice, aggregates: Aggregates, kept: Kept, bits: BitSource
    ) -> NDArray[np.int64]:
        """Choose a point for each group and level."""
        cells = aggregates.unprotected_cells(self.place, kept)
        pooled = None if noise.pooled is None else aggregates.unprotected_pooled(self.place)
        return choose(noise, self._cells(plan), cells, bits, pooled)

    def variance(self, plan: Plan, noise: RankChoice) -> None:
        """Points are no sums."""

    def spread(self, noise: RankChoice) -> Fraction:
        """The sum of all scales."""
        return sum(noise.scales, Fraction(0))

    def explained(self, plan: Plan, moved: Sensitivity) -> Iterator[str]:
        """Name the levels, and the histogram where it is bought."""
        levels = ", ".join(str(level) for level in self.levels)
        points = f"{named(plan.statistics[self.place])}, a point for each of the levels {levels}"
        yield f"{points}: one unit moves their ranks by at most {counted(moved.l1, 'row')}"
        if plan.aggregate.several and learns(self.levels):
            yield (
                f"  of their share, {POOLED_SHARE} buys noisy counts over all groups, which say where rows "
                f"are likely: one unit moves them by at most {moved.l1} together"
            )


_FEW_BINS = 4


def windows_of(choice: RankChoice) -> tuple[Window, ...]:
    """Name the cells that a choice may fall on, as engines are asked for them.

    >>> from discreet.plans.nodes.aggregate import Sensitivity
    >>> from discreet.privacy import NeighborRelation
    >>> moved, median = Sensitivity(1, 1, 1), (Fraction(1, 2),)
    >>> windows_of(RankChoice.of(median, 120, moved, NeighborRelation.ADD_REMOVE, epsilon=Fraction(1)))
    (Window(a=1, b=1, c=0, reach=73),)
    """
    return tuple(Window(near.a, near.b, near.c, near.reach) for near in choice.windows)


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
        if plan.request.measures:  # keys alone are known, or selected: no number is released
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

    def _parts(self, count: int, sums: list[int]) -> Partition | None:
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

    def _add(self, parts: Partition) -> None:
        self.blocks.append(Parts.of(parts))
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
