"""Multiplicative weights, online and offline, and the baselines: paid once, taken up again, right where it is exact."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.errors import BudgetError, ParameterError
from discreet.ledgers import Entry, MemoryLedger
from discreet.mechanisms import Release
from discreet.methods.workloads import BlumLigettRoth, KNorm, MultiplicativeWeights, Mwem
from discreet.methods.workloads.multiplicative import bent, updates_needed
from discreet.privacy import NeighborRelation, Pure
from discreet.tables import Policy
from tests.audits.test_cases import follows
from tests.noise.replay import ReplayBits

ENTRY = Entry("ages", ("visits",), kind="session")
COUNTS = np.array([800, 100, 60, 40])
QUERIES = [[1, 1, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]]


def test_the_price_is_the_sum_of_its_parts() -> None:
    weights = MultiplicativeWeights(4, threshold=9, updates=3, epsilon=4, rows_per_unit=2)
    assert weights.claim == Pure(4)
    assert (weights.core.epsilon, weights.total) == (Fraction(2), Fraction(1, 5))
    assert weights.number.claim.epsilon * 3 == Fraction(9, 5)
    assert weights.core.sensitivity == weights.number.sensitivity == 2
    assert weights.core.above == weights.updates == 3  # what is above so often is what the noise is for
    assert not weights.core.monotone
    assert MultiplicativeWeights(4, threshold=9, updates=3, epsilon=4, population=9).claim == Pure(4)
    mwem = Mwem(rounds=5, epsilon=2, rows_per_unit=3, neighbors=NeighborRelation.CHANGE_ONE)
    assert mwem.claim == Pure(2, neighbors=NeighborRelation.CHANGE_ONE)
    assert mwem.number.scale == 3 / (Fraction(19, 10) / 10) or mwem.number.scale >= 3 / (Fraction(19, 10) / 10)
    assert mwem.choice.scale == 2 * 3 / (Fraction(19, 10) / 10)


def test_a_public_population_is_used_and_the_true_one_never() -> None:
    for rows in ([5, 5, 5, 5], [10**6, 0, 0, 0]):
        weights = MultiplicativeWeights(4, threshold=10**9, updates=1, epsilon=9, population=400)
        assert weights.release((rows, [[1, 0, 0, 0]])).value == (100.0,)
    mwem = Mwem(rounds=1, epsilon=9, population=400)
    assert mwem.release((COUNTS, QUERIES)).value.sum() == pytest.approx(400)


def test_it_answers_within_the_threshold_and_pays_for_surprises_alone() -> None:
    weights = MultiplicativeWeights(4, threshold=60, updates=40, epsilon=900)
    told = weights.release((COUNTS, QUERIES * 6)).value
    truth = np.array(QUERIES * 6) @ COUNTS
    assert len(told) == 30
    assert np.abs(np.array(told) - truth).max() < 75


def test_a_session_is_paid_at_its_opening_and_goes_on_where_it_was_left() -> None:
    ledger = MemoryLedger(Policy([], epsilon=1000))
    weights = MultiplicativeWeights(4, threshold=60, updates=30, epsilon=900)
    with weights.open(ledger, ENTRY, lambda _: COUNTS) as session:
        assert ledger.remaining == Pure(100)
        first = [session.ask(query) for query in QUERIES[:3]]
        left = session.left
        assert session.ask(QUERIES[0]) == first[0]
        assert "updates left" in repr(session)
    with weights.open(ledger, ENTRY, lambda _: COUNTS) as session:
        assert (session.left, ledger.remaining) == (left, Pure(100))
        assert [session.ask(query) for query in QUERIES[:3]] == first
        assert abs(session.ask(QUERIES[4]).value - 900) < 75
    assert all(Release.from_json(each.to_json()) == each for each in first)
    assert first[1].details["updated"] is True
    first_error, guess_error = (float(str(each.error(0.95))) for each in (first[1], first[0]))
    assert first_error < guess_error


def test_after_the_last_update_it_is_over_and_shows_what_was_answered() -> None:
    ledger = MemoryLedger(Policy([], epsilon=1000))
    weights = MultiplicativeWeights(2, threshold=50, updates=1, epsilon=400, population=1000)
    with weights.open(ledger, ENTRY, lambda _: np.array([900, 100])) as session:
        answer = session.ask([1, 0])
        assert (session.left, answer.details["updated"]) == (0, True)
        with pytest.raises(BudgetError, match="all updates are used up"):
            session.ask([0, 1])
        assert session.ask([1, 0]) == answer


def test_offline_weights_fit_the_queries() -> None:
    fitted = Mwem(rounds=12, epsilon=900).release((COUNTS, QUERIES))
    assert np.abs(np.array(QUERIES) @ fitted.value - np.array(QUERIES) @ COUNTS).max() < 120
    assert fitted.error(0.95) is None
    assert "depends on the data" in fitted.explain()
    assert Release.from_json(fitted.to_json()) == fitted


def test_a_guess_is_bent_towards_the_answer_and_keeps_its_sum() -> None:
    guess = np.full(4, 25.0)
    moved = bent(guess, np.array([1.0, 0, 0, 0]), 60.0, 100.0)
    assert moved[0] > 25
    assert moved.sum() == pytest.approx(100)
    assert bent(guess, np.array([1.0, 0, 0, 0]), 10.0, 100.0)[0] < 25
    assert updates_needed(2, 1) == 3


@pytest.mark.parametrize("queries", [[[1, 0], [1, 1]], [[1, 0], [0, 1]], [[2, 1, 0], [0, 1, 1]]])
def test_the_norm_of_k_is_that_of_its_hull(queries: list[list[int]]) -> None:
    from scipy.optimize import linprog

    shaped = KNorm(queries, epsilon=1)
    columns = np.array(queries, dtype=float)
    corners = np.hstack([columns, -columns])
    for point in product(range(-3, 4), repeat=2):
        found = linprog(np.ones(corners.shape[1]), A_eq=corners, b_eq=point)
        assert float(shaped.norm(point)) == pytest.approx(found.fun, abs=1e-9)


@pytest.mark.parametrize("epsilon", [1, 2])
def test_noise_in_the_shape_of_k_follows_its_law(epsilon: int, seed: int) -> None:
    """And half the noise does not."""
    shaped, drawn = KNorm([[1, 0], [1, 1]], epsilon=1), KNorm([[1, 0], [1, 1]], epsilon=epsilon)
    bits = ReplayBits(seed)
    seen = np.array([str(drawn.release([0, 0], bits=bits).value) for _ in range(4000)])
    chances = {point: np.exp(-float(shaped.norm(point))) for point in product(range(-14, 15), repeat=2)}
    whole = sum(chances.values())
    assert follows(seen, {str(point): chance / whole for point, chance in chances.items()}) is (epsilon == 1)


def test_the_search_prefers_databases_that_answer_well() -> None:
    search = BlumLigettRoth([[1, 0, 0], [0, 1, 0]], size=4, population=400, epsilon=9)
    assert search.release([300, 100, 0]).value == (300.0, 100.0, 0.0)
    assert search.choice.sensitivity == 1
    assert len(search.databases) == 15


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: MultiplicativeWeights(1, threshold=1, updates=1, epsilon=1), "cells"),
        (lambda: MultiplicativeWeights(4, threshold=0, updates=1, epsilon=1), "threshold"),
        (lambda: MultiplicativeWeights(4, threshold=1, updates=0, epsilon=1), "updates"),
        (
            lambda: MultiplicativeWeights(2, threshold=1, updates=1, epsilon=1).release(([1, 2], [[2, 0]])),
            "from 0 to 1",
        ),
        (lambda: MultiplicativeWeights(2, threshold=1, updates=1, epsilon=1).release(([1], [[1, 0]])), "2 cells"),
        (lambda: Mwem(rounds=0, epsilon=1), "rounds"),
        (lambda: Mwem(rounds=1, epsilon=1).release(([1, 2], [[-1, 0]])), "from 0 to 1"),
        (lambda: KNorm([[1, 1], [2, 2]], epsilon=1), "independent"),
        (lambda: KNorm(np.eye(5, dtype=int), epsilon=1), "at most 4"),
        (lambda: BlumLigettRoth(np.eye(9), size=30, population=9, epsilon=1), "more than"),
    ],
)
def test_nonsense_is_refused(call: object, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        call()  # type: ignore[operator]
