"""Conversions never make a promise smaller, and are as sharp as their theorems."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import GDP, RDP, ZCDP, Approximate, Budget, NeighborRelation, Pure
from discreet.privacy.convert import (
    DEFAULT_ORDERS,
    conversions,
    convert,
    gdp_allowance,
    rdp_epsilon,
    to_relation,
)

if TYPE_CHECKING:
    from discreet.privacy.currencies import Currency

EPSILONS = st.fractions(min_value=Fraction(1, 10**6), max_value=30, max_denominator=10**6)
DELTAS = [Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**30)]
EXAMPLES: dict[type[Currency], list[Currency]] = {
    Pure: [Pure("0.01"), Pure(1), Pure(8)],
    Approximate: [Approximate("0.01", 1e-9), Approximate(1, 1e-6), Approximate(8, 1e-3)],
    ZCDP: [ZCDP("0.0001"), ZCDP("0.5"), ZCDP(10), ZCDP("0.5", 1e-8)],
    GDP: [GDP("0.05"), GDP(1), GDP(4)],
    RDP: [RDP([2, 8, 32], ["0.01", "0.04", "0.2"]), RDP([2], [3])],
}


def real(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


@pytest.fixture(autouse=True)
def many_digits() -> None:
    mp.mp.dps = 60


def response(epsilon: Fraction, order: Fraction) -> mp.mpf:
    """The divergence of randomized response, by its definition."""
    truth = mp.exp(real(epsilon)) / (1 + mp.exp(real(epsilon)))
    a = real(order)
    total = truth**a * (1 - truth) ** (1 - a) + (1 - truth) ** a * truth ** (1 - a)
    return mp.log(total) / (a - 1)


@given(EPSILONS)
def test_pure_to_zcdp_covers_every_order_and_is_attained(epsilon: Fraction) -> None:
    rho = convert(Pure(epsilon), to=ZCDP).rho
    for order in (Fraction(1001, 1000), Fraction(3, 2), Fraction(2), Fraction(10), Fraction(1000)):
        assert response(epsilon, order) <= real(rho * order) * (1 + mp.mpf(10) ** -50)
    assert real(rho) <= real(epsilon) ** 2 / 2
    exact = real(epsilon) * mp.tanh(real(epsilon) / 2)
    assert exact <= real(rho) <= exact * (1 + mp.mpf(10) ** -15)


@given(EPSILONS, st.sampled_from(DEFAULT_ORDERS))
def test_pure_to_rdp_is_the_divergence_rounded_up(epsilon: Fraction, order: Fraction) -> None:
    value = convert(Pure(epsilon), to=RDP, orders=[order]).values[0]
    exact = response(epsilon, order)
    assert exact <= real(value) * (1 + mp.mpf(10) ** -50)
    assert real(value) <= exact * (1 + mp.mpf(10) ** -14)


@given(EPSILONS)
@settings(max_examples=50)
def test_pure_to_gdp_goes_through_the_corner(epsilon: Fraction) -> None:
    mu = convert(Pure(epsilon), to=GDP).mu
    exact = -2 * mp.sqrt(2) * mp.erfinv(2 / (1 + mp.exp(real(epsilon))) - 1)
    assert exact <= real(mu) <= exact * (1 + mp.mpf(10) ** -9)


@given(EPSILONS, st.sampled_from(DELTAS))
def test_pure_to_approximate_trades_delta_for_epsilon(epsilon: Fraction, delta: Fraction) -> None:
    less = convert(Pure(epsilon), to=Approximate, delta=delta)
    assert less.delta == delta
    e, x = mp.exp(real(epsilon)), mp.exp(real(less.epsilon))
    assert (e - x) / (1 + e) <= real(delta)
    assert convert(Pure(epsilon), to=Approximate) == Approximate(epsilon)


@pytest.mark.parametrize("rho", ["1e-9", "0.001", "0.5", 1, 20, 10**4])
@pytest.mark.parametrize("delta", DELTAS)
def test_zcdp_to_approximate_is_the_best_order(rho: str, delta: Fraction) -> None:
    found = convert(ZCDP(rho), to=Approximate, delta=delta).epsilon
    size = real(ZCDP(rho).rho)

    def bound(order: mp.mpf) -> mp.mpf:
        return size * order + mp.log((order - 1) / order) - (mp.log(real(delta)) + mp.log(order)) / (order - 1)

    start = mp.log(mp.sqrt(mp.log(1 / real(delta)) / size))
    low, high = start - 9, start + 9
    for _ in range(150):
        third = (high - low) / 3
        left, right = low + third, high - third
        low, high = (low, right) if bound(1 + mp.exp(left)) < bound(1 + mp.exp(right)) else (left, high)
    best = max(bound(1 + mp.exp(low)), 0)
    assert best * (1 - mp.mpf(10) ** -25) <= real(found) <= best * (1 + mp.mpf(10) ** -14)


def test_the_improved_conversion_beats_the_old_one_and_is_never_negative() -> None:
    delta = Fraction(1, 10**5)
    assert real(rdp_epsilon(Fraction(10), Fraction(1), delta)) < 1 + mp.log(10**5) / 9
    assert rdp_epsilon(Fraction(100), Fraction(0), Fraction(99, 100)) == 0


@pytest.mark.parametrize("source, target", conversions(), ids=lambda kind: kind.kind)
@pytest.mark.parametrize("delta", [Fraction(1, 1000), Fraction(1, 10**7)])
def test_a_converted_promise_is_never_smaller(source: type[Currency], target: type[Currency], delta: Fraction) -> None:
    for promise in EXAMPLES[source]:
        own = getattr(promise, "delta", Fraction(0))
        if own and target is RDP:
            continue  # refused; see below
        if target is Approximate and own >= delta:
            continue
        converted = convert(promise, to=target, delta=delta)
        assert converted.neighbors == promise.neighbors
        for probe in (0.5, 1e-2, float(delta) * 1.01):
            if own and probe <= own:
                continue
            before = promise.curve().interval(probe)[0]
            assert converted.curve().interval(probe)[1] >= before * (1 - 1e-12)


def test_conversions_keep_the_relation() -> None:
    ordered = NeighborRelation.CHANGE_ONE_ORDERED
    assert convert(Pure(1, neighbors=ordered), to=ZCDP).neighbors is ordered


@pytest.mark.parametrize(
    "promise, to", [(RDP([2], [1]), ZCDP), (ZCDP(1), Pure), (Approximate(1, 1e-6), Pure), (ZCDP(1), GDP)]
)
def test_conversions_without_a_theorem_are_refused(promise: Currency, to: type[Currency]) -> None:
    with pytest.raises(ParameterError, match=r"no theorem.*curve\(\)"):
        convert(promise, to=to)


def test_a_delta_is_asked_for_where_it_is_needed() -> None:
    for promise in (ZCDP(1), RDP([2], [1]), GDP(1)):
        with pytest.raises(ParameterError, match="delta"):
            convert(promise, to=Approximate)
    with pytest.raises(ParameterError, match="above 1e-06"):
        convert(ZCDP(1, 1e-6), to=Approximate, delta=1e-6)
    with pytest.raises(ParameterError, match="cannot be improved"):
        convert(Approximate(1, 1e-6), to=Approximate, delta=1e-7)
    with pytest.raises(ParameterError, match="no Renyi"):
        convert(ZCDP(1, 1e-6), to=RDP)
    assert convert(ZCDP(0), to=Approximate) == Approximate(0)


@pytest.mark.parametrize("epsilon", ["1e12", "1e300", 0])
def test_extreme_epsilons_convert(epsilon: str) -> None:
    promise = Pure(epsilon)
    assert convert(promise, to=ZCDP).rho <= promise.epsilon
    assert convert(promise, to=RDP, orders=[2]).values[0] <= promise.epsilon
    assert convert(promise, to=Approximate, delta=1e-6).epsilon <= promise.epsilon


def test_an_approximate_zcdp_promise_pays_both_deltas() -> None:
    with_delta = convert(ZCDP("0.5", 1e-6), to=Approximate, delta=2e-6)
    without = convert(ZCDP("0.5"), to=Approximate, delta=1e-6)
    assert abs(with_delta.epsilon - without.epsilon) < Fraction(1, 10**5)
    assert with_delta.epsilon <= without.epsilon, "the inner delta is (d - d1) / (1 - d1), a little above 1e-6"


# ---- relations


def test_change_one_is_two_steps_of_add_remove() -> None:
    change = NeighborRelation.CHANGE_ONE
    assert to_relation(Pure(1), change) == Pure(2, neighbors=change)
    assert to_relation(ZCDP(1), change) == ZCDP(4, neighbors=change)
    assert to_relation(GDP(1), change) == GDP(2, neighbors=change)
    assert to_relation(Pure(1), change.group(3)) == Pure(6, neighbors=change.group(3))
    assert to_relation(Pure(1, neighbors=change), NeighborRelation.CHANGE_ONE_ORDERED).epsilon == 1
    wide = NeighborRelation.ADD_REMOVE.group(4)
    assert to_relation(Pure(1, neighbors=wide), NeighborRelation.ADD_REMOVE).epsilon == 1, "a group covers its members"


@pytest.mark.parametrize("known, wanted, steps", [(2, 3, 2), (2, 4, 2), (2, 5, 3), (3, 2, 1), (4, 9, 3), (5, 5, 1)])
def test_sizes_that_do_not_divide_are_rounded_up(known: int, wanted: int, steps: int) -> None:
    """A promise to 2 says nothing about 3 but by two steps: the least number of groups that holds all units."""
    relation = NeighborRelation.ADD_REMOVE
    promise = to_relation(Pure("0.1", neighbors=relation.group(known)), relation.group(wanted))
    assert promise.epsilon == Fraction(steps, 10)
    exchanged = to_relation(Pure("0.1", neighbors=relation.group(known)), NeighborRelation.CHANGE_ONE.group(wanted))
    assert exchanged.epsilon == Fraction(math.ceil(Fraction(2 * wanted, known)), 10)


@pytest.mark.parametrize(
    "known, wanted",
    [
        (NeighborRelation.CHANGE_ONE, NeighborRelation.ADD_REMOVE),
        (NeighborRelation.CHANGE_ONE_ORDERED, NeighborRelation.CHANGE_ONE),
        (NeighborRelation.CHANGE_ONE_ORDERED, NeighborRelation.ADD_REMOVE),
    ],
)
def test_the_other_directions_do_not_exist(known: NeighborRelation, wanted: NeighborRelation) -> None:
    with pytest.raises(ParameterError, match="says nothing about"):
        to_relation(Pure(1, neighbors=known), wanted)


# ---- curves


def test_curves_convert_by_their_certified_ends() -> None:
    from discreet import privacy as p

    assert convert(p.laplace(scale=10), to=Pure).epsilon >= Fraction(1, 10)
    assert convert(p.laplace(scale=10), to=Pure).epsilon <= Fraction(1, 10) + Fraction(1, 10**12)
    assert Fraction(1, 8) <= convert(p.gaussian(sigma=2), to=ZCDP).rho <= Fraction(1, 8) + Fraction(1, 10**12)
    at = convert(p.gaussian(sigma=1), to=Approximate, delta=1e-5)
    assert 4.37 < at.epsilon < 4.39
    assert at.delta == Fraction(1, 10**5)
    orders = convert(p.gaussian(sigma=1), to=RDP, orders=[2, 4])
    assert [float(value) for value in orders.values] == pytest.approx([1, 2])
    with pytest.raises(ParameterError, match="any finite number"):
        convert(p.gaussian(sigma=1), to=Pure)
    with pytest.raises(ParameterError, match="does not convert to GDP"):
        convert(p.gaussian(sigma=1), to=GDP)


@pytest.mark.parametrize("epsilon, delta", [(1, 1e-6), ("0.1", 1e-3), (8, 1e-12)])
def test_a_gaussian_allowance_keeps_its_budget(epsilon: str, delta: float) -> None:
    budget = Budget(epsilon, delta)
    allowed = gdp_allowance(budget)
    assert convert(allowed, to=Approximate, delta=delta).epsilon <= budget.epsilon
    more = GDP(allowed.mu * Fraction(100001, 100000))
    assert convert(more, to=Approximate, delta=delta).epsilon > budget.epsilon
