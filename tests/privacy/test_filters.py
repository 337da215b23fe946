"""Filters stop exactly at their limit, and what they admit keeps the promise under full adaptivity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetError, ParameterError
from discreet.privacy import (
    GDP,
    RDP,
    ZCDP,
    AdvancedFilter,
    Approximate,
    ApproximateFilter,
    Budget,
    GDPFilter,
    NeighborRelation,
    Pure,
    PureFilter,
    RDPFilter,
    ZCDPFilter,
)
from discreet.privacy.convert import convert, rdp_allowance, zcdp_allowance

SMALL = Fraction(1, 10**30)


@given(st.lists(st.fractions(0, 1, max_denominator=50), max_size=30))
def test_a_pure_filter_is_an_exact_sum(costs: list[Fraction]) -> None:
    state, total = PureFilter(Pure(3)), Fraction(0)
    for cost in costs:
        fits = total + cost <= 3
        assert state.admits(Pure(cost)) is fits
        if fits:
            state, total = state.spend(Pure(cost)), total + cost
        else:
            with pytest.raises(BudgetError, match="does not fit"):
                state.spend(Pure(cost))
    assert state.spent == Pure(total)
    assert state.remaining == Pure(3 - total)


@pytest.mark.parametrize(
    "start, cost, above",
    [
        (PureFilter(Pure("0.3")), Pure("0.1"), Pure("0.1") + Pure(SMALL)),
        (
            ApproximateFilter(Approximate("0.3", 3e-6)),
            Approximate("0.1", 1e-6),
            Approximate(0, Fraction(10**24 + 1, 10**30)),
        ),
        (ZCDPFilter(ZCDP("0.3", 3e-6)), ZCDP("0.1", 1e-6), ZCDP("0.1", Fraction(1, 10**6) + SMALL)),
        (RDPFilter(RDP([4], ["0.3"])), RDP([4], ["0.1"]), RDP([4], [Fraction(1, 10) + SMALL])),
        (GDPFilter(GDP(mu_squared="0.3")), GDP(mu_squared="0.1"), GDP(mu_squared=Fraction(1, 10) + SMALL)),
    ],
)
def test_three_tenths_hold_three_times_a_tenth_and_no_more(start, cost, above) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    two = start.spend(cost).spend(cost)
    assert two.admits(cost)
    assert not two.admits(above)
    full = two.spend(cost)
    assert not full.admits(cost)
    assert full.admits(cost * 0)
    assert start.spent == cost * 0, "a filter is a value: spending leaves the old one as it was"


@pytest.mark.parametrize("state", [PureFilter(Pure(1)), ZCDPFilter(ZCDP(1)), GDPFilter(GDP(1))])
def test_a_filter_takes_its_own_currency(state) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    with pytest.raises(ParameterError, match="Convert it"):
        state.admits(Approximate(0))
    with pytest.raises(ParameterError, match="different neighbors"):
        state.admits(type(state.limit)(0, neighbors=NeighborRelation.CHANGE_ONE))


def test_a_renyi_filter_has_one_order_fixed_beforehand() -> None:
    with pytest.raises(ParameterError, match="one order"):
        RDPFilter(RDP([2, 3], [1, 1]))
    state = RDPFilter(RDP([3], [1])).spend(RDP([2, 4], ["0.1", "0.5"]))
    assert state.spent == RDP([3], ["0.5"]), "order 4 bounds order 3; order 2 does not"
    with pytest.raises(ParameterError):
        state.spend(RDP([2], ["0.1"]))


def test_an_advanced_filter_ends_where_its_formula_ends() -> None:
    state = AdvancedFilter(epsilon=1, delta=1e-7, slack=1e-6)
    length = mp.log(10**6)
    least, most = state.most_squares, state.most_squares * (1 + Fraction(1, 10**12))
    assert mp.sqrt(2 * length * mp.mpf(least.numerator) / least.denominator) + float(least) / 2 <= 1
    assert mp.sqrt(2 * length * mp.mpf(most.numerator) / most.denominator) + float(most) / 2 > 1
    with pytest.raises(ParameterError, match="slack"):
        AdvancedFilter(epsilon=1, delta=0, slack=0)
    with pytest.raises(BudgetError, match="does not fit"):
        state.spend(Approximate(0, 2e-7))
    with pytest.raises(ParameterError, match="no Approximate"):
        state.admits(Pure(1))  # type: ignore[arg-type]


# ---- an adaptive adversary, computed exactly

Law: TypeAlias = dict[tuple[int, ...], tuple[mp.mpf, mp.mpf]]
Choice: TypeAlias = Callable[[tuple[int, ...]], Fraction]


def play(choose: Choice, admit: Callable[[list[Fraction]], bool], rounds: int) -> Law:
    """Let an adversary choose each randomized response after seeing the earlier ones; return the transcript's laws."""
    law: Law = {(): (mp.mpf(1), mp.mpf(1))}
    for _ in range(rounds):
        after: Law = defaultdict(lambda: (mp.mpf(0), mp.mpf(0)))
        for seen, (p, q) in law.items():
            spent = [choose(seen[:i]) for i in range(len(seen))]
            epsilon = choose(seen)
            if not admit([*spent, epsilon]):
                after[seen] = (p, q)
                continue
            truth = mp.e ** mp.mpf(float(epsilon)) / (1 + mp.e ** mp.mpf(float(epsilon)))
            after[*seen, 1] = (p * truth, q * (1 - truth))
            after[*seen, 0] = (p * (1 - truth), q * truth)
        law = dict(after)
    return law


