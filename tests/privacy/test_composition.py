"""Each theorem gives its paper's number, is an upper bound, and refuses what it does not cover."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import GDP, RDP, ZCDP, Approximate, NeighborRelation, Pure
from discreet.privacy.composition import (
    Parts,
    abadi_leading_term,
    advanced,
    amplified,
    bad_outcomes,
    basic,
    bun,
    concentrated,
    concentrated_simple,
    group_privacy,
    kairouz,
    mironov,
    moments,
    murtagh_vadhan,
    parallel,
    renyi,
    sampled_gaussian_rdp,
)

CHANGE, ORDERED = NeighborRelation.CHANGE_ONE, NeighborRelation.CHANGE_ONE_ORDERED


@pytest.fixture(autouse=True)
def many_digits() -> None:
    mp.mp.dps = 50


def real(value: Fraction | float | str) -> mp.mpf:
    number = Fraction(value)
    return mp.mpf(number.numerator) / number.denominator


def best_epsilon(epsilons: list[str], delta: mp.mpf) -> mp.mpf:
    """The optimum by enumerating every combination of truths and lies: an independent reference."""
    atoms: dict[Fraction, mp.mpf] = {Fraction(0): mp.mpf(1)}
    for epsilon in map(Fraction, epsilons):
        truth = 1 / (1 + mp.exp(-real(epsilon)))
        after: dict[Fraction, mp.mpf] = {}
        for loss, chance in atoms.items():
            after[loss + epsilon] = after.get(loss + epsilon, 0) + chance * truth
            after[loss - epsilon] = after.get(loss - epsilon, 0) + chance * (1 - truth)
        atoms = after
    under_q = [(chance, chance * mp.exp(-real(loss)), real(loss)) for loss, chance in atoms.items()]

    def at(x: mp.mpf) -> mp.mpf:
        factor = mp.exp(x)
        return mp.fsum(p - factor * q for p, q, loss in under_q if loss > x)

    low, high = mp.mpf(0), mp.fsum(real(e) for e in epsilons)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if at(middle) <= delta else (middle, high)
    return high


# ---- basic and advanced


def test_basic_composition_adds() -> None:
    assert basic([Approximate(0.1, 1e-9), Approximate(0.2, 2e-9)]) == Approximate(0.3, 3e-9)
    with pytest.raises(ParameterError, match="at least one"):
        basic([])


def test_advanced_composition_gives_the_books_example() -> None:
    """Dwork & Roth 2014, Section 3.5.2: 10,000 databases of epsilon = 1/801 cost about 1, but for e**-32."""
    slack = Fraction(1, 10**14)  # e**-32 is 1.27e-14
    total = advanced(Approximate("1/801"), count=10_000, slack=slack).epsilon
    assert 1 <= total < Fraction(103, 100)


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", 1, 5])
@pytest.mark.parametrize("count", [1, 10, 1000])
def test_advanced_composition_is_its_formula_rounded_up(epsilon: str, count: int) -> None:
    found = advanced(Approximate(epsilon, 1e-9), count, 1e-6)
    e = real(epsilon)
    exact = e * mp.sqrt(2 * count * mp.log(10**6)) + count * e * mp.expm1(e)
    assert exact <= real(found.epsilon) <= exact * (1 + mp.mpf(10) ** -15)
    assert found.delta == count * Fraction(1, 10**9) + Fraction(1, 10**6)


def test_advanced_composition_refuses_what_it_cannot() -> None:
    with pytest.raises(ParameterError, match="slack"):
        advanced(Approximate(1), 10, 0)
    with pytest.raises(ParameterError, match="above 100"):
        advanced(Approximate(101), 10, 1e-6)
    with pytest.raises(ParameterError, match="deltas sum"):
        advanced(Approximate(1, 0.1), 10, 1e-6)
    with pytest.raises(ParameterError, match="count"):
        advanced(Approximate(1), 0, 1e-6)


# ---- optimal composition


@given(
    st.sampled_from(["0.01", "0.3", "1", "3"]),
    st.integers(1, 9),
    st.sampled_from([Fraction(1, 3), Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**12)]),
)
@settings(max_examples=40, deadline=None)
def test_kairouz_is_the_optimum(epsilon: str, count: int, delta: Fraction) -> None:
    found = real(kairouz(Approximate(epsilon), count, delta).epsilon)
    exact = best_epsilon([epsilon] * count, real(delta))
    assert exact - mp.mpf(10) ** -28 <= found <= exact + mp.mpf(10) ** -14


def test_kairouz_at_a_corner_of_the_papers_list() -> None:
    """Kairouz, Oh & Viswanath 2015, Theorem 3.3 with k = 10, i = 3: epsilon' = (k - 2 i) epsilon."""
    e, k, i = mp.mpf("0.5"), 10, 3
    delta = (
        mp.fsum(mp.binomial(k, n) * (mp.exp((k - n) * e) - mp.exp((k - 2 * i + n) * e)) for n in range(i))
        / (1 + mp.exp(e)) ** k
    )
    up = Fraction(mp.nstr(delta * (1 + mp.mpf(10) ** -30), 45))
    found = real(kairouz(Approximate("0.5"), k, up).epsilon)
    assert abs(found - (k - 2 * i) * e) < mp.mpf(10) ** -13


