"""Blocks: numbers that get noise together, at their joint sensitivity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.exact import counted, sqrt_lower, sqrt_upper
from discreet.mechanisms.numbers.discrete_laplace import DiscreteLaplace
from discreet.mechanisms.numbers.gaussian import Gaussian
from discreet.mechanisms.sums import noisy, noisy_counts
from discreet.plans.explain import named
from discreet.plans.statistics import RankedCells
from discreet.releases.noise.choices import POOLED_SHARE, RankChoice, choose, learns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from numpy.typing import NDArray

    from discreet.engines import Aggregates
    from discreet.mechanisms.sums import Noise
    from discreet.noise import BitSource
    from discreet.plans import Plan
    from discreet.plans.nodes import Aggregate
    from discreet.plans.nodes.aggregate import Sensitivity
    from discreet.plans.statistics import Statistic
    from discreet.privacy.relations import Relation
    from discreet.releases.noise.price import Price

    Integers: TypeAlias = NDArray[np.int64] | NDArray[np.object_]
    Kept: TypeAlias = NDArray[np.int64] | None

__all__ = ["Block", "Choice", "Parts", "Single", "combined", "corners", "halves", "pair", "rounding_of", "squares"]

Terms = tuple[tuple[int, int, Fraction], ...]
"""A linear combination of noisy numbers: (block, column, coefficient)."""

_FITS = 2**62
_LEAST_SCALE = Fraction(1, 1024)
_SIGMAS = (Fraction(1, 2**10), Fraction(2**40))  # what the sampler of Gaussian noise holds


class Block(ABC):
    """Numbers that are protected together, with a part of the price of their own.

    What is not abstract here is for sums, to which noise is added; `Choice` has its own.

    >>> Single(0).added, Choice(0, (Fraction(1, 2),)).added
    (True, False)
    """

    __slots__ = ()

    added: ClassVar[bool] = True
    """Whether noise is added to its numbers, of one family or the other; else points are chosen."""
    places: tuple[int, ...]
    """The places of the statistics that it is made of, in the plan."""

    @abstractmethod
    def sensitivity(self, aggregate: Aggregate, neighbors: Relation) -> Sensitivity:
        """How far one unit moves its numbers."""

    @abstractmethod
    def explained(self, plan: Plan, moved: Sensitivity) -> Iterator[str]:
        """Say which numbers it holds and how far one unit moves them."""

    @abstractmethod
    def protected(
        self, plan: Plan, noise: Noise | RankChoice, aggregates: Aggregates, kept: Kept, bits: BitSource
    ) -> Integers:
        """The engine's integers with noise: one row per group, or per group that is kept, one column per number."""

    def laplace(self, plan: Plan, moved: Sensitivity, price: Price) -> Noise | RankChoice:
        """Laplace noise of the scale l1 / epsilon, for its part of a price.

        zCDP of epsilon is at most epsilon^2 / 2: with rho = epsilon^2 / 2 it keeps its part of a price in rho.
        """
        epsilon = price.epsilon if price.epsilon is not None else sqrt_lower(2 * (price.rho or 0))
        scale = max(moved.l1 / epsilon, _LEAST_SCALE)  # what samplers hold: more noise than was paid for
        return DiscreteLaplace(moved.l1, scale=scale, neighbors=plan.policy.budget.neighbors)

    def gaussian(self, plan: Plan, moved: Sensitivity, price: Price, sigma: Fraction) -> Noise | RankChoice | None:
        """Gaussian noise of a sigma for each length 1 that a unit moves it; None where no sampler holds it."""
        del price  # the sigma is for its part
        length = sqrt_upper(Fraction(moved.l2_squared))
        if not _SIGMAS[0] <= length * sigma <= _SIGMAS[1]:
            return None
        neighbors = plan.policy.budget.neighbors
        return Gaussian(length, sigma=length * sigma, grid=1, inputs="snapped", neighbors=neighbors)

    def statistics(self, plan: Plan, noise: Noise | RankChoice) -> dict[int, Statistic]:  # noqa: ARG002 - sums are whole
        """What the engine is asked in place of the plan's statistics, by their places: only what the noise needs."""
        return {}

    def variance(self, plan: Plan, noise: Noise | RankChoice) -> Fraction | None:  # noqa: ARG002 - of any sum
        """The variance by which two releases are weighed; None where one of them is shown, the one of less `spread`."""
        return self.spread(noise)

    def spread(self, noise: Noise | RankChoice) -> Fraction:
        """How noisy it is: the variance; of discrete Laplace noise up to less than 1/6."""
        assert not isinstance(noise, RankChoice)  # noqa: S101 - sums got noise of a family
        return 2 * noise.scale**2 if isinstance(noise, DiscreteLaplace) else noise.sigma**2


