"""The exponential mechanism: one of many candidates, the better the likelier."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from discreet.mechanisms.choosing.choice import ScoredChoice
from discreet.mechanisms.choosing.scores import (
    checked_candidates,
    gap_bound,
    listed_candidates,
    private_scores,
    require_monotone,
    scored,
)
from discreet.mechanisms.inputs.parameters import assign, read_positive
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource, lottery
from discreet.privacy import NeighborRelation, curves
from discreet.privacy.relations import require_relation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction
    from typing import SupportsIndex

    from numpy.typing import ArrayLike

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["Exponential", "exponential"]


@dataclass(frozen=True, slots=True, init=False)
class Exponential(ScoredChoice["ArrayLike", object]):
    r"""Choose candidate i with probability proportional to weight_i * exp(score_i / scale).

    Privacy. scale = 2 sensitivity / epsilon. If one unit moves every score by at most the sensitivity s, then
    $e^{w_i/\text{scale}}$ changes by a factor of at most $e^{\epsilon/2}$, and so does the sum over all candidates:

    $$\frac{\Pr[i \mid x]}{\Pr[i \mid x']} = e^{(w_i - w_i')/\text{scale}} \cdot
    \frac{\sum_j m_j e^{w_j'/\text{scale}}}{\sum_j m_j e^{w_j/\text{scale}}} \le e^{\epsilon}.$$

    The second factor is the same for all i, so all losses of one pair of neighbors lie in an interval of length
    epsilon: the mechanism has bounded range, and its curve is smaller than that of a pure epsilon. Where for each pair
    of neighbors all scores move the same way (counts, under add/remove), $w_i - w_i'$ lies in [0, s] for all i or in
    [-s, 0] for all i, so scale = s / epsilon has the same range: `monotone=True`.

    The weights are public. Scores are read as they are, a float as its binary value; they may be as large as 1e9 and a
    million of them may be given: the draw is exact (`noise.lottery`).

    McSherry & Talwar 2007 (doi:10.1109/FOCS.2007.41); bounded range: Dong, Durfee & Rogers 2020
    (arXiv:1909.13830).

    >>> Exponential(sensitivity=1, epsilon=1).release([0, 3, 500]).value
    2
    >>> round(Exponential(sensitivity=1, epsilon=1).privacy.zcdp(), 3), Exponential(sensitivity=1, epsilon=1).promise
    (0.125, 'ε = 1')
    """

    kind: ClassVar[str] = "exponential"
    guarantee: ClassVar[str] = (
        "Choosing a candidate with probability proportional to exp(epsilon * score / (2 sensitivity)), where one unit "
        "moves each score by at most the sensitivity, is epsilon-differentially private with range epsilon; monotone "
        "scores need no 2."
    )
    accuracy: ClassVar[str] = "best score - score <= scale * ln(candidates / (best * (1 - confidence)))"
    source: ClassVar[str] = "McSherry & Talwar 2007, doi:10.1109/FOCS.2007.41"

    sensitivity: Fraction
    epsilon: Fraction
    monotone: bool
    neighbors: Relation

    def __init__(
        self,
        sensitivity: Number,
        *,
        epsilon: Number,
        monotone: bool = False,
        neighbors: Relation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        relation = require_relation(neighbors)
        assign(
            self,
            sensitivity=read_positive(sensitivity, "sensitivity", zero="scores that no unit moves need no noise"),
            epsilon=read_positive(epsilon, "epsilon", zero="every candidate would be equally likely"),
            monotone=require_monotone(relation, monotone=monotone),
            neighbors=relation,
        )

    @property
    def privacy(self) -> Curve:
        """The curve of bounded range."""
        return curves.exponential(self.epsilon, neighbors=self.neighbors)

    def score_gap(self, candidates: SupportsIndex, confidence: float = 0.95, *, best: SupportsIndex = 1) -> float:
        """Return how far below the best score the chosen one stays, where `best` candidates share the best score.

        >>> round(Exponential(sensitivity=1, epsilon=1).score_gap(candidates=4, confidence=0.95), 2)
        8.76
        """
        return gap_bound(self.scale, candidates, best, confidence)

    def release(
        self,
        value: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        candidates: Sequence[object] | None = None,
        bits: BitSource = SYSTEM,
    ) -> Release[object]:
        """Return the chosen candidate, or its index; `value` holds the scores, `weights` a public measure."""
        scores = private_scores(value)
        names = checked_candidates(candidates, scores.size)
        winner = lottery(scores, self.scale, weights, bits)
        return Release(names[winner], self, MappingProxyType({"candidates": scores.size}))


def exponential(  # noqa: PLR0913  each is a public fact of the release
    candidates: Sequence[object],
    scores: ArrayLike | Callable[[object], float],
    *,
    sensitivity: Number,
    epsilon: Number,
    weights: ArrayLike | None = None,
    monotone: bool = False,
    neighbors: Relation = NeighborRelation.ADD_REMOVE,
) -> Release[object]:
    """Choose one of the candidates privately, by scores or by a function that scores a candidate.

    Where the function raises or returns no number, the candidate gets the lowest score.

    >>> exponential(["tea", "coffee"], [3, 900], sensitivity=1, epsilon=1).value
    'coffee'
    >>> exponential(range(100), lambda c: -50 * abs(c - 70), sensitivity=1, epsilon=2).value
    70
    """
    mechanism = Exponential(sensitivity, epsilon=epsilon, monotone=monotone, neighbors=neighbors)
    names = listed_candidates(candidates)
    values = scored(scores, names) if callable(scores) else scores
    return mechanism.release(values, weights=weights, candidates=names)