def test_kairouz_pays_the_chance_of_telling_everything() -> None:
    single = Approximate(1, 1e-6)
    with_delta = kairouz(single, 10, 1e-4)
    inner = 1 - (1 - Fraction(1, 10**4)) / (1 - Fraction(1, 10**6)) ** 10
    assert with_delta.epsilon == kairouz(Approximate(1), 10, inner).epsilon
    many = kairouz(single, 100, 1e-3)
    inner = 1 - (1 - Fraction(1, 10**3)) / (1 - Fraction(1, 10**6)) ** 100
    assert abs(many.epsilon - kairouz(Approximate(1), 100, inner).epsilon) < Fraction(1, 10**12)
    with pytest.raises(ParameterError, match="own deltas"):
        kairouz(single, 100, 1e-5)


@pytest.mark.parametrize(
    "epsilon, count, delta, expected",
    [("1", 1, 0, 1), ("0", 5, "0.1", 0), ("0.1", 7, 0, Fraction(7, 10)), ("1e4", 3, "0.1", 30000)],
)
def test_kairouz_at_its_edges(epsilon: str, count: int, delta: str, expected: Fraction) -> None:
    assert kairouz(Approximate(epsilon), count, delta).epsilon == expected


def test_kairouz_refuses_more_than_it_can_walk() -> None:
    with pytest.raises(ParameterError, match="count"):
        kairouz(Approximate(1), 10**12, 1e-6)


@pytest.mark.parametrize("error", ["0.1", "0.01", "0.001"])
@pytest.mark.parametrize("delta", ["0.1", "1e-4", "1e-9"])
def test_murtagh_vadhan_keeps_its_stated_error(error: str, delta: str) -> None:
    epsilons = ["0.1234567", "0.3333333", "1.0101", "0.7", "0.05", "0.2718281", "0.9", "1.5"]
    found = real(murtagh_vadhan([Approximate(e) for e in epsilons], delta, error=error).epsilon)
    assert best_epsilon(epsilons, real(delta)) <= found + mp.mpf(10) ** -25
    assert found <= best_epsilon(epsilons, real(delta) * mp.exp(-real(error) / 2)) + real(error)


def test_murtagh_vadhan_agrees_with_kairouz_on_equal_promises() -> None:
    equal = kairouz(Approximate("0.1", 1e-9), 100, 1e-5).epsilon
    mixed = murtagh_vadhan([Approximate("0.1", 1e-9)] * 100, 1e-5).epsilon
    assert equal <= mixed < equal + Fraction(1, 10**6)


