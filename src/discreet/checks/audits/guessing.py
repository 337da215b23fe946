"""How many right guesses a promise leaves room for: the refinement of the audit in one run to whole curves.

m coins are tossed, c guesses are made, and N of them are right. Let R_v be 1/m times the expectation of N where N >= v,
and H_v that of c - N where N >= v. A guess is right or wrong by one coin alone: given the output and the other coins,
the event "guess i is made, and v - 1 of the other guesses are right" has, with coin i on the guess's side, a chance of
at most F of its chance with the coin on the other side, where F(x) = 1 - f(x) for the promise's trade-off function f.
F is concave, so the same holds for the mean over all i, and with "v - 1 or more" instead of "v - 1":

    R_v <= F(H_(v-1))   for all v.

(Mahloujifar, Melis & Chaudhuri 2024, "Auditing f-differential privacy in one run", arXiv:2410.22235.) If N >= c' has
chance tau, moving chance from larger to smaller N as long as these inequalities hold leaves r = c' tau/m and
h = (c - c') tau/m at first, then for each v below c' just the mass that h = F^-1(r) needs; as all mass is 1, r + h ends
at c/m or below. Where it does not, N >= c' has a chance below tau: so few promises allow so many right guesses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.privacy import Curve

__all__ = ["expected_right", "gaussian_misses", "misses_of", "too_many_right"]

Misses: TypeAlias = "Callable[[float], float]"
"""F^-1: the least chance of a wrong guess, where a right one has this chance; never above the truth."""

LINES = 96
ROUNDING = 1e-9
LATTICE = np.linspace(0.0, 1.0, 2001)
LEAST_DELTA = 1e-15
MUCH_FARTHER = 1.05
MOST_EPSILON = 40.0


def gaussian_misses(mu: float) -> Misses:
    """Return F^-1 of Gaussian noise whose neighbors lie mu standard deviations apart: Phi(Phi^-1(x) - mu).

    >>> round(gaussian_misses(1.0)(0.5), 4)
    0.1587
    """
    from scipy.special import ndtr, ndtri

    return lambda right: float(ndtr(ndtri(min(right, 1.0)) - mu))


def misses_of(claim: Curve) -> Misses:
    """Return F^-1 of a claim, from some (epsilon, delta) on its curve: each holds, so what they refute is refuted.

    >>> import discreet.privacy as p
    >>> round(misses_of(p.pure(epsilon=1))(0.5), 4), round(misses_of(p.gaussian(sigma=1))(0.5), 2)
    (0.1839, 0.16)
    """
    epsilons = np.linspace(0.0, _reach(claim), LINES)
    deltas = np.array([claim.delta(float(epsilon)) for epsilon in epsilons])
    factors = np.exp(epsilons)

    def misses(right: float) -> float:
        return max(0.0, float(((right - deltas) / factors).max()), float((1 - deltas - (1 - right) * factors).max()))

    return misses


def _reach(claim: Curve) -> float:
    """Return the epsilon beyond which a curve says nothing more: where delta is as small as it gets, or tiny."""
    floor = claim.delta(MOST_EPSILON)
    far, near = claim.epsilon(floor), claim.epsilon(min(floor + LEAST_DELTA, 1.0))
    return min(far if far <= MUCH_FARTHER * near else near, MOST_EPSILON)


def too_many_right(right: int, guesses: int, canaries: int, *, misses: Misses, error: float) -> bool:
    """Tell whether so many right guesses, or more, have a chance below `error` under a promise.

    >>> import discreet.privacy as p
    >>> claimed = misses_of(p.pure(epsilon=1))
    >>> [too_many_right(right, 100, 100, misses=claimed, error=0.05) for right in (80, 83)]
    [False, True]
    """
    whole = guesses / canaries * (1 + ROUNDING)
    known, wrong = error * right / canaries, error * (guesses - right) / canaries
    for count in range(right - 1, -1, -1):
        needed = misses(known)
        if needed <= wrong:  # as nothing more is needed here, nothing more is below
            break
        known += count / (guesses - count) * (needed - wrong)
        wrong = needed
        if known + wrong > whole:
            return True
    return known + wrong > whole


def expected_right(misses: Misses, share: float) -> float:
    """Return which part of the guesses is right on average, if each canary gets a score as telling as a promise allows.

    The guesses say "in" of the largest and "out" of the smallest scores, of this share of the canaries in all.

    >>> round(expected_right(lambda right: right / 3, 0.5), 6)
    0.75
    """
    # A test that is right with chance x for "in" is wrong with the chance misses(x) for "out".
    alarms = _misses_on_lattice(misses)
    hit = float(np.interp(share, LATTICE + alarms, LATTICE))
    return hit / share


def _misses_on_lattice(misses: Misses) -> NDArray[np.float64]:
    return np.array([misses(float(right)) for right in LATTICE])
