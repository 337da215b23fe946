"""Formulas about mechanisms that are often misprinted: each test fails for the misprinted form."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet import privacy as p
from discreet.checks.audits import audit_exactly
from discreet.checks.audits.cases.above_threshold import law_of_runs as run_law
from discreet.checks.audits.laws import discrete_law, softmax
from discreet.errors import ParameterError
from discreet.mechanisms import AboveThreshold, Exponential, Laplace, Mean, RandomizedResponse, Sum
from discreet.privacy import NeighborRelation

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHANGED = NeighborRelation.CHANGE_ONE


def test_a_sum_moves_by_the_farther_bound_or_the_distance_of_both() -> None:
    """The misprint: the upper bound b. Rows in [-3, 2]: adding one moves a sum by 3, exchanging one by 5."""
    for moved, relation in ((3, NeighborRelation.ADD_REMOVE), (5, CHANGED)):
        size = None if relation is NeighborRelation.ADD_REMOVE else 2
        made = Sum(lower=-3, upper=2, epsilon=1, grid=1, size=size, neighbors=relation)
        assert made.noise.sensitivity == moved

        def law(total: int, scale: int) -> dict[int, float]:
            return discrete_law(lambda z: math.exp(-abs(z) / scale), total, -40, 40)

        assert not audit_exactly(law(0, moved), law(moved, moved), claim=p.pure(1)).refuted
        assert audit_exactly(law(0, 2), law(moved, 2), claim=p.pure(1)).refuted, "noise for the upper bound alone"


def places(k: int, at: tuple[int, int], sensitivity: int, epsilon: float) -> list[float]:
    """The chances of k x k places by the score -(|i - x| + |j - y|), for a person at (x, y)."""
    scores = [-(abs(i - at[0]) + abs(j - at[1])) for i, j in product(range(k), repeat=2)]
    return softmax(scores, 2 * sensitivity / epsilon)


def test_a_score_by_distance_needs_the_diameter() -> None:
    """The misprint: no sensitivity is given, as if it were 1. Two people may be 2 (k - 1) apart."""
    k, epsilon = 4, 1.0
    corners = (0, 0), (k - 1, k - 1)
    for sensitivity, refuted in ((1, True), (2 * (k - 1), False)):
        laws = [dict(enumerate(places(k, at, sensitivity, epsilon))) for at in corners]
        assert audit_exactly(laws[0], laws[1], claim=p.pure(epsilon)).refuted is refuted
    with_one = [dict(enumerate(places(k, at, 1, epsilon))) for at in ((0, 0), (0, 1))]
    assert not audit_exactly(with_one[0], with_one[1], claim=p.pure(epsilon)).refuted, (
        "a step apart, it is metric privacy"
    )


def test_a_score_relative_to_the_best_moves_by_two() -> None:
    """The misprint: #(D, O) - #(D, f(D)) has the sensitivity of a count, whatever the relation."""
    tables = list(product(range(4), repeat=3))  # counts of three candidates
    moves = {NeighborRelation.ADD_REMOVE: 0, CHANGED: 0}
    for one, other in product(tables, repeat=2):
        change = np.subtract(other, one)
        relative = np.abs((np.array(other) - max(other)) - (np.array(one) - max(one))).max()
        if np.abs(change).sum() == 1:
            moves[NeighborRelation.ADD_REMOVE] = max(moves[NeighborRelation.ADD_REMOVE], int(relative))
        if change.sum() == 0 and np.abs(change).sum() == 2:
            moves[CHANGED] = max(moves[CHANGED], int(relative))
    assert moves == {NeighborRelation.ADD_REMOVE: 1, CHANGED: 2}


def test_four_nationalities_are_within_8_77_over_epsilon() -> None:
    """The misprint: 6.8 = 2 (ln 4 + 2), which is missed with a chance of e^-2, not e^-3."""
    gap = Exponential(1, epsilon=1).score_gap(candidates=4, confidence=1 - math.exp(-3))
    assert gap == pytest.approx(2 * (math.log(4) + 3), rel=1e-9)
    assert gap > 8.77


def test_the_chosen_score_is_rarely_far_below_the_best() -> None:
    """The true form: P[best - score >= (2 sensitivity / epsilon)(ln n + ln(1 / beta))] <= beta, for all scores."""
    n, beta = 50, 0.05
    bound = Exponential(1, epsilon=1).score_gap(candidates=n, confidence=1 - beta)
    for far in np.linspace(0, 2 * bound, 60):
        scores = [0.0] + [-float(far)] * (n - 1)
        missed = sum(chance for score, chance in zip(scores, softmax(scores, 2.0), strict=True) if -score >= bound)
        assert missed <= beta
    short = 2 * math.log(n)  # without ln(1 / beta)
    scores = [0.0] + [-short] * (n - 1)
    assert sum(softmax(scores, 2.0)[1:]) > beta