def test_murtagh_vadhan_refuses_what_it_cannot() -> None:
    with pytest.raises(ParameterError, match="error="):
        murtagh_vadhan([Approximate(1)] * 1000, 1e-6, error="0.0001")
    with pytest.raises(ParameterError, match="at least one"):
        murtagh_vadhan([], 1e-6)
    with pytest.raises(ParameterError, match="error above 0"):
        murtagh_vadhan([Approximate(1)], 1e-6, error=0)
    with pytest.raises(ParameterError, match="different neighbors"):
        murtagh_vadhan([Approximate(1), Approximate(1, neighbors=CHANGE)], 1e-6)
    assert murtagh_vadhan([Approximate(1), Approximate(2)], 0) == Approximate(3)


# ---- Renyi, zCDP, moments


def test_renyi_takes_the_best_order() -> None:
    gaussian = RDP([2, 5, 10], [1, "2.5", 5])
    each = [renyi(gaussian.restrict([order]), 3, 1e-5).epsilon for order in (2, 5, 10)]
    assert renyi(gaussian, 3, 1e-5).epsilon == min(each)


def test_zcdp_composition_is_sharper_than_its_simple_form() -> None:
    for rho in ("0.001", "0.1", 2):
        assert concentrated(ZCDP(rho), 10, 1e-6).epsilon < concentrated_simple(ZCDP(rho), 10, 1e-6).epsilon
    assert concentrated_simple(ZCDP(0), 10, 1e-6) == Approximate(0, 1e-6)
    with pytest.raises(ParameterError, match="delta"):
        concentrated_simple(ZCDP(1), 10, 0)


def test_moments_reproduce_the_papers_example() -> None:
    """Abadi et al. 2016, Section 3.2: q = 0.01, sigma = 4, delta = 1e-5, T = 10,000 give epsilon 1.26."""
    assert round(float(moments("0.01", 4, 10_000, 1e-5).epsilon), 2) == 1.26
    assert moments("0.01", 4, 0, 1e-5) == Approximate(0, 1e-5)
    with pytest.raises(ParameterError, match="delta"):
        moments("0.01", 4, 10, 0)


def sampled_gaussian(rate: str, sigma: str, order: str) -> mp.mpf:
    """The divergence by integrating its definition."""
    q, s, a = real(rate), real(sigma), real(order)
    points = sorted([-20 * s, -5 * s, mp.mpf(0), a / 2, a, a + 5 * s, a + 20 * s])
    total = mp.quad(lambda z: mp.npdf(z, 0, s) * ((1 - q) + q * mp.exp((2 * z - 1) / (2 * s * s))) ** a, points)
    return mp.log(total) / (a - 1)


@pytest.mark.parametrize(
    "rate, sigma, order", [("0.01", "4", 2), ("0.01", "4", 32), ("0.001", "1", 8), ("0.2", "0.7", 5), ("1", "2", 6)]
)
def test_whole_orders_are_the_integral(rate: str, sigma: str, order: int) -> None:
    mp.mp.dps = 30
    found = real(sampled_gaussian_rdp(rate, sigma, order).values[0])
    exact = sampled_gaussian(rate, sigma, str(order))
    assert exact * (1 - mp.mpf(10) ** -15) <= found <= exact * (1 + mp.mpf(10) ** -12)


def test_whole_orders_at_their_edges() -> None:
    assert sampled_gaussian_rdp(0, 1, 2).values[0] == 0
    assert abs(sampled_gaussian_rdp(1, 1, 3).values[0] - Fraction(3, 2)) < Fraction(1, 10**15)
    for rate, sigma, order in ((-0.1, 1, 2), (1.1, 1, 2), (0.5, 0, 2), (0.5, -1, 2), (0.5, 1, 1), (0.5, 1, 2.5)):
        with pytest.raises(ParameterError):
            sampled_gaussian_rdp(rate, sigma, order)  # type: ignore[arg-type]


