"""A lower bound on epsilon from a single run, with many canaries that are each in or out by a coin of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.checks.audits.bounds import chance_at_least, chance_at_most
from discreet.errors import ParameterError
from discreet.exact import float_down, float_up, integer, rational, shown
from discreet.noise import SYSTEM, BitSource, uniform_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve

__all__ = ["OneRun", "audit_one_run", "guesses_are_too_good"]

Run: TypeAlias = "Callable[[NDArray[np.bool_], BitSource], ArrayLike]"
"""Runs once with the canaries that are in, and gives each canary a score, larger where it was rather in."""

SHARES = (1.0, 0.5, 0.2, 0.05)
"""Of how many canaries something is guessed, as shares of all, unless the caller says."""
HALVINGS = 60


@dataclass(frozen=True)
class OneRun:
    """What one run with canaries proves about a claim.

    `epsilon` is the lower bound at `delta`; `reach` the most that so many canaries could have shown.

    >>> import discreet.privacy as p
    >>> tell = lambda included, bits: included
    >>> print(audit_one_run(tell, 1000, claim=p.pure(epsilon=1)))
    refuted: epsilon > 4.7 in one run with 1000 canaries, claimed 1 (confidence 0.95, 500 of 500 guesses right)
    """

    claim: Curve
    delta: float
    confidence: float
    claimed: float
    epsilon: float
    reach: float
    canaries: int
    guesses: int
    right: int
    refuted: bool
    rates: tuple[tuple[float, float], ...]
    """Observed false and true positive rates, for all thresholds of the scores."""

    def __str__(self) -> str:
        verdict = "refuted" if self.refuted else "not refuted"
        short = f"; at best {self.reach:.3g} could be shown" if self.reach <= self.claimed else ""
        return (
            f"{verdict}: epsilon > {self.epsilon:.2g} in one run with {self.canaries} canaries, claimed "
            f"{self.claimed:.3g} (confidence {self.confidence:g}, {self.right} of {self.guesses} guesses right{short})"
        )

    def record(self) -> dict[str, Any]:
        """Return the result as a JSON object.

        >>> import discreet.privacy as p
        >>> audit_one_run(lambda included, bits: 0 * included, 100, claim=p.pure(epsilon=1)).record()["canaries"]
        100
        """
        names = [name for name in self.__dataclass_fields__ if name not in {"claim", "rates"}]
        record = {name: getattr(self, name) for name in names} | {"claim": self.claim.record()}
        return record | {"claimed": None if math.isinf(self.claimed) else self.claimed}

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw what the claim allows a test and what the scores' thresholds got (needs the extra `plot`).

        >>> import discreet.privacy as p
        >>> audit_one_run(lambda included, bits: included, 100, claim=p.pure(epsilon=1)).plot().get_ylabel()
        'true positive rate'
        """
        from discreet.checks.audits.pictures import draw_audit

        many = self.canaries // 2
        best = max(self.rates, key=lambda rates: rates[1] - rates[0])
        error = (1 - self.confidence) / 2
        low = chance_at_least(round(best[1] * many), many, error)
        high = chance_at_most(round(best[0] * many), many, error)
        drawn = draw_audit(self.claim, (low, high), refuted=self.refuted, axes=axes)
        drawn.plot([alarm for alarm, _ in self.rates], [hit for _, hit in self.rates], label="observed")
        drawn.legend(loc="lower right")
        return drawn


def guesses_are_too_good(right: int, guesses: int, canaries: int, *, epsilon: float, delta: float = 0.0) -> float:
    """Return how likely so many right guesses, or more, are at most, if (epsilon, delta) holds.

    Steinke, Nasr, Jagielski 2023, "Privacy auditing with one (1) training run" (arXiv:2305.08846), theorem 5.2. With
    q = e^eps/(1 + e^eps): given the output, each canary's coin is what is guessed with chance q at most,
    whatever the others' are; so right guesses are no more than a binomial W of r guesses and chance q, and P[W >= v]
    bounds their chance. A delta adds 2 m delta times the largest, over i, of P[v > W >= v - i]/i.

    >>> guesses_are_too_good(10, 10, 10, epsilon=0.0) == 2**-10
    True
    >>> round(guesses_are_too_good(75, 100, 1000, epsilon=1.0, delta=1e-5), 4)
    0.3845
    """
    from scipy.stats import binom

    chance = 1 / (1 + math.exp(-epsilon))
    least = float(binom.sf(right - 1, guesses, chance))
    if not delta or not right:
        return min(least, 1.0)
    below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, chance))
    return min(least + 2 * canaries * delta * float((below / np.arange(1, right + 1)).max()), 1.0)


