"""Promises are exact, frozen, hashable values that add only with their own kind."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import GDP, RDP, ZCDP, Approximate, Budget, NeighborRelation, Pure
from discreet.privacy.currencies import Currency, from_json
from tests.privacy.strategies import costs, deltas, promises

CHANGE = NeighborRelation.CHANGE_ONE
ONE_OF_EACH: list[Currency] = [Pure(1), Approximate(1, 1e-6), ZCDP(1), GDP(1), RDP([2], [1])]


@given(promises)
def test_json_changes_nothing(promise: Currency) -> None:
    again = from_json(promise.to_json())
    assert again == promise
    assert hash(again) == hash(promise)
    assert type(again) is type(promise)
    assert from_json(json.dumps(json.loads(promise.to_json()))) == promise


@given(promises)
def test_a_promise_adds_to_itself_exactly(promise: Currency) -> None:
    assert promise + promise == promise * 2 == 2 * promise
    assert promise * 0 + promise == promise
    assert promise * 1 == promise


@given(promises, st.integers(1, 9), st.integers(1, 9))
def test_counts_add(promise: Currency, left: int, right: int) -> None:
    assert promise * left + promise * right == promise * (left + right)


@given(promises)
def test_a_promise_is_frozen(promise: Currency) -> None:
    for field in dataclasses.fields(promise):  # type: ignore[arg-type]
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            setattr(promise, field.name, 0)


def test_a_float_is_the_decimal_that_it_prints_as() -> None:
    assert Pure(0.1) + Pure(0.2) == Pure(0.3)
    assert Pure(np.float64(0.1)) == Pure(Fraction(1, 10)) == Pure("1/10")
    assert Budget(epsilon=0.3).admits(Pure(0.1) + Pure(0.2))
    assert not Budget(epsilon=0.3).admits(Pure(0.1) + Pure(0.2) + Pure("1e-300"))


def test_gaussian_squares_add_without_rounding() -> None:
    total = GDP(1) + GDP(1)
    assert total.mu_squared == 2
    assert total.mu > 0
    assert total.mu**2 >= 2
    assert GDP(3) + GDP(4) == GDP(5)


@pytest.mark.parametrize("left", ONE_OF_EACH, ids=lambda p: p.kind)
@pytest.mark.parametrize("right", ONE_OF_EACH, ids=lambda p: p.kind)
def test_other_currencies_do_not_add(left: Currency, right: Currency) -> None:
    if type(left) is type(right):
        assert left + right == left * 2
        return
    with pytest.raises(ParameterError, match=rf"convert\(.*to={type(left).__name__}\)"):
        left + right


@pytest.mark.parametrize("promise", ONE_OF_EACH, ids=lambda p: p.kind)
def test_other_relations_do_not_add(promise: Currency) -> None:
    other = from_json(promise.to_json().replace("add_remove", "change_one"))
    assert other.neighbors is CHANGE
    with pytest.raises(ParameterError, match="different neighbors"):
        promise + other
    with pytest.raises(ParameterError, match="same kind"):
        promise + 1  # type: ignore[operator]


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), True, "abc", None, "1/0"])
def test_costs_that_are_no_costs_are_refused(value: float) -> None:
    for build in (Pure, GDP, ZCDP, Approximate, Budget):
        with pytest.raises(ParameterError):
            build(value)
    with pytest.raises(ParameterError):
        RDP([2], [value])


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, float("nan")])
def test_deltas_that_are_no_deltas_are_refused(delta: float) -> None:
    for build in (Approximate, ZCDP, Budget):
        with pytest.raises(ParameterError, match="delta"):
            build(1, delta)


def test_deltas_that_sum_to_one_promise_nothing() -> None:
    with pytest.raises(ParameterError, match="nothing is"):
        Approximate(1, 0.5) + Approximate(1, 0.5)
    with pytest.raises(ParameterError, match="nothing is"):
        Approximate(1, 1e-6) * 10**6
    with pytest.raises(ParameterError, match="nothing is"):
        ZCDP(1, 0.5) * 2


@pytest.mark.parametrize("count", [-1, 1.5, True, "2"])
def test_counts_are_whole(count: int) -> None:
    with pytest.raises(ParameterError, match="count"):
        Pure(1) * count


@pytest.mark.parametrize("orders", [[], [1], ["0.5"], [2, 2], [3, 2]])
def test_orders_rise_above_one(orders: list[int]) -> None:
    with pytest.raises(ParameterError):
        RDP(orders, [1] * len(orders))


def test_orders_and_values_pair_up() -> None:
    with pytest.raises(ParameterError, match="2 orders and 1 value;"):
        RDP([2, 3], [1])
    with pytest.raises(ParameterError, match="same orders"):
        RDP([2], [1]) + RDP([3], [1])
    assert RDP([2, 3], [1, 2]).restrict([2]) + RDP([2], [1]) == RDP([2], [2])
    with pytest.raises(ParameterError, match="up to 3"):
        RDP([2, 3], [1, 2]).at(4)


def test_gdp_takes_one_number() -> None:
    with pytest.raises(ParameterError, match="exactly one"):
        GDP()
    with pytest.raises(ParameterError, match="exactly one"):
        GDP(1, mu_squared=1)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"currency": "gold", "neighbors": "add_remove"}', "null", '"x"'])
def test_other_texts_are_no_promises(text: str) -> None:
    with pytest.raises(ParameterError):
        from_json(text)


@given(costs, deltas)
def test_a_budget_admits_exactly_its_limit(epsilon: Fraction, delta: Fraction) -> None:
    budget = Budget(epsilon, delta)
    assert budget.admits(Approximate(epsilon, delta))
    assert not budget.admits(Approximate(epsilon + Fraction(1, 10**40), delta))
    assert not budget.admits(Approximate(epsilon, delta + Fraction(1, 10**40)))
    assert Budget.from_json(budget.to_json()) == budget


def test_a_budget_weighs_its_own_currency_and_relation() -> None:
    with pytest.raises(ParameterError, match="convert"):
        Budget(1).admits(ZCDP(1))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="different neighbors"):
        Budget(1).admits(Pure(1, neighbors=CHANGE))
    with pytest.raises(ParameterError, match="share"):
        Budget(1, 1e-6).split_delta(2)


@pytest.mark.parametrize(
    "promise, text",
    [
        (Pure(0.1), "Pure(epsilon=0.1)"),
        (Pure("1/3"), "Pure(epsilon='1/3')"),
        (ZCDP("0.5", 1e-9, neighbors=CHANGE), "ZCDP(rho=0.5, delta=1e-09, neighbors=change_one)"),
        (RDP([2], [1]), "RDP(orders=(2,), values=(1,))"),
        (GDP(mu_squared=2), "GDP(mu_squared=2)"),
    ],
)
def test_promises_print_what_they_are(promise: Currency, text: str) -> None:
    assert repr(promise) == text