# ---- bad outcomes


@pytest.mark.parametrize("probability", ["1e-12", "0.001", "0.3"])
def test_bad_outcomes_bound_the_gaussian(probability: str) -> None:
    """Under N(0, 1) the event z > t has probability Q; under N(1, 1) it is Phi(1 - t)."""
    orders = [Fraction(3, 2), Fraction(2), Fraction(4), Fraction(8)]
    bound = bad_outcomes(RDP(orders, [order / 2 for order in orders]), probability)
    threshold = mp.sqrt(2) * mp.erfinv(1 - 2 * real(probability))
    assert mp.ncdf(1 - threshold) <= real(bound) <= 1


def test_bad_outcomes_at_their_edges() -> None:
    promise = RDP([2], [1])
    assert bad_outcomes(promise, 0) == 0
    assert bad_outcomes(promise, 1) == 1
    with pytest.raises(ParameterError, match="probability"):
        bad_outcomes(promise, 1.5)


# ---- closed forms for samples


@pytest.mark.parametrize("rate, sigma, order", [("0.01", "4", "8"), ("0.001", "5", "20.5"), ("0.1", "8", "10")])
def test_closed_forms_are_above_the_truth_where_they_are_proved(rate: str, sigma: str, order: str) -> None:
    mp.mp.dps = 25
    exact = sampled_gaussian(rate, sigma, order)
    assert exact <= real(mironov(rate, sigma, order).values[0])
    assert exact <= real(bun(rate, sigma, order).values[0])
    assert bun(rate, sigma, order).neighbors is CHANGE
    assert mironov(rate, sigma, order).neighbors is NeighborRelation.ADD_REMOVE


@pytest.mark.parametrize(
    "rate, sigma, order, name",
    [
        ("0.2", 4, 2, "rate"),
        ("0.01", "3.99", 2, "sigma"),
        ("0.01", 4, 40, "order"),
        ("0.001", 1, 32, "sigma"),
        ("0.01", 4, 1, "order"),
        ("-0.01", 4, 2, "rate"),
    ],
)
def test_mironov_refuses_outside_its_conditions(rate: str, sigma: str, order: int, name: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name} is"):
        mironov(rate, sigma, order)


@pytest.mark.parametrize(
    "rate, sigma, order, name", [("0.11", 4, 2, "rate"), ("0.01", "2.23", 2, "sigma"), ("0.01", 4, 37, "order")]
)
def test_bun_refuses_outside_its_conditions(rate: str, sigma: str, order: int, name: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name} is"):
        bun(rate, sigma, order)
    bun("0.1", "2.2361", 2)
    bun("0.01", 4, 36)


def test_a_leading_term_is_a_number_and_no_promise() -> None:
    assert isinstance(abadi_leading_term("0.001", 4, 8), float)
    for rate, sigma, order in (("0.02", 4, 2), ("0.001", "0.9", 2), ("0.001", 4, 100)):
        with pytest.raises(ParameterError):
            abadi_leading_term(rate, sigma, order)


@given(st.fractions(0, 5, max_denominator=100), st.fractions(0, 1, max_denominator=100))
def test_amplification_is_its_formula(epsilon: Fraction, rate: Fraction) -> None:
    found = amplified(Approximate(epsilon, 1e-6), rate)
    exact = mp.log1p(real(rate) * mp.expm1(real(epsilon)))
    assert exact <= real(found.epsilon) * (1 + mp.mpf(10) ** -40)
    assert real(found.epsilon) <= exact * (1 + mp.mpf(10) ** -14) + mp.mpf(10) ** -60
    assert found.delta == rate / 10**6


def test_amplification_refuses_other_relations() -> None:
    with pytest.raises(ParameterError, match="change_one"):
        amplified(Approximate(1, neighbors=CHANGE), "0.1")


# ---- groups and parts


