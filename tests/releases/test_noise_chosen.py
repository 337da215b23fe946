"""Of two noises that vary nearly alike, a price buys the one that takes less of the whole budget."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from discreet import Database
from discreet.plans import plan_sql
from discreet.releases.noise.protection import Price, Protection, _Blocks
from discreet.releases.noise.recipe import Recipe
from discreet.tables import Column, Policy, Table

UNITS = "SELECT g, COUNT(DISTINCT id) AS n FROM t GROUP BY g"
MOST_GROUPS = 44


def policy_of(rows: int, *, name: str = "best", epsilon: int = 3) -> Policy:
    """A unit is in as many groups as it has rows: the more, the better is Gaussian noise."""
    table = Table("t", unit="id", rows_per_unit=rows, columns=[Column("g", keys=[str(key) for key in range(50)])])
    return Policy([table], epsilon=epsilon, delta=1e-6, filter=name)


def families(policy: Policy, price: Price) -> tuple[float, Protection, Protection, Protection]:
    """The log of the variances' ratio, above 0 where Laplace noise varies more; what is chosen; and each by itself."""
    recipe = Recipe.of(plan_sql(policy, UNITS))
    moves = [block.sensitivity(recipe.plan.aggregate, policy.budget.neighbors) for block in recipe.blocks]
    laplace = Protection(price, _Blocks(recipe, moves).laplace(price), None, policy)
    # Without noise to compare with, Gaussian noise is made whenever it can be had.
    worse = Protection.of(recipe, Price.read(policy, epsilon="1e-6")).noises
    normal = _Blocks(recipe, moves).gaussian(price, worse)
    assert normal is not None
    block = recipe.blocks[0]
    gain = math.log(block.spread(laplace.noises[0])) - math.log(block.spread(normal[0]))
    return gain, Protection.of(recipe, price), laplace, Protection(price, normal, None, policy)


@pytest.mark.parametrize("epsilon, delta", [("0.1", None), ("0.5", None), (1, "1e-4"), (1, "1e-3")])
def test_the_cheaper_of_nearly_equal_noises_is_taken_else_the_quieter(epsilon: str | int, delta: str | None) -> None:
    for rows in range(1, MOST_GROUPS, 2):
        policy = policy_of(rows)
        gain, chosen, laplace, normal = families(policy, Price.read(policy, epsilon=epsilon, delta=delta))
        quieter, other = (normal, laplace) if gain > 0 else (laplace, normal)
        cheaper = other.part_of_budget < quieter.part_of_budget
        due = other if abs(gain) <= math.log(1.1) and cheaper else quieter
        assert chosen.noises == due.noises, (rows, gain)


def test_a_little_more_noise_may_cost_a_seventh() -> None:
    """A unit in 13 groups at epsilon = 0.5: Gaussian noise varies 8 % more than Laplace noise."""
    policy = policy_of(13)
    gain, chosen, laplace, normal = families(policy, Price.read(policy, epsilon="0.5"))
    assert -math.log(1.1) < gain < 0
    assert chosen.gaussian
    assert normal.part_of_budget < laplace.part_of_budget / 6


def test_laplace_noise_is_taken_where_it_is_the_cheaper_of_two() -> None:
    """With a large delta Gaussian noise is small, and its divergences are large."""
    cheaper = []
    for rows in range(1, 12):
        policy = policy_of(rows)
        for thousandths in range(500, 2500, 100):
            price = Price.read(policy, epsilon=f"{thousandths / 1000}", delta="1e-2")
            gain, chosen, laplace, normal = families(policy, price)
            if 0 < gain <= math.log(1.1) and laplace.part_of_budget < normal.part_of_budget:
                cheaper.append(chosen.gaussian)
    assert cheaper
    assert not any(cheaper)


def test_other_filters_take_the_quieter_noise() -> None:
    policy = policy_of(13, name="zcdp")
    assert not Protection.of(Recipe.of(plan_sql(policy, UNITS)), Price.read(policy, epsilon="0.5")).gaussian


def test_the_choice_does_not_know_what_was_spent() -> None:
    people = {"t": pa.table({"id": [1, 2], "g": ["1", "2"]})}
    with Database(policy_of(13), people) as db:
        before = db.sql(UNITS).preview(epsilon="0.5")
        db.sql("SELECT COUNT(*) AS n FROM t").release(epsilon="2.4")
        after = db.sql(UNITS).preview(epsilon="0.5")
    assert (before.promise, before.cost, before.errors) == (after.promise, after.cost, after.errors)


@pytest.mark.parametrize("raised", [30, 3000])
def test_a_raised_budget_changes_neither_cost_nor_choice(raised: int) -> None:
    first, later = policy_of(13), policy_of(13, epsilon=raised)
    kept = later.kept_by("best", first.certificates)
    price = Price.read(first, epsilon="0.5")
    one, two = (Protection.of(Recipe.of(plan_sql(policy, UNITS)), price) for policy in (first, kept))
    assert (one.noises, one.cost, one.part_of_budget) == (two.noises, two.cost, two.part_of_budget)
