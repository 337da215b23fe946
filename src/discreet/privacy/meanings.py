"""What a curve means to a person: numbers about beliefs, guesses and exposure.

Each is computed from the curve itself, not from one (epsilon, delta) point of it, and is a bound: no attacker does
better, whatever she knows. The size n of the data is private under add/remove, so it enters as a public argument only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import float_up, integer, shown
from discreet.exact.rational import read_delta, read_nonnegative, require_kind
from discreet.privacy.curve import Curve

if TYPE_CHECKING:
    from discreet.exact import Number

__all__ = [
    "Meaning",
    "attacker_accuracy",
    "exposed_units",
    "log_odds_shift",
    "meaning",
    "meaningful_population",
    "semantic_bound",
    "true_positive_rate",
]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one curve means, as numbers.

    >>> from discreet import privacy as p
    >>> said = meaning(p.pure(epsilon=1), delta=0)
    >>> round(said.odds_factor, 3), round(said.accuracy, 3), round(said.semantic, 3)
    (2.718, 0.731, 0.462)
    """

    failure: float
    """The chance, over the noise, that the bound on the odds does not hold."""

    log_odds: float
    """The largest shift of a Bayesian's log-odds that a unit is present; see `log_odds_shift`."""

    accuracy: float
    """The best attacker's accuracy in the membership game with even odds; see `attacker_accuracy`."""

    fpr: float
    """The false positive rate at which `tpr` is given."""

    tpr: float
    """The best attacker's true positive rate at `fpr`; see `true_positive_rate`."""

    semantic: float | None
    """The semantic-privacy bound; None where the curve is not pure, as no such bound holds for all beliefs then."""

    exposed: float | None
    """How many of n units delta could expose outright; None if no public n was given."""

    @property
    def odds_factor(self) -> float:
        """The largest factor on a Bayesian's odds; infinity beyond the range of floats (log_odds above 709).

        >>> from discreet import privacy as p
        >>> round(meaning(p.randomized_response(epsilon="0.1"), delta=0).odds_factor, 3)
        1.105
        """
        return math.exp(self.log_odds) * (1 + 2**-50) if self.log_odds < 709 else math.inf


def meaning(curve: Curve, *, delta: Number, n: int | None = None, fpr: Number = 0.01) -> Meaning:
    """Compute all numbers at once; delta is the chance at which the odds may move further.

    >>> from discreet import privacy as p
    >>> said = meaning(p.gaussian(sigma=2), delta=1e-6, n=1000)
    >>> 0.59 < said.accuracy < 0.61, said.exposed, said.semantic
    (True, 0.001, None)
    """
    require_kind(curve, Curve, "curve")
    chance, rate = float_up(read_delta(delta)), float_up(read_delta(fpr, "fpr"))
    epsilon = curve.epsilon(0)
    return Meaning(
        failure=chance,
        log_odds=log_odds_shift(curve, failure=delta),
        accuracy=attacker_accuracy(curve),
        fpr=rate,
        tpr=true_positive_rate(curve, fpr=fpr),
        semantic=semantic_bound(epsilon) if epsilon < math.inf else None,
        exposed=None if n is None else exposed_units(delta, n),
    )