@given(st.fractions(0, 3, max_denominator=50), st.integers(1, 8))
def test_groups_of_approximate_promises_follow_the_induction(epsilon: Fraction, size: int) -> None:
    delta = Fraction(1, 10**15)
    found = group_privacy(Approximate(epsilon, delta), size)
    exact = real(delta) * mp.fsum(mp.exp(i * real(epsilon)) for i in range(size))
    assert found.epsilon == size * epsilon
    assert exact <= real(found.delta) * (1 + mp.mpf(10) ** -40)
    assert real(found.delta) <= exact * (1 + mp.mpf(10) ** -14)
    assert real(found.delta) <= size * mp.exp((size - 1) * real(epsilon)) * real(delta) * (1 + mp.mpf(10) ** -14)


def test_groups_of_other_promises() -> None:
    three = NeighborRelation.ADD_REMOVE.group(3)
    assert group_privacy(Pure(1), 3) == Pure(3, neighbors=three)
    assert group_privacy(ZCDP(1), 3) == ZCDP(9, neighbors=three)
    assert group_privacy(GDP(1), 3) == GDP(3, neighbors=three)
    assert group_privacy(RDP([2, 4, 16], [1, 2, 3]), 2) == RDP(
        [2, 8], [6, 9], neighbors=NeighborRelation.ADD_REMOVE.group(2)
    )
    assert group_privacy(Pure(1), 1) == Pure(1)
    with pytest.raises(ParameterError, match="orders of at least"):
        group_privacy(RDP([2], [1]), 2)
    with pytest.raises(ParameterError, match="approximate zCDP"):
        group_privacy(ZCDP(1, 1e-6), 2)
    with pytest.raises(ParameterError, match="nothing is promised"):
        group_privacy(Approximate(5, 1e-3), 3)
    with pytest.raises(ParameterError, match="nothing is promised"):
        group_privacy(Approximate(5, 1e-3), 1000)


def test_group_privacy_of_a_gaussian_is_the_gaussian_shifted_by_k() -> None:
    """Bun & Steinke 2016, Proposition 1.9 is tight for the Gaussian: k units shift the mean k times as far."""
    assert group_privacy(ZCDP(Fraction(1, 2)), 3).rho == Fraction(3**2, 2)


def test_parallel_parts_take_the_largest_only_under_add_remove() -> None:
    epsilons = ("0.5", "1", "0.2")
    assert parallel([Approximate(e, 1e-6) for e in epsilons]) == Approximate(1, 1e-6)
    inside = [Approximate(e, 1e-6, neighbors=CHANGE) for e in epsilons]
    by_value = parallel([Approximate(e, 1e-6) for e in epsilons], exchanged=inside)
    assert by_value == Approximate("1.5", 2e-6, neighbors=CHANGE)
    by_index = parallel([Approximate(e, neighbors=ORDERED) for e in epsilons], Parts.BY_INDEX)
    assert by_index == Approximate(1, neighbors=ORDERED)
    wide = parallel([Approximate(1)] * 2, exchanged=[Approximate(5, neighbors=CHANGE)] * 2)
    assert wide == Approximate(5, neighbors=CHANGE)


def test_parallel_composition_refuses_what_it_does_not_cover() -> None:
    with pytest.raises(ParameterError, match="by index"):
        parallel([Approximate(1, neighbors=CHANGE)], Parts.BY_INDEX)
    with pytest.raises(ParameterError, match="single units"):
        parallel([Approximate(1, neighbors=CHANGE.group(2))])
    with pytest.raises(ParameterError, match="at least one"):
        parallel([])
    with pytest.raises(ParameterError, match="loses or gains"):
        parallel([Approximate(0, neighbors=CHANGE)] * 2)
    with pytest.raises(ParameterError, match="one for each part"):
        parallel([Approximate(1)] * 2, exchanged=[Approximate(1, neighbors=CHANGE)])
    with pytest.raises(ParameterError, match="different neighbors"):
        parallel([Approximate(1), Approximate(1, neighbors=CHANGE)])
