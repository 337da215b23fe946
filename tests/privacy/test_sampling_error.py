"""A sampler's error is part of the curve, and the bound is attained by a pair that is enumerated exactly."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import privacy as p
from discreet.errors import ParameterError
from discreet.exact import exp_lower, exp_upper
from discreet.privacy import curves
from discreet.privacy.convert import convert

Law = tuple[Fraction, ...]

WITH: Law = (Fraction(6, 10), Fraction(3, 10), Fraction(1, 10))
WITHOUT: Law = (Fraction(3, 10), Fraction(3, 10), Fraction(4, 10))


def hockey_stick(first: Law, second: Law, epsilon: Fraction) -> Fraction:
    """Return delta(epsilon) of a pair from below, exactly but for the exponential."""
    return sum((max(Fraction(0), a - exp_upper(epsilon) * b) for a, b in zip(first, second, strict=True)), Fraction(0))


def worst(first: Law, second: Law, epsilon: Fraction) -> Fraction:
    return max(hockey_stick(first, second, epsilon), hockey_stick(second, first, epsilon))


def moved(law: Law, source: int, target: int, eta: Fraction) -> Law:
    """Return a law at total variation distance eta: so much mass goes from one outcome to another."""
    masses = list(law)
    masses[source] -= eta
    masses[target] += eta
    return tuple(masses)


def product(first: Law, second: Law) -> Law:
    return tuple(a * b for a, b in itertools.product(first, second))


@pytest.mark.parametrize("eta", [Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 20)])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 4), Fraction(1, 2)])
def test_the_bound_holds_and_is_attained(eta: Fraction, epsilon: Fraction) -> None:
    """Outcome 0 favors `WITH`, outcome 2 `WITHOUT`: each sampler moves eta to where its own law has more."""
    claimed = p.finite_pair(WITH, WITHOUT).with_sampling_error(eta).delta(epsilon)
    true = worst(moved(WITH, 2, 0, eta), moved(WITHOUT, 0, 2, eta), epsilon)
    assert true <= claimed
    ideal = worst(WITH, WITHOUT, epsilon)
    assert true >= ideal + (1 + exp_lower(epsilon)) * eta - Fraction(1, 10**14)
    assert claimed <= float(true) * (1 + 1e-9)


def test_the_check_sees_a_bound_without_the_exponential() -> None:
    """Delta + 2 eta, which forgets that eta is multiplied by exp(epsilon) on the other side, is below the truth."""
    eta, epsilon = Fraction(1, 20), Fraction(1, 2)
    true = worst(moved(WITH, 2, 0, eta), moved(WITHOUT, 0, 2, eta), epsilon)
    assert true > worst(WITH, WITHOUT, epsilon) + 2 * eta


@settings(max_examples=40)
@given(
    st.sampled_from(list(itertools.permutations(range(3), 2))),
    st.sampled_from(list(itertools.permutations(range(3), 2))),
    st.fractions(0, Fraction(1, 20)),
    st.fractions(0, 2),
)
def test_no_perturbation_exceeds_the_bound_and_draws_add_up(
    first: tuple[int, int], second: tuple[int, int], eta: Fraction, epsilon: Fraction
) -> None:
    one, other = moved(WITH, *first, eta), moved(WITHOUT, *second, eta)
    curve = p.finite_pair(WITH, WITHOUT).with_sampling_error(eta)
    assert hockey_stick(one, other, epsilon) <= curve.delta(epsilon)
    assert hockey_stick(product(one, one), product(other, other), epsilon) <= (curve * 2).delta(epsilon)
    mixed = curve + p.finite_pair(WITHOUT, WITH)
    assert hockey_stick(product(one, WITHOUT), product(other, WITH), epsilon) <= mixed.delta(epsilon)


@pytest.mark.parametrize("name", curves.examples())
def test_an_exact_sampler_changes_nothing(name: str) -> None:
    for curve in curves.examples()[name]:
        assert curve.sampling_error == 0
        assert curve.with_sampling_error(0) == curve
        assert "sampling_error" not in curve.to_json()


def test_errors_add_up_through_every_operation() -> None:
    eta = Fraction(1, 10**12)
    curve = p.gaussian(2).with_sampling_error(eta)
    assert (curve * 5 + p.laplace(3)).sampling_error == 5 * eta
    assert (curve.subsample("0.1") * 10).sampling_error == 10 * eta
    assert curve.subsample(0).sampling_error == eta
    assert curve.group(3).sampling_error == eta
    assert curve.parallel(p.laplace(1).with_sampling_error(2 * eta)).sampling_error == 2 * eta
    assert curve.with_sampling_error(eta) == p.gaussian(2).with_sampling_error(2 * eta)
    assert (curve * 10**13).sampling_error == 1
    total = curve * 3 + p.pure(1)
    assert p.Curve.from_json(total.to_json()) == total
    assert hash(p.Curve.from_json(total.to_json())) == hash(total)
    assert total != p.gaussian(2) * 3 + p.pure(1)


def test_epsilon_is_the_smallest_that_keeps_delta() -> None:
    ideal = p.gaussian(1).subsample("0.01") * 1000
    curve = p.gaussian(1).with_sampling_error("1e-10").subsample("0.01") * 1000
    lower, upper = curve.interval(1e-5)
    assert ideal.epsilon(1e-5) < upper
    assert Fraction(ideal.delta(upper)) + (1 + exp_upper(upper)) * Fraction(1, 10**7) <= Fraction(1, 10**5)
    shorter = upper * (1 - 1e-7)
    assert ideal.delta_interval(shorter)[0] + (1 + math.exp(shorter)) * 1e-7 > 1e-5
    assert lower == ideal.interval(1e-5)[0]


def test_where_no_promise_is_kept_none_is_given() -> None:
    curve = p.laplace(1).with_sampling_error(1e-6)
    assert curve.epsilon(0) == math.inf
    assert curve.epsilon(1e-6) == math.inf
    assert curve.epsilon("4e-6") == pytest.approx(1, rel=1e-5)
    assert curve.rdp(2) == math.inf
    with pytest.raises(ParameterError, match="zCDP"):
        curve.zcdp()
    with pytest.raises(ParameterError, match="no such promise"):
        convert(curve, to=p.Pure)
    with pytest.raises(ParameterError, match="no such promise"):
        convert(curve, to=p.RDP)
    approximate = convert(curve, to=p.ZCDP, delta=1e-5)
    assert approximate.delta == Fraction(1, 10**5)
    assert approximate == convert(convert(curve, to=p.Approximate, delta=1e-5), to=p.ZCDP)


def test_a_larger_epsilon_never_has_a_larger_delta() -> None:
    """What holds at a smaller epsilon holds at a larger one, though (1 + exp(epsilon)) eta grows."""
    curve = p.laplace(1).with_sampling_error(1e-9)
    assert curve.delta(10**400) <= curve.delta(5) * 1.2
    assert curve.delta(math.inf) < 1e-8


@pytest.mark.parametrize("eta", [-1e-9, 2, math.nan, math.inf, True, "x", None])
def test_an_error_is_a_probability(eta: float) -> None:
    with pytest.raises(ParameterError, match="eta"):
        p.gaussian(1).with_sampling_error(eta)
