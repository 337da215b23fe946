"""The audit in one run is right as often as it says, sees what spends more, and says when it cannot."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binom

import discreet.privacy as p
from discreet.checks.audits import audit_one_run, guesses_are_too_good
from discreet.checks.audits.one_run import _refuted_below
from discreet.errors import ParameterError
from discreet.noise import bernoulli, gaussian
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from discreet.checks.audits.one_run import Run


def responses(epsilon: float) -> Run:
    """Let each canary answer for itself: randomized response of exactly this epsilon."""

    def run(included: Any, bits: Any) -> Any:  # noqa: ANN401 - an array, and a source of bits
        flips = bernoulli("1/4" if epsilon == math.log(3) else "1/8", size=included.size, bits=bits)
        return np.where(flips, ~included, included)

    return run


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("guesses", [20, 400])
def test_the_bound_is_above_the_truth_as_rarely_as_stated(epsilon: float, guesses: int) -> None:
    """Of randomized responses the number of right guesses is binomial: the chance of error is a sum, no estimate."""
    truth, error = 1 / (1 + math.exp(-epsilon)), 0.05
    wrong = [right for right in range(guesses + 1) if _refuted_below(right, guesses, 1000, 0.0, error) > epsilon]
    chance = float(np.sum(binom.pmf(wrong, guesses, truth)))
    assert chance <= error
    assert guesses < 400 or chance > error / 4  # and it is not far from that
    # The partner: a bound that takes the odds e^(eps/2), as a coin's two sides share one epsilon, is wrong too often.
    careless = 1 / (1 + math.exp(-epsilon / 2))
    wrong = [right for right in range(guesses + 1) if binom.sf(right - 1, guesses, careless) <= error]
    assert guesses < 400 or float(np.sum(binom.pmf(wrong, guesses, truth))) > 10 * error


def test_delta_costs_what_the_paper_says() -> None:
    """Worked out by its definition: 2 m delta times the largest of P[v > W >= v - i]/i."""
    right, guesses, m, epsilon, delta = 75, 100, 1000, 1.0, 1e-5
    q = 1 / (1 + math.exp(-epsilon))
    sums = [sum(binom.pmf(w, guesses, q) for w in range(right - i, right)) / i for i in range(1, right + 1)]
    expected = binom.sf(right - 1, guesses, q) + 2 * m * delta * max(sums)
    assert guesses_are_too_good(right, guesses, m, epsilon=epsilon, delta=delta) == pytest.approx(expected)
    assert guesses_are_too_good(0, 10, 10, epsilon=1.0, delta=0.1) == 1


def test_a_promise_that_holds_is_not_refuted_and_half_of_it_is() -> None:
    """Confidence 1 - 1e-9: of ln 3 and 2,000 canaries at least 0.7 is proven, and ln 7 refutes a claim of ln 3."""
    kept = audit_one_run(
        responses(math.log(3)), 2000, claim=p.pure(epsilon=1.1), confidence=1 - 1e-9, bits=ReplayBits(1)
    )
    assert not kept.refuted
    assert kept.epsilon > 0.7
    broken = audit_one_run(
        responses(math.log(7)), 2000, claim=p.pure(epsilon=1.1), confidence=1 - 1e-9, bits=ReplayBits(1)
    )
    assert broken.refuted


def test_a_sum_of_orthogonal_canaries_with_gaussian_noise() -> None:
    def run(sigma: float) -> Run:
        return lambda included, bits: included + gaussian(sigma, "1/65536", size=included.size, bits=bits)

    claim = p.gaussian(sigma=4)
    kept, broken = (
        audit_one_run(run(sigma), 4000, claim=claim, delta="1e-14", confidence=1 - 1e-9, bits=ReplayBits(2))
        for sigma in (4.0, 0.25)
    )
    assert not kept.refuted
    assert broken.refuted
    assert kept.plot().get_xlabel() == "false positive rate"


def test_too_few_canaries_are_said_to_be_too_few() -> None:
    found = audit_one_run(lambda included, _: included, 50, claim=p.pure(epsilon=8), bits=ReplayBits(0))
    assert not found.refuted
    assert found.reach < 8
    assert f"at best {found.reach:.3g} could be shown" in str(found)
    assert json.loads(json.dumps(found.record()))["right"] == found.right


def test_scores_that_say_nothing_prove_nothing() -> None:
    found = audit_one_run(lambda included, _: 0 * included, 500, claim=p.pure(epsilon=1), bits=ReplayBits(3))
    assert found.epsilon < 0.3
    assert not found.refuted


@pytest.mark.parametrize(
    "run, canaries, other, message",
    [
        (lambda i, _: i, 5, {}, "canaries is 5"),
        (lambda i, _: i, 50, {"confidence": 1}, "confidence is 1"),
        (lambda i, _: i, 50, {"guesses": 51}, "guesses is 51"),
        (lambda i, _: i[:-1], 50, {}, "must give 50 numbers"),
        (lambda i, _: i * np.nan, 50, {}, "must give 50 numbers"),
    ],
)
def test_mistakes_are_named(run: Run, canaries: int, other: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        audit_one_run(run, canaries, claim=p.pure(epsilon=1), **other)


def test_several_numbers_of_guesses_share_the_error() -> None:
    """What four numbers of guesses prove together is what one proves at a fourth of the error."""
    shared = audit_one_run(lambda included, _: included, 400, claim=p.pure(epsilon=1), bits=ReplayBits(5))
    alone = audit_one_run(
        lambda included, _: included,
        400,
        claim=p.pure(epsilon=1),
        confidence="0.9875",
        guesses=shared.guesses,
        bits=ReplayBits(5),
    )
    assert shared.epsilon == pytest.approx(alone.epsilon)