def _with_noise(exact: Integers, noise: Noise | RankChoice, bits: BitSource) -> Integers:
    """Add noise in one call for all groups."""
    assert not isinstance(noise, RankChoice)  # noqa: S101 - sums got noise of a family
    if exact.dtype == np.int64:
        return noisy_counts(exact, noise, bits)  # type: ignore[arg-type]  # as was seen
    flat: NDArray[np.object_] = np.array(noisy(exact.ravel().tolist(), noise, bits), dtype=object)
    return flat.reshape(exact.shape)


@dataclass(frozen=True, slots=True)
class Single(Block):
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
    def places(self) -> tuple[int, ...]:  # type: ignore[override]  # it follows from the place
        """One."""
        return (self.place,)

    def sensitivity(self, aggregate: Aggregate, neighbors: Relation) -> Sensitivity:
        """That of the plan."""
        return aggregate.sensitivity(aggregate.statistics[self.place], neighbors)

    def exact(self, aggregates: Aggregates, kept: Kept = None) -> Integers:
        """The engine's integers."""
        return aggregates.unprotected(self.place, kept)

    def protected(
        self, plan: Plan, noise: Noise | RankChoice, aggregates: Aggregates, kept: Kept, bits: BitSource
    ) -> Integers:
        """Add noise to the statistic."""
        del plan
        return _with_noise(self.exact(aggregates, kept), noise, bits)

    def variance(self, plan: Plan, noise: Noise | RankChoice) -> Fraction | None:
        """Bins are shown as one release counted them, so that a count of values that is their sum agrees with them."""
        return self.spread(noise) if plan.statistics[self.place].size == 1 else None

    def explained(self, plan: Plan, moved: Sensitivity) -> Iterator[str]:
        """Name the statistic."""
        yield f"{named(plan.statistics[self.place])}: one unit moves them by at most {moved.l1} together"


