"""The one reader of numbers, directed rounding, and fixed-point sums."""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import exact
from discreet.errors import ParameterError
from discreet.exact import Grid, float_down, float_up, integer, rational

if TYPE_CHECKING:
    from collections.abc import Callable

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
def test_a_float_is_the_decimal_that_it_prints_as(value: float) -> None:
    assert rational(value) == Fraction(Decimal(repr(value)))
    assert float(rational(value)) == value


def test_binary_reading_would_make_noise_too_small() -> None:
    """Promise 18: read in binary, 0.1 is more than a tenth, and the scale 1/epsilon too small for it."""
    assert rational(0.1) == Fraction(1, 10) < Fraction(0.1)
    assert 1 / rational(0.1) > 1 / Fraction(0.1)


@pytest.mark.parametrize(
    "value, wanted",
    [
        (3, 3),
        ("1/3", Fraction(1, 3)),
        (" 0.25 ", Fraction(1, 4)),
        ("1e-6", Fraction(1, 10**6)),
        (Decimal("0.30"), Fraction(3, 10)),
        (np.int8(-4), -4),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (-0.0, 0),
        (5e-324, Fraction("5e-324")),
        (10**400, 10**400),
    ],
)
def test_all_spellings(value: Any, wanted: Fraction) -> None:  # noqa: ANN401 - any spelling of a number
    assert rational(value) == wanted


BAD: list[Any] = [True, np.True_, None, [], "x", "", "1/0", "nan", "inf", float("nan"), float("inf"), Decimal("NaN")]
BAD += ["1e10_000_000", "1e999_999_999", "1e" + "9" * 5000, "1e" + "0" * 50 + "1"]
BAD += [Decimal("Infinity"), "1e99999", Decimal("1e99999"), np.float32("inf"), 1j, b"1", "1" * 20_000, np.array(1.0)]


@pytest.mark.parametrize("value", BAD, ids=lambda v: repr(v)[:20])
def test_what_is_no_number_is_refused_by_name(value: Any) -> None:  # noqa: ANN401 - any wrong thing
    with pytest.raises(ParameterError, match=r"^epsilon "):
        rational(value, name="epsilon")


@pytest.mark.parametrize("value", [1.0, True, "1", None, Fraction(1), np.float64(1)])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:  # noqa: ANN401 - any wrong thing
    with pytest.raises(ParameterError, match=r"^size is .* whole number"):
        integer(value, name="size")


def test_whole_numbers_have_limits() -> None:
    assert integer(np.int32(5), least=5, most=5) == 5
    with pytest.raises(ParameterError, match="at least 6"):
        integer(5, least=6)
    with pytest.raises(ParameterError, match="at most 4"):
        integer(5, most=4)


@given(st.fractions(max_denominator=10**30))
def test_floats_on_both_sides_are_neighbors(value: Fraction) -> None:
    low, high = float_down(value), float_up(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))


FUNCTIONS: dict[str, tuple[Callable[[Fraction], Fraction], Callable[[Fraction], Fraction], Any]] = {
    "exp": (exact.exp_lower, exact.exp_upper, mpmath.exp),
    "log": (exact.log_lower, exact.log_upper, mpmath.log),
    "sqrt": (exact.sqrt_lower, exact.sqrt_upper, mpmath.sqrt),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(value=st.fractions(min_value=Fraction(1, 10**6), max_value=700, max_denominator=10**20))
def test_directed_functions_are_the_neighboring_floats(name: str, value: Fraction) -> None:
    lower, upper, true = FUNCTIONS[name]
    with mpmath.workdps(400):
        truth = true(mpmath.mpf(value.numerator) / value.denominator)
        low, high = lower(value), upper(value)
        assert mpmath.mpf(low.numerator) / low.denominator <= truth <= mpmath.mpf(high.numerator) / high.denominator
    assert float(high) in (float(low), math.nextafter(float(low), math.inf))


def test_directed_functions_at_their_ends() -> None:
    assert exact.exp_upper(Fraction(-(10**9))) == Fraction(math.ulp(0.0))
    assert exact.exp_lower(Fraction(-(10**9))) == 0
    assert exact.log_upper(Fraction(1)) == exact.log_lower(Fraction(1)) == 0
    assert exact.sqrt_lower(Fraction(1, 4)) == exact.sqrt_upper(Fraction(1, 4)) == Fraction(1, 2)
    assert exact.sqrt_upper(Fraction(0)) == 0
    assert float_down(10**400) == -float_up(-(10**400)) == sys.float_info.max
    assert exact.log_upper("2") == exact.log_upper(2.0) >= exact.log_lower(Decimal(2))
    beyond = Fraction(sys.float_info.max) + 1
    calls = ((exact.log_upper, 0), (exact.sqrt_upper, -1), (exact.exp_upper, 711), (float_up, 10**400))
    for call, value in (*calls, (exact.sqrt_upper, beyond**2), (float_down, -beyond), (exact.exp_upper, "709.7828")):
        with pytest.raises(ParameterError):
            call(Fraction(value))


@given(st.lists(st.floats(-1e6, 1e6), max_size=5), st.integers(-20, 5))
def test_a_sum_does_not_depend_on_the_order(values: list[float], exponent: int) -> None:
    grid = Grid(Fraction(2) ** exponent)
    sums = {grid.sum(list(order), lower=-1000, upper=1000) for order in permutations(values)}
    assert len(sums) == 1


def test_float_sums_do_depend_on_the_order() -> None:
    assert sum([1e16, 1.0, -1e16]) != sum([1e16, -1e16, 1.0])


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=8),
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-8, 8),
    st.integers(-100, 100),
    st.integers(0, 100),
)
def test_one_row_moves_the_sum_by_no_more_than_the_snapped_bounds(
    rows: list[float], extra: float, exponent: int, lower: int, width: int
) -> None:
    """Promise 18: rows snapped before summing add nothing to the sensitivity of the snapped bounds."""
    grid = Grid(Fraction(2) ** exponent)
    low, high = grid.bounds(lower, lower + width)
    before, after = (grid.sum(each, lower=lower, upper=lower + width) for each in (rows, [*rows, extra]))
    assert abs(after - before) <= max(abs(low), abs(high)) * grid.step
    if rows:
        changed = grid.sum([extra, *rows[1:]], lower=lower, upper=lower + width)
        some_nan = math.isnan(extra) or math.isnan(rows[0])
        assert abs(changed - before) <= (max(abs(low), abs(high), high - low) if some_nan else high - low) * grid.step


