r"""What a sampler that is off by a little costs.

Let P and Q be the laws of an ideal mechanism for two neighbors, and let the laws P' and Q' that are really drawn from
be at most eta away in total variation. For every event S

    P'(S) <= P(S) + eta <= exp(e) Q(S) + delta(e) + eta <= exp(e) (Q'(S) + eta) + delta(e) + eta,

so delta'(e) <= delta(e) + (1 + exp(e)) eta at every e >= 0. A draw whose law depends on earlier ones adds its own
eta: step by step the real transcript can be coupled with the ideal one, and the chance that they ever part is at most
the sum. So a composition has eta = sum of counts times etas, added once, at the end. An event may favor one neighbor
by eta and the other by -eta at once, so the factor 1 + exp(e) is attained (tests/privacy/test_sampling_error.py
enumerates such a pair).

Renyi divergences are not kept, not even outside events of probability eta: where Q(z) = eta and P(z) = 5 eta, a
sampler may leave out z for the second neighbor, and then z has to be excluded for the first one too, at the cost of 5
eta. What is kept is (e, delta'), and with it delta'-approximate zCDP (Bun & Steinke 2016, arXiv:1605.02065).

Every sampler of `discreet.noise` is exact, so its eta is 0.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.exact import exp_upper, float_up

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["delta_with_error", "epsilon_with_error"]

_HALVINGS = 12
_STEPS = 64
_MOST = 700  # beyond it exp(e) eta is at least 1 for every eta that is not below all floats
_CLOSE = 1e-9


def delta_with_error(delta: Callable[[Fraction], float], epsilon: Fraction, eta: Fraction) -> float:
    """Return the least of delta(x) + (1 + exp(x)) eta over some x <= epsilon: what holds at x holds at epsilon as well.

    >>> delta_with_error(lambda epsilon: 0.0, Fraction(0), Fraction(1, 10))
    0.2
    """
    places = [min(epsilon, Fraction(_MOST)) / 2**halving for halving in range(_HALVINGS)] if epsilon else [epsilon]
    return min(_raised(delta, place, eta) for place in places)


def _raised(delta: Callable[[Fraction], float], epsilon: Fraction, eta: Fraction) -> float:
    return float_up(min(Fraction(delta(epsilon)) + (1 + exp_upper(epsilon)) * eta, Fraction(1)))


def epsilon_with_error(
    epsilon: Callable[[Fraction], float], delta: Callable[[Fraction], float], chance: Fraction, eta: Fraction
) -> float:
    """Return an e with delta(e) + (1 + exp(e)) eta <= chance, close to the smallest; inf where there is none.

    x -> epsilon(chance - (1 + exp(x)) eta) rises with x, so that iterating it from 0 climbs to its smallest fixed
    point, which is the smallest such e. A step beyond the limit is then certified by the curve's own delta.

    >>> profile = lambda e: 0.0 if e >= 1 else 1.0
    >>> widened = epsilon_with_error(lambda d: 1.0, profile, Fraction(1, 100), Fraction(1, 10**6))
    >>> 1.0 <= widened < 1.00001
    True
    """
    here = 0.0
    for _ in range(_STEPS):
        if here > _MOST:
            return math.inf
        room = chance - (1 + exp_upper(Fraction(here))) * eta
        if room <= 0:
            return math.inf
        after = epsilon(room)
        if after <= here * (1 + _CLOSE):
            break
        here = after
    for step in range(_STEPS):
        place = Fraction(here) * (1 + Fraction(2**step, 10**9)) if here else Fraction(0)
        if place > _MOST:
            break
        if Fraction(delta(place)) + (1 + exp_upper(place)) * eta <= chance:
            return float_up(place)
        here = here or 1e-12
    return math.inf