@dataclass(frozen=True, slots=True)
class Parts(Block):
    r"""Sums of which every row adds numbers that are not negative, and `unit` in all: its share of each of some parts.

    The statistics at `places`, multiplied by `matrix`, are such sums. A unit with m rows in a group moves the total of
    all parts there by unit times m, and as all parts move in one direction, the sum of their moves by no more and the
    sum of their squares by at most the square of it. So all parts together move as far as `unit` times the count of
    rows does (the first place), in L1 and in L2, under either relation (change-one: contributions of one sign, as for a
    count). Separate releases would cost the sum of all sensitivities.

    The parts, for a value s between low <= 0 <= high, W = high - low, with a = s - low and b = high - s:

    - `halves`: rows with and without a value; the unit is 1.
    - `pair`: a + b = W. Count and sum follow.
    - `squares`: b^2 + 2 a b + a^2 = W^2 (the Bernstein polynomials of degree 2). Count, sum and sum of squares follow.
    - `corners`, for two values: (a + b)(a' + b') = W W'. Count, both sums and the sum of products follow.

    Each may have one part more, `unit` times the number of rows without a value: a row is in it, or in the others.

    A row that is counted but has no value adds s = 0 to all sums, which lies between low and high: the claim does not
    rest on what is known about NULLs. With sums clamped per unit (`Shape.SUMS`), n is min(n, k) and S is clamped to
    [k low, k high]: as n low <= S <= n high before, min(n, k) low <= S <= min(n, k) high after, and the claim follows
    for halves and pairs. It does not for squares and corners, which are not used then.

    Kulesza, Suresh & Wang 2024, "Mean estimation in the add-remove model of differential privacy" (arXiv:2312.06658),
    for the pair; Lorentz 1986, "Bernstein Polynomials", for the partition of unity.

    >>> pair(0, 1, (-60, 60)).unit
    120
    """

    places: tuple[int, ...]
    matrix: tuple[tuple[int, ...], ...]
    unit: int
    summands: int = 2
    """How many times the unit a row can add to the terms of one part, before they cancel."""

    def sensitivity(self, aggregate: Aggregate, neighbors: Relation) -> Sensitivity:
        """The unit times that of the count."""
        return aggregate.sensitivity(aggregate.statistics[self.places[0]], neighbors).times(self.unit)

    def exact(self, aggregates: Aggregates, kept: Kept = None) -> Integers:
        """The parts: one column each."""
        columns = [aggregates.unprotected(place, kept) for place in self.places]
        wide = any(column.dtype == object for column in columns) or self.summands * self.unit * 2**36 > _FITS
        if wide:
            columns = [column.astype(object) for column in columns]
        parts: Integers = np.hstack(columns) @ np.array(self.matrix, dtype=object if wide else np.int64).T
        return parts

    def protected(
        self, plan: Plan, noise: Noise | RankChoice, aggregates: Aggregates, kept: Kept, bits: BitSource
    ) -> Integers:
        """Add noise to the parts."""
        del plan
        return _with_noise(self.exact(aggregates, kept), noise, bits)

    def explained(self, plan: Plan, moved: Sensitivity) -> Iterator[str]:
        """Name the statistics that follow from the parts."""
        symbols = ", ".join(dict.fromkeys(named(plan.statistics[place]) for place in self.places))
        parts = f"{symbols} as {counted(len(self.matrix), 'part')} of one"
        yield f"{parts}: one unit moves them by at most {moved.l1} together"

    def with_missing(self, rows: int) -> Parts:
        """Add a part for the rows that have no value; `rows` is the place of the count of all rows.

        >>> pair(0, 1, (-60, 60)).with_missing(2).matrix
        ((0, 60, 1), (0, 60, -1), (120, -120, 0))
        """
        inside = tuple((0, *row) for row in self.matrix)
        missing = (self.unit, -self.unit, *(0 for _ in self.places[1:]))
        return Parts((rows, *self.places), (*inside, missing), self.unit, self.summands)

    def terms(self, block: int) -> dict[int, Terms]:
        """Solve for the statistics: each as a combination of the parts, exactly."""
        size = len(self.places)
        rows = [
            [*map(Fraction, row), *(Fraction(int(place == number)) for place in range(size))]
            for number, row in enumerate(self.matrix)
        ]
        for column in range(size):
            pivot = next(row for row in rows[column:] if row[column])
            rows.remove(pivot)
            rows.insert(column, pivot)
            rows[column] = [number / pivot[column] for number in pivot]
            for number, row in enumerate(rows):
                if number != column and row[column]:
                    rows[number] = [a - row[column] * b for a, b in zip(row, rows[column], strict=True)]
        return {
            place: tuple((block, part, number) for part, number in enumerate(row[size:]) if number)
            for place, row in zip(self.places, rows, strict=True)
        }


def halves(rows: int, values: int) -> Parts:
    """Split rows into those with a value and those without.

    >>> halves(0, 1).terms(0)[0]
    ((0, 0, Fraction(1, 1)), (0, 1, Fraction(1, 1)))
    """
    return Parts((rows, values), ((0, 1), (1, -1)), 1)


def pair(count: int, total: int, ends: tuple[int, int]) -> Parts:
    """Split each row by how far its value is from both ends.

    >>> pair(0, 1, (0, 10)).matrix
    ((0, 1), (10, -1))
    """
    low, high = ends
    return Parts((count, total), ((-low, 1), (high, -1)), high - low)


def squares(count: int, total: int, square: int, ends: tuple[int, int]) -> Parts:
    """Split each row by the products of its distances from both ends.

    >>> squares(0, 1, 2, (-1, 1)).matrix
    ((1, -2, 1), (2, 0, -2), (1, 2, 1))
    """
    low, high = ends
    below, middle, above = (high**2, -2 * high, 1), (-2 * low * high, 2 * (low + high), -2), (low**2, -2 * low, 1)
    return Parts((count, total, square), (below, middle, above), (high - low) ** 2, summands=4)