def audit_one_run(  # noqa: PLR0913 - all but the run and the canaries are named
    run: Run,
    canaries: int,
    *,
    claim: Curve,
    delta: Number = 0,
    confidence: Number = "0.95",
    guesses: int | None = None,
    bits: BitSource = SYSTEM,
) -> OneRun:
    """Put each of `canaries` units into one run by a fair coin, guess from the scores who was in, and count.

    A canary is a unit of the caller's making, such as an example with a wrong label; canaries are added or removed, and
    all other data stay. As in the paper, half of the `guesses` say "in" of the largest scores and half "out" of the
    smallest, nothing is said of the others, and equal scores are in random order. Few guesses are surer, many are more:
    without `guesses`, all, a half, a fifth and a twentieth are tried, each wrong with a fourth of what the confidence
    leaves, so that the best one counts. The lower bound is the largest epsilon that so many right guesses refute.

    >>> import discreet.privacy as p
    >>> from discreet.noise import discrete_laplace
    >>> half_noise = lambda included, bits: included + discrete_laplace("1/8", included.size, bits)
    >>> audit_one_run(half_noise, 2000, claim=p.pure(epsilon=2)).refuted
    True
    """
    many = integer(canaries, name="canaries", least=10)
    sure, chance = rational(confidence, name="confidence"), rational(delta, name="delta")
    if not 0 < sure < 1:
        msg = f"confidence is {shown(confidence)}; it must lie between 0 and 1, such as 0.95."
        raise ParameterError(msg)
    counts = [max(2, round(many * share)) for share in SHARES] if guesses is None else [guesses]
    counts = [integer(count, name="guesses", least=2, most=many) // 2 * 2 for count in counts]
    error, extra = float_down((1 - sure) / len(counts)), float_up(chance)
    included = uniform_integer(2, size=many, bits=bits).astype(np.bool_)
    scores = np.asarray(run(included.copy(), bits), dtype=np.float64)
    if scores.shape != (many,) or np.isnan(scores).any():
        msg = f"run gave scores of shape {scores.shape}; it must give {many} numbers, one for each canary."
        raise ParameterError(msg)
    order = np.lexsort((uniform_integer(1 << 62, size=many, bits=bits), scores))
    found = []
    for count in counts:
        half = count // 2
        right = int(included[order[many - half :]].sum() + (~included[order[:half]]).sum())
        found.append((_refuted_below(right, count, many, extra, error), count, right))
    epsilon, count, right = max(found)
    claimed = claim.epsilon(chance)
    reach = max(_refuted_below(tried, tried, many, extra, error) for tried in counts)
    return OneRun(
        claim=claim,
        delta=float(chance),
        confidence=float(sure),
        claimed=claimed,
        epsilon=epsilon,
        reach=reach,
        canaries=many,
        guesses=count,
        right=right,
        refuted=epsilon > claimed,
        rates=_rates(scores, included),
    )


def _refuted_below(right: int, guesses: int, canaries: int, delta: float, error: float) -> float:
    """Find the largest epsilon that is refuted, by halving: so many right guesses are likelier, the larger it is."""
    low, high = 0.0, 64.0
    if guesses_are_too_good(right, guesses, canaries, epsilon=low, delta=delta) > error:
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if guesses_are_too_good(right, guesses, canaries, epsilon=middle, delta=delta) <= error:
            low = middle
        else:
            high = middle
    return low


def _rates(scores: NDArray[np.float64], included: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    places: Sequence[float] = np.quantile(scores, np.linspace(1, 0, 41)).tolist()
    ins, outs = scores[included], scores[~included]
    return tuple((float((outs >= place).mean()), float((ins >= place).mean())) for place in places)
