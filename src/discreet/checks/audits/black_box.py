"""A lower bound on epsilon from nothing but releases on two neighboring inputs.

A mechanism that keeps (epsilon, delta) gives every event E on neighbors x, x' the chances
Pr[M(x) in E] <= exp(epsilon) Pr[M(x') in E] + delta. So counting one event proves, with a stated confidence,

    epsilon >= ln((lower bound of Pr[M(x) in E] - delta) / upper bound of Pr[M(x') in E]),

whatever the mechanism looks like inside. The event is chosen on releases that are not counted afterwards; both orders
of x and x' are tried. Method: Ding, Wang, Wang, Zhang & Kifer 2018 (arXiv:1805.10559); bounds: Clopper & Pearson 1934.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.checks.audits.bounds import chance_at_least, chance_at_most
from discreet.checks.audits.events import choose
from discreet.checks.audits.gaussian_fit import distance_at_least, require_gaussian
from discreet.checks.audits.result import Assumed, Audit, read_assumed
from discreet.checks.audits.scoring import learn_score
from discreet.errors import ParameterError
from discreet.exact import counted, float_down, float_up, integer, rational
from discreet.noise import SYSTEM, BitSource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.exact import Number
    from discreet.privacy import Curve

__all__ = ["Sampler", "audit_releases"]

Sampler: TypeAlias = "Callable[[int, BitSource], NDArray[Any]]"
"""Makes so many independent releases on one input: a number, a text or a row of numbers each, nan for no answer."""

LEAST_DRAWS = 100
PLACES = 12
LOOKED_AT = 4
"""One release in so many is looked at to choose the event."""


def audit_releases(  # noqa: PLR0913  all but the two samplers are named
    first: Sampler,
    second: Sampler,
    *,
    claim: Curve,
    delta: Number = 0,
    draws: int = 20_000,
    confidence: Number = "0.95",
    assuming: Assumed | str = Assumed.NOTHING,
    name: str = "",
    bits: BitSource = SYSTEM,
) -> Audit:
    """Attack a claim with `draws` releases on each of two neighboring inputs.

    Two orders, two bounds each: every bound is wrong with at most a quarter of what the confidence leaves, so all four
    hold together. For one event the bounds on its two chances serve every delta at once; so beside epsilon at the given
    delta, other points of the curve are held against them. Of releases that are rows of numbers, one number is made
    first, by a score that is learned on releases that are not used otherwise.

    If you vouch for Gaussian noise on one number, all releases count, and epsilon is that of the widest Gaussian noise
    that they refute (`discreet.checks.audits.gaussian_fit`).

    >>> import discreet.privacy as p
    >>> from discreet.noise import discrete_laplace
    >>> half = lambda value: lambda count, bits: value + discrete_laplace("1/2", count, bits)
    >>> audited = audit_releases(half(0), half(1), claim=p.pure(epsilon=1), confidence="0.999")
    >>> audited.refuted, audited.epsilon > 1.5
    (True, True)
    """
    count = integer(draws, name="draws", least=LEAST_DRAWS)
    sure, chance = rational(confidence, name="confidence"), rational(delta, name="delta")
    if not 0 < sure < 1:
        msg = f"confidence is {confidence}; it must lie between 0 and 1, such as 0.95."
        raise ParameterError(msg)
    if not 0 <= chance < 1:
        msg = f"delta is {delta}; it must be at least 0 and below 1."
        raise ParameterError(msg)
    held = Audit(
        name=name,
        claim=claim,
        delta=float_up(chance),
        confidence=float(sure),
        claimed=claim.epsilon(chance),
        epsilon=0.0,
        refuted=False,
        likelier="first",
        event="",
        draws=count,
        hits=(0, 0),
        bounds=(0.0, 0.0),
        assumed=read_assumed(assuming),
    )
    inputs = [_outputs(sampler, count, bits) for sampler in (first, second)]
    if held.assumed is Assumed.GAUSSIAN:
        return _fitted(held, inputs, float_down(1 - sure))
    looked, error = count // LOOKED_AT, float_down((1 - sure) / 4)
    audited = [
        _counted(replace(held, likelier=order), over, under, looked, error)
        for order, (over, under) in (("first", inputs), ("second", inputs[::-1]))
    ]
    return max(audited, key=lambda result: (result.refuted, result.epsilon))


def _counted(held: Audit, over: NDArray[Any], under: NDArray[Any], looked: int, error: float) -> Audit:
    """Choose an event on what is looked at, and count it on the rest."""
    start = 0
    if over.ndim == 2:
        start = looked // 2
        score = learn_score(over[:start], under[:start])
        over, under = score.of(over), score.of(under)
    event = choose(over[start:looked], under[start:looked], delta=held.delta, error=error, lines=bool(start))
    many = len(over) - looked
    hits = event.hits(over[looked:]), event.hits(under[looked:])
    top, bottom = chance_at_least(hits[0], many, error), chance_at_most(hits[1], many, error)
    proven = _proven(top, bottom, held.delta)
    return replace(
        held,
        epsilon=proven,
        refuted=proven > held.claimed or _beyond(held.claim, top, bottom),
        event=str(event).replace("output", "a learned score", 1) if start else str(event),
        draws=many,
        hits=hits,
        bounds=(top, bottom),
    )


def _fitted(held: Audit, inputs: Sequence[NDArray[Any]], error: float) -> Audit:
    """Bound the distance of two Gaussian laws, and read epsilon off the curve of that distance."""
    from scipy.special import ndtr

    from discreet.privacy import gaussian

    if not held.delta:
        msg = "delta is 0, at which no Gaussian noise has an epsilon; give one, such as delta=1e-5."
        raise ParameterError(msg)
    if any(outputs.ndim != 1 or outputs.dtype.kind not in "iuf" or np.isnan(outputs).any() for outputs in inputs):
        msg = "assuming is 'gaussian', and the outputs are not one number each; leave it out, or look at one of them."
        raise ParameterError(msg)
    over, under = (np.asarray(outputs, dtype=np.float64) for outputs in inputs)
    require_gaussian(over, under)
    mu = distance_at_least(over, under, error)
    epsilon = math.inf if math.isinf(mu) else gaussian(sigma=1 / mu).epsilon(held.delta) * (1 - 2**-30) if mu else 0.0
    return replace(
        held,
        epsilon=epsilon,
        refuted=epsilon > held.claimed,
        likelier="first" if over.mean() >= under.mean() else "second",
        event=f"Gaussian laws at least {mu:.4g} standard deviations apart",
        bounds=(float(ndtr(mu / 2)), float(ndtr(-mu / 2))),
    )


def _outputs(sampler: Sampler, count: int, bits: BitSource) -> NDArray[Any]:
    outputs = np.asarray(sampler(count, bits))
    if outputs.ndim not in {1, 2} or (outputs.ndim == 2 and outputs.dtype.kind not in "iufb"):
        msg = (
            f"the outputs have {outputs.ndim} dimensions; an audit sees a number, a text or a row of numbers a release."
        )
        raise ParameterError(msg)
    if outputs.ndim == 2:
        outputs = outputs.astype(np.float64)
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
