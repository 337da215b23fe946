"""The exact audit: both output laws written out, and the claim held against them at every epsilon that matters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.privacy import Curve

__all__ = ["ExactAudit", "audit_exactly", "hockey_stick"]

Output = TypeVar("Output", bound="Hashable")

TOLERANCE = 1e-12
BETWEEN = 4
MOST_PLACES = 400


@dataclass(frozen=True, slots=True)
class ExactAudit:
    """How far the true delta exceeds the claimed one, and how far it stays below.

    >>> import discreet.privacy as p
    >>> audit_exactly({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}, claim=p.pure(epsilon=1)).refuted
    True
    """

    claim: Curve
    epsilon: float
    """The largest loss of the two laws; infinity if an output of one is impossible under the other."""

    excess: float
    """The most by which the laws' delta exceeds the claim's, over all epsilons and both orders."""

    at: float
    """The epsilon where it does."""

    gap: float
    """The most by which the claim's delta exceeds the laws': no more than rounding if the claim is as small as can be.

    A claim answers with an interval: `excess` is measured from its upper end, this from its lower end.
    """

    places: int
    """At how many epsilons they were compared."""

    @property
    def refuted(self) -> bool:
        """Whether the claim is too small by more than rounding explains.

        >>> import discreet.privacy as p
        >>> same = {0: 0.5, 1: 0.5}
        >>> audit_exactly(same, same, claim=p.pure(epsilon=0)).refuted
        False
        """
        return self.excess > TOLERANCE


def hockey_stick(over: NDArray[np.float64], under: NDArray[np.float64], epsilon: float) -> float:
    """Return the smallest delta for which over(E) <= exp(epsilon) under(E) + delta holds for every event E.

    The worst event holds the outcomes where over exceeds exp(epsilon) times under: sum of max(0, over - e^eps under).

    >>> hockey_stick(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.0)
    0.5
    """
    factor = math.exp(min(epsilon, 700.0))
    return math.fsum(np.maximum(over - factor * under, 0.0))


def audit_exactly(
    first: Mapping[Output, float | Fraction], second: Mapping[Output, float | Fraction], *, claim: Curve
) -> ExactAudit:
    """Compare a claim with two output laws, outcome by outcome.

    As a function of exp(epsilon) the true delta is a broken line, with a corner at each log-ratio of two chances; the
    claim is asked at 0, at every corner (at most 400, the extremes among them), between corners and beyond the last.
    A law on infinitely many outcomes is given with its tails joined: joining outcomes cannot make a loss larger, so
    what is refuted stays refuted.

    >>> import discreet.privacy as p
    >>> kept, flipped = math.e / (1 + math.e), 1 / (1 + math.e)
    >>> claim = p.randomized_response(epsilon=1)
    >>> audited = audit_exactly({"yes": kept, "no": flipped}, {"yes": flipped, "no": kept}, claim=claim)
    >>> audited.refuted, audited.gap < 1e-12, round(audited.epsilon, 12)
    (False, True, 1.0)
    """
    p, q = _aligned(first, second)
    places = _places(p, q)
    truth = [max(hockey_stick(p, q, place), hockey_stick(q, p, place)) for place in places]
    claims = [claim.delta_interval(place) for place in places]
    excess = [delta - ends[1] for delta, ends in zip(truth, claims, strict=True)]
    worst = int(np.argmax(excess))
    return ExactAudit(
        claim=claim,
        epsilon=float(np.max(np.abs(_losses(p, q)))),
        excess=excess[worst],
        at=places[worst],
        gap=max(ends[0] - delta for delta, ends in zip(truth, claims, strict=True)),
        places=len(places),
    )


def _aligned(
    first: Mapping[Output, float | Fraction], second: Mapping[Output, float | Fraction]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both laws over the same outcomes, those that neither gives left out."""
    outcomes = list(dict.fromkeys([*first, *second]))
    laws = []
    for name, law in (("first", first), ("second", second)):
        chances = np.array([float(law.get(outcome, 0)) for outcome in outcomes])
        if (chances < 0).any() or not abs(math.fsum(chances) - 1) <= TOLERANCE:
            msg = f"the chances of the {name} law sum to {math.fsum(chances)!r}; they must be nonnegative and sum to 1."
            raise ParameterError(msg)
        laws.append(chances)
    possible = (laws[0] > 0) | (laws[1] > 0)
    return laws[0][possible], laws[1][possible]


def _losses(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        losses: NDArray[np.float64] = np.log(p) - np.log(q)
    return losses


def _places(p: NDArray[np.float64], q: NDArray[np.float64]) -> list[float]:
    losses = np.abs(_losses(p, q))
    corners = np.unique(np.append(losses[np.isfinite(losses)], 0.0))
    if len(corners) > MOST_PLACES:
        corners = corners[np.unique(np.linspace(0, len(corners) - 1, MOST_PLACES).astype(int))]
    steps = max(1, min(BETWEEN, MOST_PLACES // len(corners)))
    ends = np.append(corners, corners[-1] * 1.5 + 1)
    inner = [np.linspace(a, b, steps, endpoint=False) for a, b in pairwise(ends)]
    return [float(place) for place in np.append(np.concatenate(inner), ends[-1])]
