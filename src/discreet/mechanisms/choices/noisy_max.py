"""Report noisy max: noise on every score, and only the winner's name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from discreet.exact import float_up, integer
from discreet.exact.rational import read_choice
from discreet.mechanisms.choosing.choice import ScoredChoice
from discreet.mechanisms.choosing.scores import (
    checked_candidates,
    gap_bound,
    private_scores,
    require_monotone,
)
from discreet.mechanisms.inputs.parameters import assign, miss, read_positive
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource, exponential_race, gumbel_race, laplace_race
from discreet.privacy import NeighborRelation, curves
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction
    from typing import SupportsIndex

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["NoisyMax", "RaceNoise"]


class RaceNoise(Enum):
    """Which noise the scores of a race get.

    >>> RaceNoise("gumbel")
    <RaceNoise.GUMBEL: 'gumbel'>
    """

    EXPONENTIAL = "exponential"
    """Permute-and-flip: the best expected score for a pure epsilon."""
    GUMBEL = "gumbel"
    """The exponential mechanism: bounded range, so it composes better."""
    LAPLACE = "laplace"
    """The textbook's report noisy max."""


_RACES = {
    RaceNoise.EXPONENTIAL: exponential_race,
    RaceNoise.GUMBEL: gumbel_race,
    RaceNoise.LAPLACE: laplace_race,
}


@dataclass(frozen=True, slots=True, init=False)
class NoisyMax(ScoredChoice["ArrayLike", object]):
    r"""Add noise to every score and release which is the largest, and nothing else.

    Privacy. Fix the noise of all candidates but i. Then i wins when its own noise exceeds some t. A neighbor's scores
    move t by at most twice the sensitivity s (once up for a rival, once down for i), or by s where all scores move the
    same way (`monotone`). Exponential and Laplace noise have $\Pr[Z > t + a] \ge e^{-a/\text{scale}} \Pr[Z > t]$ for
    all t, so the probability falls by at most a factor $e^{2s/\text{scale}} = e^\epsilon$, and by symmetry of the
    relation rises by no more. Gumbel noise makes the race the exponential mechanism, whose law is a softmax.

    Exponential noise is the default: as permute-and-flip it has an expected score that is never below the exponential
    mechanism's. The noise has *scale* 2s/epsilon, that is, *rate* epsilon/(2s).

    Dwork & Roth 2014 (doi:10.1561/0400000042); McKenna & Sheldon 2020 (arXiv:2010.12603); Ding, Kifer,
    Saghaian, Steinke, Wang, Xiao & Zhang 2021 (arXiv:2105.07260), that permute-and-flip is this race.

    >>> NoisyMax(sensitivity=1, epsilon=1).release([0, 3, 500]).value
    2
    >>> NoisyMax(sensitivity=1, epsilon=1, noise="laplace").scale, NoisyMax(1, epsilon=1, monotone=True).scale
    (Fraction(2, 1), Fraction(1, 1))
    """

    kind: ClassVar[str] = "noisy_max"
    guarantee: ClassVar[str] = (
        "The index of the largest score, each with exponential, Laplace or Gumbel noise of scale 2 sensitivity / "
        "epsilon, is epsilon-differentially private; monotone scores need no 2."
    )
    accuracy: ClassVar[str] = "best score - score <= scale * ln(candidates / (best * (1 - confidence)))"
    source: ClassVar[str] = "McKenna & Sheldon 2020, arXiv:2010.12603; Ding et al. 2021, arXiv:2105.07260"

    sensitivity: Fraction
    epsilon: Fraction
    noise: RaceNoise
    monotone: bool
    neighbors: Relation

    def __init__(
        self,
        sensitivity: Number,
        *,
        epsilon: Number,
        noise: RaceNoise | str = RaceNoise.EXPONENTIAL,
        monotone: bool = False,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        relation = require_relation(neighbors)
        assign(
            self,
            sensitivity=read_positive(sensitivity, "sensitivity", zero="scores that no unit moves need no noise"),
            epsilon=read_positive(epsilon, "epsilon", zero="every candidate would be equally likely"),
            noise=read_choice(RaceNoise, noise, "noise"),
            monotone=require_monotone(relation, monotone=monotone),
            neighbors=relation,
        )

    @property
    def privacy(self) -> Curve:
        """Bounded range for Gumbel noise, the worst pure curve otherwise."""
        if self.noise is RaceNoise.GUMBEL:
            return curves.exponential(self.epsilon, neighbors=self.neighbors)
        if self.noise is RaceNoise.EXPONENTIAL:
            return curves.permute_and_flip(self.epsilon, neighbors=self.neighbors)
        return curves.pure(self.epsilon, neighbors=self.neighbors)

    def score_gap(self, candidates: SupportsIndex, confidence: float = 0.95, *, best: SupportsIndex = 1) -> float:
        """Return how far below the best score the chosen one stays, where `best` candidates share the best score.

        Laplace noise: a rival that is g below wins with probability at most Pr[Z - Z' >= g] =
        (2 + g / scale) exp(-g / scale) / 4, summed over all candidates.

        >>> round(NoisyMax(sensitivity=1, epsilon=1).score_gap(candidates=100), 1)
        15.2
        """
        if self.noise is not RaceNoise.LAPLACE:
            return gap_bound(self.scale, candidates, best, confidence)
        target = float(miss(confidence)) / integer(candidates, name="candidates", least=1)
        low, high = 0.0, 2 * math.log(1 / target) + 4  # there (2 + g) exp(-g) / 4 is below the target
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if (2 + middle) * math.exp(-middle) / 4 > target else (low, middle)
        return float_up(self.scale) * high

    def release(
        self, value: ArrayLike, *, candidates: Sequence[object] | None = None, bits: BitSource = SYSTEM
    ) -> Release[object]:
        """Return the winner, or its index; `value` holds the scores."""
        scores = private_scores(value)
        names = checked_candidates(candidates, scores.size)
        winner = _RACES[self.noise](scores, self.scale, bits=bits)
        return Release(names[winner], self, MappingProxyType({"candidates": scores.size}))
