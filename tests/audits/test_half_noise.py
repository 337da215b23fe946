"""With half the noise from every sampler that mechanisms call, the audit of each mechanism turns red.

The broken partners of `test_partners` are mechanisms made for another promise; here nothing of a mechanism is touched,
so that it claims what it always claims, and only what it draws is too little: a true epsilon of up to twice the claim.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from discreet import noise
from discreet.checks.audits import audit, cases
from discreet.checks.audits.black_box import LEAST_DRAWS
from discreet.mechanisms import JointQuantiles
from discreet.mechanisms.choices import noisy_max
from discreet.mechanisms.choosing import rank_choice as choices
from discreet.mechanisms.choosing.joint import Joint
from discreet.mechanisms.responses import randomized_response
from discreet.mechanisms.thresholds import partition_selection
from tests.audits.test_cases import CONFIDENCE, follows
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.checks.audits import Case

PLACES = {  # which argument of a sampler is its scale
    "discrete_laplace": 0,
    "discrete_gaussian": 0,
    "geometric": 0,
    "laplace_steps": 0,
    "gaussian_steps": 0,
    "lottery": 1,
    "lotteries": 1,
    "exponential_race": 1,
    "gumbel_race": 1,
    "laplace_race": 1,
    "rounded": 2,
    "l2_laplace": 0,
}


def halved(draw: Callable[..., Any], place: int) -> Callable[..., Any]:
    """Return a sampler that draws with half the scale."""

    def half(*given: Any, **named: Any) -> Any:  # noqa: ANN401  as the sampler
        return draw(*given[:place], Fraction(given[place]) / 2, *given[place + 1 :], **named)

    return half


def dared(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a sampler that draws for twice the epsilon, which it takes as its first argument."""
    return lambda epsilon, *given, **named: draw(2 * epsilon, *given, **named)


def bolder(coins: Callable[..., Any]) -> Callable[..., Any]:
    """Toss the coins of keys for twice the epsilon and twice the delta."""
    return lambda counts, epsilon, delta, bits: coins(counts, 2 * epsilon, 2 * delta, bits)


@pytest.fixture
def half_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every module of mechanisms draw half the noise."""
    replaced = {getattr(noise, name): halved(getattr(noise, name), place) for name, place in PLACES.items()}
    replaced[noise.staircase] = dared(noise.staircase)
    replaced[noise.bernoulli_exp] = dared(noise.bernoulli_exp)
    replaced[noise.truthful] = dared(noise.truthful)
    joint = sys.modules[JointQuantiles.__module__]  # draws by floats, and makes up for what they are off
    exact = {joint, sys.modules[Joint.__module__]}
    chosen = [
        each for name, each in sys.modules.items() if name.startswith(("discreet.mechanisms", "discreet.methods"))
    ]
    for module in chosen:
        for name, value in list(vars(module).items()) if module not in exact else ():
            if callable(value) and value.__hash__ is not None and value in replaced:
                monkeypatch.setattr(module, name, replaced[value])
    monkeypatch.setattr(noisy_max, "_RACES", {kind: replaced[race] for kind, race in noisy_max._RACES.items()})
    monkeypatch.setattr(choices, "Joint", lambda levels, width, scale: Joint(levels, width, scale / 2))
    chain, coin = joint._Chain, randomized_response._coin
    monkeypatch.setattr(joint, "_Chain", lambda shares, scale, twice, rows: chain(shares, scale / 2, twice, rows))
    monkeypatch.setattr(partition_selection, "_coins", bolder(partition_selection._coins))
    monkeypatch.setattr(randomized_response, "_coin", lambda count, epsilon, _truth: coin(count, 2 * epsilon, None))


def red(case: Case, seed: int) -> bool:
    """Tell whether releases refute the claim, or do not follow the written law, as often as `test_cases` asks."""
    bits, count = ReplayBits(seed), max(LEAST_DRAWS, case.draws // 2)
    values = (case.first, case.second, *case.also)
    draws = [case.draw(case.mechanism, value, count, bits) for value in values]
    if case.law is not None:
        laws = [case.law(case.mechanism, value) for value in values]
        if not all(follows(outputs, law) for outputs, law in zip(draws, laws, strict=True)):
            return True
    found = audit(
        lambda *_: draws[0],
        lambda *_: draws[1],
        claim=case.claim,
        delta=case.delta,
        draws=count,
        confidence=CONFIDENCE,
    )
    return found.refuted


def branches() -> list[tuple[str, str]]:
    """Every written law, and every mechanism as it is made: for each relation, currency, norm and aggregator a case.

    A case without a law is left out where another one of the same mechanism has one.
    """
    return [
        (kind, case.name)
        for kind, found in cases().items()
        for case in found
        if case.law is not None or not any(each.law and each.mechanism == case.mechanism for each in found)
    ]


HIDDEN = {
    # The noisy counts of both groups only choose between two points, of which each is as likely whatever they say.
    ("rank_choice", "a row more, after counts of two groups"),
    # Points of so small a grid are divided further; the heaps on a wide one have a law, for either relation.
    *((kind, name) for kind in ("quantiles", "joint_quantiles") for name in ("a row more", "a row exchanged")),
}


@pytest.mark.slow
@pytest.mark.audit
@pytest.mark.parametrize("kind, name", [branch for branch in branches() if branch not in HIDDEN])
@pytest.mark.usefixtures("half_noise")
def test_half_the_noise_turns_the_audit_red(kind: str, name: str, seed: int) -> None:
    """Each branch by itself; a case is made anew, as some keep how they draw."""
    (case,) = (case for case in cases()[kind] if case.name == name)
    assert red(case, seed)
