"""The numbers behind an explanation: each a bound that holds for every mechanism with this epsilon and delta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.exact import integer
from discreet.exact.rational import read_delta, read_nonnegative
from discreet.privacy.curves import approximate, pure
from discreet.privacy.meanings import (
    attacker_accuracy,
    exposed_units,
    log_odds_shift,
    meaningful_population,
    semantic_bound,
    true_positive_rate,
)

if TYPE_CHECKING:
    from discreet.exact import Number
    from discreet.privacy.curve import Curve

__all__ = ["EXCEPTIONS", "PromiseFacts"]

EXCEPTIONS = 16
"""How many deltas of chance a bound on the odds is allowed to fail with; it costs ln(8/7) in log-odds."""

_LEAST_NOISE = 1000  # a larger epsilon is counted as this one: its noise is already 0 for all that anybody will see
_MOST_NOISE = Fraction(1, 10**12)  # below it noise is larger than any count of people


@dataclass(frozen=True, slots=True)
class PromiseFacts:
    """What (epsilon, delta) means, as numbers; None where nothing is promised, or nothing useful can be said.

    >>> facts = PromiseFacts.of("1", "1e-6", n=1000)
    >>> round(facts.accuracy, 3), round(facts.factor, 3), facts.exposed, facts.count_error
    (0.731, 3.107, 0.001, 3.0)
    >>> PromiseFacts.of(1).factor < 2.7183, PromiseFacts.of(1, "0.1").factor
    (True, None)
    """

    epsilon: Fraction
    delta: Fraction
    n: int | None

    accuracy: float
    """The best attacker's share of right guesses at even odds."""

    tenfold: float
    """The same after ten such promises."""

    outcome: float
    """How likely an outcome may become that has a chance of 1/100 if the unit is absent; also the best true positive
    rate at a false positive rate of 1/100."""

    rare: float
    """The same for a chance of 1/1000."""

    exception: Fraction
    """The chance with which the bound on the odds may fail: 0, or 16 delta."""

    log_odds: float | None
    """How far the log-odds move, except with that chance; None where the chance reaches 1."""

    semantic: float | None
    """The bound on beliefs, in total variation; None unless delta is 0."""

    pair: float | None
    """The attacker's share of right guesses about a pair of units at once; None where nothing is promised to pairs."""

    exposed: float | None
    """How many of n units delta may expose; None without a public n."""

    largest: int | None
    """The largest number of units for which delta < 1/n; None if delta is 0."""

    count_error: float | None
    """The ± (95 %) of one count that the whole epsilon is spent on; None where no count is of use."""

    @property
    def factor(self) -> float | None:
        """The factor on the odds; infinity beyond the range of floats.

        >>> PromiseFacts.of(0).factor, PromiseFacts.of(10_000).factor
        (1.0, inf)
        """
        if self.log_odds is None:
            return None
        if self.log_odds == 0:
            return 1.0
        return math.exp(self.log_odds) * (1 + 2**-50) if self.log_odds < 709 else math.inf

    @staticmethod
    def of(epsilon: Number, delta: Number = 0, *, n: int | None = None) -> PromiseFacts:
        """Compute them all; n is a public number of units."""
        size, chance = read_nonnegative(epsilon, "epsilon"), read_delta(delta)
        people = None if n is None else integer(n, name="n", least=1)
        curve = approximate(size, chance) if chance else pure(size)
        exception = EXCEPTIONS * chance
        return PromiseFacts(
            epsilon=size,
            delta=chance,
            n=people,
            accuracy=attacker_accuracy(curve),
            tenfold=attacker_accuracy(curve * 10),
            outcome=true_positive_rate(curve, fpr="0.01"),
            rare=true_positive_rate(curve, fpr="0.001"),
            exception=exception,
            log_odds=log_odds_shift(curve, failure=exception) if exception < 1 else None,
            semantic=None if chance else semantic_bound(size),
            pair=_pair(curve, chance, size),
            exposed=None if people is None else exposed_units(chance, people),
            largest=meaningful_population(chance) if chance else None,
            count_error=_count_error(size),
        )


def _pair(curve: Curve, delta: Fraction, epsilon: Fraction) -> float | None:
    """Bound the guesses about two units at once; their delta, (1 + e^epsilon) delta, must stay below 1."""
    if delta and (epsilon > 600 or (1 + Fraction(math.exp(epsilon))) * delta >= Fraction(999, 1000)):
        return None
    return attacker_accuracy(curve.group(2))


def _count_error(epsilon: Fraction) -> float | None:
    """Give the ± of a count with integer noise of scale 1/epsilon."""
    from discreet.mechanisms import DiscreteLaplace

    if epsilon < _MOST_NOISE:
        return None
    return DiscreteLaplace(sensitivity=1, epsilon=min(epsilon, Fraction(_LEAST_NOISE))).error(confidence=0.95)
