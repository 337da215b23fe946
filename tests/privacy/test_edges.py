"""Extremes and nonsense: a documented value or a sentence, never a raw exception, NaN or a number below the truth."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath as mp
import numpy as np
import pytest

from discreet import privacy as p
from discreet.errors import BudgetError, ParameterError
from discreet.exact import exact_text, float_up, rational
from discreet.privacy import composition as c
from discreet.privacy.convert import DEFAULT_ORDERS, convert, gdp_allowance, rdp_allowance, to_relation, zcdp_allowance
from discreet.privacy.currencies import from_json
from discreet.privacy.curve import Curve
from discreet.privacy.enclosures import chain, round_down, round_up
from discreet.privacy.groups import group_privacy
from discreet.privacy.meanings import attacker_accuracy, meaning, semantic_bound
from discreet.privacy.relations import read_relation

if TYPE_CHECKING:
    from collections.abc import Callable

BIG = 10**400
TINY = Fraction(1, 10**400)
NEAR = 1 + Fraction(1, 10**30)
LONG = Fraction(10**5000 + 1, 3**9000)

anything: Any = None  # what a careless caller hands over
one: Any = 1
CHANGE = p.NeighborRelation.CHANGE_ONE


REFUSED: dict[str, Callable[[], object]] = {
    "calibrate from 0": lambda: p.calibrate(p.gaussian, epsilon=1, delta=1e-5, start=0),
    "calibrate_largest from 0": lambda: p.calibrate_largest(p.gaussian, epsilon=1, delta=1e-5, start=0),
    "calibrate nothing": lambda: p.calibrate(anything, epsilon=1, delta=1e-5),
    "calibrate a number": lambda: p.calibrate(lambda _: one, epsilon=1, delta=1e-5),
    "sigma for a huge epsilon": lambda: p.gaussian_sigma(epsilon=BIG, delta=1e-5),
    "sigma for a huge sensitivity": lambda: p.gaussian_sigma(epsilon=1, delta=1e-5, sensitivity=BIG),
    "sigma for no relation": lambda: p.gaussian_sigma(epsilon=1, delta=1e-5, neighbors=one),
    "scale beyond floats": lambda: p.laplace_scale(epsilon=0, delta=TINY),
    "scale for a tiny epsilon": lambda: p.laplace_scale(epsilon=TINY),
    "steps without delta": lambda: p.dpsgd_steps(epsilon=1, delta=0, rate=0.1, sigma=1),
    "convert nothing": lambda: convert(anything, to=p.ZCDP),
    "convert to nothing": lambda: convert(p.Pure(1), to=anything),
    "convert a curve to nothing": lambda: convert(p.pure(1), to=anything),
    "order 1": lambda: convert(p.Pure(1), to=p.RDP, orders=[1]),
    "one order": lambda: convert(p.Pure(1), to=p.RDP, orders=one),
    "orders as text": lambda: convert(p.pure(1), to=p.RDP, orders="23"),
    "no finite order": lambda: convert(p.approximate(1, 1e-5), to=p.RDP),
    "another relation as text": lambda: to_relation(p.Pure(1), anything),
    "group of nothing": lambda: group_privacy(anything, 2),
    "group of a curve": lambda: group_privacy(p.pure(1), 2),  # type: ignore[type-var]
    "allowance of a number": lambda: zcdp_allowance(one),
    "RDP allowance of a number": lambda: rdp_allowance(one, 2),
    "GDP allowance of a number": lambda: gdp_allowance(one),
    "curve order beyond floats": lambda: p.gaussian(1).rdp(BIG),
    "endless composition": lambda: p.gaussian(1) * BIG,
    "endless composition in two steps": lambda: p.gaussian(1) * 10**12 * 10**12,
    "terms out of order": lambda: Curve((p.gaussian(1) + p.laplace(1)).terms[::-1], p.NeighborRelation.ADD_REMOVE),
    "a term twice": lambda: Curve(p.gaussian(1).terms * 2, p.NeighborRelation.ADD_REMOVE),
    "a curve of numbers": lambda: Curve(one, p.NeighborRelation.ADD_REMOVE),
    "a scheme as text": lambda: p.gaussian(1).subsample("0.1", scheme="poisson"),  # type: ignore[arg-type]
    "a huge epsilon": lambda: p.pure(BIG),
    "many answers": lambda: p.randomized_response(1, answers=BIG),
    "a far shift": lambda: p.discrete_gaussian(1, sensitivity=BIG),
    "a number of 5000 digits": lambda: p.gaussian(10**5000),
    "a negative number of 5000 digits": lambda: p.Pure(-(10**5000)),
    "a delta of 5000 digits": lambda: p.Approximate(1, 10**5000),
    "unequal lists": lambda: p.rdp([2, 3], [1]),
    "numbers for lists": lambda: p.rdp(one, one),
    "texts for lists": lambda: p.RDP("23", "11"),
    "numbers for laws": lambda: p.finite_pair(one, one),
    "an array without dimensions for orders": lambda: p.rdp(np.array(2.0), np.array(1.0)),  # type: ignore[arg-type]
    "an array without dimensions for a law": lambda: p.finite_pair(np.array(1.0), np.array(1.0)),  # type: ignore[arg-type]
    "an array times a curve": lambda: np.array([1, 2]) * p.gaussian(1),
    "a curve times an array": lambda: p.gaussian(1) * np.array([1, 2]),
    "an array plus a curve": lambda: np.array([1, 2]) + p.gaussian(1),
    "a long chain": lambda: p.gaussian(1).subsample("0.1").group(10**7),
    "a group beyond delta 1": lambda: p.approximate(1, 1e-9).group(1000),
    "basic of a number": lambda: c.basic(one),
    "basic of numbers": lambda: c.basic([one]),
    "basic of another currency": lambda: c.basic([p.Pure(1)]),  # type: ignore[list-item]
    "advanced of another currency": lambda: c.advanced(p.Pure(1), 3, 1e-5),  # type: ignore[arg-type]
    "advanced with deltas beyond 1": lambda: c.advanced(p.Approximate(1, "0.5"), BIG, 1e-5),
    "kairouz of another currency": lambda: c.kairouz(p.Pure(1), 3, 1e-5),  # type: ignore[arg-type]
    "murtagh of nothing": lambda: c.murtagh_vadhan(anything, 1e-5),
    "murtagh of one": lambda: c.murtagh_vadhan(p.Approximate(1), 1e-5),  # type: ignore[arg-type]
    "murtagh of a huge epsilon": lambda: c.murtagh_vadhan([p.Approximate(BIG)] * 2, 1e-5),
    "renyi of a number": lambda: c.renyi(one, 3, 1e-5),
    "bad outcomes of a number": lambda: c.bad_outcomes(one, "0.1"),
    "concentrated of a number": lambda: c.concentrated(one, 3, 1e-5),
    "concentrated of another currency": lambda: c.concentrated_simple(p.Pure(1), 3, 1e-5),  # type: ignore[arg-type]
    "amplified of another currency": lambda: c.amplified(p.Pure(1), "0.1"),  # type: ignore[arg-type]
    "parallel of numbers": lambda: c.parallel([one]),
    "parallel parts as text": lambda: c.parallel([p.Approximate(1)], "by_value"),  # type: ignore[arg-type]
    "parallel with nothing exchanged": lambda: c.parallel([p.Approximate(1)], exchanged=[]),
    "compare a number": lambda: c.compare(one, 3, 1e-5),
    "compare a currency": lambda: c.compare(p.Pure(1), 3, 1e-5),  # type: ignore[arg-type]
    "compare too often": lambda: c.compare(p.gaussian(1), BIG, 1e-5),
    "meaning of a number": lambda: meaning(one, delta=0),
    "accuracy of a number": lambda: attacker_accuracy(one),
    "semantic bound of text": lambda: semantic_bound("x"),
    "relation from a number": lambda: read_relation(one),
    "relation with a long size": lambda: read_relation("add_remove*" + "9" * 5000),
    "a long group": lambda: p.NeighborRelation.ADD_REMOVE.group(10**5000),
    "filter of a number": lambda: p.PureFilter(one),
    "filter of another currency": lambda: p.PureFilter(p.Approximate(1)),  # type: ignore[arg-type]
    "Renyi filter of a number": lambda: p.RDPFilter(one),
    "filter with another state": lambda: p.PureFilter(p.Pure(1), p.Approximate(1)),  # type: ignore[arg-type]
    "filter spent beyond its limit": lambda: p.PureFilter(p.Pure(1), p.Pure(2)),
    "filter with a state of others": lambda: p.PureFilter(p.Pure(1), p.Pure(1, neighbors=CHANGE)),
    "Renyi filter with a state of another order": lambda: p.RDPFilter(p.RDP([2], [1]), p.RDP([3], [1])),
    "advanced filter that promises nothing": lambda: p.AdvancedFilter(epsilon=1, delta="0.6", slack="0.6"),
    "advanced filter for text": lambda: p.AdvancedFilter(epsilon=1, delta=0, slack="0.1", neighbors=one),
    "advanced filter beyond": lambda: p.AdvancedFilter(epsilon=1, delta=0, slack="0.1", squares=10**6),
    "odometer of a number": lambda: p.PureOdometer(one),
    "approximate odometer of a number": lambda: p.ApproximateOdometer(delta=Fraction(1, 10), spent=one),
    "zCDP odometer of a number": lambda: p.ZCDPOdometer(delta=Fraction(1, 10), spent=one),
    "GDP odometer of a number": lambda: p.GDPOdometer(one),
    "odometer with a negative state": lambda: p.RDPOdometer(Fraction(2), Fraction(1, 10), Fraction(-1)),
    "odometer for text": lambda: p.RDPOdometer(Fraction(2), Fraction(1, 10), neighbors=one),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_nonsense_is_refused_with_a_short_sentence(call: Callable[[], object]) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert 10 < len(str(caught.value)) < 500


# ---- values at the edges


def test_calibration_reaches_the_edges() -> None:
    sigma = p.gaussian_sigma(epsilon=1, delta=TINY)
    assert p.gaussian(sigma).epsilon(TINY) <= 1
    assert p.gaussian_sigma(epsilon=0, delta="1e-30") == pytest.approx(1e30 / math.sqrt(2 * math.pi), rel=1e-6)
    base = p.gaussian_sigma(epsilon=1, delta=1e-5)
    for size in (1e-59, 1e-30, 1e30, 1e50):
        assert p.gaussian_sigma(epsilon=1, delta=1e-5, sensitivity=size) == pytest.approx(base * size, rel=1e-12)
    assert p.gaussian_sigma(epsilon=10**12, delta=1e-5) == pytest.approx(7.0710891e-07, rel=1e-6)
    assert p.laplace_scale(epsilon=0, delta=1e-100) == pytest.approx(5e99, rel=1e-12)
    assert p.laplace_scale(epsilon=BIG) == 5e-324
    with pytest.raises(ParameterError, match="delta is 0; Gaussian noise"):
        p.dpsgd_noise(epsilon=1, delta=0, rate=0.1, steps=10)
    with pytest.raises(ParameterError, match="empty batches"):
        p.dpsgd_noise(epsilon=1, delta=1e-5, rate=0, steps=10)


def test_a_gaussian_allowance_reads_what_was_certified() -> None:
    """The decimal that sigma prints as is the one that keeps the budget; its binary value may be below."""
    for epsilon in ("0.3", "0.7", "1.1", "2.3"):
        budget = p.Budget(epsilon, 1e-6)
        sigma = p.gaussian_sigma(epsilon=epsilon, delta=1e-6)
        assert gdp_allowance(budget).mu * rational(sigma) <= 1


def test_conversions_take_numbers_of_any_size() -> None:
    assert convert(p.ZCDP(BIG), to=p.Approximate, delta=1e-6).epsilon >= BIG
    assert 0 < convert(p.ZCDP(TINY), to=p.Approximate, delta=1e-6).epsilon < Fraction(1, 10**70)
    assert convert(p.RDP([BIG], [1]), to=p.Approximate, delta=1e-6).epsilon >= 1
    assert convert(p.RDP([2], [BIG]), to=p.Approximate, delta=1e-6).epsilon >= BIG
    near = convert(p.RDP([NEAR], [1]), to=p.Approximate, delta=1e-6).epsilon
    assert near >= math.log(10**6) * 1e30
    assert convert(p.Pure(1), to=p.RDP, orders=[NEAR]).values[0] >= Fraction("0.46211715726")
    assert zcdp_allowance(p.Budget(BIG, 1e-6)).rho <= BIG
    assert zcdp_allowance(p.Budget(TINY, TINY)).rho >= 0


def test_the_default_orders_are_orders_like_others() -> None:
    """Asked for by name, they restrict an RDP promise as any list does."""
    wide = p.RDP(DEFAULT_ORDERS, [order / 2 for order in DEFAULT_ORDERS])
    assert convert(wide, to=p.RDP, orders=DEFAULT_ORDERS) == wide
    with pytest.raises(ParameterError, match="orders above 1 up to 4"):
        convert(p.RDP([2, 4], [1, 2]), to=p.RDP, orders=DEFAULT_ORDERS)
    assert convert(p.RDP([2, 4], [1, 2]), to=p.RDP) == p.RDP([2, 4], [1, 2])


def test_a_tiny_epsilon_has_group_privacy() -> None:
    found = group_privacy(p.Approximate(1e-100, 1e-6), 2)
    assert Fraction(2, 10**6) <= found.delta <= Fraction(2000001, 10**12)
    assert chain(Fraction(1, 2**99), 3).upper >= 3 + 3 * Fraction(1, 2**99)
    for epsilon, size in ((Fraction(1, 10), 5), (Fraction(3), 4)):
        exact = mp.fsum(mp.exp(mp.mpf(i) * epsilon.numerator / epsilon.denominator) for i in range(size))
        assert float(chain(epsilon, size).upper) == pytest.approx(float(exact), rel=1e-14)


def test_renyi_orders_near_one_and_far_off() -> None:
    assert p.gaussian(1).rdp(NEAR) == pytest.approx(0.5, rel=1e-5)
    assert p.randomized_response(1).rdp(1 + TINY) == pytest.approx(math.tanh(0.5), rel=1e-5)
    assert p.randomized_response(1).rdp(1 + TINY) >= math.tanh(0.5)
    assert p.gaussian(1).rdp(10**50) == pytest.approx(5e49)
    assert p.laplace(1).rdp(10**50) == 1.0
    assert p.gaussian(1).subsample("0.1").rdp(10**50) == pytest.approx(5e49)
    assert p.rdp([NEAR], [1]).epsilon(1e-5) == pytest.approx(math.log(10**5) * 1e30, rel=1e-6)
    assert p.rdp(["1.1"], ["0.01"]).epsilon(1e-5) == pytest.approx(111.788, rel=1e-4)


def test_deltas_below_all_floats() -> None:
    mp.mp.dps = 60
    lower, upper = p.gaussian(1).interval(TINY)
    tail = mp.ncdf(mp.mpf(1) / 2 - upper) - mp.exp(upper) * mp.ncdf(-mp.mpf(1) / 2 - upper)
    assert tail <= mp.mpf(10) ** -400, "the upper end keeps the promise"
    tail = mp.ncdf(mp.mpf(1) / 2 - lower) - mp.exp(lower) * mp.ncdf(-mp.mpf(1) / 2 - lower)
    assert tail >= mp.mpf(10) ** -400, "below the lower end it is not kept"
    assert upper < lower * 1.2
    assert p.laplace(1).epsilon(TINY) == 1
    assert p.approximate(1, TINY).epsilon(TINY) == 1
    assert p.approximate(1, TINY).epsilon(TINY / 2) == math.inf
    assert p.finite_pair([TINY, 1 - TINY], [0, 1]).epsilon(0) == math.inf, "a mass at infinity does not vanish"


def test_sampled_curves_at_deltas_below_all_floats() -> None:
    curve = p.gaussian(2).subsample("0.1")
    assert curve.interval("1e-300")[0] <= curve.epsilon(TINY) <= p.gaussian(2).epsilon(TINY)
    with pytest.raises(ParameterError, match="rate"):
        p.gaussian(2).subsample(TINY)


def test_epsilons_beyond_all_floats() -> None:
    assert p.gaussian(1).delta_interval(BIG) == (0.0, 5e-324)
    low, high = p.approximate(1, "1e-6").delta_interval(BIG)
    assert low <= 1e-6 <= high <= 1.0000001e-6
    assert 0 <= p.gaussian(1).delta(1.7e308) < 1e-300


SMALL_NOISE = [
    (p.laplace("0.001").subsample("0.1"), 1000 + math.log(0.1)),
    (p.pure(1000).subsample("0.1"), 1000 + math.log(0.1)),
    (p.pure(1000, neighbors=CHANGE).subsample("0.1"), 1000 + math.log(0.1)),
    (p.laplace("0.03").subsample("0.1"), math.log1p(0.1 * math.expm1(100 / 3))),
    (p.exponential(1000).subsample("0.1"), 1000 + math.log(0.1)),
    (p.laplace("0.001").subsample("0.1").group(3), 3 * (1000 + math.log(0.1))),
]


@pytest.mark.parametrize("curve, truth", SMALL_NOISE)
def test_losses_beyond_the_range_of_exponentials(curve: Curve, truth: float) -> None:
    """Tables of exp(loss) once made these NaN, or 697.7 instead of 997.7: below the truth."""
    lower, upper = curve.interval(0)
    assert lower <= truth <= upper <= truth * (1 + 1e-9)


@pytest.mark.parametrize("sigma", ["0.05", "0.01", "1e-10", "1e-30"])
def test_sampled_gaussians_with_hardly_any_noise(sigma: str) -> None:
    whole = p.gaussian(sigma)
    for curve in (whole.subsample("0.1"), p.gaussian(sigma, neighbors=CHANGE).subsample("0.1")):
        assert 0 < curve.epsilon(1e-5) <= whole.epsilon(1e-5) * (1 + 1e-6)
        lower, upper = (curve * 3).interval(1e-5)
        assert 0 <= lower <= upper <= (whole * 3).epsilon(1e-5) * (1 + 1e-6)
        assert upper >= curve.interval(1e-5)[0]
        assert (curve * 3).delta(1) == 1 or curve.delta(1) <= (curve * 3).delta(1) <= 1


@pytest.mark.slow
def test_counts_up_to_the_limit_are_composed() -> None:
    for curve in (p.gaussian(1), p.laplace(1), p.pure(1), p.gaussian(1).subsample("0.1"), p.zcdp(1)):
        lower, upper = (curve * 10**18).interval(1e-5)
        assert 0 <= lower <= upper < math.inf
        assert upper <= float(curve.zcdp()) * 1e18 * 1.001 + 1e12


def test_theorems_at_the_edges() -> None:
    tiny = p.Approximate("0.1", "1e-90")
    found = c.kairouz(tiny, 1000, "1e-86")
    assert found.epsilon <= 100
    with pytest.raises(ParameterError, match="less than the promises' own"):
        c.kairouz(tiny, 1000, "1e-88")
    assert c.murtagh_vadhan([p.Approximate(1)] * 3, 1e-5, error=BIG).epsilon == 3
    assert c.murtagh_vadhan([p.Approximate(1)] * 3, TINY).epsilon <= 3
    assert c.moments("0.1", "1e-20", 10, 1e-5).epsilon >= 10**40
    assert c.sampled_gaussian_rdp("0.1", TINY, 4).values[0] == 2 * 10**800
    assert semantic_bound(10**400) == 1.0


@pytest.mark.parametrize("order", [2, 7, 64, 1024])
@pytest.mark.parametrize("rate, sigma", [("0.01", "1"), ("0.3", "4"), ("1", "2"), ("0.999", "0.5")])
def test_sampled_moments_are_the_exact_sum_rounded_up(rate: str, sigma: str, order: int) -> None:
    mp.mp.dps = 80
    q, s = mp.mpf(rate), mp.mpf(sigma)
    terms = (
        mp.binomial(order, k) * (1 - q) ** (order - k) * q**k * mp.exp(mp.mpf(k * (k - 1)) / (2 * s * s))
        for k in range(order + 1)
    )
    exact = mp.log(mp.fsum(terms)) / (order - 1)
    value = c.sampled_gaussian_rdp(rate, sigma, order).values[0]
    assert exact <= mp.mpf(value.numerator) / value.denominator <= exact * (1 + mp.mpf(10) ** -14)


def test_rounding_beyond_the_largest_float() -> None:
    edge = Fraction(math.nextafter(math.inf, 0)) + 1
    assert round_up(edge) >= edge
    assert round_down(-edge) <= -edge
    assert round_up(Fraction(BIG)) == BIG


# ---- filters


@pytest.mark.parametrize(
    "start, cost",
    [
        (p.ApproximateFilter(p.Approximate(1, "0.6")), p.Approximate("0.1", "0.6")),
        (p.ZCDPFilter(p.ZCDP(1, "0.6")), p.ZCDP("0.1", "0.6")),
    ],
)
def test_deltas_beyond_one_are_a_cost_that_does_not_fit(start: Any, cost: Any) -> None:  # noqa: ANN401  two kinds
    after = start.spend(cost)
    assert after.admits(cost) is False
    with pytest.raises(BudgetError, match="does not fit"):
        after.spend(cost)


def test_odometers_refuse_deltas_beyond_one_like_others() -> None:
    meter = p.ApproximateOdometer(delta=Fraction(9, 10)).spend(p.Approximate(1, "0.6"))
    with pytest.raises(BudgetError):
        meter.spend(p.Approximate(1, "0.6"))
    with pytest.raises(BudgetError):
        p.ZCDPOdometer(Fraction(1, 10), Fraction(7, 10)).spend(p.ZCDP(1, "0.6")).spend(p.ZCDP(1, "0.6"))
    with pytest.raises(BudgetError):
        p.ApproximateOdometer(Fraction(1, 10), p.Approximate(1, "0.2"))


def test_states_are_read_exactly() -> None:
    stored: Any = 0.1
    assert p.RDPOdometer(Fraction(2), Fraction(1, 10), stored).spend(p.RDP([2], ["0.2"])).spent == Fraction(3, 10)
    started = p.AdvancedFilter(epsilon=1, delta="0.1", slack="0.1", squares=0.1)
    assert started.spend(p.Approximate("0.1")).squares == Fraction(11, 100)


# ---- JSON


@pytest.mark.parametrize("value", [LONG, 1 / LONG, Fraction(10**2500 + 1, 3**4500), TINY, Fraction(1, 3)])
def test_numbers_of_any_length_travel_through_json(value: Fraction) -> None:
    assert rational(exact_text(value)) == value
    for promise in (p.Pure(value), p.RDP([2], [value]), p.GDP(mu_squared=value), p.ZCDP(value)):
        assert from_json(promise.to_json()) == promise
        assert len(repr(promise)) < 400
    assert p.Budget.from_json(p.Budget(value).to_json()) == p.Budget(value)


def test_long_sums_become_curves() -> None:
    curve = p.Pure(Fraction(7**2000 + 1, 7**2000)).curve()
    assert Curve.from_json(curve.to_json()) == curve
    assert 1 < curve.epsilon(0) < 1.0001
    with pytest.raises(ParameterError, match="binary digits"):
        p.pure(Fraction(7**2000 + 1, 7**2000))


def test_a_budget_does_not_depend_on_white_space() -> None:
    budget = p.Budget("1/3", 1e-6)
    record = json.loads(budget.to_json())
    for text in (json.dumps(record, separators=(",", ":")), json.dumps(record, indent=2), budget.to_json().encode()):
        assert p.Budget.from_json(text) == budget  # type: ignore[arg-type]


TERM = '{{"neighbors": "{relation}", "terms": [{{{term}, "count": 1}}]}}'
BASE = '{"neighbors": "change_one", "terms": [{"kind": "pure", "epsilon": "1", "count": 1}]}'
BAD_CURVES = [
    "[" * 100_000,
    '{"neighbors": "add_remove", "terms": "abc"}',
    '{"neighbors": "add_remove", "terms": {"a": 1}}',
    '{"neighbors": 3, "terms": []}',
    '{"neighbors": "add_remove", "terms": [{"kind": [], "count": 1}]}',
    '{"neighbors": "add_remove", "terms": [], "sampling_error": "2"}',
    TERM.format(relation="add_remove", term='"kind": "pure", "epsilon": "1e99999999"'),
    TERM.format(relation="add_remove", term='"kind": "pure", "epsilon": ["1", "2"]'),
    TERM.format(relation="add_remove", term='"kind": "finite_pair", "present": ["1", "1"], "absent": ["1", "0"]'),
    TERM.format(relation="add_remove", term='"kind": "rdp", "orders": ["1/2"], "values": ["0"]'),
    TERM.format(relation="add_remove", term='"kind": "rdp", "orders": ["2", "3"], "values": ["0"]'),
    TERM.format(relation="add_remove", term='"kind": "rdp", "orders": "23", "values": "11"'),
    TERM.format(relation="add_remove", term='"kind": "discrete_laplace", "scale": "2", "sensitivity": "1/2"'),
    TERM.format(relation="add_remove", term='"kind": "discrete_laplace", "scale": "2", "sensitivity": 1000000000'),
    TERM.format(relation="add_remove", term='"kind": "randomized_response", "epsilon": "2", "answers": 1'),
    TERM.format(relation="add_remove", term='"kind": "approximate", "epsilon": "2", "delta": "1"'),
    TERM.format(relation="add_remove", term='"kind": "staircase", "epsilon": "2", "share": "0"'),
    TERM.format(relation="add_remove", term='"kind": "gaussian", "sigma": "1e-100", "sensitivity": "1"'),
    TERM.format(relation="change_one", term=f'"kind": "poisson_sampled", "rate": "1/2", "base": {BASE}'),
    TERM.format(relation="change_one", term=f'"kind": "parallel", "curves": [{BASE}, {BASE}]'),
    TERM.format(relation="change_one*2", term=f'"kind": "grouped", "base": {BASE}, "size": 3'),
    TERM.format(
        relation="add_remove*2", term='"kind": "grouped", "base": {"neighbors": "add_remove", "terms": []}, "size": 2'
    ),
]


@pytest.mark.parametrize("text", [*BAD_CURVES, b"\xff\xfe\x00", None, 3, "[]", "nan"])
def test_garbage_is_no_curve(text: Any) -> None:  # noqa: ANN401  what a careless caller hands over
    with pytest.raises(ParameterError):
        Curve.from_json(text)


BAD_PROMISES = [
    '{"currency": [], "neighbors": "add_remove"}',
    '{"currency": "pure", "epsilon": "1", "neighbors": 3}',
    '{"currency": "pure", "epsilon": "1", "self": 2, "neighbors": "add_remove"}',
    '{"currency": "pure", "neighbors": "add_remove"}',
    '{"currency": "rdp", "orders": "234", "values": "111", "neighbors": "add_remove"}',
    '{"currency": "pure", "epsilon": NaN, "neighbors": "add_remove"}',
    '{"currency": "pure", "epsilon": 1' + "0" * 5000 + ', "neighbors": "add_remove"}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", [*BAD_PROMISES, b"\xff", None, 3, "[]", ""])
def test_garbage_is_no_promise_and_no_budget(text: Any) -> None:  # noqa: ANN401  what a careless caller hands over
    with pytest.raises(ParameterError):
        from_json(text)
    with pytest.raises(ParameterError):
        p.Budget.from_json(text)


def test_a_promise_is_no_budget() -> None:
    with pytest.raises(ParameterError, match="no budget"):
        p.Budget.from_json(p.Approximate(1).to_json())


def test_stated_failures_are_split_off_exactly() -> None:
    """delta(e) = leak + (1 - leak) * rest, against the closed form of one box and Laplace noise."""
    leak, e = 1e-3, 0.4
    curve = p.approximate(0, "1e-3") + p.laplace(1)
    truth = leak + (1 - leak) * -math.expm1((e - 1) / 2)
    low, high = curve.delta_interval("0.4")
    assert low <= truth * (1 + 1e-15)
    assert truth * (1 - 1e-15) <= high <= truth * (1 + 1e-9)
    assert curve.epsilon("1e-3") == 1
    assert curve.epsilon("0.0009") == math.inf
    assert float_up(Fraction(1, 1000)) == curve.delta(math.inf)


def test_numbers_of_numpy_are_numbers() -> None:
    assert p.gaussian(np.float64(0.1)) == p.gaussian("0.1")
    three: Any = np.int64(3)
    assert p.gaussian(1) * three == p.gaussian(1) * 3 == three * p.gaussian(1)
    assert p.gaussian(1).interval(np.float64(1e-6)) == p.gaussian(1).interval("1e-6")


@pytest.mark.parametrize("epsilon", ["0.5", "1", "49"])
def test_a_delta_far_below_floats_is_no_raw_error(epsilon: str) -> None:
    """Orders of 1e30 were looked at, where the window of the moments held no node."""
    low, high = (p.gaussian("42.28").subsample("2.141e-5") * 2).delta_interval(epsilon)
    assert 0 <= low <= high <= 1e-250


@pytest.mark.parametrize("delta", ["1e-310", "1e-200", "1e-5", "0.9"])
@pytest.mark.parametrize("exponent", [20, 30, 40, 50, 60])
def test_hardly_any_noise_has_the_epsilon_of_its_middle(exponent: int, delta: str) -> None:
    """A Gaussian's loss is mu²/2 give or take mu; below mu/1e17 of it, floats see the middle alone."""
    lower, upper = p.gaussian(sigma=1, sensitivity=10**exponent).interval(delta)
    middle = Fraction(10 ** (2 * exponent), 2)
    assert Fraction(lower) <= middle * (1 + Fraction(40, 10**exponent))
    assert Fraction(upper) >= middle * (1 - Fraction(2, 10**exponent))
    lower, upper = p.exponential(10**exponent).interval(delta)
    assert 0 < lower <= 10**exponent
    assert upper >= (0.5 - 1e-9) * 10**exponent
