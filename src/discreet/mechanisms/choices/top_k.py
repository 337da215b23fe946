"""The best k of many candidates, in order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import float_up, integer, log_upper, rational, shown
from discreet.exact.rational import read_choice
from discreet.mechanisms.choosing.scores import (
    checked_candidates,
    private_scores,
    require_monotone,
    selection_scale,
)
from discreet.mechanisms.inputs.parameters import assign, exactly_one, miss, read_positive
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.mechanisms.words import movers
from discreet.noise import SYSTEM, BitSource, exponential_race, gumbel_race
from discreet.privacy import Approximate, NeighborRelation, Pure, calibrate_largest, curves
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["TopK", "TopKMethod"]


class TopKMethod(Enum):
    """How the best k are found.

    >>> TopKMethod("gumbel")
    <TopKMethod.GUMBEL: 'gumbel'>
    """

    GUMBEL = "gumbel"
    """One race with Gumbel noise, whose first k are k rounds of the exponential mechanism."""
    PEELING = "peeling"
    """k rounds of permute-and-flip, each without the earlier winners."""


@dataclass(frozen=True, slots=True, init=False)
class TopK(Mechanism["ArrayLike", "list[object]"]):
    r"""Release the k candidates with the best noisy scores, in order, and nothing else.

    Privacy. Each round chooses among those left and is $\epsilon_0$-differentially private (see `Exponential` and
    `NoisyMax`); the rounds compose adaptively. Gumbel: the first k of one race with noise of scale $2s/\epsilon_0$ are
    distributed as k rounds of the exponential mechanism, each of range $\epsilon_0$; the curve is the composition of k
    curves of bounded range. Peeling: fresh exponential noise in each round, k pure promises.

    For a pure epsilon both have $\epsilon_0 = \epsilon/k$ and peeling is chosen, as permute-and-flip has the better
    expected score. With a delta, $\epsilon_0$ is the largest for which the composed curve keeps (epsilon, delta), and
    the method with the larger $\epsilon_0$ is chosen; for the same number of rounds bounded range costs about half the
    epsilon of pure promises.

    Durfee & Rogers 2019 (arXiv:1905.04273); Dong, Durfee & Rogers 2020 (arXiv:1909.13830); McKenna &
    Sheldon 2020 (arXiv:2010.12603).

    >>> TopK(2, sensitivity=1, epsilon=1).release([0, 900, 5, 700]).value
    [1, 3]
    >>> one_shot = TopK(100, sensitivity=1, epsilon=1, delta=1e-6)
    >>> one_shot.method.value, one_shot.round_epsilon > 3 * TopK(100, sensitivity=1, epsilon=1).round_epsilon
    ('gumbel', True)
    """

    kind: ClassVar[str] = "top_k"
    guarantee: ClassVar[str] = (
        "The first k of a race with Gumbel noise of scale 2 sensitivity / epsilon_0 are k rounds of the exponential "
        "mechanism of range epsilon_0; k rounds of permute-and-flip are k pure promises epsilon_0. Both compose."
    )
    accuracy: ClassVar[str] = "best score left - score <= scale * ln(k * candidates / (1 - confidence)), all k together"
    source: ClassVar[str] = "Durfee & Rogers 2019, arXiv:1905.04273; Dong et al. 2020, arXiv:1909.13830"
    no_error_because: ClassVar[str] = (
        "candidates have no distance from the best ones; score_gap(candidates) bounds what their scores lack."
    )

    k: int
    sensitivity: Fraction
    round_epsilon: Fraction
    delta: Fraction
    method: TopKMethod
    monotone: bool
    neighbors: Relation

    def __init__(  # noqa: PLR0913  each is a public fact of the release
        self,
        k: SupportsIndex,
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        delta: Number = 0,
        round_epsilon: Number | None = None,
        method: TopKMethod | str | None = None,
        monotone: bool = False,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        relation = require_relation(neighbors)
        rounds = integer(k, name="k", least=1, most=10**6)
        chance = rational(delta, name="delta")
        if not 0 <= chance < 1:
            msg = f"delta is {shown(delta)}; it must be at least 0 and below 1, such as delta=1e-6."
            raise ParameterError(msg)
        exactly_one(epsilon=epsilon, round_epsilon=round_epsilon)
        wanted = None if method is None else read_choice(TopKMethod, method, "method")
        if epsilon is not None:
            total = read_positive(epsilon, "epsilon", zero="every order would be equally likely")
            wanted, per_round = _best_method(rounds, total, chance, wanted)
        else:
            per_round = read_positive(round_epsilon, "round_epsilon", zero="every order would be equally likely")
            wanted = wanted or (TopKMethod.GUMBEL if chance else TopKMethod.PEELING)
        assign(
            self,
            k=rounds,
            sensitivity=read_positive(sensitivity, "sensitivity", zero="scores that no unit moves need no noise"),
            round_epsilon=per_round,
            delta=chance,
            method=wanted,
            monotone=require_monotone(relation, monotone=monotone),
            neighbors=relation,
        )

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on each score, in each round."""
        return selection_scale(self.sensitivity, self.round_epsilon, monotone=self.monotone)

    @property
    def privacy(self) -> Curve:
        """The composition of k rounds."""
        return _round(self.method, self.round_epsilon, self.neighbors) * self.k

    @property
    def claim(self) -> Pure | Approximate:
        """The sum of the rounds' epsilons, or what the curve keeps at delta."""
        if self.delta == 0:
            return Pure(self.k * self.round_epsilon, neighbors=self.neighbors)
        return Approximate(Fraction(self.privacy.epsilon(self.delta)), self.delta, neighbors=self.neighbors)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The scores' sensitivity, and that they are monotone."""
        way = " and moves all of them the same way" if self.monotone else ""
        return (f"{movers(self.neighbors)} moves each score by at most {self.sensitivity}{way}.",)

    def score_gap(self, candidates: SupportsIndex, confidence: float = 0.95) -> float:
        """Return how far each of the k chosen stays below the best that was left in its round, all together.

        The bound of `Exponential.score_gap` with 1 - confidence shared among k rounds.

        >>> round(TopK(2, sensitivity=1, epsilon=2).score_gap(candidates=100), 1)
        16.6
        """
        count = integer(candidates, name="candidates", least=self.k)
        return float_up(self.scale * log_upper(self.k * count / miss(confidence)))

    def release(
        self, value: ArrayLike, *, candidates: Sequence[object] | None = None, bits: BitSource = SYSTEM
    ) -> Release[list[object]]:
        """Return the chosen candidates, or their indices, best first; `value` holds the scores."""
        scores = private_scores(value)
        if scores.size < self.k:
            msg = f"k is {self.k}, but there are only {scores.size} candidates; ask for at most as many as there are."
            raise ParameterError(msg)
        names = checked_candidates(candidates, scores.size)
        if self.method is TopKMethod.GUMBEL:
            winners = gumbel_race(scores, self.scale, self.k, bits).tolist()
        else:
            winners = _peeled(scores, self.scale, self.k, bits)
        return Release([names[i] for i in winners], self, MappingProxyType({"candidates": scores.size}))


