"""Published tables are broken as often as counting by hand says, and people who cannot be told are left alone."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pytest

from discreet.checks.anonymity import anonymity, by_prefix, mondrian
from discreet.checks.attacks import background_knowledge, composition, homogeneity, link
from discreet.errors import ParameterError


def ward(case: int, many: int = 200) -> dict[str, list[Any]]:
    chance = random.Random(case)
    return {
        "zip": [chance.choice(["13053", "13068", "14850", "14853"]) for _ in range(many)],
        "age": [chance.randrange(20, 80) for _ in range(many)],
        "ill": [chance.choice(["flu", "flu", "cold", "ulcer", "hiv"]) for _ in range(many)],
    }


@pytest.mark.parametrize("known", [0, 1, 2])
@pytest.mark.parametrize("case", range(3))
def test_disclosure_is_counted_by_hand(case: int, known: int) -> None:
    table = ward(case)
    classes = defaultdict(list)
    for zip_code, age, ill in zip(table["zip"], table["age"], table["ill"], strict=True):
        classes[zip_code, age // 20].append(ill)
    coarse = pa.table({"zip": table["zip"], "age": [age // 20 for age in table["age"]], "ill": table["ill"]})
    quasi = ["zip", "age"]
    told = background_knowledge(coarse, quasi, "ill", known=known) if known else homogeneity(coarse, quasi, "ill")
    right = certain = 0
    for found in classes.values():
        order = sorted(set(found), key=lambda ill: (-found.count(ill), ill))  # ties in a fixed order
        for ill in found:
            # What helps most is to know that it is none of the most frequent others.
            ruled_out = [value for value in order if value != ill][:known]
            left = [value for value in order if value not in ruled_out]
            right += left[0] == ill
            certain += left == [ill]
    assert told.note.startswith(f"{certain} row")
    assert told.right == right
    most = Counter(table["ill"]).most_common(known + 1)
    assert told.baseline == pytest.approx(sum(times for _, times in most) / 200)


def test_l_diversity_stops_certainty_and_two_releases_bring_it_back() -> None:
    table = pa.table(ward(3))
    zips = {"zip": by_prefix(["13053", "13068", "14850", "14853"])}
    first = mondrian(table, ["zip", "age"], k=4, sensitive="ill", distinct=2, hierarchies=zips)
    second = mondrian(table, ["age"], k=4, sensitive="ill", distinct=2)
    for release, quasi in ((first, ["zip", "age"]), (second, ["age"])):
        assert (anonymity(pa.table(dict(release.columns)), quasi, "ill").distinct or 0) >= 2
        assert homogeneity(pa.table(dict(release.columns)), quasi, "ill").note == "0 rows for certain"
    both = composition(first, second, "ill")
    assert both.baseline == 0
    assert both.right > 10
    # Each release with itself tells nothing new.
    assert composition(first, first, "ill").right == 0


def test_targets_are_linked_with_errors_and_strangers_are_not() -> None:
    chance = random.Random(0)
    rows = {"id": list(range(400))} | {f"film {n}": [chance.randrange(1000) for _ in range(400)] for n in range(8)}
    films = [name for name in rows if name != "id"]
    targets = {"id": list(range(0, 400, 10)) + [-1] * 20}
    for name in films:
        seen = [rows[name][person] + chance.randint(-3, 3) for person in targets["id"][:40]]
        seen += [chance.randrange(1000) for _ in range(20)]
        targets[name] = [cell if chance.random() < 0.6 else None for cell in seen]  # type: ignore[misc]
    linked = link(pa.table(rows), pa.table(targets), films, person="id", errors=dict.fromkeys(films, 3))
    assert (linked.matches[:40] == linked.truth[:40]).mean() > 0.9
    assert (linked.matches[40:] == -1).mean() > 0.5
    blunt = link(pa.table(rows), pa.table(targets), films, person="id", errors=dict.fromkeys(films, 3), eccentricity=0)
    assert (blunt.matches[40:] == -1).mean() < 0.1
    exact = link(pa.table(rows), pa.table(targets), films, person="id")
    assert exact.outcome.right < linked.outcome.right


def test_people_who_are_alike_are_not_claimed() -> None:
    twins = pa.table({"id": [1, 2, 3], "film": ["a", "a", "b"]})
    linked = link(twins, twins, ["film"], person="id")
    assert linked.matches.tolist() == [-1, -1, 2]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda t: homogeneity(t, ["zip"], "il"), "Did you mean 'ill'"),
        (lambda t: homogeneity(t.slice(0, 0), ["zip"], "ill"), "no rows"),
        (lambda t: background_knowledge(t, ["zip"], "ill", known=0), "known is 0"),
        (
            lambda t: composition(mondrian(t, ["age"], k=2), mondrian(t, ["age"], k=2), "ill"),
            "no column of the release",
        ),
        (lambda t: background_knowledge(t, ["zip"], "ill", known=10**9), "known is 1000000000"),
        (lambda t: homogeneity(t, ["zip", "ill"], "ill"), "also a quasi-identifier"),
        (lambda t: link(t, t, ["zip"], person="age", errors={"age": 1}), "errors"),
        (lambda t: link(t, t, ["zip"], person="age", errors={"zip": None}), "errors"),  # type: ignore[dict-item]
        (lambda t: link(t, t, ["zip"], person="age", eccentricity=float("nan")), "eccentricity is nan"),
        (lambda t: link(t, t, ["zip", "ill"], person="age", errors={"ill": 1}), "must be numbers"),
        (lambda t: link(t.slice(0, 1), t, ["zip"], person="age"), "two rows"),
    ],
)
def test_mistakes_are_named(call: Any, message: str) -> None:  # noqa: ANN401 - a call
    with pytest.raises(ParameterError, match=message):
        call(pa.table(ward(0)))
