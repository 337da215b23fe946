"""Where a series changed when nothing is known of its laws: ranks instead of likelihoods."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import integer, rational, shown
from discreet.mechanisms.inputs.parameters import assign, miss, read_positive
from discreet.mechanisms.promise import register
from discreet.mechanisms.release import Release
from discreet.mechanisms.words import movers, promise_in_words
from discreet.methods.streaming.likelihoods import read_numbers
from discreet.noise import SYSTEM, BitSource, exponential_race
from discreet.privacy import NeighborRelation, Pure, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self, SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["RankChangePoint"]

_STEPS = 1 << 30
_SOURCE = "Cummings, Krehbiel, Lut & Zhang 2020, arXiv:1910.01327"


@register
@dataclass(frozen=True, slots=True, init=False)
class RankChangePoint:
    r"""Where a series changed, whatever from and to: the split whose two sides differ most in rank.

    The score of a split after k of n elements is $V(k) = |\sum_{i \le k < j} \mathrm{sign}(x_j - x_i)| / (k(n - k))$,
    the Mann-Whitney statistic of both sides; splits with less than a share `trim` on a side are left out (Cummings,
    Krehbiel, Lut & Zhang 2020, arXiv:1910.01327; theirs counts one direction, this one both).

    Privacy. One element takes part in n - k or k comparisons of a split, and each moves by at most 1 where the element
    comes or goes (a missing one ties with all), by at most 2 where it is replaced. So V(k) moves by at most
    1 / min(k, n - k), at most 1 / (trim n), and twice that. Scores are rounded down to multiples of 2^-30, which adds
    one of them. The largest score with exponential noise of scale 2 D / epsilon wins: scores may move either way.

    >>> found = RankChangePoint(epsilon=2, trim="0.1")
    >>> values = [0, 1] * 250 + [2, 3] * 250
    >>> abs(found.release(values).value - 500) < 200
    True
    """

    kind: ClassVar[str] = "rank_change_point"
    accuracy: ClassVar[str] = "none: it depends on laws of which nothing is known"
    no_error_because: ClassVar[str] = (
        "how far off a split is depends on how different the unknown laws are; gap(n) bounds what its score lacks."
    )

    epsilon: Fraction
    trim: Fraction
    events: int | None
    relation: NeighborRelation

    def __init__(
        self,
        *,
        epsilon: Number,
        trim: Number = "1/10",
        events: SupportsIndex | None = None,
        neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        share = rational(trim, name="trim")
        if not 0 < share < Fraction(1, 2):
            msg = f"trim is {shown(trim)}; it is the least share of elements on a side, above 0 and below 1/2."
            raise ParameterError(msg)
        if not isinstance(neighbors, NeighborRelation):
            msg = f"neighbors is {shown(neighbors)}; it must be a NeighborRelation. `events` says whom it protects."
            raise ParameterError(msg)
        assign(self, trim=share, relation=neighbors)
        assign(self, epsilon=read_positive(epsilon, "epsilon", zero="every place would be equally likely"))
        assign(self, events=None if events is None else integer(events, name="events", least=1, most=1 << 20))

    @property
    def neighbors(self) -> Relation:
        """Events; or persons, where `events` says how many one has."""
        return self.relation.of(Unit.EVENT) if self.events is None else self.relation

    def scale(self, elements: int) -> Fraction:
        """The scale of the noise in multiples of 2**-30, for so many elements.

        >>> round(float(RankChangePoint(epsilon=2, trim="0.1").scale(1000)) / 2**30, 6)
        0.01
        """
        ways = 1 if self.relation is NeighborRelation.ADD_REMOVE else 2
        moved = Fraction(_STEPS * ways * (self.events or 1), self._least(elements))
        return 2 * (math.floor(moved) + 1) / self.epsilon

    def _least(self, elements: int) -> int:
        return max(1, math.ceil(self.trim * elements))

    def gap(self, elements: int, confidence: float = 0.95) -> float:
        """Bound how much less than the best score the chosen split has, with this probability.

        >>> RankChangePoint(epsilon=2).gap(1000) < 0.12
        True
        """
        count = elements - 2 * self._least(elements) + 1
        return float(self.scale(elements)) / _STEPS * math.log(count / float(miss(confidence)))

    @property
    def claim(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The curve of epsilon."""
        return self.claim.curve()

    @property
    def promise(self) -> str:
        """The claim in words."""
        return promise_in_words(self.claim)

    @property
    def argument(self) -> tuple[str, ...]:
        """Why it is private."""
        ways = 1 if self.relation is NeighborRelation.ADD_REMOVE else 2
        return (
            f"One element moves scores by at most D = {ways} / (trim n); each has noise of scale 2 D / e. ({_SOURCE})",
        )

    @property
    def assumed(self) -> tuple[str, ...]:
        """How many events a person has."""
        return () if self.events is None else (f"{movers(self.neighbors)} has at most {self.events} events.",)

    def error_of(self, value: int, details: Mapping[str, object], confidence: float = 0.95) -> None:
        """No ± exists."""
        del value, details
        miss(confidence)

    def scores(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the scores of all splits that are allowed, in multiples of 2**-30: private.

        The comparisons across a split are the sum over the left side of (greater - smaller) among all: those within
        the left side cancel.
        """
        there = np.sort(values[~np.isnan(values)])
        smaller, not_greater = np.searchsorted(there, values, "left"), np.searchsorted(there, values, "right")
        net = np.where(np.isnan(values), 0, (there.size - not_greater) - smaller)
        least, count = self._least(values.size), values.size
        places = np.arange(least, count - least + 1)
        sums = np.abs(np.cumsum(net)[places - 1])
        exact = [int(total) * _STEPS // int(k * (count - k)) for total, k in zip(sums, places, strict=True)]
        return np.array(exact, dtype=np.int64)

    def release(self, values: object, *, bits: BitSource = SYSTEM) -> Release[int]:
        """Return the place of the first element after the change, counted from 0."""
        numbers = read_numbers(values)
        least = self._least(numbers.size)
        if numbers.size < 2 * least or numbers.size < 2:
            msg = f"there are {numbers.size} elements; a split needs at least one on each side."
            raise ParameterError(msg)
        winner = exponential_race(self.scores(numbers), self.scale(numbers.size), bits=bits)
        return Release(int(winner) + least, self, {"elements": int(numbers.size)})

    def record(self) -> dict[str, Any]:
        """Return the promise as a JSON object."""
        return {
            "kind": self.kind,
            "epsilon": str(self.epsilon),
            "trim": str(self.trim),
            "events": self.events,
            "neighbors": self.relation.value,
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        given = {name: value for name, value in record.items() if name != "kind"}
        return cls(**{**given, "neighbors": NeighborRelation(given["neighbors"])})