def corners(count: int, sums: tuple[int, int], product: int, ends: tuple[tuple[int, int], tuple[int, int]]) -> Parts:
    """Split each row among the four corners of the range of two values.

    >>> corners(0, (1, 2), 3, ((0, 1), (0, 1))).matrix[0]
    (0, 0, 0, 1)
    """
    (low, high), (down, up) = ends
    # (s - x)(t - y) for corners of even sign, (s - x)(y - t) for odd ones
    even = [(x * y, -y, -x, 1) for x, y in ((low, down), (high, up))]
    odd = [(-x * y, y, x, -1) for x, y in ((low, up), (high, down))]
    return Parts((count, *sums, product), (*even, *odd), (high - low) * (up - down), summands=4)


@dataclass(frozen=True, slots=True)
class Choice(Block):
    """Points of a grid near ranks, chosen and not counted: all quantiles and extremes of one value.

    The level 0 stands for the smallest value and 1 for the largest.

    >>> Choice(0, (Fraction(1, 2),)).levels
    (Fraction(1, 2),)
    """

    added = False

    place: int
    levels: tuple[Fraction, ...]

    @property
    def places(self) -> tuple[int, ...]:  # type: ignore[override]  # it follows from the place
        """One."""
        return (self.place,)

    def sensitivity(self, aggregate: Aggregate, neighbors: Relation) -> Sensitivity:
        """That of a count of rows: see `RankChoice` for what follows from it."""
        return aggregate.sensitivity(aggregate.statistics[self.place], neighbors)

    def _cells(self, plan: Plan) -> RankedCells:
        statistic = plan.statistics[self.place]
        assert isinstance(statistic, RankedCells)  # noqa: S101 - points are chosen among these alone
        return statistic

    def laplace(self, plan: Plan, moved: Sensitivity, price: Price) -> RankChoice:
        """A choice; the histogram that may come before it has Laplace noise."""
        return RankChoice.of(
            self.levels,
            self._cells(plan).width,
            moved,
            plan.policy.budget.neighbors,
            epsilon=price.epsilon,
            rho=price.rho,
            several=plan.aggregate.several,
        )

    def gaussian(self, plan: Plan, moved: Sensitivity, price: Price, sigma: Fraction) -> RankChoice:
        """The same choice: points have no noise of either family."""
        del sigma
        return self.laplace(plan, moved, price)

    def statistics(self, plan: Plan, noise: Noise | RankChoice) -> dict[int, Statistic]:
        """The cells that a choice may fall on, and bins if they are paid for; how far around follows from the price."""
        choice = _choice(noise)
        return {self.place: replace(self._cells(plan), windows=choice.windows, bins=choice.pooled is not None)}

    def protected(
        self, plan: Plan, noise: Noise | RankChoice, aggregates: Aggregates, kept: Kept, bits: BitSource
    ) -> NDArray[np.int64]:
        """Choose a point for each group and level."""
        choice, cells = _choice(noise), aggregates.unprotected_cells(self.place, kept)
        pooled = None if choice.pooled is None else aggregates.unprotected_pooled(self.place)
        return choose(choice, self._cells(plan), cells, bits, pooled)

    def variance(self, plan: Plan, noise: Noise | RankChoice) -> None:
        """Points are no sums."""

    def spread(self, noise: Noise | RankChoice) -> Fraction:
        """The sum of all scales."""
        return sum(_choice(noise).scales, Fraction(0))

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


def _choice(noise: Noise | RankChoice) -> RankChoice:
    assert isinstance(noise, RankChoice)  # noqa: S101 - what the block of a choice made
    return noise


def rounding_of(terms: Terms) -> float:
    """By how much a combination of whole numbers is moved by rounding it: nothing if it is whole, else half at most.

    >>> rounding_of(((0, 0, Fraction(1)), (0, 1, Fraction(-2)))), rounding_of(((0, 0, Fraction(1, 3)),))
    (0.0, 0.5)
    """
    return 0.0 if all(coefficient.denominator == 1 for _, _, coefficient in terms) else 0.5


def combined(*parts: tuple[Terms, int | Fraction]) -> Terms:
    """Add up linear combinations, each times a number.

    >>> one = ((0, 0, Fraction(1)),)
    >>> combined((one, 2), (one, 3))
    ((0, 0, Fraction(5, 1)),)
    """
    total: dict[tuple[int, int], Fraction] = {}
    for terms, factor in parts:
        for block, column, coefficient in terms:
            total[block, column] = total.get((block, column), Fraction(0)) + coefficient * factor
    return tuple((block, column, coefficient) for (block, column), coefficient in total.items() if coefficient)
