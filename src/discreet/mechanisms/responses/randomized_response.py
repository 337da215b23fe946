"""Randomized response: each unit answers for itself, and lies with a known probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Interval, integer, log_upper, rational, shown
from discreet.mechanisms.inputs.parameters import assign, exactly_one, miss, read_positive
from discreet.mechanisms.inputs.values import exact_integers
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.release import Release
from discreet.noise import SYSTEM, BitSource, uniform_integer
from discreet.noise.tables import WeightTable
from discreet.privacy import NeighborRelation, Pure, curves

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["RandomizedResponse", "Shares", "require_local"]

_MOST_ANSWERS = 1 << 40


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Unbiased estimates of how often each answer is true, from randomized responses.

    `variance` is that of the randomization, at the estimated shares; a share may come out below 0 or above 1, for
    clamping it would bias it.

    >>> shares = RandomizedResponse(2, truth="3/4").estimate([0] * 400 + [1] * 600)
    >>> shares.values.round(9).tolist(), shares.responses
    ([0.3, 0.7], 1000)
    """

    values: NDArray[np.float64]
    variance: NDArray[np.float64]
    responses: int
    spread: float
    """1 / (p - q): by what responses are stretched."""

    def error(self, confidence: float = 0.95) -> float:
        """Return a bound on each share's error with this probability, for every truth.

        The number of responses with one answer is a sum of independent coins, so its share lies within
        sqrt(ln(2 / miss) / (2 N)) of its expectation (Hoeffding 1963, doi:10.1080/01621459.1963.10500830).

        >>> round(RandomizedResponse(2, truth="3/4").estimate([0, 1] * 5000).error(0.95), 4)
        0.0272
        """
        return self.spread * math.sqrt(math.log(2 / float(miss(confidence))) / (2 * self.responses))


