"""Numbers are shown so that what was released lies within what is shown."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.apps.cli.screen import charge_text
from discreet.privacy import ZCDP, Pure
from discreet.releases.showing.texts import cell_text


def number(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


@given(
    value=st.one_of(st.integers(-(10**12), 10**12), st.floats(-1e12, 1e12)),
    error=st.floats(1e-9, 1e9, exclude_min=True),
)
def test_the_shown_interval_contains_the_released_one(value: float, error: float) -> None:
    shown, reach = map(number, cell_text(value, error).split(" ± "))
    assert shown - reach <= Fraction(value) - Fraction(error)
    assert Fraction(value) + Fraction(error) <= shown + reach
    assert reach <= Fraction(error) * Fraction(16, 10) + 2


@pytest.mark.parametrize(
    "value, error, text",
    [
        (12, 0.0, "12 ± 0"),
        (True, None, "True"),
        ("ward", None, "ward"),
        (None, 3.0, "NULL"),
        (1234567, None, "1,234,567"),
        (0.1 + 0.2, 0.05, "0.300 ± 0.051"),
        ((1, 2.5), None, "[1, 2.5]"),
    ],
)
def test_cells_read_well(value: object, error: float | None, text: str) -> None:
    assert cell_text(value, error) == text


@given(epsilon=st.fractions(Fraction(1, 10**9), 100))
def test_charges_are_shown_no_smaller(epsilon: Fraction) -> None:
    assert number(charge_text(Pure(epsilon)).removeprefix("ε = ")) >= epsilon


def test_a_delta_is_shown_where_there_is_one() -> None:
    assert charge_text(ZCDP("0.1")) == "ρ = 0.1"
    assert charge_text(ZCDP("0.1", delta="1e-9")) == "ρ = 0.1, δ = 1e-09"
