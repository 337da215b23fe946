"""Quantiles by ranks: the law of every draw, written out on small grids, and what two neighbors' laws differ by."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from scipy import stats

from discreet.checks.audits import audit_exactly
from discreet.errors import ParameterError
from discreet.exact import Grid
from discreet.mechanisms import Quantile, Quantiles, median, quantile, quantiles
from discreet.mechanisms.choices import quantiles as recursion
from discreet.mechanisms.choosing import ranks
from discreet.mechanisms.choosing.ranks import RankTarget, SortedRows, UnsortedRows, choose_point
from discreet.mechanisms.inputs.columns import Clamp
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FALSE_ALARM = 1e-9
ADD_REMOVE, CHANGE_ONE = NeighborRelation.ADD_REMOVE, NeighborRelation.CHANGE_ONE
Law = dict[tuple[int, ...], float]


def miss(rows: Sequence[int], point: int, q: float) -> float:
    """By how many rows a point misses the rank, from the definition: the smallest |rank - q n| over the ranks at it."""
    below, upto = sum(row < point for row in rows), sum(row <= point for row in rows)
    wanted = q * len(rows)
    return 0.0 if below <= wanted <= upto else min(abs(below - wanted), abs(upto - wanted))


def quantile_law(rows: Sequence[int], width: int, q: float, scale: float) -> Law:
    weights = {(point,): math.exp(-miss(rows, point, q) / scale) for point in range(width + 1)}
    total = sum(weights.values())
    return {point: weight / total for point, weight in weights.items()}


def fits(draws: Sequence[tuple[int, ...]], law: Law) -> bool:
    """Chi-square, with the rarest outcomes joined so that each cell expects at least 10."""
    counts, cells, seen, expected = Counter(draws), [], 0.0, 0.0
    if set(counts) - set(law):
        return False
    for outcome in sorted(law, key=law.__getitem__):
        seen, expected = seen + counts[outcome], expected + law[outcome] * len(draws)
        if expected >= 10:
            cells.append((seen, expected))
            seen = expected = 0.0
    cells[-1] = (cells[-1][0] + seen, cells[-1][1] + expected)
    table = np.array(cells)
    return bool(len(cells) == 1 or stats.chisquare(table[:, 0], table[:, 1]).pvalue > FALSE_ALARM)


def neighbors_of(rows: Sequence[int], width: int, relation: NeighborRelation) -> Iterator[list[int]]:
    for i in range(len(rows)):
        fewer = [*rows[:i], *rows[i + 1 :]]
        if relation is ADD_REMOVE:
            yield fewer
        else:
            yield from ([*fewer, other] for other in range(width + 1))


def worst_pair(
    law: Callable[[Sequence[int]], Law], width: int, relation: NeighborRelation, sizes: range
) -> tuple[float, Law, Law]:
    """The laws of the two neighbors, among all small databases, that one outcome tells apart best, and how well."""
    worst: tuple[float, Law, Law] = 0.0, {}, {}
    for size in sizes:
        for rows in itertools.combinations_with_replacement(range(width + 1), size):
            here = law(rows)
            for other in neighbors_of(rows, width, relation):
                there = law(other)
                loss = max(abs(math.log(here[point] / there[point])) for point in here)
                worst = max(worst, (loss, here, there), key=lambda found: found[0])
    return worst


def worst_loss(law: Callable[[Sequence[int]], Law], width: int, relation: NeighborRelation, sizes: range) -> float:
    """The largest log-ratio over all pairs of neighbors among all small databases, both directions."""
    return worst_pair(law, width, relation, sizes)[0]


@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE])
@pytest.mark.parametrize("q", ["1/2", "1/3", "0.7", "1"])
def test_the_law_of_a_quantile_keeps_epsilon_and_half_its_sensitivity_would_not(
    q: str, relation: NeighborRelation
) -> None:
    made = Quantile(q, lower=0, upper=3, grid=1, epsilon=1, neighbors=relation)
    share, scale = float(Fraction(q)), float(made.scale)
    worst = worst_loss(lambda rows: quantile_law(rows, 3, share, scale), 3, relation, range(1, 6))
    assert worst <= 1 + 1e-12
    assert worst > 0.5
    half = worst_loss(lambda rows: quantile_law(rows, 3, share, scale / 2), 3, relation, range(1, 6))
    assert half > 1


ROWS = [
    [],
    [2],
    [1, 1, 4, 4, 4, 6],
    [0, 3, 3, 3, 3, 3, 3, 3, 5, 6, 6],
    [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6] * 2,
]


@pytest.mark.slow
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("q", ["1/2", "0.1", "1"])
@pytest.mark.parametrize("far", [ranks._NEGLIGIBLE, -math.log(7)], ids=["all gaps", "tails"])
def test_draws_follow_the_law(monkeypatch: pytest.MonkeyPatch, rows: list[int], q: str, far: float, seed: int) -> None:
    monkeypatch.setattr(ranks, "_NEGLIGIBLE", far)  # below zero: the window shrinks to four rows, the rest are tails
    bits, target, share = ReplayBits(seed), RankTarget.quantile(Fraction(q)), Fraction(q)
    scale = target.scale(Fraction(1, 3), ADD_REMOVE)
    law = quantile_law(rows, 6, float(share), float(scale / share.denominator))
    shuffled = np.array(rows[::-1], dtype=np.float64)
    for ranked in (SortedRows(np.sort(np.array(rows, dtype=np.int64))), UnsortedRows(shuffled, clamp_to(6))):
        draws = [(choose_point(ranked, target, 6, scale, bits),) for _ in range(400)]
        assert fits(draws, law)
    wrong = quantile_law(rows, 6, float(share), float(scale / share.denominator) / 4)
    assert len(rows) < 12 or not fits(draws, wrong)


def clamp_to(width: int) -> Clamp:
    return Clamp.of(Fraction(0), Fraction(width), Grid(1))


@pytest.mark.slow
@pytest.mark.parametrize("target", [RankTarget(1, 0, 2), RankTarget(0, 1, -2), RankTarget(0, 1, -50)])
def test_ranks_from_either_end_follow_the_law(target: RankTarget, seed: int) -> None:
    rows, bits = np.array([0, 1, 1, 3, 5, 5, 6]), ReplayBits(seed)

    def weight(point: int) -> float:
        below, equal = int((rows < point).sum()), int((rows == point).sum())
        place = below if target.a else rows.size - below - equal
        wanted = abs(target.c)
        return math.exp(
            -(0 if place <= wanted <= place + equal else min(abs(place - wanted), abs(place + equal - wanted)))
        )

    weights: Law = {(point,): weight(point) for point in range(7)}
    law = {point: each / sum(weights.values()) for point, each in weights.items()}
    assert fits([(choose_point(SortedRows(rows), target, 6, Fraction(1), bits),) for _ in range(1_500)], law)


def recursive_law(rows: Sequence[int], width: int, qs: Sequence[float], scale_of: Callable[[float], float]) -> Law:
    """The joint law of the recursion without tie-breaking, from its definition."""

    def part(left: int, right: int, low: float, high: float, wanted: Sequence[float]) -> Law:
        if not wanted:
            return {(): 1.0}
        middle = len(wanted) // 2
        q = (wanted[middle] - low) / (high - low)
        inside = [row - left for row in rows if left <= row <= right]
        first = quantile_law(inside, right - left, q, scale_of(q)) if right >= left else {(0,): 1.0}
        law: Law = {}
        for (step,), chance in first.items():
            point = left + step
            before = part(left, point - 1, low, wanted[middle], wanted[:middle])
            after = part(point, right, wanted[middle], high, wanted[middle + 1 :])
            for (a, p), (b, r) in itertools.product(before.items(), after.items()):
                law[*a, point, *b] = law.get((*a, point, *b), 0.0) + chance * p * r
        return law

    return part(0, width, 0.0, 1.0, qs)


def recursive_scale(made: Quantiles, share: float) -> float:
    moves = 1 if made.neighbors is ADD_REMOVE else 2
    return 2 * moves * max(share, 1 - share) / float(made.level_epsilon)


THIRDS = ["1/3", "2/3", "5/6"]
QUARTERS = ["1/4", "1/2", "3/4"]


@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE])
def test_the_law_of_the_recursion_keeps_epsilon(relation: NeighborRelation) -> None:
    made = Quantiles(THIRDS, lower=0, upper=3, grid=1, epsilon=1, neighbors=relation)
    shares = [float(Fraction(q)) for q in THIRDS]

    def worst(factor: float) -> float:
        law = partial(recursive_law, width=3, qs=shares, scale_of=lambda q: factor * recursive_scale(made, q))
        return worst_loss(law, 3, relation, range(1, 5))

    assert 0.4 < worst(1.0) <= 1 + 1e-12
    assert worst(0.4) > 1


@pytest.mark.audit
@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE])
def test_the_exact_audit_refutes_a_recursion_whose_every_level_gets_all_of_epsilon(relation: NeighborRelation) -> None:
    """Two levels with epsilon each; under change-one the same noise as if a row never went from part to part."""
    facts: dict[str, Any] = {"lower": 0, "upper": 3, "grid": 1, "neighbors": relation}
    right = Quantiles(QUARTERS, epsilon=3, **facts)
    broken = Quantiles(QUARTERS, level_epsilon=3, **facts)
    assert broken.levels == 2
    shares = [float(Fraction(q)) for q in QUARTERS]
    for made, refuted in ((right, False), (broken, True)):
        law = partial(recursive_law, width=3, qs=shares, scale_of=partial(recursive_scale, made))
        found = audit_exactly(*worst_pair(law, 3, relation, range(1, 5))[1:], claim=right.claim.curve())
        assert found.refuted is refuted, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE])
def test_the_recursion_follows_its_law(monkeypatch: pytest.MonkeyPatch, relation: NeighborRelation, seed: int) -> None:
    monkeypatch.setattr(recursion, "_TIE_BITS", 0)
    made = Quantiles(THIRDS, lower=0, upper=3, grid=1, epsilon=2, neighbors=relation)
    rows, bits = [0, 1, 1, 2, 3, 3], ReplayBits(seed)
    draws = [tuple(made.release(np.array(rows), bits=bits).value.tolist()) for _ in range(800)]
    shares = [float(Fraction(q)) for q in THIRDS]
    assert fits(draws, recursive_law(rows, 3, shares, lambda q: recursive_scale(made, q)))
    assert not fits(draws, recursive_law(rows, 3, shares, lambda q: recursive_scale(made, q) / 3))


def test_ties_are_shared_among_the_parts() -> None:
    """900 of 1000 rows are 5: all quantiles from 0.1 to 0.9 are 5, whatever the parts are."""
    rows = np.array([5] * 900 + [0] * 50 + [9] * 50)
    found = quantiles(rows, [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], bounds=(0, 9), epsilon=20).value
    assert found.tolist() == [5] * 7


def test_quantiles_come_in_the_order_in_which_they_were_asked_for() -> None:
    rows = np.arange(10_000)
    found = quantiles(rows, [0.9, 0.1, 0.5], bounds=(0, 10_000), epsilon=30).value
    assert np.abs(found - [9_000, 1_000, 5_000]).max() < 100


def test_a_median_in_two_to_the_sixty_two_points() -> None:
    rows = np.array([2**63 - 1] * 5 + [2**63 - 3] * 2 + [2**63 - 5] * 5)
    assert median(rows, bounds=(2**63 - 100, 2**63 - 1), epsilon=100).value == 2**63 - 3
    wide = Quantile("1/2", lower=0, upper=2**61, grid=1, epsilon=200)
    assert wide.release(np.array([5, 2**60, 2**61])).value == 2**60


@pytest.mark.parametrize("rows", [[], [3], [None, "x", float("nan")], [float("inf"), float("-inf")], np.array([])])
def test_any_rows_have_a_quantile(rows: list[object]) -> None:
    assert 0 <= quantile(rows, 0.5, bounds=(0, 10), epsilon=1).value <= 10  # type: ignore[arg-type]
    assert quantiles(rows, [0.1, 0.9], bounds=(0, 10), epsilon=1).value.shape == (2,)  # type: ignore[arg-type]


def test_missing_rows_are_left_out() -> None:
    rows = np.array([np.nan] * 1000 + [7.0] * 1000)
    assert quantile(rows, 0.01, bounds=(0, 10), epsilon=10, grid=1).value == 7


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: quantile([1], 1.5, bounds=(0, 1), epsilon=1), "q is 1.5"),
        (lambda: quantile([1], 0.5, bounds=(1, 1), epsilon=1), "must be below"),
        (lambda: quantile([1], 0.5, bounds=cast("Any", None), epsilon=1), "bounds is None"),
        (lambda: quantile([1], 0.5, bounds=(0, 1), epsilon=0), "epsilon is 0"),
        (lambda: quantile([1], 0.5, bounds=(0, 1), epsilon=1, grid=8), "finer grid"),
        (lambda: quantile([1], 0.5, bounds=(0, 2**70), epsilon=1, grid=1), "coarser grid"),
        (lambda: quantile(np.array(["a"]), 0.5, bounds=(0, 1), epsilon=1), "a column of numbers"),
        (lambda: quantile(np.zeros((2, 2)), 0.5, bounds=(0, 1), epsilon=1), "2 dimensions"),
        (lambda: quantiles([1], [], bounds=(0, 1), epsilon=1), "qs holds 0"),
        (lambda: quantiles([1], [0.5], bounds=(0, 1), epsilon=1, delta=1), "delta is 1"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call()