def test_a_mechanism_is_the_exponential_mechanism_of_its_log_chances_at_twice_epsilon() -> None:
    """The misprint: the same epsilon. w = ln p moves by epsilon, and exp(e w / (2 epsilon)) is p for e = 2 epsilon."""
    epsilon = 1.0
    law = np.array([math.e, 1.0]) / (1 + math.e)
    scores = np.log(law)
    moved = float(np.abs(scores - scores[::-1]).max())
    assert moved == pytest.approx(epsilon)
    same = Exponential(moved, epsilon=epsilon)
    twice = Exponential(moved, epsilon=2 * epsilon)
    assert softmax(scores.tolist(), float(twice.scale)) == pytest.approx(law.tolist(), rel=1e-9)
    assert softmax(scores.tolist(), float(same.scale)) != pytest.approx(law.tolist(), rel=1e-2)


def test_the_tail_of_laplace_noise_is_in_units_of_its_scale() -> None:
    """The misprint: the limits of the integral are -t and t, not -t scale and t scale."""
    mechanism = Laplace(1, scale=20)
    for t in (0.5, 1.0, 3.0):
        assert mechanism.error(1 - math.exp(-t)) == pytest.approx(20 * t, rel=1e-4)


def test_four_counts_move_together_by_two_or_four() -> None:
    """What is left out: men, men below, women, women below. One person moves 2 of them, an exchanged one 4."""
    people = list(product((0, 1), repeat=2))  # woman or man, below or not

    def counts(person: tuple[int, ...]) -> NDArray[np.int64]:
        man, below = person
        return np.array([man * below, man, (1 - man) * below, 1 - man])

    added = max(int(np.abs(counts(a)).sum()) for a in people)
    exchanged = max(int(np.abs(counts(a) - counts(b)).sum()) for a, b in product(people, repeat=2))
    assert (added, exchanged) == (2, 4)
    together, apart = (4 * 2 * scale**2 for scale in (added, 4))
    assert (together, apart) == (32, 128), "noise for the joint move has a quarter of the variance"


def test_a_vote_is_decided_by_bob_only_if_the_others_tie() -> None:
    """The misprint: Bob wins with probability 1, whatever the others vote."""

    def law(others: list[int], bob: int) -> dict[int, float]:
        lead = 2 * (sum(others) + bob) - len(others) - 1
        return {1: 0.5, 0: 0.5} if lead == 0 else {int(lead > 0): 1.0}

    for others in product((0, 1), repeat=4):
        found = audit_exactly(law(list(others), 0), law(list(others), 1), claim=p.pure(20))
        assert found.refuted == (sum(others) == 2)


@pytest.mark.parametrize("questions", range(1, 7))
def test_the_price_of_a_threshold_does_not_grow_with_the_questions(questions: int) -> None:
    """The misprint: epsilon grows as log k. The run keeps epsilon for any number of questions; its accuracy suffers."""
    mechanism = AboveThreshold(0, sensitivity=1, epsilon=1, grid=1, inputs="snapped")
    first, second = [0] * (questions - 1) + [1], [1] * (questions - 1) + [0]
    found = audit_exactly(run_law(mechanism, first), run_law(mechanism, second), claim=p.pure(1))
    assert not found.refuted
    assert mechanism.error(0.95, questions=100) > mechanism.error(0.95, questions=1)
    assert mechanism.error(0.95, questions=100) <= 8 * (math.log(100) + math.log(2 / 0.05))


def test_a_mean_over_private_rows_is_not_noise_of_width_over_n() -> None:
    """The misprint: sensitivity M / n where n is private. A row more moves [0] by 1/2, and its noise would differ."""
    with pytest.raises(ParameterError):
        Mean(lower=0, upper=1, epsilon=1, size=2)
    few, more = [0], [0, 1]

    def law(rows: list[int]) -> dict[int, float]:
        scale = 4 / len(rows)  # in quarters: the noise of width / n, rounded to them
        return discrete_law(lambda z: math.exp(-abs(z) / scale), round(4 * sum(rows) / len(rows)), -60, 60)

    assert audit_exactly(law(few), law(more), claim=p.pure(1)).refuted


def test_a_kept_answer_is_likely_by_its_own_formula() -> None:
    """On a 10 x 10 grid of places, p = e^epsilon / (e^epsilon + k^2 - 1): 3/102 at epsilon = ln 3, not 3/12."""
    assert RandomizedResponse(100, epsilon=math.log(3)).keep == pytest.approx(3 / 102, rel=1e-12)
