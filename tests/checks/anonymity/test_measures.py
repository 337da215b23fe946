"""Every measure of anonymity against the definition worked out by hand, the papers' tables, and linear programs."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

from discreet.checks.anonymity import anonymity
from discreet.errors import EngineError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

# Li, Li, Venkatasubramanian 2007, table 3: three classes of three people, salaries 3k to 11k.
ZIPS = ["4767*"] * 3 + ["4790*"] * 3 + ["4760*"] * 3
SALARIES = [3, 5, 9, 6, 11, 8, 4, 7, 10]
ILLNESSES = [
    *("gastric ulcer", "stomach cancer", "pneumonia"),
    *("gastritis", "flu", "bronchitis"),
    *("gastritis", "bronchitis", "stomach cancer"),
]
# Figure 1 of the same paper: two levels below the root.
ILLS = {
    "flu": ("respiratory infection", "respiratory"),
    "pneumonia": ("respiratory infection", "respiratory"),
    "bronchitis": ("respiratory infection", "respiratory"),
    "pulmonary edema": ("vascular lung", "respiratory"),
    "pulmonary embolism": ("vascular lung", "respiratory"),
    "gastric ulcer": ("stomach", "digestive"),
    "stomach cancer": ("stomach", "digestive"),
    "gastritis": ("stomach", "digestive"),
    "colitis": ("colon", "digestive"),
    "colon cancer": ("colon", "digestive"),
}


def moved(p: Sequence[float], q: Sequence[float], cost: Callable[[int, int], float]) -> float:
    """Move p onto q as cheaply as possible: the earth mover's distance by its definition."""
    m = len(p)
    costs = [cost(i, j) for i in range(m) for j in range(m)]
    rows = [[float(i == row) for i in range(m) for j in range(m)] for row in range(m)]
    columns = [[float(j == column) for i in range(m) for j in range(m)] for column in range(m)]
    return float(linprog(costs, A_eq=rows + columns, b_eq=[*p, *q]).fun or 0)


def by_hand(
    quasi: Sequence[tuple[Any, ...]], secrets: Sequence[Any], level: int, cost: str | dict[Any, Any]
) -> tuple[float, ...]:
    """Follow the definitions class by class."""
    classes = defaultdict(list)
    for key, secret in zip(quasi, secrets, strict=True):
        classes[key].append(secret)
    values = sorted(set(secrets), key=lambda value: (value is None, value))

    def far(i: int, j: int) -> float:
        if cost == "ordered":
            return abs(i - j) / max(len(values) - 1, 1)
        if cost == "equal":
            return float(i != j)
        ways = [(values[place], *cost[values[place]]) for place in (i, j)]
        return next((step for step in range(len(ways[0])) if ways[0][step:] == ways[1][step:]), len(ways[0])) / len(
            ways[0]
        )

    whole = [secrets.count(value) / len(secrets) for value in values]
    counts = [sorted(Counter(found).values(), reverse=True) for found in classes.values()]
    entropies = [-sum(c / sum(row) * math.log(c / sum(row)) for c in row) for row in counts]
    ratios = [row[0] / sum(row[level - 1 :]) if len(row) >= level else math.inf for row in counts]
    return (
        min(map(sum, counts)),
        min(map(len, counts)),
        math.exp(min(entropies)),
        max(ratios),
        max(moved([found.count(value) / len(found) for value in values], whole, far) for found in classes.values()),
    )


@pytest.mark.parametrize("cost", ["equal", "ordered", "hierarchy"])
@pytest.mark.parametrize("case", range(6))
def test_measures_are_their_definitions(case: int, cost: str) -> None:
    chance = random.Random(case)
    many = chance.choice([1, 12, 40])
    quasi = [(chance.choice("ab"), chance.choice([None, 1, 2])) for _ in range(many)]
    secrets = [chance.choice(range(case + 1)) for _ in range(many)]
    tree: dict[Any, Any] = {
        value: (f"half {value % 2}", f"third {value % 2 and value % 4 < 3}") for value in range(case + 1)
    }
    table = pa.table(
        {"a": [key[0] for key in quasi], "b": pa.array([key[1] for key in quasi], pa.int64()), "s": secrets}
    )
    facts = anonymity(table, ["a", "b"], "s", level=3, distance=tree if cost == "hierarchy" else cost)
    texts = {**tree} if cost == "hierarchy" else cost
    expected = by_hand(quasi, secrets, 3, texts)
    assert (facts.k, facts.distinct, facts.entropy, facts.recursive, facts.closeness) == pytest.approx(
        expected, abs=1e-9
    )
    assert facts.unique == sum(times == 1 for times in Counter(quasi).values())
    assert facts.classes == len(set(quasi))


def test_the_papers_distances_are_found() -> None:
    """Li et al., section 5: salaries 3k, 4k, 5k are .375 from the whole, 6k, 8k, 11k are .167, and so is table 5.

    Of table 5's illnesses the second class is worst, by hand: 4/9 of it has to move between illnesses, 2/9 between
    groups and 2/9 between systems, so (4/9 + 2/9 + 2/9) / 3.
    """
    first = pa.table({"z": [1, 1, 1, *[2] * 6], "s": [3, 4, 5, 6, 7, 8, 9, 10, 11]})
    second = pa.table({"z": [1, 1, 1, *[2] * 6], "s": [6, 8, 11, 3, 4, 5, 7, 9, 10]})
    of_first = [anonymity(table, ["z"], "s", distance="ordered").worst["closeness"] for table in (first, second)]
    assert [next(each.measure for each in found if each.values["z"] == 1) for found in of_first] == pytest.approx(
        [0.375, 1 / 6]
    )
    salaries = anonymity(pa.table({"z": ZIPS, "s": SALARIES}), ["z"], "s", distance="ordered")
    assert salaries.closeness == pytest.approx(1 / 6, abs=5e-4)
    ills = anonymity(pa.table({"z": ZIPS, "s": ILLNESSES}), ["z"], "s", distance=ILLS)
    assert ills.closeness == pytest.approx(8 / 27)


