"""Exact numbers that a curve computes itself are rounded up where they are long, never refused: nobody gave them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import mpmath
import pytest

from discreet import privacy as p

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGE_ONE = p.NeighborRelation.CHANGE_ONE
LONG = Fraction(3**2584, 2**4095)
"""As many binary digits as a curve keeps: a multiple has too many."""


@pytest.mark.parametrize("neighbors, touched", [(p.NeighborRelation.ADD_REMOVE, 1), (CHANGE_ONE, 2)])
@pytest.mark.parametrize(
    "scale, threshold, keys", [("1.285", "242.7", 14), (1, 20, 1000), (1, 800, 1000), (2, 50, 3000)]
)
def test_many_keys_have_the_chance_that_any_is_seen(
    scale: str | int, threshold: str | int, keys: int, neighbors: p.NeighborRelation, touched: int
) -> None:
    """1 - (1 - d)^keys with d = exp(-(threshold - 1) / scale) / 2, from above, to the last digits of a float."""
    leak = max(
        getattr(part, "delta", Fraction(0))
        for part, _ in p.partition_selection(scale, threshold, keys, neighbors=neighbors).terms
    )
    with mpmath.workdps(500):
        alone = mpmath.exp(-(mpmath.mpf(threshold) - 1) / mpmath.mpf(scale)) / 2
        alone = max(alone, mpmath.mpf(2) ** -1075)  # below, the smallest float stands for exp
        truth = 1 - (1 - alone) ** (keys * touched)
        found = mpmath.mpf(leak.numerator) / leak.denominator
        assert truth <= found <= truth * (1 + mpmath.mpf("1e-15"))


def with_many_errors() -> p.Curve:
    """Return a curve whose sampling errors have 150 different denominators."""
    total = p.pure(1)
    for place in range(150):
        total += (p.pure(1) * 0).with_sampling_error(Fraction(1, 10**16 + place))
    return total


COMPUTED: dict[str, Callable[[], p.Curve]] = {
    "pure": lambda: p.pure(LONG).group(7),
    "exponential": lambda: p.exponential(LONG).group(7),
    "permute and flip": lambda: p.permute_and_flip(LONG).group(7),
    "sparse vector": lambda: p.sparse_vector(LONG).group(7),
    "Gaussian": lambda: p.gaussian(1, sensitivity=LONG).group(7),
    "Laplace": lambda: p.laplace(1, sensitivity=LONG).group(7),
    "zCDP": lambda: p.zcdp(LONG).group(7),
    "approximate": lambda: p.approximate(LONG, "1e-9").group(7),
    "errors, twice": lambda: with_many_errors() * 2,
    "errors, sampled": lambda: with_many_errors().subsample("0.1"),
    "errors, grouped": lambda: with_many_errors().group(2),
    "one error more": lambda: with_many_errors().with_sampling_error("1e-15"),
}
SHORT: dict[str, Callable[[], p.Curve]] = {
    "pure": lambda: p.pure(7 * LONG.limit_denominator(10**18)),
    "exponential": lambda: p.exponential(7 * LONG.limit_denominator(10**18)),
    "permute and flip": lambda: p.permute_and_flip(7 * LONG.limit_denominator(10**18)),
    "sparse vector": lambda: p.sparse_vector(7 * LONG.limit_denominator(10**18)),
    "Gaussian": lambda: p.gaussian(1, sensitivity=7 * LONG.limit_denominator(10**18)),
    "Laplace": lambda: p.laplace(1, sensitivity=7 * LONG.limit_denominator(10**18)),
    "zCDP": lambda: p.zcdp(49 * LONG.limit_denominator(10**18)),
    "approximate": lambda: p.approximate(LONG.limit_denominator(10**18), "1e-9").group(7),
    "errors, twice": lambda: (p.pure(1) * 2).with_sampling_error("3e-14"),
    "errors, sampled": lambda: p.pure(1).subsample("0.1").with_sampling_error("1.5e-14"),
    "errors, grouped": lambda: p.pure(1).group(2).with_sampling_error("1.5e-14"),
    "one error more": lambda: p.pure(1).with_sampling_error("1.6e-14"),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_what_a_curve_computes_is_rounded_up_and_not_refused(name: str) -> None:
    long, short = COMPUTED[name](), SHORT[name]()
    assert long.epsilon("1e-6") == pytest.approx(short.epsilon("1e-6"), rel=1e-9)
    assert p.Curve.from_json(long.to_json()) == long


def test_a_sum_of_errors_is_rounded_up() -> None:
    exact = sum((Fraction(1, 10**16 + place) for place in range(150)), Fraction(0))
    kept = with_many_errors().sampling_error
    assert exact <= kept <= exact * (1 + Fraction(1, 10**14))
    assert kept.denominator.bit_length() <= 4096


def test_a_long_multiple_is_rounded_up() -> None:
    part, _ = p.pure(LONG).group(7).terms[0]
    epsilon = getattr(part, "epsilon", Fraction(0))
    assert 7 * LONG <= epsilon <= 7 * LONG * (1 + Fraction(1, 10**15))