@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse(Mechanism["int | Sequence[int] | NDArray[np.integer]", "int | NDArray[np.int64]"]):
    r"""Answer truthfully with probability p, otherwise with one of the other answers, all equally likely.

    Privacy. Answers are 0, ..., k - 1. Two truths give one response with probabilities whose ratio is at most
    $p / q$, where $q = (1 - p)/(k - 1)$; so $p = e^\varepsilon/(e^\varepsilon + k - 1)$ is epsilon-private, for each
    unit by itself, whatever the others do (the local model). An array holds one answer of each of several units, in
    their order, which shows how many there are and who answered what: neighbors differ in the answer of one unit at its
    own place, and under no other relation is such an array private.

    Estimate. A response is j with probability $q + (p - q)\pi_j$, so $\hat\pi_j = (c_j/N - q)/(p - q)$ is unbiased,
    with variance $(\pi_j\,p(1-p) + (1-\pi_j)\,q(1-q)) / (N (p-q)^2)$ from the randomization. For k = 2 that is
    $p(1-p)/(N(2p-1)^2)$ whatever the truth. If the N units are themselves a sample, $\pi_j(1-\pi_j)/N$ is added.

    Warner 1965 (doi:10.1080/01621459.1965.10480775); Kairouz, Oh & Viswanath 2016 (arXiv:1407.1338) for k answers.

    >>> coin = RandomizedResponse(2, truth="3/4")
    >>> round(float(coin.epsilon), 6), coin.variance(share="1/2", responses=100)
    (1.098612, Fraction(3, 400))
    """

    kind: ClassVar[str] = "randomized_response"
    guarantee: ClassVar[str] = (
        "An answer that is kept with probability p = e^epsilon / (e^epsilon + k - 1) and otherwise replaced by one of "
        "the k - 1 others, all equally likely, is epsilon-locally differentially private."
    )
    accuracy: ClassVar[str] = (
        "an estimated share has variance (pi p (1-p) + (1-pi) q (1-q)) / (N (p-q)^2), q = (1-p) / (k-1)"
    )
    source: ClassVar[str] = (
        "Warner 1965, doi:10.1080/01621459.1965.10480775; Kairouz, Oh & Viswanath 2016, arXiv:1407.1338"
    )
    _assumes: ClassVar[tuple[str, ...]] = ("each unit gives one answer: of several, the promises add up.",)
    no_error_because: ClassVar[str] = (
        "a response is one of several answers; estimate(responses) returns shares with their errors."
    )

    answers: int
    epsilon: Fraction
    truth: Fraction | None
    neighbors: Relation

    def __init__(
        self,
        answers: SupportsIndex,
        *,
        epsilon: Number | None = None,
        truth: Number | None = None,
        neighbors: Relation = NeighborRelation.CHANGE_ONE_ORDERED,
    ) -> None:
        count = integer(answers, name="answers", least=2, most=_MOST_ANSWERS)
        if truth is None:
            exactly_one(epsilon=epsilon, truth=truth)
            rate, kept = read_positive(epsilon, "epsilon", zero="it tells nothing"), None
        else:
            kept = rational(truth, name="truth")
            if not Fraction(1, count) < kept < 1:
                msg = f"truth is {shown(truth)}; of {count} answers it must lie above 1/{count} and below 1."
                raise ParameterError(msg)
            rate = log_upper(kept * (count - 1) / (1 - kept))
            if epsilon is not None and rational(epsilon, name="epsilon") != rate:
                msg = f"epsilon is {shown(epsilon)} and truth is {shown(truth)}; give one of them."
                raise ParameterError(msg)
        assign(self, answers=count, epsilon=rate, truth=kept, neighbors=require_local(neighbors))

    @property
    def claim(self) -> Pure:
        """Epsilon, exactly, or rounded up from the probability of the truth."""
        return Pure(self.epsilon, neighbors=self.neighbors)

    @property
    def privacy(self) -> Curve:
        """The exact curve of one unit's response."""
        return curves.randomized_response(self.epsilon, self.answers, neighbors=self.neighbors)

    def error(self, confidence: float = 0.95) -> None:
        """A single response has none."""
        miss(confidence)

    @property
    def keep(self) -> float:
        """The probability p of the true answer, as a float."""
        if self.truth is not None:
            return float(self.truth)
        return 1 / (1 + (self.answers - 1) * math.exp(-float(self.epsilon)))

    def release(
        self, value: int | Sequence[int] | NDArray[np.integer], *, bits: BitSource = SYSTEM
    ) -> Release[int | NDArray[np.int64]]:
        """Return the responses of one or several units; answers outside 0, ..., k - 1 are clamped."""
        truth = np.clip(exact_integers(value), 0, self.answers - 1)
        lies = _coin(self.answers, self.epsilon, self.truth).draw(truth.size, bits)[0].reshape(truth.shape)
        others = uniform_integer(self.answers - 1, size=truth.shape, bits=bits) if self.answers > 2 else 0
        answers = np.where(lies == 1, (truth + 1 + others) % self.answers, truth)
        return Release(int(answers) if np.ndim(answers) == 0 else answers, self)

    def estimate(self, responses: ArrayLike) -> Shares:
        """Estimate how often each answer is true; this is post-processing and costs nothing.

        >>> RandomizedResponse(3, epsilon=1).estimate([0, 1, 2]).values.round(3).tolist()
        [0.333, 0.333, 0.333]
        """
        given = exact_integers(responses).ravel()
        if given.size == 0 or given.min() < 0 or given.max() >= self.answers:
            msg = f"responses must be at least one, each from 0 to {self.answers - 1}; take what release returned."
            raise ParameterError(msg)
        counts, total = np.bincount(given, minlength=self.answers), int(given.size)
        p = self.keep
        q = (1 - p) / (self.answers - 1)
        values = (counts / total - q) / (p - q)
        inside = np.clip(values, 0, 1)
        variance = (inside * p * (1 - p) + (1 - inside) * q * (1 - q)) / (total * (p - q) ** 2)
        return Shares(values, variance, total, 1 / (p - q))

    def variance(self, share: Number, responses: SupportsIndex, *, sampled: bool = False) -> Fraction:
        """Return the variance of one estimated share, with that of sampling the units if they are a sample.

        It is exact where the probability of the truth was given, and from a float of it otherwise.

        >>> RandomizedResponse(2, truth="3/4").variance(share="1/5", responses=1, sampled=True) - Fraction(3, 4)
        Fraction(4, 25)
        """
        part, count = rational(share, name="share"), integer(responses, name="responses", least=1)
        if not 0 <= part <= 1:
            msg = f"share is {shown(share)}; it must lie between 0 and 1."
            raise ParameterError(msg)
        p = self.truth if self.truth is not None else Fraction(self.keep)
        q = (1 - p) / (self.answers - 1)
        noise = (part * p * (1 - p) + (1 - part) * q * (1 - q)) / (count * (p - q) ** 2)
        return noise + (part * (1 - part) / count if sampled else 0)


def require_local(neighbors: Relation) -> NeighborRelation:
    """Refuse all relations but the one under which units answer for themselves.

    >>> require_local(NeighborRelation.CHANGE_ONE_ORDERED).value
    'change_one_ordered'
    """
    if neighbors is not NeighborRelation.CHANGE_ONE_ORDERED:
        msg = (
            f"neighbors is {shown(neighbors)}; responses come one per unit, at the unit's own place, and show how many "
            "units there are. The promise is for change_one_ordered, each respondent's own answer: leave neighbors "
            "out, and take .privacy.group(k) for groups of k."
        )
        raise ParameterError(msg)
    return NeighborRelation.CHANGE_ONE_ORDERED


@lru_cache(maxsize=64)
def _coin(answers: int, epsilon: Fraction, truth: Fraction | None) -> WeightTable:
    """Return the law of 0 (the truth) and 1, with weights 1 and (k - 1) exp(-epsilon), or p and 1 - p."""

    def weights(precision: int) -> tuple[Sequence[int], Sequence[int]]:
        if truth is not None:
            exact = (truth.numerator << precision, (truth.denominator - truth.numerator) << precision)
            return exact, exact
        fall = Interval.of(-epsilon, precision).exp()
        return (1 << precision, (answers - 1) * fall.lo), (1 << precision, (answers - 1) * fall.hi)

    return WeightTable([0, 1], weights)