def _round(method: TopKMethod, epsilon: Number, neighbors: Relation) -> Curve:
    build = curves.exponential if method is TopKMethod.GUMBEL else curves.permute_and_flip
    return build(epsilon, neighbors=neighbors)


def _best_method(k: int, epsilon: Fraction, delta: Fraction, wanted: TopKMethod | None) -> tuple[TopKMethod, Fraction]:
    """Return the method with the largest epsilon per round, from public numbers alone, peeling where they agree."""
    if delta == 0 or k == 1:
        return wanted or TopKMethod.PEELING, epsilon / k

    def largest(method: TopKMethod) -> Fraction:
        def build(per_round: float) -> Curve:
            return _round(method, per_round, NeighborRelation.ADD_REMOVE) * k

        calibrated = calibrate_largest(build, epsilon=epsilon, delta=delta, start=float(epsilon) / k)
        return max(rational(calibrated), epsilon / k)

    options = [wanted] if wanted else [TopKMethod.PEELING, TopKMethod.GUMBEL]
    return max(((option, largest(option)) for option in options), key=lambda item: item[1])


def _peeled(scores: NDArray[Any], scale: Fraction, k: int, bits: BitSource) -> list[int]:
    """Run k races, each without the earlier winners."""
    left, peeled = np.arange(scores.size), []
    for _ in range(k):
        winner = exponential_race(scores[left], scale, bits=bits)
        peeled.append(int(left[winner]))
        left = np.delete(left, winner)
    return peeled
