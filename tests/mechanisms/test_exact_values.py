"""Scores and values are read by themselves and exactly, whatever stands beside them."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.exact import Grid
from discreet.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    NoisyMax,
    PredictionVariance,
    ProposedMedian,
    ProposeTestRelease,
    ReciprocalCount,
    SampleAndAggregate,
    SmoothSensitivity,
    Staircase,
    TopK,
    exponential,
    mean,
    median,
)
from discreet.mechanisms.choosing.scores import private_scores, scored
from discreet.mechanisms.inputs.values import exact_integers, snapped
from discreet.mechanisms.sensitivity.smooth_mechanism import read_private
from discreet.noise import exponential_race, gumbel_race, laplace_race, lottery
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.mechanisms.release import Release

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


@pytest.mark.slow
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


MISSING = [None, math.nan, pd.NA, Decimal("sNaN"), np.ma.masked, np.float32("nan")]


@pytest.mark.parametrize("odd", [*MISSING, "x", b"x", 1j, Ellipsis, np.timedelta64(3), pd.NaT, {1}], ids=repr)
def test_what_is_no_number_counts_as_0_beside_others(odd: object) -> None:
    for values in ([1.5, odd], (odd, 1.5), np.array([1.5, odd], dtype=object)):
        assert sorted(np.asarray(snapped(values, Grid("1/2"))).tolist()) == [0, 3]  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
def test_a_missing_whole_number_counts_as_0(missing: object) -> None:
    assert exact_integers([7, missing]).tolist() == [7, 0]  # type: ignore[arg-type]
    assert exact_integers(pd.Series([7, None], dtype="Int64")).tolist() == [7, 0]


def test_what_lies_under_a_mask_is_missing() -> None:
    hidden = np.ma.array([1, 777], mask=[False, True])
    assert np.asarray(snapped(hidden, Grid(1))).tolist() == exact_integers(hidden).tolist() == [1, 0]
    assert NoisyMax(1, epsilon=100).release(hidden).value == 0
    mechanism = PredictionVariance([1], radius=1, ridge=1, epsilon=1)
    rows = np.ma.array([[1.0], [0.5]], mask=[[False], [True]])
    assert mechanism.value_and_bound(rows) == mechanism.value_and_bound([[1.0], [0.0]])
    made = SampleAndAggregate(1, lower=0, upper=1000, grid=1, epsilon=10**6)
    assert made.release((hidden, np.max)).value == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("half", [np.float16(0.5), np.float32(0.5), np.longdouble(0.5), Decimal("0.5"), "1/2", 0.5])
def test_a_private_number_is_read_whatever_its_type(half: object) -> None:
    zero, one = Fraction(0), Fraction(1)
    assert read_private(half, zero, one, missing=zero) == Fraction(1, 2)  # type: ignore[arg-type]
    assert made_of(half).value == 0.5


def made_of(value: object) -> Release[float]:
    """Release a number with hardly any noise."""
    return SmoothSensitivity(lower=0, upper=1, epsilon=1, grid="1/2").release((value, 0))  # type: ignore[arg-type]


@pytest.mark.parametrize("tiny", [Decimal("1e-100000000"), Decimal("-1e-100000000"), "1e-100000000"])
def test_a_tiny_private_number_fills_no_memory(tiny: Decimal | str) -> None:
    assert made_of(tiny).value == 0


@pytest.mark.parametrize("odd", [math.nan, math.inf, None, "x", pd.NA, -3, 2**70])
def test_no_count_makes_its_reciprocal_raise(odd: object) -> None:
    assert 0 <= ReciprocalCount(epsilon=1).release(odd).value <= 1  # type: ignore[arg-type]


def test_numbers_beyond_floats_warn_of_nothing() -> None:
    wide = np.array([np.longdouble("1e4000"), 0, 0], dtype=np.longdouble)
    if np.isfinite(wide[0]):  # where NumPy has such numbers
        assert mean(wide, bounds=(0, 3), epsilon=1000).value == pytest.approx(1, abs=0.1)
        made = PredictionVariance([1], radius=1, ridge=1, epsilon=1)
        assert made.value_and_bound(wide) == made.value_and_bound([[0.0]] * 3)


def test_a_function_of_private_rows_shows_no_warning() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        SampleAndAggregate(5, lower=0, upper=1, epsilon=1).release((np.array([1.0]), np.mean))  # type: ignore[arg-type]
        exponential([1, 2], lambda _: float(np.float64(1) / np.float64(0)), sensitivity=1, epsilon=1)
    assert not seen


@pytest.mark.parametrize("shape", [(), (1,)])
def test_an_array_of_no_dimension_is_a_number(shape: tuple[int, ...]) -> None:
    for mechanism in (DiscreteLaplace(1, epsilon=100), DiscreteGaussian(1, rho=1000), Laplace(1, epsilon=1000)):
        found = mechanism.release(np.full(shape, 5)).value
        assert np.shape(found) == shape
        assert isinstance(found, np.ndarray) == bool(shape)


def test_candidates_are_taken_by_their_places() -> None:
    scores = [1000, 0]
    for names in (pd.Series(["a", "b"], index=[1, 0]), {"a": 1, "b": 2}, iter("ab"), np.array(["a", "b"])):
        assert exponential(names, scores, sensitivity=1, epsilon=1).value == "a"  # type: ignore[arg-type]
    chosen = exponential({5, 6}, lambda c: 1000 * (c == 6), sensitivity=1, epsilon=1)  # type: ignore[arg-type]
    assert chosen.value == 6
    with pytest.raises(ParameterError, match="candidates is 5"):
        NoisyMax(1, epsilon=1).release(scores, candidates=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("far", [10**14, -(10**14)])
def test_a_proposed_median_reaches_its_bounds(far: int) -> None:
    made = ProposedMedian(1, lower=-(10**14), upper=10**14, epsilon=4, delta=1e-6)
    answer = made.release(np.full(1000, float(far)), bits=ReplayBits(5))
    assert answer.value == pytest.approx(far, abs=made.error(1 - 1e-9))
    assert "within ±" in ProposeTestRelease(1, epsilon=1, delta=1e-6).release((0, 100)).explain()


@pytest.mark.parametrize("make", [Laplace, Gaussian])
def test_the_error_of_a_release_counts_the_rounding_of_its_float(make: Callable[..., Laplace | Gaussian]) -> None:
    mechanism = make(1, **({"epsilon": 1} if make is Laplace else {"rho": 1}), grid=Fraction(1, 2**20))
    near, far = mechanism.release(7), mechanism.release(Fraction(2**62 - 1, 2**20) - 2**30)
    assert near.error(0.95) == mechanism.error(0.95)
    assert far.error(0.95) == pytest.approx(mechanism.error(0.95) + 2.0**-12, abs=1e-9)  # 2**61 to 2**62 steps, by 2**9


def test_whole_numbers_of_any_size_are_said_to_be_taken_one_by_one() -> None:
    assert "A single whole number may have any size." in DiscreteLaplace(1, epsilon=1).release(2**80).explain()
