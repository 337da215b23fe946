"""The k most frequent values, released as they are where nobody could change them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.exact import integer
from discreet.mechanisms.choosing.scores import private_scores, read_names
from discreet.mechanisms.data_dependent.stable_value import StableValue
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.inputs.rows import codes, listed
from discreet.mechanisms.release import Release
from discreet.mechanisms.sensitivity.smooth_mechanism import changes_one
from discreet.mechanisms.sensitivity.stability import Tested
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy.relations import Relation

__all__ = ["StableTopK", "argmax_distance"]


@dataclass(frozen=True, slots=True, init=False)
class StableTopK(Tested["Iterable[Hashable]", "tuple[Hashable, ...] | None"]):
    """Release which k of a public list of values are the most frequent, or None if a few units could change that.

    Privacy. Ties go to the value that stands first in the list. Value j enters the set in place of i when its count
    reaches that of i, or exceeds it if j stands later: gap = count_i - count_j, plus one if j stands later. Under
    add/remove one step closes a gap by one, under change-one by two (a row of i becomes one of j): gap or
    ceil(gap / 2) steps to another set, the smallest over all pairs, minus one is the distance to instability of
    `StableValue`. The set is returned in the order of the list, as the order of the counts is not protected by it.
    With k = 1 this is the mode.

    Rows with other values are not counted. Where the largest counts are close, `Mode` and `TopK` answer with noise.

    Vadhan 2017, "The Complexity of Differential Privacy".

    >>> made = StableTopK(["red", "blue", "green"], 1, epsilon=1, delta="1e-6")
    >>> made.release(["red"] * 50 + ["blue"] * 900).value
    ('blue',)
    """

    kind: ClassVar[str] = "stable_top_k"
    guarantee: ClassVar[str] = StableValue.guarantee
    accuracy: ClassVar[str] = StableValue.accuracy
    source: ClassVar[str] = StableValue.source
    _assumes: ClassVar[tuple[str, ...]] = ("a unit owns one row.", "the candidates were not read from the rows.")
    no_error_because: ClassVar[str] = (
        "the values are shown exactly, or not at all; gap_needed() says from which gap of counts on."
    )

    candidates: tuple[Hashable, ...]
    k: int
    epsilon: Fraction
    delta: Fraction
    neighbors: Relation

    def __init__(
        self,
        candidates: Iterable[Hashable],
        k: SupportsIndex = 1,
        *,
        epsilon: Number,
        delta: Number,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        names = read_names(candidates)
        made = StableValue(epsilon=epsilon, delta=delta, neighbors=neighbors)
        changes_one(made.neighbors)
        assign(self, candidates=names, k=integer(k, name="k", least=1, most=len(names)))
        assign(self, epsilon=made.epsilon, delta=made.delta, neighbors=made.neighbors)

    @property
    def stable(self) -> StableValue:
        """The test that stands before the answer."""
        return StableValue(epsilon=self.epsilon, delta=self.delta, neighbors=self.neighbors)

    def gap_needed(self, confidence: float = 0.95) -> int:
        """Return by how many rows the k-th count must exceed the next one to be shown with this probability.

        >>> StableTopK("ab", epsilon=1, delta="1e-6").gap_needed(0.95)
        17
        """
        far = self.stable.far_enough(confidence) + 1
        return 2 * far if changes_one(self.neighbors) else far

    def distance(self, counts: Sequence[int] | NDArray[np.int64]) -> int:
        """Return the distance to instability of the set; private.

        >>> StableTopK("abc", epsilon=1, delta="0.1").distance([5, 2, 1])
        3
        """
        top = self._top(counts)
        rest = [j for j in range(len(self.candidates)) if j not in set(top)]
        gaps = [int(counts[i]) - int(counts[j]) + (j > i) for i in top for j in rest]
        if not gaps:  # all candidates are in the set whatever the rows
            return 1 << 62
        steps = -(-min(gaps) // 2) if changes_one(self.neighbors) else min(gaps)
        return steps - 1

    def _top(self, counts: Sequence[int] | NDArray[np.int64]) -> list[int]:
        order = sorted(range(len(self.candidates)), key=lambda i: (-int(counts[i]), i))
        return sorted(order[: self.k])

    def release(self, value: Iterable[Hashable], *, bits: BitSource = SYSTEM) -> Release[tuple[Hashable, ...] | None]:
        """Return the set or None; `value` holds the rows."""
        places = codes(listed(value), self.candidates)
        counts = np.bincount(places[places >= 0], minlength=len(self.candidates))
        names = tuple(self.candidates[i] for i in self._top(counts))
        shown_ = self.stable.test.passes(self.distance(counts), bits=bits)
        return Release(names if shown_ else None, self)


def argmax_distance(scores: ArrayLike, sensitivity: Number = 1) -> tuple[int, int]:
    """Return the index of the largest score and its distance to instability, for `StableValue`; both are private.

    One unit moves each score by at most the sensitivity, hence a gap by at most twice that. It takes at least
    ceil(gap / (2 sensitivity)) steps until another score is the largest; minus one is the distance. Scores count as
    the exact numbers that they are, NaN as the lowest.

    >>> argmax_distance([3, 10, 2], sensitivity=1)
    (1, 3)
    """
    move = read_positive(sensitivity, "sensitivity", zero="what no unit can move needs no test")
    exact = [Fraction(score) for score in private_scores(scores).tolist()]
    best = max(range(len(exact)), key=lambda i: (exact[i], -i))
    gap = min((exact[best] - score for i, score in enumerate(exact) if i != best), default=move * 2**63)
    return best, max(0, -(-gap // (2 * move)) - 1)
