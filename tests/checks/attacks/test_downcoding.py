"""What an anonymizer made coarser is undone as often as the laws that it would not have cut say."""

from __future__ import annotations

import random
from itertools import product
from math import factorial, prod
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.checks.anonymity import Anonymized, by_prefix, mondrian
from discreet.checks.attacks import downcode
from discreet.checks.attacks.downcoding import _mean_shares
from discreet.errors import ParameterError

ZIPS = ["13051", "13052", "13053", "13061", "13062", "14850", "14851", "14862"]
TREE = by_prefix(ZIPS)


def people(many: int, seed: int) -> pa.Table:
    chance = random.Random(seed)
    weights = [4, 30, 3, 3, 25, 5, 20, 10]
    return pa.table(
        {
            "zip": chance.choices(ZIPS, weights, k=many),
            "age": [chance.randrange(20, 80) for _ in range(many)],
            "sex": [chance.choice("fm") for _ in range(many)],
        }
    )


@pytest.mark.parametrize("shares", [(0.7, 0.3), (0.5, 0.3, 0.2), (0.25,) * 4])
@pytest.mark.parametrize("rows, least", [(4, 3), (7, 3), (9, 2)])
def test_mean_shares_are_those_of_all_laws_that_were_not_cut(shares: tuple[float, ...], rows: int, least: int) -> None:
    """By going through all counts."""
    means, whole = np.zeros(len(shares)), 0.0
    for counts in product(range(rows + 1), repeat=len(shares)):
        if sum(counts) == rows and any(0 < count < least for count in counts):
            chance = factorial(rows) * prod(
                share**count / factorial(count) for share, count in zip(shares, counts, strict=True)
            )
            means += chance * np.array(counts)
            whole += chance * rows
    assert _mean_shares(shares, rows, least) == pytest.approx(means / whole)


def test_a_class_that_can_only_have_been_cut_says_what_the_population_does() -> None:
    assert _mean_shares((0.75, 0.25), 6, 1) == pytest.approx([0.75, 0.25])


def test_most_of_what_was_hidden_is_told() -> None:
    quasi = ["zip", "age", "sex"]
    table, population = people(3000, 1), people(30_000, 2)
    release = mondrian(table, quasi, k=8, hierarchies={"zip": TREE})
    told = downcode(release, table, "zip", quasi=quasi, hierarchy=TREE, k=8, population=population)
    assert told.outcome.tried > 150
    assert told.outcome.advantage > 0.1
    # As sure as it is right, by 4 standard deviations.
    spread = np.sqrt((told.sure * (1 - told.sure)).sum())
    assert abs(told.right.sum() - told.sure.sum()) < 4 * spread
    assert told.plot().get_ylabel() == "rows"
    # Who does not know which zip codes are frequent is told less.
    blind = downcode(release, table, "zip", quasi=quasi, hierarchy=TREE, k=8)
    assert blind.outcome.right < told.outcome.right


def test_a_majority_is_told_by_what_was_not_cut() -> None:
    """38 of one and 2 of another: had both k = 5, the class had been cut."""
    table = pa.table({"zip": ["130"] * 38 + ["131"] * 2, "sex": ["f"] * 40})
    tree: dict[str, tuple[str, ...]] = {"130": (), "131": ()}
    release = mondrian(table, ["zip", "sex"], k=5, hierarchies={"zip": tree})
    told = downcode(release, table, "zip", quasi=["zip", "sex"], hierarchy=tree, k=5, population=table)
    assert (told.outcome.right, told.guesses[0]) == (38, "130")
    assert told.sure[0] == pytest.approx(0.947, abs=0.001)
    assert told.rows.tolist() == list(range(40))


@pytest.mark.parametrize(
    "columns, given, message",
    [
        ({"zip": ["130"]}, {"column": "age"}, "column and quasi must be columns"),
        ({"zip": ["130"]}, {"quasi": ["sex"]}, "column and quasi must be columns"),
        ({"zip": ["130"]}, {}, "nothing of 'zip' was made coarser"),
        ({"zip": ["*"]}, {"hierarchy": {"131": ()}}, "lacks 1 of the values"),
        ({"zip": ["*"]}, {"k": 1}, "k is 1"),
    ],
)
def test_mistakes_are_named(columns: dict[str, list[str]], given: dict[str, Any], message: str) -> None:
    release = Anonymized(columns, np.array([0]), 0)
    usual: dict[str, Any] = {"column": "zip", "quasi": ["zip"], "hierarchy": {"130": ()}, "k": 2}
    with pytest.raises(ParameterError, match=message):
        downcode(release, pa.table({"zip": ["130"]}), **(usual | given))
