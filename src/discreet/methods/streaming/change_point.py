"""Where in a finished series the law changed: the offline method of Cummings et al. 2018."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import Grid, integer, shown
from discreet.exact.rational import read_choice
from discreet.mechanisms.choices.noisy_max import RaceNoise
from discreet.mechanisms.inputs.parameters import assign, miss, read_grid, read_positive
from discreet.mechanisms.promise import register
from discreet.mechanisms.release import Release
from discreet.mechanisms.words import movers, promise_in_words
from discreet.methods.streaming.likelihoods import Likelihoods, read_likelihoods, read_numbers
from discreet.noise import SYSTEM, BitSource, exponential_race, laplace_race
from discreet.privacy import NeighborRelation, Pure, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction
    from typing import Self, SupportsIndex

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["ChangePoint", "Evidence"]

_FINE = Grid("1/1024")
_FARTHEST = 1 << 20
_RATES = 400
_SOURCE = "Cummings, Krehbiel, Mei, Tuo & Zhang 2018, arXiv:1808.10056"


@dataclass(frozen=True, slots=True, init=False)
class Evidence:
    """Log-likelihood ratios as whole steps of a grid, and how far one unit moves them.

    Scores are sums over the elements from a place on, so two of them differ by the ratios between two places, and what
    counts is how far one unit moves such a sum. An event that comes or goes moves it by at most the larger end; one
    that leaves while another enters, on the same step or elsewhere, by at most the distance of the ends, as 0 lies
    between them. A person has `events` of them.

    >>> from discreet.methods.streaming import Bernoulli
    >>> Evidence(Bernoulli("0.2", "0.8"), grid="1/2").moved
    3
    """

    likelihoods: Likelihoods
    grid: Grid
    events: int | None
    relation: NeighborRelation

    def __init__(
        self,
        likelihoods: Likelihoods | Mapping[str, Any],
        *,
        grid: Grid | Number | None = None,
        events: SupportsIndex | None = None,
        neighbors: NeighborRelation = NeighborRelation.ADD_REMOVE,
    ) -> None:
        if not isinstance(neighbors, NeighborRelation):
            msg = f"neighbors is {shown(neighbors)}; it must be a NeighborRelation. `events` says whom it protects."
            raise ParameterError(msg)
        assign(self, likelihoods=read_likelihoods(likelihoods), grid=_FINE if grid is None else read_grid(grid))
        assign(self, events=None if events is None else integer(events, name="events", least=1, most=1 << 20))
        assign(self, relation=neighbors)

    @property
    def neighbors(self) -> Relation:
        """Events; or persons, where `events` says how many one has."""
        return self.relation.of(Unit.EVENT) if self.events is None else self.relation

    @property
    def ends(self) -> tuple[int, int]:
        """The smallest and the largest ratio, in steps."""
        low, high = self.likelihoods.bounds
        step = float(self.grid.step)
        return math.floor(low / step), math.ceil(high / step)

    @property
    def moved(self) -> int:
        """How far one unit moves the sum of any elements, in steps."""
        low, high = self.ends
        each = max(-low, high) if self.relation is NeighborRelation.ADD_REMOVE else high - low
        return each * (self.events or 1)

    def steps(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return each element's ratio in steps; what is no number says nothing."""
        ratios = np.nan_to_num(self.likelihoods.ratios(np.nan_to_num(values, nan=0.0, posinf=1e300, neginf=-1e300)))
        low, high = self.ends
        steps = np.clip(np.rint(ratios / float(self.grid.step)), low, high).astype(np.int64)
        return np.where(np.isnan(values), 0, steps)

    def record(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return {
            "likelihoods": self.likelihoods.record(),
            "grid": str(self.grid.step),
            "events": self.events,
            "neighbors": self.relation.value,
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        return cls(
            record["likelihoods"],
            grid=record["grid"],
            events=record["events"],
            neighbors=NeighborRelation(record["neighbors"]),
        )


@register
@dataclass(frozen=True, slots=True, init=False)
class ChangePoint:
    r"""Where a series of n elements changed from one law to another: noisy maximum likelihood.

    The score of "from element k on" is the sum of the log-likelihood ratios from k on, and the place with the largest
    noisy score is released (Cummings, Krehbiel, Mei, Tuo & Zhang 2018, arXiv:1808.10056: OfflinePCPD).

    Privacy. Two scores differ by the ratios of the elements between them, so one unit moves the difference of *any* two
    by at most D = `evidence.moved`. Fix the noise of all places but k; then k wins when its noise exceeds some t, which
    moves by at most D between neighbors. Noise of scale D / epsilon, exponential or Laplace, changes the chance of that
    by at most a factor e^epsilon. So no factor 2 is lost, whether ratios rise or fall. n, the clock, is public; an
    element that is missing counts as 0.

    Accuracy. Place k* - m wins only if m elements before k* speak for the change and the noises make up the rest; so
    for every x below epsilon / D it has a chance of at most M(x) E_0[exp(x r)]^m, M the moment of the difference of two
    noises, and k* + m one of M(x) E_1[exp(-x r)]^m. Summed over m > a, both tails are geometric. The paper's theorem
    is of this form, with bounds (a difference of means, a range) in the place of the family's own moments.

    >>> from discreet.methods.streaming import Bernoulli
    >>> found = ChangePoint(Bernoulli("0.1", "0.9"), epsilon=1)
    >>> answer = found.release([0] * 500 + [1] * 500)
    >>> abs(answer.value - 500) <= 60, answer.error(0.95) <= 20
    (True, True)
    """

    kind: ClassVar[str] = "change_point"
    accuracy: ClassVar[str] = "smallest a with M(x) psi(x)^(a + 1) / (1 - psi(x)), both sides, below 1 - confidence"

    evidence: Evidence
    epsilon: Fraction
    noise: RaceNoise

    def __init__(
        self,
        likelihoods: Likelihoods | Mapping[str, Any],
        *,
        epsilon: Number,
        noise: RaceNoise | str = RaceNoise.EXPONENTIAL,
        **how: Any,  # noqa: ANN401  as Evidence has it
    ) -> None:
        race = read_choice(RaceNoise, noise, "noise")
        if race is RaceNoise.GUMBEL:
            msg = "noise is 'gumbel'; take 'exponential', the better for a pure epsilon, or 'laplace', the paper's."
            raise ParameterError(msg)
        assign(self, evidence=Evidence(likelihoods, **how), noise=race)
        assign(self, epsilon=read_positive(epsilon, "epsilon", zero="every place would be equally likely"))

    @property
    def neighbors(self) -> Relation:
        """Whom it protects."""
        return self.evidence.neighbors

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps."""
        return self.evidence.moved / self.epsilon

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
        return (
            f"One unit moves the difference of any two scores by at most D; each has noise of scale D / e. ({_SOURCE})",
        )

    @property
    def assumed(self) -> tuple[str, ...]:
        """How many events a person has; for ±, the two laws."""
        events = self.evidence.events
        many = () if events is None else (f"{movers(self.neighbors)} has at most {events} events in the series.",)
        return (*many, "for ±: elements before and after are independent, and follow the two laws.")

    @property
    def no_error_because(self) -> str:
        """Where the laws are not known, nothing can be said."""
        known = self.evidence.likelihoods.law(after=True) is not None
        return "" if known else "the laws behind the given ratios are not known, on which the error depends."

    def missing(self, distance: int, *, exact: bool = False) -> float:
        """Bound the chance that the place is further off than this; with `exact` without any noise.

        >>> from discreet.methods.streaming import Bernoulli
        >>> found = ChangePoint(Bernoulli("0.1", "0.9"), epsilon=1)
        >>> found.missing(40) < found.missing(20) < 0.05
        True
        """
        sides = [_tails(self, after, exact) for after in (False, True)]
        total = 0.0
        for moments, psi in sides:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                tails = np.where(psi < 1, moments * psi ** (distance + 1) / (1 - psi), math.inf)
            total += float(np.min(tails))
        return min(total, 1.0)

    def error(self, confidence: float = 0.95) -> float | None:
        """Return how far off the place is at most, with this probability, if the two laws hold; None without laws."""
        chance = float(miss(confidence))
        if self.no_error_because:
            return None
        high = 1
        while self.missing(high) > chance:
            high *= 2
            if high > _FARTHEST:
                return None
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.missing(middle) > chance else (low, middle)
        return float(high)

    def error_of(self, value: int, details: Mapping[str, object], confidence: float = 0.95) -> float | None:
        """Return the bound of the theorem, which does not depend on the release."""
        del value, details
        return self.error(confidence)

    def release(self, values: object, *, bits: BitSource = SYSTEM) -> Release[int]:
        """Return the place of the first element after the change, counted from 0."""
        return self.locate(self.evidence.steps(read_numbers(values)), bits=bits)

    def locate(self, steps: NDArray[np.int64], *, bits: BitSource = SYSTEM) -> Release[int]:
        """The same from ratios in steps."""
        if not steps.size:
            msg = "there are no elements; give at least one."
            raise ParameterError(msg)
        scores = np.cumsum(steps[::-1])[::-1]
        race = exponential_race if self.noise is RaceNoise.EXPONENTIAL else laplace_race
        return Release(int(race(scores, self.scale, bits=bits)), self, {"elements": int(steps.size)})

    def record(self) -> dict[str, Any]:
        """Return the promise as a JSON object."""
        return {
            "kind": self.kind,
            "epsilon": str(self.epsilon),
            "noise": self.noise.value,
            "evidence": self.evidence.record(),
        }

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Read what `record` wrote."""
        evidence = Evidence.read(record["evidence"])
        return cls(
            evidence.likelihoods,
            epsilon=record["epsilon"],
            noise=record["noise"],
            grid=evidence.grid,
            events=evidence.events,
            neighbors=evidence.relation,
        )


@lru_cache(maxsize=64)
def _tails(promise: ChangePoint, after: bool, exact: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # noqa: FBT001
    """Return moments of the noises' difference and of an element, at several rates.

    The difference of two exponential noises is Laplace noise: 1 / (1 - (x b)^2); of two Laplace noises its square.
    """
    found = promise.evidence.likelihoods.law(after=after)
    assert found is not None  # noqa: S101 - by `error`
    ratios, chances = found
    scale = float(promise.scale * promise.evidence.grid.step)
    rates = np.arange(1, _RATES) / _RATES * (2.0 if exact else min(2.0, 1 / scale))
    power = 1 if promise.noise is RaceNoise.EXPONENTIAL else 2
    moments = np.ones(rates.size) if exact else (1 - (rates * scale) ** 2) ** -power
    sign = -1.0 if after else 1.0
    psi = np.exp(sign * rates[:, None] * ratios[None]) @ chances
    return moments, psi