def log_odds_shift(curve: Curve, *, failure: Number = 0) -> float:
    """Bound how far an answer moves the log-odds that a unit is present, except with a chance of `failure`.

    The shift is the privacy loss L, in either direction. With failure = 0 it is the pure epsilon. Otherwise, for every
    e and t > 0, delta(e) = E[(1 - exp(e - L))_+] >= Pr[L > e + t] (1 - exp(-t)), so Pr[L > x] <= failure / 2 holds at
    x = e - log(1 - 2 delta(e) / failure) for every e with 2 delta(e) < failure. The other tail is smaller still:
    Pr[L < -x] under P is at most exp(-x) Pr[L < -x] under Q, the same bound for the reverse pair. So |L| > x has at
    most the chance of failure. The smallest such x found is returned.

    >>> from discreet import privacy as p
    >>> log_odds_shift(p.pure(epsilon=1)) <= 1.0000001
    True
    """
    require_kind(curve, Curve, "curve")
    chance = read_delta(failure, "failure")
    pure = curve.epsilon(0)
    if chance == 0 or pure == 0:
        if pure == math.inf:
            msg = "failure is 0, and this curve's loss has no bound; allow one, such as failure=1e-6."
            raise ParameterError(msg)
        return pure
    best = pure
    for step in range(1, 40):
        share = Fraction(1, 2**step)
        point = curve.epsilon(chance * share / 2)
        best = min(best, (point - math.log1p(-float(share))) * (1 + 1e-15) + 1e-15)
        if point > best:
            break  # epsilons only rise from here
    if best == math.inf:
        msg = f"failure is {shown(failure)}; more than that chance tells everything at once. Allow a larger one."
        raise ParameterError(msg)
    return best


def attacker_accuracy(curve: Curve) -> float:
    """Bound the accuracy of the best attacker who must tell, at even odds, whether a unit is present.

    It is 1/2 + delta(0) / 2, as delta(0) is the total variation distance; for a pure epsilon at most
    e^epsilon / (1 + e^epsilon) <= 1/2 + epsilon / 4 (Kairouz, Oh & Viswanath 2015, arXiv:1311.0776).

    >>> from discreet import privacy as p
    >>> abs(attacker_accuracy(p.randomized_response(epsilon=1)) - 0.7310585786) < 1e-9
    True
    """
    distance = require_kind(curve, Curve, "curve").delta(0)
    return min(1.0, math.nextafter(0.5 + 0.5 * distance, 1.0)) if distance else 0.5


def true_positive_rate(curve: Curve, *, fpr: Number = 0.01) -> float:
    """Bound how many present units an attacker finds while wrongly naming a share `fpr` of absent ones.

    It is 1 - f(fpr) for the tradeoff curve f: Dong, Roth & Su 2022 (arXiv:1905.02383), on f-DP.

    >>> from discreet import privacy as p
    >>> 0.027 < true_positive_rate(p.pure(epsilon=1), fpr="0.01") < 0.0272
    True
    """
    return min(1.0, 1.0 - require_kind(curve, Curve, "curve").tradeoff(read_delta(fpr, "fpr")) + 2**-53)


def semantic_bound(epsilon: Number) -> float:
    """Bound how much any belief differs from the belief had the unit been absent, in total variation.

    tanh(epsilon / 2) for a pure epsilon. Both beliefs are the same prior, weighted by likelihoods that differ by
    factors in [e^-epsilon, e^epsilon]; reweighting by factors of ratio at most r moves total variation by at most
    (sqrt(r) - 1) / (sqrt(r) + 1), and r = e^(2 epsilon). Kasiviswanathan & Smith 2014 (arXiv:0803.3946) have
    e^epsilon - 1, which is larger.

    >>> round(semantic_bound(1.0), 4)
    0.4621
    """
    size = float_up(min(read_nonnegative(epsilon, "epsilon"), Fraction(1000)))  # tanh(500) is 1 in floating point
    return min(1.0, math.tanh(size / 2) * (1 + 2**-50))


def exposed_units(delta: Number, n: int) -> float:
    """Return n * delta: how many of n units a mechanism with this delta might publish outright.

    A mechanism that publishes each unit with probability delta keeps (0, delta). n is a public number that the caller
    states; it is never counted in private data.

    >>> exposed_units(1e-6, n=1_000_000)
    1.0
    """
    return float_up(read_delta(delta) * integer(n, name="n", least=0))


def meaningful_population(delta: Number) -> int:
    """Return the largest n for which delta < 1/n, so that on average less than one unit is exposed.

    >>> meaningful_population(1e-6)
    999999
    """
    chance = read_delta(delta)
    if chance == 0:
        msg = "delta is 0; it is meaningful for every n."
        raise ParameterError(msg)
    return -(-chance.denominator // chance.numerator) - 1
