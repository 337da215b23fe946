"""Differencing and averaging succeed against exact answers and against uncounted noise, and not against a promise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.checks.attacks import Target, averaging, differencing
from discreet.errors import BudgetError, ParameterError
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import pure
from discreet.privacy.meanings import attacker_accuracy
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

FALSE_ALARM = 1e-9
PEOPLE = 4000


def secret(person: int) -> bool:
    return person % 2 == 0


TARGETS = [Target(str(each), whole="all", rest=f"all but {each}", secret=secret(each)) for each in range(PEOPLE)]


def exact(question: str) -> float:
    """Count the secrets of everybody, or of everybody but one."""
    left_out = question.rpartition(" ")[2]
    return PEOPLE // 2 - (left_out.isdigit() and secret(int(left_out)))


def noisy(epsilon: str, seed: int) -> Callable[[str], float]:
    """Answer with noise for this epsilon, fresh each time."""
    mechanism, bits = DiscreteLaplace(sensitivity=1, epsilon=epsilon), ReplayBits(seed)
    return lambda question: float(mechanism.release(int(exact(question)), bits=bits).value)


def most_right(epsilon: str) -> float:
    """The promised share of right guesses, and what chance adds to it once in 10^9 runs (Hoeffding)."""
    return attacker_accuracy(pure(epsilon)) + math.sqrt(math.log(1 / FALSE_ALARM) / (2 * PEOPLE))


def test_differences_of_exact_answers_tell_every_secret() -> None:
    found = differencing(exact, TARGETS)
    assert (found.accuracy, found.refused) == (1.0, 0)


def test_differences_of_private_answers_tell_no_more_than_promised(seed: int) -> None:
    found = differencing(noisy("0.25", seed), TARGETS)
    assert found.accuracy <= most_right("0.5")


def test_differencing_sees_a_promise_that_is_broken(seed: int) -> None:
    assert differencing(noisy("4", seed), TARGETS).accuracy > most_right("0.5")


def test_who_is_refused_guesses_no() -> None:
    def ask(question: str) -> float:
        raise BudgetError(str(question))

    found = differencing(ask, TARGETS[:10])
    assert (found.right, found.refused, found.accuracy) == (5, 10, 0.5)
    assert "10 refused" in str(found)


def test_averages_of_uncounted_noise_tell_the_count(seed: int) -> None:
    found = averaging(noisy("0.1", seed), ["all"] * 20_000, truth=PEOPLE / 2)
    assert found.told  # the mean's standard deviation is 0.1
    assert found.different > 20


def test_a_stored_answer_is_not_averaged_away(seed: int) -> None:
    stored: dict[str, float] = {}
    fresh = noisy("0.1", seed)

    def ask(question: str) -> float:
        return stored.setdefault(question, fresh(question))

    found = averaging(ask, ["all"] * 500, truth=PEOPLE / 2)
    assert found.different == 1
    assert found.estimate == found.first


def test_refusals_are_counted_and_what_was_answered_is_averaged() -> None:
    left = [3.0, 5.0]

    def ask(question: str) -> float:
        if not left:
            raise BudgetError(str(question))
        return left.pop()

    found = averaging(ask, ["a", "b", "c"], truth=4)
    assert (found.estimate, found.answered, found.refused, found.first) == (4.0, 2, 1, 5.0)
    assert "1 refused" in str(found)


def test_attacks_say_what_guessing_gets() -> None:
    found = differencing(lambda _: 0.0, [Target(str(one), "all", "rest", secret=one < 3) for one in range(10)])
    assert (found.outcome.share, found.outcome.baseline) == (0.7, 0.7)
    assert found.plot().get_ylim() == (0, 1)
    answers = {"a": 3.0, "b": 5.0, "c": 7.0}
    means, first, truth = averaging(answers.__getitem__, "abc", truth=6).plot().lines
    assert np.asarray(means.get_ydata()).tolist() == [3, 4, 5]
    assert [np.asarray(line.get_ydata()).tolist() for line in (first, truth)] == [[3, 3], [6, 6]]


def test_whatever_asks_may_fail() -> None:
    for answer, message in (
        (lambda _: 1 / 0, "ask raised ZeroDivisionError"),
        (lambda _: math.nan, "no finite number"),
    ):
        with pytest.raises(ParameterError, match=message):
            averaging(answer, ["all"], truth=0)
        with pytest.raises(ParameterError, match=message):
            differencing(answer, TARGETS[:1])


def test_attacks_need_something_to_attack() -> None:
    with pytest.raises(ParameterError, match="targets is empty"):
        differencing(exact, [])
    with pytest.raises(ParameterError, match="no answer at all"):
        averaging(exact, [], truth=0)
