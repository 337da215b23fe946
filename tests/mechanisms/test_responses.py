"""Randomized response: the law of a response, the estimator and its variance, in the corrected form."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import RandomizedResponse
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

FALSE_ALARM = 1e-9


def test_two_coins_are_ln_3() -> None:
    """Heads: the truth; tails: a second coin decides. The truth with 3/4: epsilon = ln 3."""
    coin = RandomizedResponse(2, truth="3/4")
    assert float(coin.epsilon) == pytest.approx(math.log(3), rel=1e-15)
    assert coin.epsilon >= Fraction(math.log(3)) - Fraction(1, 10**16)
    assert coin.privacy.epsilon(0) == pytest.approx(math.log(3), rel=1e-12)


def test_a_hundred_answers_keep_the_truth_3_times_in_102() -> None:
    assert RandomizedResponse(100, truth="3/102").keep == pytest.approx(3 / 102)
    assert float(RandomizedResponse(100, truth="3/102").epsilon) == pytest.approx(math.log(3), rel=1e-12)
    assert RandomizedResponse(100, epsilon=math.log(3)).keep == pytest.approx(3 / 102)


@pytest.mark.parametrize("mechanism", [RandomizedResponse(2, epsilon="0.7"), RandomizedResponse(5, epsilon=2)])
def test_responses_follow_their_law(mechanism: RandomizedResponse) -> None:
    k, count = mechanism.answers, 20_000
    truth = 1
    responses = mechanism.release(np.full(count, truth), bits=ReplayBits(2)).value
    seen = np.bincount(np.asarray(responses), minlength=k)
    law = np.full(k, (1 - mechanism.keep) / (k - 1))
    law[truth] = mechanism.keep
    assert stats.chisquare(seen, law * count).pvalue > FALSE_ALARM
    flipped = np.roll(law, 1)
    assert stats.chisquare(seen, flipped * count).pvalue < FALSE_ALARM


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_pair_of_laws_has_the_stated_epsilon(k: int) -> None:
    mechanism = RandomizedResponse(k, epsilon="1.5")
    p = mechanism.keep
    q = (1 - p) / (k - 1)
    assert math.log(p / q) == pytest.approx(1.5, rel=1e-12)
    for at in (0.0, 0.4, 1.2):
        law, other = np.full(k, q), np.full(k, q)
        law[0], other[1] = p, p
        assert mechanism.privacy.delta(at) == pytest.approx(np.maximum(law - math.exp(at) * other, 0).sum(), rel=1e-9)


@pytest.mark.parametrize("answers, truth", [(2, "3/4"), (3, "1/2"), (4, "2/3")])
@pytest.mark.parametrize("values", [[0, 1], [0, 0, 1], [1, 1]])
def test_the_estimator_is_unbiased_and_its_variance_exact(answers: int, truth: str, values: list[int]) -> None:
    """By enumerating all responses of a few units: the mean is the true share, the variance the formula's."""
    mechanism = RandomizedResponse(answers, truth=truth)
    p = Fraction(truth)
    q = (1 - p) / (answers - 1)
    count = len(values)
    mean, square = Fraction(0), Fraction(0)
    for responses in product(range(answers), repeat=count):
        chance = math.prod((p if r == v else q for r, v in zip(responses, values, strict=True)), start=Fraction(1))
        share = (Fraction(responses.count(0), count) - q) / (p - q)
        assert mechanism.estimate(responses).values[0] == pytest.approx(float(share), abs=1e-12)
        mean, square = mean + chance * share, square + chance * share**2
    true = Fraction(values.count(0), count)
    assert mean == true
    assert square - mean**2 == mechanism.variance(true, count)


def test_the_variance_is_not_the_misprint() -> None:
    """p(1-p) / (N (2p-1)^2), which is (1/N)(1/(16 (p-1/2)^2) - 1/4); the notes print 1/(N (16 (p-1/2)^2 - 1/4))."""
    p, count = Fraction(3, 4), 100
    variance = RandomizedResponse(2, truth=p).variance("1/2", count)
    assert variance == p * (1 - p) / (count * (2 * p - 1) ** 2)
    assert variance == (1 / (16 * (p - Fraction(1, 2)) ** 2) - Fraction(1, 4)) / count
    assert variance != 1 / (count * (16 * (p - Fraction(1, 2)) ** 2 - Fraction(1, 4)))
    sampled = RandomizedResponse(2, truth=p).variance("1/2", count, sampled=True)
    assert sampled - variance == Fraction(1, 4) / count


def test_shares_stay_within_their_error() -> None:
    mechanism, bits, runs = RandomizedResponse(3, epsilon=1), ReplayBits(9), 400
    truth = np.repeat([0, 1, 2], [500, 300, 200])
    inside = 0
    for _ in range(runs):
        shares = mechanism.estimate(mechanism.release(truth, bits=bits).value)
        inside += bool(abs(shares.values[0] - 0.5) <= shares.error(0.9))
    assert stats.binom.cdf(inside, runs, 0.9) > FALSE_ALARM
    assert shares.values.sum() == pytest.approx(1)


def test_local_answers_cost_the_root_of_n() -> None:
    """The error of a local count grows like sqrt(N); the central one stays: the notes' comparison."""
    mechanism = RandomizedResponse(2, epsilon=1)
    deviations = [math.sqrt(mechanism.variance("1/2", count)) * count for count in (100, 10_000)]
    assert deviations[1] / deviations[0] == pytest.approx(10)


@pytest.mark.parametrize("value", [7, -3, 2**70, [9, -1]])
def test_answers_outside_are_clamped(value: int | list[int]) -> None:
    found = np.asarray(RandomizedResponse(3, epsilon=1).release(value).value)
    assert ((found >= 0) & (found <= 2)).all()


def test_several_units_answer_in_one_call() -> None:
    release = RandomizedResponse(4, epsilon=1).release(np.zeros((3, 5), dtype=np.int64))
    assert np.asarray(release.value).shape == (3, 5)
    assert release.privacy.neighbors is NeighborRelation.CHANGE_ONE_ORDERED


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"answers": 1, "epsilon": 1}, "answers is 1"),
        ({"answers": 2}, "give exactly one of epsilon, truth"),
        ({"answers": 2, "epsilon": 0}, "epsilon is 0"),
        ({"answers": 2, "truth": "1/2"}, "above 1/2 and below 1"),
        ({"answers": 2, "truth": 1}, "above 1/2 and below 1"),
        ({"answers": 2, "truth": "3/4", "epsilon": 1}, "give one of them"),
        ({"answers": 2, "epsilon": 1, "neighbors": NeighborRelation.CHANGE_ONE.group(2)}, "each respondent"),
    ],
)
def test_wrong_responses_are_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        RandomizedResponse(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("responses", [[], [0, 3], [-1], [0.5]])
def test_wrong_estimates_are_refused(responses: list[int]) -> None:
    with pytest.raises(ParameterError):
        RandomizedResponse(3, epsilon=1).estimate(responses)
