"""The exercises' numbers are those that counting gives, and each statement fails where its condition does."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import pytest
from scipy.integrate import quad

from discreet.checks.exercises import (
    EXERCISES,
    Comparison,
    Shown,
    advantage,
    biased_predicate,
    deterministic_is_not_private,
    half_sample_mean,
    large_delta_leaks,
    noisy_max,
    nuclear_option,
    packing,
    reconstruction_is_vacuous,
    renyi_bad_outcomes,
    sampling_is_not_private,
    small_delta_is_useless,
)
from discreet.checks.exercises.bounds import _noisy_max_law
from discreet.errors import ParameterError


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.__name__)
def test_each_exercise_holds(exercise: object) -> None:
    assert callable(exercise)
    assert all(shown.holds for shown in exercise())


@pytest.mark.parametrize("people", [1, 2, 7])
def test_statements_hold_for_other_numbers(people: int) -> None:
    assert all(shown.holds for shown in large_delta_leaks(people))
    assert all(shown.holds for shown in small_delta_is_useless(people, Fraction(1, 2 * people + 1)))
    assert all(shown.holds for shown in nuclear_option(people, Fraction(1, 9)))
    assert all(shown.holds for shown in reconstruction_is_vacuous(people))
    assert all(shown.holds for shown in sampling_is_not_private(people, people // 2))
    assert all(shown.holds for shown in half_sample_mean(2 * people))
    assert all(shown.holds for shown in biased_predicate(2 * people, "0.1"))
    assert all(shown.holds for shown in packing(people + 1, 100, 0.5))
    assert all(shown.holds for shown in renyi_bad_outcomes(1 + people, 1.0 + people))


def test_a_larger_delta_makes_an_answer_useful() -> None:
    """Above 1/(2n) the statement's condition is gone, and so is its conclusion."""
    steps, apart, off = small_delta_is_useless(100, "1/120")
    assert steps.holds
    assert apart.holds
    assert not off.holds


def test_the_half_sample_is_counted() -> None:
    """By all halves of all data of 6 people: the variance, and the best guesses from the answer alone."""
    bits = (1, 1, 1, 0, 0, 0)
    means = [Fraction(sum(some), 3) for some in combinations(bits, 3)]
    variance = sum((mean - Fraction(1, 2)) ** 2 for mean in means) / len(means)
    joint: dict[tuple[Fraction, int], Fraction] = {}
    for data in product((0, 1), repeat=6):
        for some in combinations(range(6), 3):
            key = Fraction(sum(data[place] for place in some), 3), data[0]
            joint[key] = joint.get(key, Fraction(0)) + Fraction(1, 64 * 20)
    told = sum(max(joint.get((Fraction(seen, 3), bit), Fraction(0)) for bit in (0, 1)) for seen in range(4))
    shown = half_sample_mean(6)
    assert (shown[0].computed, shown[1].computed) == (variance, told)


def test_samples_are_counted() -> None:
    drawn = list(combinations(range(7), 3))
    assert sampling_is_not_private(7, 3)[0].computed == Fraction(sum(0 in some for some in drawn), len(drawn))


def test_noisy_max_has_its_law() -> None:
    """Pr[i] = integral of the density of i's noise times the chances that all others stay below."""
    scores, rate = (3.0, 2.0, 0.0, 2.5), 0.7
    for place, chance in enumerate(_noisy_max_law(scores, rate)):

        def wins(noise: float, place: int = place) -> float:
            others = [scores[place] + noise - score for other, score in enumerate(scores) if other != place]
            return rate * math.exp(-rate * noise) * math.prod(-math.expm1(-rate * max(gap, 0)) for gap in others)

        assert chance == pytest.approx(quad(wins, 0, 80, points=[0.5, 1, 3], limit=200)[0], abs=1e-7)
    assert sum(_noisy_max_law(scores, rate)) == pytest.approx(1)
    # Twice the rate is what counts alone would need; one that goes up as another goes down breaks the promise then.
    assert noisy_max((1, 1), 1.0)[0].holds
    broken = [abs(math.log(a / b)) for a, b in zip(_noisy_max_law((1, 1), 1), _noisy_max_law((2, 0), 1), strict=True)]
    assert max(broken) > 1


def test_any_answer_that_is_not_constant_tells() -> None:
    assert deterministic_is_not_private(lambda bits: bits[2] and not bits[0], 4)[0].computed == 1
    assert deterministic_is_not_private(lambda _: None, 4)[0].computed == 0


def test_what_fails_is_said_to_fail() -> None:
    assert str(Shown("a", 1.0, Comparison.AT_MOST, 0.5)) == "FAILS: a is 1, at most 0.5"
    assert not Shown("a", 1.0, Comparison.AT_LEAST, 1.1).holds
    assert Shown("a", math.inf, Comparison.AT_LEAST, math.inf).holds
    assert advantage({"a": Fraction(1)}, {"a": Fraction(1, 2), "b": Fraction(1, 2)}, factor=2) == 0


def test_mistakes_are_named() -> None:
    with pytest.raises(ParameterError, match="people is 5"):
        half_sample_mean(5)
    with pytest.raises(ParameterError, match="flip is"):
        biased_predicate(10, "1/2")
    with pytest.raises(ParameterError, match="delta is 0"):
        nuclear_option(10, 0)
    with pytest.raises(ParameterError, match="people is 0"):
        large_delta_leaks(0)
    with pytest.raises(ParameterError, match=r"below 1/\(2n\) = 1/200"):
        small_delta_is_useless(100, -1)
    for scores in ([], [1] * 9, [math.nan]):
        with pytest.raises(ParameterError, match="1 to 8 finite numbers"):
            noisy_max(scores)
    with pytest.raises(ParameterError, match="too far apart"):
        noisy_max([1000, 0], 3)
    with pytest.raises(ParameterError, match="order is 1"):
        renyi_bad_outcomes(1, 1)
    with pytest.raises(ParameterError, match="at most 500"):
        renyi_bad_outcomes(0.01, 8)
    for epsilon in (0, math.nan):
        with pytest.raises(ParameterError, match="epsilon is"):
            packing(20, 1000, epsilon)


@pytest.mark.parametrize("counts", [1, 2, 9])
def test_packing_is_its_inequality(counts: int) -> None:
    """For m people moved, 2^k e^(-epsilon m)/2 > 1 is a contradiction; the largest such m is what is claimed."""
    bound = packing(counts, 1000, 0.25)[0].stated
    impossible = [m for m in range(1000) if 2**counts * math.exp(-0.25 * m) / 2 >= 1]
    assert bound == pytest.approx(max(impossible) / 2000)
