"""What releases know of a measure: how it is made of noisy numbers, read from them, and off by how much."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from discreet.mechanisms.adding.combinations import NoisyNumbers
from discreet.plans.refusals import refuse
from discreet.plans.statistics import Moment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.mechanisms.adding.sums import Noise, Terms
    from discreet.mechanisms.choosing.rank_choice import RankChoice
    from discreet.plans.aggregates import Measure
    from discreet.plans.nodes.aggregate import Sensitivity
    from discreet.plans.statistics import Snapped
    from discreet.releases.noise.recipe import Recipe

__all__ = ["Cell", "NoisyMeasure", "measure_kind"]

Value = int | float | tuple[int, ...] | tuple[float | None, ...] | None

_KINDS: dict[type[Measure], type[NoisyMeasure]] = {}


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


class NoisyMeasure(ABC):
    """One measure of a question, made of the noisy numbers of its statistics, whose places are `places`.

    Before a release there are no numbers yet, only their noises: then `foreseen` tells the ±, and `cell` nothing. A
    subclass names in `reads` the measures of plans that it is for.

    >>> from discreet.plans import plan_sql
    >>> from discreet.releases.noise.protection import Price, Protection
    >>> from discreet.releases.noise.recipe import Recipe
    >>> from discreet.tables import Policy, Table
    >>> policy = Policy([Table("people", row_is_unit=True)], epsilon=1)
    >>> recipe = Recipe.of(plan_sql(policy, "SELECT COUNT(*) AS n FROM people"))
    >>> noises = Protection.of(recipe, Price.read(policy, epsilon=1)).noises
    >>> ((name, _),) = recipe.plan.request.measures
    >>> NoisyMeasure.before(recipe, name, noises, 0.95).foreseen(rows=None)
    (3.0, '')
    """

    reads: ClassVar[tuple[type[Measure], ...]] = ()
    counts: ClassVar[bool] = False
    """Whether its values are counts, which `Answer.nonnegative` shows from 0 on."""
    sums: ClassVar[bool] = False
    """Whether the range of its values decides about its noise, so that narrower bounds make it smaller."""
    binned: ClassVar[bool] = False
    """Whether its value is a list of bins, each of which is a row of the answer: see `Bins`."""

    def __init_subclass__(cls) -> None:
        """Find the class by what it reads."""
        _KINDS.update(dict.fromkeys(cls.reads, cls))

    def __init__(self, recipe: Recipe, name: str, noisy: NoisyNumbers, confidence: float) -> None:
        self.recipe = recipe
        self.noisy = noisy
        self.confidence = confidence
        self.measure = dict(recipe.plan.request.measures)[name]
        self.places = recipe.plan.statistics_of(name)

    @staticmethod
    def of(recipe: Recipe, name: str, noisy: NoisyNumbers, confidence: float) -> NoisyMeasure:
        """Read a measure from noisy numbers, each ± with this confidence."""
        return measure_kind(dict(recipe.plan.request.measures)[name])(recipe, name, noisy, confidence)

    @staticmethod
    def before(recipe: Recipe, name: str, noises: tuple[Noise | RankChoice, ...], confidence: float) -> NoisyMeasure:
        """Tell of a measure before its numbers are there; only their noises are."""
        return NoisyMeasure.of(recipe, name, NoisyNumbers((), noises), confidence)

    def variances(self, moves: list[Sensitivity], *, gaussian: bool) -> dict[int, float]:
        """The variance that each block adds to the measure, at a share of 1; all of a block's for one without terms."""
        added: dict[int, float] = {}
        for terms in self.combinations():
            for block, _, coefficient in terms:
                square = moves[block].l2_squared if gaussian else moves[block].l1 ** 2
                added[block] = added.get(block, 0.0) + float(coefficient) ** 2 * square
        return {block: variance for block, variance in added.items() if variance} or {self.terms(0)[0][0]: 1.0}

    def combinations(self) -> list[Terms]:
        """What noise the measure feels, for values spread evenly: several combinations stand for a sum of squares."""
        return [self.terms(0)]

    @abstractmethod
    def cell(self, group: int) -> Cell:
        """Read the measure of a group, with its ±."""

    def values(self) -> NDArray[np.int64] | NDArray[np.float64] | None:
        """Read all groups at once, NaN for NULL, the same as `cell` one by one; None where there is no faster way."""
        return None

    @abstractmethod
    def foreseen(self, rows: int | None) -> tuple[float | None, str]:
        """The ± before a release, for a group of so many rows, or why there is none; from public facts alone."""

    def size(self, rows: int | None) -> tuple[float, float]:  # noqa: ARG002 - others know more
        """Between which numbers the size of the value lies, for a group of so many rows."""
        return 0.0, math.inf

    def terms(self, index: int) -> Terms:
        """The linear combination of noisy numbers that one of the statistics is."""
        return self.recipe.terms[self.places[index]]

    def moment(self, index: int) -> Moment:
        """One of the statistics that are sums of snapped numbers."""
        statistic = self.recipe.plan.statistics[self.places[index]]
        assert isinstance(statistic, Moment)  # noqa: S101 - who asks knows its own statistics
        return statistic

    def factor(self, index: int) -> Snapped:
        """The first number that is multiplied in a sum."""
        return self.moment(index).factors[0]

    def span(self, index: int) -> tuple[int, int]:
        """The least and the largest that a row adds to a sum."""
        return self.moment(index).reach(self.recipe.plan.row_schema)

    def farthest(self, index: int) -> float:
        """How far a sum's values lie from 0 at most."""
        factor = self.factor(index)
        return max(abs(float(end * factor.step)) for end in (factor.lower, factor.upper))

    @cached_property
    def _columns(self) -> tuple[list[float], ...]:
        return tuple(self.noisy.values(self.recipe.terms.get(place, ())) for place in self.places)

    def number(self, index: int, group: int) -> float:
        """The noisy number of one of the statistics in a group."""
        return self._columns[index][group]

    def array(self, index: int) -> NDArray[np.float64]:
        """The noisy numbers of one of the statistics in all groups."""
        return self.noisy.array(self.terms(index))

    @cached_property
    def reach(self) -> float:
        """How far the noise of the first statistic reaches."""
        return self.noisy.reach(self.terms(0), self.confidence)


def measure_kind(measure: Measure) -> type[NoisyMeasure]:
    """Find the class that reads a measure, or refuse one that nobody could read once it is paid for.

    >>> from discreet.plans.aggregates import std
    >>> from discreet.releases.measures.variance import NoisyVariance
    >>> measure_kind(std("x")) is NoisyVariance
    True
    """
    kind = next((_KINDS[known] for known in type(measure).__mro__ if known in _KINDS), None)
    if kind is None:
        refuse(
            measure.describe(),
            why="No measure of discreet.releases.measures reads it from noisy numbers.",
            instead="one of the aggregates of discreet.agg, or see how to add an aggregate.",
        )
    return kind
