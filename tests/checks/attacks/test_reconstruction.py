"""Counts reconstruct a table up to noise of the order of sqrt(n), as the theorems say, and not beyond it."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import lsq_linear

from discreet.checks.attacks import Method, reconstruct
from discreet.checks.attacks.reconstruction import _least_squares
from discreet.database import Database
from discreet.errors import ParameterError
from discreet.tables import Column, Policy, Table
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from discreet.checks.attacks.reconstruction import Count


def secrets(people: int, case: int = 0) -> Any:  # noqa: ANN401 - an array
    return np.random.default_rng(case).random(people) < 0.5


def noisy(truth: Any, most: float, case: int = 0) -> Count:  # noqa: ANN401 - an array
    chance = np.random.default_rng(case + 1)
    return lambda subset: float(truth[subset].sum() + chance.uniform(-most, most))


@pytest.mark.parametrize("method", [Method.LEAST_SQUARES, Method.LINEAR_PROGRAM])
def test_exact_counts_tell_everything(method: Method) -> None:
    truth = secrets(40)
    assert reconstruct(noisy(truth, 0), truth, method=method).outcome.share == 1


@pytest.mark.parametrize("error", [0.5, 0.9, 1.4])
@pytest.mark.parametrize("case", range(4))
def test_all_subsets_are_wrong_for_at_most_four_times_the_error(case: int, error: float) -> None:
    truth = secrets(9, case)
    found = reconstruct(noisy(truth, error, case), truth, method="all-subsets")
    assert found.outcome.tried - found.outcome.right <= 4 * error
    assert found.answered == 512
    assert found.deviation <= error


@pytest.mark.parametrize("case", range(4))
def test_the_nearest_bits_are_found_by_trying_all(case: int) -> None:
    truth = secrets(6, case)
    answers = {
        bits: noisy(truth, 2.5, sum(bits) + 7 * case)(np.array(bits, dtype=bool)) for bits in product([0, 1], repeat=6)
    }
    found = reconstruct(lambda subset: answers[tuple(subset.astype(int).tolist())], truth, method="all-subsets")
    least = min(max(abs(np.dot(s, x) - a) for s, a in answers.items()) for x in product([0, 1], repeat=6))
    assert found.deviation == pytest.approx(least)


def test_least_squares_is_no_worse_than_its_derivation_says() -> None:
    """Errors within ±c sqrt(n) have s = c sqrt(n / 3); estimates are off by 2 c / 3, so right with Phi(3 / 4c)."""
    truth = secrets(256)
    for c, share in ((0.25, 0.999), (0.5, 0.933), (1, 0.773)):
        found = reconstruct(noisy(truth, c * 16), truth, bits=ReplayBits(0))
        assert found.outcome.share >= share - 6.1 * (share * (1 - share) / 256) ** 0.5


def test_noise_of_the_order_of_n_leaves_guessing() -> None:
    truth = secrets(256)
    outcome = reconstruct(noisy(truth, 256), truth, bits=ReplayBits(0)).outcome
    assert abs(outcome.share - 0.5) < 6.2 * 0.5 / 16  # 1e-9


def test_a_database_stops_the_attack() -> None:
    """At epsilon 1 for all questions together what is told is that of so few people at most."""
    people = 64
    truth = secrets(people)
    table = Table(
        "people", unit="id", unique=["id"], columns=[Column("id", type="integer"), Column("sick", keys=["no", "yes"])]
    )
    rows = pa.table({"id": range(people), "sick": ["yes" if sick else "no" for sick in truth]})
    with Database(Policy([table], epsilon=1), {"people": rows}, ledger="memory") as db:

        def count(subset: Any) -> float:  # noqa: ANN401 - an array
            those = ", ".join(map(str, np.flatnonzero(subset)))
            asked = db.sql(f"SELECT COUNT(*) AS n FROM people WHERE sick = 'yes' AND id IN ({those})")
            return float(asked.release(epsilon="1/16").to_dicts()[0]["n"])

        found = reconstruct(count, truth, queries=40, bits=ReplayBits(0))
    assert (found.answered, found.refused) == (16, 24)
    # One bit is told with chance e / (1 + e) at most; a coin of that chance is not right for more than 62 of 64.
    assert found.outcome.share < 0.97


def test_nothing_answered_is_said_to_be_guessing() -> None:
    from discreet.errors import BudgetError

    def refuse(_: Any) -> float:  # noqa: ANN401 - an array
        raise BudgetError

    found = reconstruct(refuse, [True, False, True])
    assert (found.answered, found.refused, found.guesses.tolist()) == (0, 12, [False] * 3)


@pytest.mark.parametrize(
    "truth, other, message",
    [
        ([], {}, "not empty"),
        ([True] * 17, {"method": "all-subsets"}, "at most 16"),
        ([True], {"method": "magic"}, "method is 'magic'"),
        ([True], {"queries": 0}, "queries is 0"),
    ],
)
def test_mistakes_are_named(truth: list[bool], other: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        reconstruct(lambda _: 0.0, truth, **other)
    with pytest.raises(ParameterError, match="no finite number"):
        reconstruct(lambda _: float("nan"), [True])
    with pytest.raises(ParameterError, match="count raised ZeroDivisionError"):
        reconstruct(lambda subset: 1 / 0 * subset.sum(), [True])


@pytest.mark.parametrize("case", range(3))
def test_least_squares_in_a_box_is_solved(case: int) -> None:
    """As SciPy solves it, by another method."""
    chance = np.random.default_rng(case)
    subsets = chance.random((60, 15)) < 0.5
    answers = subsets @ (chance.random(15) < 0.5) + chance.normal(size=60) * 2
    ours, theirs = _least_squares(subsets, answers), lsq_linear(subsets.astype(float), answers, (0, 1), tol=1e-12).x
    assert ours == pytest.approx(theirs, abs=1e-3)