def test_a_row_changed_to_nan_moves_the_sum_further() -> None:
    """It counts as no row, so the width of the bounds alone would be too little."""
    full, gone = ([100.0, 95.0], [float("nan"), 95.0])
    assert Grid(1).sum(full, lower=90, upper=100) - Grid(1).sum(gone, lower=90, upper=100) == 100


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=5), st.data())
def test_snapping_after_summing_adds_a_step_per_coordinate(values: list[float], data: st.DataObject) -> None:
    """Promise 18: d coordinates snapped after summing add d steps in L1 and sqrt(d) steps in L2."""
    grid = Grid("1/4")
    others = data.draw(st.lists(st.floats(-100, 100), min_size=len(values), max_size=len(values)))
    first, second = np.array(values), np.array(others)
    gap = np.abs(grid.snap(first) - grid.snap(second)) * 0.25
    assert gap.sum() <= np.abs(first - second).sum() + float(grid.rounding_l1(len(values))) + 1e-9
    assert np.linalg.norm(gap) <= np.linalg.norm(first - second) + float(grid.rounding_l2(len(values))) + 1e-9


def test_that_step_is_needed() -> None:
    """Two values a hair apart may land one step apart, so half a step would be too little."""
    grid = Grid(1)
    assert grid.steps("0.50001") - grid.steps("0.49999") == 1
    assert grid.rounding_l1(1) == 1


def test_sums_do_not_overflow() -> None:
    top = 2.0**61
    grid = Grid(1)
    assert grid.sum([top] * 40, lower=0, upper=int(top)) == 40 * 2**61


@given(
    st.lists(st.floats(allow_nan=False), max_size=5),
    st.integers(-(2**61), 2**61),
    st.integers(0, 2**60),
    st.integers(-9, 9),
)
def test_clamping_is_exact_for_bounds_beyond_53_bits(
    values: list[float], lower: int, width: int, exponent: int
) -> None:
    grid = Grid(Fraction(2) ** exponent)
    bounds = lower * grid.step, (lower + width) * grid.step
    low, high = grid.bounds(*bounds)
    inside = [min(max(Fraction(v), low * grid.step), high * grid.step) if math.isfinite(v) else v for v in values]
    wanted = [
        (high if v > 0 else low) if v in (math.inf, -math.inf) else round(Fraction(v) / grid.step) for v in inside
    ]
    assert grid.clamp(values, lower=bounds[0], upper=bounds[1]).tolist() == wanted


def test_integers_are_not_rounded_by_floats() -> None:
    assert Grid(1).sum(np.array([2**53, 1]), lower=0, upper=2**60) == 2**53 + 1
    for values in (np.array([2**53 + 1]), [None, 2**60 + 1]):
        with pytest.raises(ParameterError):
            Grid(1).sum(values, lower=0, upper=2**60)  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [["a"], [[1], [1, 2]], [1j], {"a": 1}, [10**400], "12"])
def test_sums_of_what_is_no_number_are_refused(values: Any) -> None:  # noqa: ANN401 - any wrong thing
    with pytest.raises(ParameterError, match=r"^values "):
        Grid(1).sum(values, lower=0, upper=1)


def test_none_is_no_row() -> None:
    assert Grid(1).sum([None, 2.0], lower=0, upper=5) == 2  # type: ignore[arg-type]


def test_extreme_values_are_clamped() -> None:
    grid = Grid("1/1024")
    found = grid.clamp([1e308, -1e308, 5e-324, float("inf"), float("nan")], lower=-2, upper=3)
    assert found.tolist() == [3 * 1024, -2 * 1024, 0, 3 * 1024]
    assert grid.sum([], lower=0, upper=1) == 0


@pytest.mark.parametrize("step", [0, -1, 3, "0.1", "1/3", Fraction(1, 2**1001), float("nan"), 2**901])
def test_a_grid_is_a_power_of_two(step: Any) -> None:  # noqa: ANN401 - any wrong thing
    with pytest.raises(ParameterError, match=r"^step is "):
        Grid(step)


@pytest.mark.parametrize("scale, wanted", [(1, 1), (3, 2), ("0.3", Fraction(1, 4)), (Fraction(1, 4), Fraction(1, 4))])
def test_a_grid_below_a_scale(scale: Any, wanted: Fraction) -> None:  # noqa: ANN401 - any spelling of a number
    assert Grid.below(scale, bits=0).step == wanted


def test_grids_refuse_what_they_cannot_hold() -> None:
    with pytest.raises(ParameterError, match="clamp them first"):
        Grid(1).snap([float("nan")])
    with pytest.raises(ParameterError, match="clamp them first"):
        Grid("1/1024").snap([1e300])
    with pytest.raises(ParameterError, match="lower must not be above upper"):
        Grid(1).bounds(2, 1)
    with pytest.raises(ParameterError, match="coarser grid"):
        Grid(1).bounds(0, 2**62)
    with pytest.raises(ParameterError, match="scale is 0"):
        Grid.below(0)
