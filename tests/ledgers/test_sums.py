"""Sums as texts are the sums of the values, or are left to them."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.ledgers import sums
from discreet.ledgers.amounts import added, covers, read_text, text_of
from discreet.ledgers.sums import normal, sum_text, within
from discreet.privacy import ZCDP, Approximate, NeighborRelation, Pure

if TYPE_CHECKING:
    from discreet.privacy.currencies import Currency

long = st.integers(1, 2**1100)
numbers = st.one_of(
    st.fractions(0, 10, max_denominator=1000),
    st.builds(Fraction, st.integers(0, 10**400), long),
    st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 3**600), Fraction(10**350)]),
)
deltas = st.one_of(
    st.fractions(0, Fraction(99, 100), max_denominator=10**6), st.builds(lambda d: Fraction(1, 1 + d), long)
)
relations = st.sampled_from(list(NeighborRelation))


@st.composite
def amounts(draw: st.DrawFn) -> Currency:
    """An amount of any currency that a ledger may keep."""
    relation = draw(relations)
    kind = draw(st.sampled_from([Pure, Approximate, ZCDP]))
    if kind is Pure:
        return Pure(draw(numbers), neighbors=relation)
    return kind(draw(numbers), draw(deltas), neighbors=relation)  # type: ignore[no-any-return]


@given(amounts(), amounts())
def test_a_sum_as_text_is_that_of_the_values(first: Currency, second: Currency) -> None:
    try:
        expected = added(first, second)
    except DiscreetError as error:
        with pytest.raises(type(error)):
            sum_text(text_of(first), text_of(second))
        return
    assert sum_text(text_of(first), text_of(second)) == expected.to_json()


@given(amounts(), amounts())
def test_what_is_within_by_its_digits_is_within(first: Currency, second: Currency) -> None:
    if within(text_of(first), text_of(second)):
        assert covers(second, first)
        assert first.neighbors == second.neighbors


@given(st.fractions(0, 10, max_denominator=10**6), st.fractions(0, 10, max_denominator=10**6))
def test_digits_tell_of_all_ordinary_amounts(first: Fraction, second: Fraction) -> None:
    """Else everything would be right, and slow."""
    assert within(text_of(ZCDP(first, "1e-9")), text_of(ZCDP(second, "1e-6"))) == (first <= second)


def test_ordinary_sums_make_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "added", None)
    assert read_text(sum_text(text_of(Pure("1/7")), text_of(Pure("1/9")))) == Pure("16/63")


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "7",
        '"7"',
        '{"currency": "pure", "epsilon": "1/0", "neighbors": "add_remove"}',
        '{"currency": "pure", "epsilon": "0/0", "neighbors": "add_remove"}',
        '{"currency": "pure", "epsilon": "-1", "neighbors": "add_remove"}',
        '{"currency": "pure", "epsilon": "1", "neighbors": "change_one"}',
        '{"currency": "poor", "epsilon": "1", "neighbors": "add_remove"}',
        '{"currency": "pure", "epsilon": "1", "neighbors": "add_remove"',
    ],
)
def test_a_damaged_sum_adds_to_nothing(damaged: str) -> None:
    cost = text_of(Pure(1))
    for both in ((damaged, cost), (cost, damaged)):
        with pytest.raises(DiscreetError):
            sum_text(*both)
        assert not within(*both)


def test_two_damaged_sums_that_look_alike_do_not_add() -> None:
    """Texts that differ in nothing but digits are amounts only if one of them is."""
    zero = '{"currency": "pure", "epsilon": "1/0", "neighbors": "add_remove"}'
    with pytest.raises(DiscreetError):
        sum_text(zero, zero)
    assert not within(zero, zero)


def test_the_order_of_names_does_not_count() -> None:
    assert normal('{"delta":"0","currency":"zcdp","neighbors":"add_remove","rho":"2/4"}') == text_of(ZCDP("1/2"))


def test_a_payment_covers_a_cost_in_all_of_its_numbers() -> None:
    paid = Approximate(1, "1e-6")
    assert all(covers(paid, cost) for cost in (paid, Approximate("1/2", "1e-6"), Approximate(1, 0)))
    assert not any(covers(paid, cost) for cost in (Approximate(2, 0), Approximate("1/2", "1e-5"), Pure(1)))
