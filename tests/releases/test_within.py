"""A wanted ± is bought at the price that takes least of the whole budget, whatever was spent before."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

from discreet import Database
from discreet.plans import plan_sql
from discreet.privacy.costs import Cost, used_of
from discreet.releases.asking.prices import price_within
from discreet.releases.noise.protection import Price, Protection
from discreet.releases.noise.recipe import Recipe
from discreet.releases.showing.preview import previewed
from discreet.tables import Column, Policy, Table

TABLE = Table("t", unit="id", rows_per_unit=20, columns=[Column("x", lower=0, upper=9), Column("g", keys=["a", "b"])])
COUNT = "SELECT COUNT(*) AS n FROM t"
SUM = "SELECT g, SUM(x) AS n FROM t GROUP BY g"


def share(policy: Policy, sql: str, price: Price) -> Fraction:
    cost = Protection.of(Recipe.of(plan_sql(policy, sql)), price).cost
    assert isinstance(cost, Cost)
    return used_of(policy.certificates.limits, cost)


@pytest.mark.parametrize(
    "sql", [COUNT, "SELECT g, SUM(x) AS n FROM t GROUP BY g", "SELECT COUNT(DISTINCT id) AS n FROM t"]
)
@pytest.mark.parametrize("within", [100, 2000])
def test_no_other_kind_of_price_would_take_less_for_as_little_noise(sql: str, within: int) -> None:
    policy = Policy([TABLE], epsilon=3, delta=1e-6)
    recipe = Recipe.of(plan_sql(policy, sql))
    chosen = price_within(recipe, within, delta=None, confidence=0.95)
    error, _ = previewed(recipe, Protection.of(recipe, chosen), "n", 0.95)
    assert error is not None
    assert error <= within
    for name in ("epsilon", "rho"):
        for number in range(1, 40):
            other = Price.read(policy, **{name: Fraction(number * number, 4000)})
            noisy, _ = previewed(recipe, Protection.of(recipe, other), "n", 0.95)
            if noisy is not None and noisy <= within:
                assert share(policy, sql, chosen) <= share(policy, sql, other) * Fraction(101, 100)


def test_both_kinds_are_chosen_somewhere() -> None:
    """A single large question is cheaper as an epsilon, many rows of a unit are cheaper as a rho."""
    policy = Policy([TABLE], epsilon=3, delta=1e-6)
    kinds = set()
    for sql, within in ((COUNT, 10), (COUNT, 1000), (SUM, 3000)):
        price = price_within(Recipe.of(plan_sql(policy, sql)), within, delta=None, confidence=0.95)
        kinds.add(price.epsilon is None)
    assert kinds == {True, False}


def test_the_choice_knows_nothing_of_what_was_spent() -> None:
    policy = Policy([TABLE], epsilon=3, delta=1e-6)
    data = {"t": pa.table({"id": [1, 2], "x": [1, 2], "g": ["a", "b"]})}
    with Database(policy, data) as db:
        before = db.sql(COUNT).preview(within=500)
        db.sql("SELECT SUM(x) AS s FROM t").release(epsilon="2.5")
        after = db.sql(COUNT).preview(within=500)
    assert (before.promise, before.cost, before.errors) == (after.promise, after.cost, after.errors)


def test_without_a_delta_the_price_is_an_epsilon() -> None:
    recipe = Recipe.of(plan_sql(Policy([TABLE], epsilon=3), COUNT))
    assert price_within(recipe, 100, delta=None, confidence=0.95).rho is None
