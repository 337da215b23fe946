"""The audit in one run is right as often as it says, sees what spends more, and says when it cannot."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binom

import discreet.privacy as p
from discreet.checks.audits import Assumed, audit_one_run, guesses_are_too_good
from discreet.checks.audits.guessing import expected_right, misses_of
from discreet.checks.audits.one_run import _most_telling, _refuted_below, _Test
from discreet.errors import ParameterError
from discreet.noise import bernoulli, gaussian
from discreet.privacy.calibration import gaussian_sigma
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
        (lambda i, _: i, 50, {"delta": 1}, "delta is 1"),
        (lambda i, _: i, 50, {"assuming": "gaussian"}, "delta is 0"),
        (lambda i, _: i, 50, {"assuming": "laplace"}, "assuming is 'laplace'"),
        (lambda i, _: i[:-1], 50, {}, "must give 50 numbers"),
        (lambda i, _: i * np.nan, 50, {}, "must give 50 numbers"),
    ],
)
def test_mistakes_are_named(run: Run, canaries: int, other: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        audit_one_run(run, canaries, claim=p.pure(epsilon=1), **other)


def test_the_bound_and_the_curve_share_the_error() -> None:
    """Half for epsilon, half for the curve; all for one of the two if Gaussian noise is vouched for."""
    found = audit_one_run(lambda included, _: included, 400, claim=p.pure(epsilon=1), guesses=100, bits=ReplayBits(5))
    assert found.epsilon == pytest.approx(_refuted_below(100, 100, 400, 0.0, 0.025))
    found = audit_one_run(
        lambda included, _: included,
        400,
        claim=p.gaussian(sigma=1),
        delta="1e-5",
        guesses=100,
        assuming="gaussian",
        bits=ReplayBits(5),
    )
    half, whole = (_Test(400, 1e-5, error, Assumed.GAUSSIAN).shown(100, 100) for error in (0.025, 0.05))
    assert half < whole == pytest.approx(found.epsilon)


@pytest.mark.parametrize(
    "right, guesses, canaries, epsilon, delta",
    [(3, 2, 9, 1, 0), (2, 3, 2, 1, 0), (1, 2, 3, math.nan, 0), (1, 2, 3, 1, 2)],
)
def test_counts_that_cannot_be_are_refused(
    right: int, guesses: int, canaries: int, epsilon: float, delta: float
) -> None:
    with pytest.raises(ParameterError, match="right, guesses and canaries are"):
        guesses_are_too_good(right, guesses, canaries, epsilon=epsilon, delta=delta)


def test_the_number_of_guesses_depends_on_the_claim_alone() -> None:
    """Chosen by the scores it would be a selection, and the bound too large too often."""
    claim = p.gaussian(sigma=2)
    made = {
        audit_one_run(run, 400, claim=claim, delta="1e-5", bits=ReplayBits(seed)).guesses
        for seed, run in enumerate((lambda i, _: i, lambda i, _: 0 * i, lambda i, _: ~i))
    }
    assert len(made) == 1


def test_what_is_vouched_for_shows_more_and_stays_below_the_truth() -> None:
    sigma = 0.6
    run: Run = lambda included, bits: included + gaussian("0.6", "1/65536", size=included.size, bits=bits)  # noqa: E731
    claim, truth = p.gaussian(sigma=sigma), p.gaussian(sigma=sigma).epsilon("1e-5")
    any_noise, gauss = (
        audit_one_run(run, 1000, claim=claim, delta="1e-5", confidence=1 - 1e-9, assuming=assumed, bits=ReplayBits(7))
        for assumed in Assumed
    )
    assert any_noise.epsilon < gauss.epsilon < truth
    assert "if the noise is Gaussian" in str(gauss)
    assert "Gaussian" not in str(any_noise)


@pytest.mark.parametrize("epsilon, least", [(1, 0.26), (2, 0.64), (4, 1.75), (8, 3.7)])
def test_most_is_shown_by_the_chosen_number_of_guesses(epsilon: int, least: float) -> None:
    """What a mean run of Gaussian noise that is exactly as noisy as claimed shows, against the best of jax-privacy."""
    claim = p.gaussian(sigma=gaussian_sigma(epsilon=epsilon, delta="1e-5"))
    test = _Test(1000, 1e-5, 0.05, Assumed.GAUSSIAN)
    chosen, misses = _most_telling(claim, test), misses_of(claim)

    def shown(count: int) -> float:
        return test.shown(round(count * expected_right(misses, count / 1000)), count)

    assert shown(chosen) >= least
    assert shown(chosen) >= 0.9 * max(shown(count) for count in range(20, 1000, 140))
    assert _most_telling(p.pure(epsilon=1), _Test(11, 0.0, 0.05, Assumed.NOTHING)) <= 10
