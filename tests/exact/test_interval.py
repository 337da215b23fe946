"""Intervals contain the truth, to 100 digits and more, and are narrow."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError, PrecisionError
from discreet.exact import Box, Interval
from discreet.exact import interval as kernels

if TYPE_CHECKING:
    from collections.abc import Callable

PRECISIONS = st.sampled_from([16, 53, 64, 192, 700])
numbers = st.fractions(min_value=-50, max_value=50, max_denominator=10**12)
positive = st.fractions(min_value=Fraction(1, 10**9), max_value=10**12, max_denominator=10**12).filter(lambda x: x > 0)
FEW = settings(max_examples=150)


def mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def holds(found: Interval, truth: Callable[[], mpmath.mpf]) -> bool:
    with mpmath.workprec(found.precision + 200):
        scaled = truth() * mpmath.mpf(2) ** found.precision
        return bool(found.lo <= scaled <= found.hi)


@FEW
@given(x=numbers, precision=PRECISIONS)
def test_exp_contains_the_truth_and_is_narrow(x: Fraction, precision: int) -> None:
    found = Interval.of(x, precision).exp()
    assert holds(found, lambda: mpmath.exp(mp(x)))
    assert found.hi - found.lo <= 4 + 4 * max(1, found.hi >> precision)


@FEW
@given(x=positive, precision=PRECISIONS)
def test_log_contains_the_truth_and_is_narrow(x: Fraction, precision: int) -> None:
    argument = Interval.of(x, precision)
    if argument.lo <= 0:
        with pytest.raises(PrecisionError):
            argument.log()
        return
    found = argument.log()
    assert holds(found, lambda: mpmath.log(mp(x)))
    assert found.hi - found.lo <= 4 + 4 * ((1 << precision) // argument.lo + 1)


@FEW
@given(x=numbers, precision=PRECISIONS)
def test_cosine_and_sinh_contain_the_truth(x: Fraction, precision: int) -> None:
    cosine = Interval.of(x, precision).cos_turn()
    assert holds(cosine, lambda: mpmath.cos(2 * mpmath.pi * mp(x)))
    assert cosine.hi - cosine.lo <= 40
    assert holds(Interval.of(x, precision).sinh(), lambda: mpmath.sinh(mp(x)))


@FEW
@given(x=positive, exponent=st.fractions(min_value=-3, max_value=3, max_denominator=20), precision=PRECISIONS)
def test_powers_and_roots_contain_the_truth(x: Fraction, exponent: Fraction, precision: int) -> None:
    argument = Interval.of(x, precision)
    assert holds(argument.sqrt(), lambda: mpmath.sqrt(mp(x)))
    if argument.lo > 0:
        assert holds(argument.power(exponent), lambda: mpmath.power(mp(x), mp(exponent)))


@FEW
@given(x=numbers, y=numbers, factor=numbers, precision=PRECISIONS)
def test_arithmetic_contains_the_truth(x: Fraction, y: Fraction, factor: Fraction, precision: int) -> None:
    a, b = Interval.of(x, precision), Interval.of(y, precision)
    assert (a + b).contains(x + y)
    assert (a - b).contains(x - y)
    assert (a * b).contains(x * y)
    assert (-a).contains(-x)
    assert a.scaled(factor).contains(x * factor)
    if b.lo > 0 or b.hi < 0:
        assert (a / b).contains(x / y)
    else:
        with pytest.raises(PrecisionError):
            a / b


@given(lo=st.integers(-1000, 1000), width=st.integers(0, 500), at=st.fractions(0, 1), other=numbers)
def test_wide_intervals_contain_every_point(lo: int, width: int, at: Fraction, other: Fraction) -> None:
    wide = Interval(lo, lo + width, 8)
    point = wide.lower + at * (wide.upper - wide.lower)
    second = Interval.of(other, 8)
    assert (wide * second).contains(point * other)
    assert holds(wide.cos_turn(), lambda: mpmath.cos(2 * mpmath.pi * mp(point)))
    assert holds(wide.exp(), lambda: mpmath.exp(mp(point)))


@pytest.mark.parametrize("one", [(-7, 5), (3, 11), (-9, -2), (4, 4)])
@pytest.mark.parametrize("other", [(-3, 8), (2, 9), (-6, -1), (7, 7)])
def test_what_wide_operands_give_holds_all_corners_and_little_more(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    """Both ends of the result are those of some corners, rounded outward by less than a unit of the last place."""
    a, b, unit = Interval(*one, 2), Interval(*other, 2), Fraction(1, 4)
    ends = [(x, y) for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    results = {"+": a + b, "-": a - b, "*": a * b, "scaled": a.scaled(b.lower)}
    truths = {
        "+": [x + y for x, y in ends],
        "-": [x - y for x, y in ends],
        "*": [x * y for x, y in ends],
        "scaled": [x * b.lower for x in (a.lower, a.upper)],
    }
    if b.lo > 0 or b.hi < 0:
        results["/"], truths["/"] = a / b, [x / y for x, y in ends]
    for name, found in results.items():
        assert found.lower <= min(truths[name]) < found.lower + unit, name
        assert found.upper - unit < max(truths[name]) <= found.upper, name


def test_constants_to_a_thousand_bits() -> None:
    with mpmath.workprec(1200):
        for found, truth in ((kernels._ln2(1000), mpmath.ln(2)), (kernels._pi(1000), +mpmath.pi)):
            assert found[0] <= truth * 2**1000 <= found[1]
            assert found[1] - found[0] <= 2


def test_far_exponents() -> None:
    assert Interval.of(-(10**30), 64).exp() == Interval(0, 1, 64)
    with pytest.raises(ParameterError, match="scale the exponent down"):
        Interval.of(10**9, 64).exp()


def test_the_check_would_see_a_wrong_end() -> None:
    found = Interval.of(Fraction(1), 64).exp()
    assert not holds(Interval(found.hi + 1, found.hi + 2, 64), lambda: mpmath.e)


FUNCTIONS = {
    "exp": (np.exp, mpmath.exp, -700, 700),
    "log": (np.log, mpmath.log, 1e-300, 1e300),
    "log near 1": (np.log, mpmath.log, 0.99, 1.01),
    "sinh": (np.sinh, mpmath.sinh, -300, 300),
    "expm1": (np.expm1, mpmath.expm1, -1, 1),
    "sqrt": (np.sqrt, mpmath.sqrt, 0, 1e300),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_is_as_accurate_as_boxes_assume(name: str) -> None:
    """Within 2**-49 of the true value, relatively: an eighth of what a box is widened by."""
    fast, true, low, high = FUNCTIONS[name]
    x = np.random.Generator(np.random.PCG64(1)).uniform(low, high, 4000)
    x = np.concatenate([x, x * 2.0**-20, np.array([low, high])])
    x = x[x > 0] if name.startswith(("log", "sqrt")) else x
    with mpmath.workdps(60):
        for argument, found in zip(x.tolist(), fast(x).tolist(), strict=True):
            truth = true(mpmath.mpf(argument))
            assert abs(found - truth) <= abs(truth) * mpmath.mpf(2) ** -49 + mpmath.mpf(2) ** -1070


def test_numpy_cosine_is_as_accurate_as_boxes_assume() -> None:
    turns = np.random.Generator(np.random.PCG64(2)).uniform(0, 1, 4000)
    with mpmath.workdps(60):
        for turn, found in zip(turns.tolist(), np.cos(2 * np.pi * turns).tolist(), strict=True):
            assert abs(found - mpmath.cos(2 * mpmath.pi * mpmath.mpf(turn))) <= mpmath.mpf(2) ** -47


def test_boxes_contain_what_intervals_contain() -> None:
    """The same formula on the same 64-bit uniforms: the float enclosure must overlap the exact one."""
    words = np.random.Generator(np.random.PCG64(3)).integers(0, 2**64, size=(2, 500), dtype=np.uint64)
    u, v = (Box.of_words(row) for row in words)
    boxes = [u.log() - v.log(), u.power(Fraction(-1, 3)) * v.cos_turn(), u / v, (u * v).sqrt().exp().sinh(), u - v]
    for i in range(500):
        x, y = (Interval(int(row[i]) << 64, int(row[i]) + 1 << 64, 128) for row in words)
        exact = [x.log() - y.log(), x.power(Fraction(-1, 3)) * y.cos_turn(), x / y, (x * y).sqrt().exp().sinh(), x - y]
        for box, interval in zip(boxes, exact, strict=True):
            assert Fraction(box.lo[i].item()) <= interval.lower
            assert Fraction(box.hi[i].item()) >= interval.upper


def test_boxes_that_reach_zero_stay_open() -> None:
    with np.errstate(all="ignore"):
        box = Box.of_words(np.zeros(1, dtype=np.uint64))
        assert box.log().lo[0] == -np.inf
        assert (box.constant(1) / (box - box)).hi[0] == np.inf


@pytest.mark.parametrize("factor", [Fraction(1, 10**320), Fraction(10**400), Fraction(1, 2**1074), Fraction(3, 7)])
def test_boxes_scaled_by_any_number_contain_the_truth(factor: Fraction) -> None:
    box = Box.of(np.array([1e300, -1e-300, 0.0])).scaled(factor)
    for i, value in enumerate((1e300, -1e-300, 0.0)):
        truth = Fraction(value) * factor
        assert box.lo[i] == -np.inf or Fraction(box.lo[i].item()) <= truth
        assert box.hi[i] == np.inf or Fraction(box.hi[i].item()) >= truth


def test_sums_of_boxes_contain_the_truth() -> None:
    values = np.array([[1e16, 1.0, -1e16, 1.0], [0.1] * 4])
    total = Box.of(values).total()
    assert total.lo[0, 0] <= 2 <= total.hi[0, 0]
    assert Fraction(total.lo[1, 0].item()) <= 4 * Fraction(0.1) <= Fraction(total.hi[1, 0].item())
