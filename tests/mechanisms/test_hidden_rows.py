"""No row that a release hides shows elsewhere: in an order, in a rounding, in an overflow or in an error."""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms import (
    CountDistinct,
    InverseSensitivity,
    JointQuantiles,
    Mean,
    Mode,
    PartitionSelection,
    PredictionVariance,
    RandomizedResponse,
    SampleAndAggregate,
    StableTopK,
    recommend,
)
from discreet.privacy import NeighborRelation, Pure
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

MANY = 10**6
ADD_REMOVE = NeighborRelation.ADD_REMOVE


@pytest.mark.parametrize("method", ["optimal", "laplace", "gaussian"])
@pytest.mark.parametrize("hidden", [math.nan, None, (1, math.nan), -5.0, "x", 7])
def test_the_order_of_selected_keys_does_not_depend_on_hidden_ones(method: str, hidden: object) -> None:
    mechanism = PartitionSelection(epsilon=1, delta=1e-5, method=method)
    for keys in permutations([3.0, 1.0, hidden, 2.0]):
        found = mechanism.release({key: 0 if key is hidden else MANY for key in keys}, bits=ReplayBits(1)).value
        assert list(found) == [1.0, 2.0, 3.0]


def test_keys_of_all_kinds_have_one_order() -> None:
    keys = [math.nan, 3.0, 1.0, np.int64(10), np.int64(9), "b", "a", None, (2, math.nan), True, np.float64("nan")]
    mechanism = PartitionSelection(epsilon=1, delta=1e-5)
    first = mechanism.release(dict.fromkeys(keys, MANY)).value
    assert mechanism.release(dict.fromkeys(reversed(keys), MANY)).value == first
    assert list(first).index(np.int64(9)) < list(first).index(np.int64(10))


@pytest.mark.parametrize("count", [None, "x", 0.5, math.nan, -math.inf, np.uint64(0), np.int64(-(2**63)), pd.NA])
def test_no_count_of_a_hidden_key_raises(count: object) -> None:
    mechanism = PartitionSelection(epsilon=1, delta=1e-5)
    assert mechanism.release({"seen": np.uint64(2**63), "hidden": count}).value == ("seen",)  # type: ignore[dict-item]


@pytest.mark.parametrize("size", [2, 20])
@pytest.mark.parametrize("neighbors", [ADD_REMOVE, NeighborRelation.CHANGE_ONE])
def test_the_noise_of_a_mode_grows_with_the_group(size: int, neighbors: NeighborRelation) -> None:
    one, many = Mode("ab", epsilon=1, neighbors=neighbors), Mode("ab", epsilon=1, neighbors=neighbors.group(size))
    assert many.count_gap() == pytest.approx(size * one.count_gap(), rel=1e-9)
    assert many.privacy.neighbors == neighbors.group(size)
    assert many.claim.epsilon == many.privacy.epsilon(0) == 1


