"""Choices among candidates: their laws, what neighbors' laws differ by, odd scores."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import Exponential, Mode, NoisyMax, TopK, exponential
from discreet.privacy import NeighborRelation, Pure
from discreet.privacy.relations import Group
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Selection = Callable[[Sequence[float], float], "Law"]

FALSE_ALARM = 1e-9
CHANGE_ONE = NeighborRelation.CHANGE_ONE
Law = dict[Any, float]


def softmax(scores: Sequence[float], scale: float) -> Law:
    weights = np.exp((np.array(scores) - max(scores)) / scale)
    return dict(enumerate((weights / weights.sum()).tolist()))


def permute_and_flip(scores: Sequence[float], scale: float) -> Law:
    """Average over all orders: the first whose coin exp((score - best) / scale) falls on heads."""
    chances, law = np.exp((np.array(scores) - max(scores)) / scale), dict.fromkeys(range(len(scores)), 0.0)
    for order in itertools.permutations(range(len(scores))):
        left = 1.0
        for i in order:
            law[i] += left * float(chances[i]) / math.factorial(len(scores))
            left *= 1 - float(chances[i])
    return law


def rounds(law: Callable[[Sequence[float], float], Law], scores: Sequence[float], scale: float, k: int) -> Law:
    """Choose k times, each time without the earlier winners."""
    found: Law = {}
    for order in itertools.permutations(range(len(scores)), k):
        chance, left = 1.0, list(range(len(scores)))
        for i in order:
            chance *= law([scores[j] for j in left], scale)[left.index(i)]
            left.remove(i)
        found[order] = chance
    return found


def fits(draws: Sequence[Any], law: Law) -> bool:
    counts = Counter(draws)
    seen = np.array([counts[each] for each in law], dtype=np.float64)
    return bool(stats.chisquare(seen, np.array(list(law.values())) * len(draws)).pvalue > FALSE_ALARM)


def loss(
    law: Callable[[Sequence[float], float], Law], one: Sequence[float], other: Sequence[float], scale: float
) -> float:
    here, there = law(one, scale), law(other, scale)
    return max(abs(math.log(here[each] / there[each])) for each in here)


STEPS = list(itertools.product((-1, 0, 1), repeat=3))


@pytest.mark.parametrize("law", [softmax, permute_and_flip])
@pytest.mark.parametrize("monotone", [False, True])
def test_the_law_keeps_epsilon_for_all_moves_and_half_the_noise_would_not(
    law: Callable[[Sequence[float], float], Law],
    monotone: bool,  # noqa: FBT001
) -> None:
    """All small scores, each moved by at most the sensitivity; the same way only where scores are monotone."""
    scale = float(Exponential(1, epsilon=1, monotone=monotone).scale)
    moves = [move for move in STEPS if not monotone or min(move) >= 0]

    def worst(noise: float) -> float:
        bases = itertools.product((0, 2, 5), repeat=3)
        return max(loss(law, base, np.add(base, move).tolist(), noise) for base in bases for move in moves)

    assert 0.7 < worst(scale) <= 1 + 1e-12
    assert worst(scale / 2) > 1


def test_monotone_noise_is_too_little_for_scores_that_move_apart() -> None:
    scale = float(NoisyMax(1, epsilon=1, monotone=True).scale)
    assert loss(permute_and_flip, [0, 0], [1, -1], scale) > 1


SCORES = [0, 1, 3, 3]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism, law",
    [
        (Exponential(1, epsilon=1), softmax),
        (NoisyMax(1, epsilon=1, noise="gumbel"), softmax),
        (NoisyMax(1, epsilon=1), permute_and_flip),
        (Exponential("0.5", epsilon=1, monotone=True), softmax),
    ],
)
def test_choices_follow_their_law(mechanism: Any, law: Callable[[Sequence[float], float], Law], seed: int) -> None:  # noqa: ANN401
    bits, scale = ReplayBits(seed), float(mechanism.scale)
    draws = [mechanism.release(SCORES, bits=bits).value for _ in range(1_200)]
    assert fits(draws, law(SCORES, scale))
    assert not fits(draws, law(SCORES, scale / 2))


@pytest.mark.slow
@pytest.mark.parametrize("method, law", [("gumbel", softmax), ("peeling", permute_and_flip)])
def test_the_best_k_are_k_rounds(method: str, law: Callable[[Sequence[float], float], Law], seed: int) -> None:
    mechanism, bits = TopK(2, sensitivity=1, epsilon=2, method=method), ReplayBits(seed)
    draws = [tuple(mechanism.release(SCORES, bits=bits).value) for _ in range(900)]
    assert fits(draws, rounds(law, SCORES, float(mechanism.scale), 2))
    assert not fits(draws, rounds(law, SCORES, float(mechanism.scale) / 2, 2))


def test_the_best_k_with_a_delta_keep_it() -> None:
    mechanism = TopK(20, sensitivity=1, epsilon=1, delta=1e-6)
    assert mechanism.privacy.epsilon(1e-6) <= 1
    assert mechanism.round_epsilon > TopK(20, sensitivity=1, epsilon=1).round_epsilon


@pytest.mark.slow
@pytest.mark.parametrize("neighbors, scale", [(NeighborRelation.ADD_REMOVE, 1), (CHANGE_ONE, 2)])
def test_the_mode_has_the_noise_of_its_relation(neighbors: NeighborRelation, scale: float, seed: int) -> None:
    mechanism, bits = Mode("abc", epsilon=1, neighbors=neighbors), ReplayBits(seed)
    rows = np.array([*"aabbbc", "other"])
    draws = ["abc".index(str(mechanism.release(rows, bits=bits).value)) for _ in range(900)]
    assert fits(draws, permute_and_flip([2, 3, 1], scale))
    assert not fits(draws, permute_and_flip([2, 3, 1], 3 - scale))


def test_a_million_candidates_and_scores_of_a_billion() -> None:
    scores = np.full(1_000_000, 1e9)
    scores[77] += 200
    for mechanism in (Exponential(1, epsilon=1), NoisyMax(1, epsilon=1)):
        assert mechanism.release(scores).value == 77
    whole = np.arange(1_000_000) - 10**9
    assert TopK(2, sensitivity=1, epsilon=100).release(whole * 50).value == [999_999, 999_998]


def test_weights_are_a_base_measure(seed: int) -> None:
    mechanism, bits = Exponential(1, epsilon=1), ReplayBits(seed)
    draws = [mechanism.release([2, 0], weights=[1, 5], bits=bits).value for _ in range(900)]
    first = math.e / (math.e + 5)
    assert fits(draws, {0: first, 1: 1 - first})
    assert not fits(draws, softmax([2, 0], 2))


@pytest.mark.parametrize(
    "scores", [[math.nan, 1.0], [-math.inf, 1.0], [math.nan, -(2.0**70)], [None, 3], [-(2**90), 5]]
)
def test_odd_scores_lose_and_raise_nothing(scores: list[Any]) -> None:
    for mechanism in (Exponential(1, epsilon=1), NoisyMax(1, epsilon=1), NoisyMax(1, epsilon=1, noise="laplace")):
        assert mechanism.release(scores).value == 1


def test_a_score_function_that_raises_loses() -> None:
    assert exponential([0, 1], lambda each: 5 / each, sensitivity=1, epsilon=1).value == 1  # type: ignore[operator]
    assert exponential(["a"], lambda _: 1 / 0, sensitivity=1, epsilon=1).value == "a"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Exponential(0, epsilon=1), "sensitivity is 0"),
        (lambda: Exponential(1, epsilon=0), "epsilon is 0"),
        (lambda: Exponential(1, epsilon=1).release([]), "scores have the shape"),
        (lambda: Exponential(1, epsilon=1, monotone=True, neighbors=CHANGE_ONE), "monotone=True with"),
        (lambda: NoisyMax(1, epsilon=1, noise="uniform"), "noise is 'uniform'"),
        (lambda: exponential([], [], sensitivity=1, epsilon=1), "scores have the shape"),
        (lambda: exponential(["a"], [1, 2], sensitivity=1, epsilon=1), "1 candidates and 2 scores"),
        (lambda: TopK(3, sensitivity=1, epsilon=1).release([1, 2]), "k is 3"),
        (lambda: TopK(0, sensitivity=1, epsilon=1), "k is 0"),
        (lambda: TopK(1, sensitivity=1, epsilon=1, delta=2), "delta is 2"),
        (lambda: Mode([], epsilon=1), "give at least one"),
        (lambda: Mode("aa", epsilon=1), "each once"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call()


@pytest.mark.parametrize("noise", ["exponential", "gumbel", "laplace"])
def test_the_score_gap_holds(noise: str, seed: int) -> None:
    """Ten candidates at the best score, ninety 12 below; the bound with best=10 is the tighter one, and it holds."""
    mechanism, bits = NoisyMax(1, epsilon=1, noise=noise), ReplayBits(seed)
    scores = [12] * 10 + [0] * 90
    missed = sum(int(str(mechanism.release(scores, bits=bits).value)) >= 10 for _ in range(300))
    assert mechanism.score_gap(100, 0.9, best=10) <= mechanism.score_gap(100, 0.9)
    chance = 1 - max(c for c in np.linspace(0.01, 0.99, 99) if mechanism.score_gap(100, c, best=10) <= 12)
    assert stats.binomtest(missed, 300, min(1.0, chance), alternative="greater").pvalue > FALSE_ALARM


def test_rounds_and_groups_of_units_are_paid_for() -> None:
    """Three rounds cost three times one, and a group of three moves each count by three."""
    best = TopK(3, sensitivity=1, round_epsilon="1/2")
    assert best.claim == Pure("3/2")
    assert best.privacy.epsilon(0) == pytest.approx(1.5, rel=1e-12)
    trio = Mode("ab", epsilon=2, neighbors=Group(NeighborRelation.ADD_REMOVE, 3))
    assert trio._race.scale == Fraction(3, 2)
    assert Mode("ab", epsilon=2, neighbors=Group(NeighborRelation.CHANGE_ONE, 3))._race.scale == 3
