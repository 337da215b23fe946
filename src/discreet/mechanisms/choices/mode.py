"""The most frequent of a public list of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.mechanisms.choices.noisy_max import NoisyMax
from discreet.mechanisms.choosing.choice import PricedChoice
from discreet.mechanisms.choosing.scores import read_names
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.inputs.rows import codes, listed
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource
from discreet.privacy import NeighborRelation, curves
from discreet.privacy.relations import group_size, require_relation

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable
    from fractions import Fraction
    from typing import SupportsIndex

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Mode"]


@dataclass(frozen=True, slots=True, init=False)
class Mode(PricedChoice["Iterable[Hashable]", object]):
    """Release the most frequent of a public list of values, by permute-and-flip on their counts.

    Privacy. The score of a candidate is its number of rows, one row per unit. Under add/remove one unit raises or
    lowers one count by 1: sensitivity 1 and monotone, so exponential noise of scale 1 / epsilon does. Under change-one
    one count may rise by 1 while another falls by 1: not monotone, scale 2 / epsilon. Rows with other values are not
    counted; the candidates are public, never read from the rows. For groups of k units each unit gets epsilon / k: of k
    steps each changes the law by at most a factor e^(epsilon / k).

    McKenna & Sheldon 2020 (arXiv:2010.12603).

    >>> Mode(["red", "blue"], epsilon=1).release(["red"] * 3 + ["blue"] * 900 + ["green"] * 5000).value
    'blue'
    """

    kind: ClassVar[str] = "mode"
    guarantee: ClassVar[str] = (
        "The index of the largest count, each with exponential noise of scale 1 / epsilon under add/remove or "
        "2 / epsilon under change-one, times the size of a group, is epsilon-differentially private."
    )
    accuracy: ClassVar[str] = "count of the mode - count <= scale * ln(candidates / (1 - confidence))"
    source: ClassVar[str] = "McKenna & Sheldon 2020, arXiv:2010.12603"
    _assumes: ClassVar[tuple[str, ...]] = ("a unit owns one row.", "the candidates were not read from the rows.")
    no_error_because: ClassVar[str] = (
        "a value has no distance from the mode; count_gap() bounds how many rows fewer it may have."
    )

    candidates: tuple[Hashable, ...]
    epsilon: Fraction
    neighbors: Relation

    def __init__(
        self,
        candidates: Iterable[Hashable],
        *,
        epsilon: Number,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        price = read_positive(epsilon, "epsilon", zero="all would be equally likely")
        assign(self, candidates=read_names(candidates), epsilon=price, neighbors=require_relation(neighbors))

    @property
    def _race(self) -> NoisyMax:
        relation = self.neighbors.relation
        monotone = relation is NeighborRelation.ADD_REMOVE
        return NoisyMax(1, epsilon=self.epsilon / group_size(self.neighbors), monotone=monotone, neighbors=relation)

    @property
    def privacy(self) -> Curve:
        """The curve of permute-and-flip, which is the worst pure one, so that it holds for groups too."""
        return curves.permute_and_flip(self.epsilon, neighbors=self.neighbors)

    def count_gap(self, confidence: float = 0.95, *, best: SupportsIndex = 1) -> float:
        """Return how many rows fewer than the mode the released value has at most, with this probability.

        >>> round(Mode("ab", epsilon=1).count_gap(confidence=0.95), 1)
        3.7
        """
        return self._race.score_gap(len(self.candidates), confidence, best=best)

    def release(self, value: Iterable[Hashable], *, bits: BitSource = SYSTEM) -> Release[object]:
        """Return a value; `value` holds the rows."""
        places = codes(listed(value), self.candidates)
        counts = np.bincount(places[places >= 0], minlength=len(self.candidates))
        winner = self._race.release(counts, bits=bits)
        return Release(self.candidates[int(str(winner.value))], self)
