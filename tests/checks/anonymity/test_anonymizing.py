"""Anonymized tables keep k, cover what they replace, and cannot be refined for free."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from discreet.checks.anonymity import anonymity, by_prefix, by_steps, mondrian, recode, uniqueness
from discreet.errors import ParameterError

ZIPS = ["13053", "13068", "13121", "14850", "14853", "14900"]


def people(case: int, many: int = 60) -> dict[str, list[Any]]:
    chance = random.Random(case)
    ages = [chance.randrange(20, 80) for _ in range(many)]
    return {
        "zip": [chance.choice(ZIPS) for _ in ages],
        "age": ages,
        "sex": [chance.choice("fm") for _ in ages],
        "ill": [chance.choice(["flu", "cold", "ulcer"]) for _ in ages],
    }


def covers(shown: Any, value: Any) -> bool:  # noqa: ANN401 - cells
    if shown == "*" or str(value) == str(shown):
        return True
    if "–" in str(shown):
        low, high = map(float, str(shown).split("–"))
        return low <= float(value) <= high
    return "*" in str(shown) and str(value).startswith(str(shown).rstrip("*"))


QUASI = ["zip", "age", "sex"]


@pytest.mark.parametrize("case", range(5))
def test_mondrian_keeps_k_and_diversity_and_covers_every_cell(case: int) -> None:
    table = people(case)
    made = mondrian(
        pa.table(table), QUASI, k=4, sensitive="ill", distinct=2, hierarchies={"zip": by_prefix(ZIPS)}, suppress="0.05"
    )
    facts = anonymity(pa.table(dict(made.columns)), QUASI, "ill")
    assert facts.k >= 4
    assert (facts.distinct or 0) >= 2
    assert facts.classes > 3
    assert len(made.rows) + made.suppressed == 60
    assert made.suppressed <= 3
    for name in QUASI:
        assert all(covers(shown, table[name][row]) for shown, row in zip(made.columns[name], made.rows, strict=True))
    assert [table["ill"][row] for row in made.rows] == made.columns["ill"]


def test_mondrian_cuts_at_the_median() -> None:
    made = mondrian(pa.table({"x": [1, 2, 3, 4, 5, 6, 7, 8]}), ["x"], k=2)
    assert made.columns["x"] == ["1–2"] * 2 + ["3–4"] * 2 + ["5–6"] * 2 + ["7–8"] * 2


def test_mondrian_leaves_out_small_branches_only_if_it_may() -> None:
    table = pa.table({"c": ["a"] * 3 + ["b"] * 3 + ["rare"]})
    assert set(mondrian(table, ["c"], k=2).columns["c"]) == {"*"}
    made = mondrian(table, ["c"], k=2, suppress="0.15")
    assert (made.columns["c"], made.suppressed) == (["a"] * 3 + ["b"] * 3, 1)


@pytest.mark.parametrize("case", range(5))
def test_recoding_takes_the_fewest_steps(case: int) -> None:
    table = people(case)
    trees = {"zip": by_prefix(ZIPS, keep=2), "age": by_steps(table["age"], 10, 20, 40)}
    made = recode(pa.table(table), QUASI, k=3, hierarchies=trees, suppress="0.1")
    assert anonymity(pa.table(dict(made.columns)), QUASI).k >= 3
    assert made.suppressed <= 6

    def lost(node: tuple[int, ...]) -> int:
        ways = [
            [(cell, *trees[name][cell], "*") if name in trees else (cell, "*") for cell in table[name]]
            for name in QUASI
        ]
        keys = list(
            zip(*[[way[depth] for way in column] for column, depth in zip(ways, node, strict=True)], strict=True)
        )
        return sum(times for times in Counter(keys).values() if times < 3)

    heights = [5, 5, 2]
    enough = [node for node in product(*map(range, heights)) if lost(node) <= 6]
    fewest = min(map(sum, enough))
    assert made.suppressed == min(lost(node) for node in enough if sum(node) == fewest)


@pytest.mark.parametrize("errors", [None, {"age": 3}])
def test_uniqueness_is_counted_right(errors: dict[str, float] | None) -> None:
    table = people(7, 40)
    found = uniqueness(pa.table(table), QUASI, errors=errors, targets=40)
    off = errors or {}

    def alone(names: tuple[str, ...], row: int) -> bool:
        return not any(
            all(
                abs(table[name][other] - table[name][row]) <= off[name]
                if name in off
                else table[name][other] == table[name][row]
                for name in names
            )
            for other in range(40)
            if other != row
        )

    for known in found.known:
        share = sum(alone(known.worst, row) for row in range(40)) / 40
        assert known.most == pytest.approx(share)
        assert known.mean <= known.most
    assert [known.choices for known in found.known] == [3, 3, 1]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda t: mondrian(t, ["zip"], k=0), "k is 0"),
        (lambda t: mondrian(t, ["zip"], k=99), "k is 99"),
        (lambda t: mondrian(t, ["zip"], k=2, suppress=2), "suppress is 2"),
        (lambda t: mondrian(t, ["zip"], k=2, sensitive="ill", distinct=9), "9 sensitive values"),
        (lambda t: recode(t, ["zip"], k=2, hierarchies={"zip": {"13053": ("1",)}}), "lacks 5 of"),
        (lambda t: recode(t, ["sex"], k=2, hierarchies={"sex": {"f": (), "m": ("x",)}}), "unequally many"),
        (lambda t: mondrian(t, ["zip"], k=2, distinct=2), "distinct is 2"),
        (lambda t: mondrian(t, ["zip", "ill"], k=2, sensitive="ill"), "also a quasi-identifier"),
        (lambda t: recode(t, ["zip", "ill"], k=2, sensitive="ill"), "also a quasi-identifier"),
        (lambda t: mondrian(t, ["zip"], k=2, hierarchies={"zpi": {}}), "'zpi', which is no quasi-identifier"),
        (lambda t: recode(t, ["sex"], k=2, hierarchies={"sex": {"f": "x", "m": "y"}}), "a list of what it is called"),
        (lambda _: by_prefix([13053]), "all be texts"),  # type: ignore[list-item]
        (lambda _: by_prefix(["13053"], keep=-1), "keep is -1"),
        (lambda _: by_steps([1], 2, 3), "multiple"),
        (lambda _: by_steps([1], 0), "steps is 0"),
        (lambda _: by_steps([1, None], 5), "whole numbers"),
        (lambda _: by_steps([float("inf")], 5), "whole numbers"),
        (lambda t: uniqueness(t, ["ill"], errors={"ill": 1}), "not all numbers"),
        (lambda t: uniqueness(t, ["age"], errors={"age": "1"}), "errors"),  # type: ignore[dict-item]
        (lambda t: uniqueness(t, ["zip"], errors={"age": 1}), "errors"),
        (lambda t: uniqueness(t.slice(0, 0), ["zip"]), "no rows"),
    ],
)
def test_mistakes_are_named(call: Any, message: str) -> None:  # noqa: ANN401 - a call
    with pytest.raises(ParameterError, match=message):
        call(pa.table(people(0)))


def test_a_number_that_most_rows_have_is_cut_off() -> None:
    assert mondrian(pa.table({"x": [1, 1, 9, 9, 9, 9, 9]}), ["x"], k=2).columns["x"] == ["1"] * 2 + ["9"] * 5