def test_recursive_diversity_is_the_papers() -> None:
    """A class of r = (4, 3, 2, 1) is (c, 2)-diverse for c above 4/6, and (c, 3)-diverse for c above 4/3."""
    table = pa.table({"z": [1] * 10, "s": [*"aaaa", *"bbb", *"cc", "d"]})
    assert [anonymity(table, ["z"], "s", level=level).recursive for level in (2, 3, 4, 5)] == [
        4 / 6,
        4 / 3,
        4.0,
        math.inf,
    ]


def test_presence_is_the_share_of_the_population() -> None:
    """Nergiz et al.: of class a 1 of 4 is in, of b 1 of 2, of c nobody."""
    people = pa.table({"z": [*"aaaa", *"bb", "c"]})
    research = pa.table({"z": ["a", "b"]})
    assert anonymity(research, ["z"], population=people).presence == (0.0, 0.5)
    for strangers in (["d"], ["c", "c"]):
        with pytest.raises(ParameterError, match="population lacks"):
            anonymity(pa.table({"z": strangers}), ["z"], population=people)


def test_missing_values_are_values_and_files_are_read(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("zip,age,ill\n01300,,flu\n01300,,\n1300,,flu\n")
    facts = anonymity(file, ["zip", "age"], "ill")
    assert (facts.k, facts.classes, facts.distinct, facts.unique) == (1, 2, 1, 1)
    assert str(facts.worst["k"][0]) == "zip = 1300, age = NULL: 1 row, 1"


def test_numbers_in_a_file_are_ordered_by_their_size(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("z,pay\n" + "".join(f"{pay < 10},{pay}\n" for pay in (8, 9, 10, 11)))
    assert anonymity(file, ["z"], "pay", distance="ordered").closeness == pytest.approx(1 / 3)


@pytest.mark.parametrize("values", [[True, False], [1, 2], [0.5, 1e20], [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]])
def test_a_hierarchy_names_values_of_any_type(values: list[Any]) -> None:
    table = pa.table({"zip": [1, 1, 2], "ill": [*values, None]})
    tree = {value: (place,) for place, value in enumerate([*values, None])}
    assert anonymity(table, ["zip"], "ill", distance=tree).closeness == pytest.approx(2 / 3)


def test_less_memory_gives_the_same() -> None:
    chance = np.random.default_rng(0)
    table = pa.table({name: chance.integers(0, 40, 200_000) for name in "abcds"})
    few, many = (anonymity(table, list("abcd"), "s", memory=memory) for memory in ("100MB", None))
    assert few == many


@pytest.mark.parametrize(
    "quasi, sensitive, other, message",
    [
        (["zpi"], None, {}, "quasi names 'zpi'.*Did you mean 'zip'"),
        (["zip"], "il", {}, "sensitive names 'il'.*Did you mean 'ill'"),
        (["zip", "zip"], None, {}, "none twice"),
        ([], None, {}, "at least one"),
        (["zip", "ill"], "ill", {}, "also a quasi-identifier"),
        (["zip"], "ill", {"level": 1}, "level is 1"),
        (["zip"], "ill", {"level": 10**30}, "level is 1000"),
        (["zip"], "ill", {"witnesses": 10**9}, "witnesses is 1000000000"),
        (["zip"], ["ill"], {}, "sensitive names"),
        (["zip"], "ill", {"distance": {"flu": 3, "cold": 3}}, "a list of what it is called"),
        (["zip"], "ill", {"distance": {"flu": "lungs", "cold": "lungs"}}, "a list of what it is called"),
        (["zip"], "ill", {"distance": {}}, "a list of what it is called"),
        (["zip"], "ill", {"population": pa.table({"zpi": ["1"]})}, "population lacks the column 'zip'"),
        (["zip"], "ill", {"distance": "far"}, "distance is 'far'"),
        (["zip"], "ill", {"distance": {"flu": ("a",), "x": ()}}, "unequally many steps"),
        (["zip"], "ill", {"distance": {"flu": ("a",)}}, "lacks 1 of"),
        (["zip"], "ill", {"memory": "much"}, "memory is 'much'"),
    ],
)
def test_mistakes_are_named(quasi: list[str], sensitive: str | None, other: dict[str, Any], message: str) -> None:
    table = pa.table({"zip": ["1", "2"], "ill": ["flu", "cold"]})
    with pytest.raises(ParameterError, match=message):
        anonymity(table, quasi, sensitive, **other)


def test_what_cannot_be_read_is_said_without_quoting_it(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no rows"):
        anonymity(pa.table({"zip": pa.array([], pa.string())}), ["zip"])
    with pytest.raises(ParameterError, match=r"no file .* that ends in"):
        anonymity(tmp_path / "nowhere.csv", ["zip"])
    with pytest.raises(ParameterError, match="cannot be read"):
        anonymity(object(), ["zip"])
    broken = tmp_path / "secret.parquet"
    broken.write_text("anna has the flu")
    with pytest.raises((ParameterError, EngineError)) as caught:
        anonymity(broken, ["zip"])
    assert "anna" not in str(caught.value)
