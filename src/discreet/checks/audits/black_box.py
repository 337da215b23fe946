"""A lower bound on epsilon from nothing but releases on two neighboring inputs.

A mechanism that keeps (epsilon, delta) gives every event E on neighbors x, x' the chances
Pr[M(x) in E] <= exp(epsilon) Pr[M(x') in E] + delta. So counting one event proves, with a stated confidence,

    epsilon >= ln((lower bound of Pr[M(x) in E] - delta) / upper bound of Pr[M(x') in E]),

whatever the mechanism looks like inside. The event is chosen on releases that are not counted afterwards; both orders
of x and x' are tried. Method: Ding, Wang, Wang, Zhang & Kifer 2018 (arXiv:1805.10559); bounds: Clopper & Pearson 1934.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.checks.audits.bounds import chance_at_least, chance_at_most
from discreet.checks.audits.events import choose
from discreet.checks.audits.result import Audit
from discreet.errors import ParameterError
from discreet.exact import counted, float_down, float_up, integer, rational
from discreet.noise import SYSTEM, BitSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve

__all__ = ["Sampler", "audit"]

Sampler: TypeAlias = "Callable[[int, BitSource], NDArray[Any]]"
"""Makes so many independent releases on one input: a number or a text each, nan for no answer."""

LEAST_DRAWS = 100
PLACES = 12
LOOKED_AT = 4
"""One release in so many is looked at to choose the event."""


def audit(  # noqa: PLR0913  all but the two samplers are named
    first: Sampler,
    second: Sampler,
    *,
    claim: Curve,
    delta: Number = 0,
    draws: int = 20_000,
    confidence: Number = "0.95",
    name: str = "",
    bits: BitSource = SYSTEM,
) -> Audit:
    """Attack a claim with `draws` releases on each of two neighboring inputs.

    Two orders, two bounds each: every bound is wrong with at most a quarter of what the confidence leaves, so all four
    hold together. For one event the bounds on its two chances serve every delta at once; so beside epsilon at the given
    delta, other points of the curve are held against them.

    >>> import discreet.privacy as p
    >>> from discreet.noise import discrete_laplace
    >>> half = lambda value: lambda count, bits: value + discrete_laplace("1/2", count, bits)
    >>> audited = audit(half(0), half(1), claim=p.pure(epsilon=1), confidence="0.999")
    >>> audited.refuted, audited.epsilon > 1.5
    (True, True)
    """
    count = integer(draws, name="draws", least=LEAST_DRAWS)
    sure, chance = rational(confidence, name="confidence"), rational(delta, name="delta")
    if not 0 < sure < 1:
        msg = f"confidence is {confidence}; it must lie between 0 and 1, such as 0.95."
        raise ParameterError(msg)
    claimed = claim.epsilon(chance)
    looked, error = count // LOOKED_AT, float_down((1 - sure) / 4)
    inputs = [_outputs(sampler, count, bits) for sampler in (first, second)]
    audited = []
    for order, (over, under) in (("first", inputs), ("second", inputs[::-1])):
        event = choose(over[:looked], under[:looked], delta=float(chance), error=error)
        hits = event.hits(over[looked:]), event.hits(under[looked:])
        top, bottom = chance_at_least(hits[0], count - looked, error), chance_at_most(hits[1], count - looked, error)
        proven = _proven(top, bottom, float_up(chance))
        beyond = proven > claimed or _beyond(claim, top, bottom)
        audited.append(
            Audit(
                name=name,
                claim=claim,
                delta=float(chance),
                confidence=float(sure),
                claimed=claimed,
                epsilon=proven,
                refuted=beyond,
                likelier=order,
                event=str(event),
                draws=count - looked,
                hits=hits,
                bounds=(top, bottom),
            )
        )
    return max(audited, key=lambda result: (result.refuted, result.epsilon))


def _outputs(sampler: Sampler, count: int, bits: BitSource) -> NDArray[Any]:
    outputs = np.asarray(sampler(count, bits))
    if len(outputs) != count:
        msg = f"the sampler was asked for {counted(count, 'release')} and gave {len(outputs)}."
        raise ParameterError(msg)
    return outputs


def _proven(top: float, bottom: float, delta: float) -> float:
    """Return the epsilon that the two bounds prove, 0 if none; a hair lower than the logarithm, which rounds."""
    if top <= delta or bottom >= top - delta:
        return 0.0
    return max(0.0, math.log((top - delta) / bottom) * (1 - 2**-40))


def _beyond(claim: Curve, top: float, bottom: float) -> bool:
    """Tell whether the bounds break the claim at one of some epsilons below the largest that they could prove."""
    if bottom >= top:
        return False
    reach = math.log(top / bottom)
    places = [reach * i / PLACES for i in range(PLACES)]
    return any(top - math.exp(place) * bottom > claim.delta(place) + 2**-40 for place in places)