def test_a_mode_of_no_rows_at_all_is_refused_by_its_type() -> None:
    with pytest.raises(ParameterError, match="NoneType"):
        Mode("ab", epsilon=1).release(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("blocks", [63, 64, 128])
def test_sums_over_blocks_do_not_wrap(blocks: int) -> None:
    mechanism = SampleAndAggregate(blocks, lower=0, upper=1, grid=Fraction(1, 2**57), epsilon=100)
    assert mechanism.release(([1.0] * 3, lambda _: 1.0), bits=ReplayBits(2)).value > 0.9


def test_rows_of_a_series_are_taken_by_place() -> None:
    mechanism = SampleAndAggregate(1, lower=0, upper=4, grid=1, epsilon=1000)
    rows = pd.Series([2.0, 2.0, 2.0], index=[5, 6, 7])
    assert mechanism.release((rows, np.mean)).value == 2
    assert mechanism.release((deque([2.0, 2.0]), np.mean)).value == 2


@pytest.mark.parametrize("neighbors", [ADD_REMOVE, NeighborRelation.CHANGE_ONE])
def test_responses_of_several_units_are_private_only_for_each_at_its_place(neighbors: NeighborRelation) -> None:
    with pytest.raises(ParameterError, match="change_one_ordered"):
        RandomizedResponse(2, epsilon=1, neighbors=neighbors)


@pytest.mark.parametrize("odd", [pd.NA, [3], {1: 2}, np.array([1, 2]), pd.NaT, math.nan, None])
def test_an_odd_value_is_not_counted_and_does_not_raise(odd: object) -> None:
    assert CountDistinct(epsilon=100).release([1, odd, 2, "a"]).value == 3
    assert CountDistinct(epsilon=100).release([1, odd, odd]).value == 1


def test_values_are_refused_by_the_type_of_their_container() -> None:
    for value in (None, 5, np.array(5)):
        with pytest.raises(ParameterError, match="must hold the values"):
            CountDistinct(epsilon=1).release(value)  # type: ignore[arg-type]


def test_the_number_of_bounds_is_listed_as_public() -> None:
    assert "the number of bounds is public." in InverseSensitivity(lower=0, upper=1, epsilon=1).assumed


@pytest.mark.parametrize("odd", [["secret"], [10**400], [None], ["1"], [], [1, 2], None, [pd.NA], "x", [[1]]])
def test_an_odd_row_of_features_counts_as_a_row_of_zeros(odd: object) -> None:
    mechanism = PredictionVariance([1], radius=1, ridge=1, epsilon=1)
    rows: list[object] = [[1.0], [0.5]]
    assert mechanism.value_and_bound([*rows, odd]) == mechanism.value_and_bound([*rows, [0.0]])  # type: ignore[arg-type]


def test_features_are_refused_by_their_shape_and_type_alone() -> None:
    mechanism = PredictionVariance([1], radius=1, ridge=1, epsilon=1)
    for value in (np.ones((5, 2)), np.ones((5, 1, 1)), np.array([["secret"]]), pd.DataFrame({"a": [1], "b": [2]}), 5):
        with pytest.raises(ParameterError, match="value is") as caught:
            mechanism.release(value)
        assert "secret" not in str(caught.value)
    assert mechanism.value_and_bound(np.ones(3)) == mechanism.value_and_bound([[1], [1], [1]])


def test_joint_quantiles_refuse_what_would_overflow_before_rows_are_seen() -> None:
    with pytest.raises(ParameterError, match="common denominator"):
        JointQuantiles([f"1/{99_999_989 - k}" for k in range(12)], lower=0, upper=3, grid=1, epsilon=5)
    assert JointQuantiles(["0.025", "0.5", "0.975"], lower=0, upper=3, grid=1, epsilon=5).scale > 0


def test_what_is_recommended_is_made_for_all_rows() -> None:
    found = recommend("mean", Pure(1, neighbors=NeighborRelation.CHANGE_ONE), n=50_000)
    sizes = [option.mechanism.size for option in found.options if isinstance(option.mechanism, Mean)]
    assert sizes
    assert set(sizes) == {50_000}


INFINITE = np.float16("inf")  # equals all whole numbers that it rounds to infinity, and hashes as those below
ALIKE = [314_159 + k * (2**61 - 1) for k in range(6)]
ODD = [INFINITE, *ALIKE, 1, 1.0, np.int8(1), True, "1", np.longdouble("0.1"), 0.1, (1, math.nan), b"1"]


def test_no_value_makes_others_equal() -> None:
    count = CountDistinct(values=1, epsilon=200)
    with np.errstate(over="ignore"):
        assert INFINITE == ALIKE[1] != ALIKE[0] == INFINITE
    for values in (ALIKE, ODD):
        for one in ODD:
            with_it = count.release([one, *values]).value
            assert abs(with_it - count.release(values).value) <= 1
    assert count.release([INFINITE, *ALIKE]).value == 7
    assert count.release([1, 1.0, np.int8(1), True, np.float64(1), Fraction(1), 1 + 0j]).value == 1


def test_no_row_makes_others_count_for_another_candidate() -> None:
    rows = [INFINITE] + [ALIKE[1]] * 1000
    for _ in range(8):  # with equality among rows the two candidates would tie
        assert Mode(ALIKE[:2], epsilon=10).release(rows).value == ALIKE[1]
    assert StableTopK(ALIKE[:2], epsilon=10, delta=1e-6).release(rows).value == (ALIKE[1],)


@pytest.mark.parametrize("make", [lambda: Mode("ab", epsilon=10), lambda: StableTopK("ab", epsilon=10, delta=1e-6)])
def test_a_row_that_cannot_be_hashed_is_not_counted(make: Callable[[], Mode | StableTopK]) -> None:
    rows: list[Any] = ["a"] * 100 + [memoryview(bytearray(b"a")), ["a"], {"a"}]
    assert str(make().release(rows).value) in {"a", "('a',)"}
    for value in (5, None, np.array(5)):
        with pytest.raises(ParameterError, match="must hold the values"):
            make().release(value)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="2 dimensions"):
        make().release(pd.DataFrame({"a": [1]}))


def test_rows_of_any_container_are_the_same_values() -> None:
    dates = pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-02", "2020-01-01"]))
    assert CountDistinct(epsilon=100).release(dates).value == 2
    assert CountDistinct(epsilon=100).release(dates.to_numpy()).value == 2
    assert CountDistinct(epsilon=100).release(np.ma.array([1, 2, 3], mask=[False, True, False])).value == 2
    for rows in (pa.array([1, None, 2, 2]), pl.Series([1, None, 2, 2]), pd.Series([1, None, 2, 2], dtype="Int64")):
        assert CountDistinct(epsilon=100).release(rows).value == 2
        assert Mode([1, 2], epsilon=100).release(rows).value == 2
    assert Mode([dates[0], dates[2]], epsilon=100).release(dates).value == dates[0]