def divergence(law: Law, order: float) -> mp.mpf:
    return mp.log(mp.fsum(p**order * q ** (1 - order) for p, q in law.values())) / (order - 1)


def chase(seen: tuple[int, ...]) -> Fraction:
    """Spend more when the last answers favored one side: the loss so far decides the next cost."""
    lead = sum(1 if answer else -1 for answer in seen)
    return Fraction(1, 2) if lead > 0 else Fraction(1, 8)


def zcdp_admits(limit: Fraction) -> Callable[[list[Fraction]], bool]:
    def admit(costs: list[Fraction]) -> bool:
        state = ZCDPFilter(ZCDP(limit))
        for cost in costs:
            spend = convert(Pure(cost), to=ZCDP)
            if not state.admits(spend):
                return False
            state = state.spend(spend)
        return True

    return admit


@pytest.mark.parametrize("choose", [chase, lambda seen: chase(tuple(1 - answer for answer in seen))])
def test_an_adaptive_adversary_stays_within_a_zcdp_filter(choose: Choice) -> None:
    limit = Fraction(3, 10)
    law = play(choose, zcdp_admits(limit), rounds=8)
    assert abs(mp.fsum(p for p, _ in law.values()) - 1) < 1e-12
    for order in (1.01, 1.5, 2, 4, 16, 64):
        most = order * mp.mpf(limit.numerator) / limit.denominator
        assert divergence(law, order) <= most
        assert divergence({k: (q, p) for k, (p, q) in law.items()}, order) <= most


def test_the_check_sees_a_filter_that_charges_too_little() -> None:
    """Charging a third of the true rho admits three times as much; the divergence shows it."""
    limit = Fraction(3, 10)
    law = play(chase, zcdp_admits(3 * limit), rounds=8)
    assert divergence(law, 1.01) > 1.01 * limit


def test_an_allowance_keeps_its_budget() -> None:
    budget = Budget(1, 1e-6)
    allowed = zcdp_allowance(budget)
    back = convert(allowed, to=Approximate, delta=budget.delta)
    assert back.epsilon <= 1
    assert back.epsilon > Fraction(99999, 100000)
    more = ZCDP(allowed.rho * Fraction(100001, 100000), allowed.delta)
    assert convert(more, to=Approximate, delta=budget.delta).epsilon > 1
    single = rdp_allowance(budget, 20)
    assert Fraction(999999, 10**6) < convert(single, to=Approximate, delta=budget.delta).epsilon <= 1


@pytest.mark.parametrize("epsilon", ["1e-6", "0.01", 1, 10, 1000])
@pytest.mark.parametrize("delta", ["1e-2", "1e-6", "1e-30", "1e-300"])
def test_allowances_exist_for_all_budgets(epsilon: str, delta: str) -> None:
    allowed = zcdp_allowance(Budget(epsilon, delta))
    assert allowed.rho > 0
    assert convert(allowed, to=Approximate, delta=delta).epsilon <= Budget(epsilon).epsilon


def test_an_allowance_needs_a_delta() -> None:
    with pytest.raises(ParameterError, match="delta"):
        zcdp_allowance(Budget(1))
    with pytest.raises(ParameterError, match="order"):
        rdp_allowance(Budget(1), 5)
    with pytest.raises(ParameterError, match="larger order"):
        rdp_allowance(Budget("0.01", 1e-6), 2)


def test_a_stored_state_that_no_spend_leaves_is_refused() -> None:
    with pytest.raises(ParameterError, match="squares"):
        AdvancedFilter(epsilon=1, delta=0, slack=1e-6, squares=Fraction(-100))
