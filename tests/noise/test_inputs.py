"""Bad input gets a precise error; extreme input gets the right answer."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet import noise
from discreet.errors import ParameterError, SizeError
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

SCALED: list[Callable[..., Any]] = [noise.discrete_laplace, noise.discrete_gaussian, noise.geometric]
BAD_SCALES = [0, -1, -0.5, float("nan"), float("inf"), -float("inf"), 1e-300, 2**57, 2.0**57, 1e300, "x", "1/0"]
BAD_SCALES += [
    None,
    [1, 2],
    True,
    np.array([1.0]),
    Decimal("NaN"),
    1 + 2j,
    "1e999999999",
    Fraction(2**57),
    144 * 10**15,
]


@pytest.mark.parametrize("draw", SCALED)
@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("scale", BAD_SCALES, ids=str)
def test_bad_scales_are_refused_by_name(draw: Callable[..., Any], size: int | None, scale: object) -> None:
    with pytest.raises(ParameterError, match=r"^(scale|sigma) is "):
        draw(scale, size)


@pytest.mark.parametrize("draw", SCALED)
@pytest.mark.parametrize("size", [-1, 2.0, 1.5, "3", True, (2, -1), (2, 1.0), float("nan"), [3]], ids=str)
def test_bad_sizes_are_refused_by_name(draw: Callable[..., Any], size: object) -> None:
    with pytest.raises(ParameterError, match=r"^size is "):
        draw(1, size)


@pytest.mark.parametrize("draw", SCALED)
@pytest.mark.parametrize("size", [10**12, 10**18, (10**9, 10**9), 2**64])
def test_huge_sizes_are_refused_before_allocation(draw: Callable[..., Any], size: object) -> None:
    with pytest.raises(SizeError, match=r"Draw in parts\.$"):
        draw(1, size)


@pytest.mark.parametrize("draw", SCALED)
def test_empty_and_shaped_sizes(draw: Callable[..., Any]) -> None:
    assert draw(1, 0).shape == (0,)
    assert draw(1, (2, 0, 3)).shape == (2, 0, 3)
    assert draw(1, (4, 5)).shape == (4, 5)
    assert draw(1, np.int64(3)).dtype == np.int64
    assert draw(1, ()).shape == ()


@pytest.mark.parametrize("draw", SCALED)
def test_a_scale_is_read_the_same_in_every_spelling(draw: Callable[..., Any]) -> None:
    spellings = [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), np.float64(0.1), np.float32(0.1), "1/10", "1e-1"]
    first, *others = [draw(each, 2000, ReplayBits(9)).tolist() for each in spellings]
    assert all(other == first for other in others)


def test_the_pool_does_not_mix_a_decimal_with_its_binary_neighbor() -> None:
    """0.1 == Fraction(0.1) and they hash alike, but they are read as different numbers."""
    bits = ReplayBits(2)
    noise.discrete_laplace(0.1, bits=bits)
    taken = bits.taken
    noise.discrete_laplace(Fraction(0.1), bits=bits)
    assert bits.taken > taken


@pytest.mark.parametrize("draw", SCALED)
@pytest.mark.parametrize("scale", [2**-10, Fraction(1, 1024), 143 * 10**15, 2**56])
def test_the_ends_of_the_range_of_scales_work(draw: Callable[..., Any], scale: float) -> None:
    draws = draw(scale, 1000, ReplayBits(1))
    assert (np.abs(draws) < 2**62).all()
    assert (draws == 0).all() == (scale < 1)


def test_noise_beyond_64_bits_goes_to_the_end_and_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    made = noise.discrete_laplace.__globals__["_digits"](Fraction(143 * 10**15))
    monkeypatch.setattr(made, "_tail", lambda high, bits: 10**6 if high >= 0 else ~(10**6))  # noqa: ARG005
    monkeypatch.setattr(made._high, "_slow", lambda words, bits: np.full(words.size, made._end))  # noqa: ARG005
    monkeypatch.setattr(made._high, "first_rare", 0)
    out = np.empty(10, dtype=np.int64)
    made(out, ReplayBits(0))
    assert (out == 2**63 - 1).all()


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: noise.bernoulli(2), "probability is 2"),
        (lambda: noise.bernoulli(-0.1, 3), "probability is -0.1"),
        (lambda: noise.bernoulli_exp(-1), "exponent is -1"),
        (lambda: noise.truthful(-1), "epsilon is -1"),
        (lambda: noise.truthful(1, -2, 3), "others is -2"),
        (lambda: noise.uniform_integer(0), "upper is 0"),
        (lambda: noise.uniform_integer(2.5), "upper is 2.5"),  # type: ignore[call-overload]
        (lambda: noise.uniform_integer(2**63 + 1, 3), "upper is"),
        (lambda: noise.permutation(-1), "count is -1"),
        (lambda: noise.subset(3, 4), "chosen is 4"),
        (lambda: noise.subset(3, -1), "chosen is -1"),
        (lambda: noise.poisson_subset(3, 1.5), "rate is 1.5"),
        (lambda: noise.poisson_subset(3, 1e-30), "rate is 1e-30"),
        (lambda: noise.poisson_subset(3, float("nan")), "rate is nan"),
        (lambda: noise.staircase(0, 1, 1), "epsilon is 0"),
        (lambda: noise.staircase(1, 3, 4), "near is 4"),
        (lambda: noise.staircase(1, 0, 1), "sensitivity is 0"),
        (lambda: noise.laplace(1, "0.3"), "step is '0.3'"),
        (lambda: noise.laplace(0, 1), "scale is 0"),
        (lambda: noise.gaussian(1, Fraction(1, 2**60)), "sigma / grid"),
        (lambda: noise.gaussian(-1, 1, 5), "sigma is -1"),
        (lambda: noise.l2_laplace(1, 1, 0), "dimensions is 0"),
        (lambda: noise.l2_laplace(0, 1, 1), "scale is 0"),
        (lambda: noise.gumbel_race([], 1), "scores have the shape"),
        (lambda: noise.gumbel_race([[1]], 1), "scores have the shape"),
        (lambda: noise.gumbel_race([1, float("nan")], 1), "scores must be finite"),
        (lambda: noise.gumbel_race(["a"], 1), "scores must be finite"),
        (lambda: noise.gumbel_race([2**63 - 1], 1), "scores reach beyond"),
        (lambda: noise.gumbel_race([1, 2], 0), "scale is 0"),
        (lambda: noise.gumbel_race([1, 2], 1, top=3), "top is 3"),
        (lambda: noise.families.Cauchy(1), "exponent is 1"),
        (lambda: noise.families.StudentT(0), "degrees is 0"),
        (lambda: noise.families.LaplaceLogNormal(0), "shape is 0"),
        (lambda: noise.rounded(noise.families.Laplace(), float("nan"), 1, 1), "value is no finite"),
        (lambda: noise.sample(noise.families.Laplace(), 1, 1, -1), "size is -1"),
    ],
)
def test_bad_input_is_refused_by_name(call: Callable[[], object], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        call()


@pytest.mark.parametrize("value, scale", [(0, "-123.456"), (0, "1e123"), ("123x", 1), (float("inf"), 1), (1, "nan")])
def test_an_error_about_a_private_number_does_not_quote_it(value: Any, scale: Any) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError) as caught:
        noise.rounded(noise.families.Laplace(), value, scale, 1)
    assert not any(part in str(caught.value) for part in ("123", "inf", "nan"))


def test_a_private_scale_of_zero_rounds_the_value() -> None:
    assert noise.rounded(noise.families.Laplace(), "2.6", 0, "1/2") == 5


HUGE = 10**5000


@pytest.mark.parametrize(
    "call",
    [
        lambda: noise.discrete_laplace(HUGE),
        lambda: noise.discrete_laplace(1, -HUGE),
        lambda: noise.discrete_laplace(1, (0, 10**30)),
        lambda: noise.discrete_laplace(1, (1,) * 65),
        lambda: noise.uniform_integer(-HUGE),
        lambda: noise.bernoulli(HUGE),
        lambda: noise.families.Cauchy(HUGE),
        lambda: noise.laplace(1, Fraction(3, 2**20_000)),
        lambda: noise.gumbel_race([[1, 2], [3]], 1),
        lambda: noise.gumbel_race([2**53 + 1, 2**53, 0.5], "1/1000"),
        lambda: noise.gumbel_race([2**63, -1], 1),
        lambda: noise.gumbel_race(np.array([2**63], dtype=np.uint64), 1),
        lambda: noise.gumbel_race([1, None], 1),  # type: ignore[arg-type]
        lambda: noise.rounded(noise.families.Laplace, 0, 1, 1),  # type: ignore[arg-type]
        lambda: noise.sample(None, 1, 1, 3),  # type: ignore[call-overload]
        lambda: noise.sample(noise.families.Laplace(), 2**257, 1, 3),
        lambda: noise.sample(noise.families.Laplace(), 2**100, Fraction(1, 2**200)),
        lambda: noise.staircase(1, 4.0, 2.0),  # type: ignore[call-overload]
        lambda: noise.staircase(1, sensitivity=True, near=True),
    ],
)
def test_ugly_input_is_refused(call: Callable[[], object]) -> None:
    noise.staircase(1, 4, 2)
    noise.staircase(1, 1, 1)  # pools that equal keys of another type must not open
    with pytest.raises(ParameterError):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: noise.discrete_laplace(1, 10**400),
        lambda: noise.permutation(10**400),
        lambda: noise.subset(2**59, 2**50),
        lambda: noise.l2_laplace(1, 1, 10**400),
    ],
)
def test_astronomic_sizes_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(SizeError, match=r"^(size|count|chosen|size \* dimensions) is .*Draw in parts\.$"):
        call()


def test_tiny_and_near_certain_chances() -> None:
    assert noise.bernoulli_exp("1e-100", 1000).all()
    assert noise.bernoulli_exp(5e-324)
    assert not noise.bernoulli_exp(10**6, 1000).any()
    assert noise.poisson_subset(10, "0.99999999999999999999").tolist() == list(range(10))
    assert noise.poisson_subset(2**60, Fraction(1, 2**56), ReplayBits(1)).size < 60


def test_races_with_extreme_scales() -> None:
    assert noise.gumbel_race([0, 1], "1e-400") == 1
    assert noise.gumbel_race([0.0, 5e-324], "1e-400") == 1
    assert noise.exponential_race([0, 1], 10**400) in (0, 1)


@pytest.mark.parametrize("grid", [2.0**-24, 2.0**-30, 2**-25, "1/1024", 1, Fraction(1, 8)])
def test_a_float_that_is_a_power_of_two_is_a_grid(grid: float) -> None:
    assert noise.laplace(1, grid, 3).shape == (3,)


def test_pools_are_bounded() -> None:
    bits = ReplayBits(1)
    for i in range(1, 300):
        noise.discrete_laplace(i, bits=bits)
    for i in range(1, 20):
        noise.rounded(noise.families.StudentT(i), 0, 1, 1, bits)
    assert len(bits.pools) <= 256
