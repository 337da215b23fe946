"""What is charged is what its parts cost: each is worked out again here, from moves and scales alone.

A charge that forgets a part is as bad as noise that is too small, and no test that only asks for less than the price
would see it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from discreet.mechanisms import DiscreteLaplace, Gaussian
from discreet.mechanisms.choosing.rank_choice import RankChoice
from discreet.plans import Bounding, plan_sql
from discreet.privacy import ZCDP, Approximate, NeighborRelation, Pure
from discreet.privacy.curves import gaussian
from discreet.releases.noise.protection import Price, Protection, _rounded_up
from discreet.releases.noise.recipe import Recipe
from discreet.tables import Policy
from tests.plans.hospital import TOML

if TYPE_CHECKING:
    from discreet.plans.nodes.aggregate import Sensitivity

KNOWN = [
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, MEDIAN(change), COUNT(*) FROM visits GROUP BY ward",
    "SELECT QUANTILE_CONT(change, 0.25), QUANTILE_CONT(change, 0.5), SUM(cost) FROM visits",
]
FOUND = [
    "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
    "SELECT diagnosis, SUM(change), COUNT(*) FROM visits GROUP BY diagnosis",
    "SELECT diagnosis, QUANTILE_CONT(change, 0.25), MAX(cost), AVG(cost) FROM visits GROUP BY diagnosis",
]
RELATIONS = pytest.mark.parametrize("relation", list(NeighborRelation))
ADDED, CHANGED = NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE


def protected(  # noqa: PLR0913 - what questions differ in
    kept: str,
    relation: NeighborRelation,
    sql: str,
    *,
    epsilon: str | None = None,
    rho: str | None = None,
    bounding: Bounding | None = None,
) -> tuple[Protection, list[Sensitivity]]:
    """How a question is protected under a budget of this kind, and how far a unit moves each of its blocks."""
    delta = "" if kept == "pure" else "delta = 1e-6\n"
    head = f'[budget]\nepsilon = 3\n{delta}filter = "{kept}"\nneighbors = "{relation.value}"\n'
    tables = TOML[TOML.index("[tables.visits]") :]
    if bounding is not None:
        tables = tables.replace("rows_per_unit = 3", "rows_per_unit = 100")
    policy = Policy.from_toml(head + tables)
    recipe = Recipe.of(plan_sql(policy, sql, bounding=bounding))
    moves = [block.sensitivity(recipe.plan.aggregate, relation) for block in recipe.blocks]
    return Protection.of(recipe, Price.read(policy, epsilon=epsilon, rho=rho)), moves


def steepest(epsilon: float) -> float:
    """The rho of a promise in epsilon: the Kullback-Leibler divergence of a coin that keeps it with equality."""
    return epsilon * math.tanh(epsilon / 2)


def miss_per_row(choice: RankChoice, part: tuple[int, ...], *, squared: bool) -> float:
    """How far a row moves the miss of a part, in its unit: see the derivation at `RankChoice`."""
    levels = [choice.levels[place] for place in part]
    unit = math.lcm(*(level.denominator for level in levels))
    if len(levels) == 1:
        return float(max(levels[0], 1 - levels[0]) * unit)
    if squared and choice.neighbors is not ADDED:
        return math.sqrt(2) * unit
    return float(2 * (1 - min(b - a for a, b in pairwise([Fraction(0), *levels, Fraction(1)]))) * unit)


def choice_epsilon(choice: RankChoice) -> float:
    """Ranges: twice the rows of a unit, times how far each moves the miss, over the scale."""
    ranges = (
        2 * choice.moved.l1 * miss_per_row(choice, part, squared=False) / float(scale)
        for part, scale in zip(choice.parts, choice.scales, strict=True)
    )
    return sum(ranges) + (float(choice.moved.l1 / choice.pooled.scale) if choice.pooled else 0.0)


def choice_rho(choice: RankChoice) -> float:
    """Squares of ranges over 8; of two units that are exchanged, all rows of both may be in one group."""
    squares = choice.moved.l2_squared * (2 if choice.neighbors is not ADDED else 1)
    ranges = (
        (2 * miss_per_row(choice, part, squared=True) / float(scale)) ** 2 * squares
        for part, scale in zip(choice.parts, choice.scales, strict=True)
    )
    return sum(ranges) / 8 + (steepest(float(choice.moved.l1 / choice.pooled.scale)) if choice.pooled else 0.0)


def parts_in_rho(made: Protection, moves: list[Sensitivity], relation: NeighborRelation) -> float:
    total = 0.0
    for noise, moved in zip(made.noises, moves, strict=True):
        if isinstance(noise, RankChoice):
            total += choice_rho(noise)
        elif isinstance(noise, Gaussian):
            total += moved.l2_squared / (2 * float(noise.sigma) ** 2)
        else:
            assert isinstance(noise, DiscreteLaplace)
            total += steepest(float(moved.l1 / noise.scale))
    if made.selection is not None:  # a coin for each key that one unit holds, or two that are exchanged
        coins = made.selection.keys * (2 if relation is not ADDED else 1)
        total += coins * steepest(float(made.selection.epsilon) / coins)
    return total


def parts_in_epsilon(made: Protection, moves: list[Sensitivity]) -> float:
    total = float(made.selection.epsilon) if made.selection is not None else 0.0
    for noise, moved in zip(made.noises, moves, strict=True):
        assert isinstance(noise, RankChoice | DiscreteLaplace)  # of such a price the better ones here
        total += choice_epsilon(noise) if isinstance(noise, RankChoice) else float(moved.l1 / noise.scale)
    return total


def test_a_database_of_such_a_price_uses_both_families_of_choices_and_noise() -> None:
    """What follows would say nothing of parts that no question has."""
    kinds = {
        type(noise) for sql in KNOWN + FOUND for noise in protected("zcdp", CHANGED, sql, rho="1/10")[0].noises
    } | {type(noise) for sql in KNOWN for noise in protected("zcdp", CHANGED, sql, epsilon="1/2")[0].noises}
    assert kinds == {RankChoice, Gaussian, DiscreteLaplace}
    (choice,) = (n for n in protected("zcdp", CHANGED, KNOWN[2], rho="1/10")[0].noises if isinstance(n, RankChoice))
    assert [len(part) for part in choice.parts] == [2]


@RELATIONS
@pytest.mark.parametrize("sql", KNOWN + FOUND)
@pytest.mark.parametrize("price", [{"epsilon": "1/2"}, {"epsilon": "3"}, {"rho": "1/10"}], ids=str)
def test_a_charge_in_rho_is_the_sum_of_its_parts(relation: NeighborRelation, sql: str, price: dict[str, Any]) -> None:
    made, moves = protected("zcdp", relation, sql, **price)
    assert isinstance(made.cost, ZCDP)
    parts = parts_in_rho(made, moves, relation)
    assert parts * (1 - 1e-9) <= float(made.cost.rho) <= parts * (1 + 1e-6)
    assert made.cost.delta == (made.selection.delta if made.selection else 0)
    assert made.selection is None or made.selection.delta == Fraction(1, 10**9)
    if "rho" in price:
        assert 0.99 <= made.cost.rho / Fraction(price["rho"]) <= 1


@RELATIONS
@pytest.mark.parametrize(
    "kept, sql", [("pure", sql) for sql in KNOWN] + [("approximate", sql) for sql in KNOWN + FOUND]
)
def test_a_charge_in_epsilon_is_the_sum_of_its_parts(relation: NeighborRelation, kept: str, sql: str) -> None:
    made, moves = protected(kept, relation, sql, epsilon="1/2")
    assert isinstance(made.cost, Pure | Approximate)
    parts = parts_in_epsilon(made, moves)
    assert parts * (1 - 1e-9) <= float(made.cost.epsilon) <= parts * (1 + 1e-6)
    assert (made.cost.delta if isinstance(made.cost, Approximate) else 0) == (Fraction(1, 10**9) if sql in FOUND else 0)
    assert made.curve.epsilon(made.delta) <= Fraction(1, 2) * (1 + Fraction(1, 10**9))


@RELATIONS
@pytest.mark.parametrize("sql", FOUND)
@pytest.mark.parametrize("price", [{"epsilon": "1/2"}, {"rho": "1/10"}], ids=str)
def test_groups_are_selected_for_all_that_one_unit_touches(
    relation: NeighborRelation, sql: str, price: dict[str, Any]
) -> None:
    """Three visits, so three groups of one patient, and six of two that are exchanged."""
    made, _ = protected("zcdp", relation, sql, **price)
    assert made.selection is not None
    assert made.selection.keys == 3
    assert made.selection.touched == (3 if relation is ADDED else 6)


@pytest.mark.parametrize("more", ["", ", MEDIAN(change)"])
def test_gaussian_noise_shares_epsilon_and_delta_with_what_is_beside_it(more: str) -> None:
    """A hundred groups of one patient, so that it is the better noise.

    It has half of delta, as groups are selected with the other half, and the epsilon that choices and selection leave.
    """
    sql = f"SELECT diagnosis, COUNT(*){more} FROM visits GROUP BY diagnosis"
    bounding = Bounding(groups=100, rows_per_group=1)
    made, _ = protected("approximate", ADDED, sql, epsilon="1/2", bounding=bounding)
    normal = [noise for noise in made.noises if isinstance(noise, Gaussian)]
    choices = [noise for noise in made.noises if isinstance(noise, RankChoice)]
    assert made.selection is not None
    assert (len(normal), len(choices)) == (1, bool(more))
    half = Fraction(1, 2 * 10**9)
    assert made.selection.delta == half
    rest = sum(map(choice_epsilon, choices)) + float(made.selection.epsilon)
    epsilon = gaussian(sigma=normal[0].sigma, sensitivity=normal[0].sensitivity).epsilon(half)
    assert 0.99 * 0.5 <= epsilon + rest <= 0.5 * (1 + 1e-6)


def test_a_charge_is_rounded_up() -> None:
    for rho in (Fraction(1, 3), Fraction(2, 30_000), Fraction(22, 7)):
        assert rho <= _rounded_up(rho) <= rho * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("price", [{"epsilon": "1/2"}, {"rho": "1/10"}], ids=str)
def test_the_histogram_of_all_groups_is_part_of_what_a_choice_promises(price: dict[str, Any]) -> None:
    made, _ = protected("zcdp", ADDED, KNOWN[1], **price)
    (choice,) = (noise for noise in made.noises if isinstance(noise, RankChoice))
    assert choice.pooled is not None
    assert float(choice.epsilon) == pytest.approx(choice_epsilon(choice), rel=1e-9)
    assert choice.privacy.epsilon(0) == pytest.approx(choice_epsilon(choice), rel=1e-9)
    assert float(choice.rho) == pytest.approx(choice_rho(choice), rel=1e-6)
