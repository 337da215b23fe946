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
from discreet.mechanisms import JointQuantiles, registered
from discreet.mechanisms.choices import noisy_max
from discreet.mechanisms.responses import randomized_response
from discreet.mechanisms.thresholds import partition_selection
from discreet.releases import choices
from discreet.releases.joint import Joint
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
    "exponential_race": 1,
    "gumbel_race": 1,
    "laplace_race": 1,
    "rounded": 2,
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
    joint = sys.modules[JointQuantiles.__module__]  # draws by floats, and makes up for what they are off
    chosen = [*(each for name, each in sys.modules.items() if name.startswith("discreet.mechanisms")), choices]
    for module in chosen:
        for name, value in list(vars(module).items()) if module is not joint else ():
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
    bits, count, draws = ReplayBits(seed), max(LEAST_DRAWS, case.draws // 2), []

    def drawn(value: object) -> Any:  # noqa: ANN401  numbers or texts
        draws.append(case.draw(case.mechanism, value, count, bits))
        return draws[-1]

    found = audit(
        lambda *_: drawn(case.first),
        lambda *_: drawn(case.second),
        claim=case.claim,
        delta=case.delta,
        draws=count,
        confidence=CONFIDENCE,
    )
    if found.refuted:
        return True
    if case.law is None:
        return False
    laws = [case.law(case.mechanism, value) for value in (case.first, case.second)]
    return not all(follows(outputs, law) for outputs, law in zip(draws, laws, strict=True))


@pytest.mark.audit
@pytest.mark.parametrize("kind", sorted({*registered(), "rank_choice"}))
@pytest.mark.usefixtures("half_noise")
def test_half_the_noise_turns_the_audit_red(kind: str, seed: int) -> None:
    written_first = sorted(cases()[kind], key=lambda case: case.law is None)
    assert any(red(case, seed) for case in written_first)
