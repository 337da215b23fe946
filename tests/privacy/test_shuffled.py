"""Shuffled reports: the curve against laws that are written out for few users, and against the closed form."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.privacy import NeighborRelation
from discreet.privacy.curves import shuffled, shuffled_epsilon
from discreet.privacy.curves.shuffled import ShuffledPair

if TYPE_CHECKING:
    from collections.abc import Callable

GRID = [0.0, 0.05, 0.2, 0.4, 0.7, 0.95]


def response(epsilon: float, answers: int, truth: int) -> list[float]:
    total = math.exp(epsilon) + answers - 1
    return [(math.exp(epsilon) if answer == truth else 1) / total for answer in range(answers)]


def law(epsilon: float, answers: int, truths: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """How often each answer is given, whoever gave it: all answers of all users."""
    shuffled_law: Counter[tuple[int, ...]] = Counter()
    laws = [response(epsilon, answers, truth) for truth in truths]
    for told in product(range(answers), repeat=len(truths)):
        counts = tuple(told.count(answer) for answer in range(answers))
        shuffled_law[counts] += math.prod(one[answer] for one, answer in zip(laws, told, strict=True))  # type: ignore[assignment]
    return shuffled_law


def delta(first: Counter[tuple[int, ...]], second: Counter[tuple[int, ...]], epsilon: float) -> float:
    return sum(max(mass - math.exp(epsilon) * second[counts], 0.0) for counts, mass in first.items())


@pytest.mark.parametrize("answers", [2, 3, 4])
@pytest.mark.parametrize("users, epsilon", [(1, 1.0), (3, 0.5), (4, 1.5)])
def test_no_data_of_few_users_beat_the_curve(answers: int, users: int, epsilon: float) -> None:
    curve = shuffled(epsilon, users)
    for others in {tuple(sorted(some)) for some in product(range(answers), repeat=users - 1)}:
        laws = [law(epsilon, answers, (item, *others)) for item in (0, 1)]
        for at in GRID:
            assert delta(laws[0], laws[1], at * epsilon) <= curve.delta(at * epsilon) + 1e-12


def test_two_broken_curves_are_refuted() -> None:
    """The partners: one for three times as many users; and one by counts of 0, 1 and nothing alone.

    A third item is drawn from what the first two have in common. If everybody else has it, the counts are all that is
    seen; but others at 0 are told apart from it, and lose more.
    """
    laws = [law(1.5, 2, (item, 0, 0, 0)) for item in (0, 1)]
    claimed = shuffled("1.5", 12)
    assert any(delta(laws[0], laws[1], at) > claimed.delta(at) for at in GRID)
    bound, true = ([law(1.5, 3, (item, *[rest] * 3)) for item in (0, 1)] for rest in (2, 0))
    assert any(delta(true[0], true[1], 1.5 * at) > delta(bound[0], bound[1], 1.5 * at) + 0.005 for at in GRID)


def clones(epsilon: float, users: int, at: float) -> float:
    """The theorem's pair, summed by itself: C others are clones, A of them say 0."""
    told, rest = math.exp(epsilon) / (math.exp(epsilon) + 1), math.exp(-epsilon)
    masses: list[Counter[tuple[int, int]]] = [Counter(), Counter()]
    for count in range(users):
        for zeros in range(count + 1):
            chance = math.comb(users - 1, count) * rest**count * (1 - rest) ** (users - 1 - count)
            chance *= math.comb(count, zeros) / 2**count
            for side, share in ((0, told), (1, 1 - told)):
                masses[side][zeros + 1, count - zeros] += chance * share
                masses[side][zeros, count - zeros + 1] += chance * (1 - share)
    return sum(max(mass - math.exp(at) * masses[1][place], 0.0) for place, mass in masses[0].items())


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_it_is_the_pair_of_the_theorem(epsilon: float) -> None:
    curve = shuffled(epsilon, 40)
    for at in GRID:
        exact = clones(epsilon, 40, at * epsilon)
        assert exact * (1 - 1e-8) <= curve.delta(at * epsilon) <= exact * 1.005 + 1e-9


def test_the_closed_form_is_that_of_the_paper_and_above_the_curve() -> None:
    rate = math.log(4 / 1e-6) * math.e
    written = math.log(1 + (math.e - 1) / (math.e + 1) * (8 * math.sqrt(rate / 1e5) + 8 * math.e / 1e5))
    assert math.isclose(shuffled_epsilon(1, 10**5, delta="1e-6"), written, rel_tol=1e-9)
    for users in (10**4, 10**5):
        assert shuffled(1, users).epsilon(1e-6) < shuffled_epsilon(1, users, delta="1e-6")
    assert shuffled_epsilon(8, 100, delta="1e-6") == 8.0, "too few users: what each report keeps by itself"


def test_more_users_hide_better() -> None:
    values = [shuffled(1, users).epsilon(1e-6) for users in (1, 10, 100, 1000)]
    assert all(np.diff(values) < 0)
    assert shuffled(1, 1).epsilon(0) == 1.0


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: shuffled(0, 5), "epsilon"),
        (lambda: shuffled(13, 5), "epsilon is 13"),
        (lambda: shuffled(1, 0), "users is 0"),
        (lambda: shuffled(1, 5, neighbors=NeighborRelation.ADD_REMOVE), "neighbors"),
        (lambda: shuffled_epsilon(1, 5, delta=2), "delta"),
    ],
)
def test_nonsense_is_refused(call: Callable[[], object], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        call()


def test_the_part_travels() -> None:
    (part, _), *_ = shuffled(1, 50).terms
    assert ShuffledPair.from_fields(part.fields()) == part
