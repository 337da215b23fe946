"""A lower bound on epsilon from a single run, with many canaries that are each in or out by a coin of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.checks.audits.guessing import expected_right, gaussian_misses, misses_of, too_many_right
from discreet.checks.audits.result import Assumed, keep_audit, read_assumed
from discreet.errors import ParameterError
from discreet.exact import float_down, float_up, integer, rational, shown
from discreet.noise import SYSTEM, BitSource, uniform_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from discreet.exact import Number
    from discreet.ledgers import Ledger
    from discreet.privacy import Curve

__all__ = ["OneRun", "Run", "audit_one_run", "guesses_are_too_good"]

Run: TypeAlias = "Callable[[NDArray[np.bool_], BitSource], ArrayLike]"
"""Runs once with the canaries that are in, and gives each canary a score, larger where it was rather in."""

SHARES = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05, 0.02)
"""Of how many canaries something may be guessed, as shares of all, unless the caller says."""
HALVINGS = 40
MOST_EPSILON = 64.0
LEAST_MU, MOST_MU = 1e-6, 32.0


@dataclass(frozen=True)
class OneRun:
    """What one run with canaries proves about a claim.

    `epsilon` is the lower bound at `delta`; `reach` the most that so many canaries could have shown.

    >>> import discreet.privacy as p
    >>> tell = lambda included, bits: included
    >>> print(audit_one_run(tell, 1000, claim=p.pure(epsilon=1), guesses=200))
    refuted: epsilon > 4 in one run with 1000 canaries, claimed 1 (confidence 0.95, 200 of 200 guesses right)
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
    assumed: Assumed = Assumed.NOTHING
    name: str = ""

    def __str__(self) -> str:
        verdict = "refuted" if self.refuted else "not refuted"
        short = f"; at best {self.reach:.3g} could be shown" if self.reach <= self.claimed else ""
        title = f"{self.name}: " if self.name else ""
        return (
            f"{title}{verdict}: epsilon > {self.epsilon:.2g} in one run with {self.canaries} canaries, claimed "
            f"{self.claimed:.3g} (confidence {self.confidence:g}, {self.right} of {self.guesses} guesses right"
            f"{', if the noise is Gaussian' if self.assumed is Assumed.GAUSSIAN else ''}{short})"
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

    def keep(self, ledger: Ledger) -> str:
        """Write the result into a ledger, beside the claim, at cost 0; give the head of the ledger.

        >>> import discreet.privacy as p
        >>> from discreet.ledgers import MemoryLedger
        >>> from discreet.tables import Policy
        >>> ledger = MemoryLedger(Policy([], epsilon=1))
        >>> _ = audit_one_run(lambda coins, bits: coins, 100, claim=p.pure(epsilon=1), name="a model").keep(ledger)
        >>> [line.body["refuted"] for line in ledger.entries(kind="audit")]
        [True]
        """
        counts = {"canaries": self.canaries, "guesses": self.guesses, "right": self.right}
        return keep_audit(ledger, self.name or "one run", self.record(), **counts)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw what the claim allows a test and what the scores' thresholds got (needs the extra `plot`).

        >>> import discreet.privacy as p
        >>> audit_one_run(lambda included, bits: included, 100, claim=p.pure(epsilon=1)).plot().get_ylabel()
        'true positive rate'
        """
        from discreet.checks.audits.pictures import draw_claim

        drawn = draw_claim(self.claim, axes)
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

    if not (0 <= right <= guesses <= canaries and epsilon >= 0 and 0 <= delta <= 1):
        msg = (
            f"right, guesses and canaries are {right}, {guesses} and {canaries}, epsilon is {shown(epsilon)} and delta "
            f"{shown(delta)}; right must be at most guesses, guesses at most canaries, and (epsilon, delta) a promise."
        )
        raise ParameterError(msg)
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
    assuming: Assumed | str = Assumed.NOTHING,
    name: str = "",
    bits: BitSource = SYSTEM,
) -> OneRun:
    """Put each of `canaries` units into one run by a fair coin, guess from the scores who was in, and count.

    A canary is a unit of the caller's making, such as an example with a wrong label; canaries are added or removed (if
    the claim is for change-one: exchanged for another unit), and all other data stay. Scores are made of what the run
    releases, and never of the coins. As in the paper, half of the `guesses` say "in" of the largest scores and half
    "out" of the smallest, nothing is said of the others, and equal scores are in random order.

    Few guesses are surer, many are more. Without `guesses`, as many are made as would show most if the scores told as
    much as the claim allows: that depends on the claim alone, and not on the scores, so that nothing is selected.

    Half of what the confidence leaves is for `epsilon`, the largest that the right guesses refute (Steinke, Nasr,
    Jagielski 2023); half for the claim's whole curve, which refutes it sooner (`discreet.checks.audits.guessing`). If
    you vouch for Gaussian noise, all is for the largest Gaussian curve that they refute, and epsilon is that curve's.

    >>> import discreet.privacy as p
    >>> from discreet.noise import discrete_laplace
    >>> half_noise = lambda included, bits: included + discrete_laplace("1/8", included.size, bits)
    >>> audit_one_run(half_noise, 2000, claim=p.pure(epsilon=2)).refuted
    True
    """
    many = integer(canaries, name="canaries", least=10)
    sure, chance, assumed = (
        rational(confidence, name="confidence"),
        rational(delta, name="delta"),
        read_assumed(assuming),
    )
    if not 0 < sure < 1:
        msg = f"confidence is {shown(confidence)}; it must lie between 0 and 1, such as 0.95."
        raise ParameterError(msg)
    if not 0 <= chance < 1 or (assumed is Assumed.GAUSSIAN and not chance):
        msg = f"delta is {shown(delta)}; it must be at least 0 and below 1, and of Gaussian noise above 0."
        raise ParameterError(msg)
    parts = 1 if assumed is Assumed.GAUSSIAN else 2
    error, extra = float_down((1 - sure) / parts), float_up(chance)
    test = _Test(many, extra, error, assumed)
    if guesses is None:
        count = _most_telling(claim, test)
    else:
        count = integer(guesses, name="guesses", least=2, most=many) // 2 * 2
    included = uniform_integer(2, size=many, bits=bits).astype(np.bool_)
    made = run(included.copy(), bits)
    try:
        scores = np.asarray(made, dtype=np.float64)
    except (TypeError, ValueError):
        msg = f"run gave no numbers; it must give {many} of them, one for each canary."
        raise ParameterError(msg) from None
    if scores.shape != (many,) or np.isnan(scores).any():
        msg = f"run gave scores of shape {scores.shape}; it must give {many} numbers, one for each canary."
        raise ParameterError(msg)
    order = np.lexsort((uniform_integer(1 << 62, size=many, bits=bits), scores))
    half = count // 2
    right = int(included[order[many - half :]].sum() + (~included[order[:half]]).sum())
    epsilon, claimed = test.shown(right, count), claim.epsilon(chance)
    beyond = parts == 2 and too_many_right(right, count, many, misses=misses_of(claim), error=error)
    return OneRun(
        claim=claim,
        delta=float(chance),
        confidence=float(sure),
        claimed=claimed,
        epsilon=epsilon,
        reach=test.shown(count, count),
        canaries=many,
        guesses=count,
        right=right,
        refuted=beyond or epsilon > claimed,
        rates=_rates(scores, included),
        assumed=assumed,
        name=name,
    )


@dataclass(frozen=True, slots=True)
class _Test:
    """What is fixed before a run: of how many canaries, at which delta, wrong with which chance, assuming what."""

    canaries: int
    delta: float
    error: float
    assumed: Assumed

    def shown(self, right: int, guesses: int) -> float:
        """Return the epsilon that so many right guesses show."""
        if self.assumed is Assumed.NOTHING:
            return _refuted_below(right, guesses, self.canaries, self.delta, self.error)
        from discreet.privacy import gaussian

        low, high = 0.0, MOST_MU
        if not self._breaks(right, guesses, LEAST_MU):
            return 0.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._breaks(right, guesses, middle) else (low, middle)
        return max(0.0, gaussian(sigma=1 / low).epsilon(self.delta) * (1 - 2**-30)) if low else 0.0

    def _breaks(self, right: int, guesses: int, mu: float) -> bool:
        return too_many_right(right, guesses, self.canaries, misses=gaussian_misses(mu), error=self.error)


@lru_cache(maxsize=256)
def _most_telling(claim: Curve, test: _Test) -> int:
    """Choose the number of guesses from the claim alone: that with which a run as telling as it allows shows most."""
    misses, worth = misses_of(claim), {}
    for share in SHARES:
        count = max(1, int(test.canaries * share / 2)) * 2
        rate = expected_right(misses, count / test.canaries)
        # Where no number of guesses shows anything of epsilon, as with a large delta, the curve is left to be tested.
        worth[count] = test.shown(min(round(count * rate), count), count), (rate - 1 / 2) * math.sqrt(count), count
    return max(worth, key=worth.__getitem__)


def _refuted_below(right: int, guesses: int, canaries: int, delta: float, error: float) -> float:
    """Find the largest epsilon that is refuted, by halving: so many right guesses are likelier, the larger it is."""
    low, high = 0.0, MOST_EPSILON
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
    # No interpolation: between infinities there is nothing.
    places: Sequence[float] = np.sort(scores)[::-1][np.linspace(0, len(scores) - 1, 41).astype(int)].tolist()
    ins, outs = scores[included], scores[~included]
    return tuple((float((outs >= place).mean()), float((ins >= place).mean())) for place in places)
