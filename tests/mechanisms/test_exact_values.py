"""Scores and values are read by themselves and exactly, whatever stands beside them."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.exact import Grid
from discreet.mechanisms import DiscreteLaplace, Exponential, Laplace, NoisyMax, Staircase, TopK, exponential, median
from discreet.mechanisms.additive import exact_integers, snapped
from discreet.mechanisms.selection import private_scores, scored
from discreet.noise import exponential_race, gumbel_race, laplace_race, lottery
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(2**53, 2**60).map(float),
    st.floats(),
    st.none(),
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.fractions(max_denominator=10**6),
    st.decimals(-(10**25), 10**25, places=3),
)
"""Neighbors of one row, of every type that a list may hold."""


def by_hand(value: object, step: Fraction) -> int:
    """Snap one number in rational arithmetic."""
    most = 2**62 - 1
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return 0
    if isinstance(value, float | Decimal) and math.isinf(value):
        return most if value > 0 else -most
    exact = Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)  # type: ignore[call-overload]
    return max(-most, min(round(exact / step), most))


@settings(max_examples=300, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=5), st.integers(-70, 70))
def test_each_value_is_snapped_by_itself(values: list[object], exponent: int) -> None:
    grid = Grid(Fraction(2) ** exponent)
    found = np.asarray(snapped(values, grid))  # type: ignore[arg-type]
    assert found.tolist() == [by_hand(each, grid.step) for each in values]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5), st.integers(-70, 70))
def test_arrays_are_snapped_as_lists_are(values: list[int], exponent: int) -> None:
    grid = Grid(Fraction(2) ** exponent)
    wanted = [by_hand(each, grid.step) for each in values]
    assert np.asarray(snapped(np.array(values, dtype=np.int64), grid)).tolist() == wanted
    large = [each + 2**63 for each in values]
    wanted = [by_hand(each, grid.step) for each in large]
    assert np.asarray(snapped(np.array(large, dtype=np.uint64), grid)).tolist() == wanted


@pytest.mark.parametrize("beside", [0.5, 2**63, -1, None, Fraction(1, 2), np.uint64(1)])
def test_a_value_beside_another_keeps_its_last_digit(beside: object) -> None:
    for end in (127, 129):
        assert np.asarray(snapped([2**60 + end, -1, beside], Grid(1)))[0] == 2**60 + end  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "values", [(2**63, -1), [[2**63, -1]], [2**63, np.int64(-1)], [np.uint64(2**63), np.int64(-1)], ((2**70,), (-1,))]
)
def test_whole_numbers_are_clamped_one_by_one(values: object) -> None:
    assert exact_integers(values).ravel().tolist() == [2**62 - 1, -1]  # type: ignore[arg-type]
    noisy = DiscreteLaplace(1, epsilon=100).release(values).value  # type: ignore[arg-type]
    assert np.asarray(noisy).ravel().tolist() == [2**62 - 1, -1]


@settings(max_examples=300, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=5))
def test_each_score_is_read_by_itself(scores: list[object]) -> None:
    together = [Fraction(each) for each in private_scores(scores).tolist()]  # type: ignore[arg-type]
    alone = [Fraction(private_scores([each]).tolist()[0]) for each in scores]  # type: ignore[arg-type]
    assert together == alone


@pytest.mark.parametrize("odd", ["x", None, [1], object(), Decimal("sNaN"), math.nan, np.array([1, 2])])
def test_a_score_function_that_returns_no_number_gives_the_lowest(odd: object) -> None:
    found = private_scores(scored(lambda c: odd if c else 5, [0, 1]))  # type: ignore[arg-type, return-value]
    assert found[0] == 5
    assert found[1] < -(10**300)


def test_large_scores_beside_a_float_keep_their_distance() -> None:
    scores = [2**60 + 1, 2**60, 0.5]
    for mechanism in (Exponential(1, epsilon=200), NoisyMax(1, epsilon=200), NoisyMax(1, epsilon=200, noise="laplace")):
        assert {mechanism.release(scores, bits=ReplayBits(seed)).value for seed in range(20)} == {0}
    assert TopK(2, sensitivity=1, epsilon=400).release(scores).value == [0, 1]
    assert exponential("ab", lambda c: 2**60 + (c == "b"), sensitivity=1, epsilon=200).value == "b"


@pytest.mark.parametrize("draw", [lottery, gumbel_race, exponential_race, laplace_race])
def test_fractions_are_drawn_as_the_floats_that_they_are(draw: object) -> None:
    floats = [0.5, 0.25, -1.0, 0.0]
    exact = np.array([Fraction(each) for each in floats], dtype=object)
    for seed in range(50):
        assert draw(exact, 1, bits=ReplayBits(seed)) == draw(floats, 1, bits=ReplayBits(seed))  # type: ignore[operator]


@pytest.mark.parametrize("epsilon", [1e30, 1e290])
def test_a_huge_epsilon_takes_no_longer(epsilon: float) -> None:
    for _ in range(20):
        assert median([1], bounds=(0, 1), epsilon=epsilon).value == 1
        assert exponential("ab", [1, 0], sensitivity=1, epsilon=epsilon).value == "a"
        assert NoisyMax(1, epsilon=epsilon).release([1, 0]).value == 0


GROUP = NeighborRelation.ADD_REMOVE.group(5)


@pytest.mark.parametrize("make", [Laplace, DiscreteLaplace, Exponential, NoisyMax, Staircase])
def test_an_explanation_speaks_of_the_group(make: type[Laplace]) -> None:
    assert make(1, epsilon=1, neighbors=GROUP).assumed[0].startswith("a group of 5 units moves")
    assert make(1, epsilon=1).assumed[0].startswith("one unit moves")


def test_an_explanation_states_the_range_within_which_the_error_holds() -> None:
    made = Laplace(1, epsilon=1)
    assert "within ± 4.39E+12" in made.release(0).explain()
    inside = float(2**42 - 2**10)
    assert abs(float(made.release(inside, bits=ReplayBits(3)).value) - inside) < made.error(1 - 1e-9)
    assert made.release(5e12, bits=ReplayBits(3)).value == pytest.approx(2**42, abs=made.error(1 - 1e-9))
