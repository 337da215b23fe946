"""Deltas at the mass at infinity, and epsilon at delta 0, against exact fractions: the edges of every profile."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from fractions import Fraction

import mpmath
import pytest

from discreet import privacy as p
from discreet.errors import ContradictionWarning
from discreet.privacy.leaks import leak_of

CHANGE_ONE = p.NeighborRelation.CHANGE_ONE

PRESENT = [Fraction(1, 7), Fraction(4, 7), Fraction(2, 7), Fraction(0)]
LEAKING = p.finite_pair(PRESENT, PRESENT[::-1])
"""One outcome shows the unit, another its absence, each with a chance of 1/7; the largest finite loss is log(2)."""

AT_THE_LEAK: dict[str, tuple[p.Curve, Fraction, float]] = {
    "once": (LEAKING, Fraction(1, 7), math.log(2)),
    "five times": (LEAKING * 5, 1 - Fraction(6, 7) ** 5, 5 * math.log(2)),
    "beside a box": (
        LEAKING + p.approximate(1, Fraction(1, 11)),
        1 - Fraction(6, 7) * Fraction(10, 11),
        1 + math.log(2),
    ),
    "sampled": (LEAKING.subsample("1/3"), Fraction(1, 21), math.log(4 / 3)),
    "fixed size": (
        p.finite_pair(PRESENT, PRESENT[::-1], neighbors=CHANGE_ONE).subsample("1/3"),
        Fraction(1, 21),
        math.log(4 / 3),
    ),
    "a sampled box": (p.approximate(1, "1e-6").subsample("0.1"), Fraction(1, 10**7), math.log1p(0.1 * math.expm1(1))),
    "the worse of two": (p.approximate(1, "1e-6").parallel(p.approximate(2, "1e-7")), Fraction(1, 10**6), 2.0),
}


@pytest.mark.parametrize("name", AT_THE_LEAK)
def test_epsilon_is_finite_from_the_mass_at_infinity_on_and_infinite_below_it(name: str) -> None:
    curve, leak, largest = AT_THE_LEAK[name]
    lower, upper = curve.interval(leak)
    assert lower * (1 - 1e-9) <= largest <= upper < math.inf
    for less in (leak * (1 - Fraction(1, 10**25)), leak * (1 - Fraction(1, 10**9))):
        assert curve.epsilon(less) == math.inf
    assert curve.epsilon(leak * (1 + Fraction(1, 10**25))) < math.inf


@pytest.mark.parametrize("count", [1, 5, 40])
def test_far_out_delta_is_the_chance_that_any_use_leaks(count: int) -> None:
    leak = 1 - Fraction(6, 7) ** count
    for epsilon in (30 * count, math.inf):
        lower, upper = (LEAKING * count).delta_interval(epsilon)
        assert leak * (1 - Fraction(1, 10**9)) <= lower <= leak <= upper <= leak * (1 + Fraction(1, 10**9))


def test_at_the_mass_at_infinity_the_interval_is_narrow() -> None:
    for curve, leak in ((LEAKING, Fraction(1, 7)), (LEAKING * 5, 1 - Fraction(6, 7) ** 5)):
        lower, upper = curve.interval(leak)
        assert upper - lower <= 1e-12 * upper


def test_a_mass_at_infinity_that_rounds_down_to_delta_is_above_it() -> None:
    curve = p.finite_pair(["10/2011", "1/2011", "1000/2011", "1000/2011"], [0, 0, 1, 0]) * 8
    leak = 1 - Fraction(1000, 2011) ** 8
    assert Fraction(float(leak)) < leak
    assert curve.epsilon(Fraction(float(leak))) == math.inf
    assert curve.epsilon(leak) < math.inf


@pytest.mark.parametrize("count", [33, 10**6, 10**12])
def test_many_leaks_are_compared_with_delta_to_sixty_digits(count: int) -> None:
    curve = p.approximate("0.001", Fraction(1, 10**14)) * count
    with mpmath.workdps(120):
        leak = 1 - (1 - mpmath.mpf(10) ** -14) ** count
        scale = 10**90
        near = Fraction(int(leak * scale), scale)
    assert curve.epsilon(near * (1 - Fraction(1, 10**20))) == math.inf
    assert curve.epsilon(near * (1 + Fraction(1, 10**20))) < math.inf


def test_a_leak_below_all_floats_is_compared_with_delta_too() -> None:
    leak = Fraction(1, 10**310)
    half = (1 - leak) / 2
    curve = p.finite_pair([leak, half, half, 0], [0, half / 2, half * 3 / 2, leak])
    assert math.log(2) <= curve.epsilon(leak) <= math.log(2) * (1 + 1e-12)
    assert curve.epsilon(leak * (1 - Fraction(1, 10**20))) == math.inf
    assert (curve * 3).epsilon(3 * leak) <= math.log(8) * (1 + 1e-12)


def test_logarithms_of_long_fractions_are_not_rounded_below_the_truth() -> None:
    source = random.Random(5)
    for _ in range(20):
        whole = source.getrandbits(4000) | 1
        one = Fraction(source.randrange(whole // 3, whole // 2), whole)
        other = Fraction(int(one / Fraction(17, 10) * whole) + source.randrange(10**6), whole)
        lower, upper = p.finite_pair([one, 1 - one], [other, 1 - other]).interval(0)
        largest = max(one / other, (1 - other) / (1 - one))
        with mpmath.workdps(60):
            truth = mpmath.log(mpmath.mpf(largest.numerator)) - mpmath.log(mpmath.mpf(largest.denominator))
            assert lower <= truth <= upper


def sampled(rate: str, scale: str) -> dict[str, p.Curve]:
    """Mechanisms whose largest loss after sampling is log(1 + q (exp(1/b) - 1))."""
    return {
        "laplace": p.laplace(scale).subsample(rate),
        "laplace, fixed size": p.laplace(scale, neighbors=CHANGE_ONE).subsample(rate),
        "discrete laplace": p.discrete_laplace(scale).subsample(rate),
        "discrete laplace, fixed size": p.discrete_laplace(scale, neighbors=CHANGE_ONE).subsample(rate),
        "randomized response": p.randomized_response(1 / Fraction(scale)).subsample(rate),
    }


@pytest.mark.slow
@pytest.mark.parametrize("uses", [1, 3])
@pytest.mark.parametrize("name", sampled("0.1", "1"))
@pytest.mark.parametrize("delta", [0, 1e-60])
def test_at_no_delta_the_largest_loss_lies_within_the_interval(name: str, uses: int, delta: float) -> None:
    for rate, scale in (("0.1", "1"), ("0.001", "0.3"), ("0.5", "10")):
        with mpmath.workdps(40):
            each = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(1 / mpmath.mpf(scale)))
        with warnings.catch_warnings():
            warnings.simplefilter("error", ContradictionWarning)
            lower, upper = (sampled(rate, scale)[name] * uses).interval(delta)
        assert lower <= uses * each <= upper * (1 if delta == 0 else 1 + 1e-15)


@pytest.mark.parametrize("uses", [1, 3])
@pytest.mark.parametrize("name", sampled("0.1", "1"))
def test_beyond_the_largest_loss_no_delta_is_left(name: str, uses: int) -> None:
    curve = sampled("0.1", "1")[name] * uses
    for epsilon in (curve.epsilon(0), 2 * curve.epsilon(0), 10):
        assert curve.delta(epsilon) <= 1e-250


def test_at_no_delta_a_product_of_many_pairs_keeps_its_rounding_in_mind() -> None:
    same = p.finite_pair(["3/13", "10/13"], ["3/13", "10/13"]) * 40
    lower, upper = (same + p.finite_pair(["13/20", "7/20"], ["47/84", "37/84"]) * 13).interval(0)
    with mpmath.workdps(40):
        truth = 13 * mpmath.log(mpmath.mpf(740) / 588)
        assert lower <= truth <= upper


ENDLESS = {
    "sampled": p.discrete_gaussian(2).subsample("0.1"),
    "fixed size": p.discrete_gaussian(2, neighbors=CHANGE_ONE).subsample("0.1"),
    "hardly any noise": p.discrete_gaussian("0.1").subsample("0.1"),
    "hardly any noise, fixed size": p.discrete_gaussian("0.1", neighbors=CHANGE_ONE).subsample("0.1"),
    "several on one sample": (p.discrete_gaussian("0.5") * 2).subsample("0.1"),
    "a sample of a sample": p.discrete_gaussian(2).subsample("0.1").subsample("0.1"),
    "disjoint parts": p.discrete_gaussian("0.1").parallel(p.pure(1)),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_losses_without_end_have_no_epsilon_at_no_delta(name: str) -> None:
    assert ENDLESS[name].epsilon(0) == math.inf


@pytest.mark.parametrize("sigma, rate", [(2, "0.1"), (4, "0.01"), (1, "0.5")])
def test_renyi_divergences_of_a_sampled_discrete_gaussian(sigma: int, rate: str) -> None:
    curve = p.discrete_gaussian(sigma).subsample(rate)
    with mpmath.workdps(40):
        q, most = mpmath.mpf(rate), 60 * sigma
        weights = [mpmath.exp(-mpmath.mpf(x * x) / (2 * sigma**2)) for x in range(-most, most + 1)]
        total = sum(weights)
        pairs = [(1 - q + q * one / other, other / total) for one, other in itertools.pairwise(weights)]
        for order in (2, 8, 32):
            moments = [sum(ratio**power * mass for ratio, mass in pairs) for power in (order, 1 - order)]
            truth = mpmath.log(max(moments)) / (order - 1)
            assert truth <= curve.rdp(order) <= 1.1 * truth


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(1, 7), Fraction(10**40 + 1, 10**42)])
@pytest.mark.parametrize("count", [33, 40, 101])
def test_the_bounds_on_many_leaks_hold_the_exact_fraction(chance: Fraction, count: int) -> None:
    """Rounded to sixty digits, outward: a bound that is rounded inward passes the fraction in its last digit."""
    bounds = leak_of((p.approximate(1, chance) * count).terms, 0)
    assert bounds is not None
    exact = 1 - (1 - chance) ** count
    assert bounds[0] < exact < bounds[1]
    assert bounds[1] - bounds[0] < exact / 10**55
