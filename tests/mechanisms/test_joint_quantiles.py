"""Joint quantiles: the law over all rising tuples, written out on a small grid."""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.checks.audits import audit_exactly
from discreet.errors import ParameterError
from discreet.mechanisms import JointQuantiles
from discreet.mechanisms.choosing import joint
from tests.mechanisms.test_ranks import ADD_REMOVE, CHANGE_ONE, Law, fits, worst_loss, worst_pair
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy import NeighborRelation

MODULE = sys.modules[JointQuantiles.__module__]
QS = ("1/4", "3/4")


def joint_law(rows: Sequence[int], width: int, qs: Sequence[float], scale: float) -> Law:
    """From the definition: rows at a point count half on either side of it."""

    def rank(point: int) -> float:
        return sum(row < point for row in rows) + sum(row == point for row in rows) / 2

    def weight(points: tuple[int, ...]) -> float:
        ranks, ends = [0, *map(rank, points), len(rows)], [0, *qs, 1]
        between = zip(np.diff(ranks), np.diff(ends), strict=True)
        return math.exp(-sum(abs(n - p * len(rows)) for n, p in between) / scale)

    tuples = itertools.combinations_with_replacement(range(width + 1), len(qs))
    weights = {points: weight(points) for points in tuples}
    total = sum(weights.values())
    return {points: each / total for points, each in weights.items()}


def made(relation: NeighborRelation, qs: Sequence[str] = QS) -> tuple[JointQuantiles, list[float], float]:
    mechanism = JointQuantiles(qs, lower=0, upper=3, grid=1, epsilon=1, neighbors=relation)
    unit = math.lcm(*(Fraction(q).denominator for q in qs))
    return mechanism, [float(Fraction(q)) for q in qs], float(mechanism.scale) / unit


@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE])
@pytest.mark.parametrize("qs", [QS, ("1/2",), ("1/10", "1/2")], ids=str)
def test_the_law_keeps_epsilon_and_a_third_of_it_would_not(qs: Sequence[str], relation: NeighborRelation) -> None:
    _, shares, scale = made(relation, qs)
    worst = worst_loss(partial(joint_law, width=3, qs=shares, scale=scale), 3, relation, range(1, 5))
    assert 0.4 < worst <= 1 + 1e-12
    assert worst_loss(partial(joint_law, width=3, qs=shares, scale=scale / 3), 3, relation, range(1, 5)) > 1


@pytest.mark.audit
@pytest.mark.parametrize("relation", [ADD_REMOVE, CHANGE_ONE])
def test_the_exact_audit_refutes_joint_quantiles_without_the_factor_2(relation: NeighborRelation) -> None:
    """Scores over sensitivity / epsilon: right only if no row moved the sum of the weights."""
    facts: dict[str, Any] = {"lower": 0, "upper": 3, "grid": 1, "neighbors": relation}
    right, broken = (JointQuantiles(QS, epsilon=epsilon, **facts) for epsilon in (4, 8))
    for mechanism, refuted in ((right, False), (broken, True)):
        law = partial(joint_law, width=3, qs=[0.25, 0.75], scale=float(mechanism.scale) / 4)
        found = audit_exactly(*worst_pair(law, 3, relation, range(1, 5))[1:], claim=right.privacy)
        assert found.refuted is refuted, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [[], [0, 1, 1, 2, 3, 3], [1] * 5])
@pytest.mark.parametrize("exact", [False, True])
def test_draws_follow_the_law(monkeypatch: pytest.MonkeyPatch, rows: list[int], exact: bool, seed: int) -> None:  # noqa: FBT001
    """Also with every coin tossed by big integers."""
    monkeypatch.setattr(MODULE, "_TIE_POINTS", 0)
    if exact:
        monkeypatch.setattr(joint, "_NEAR", np.inf)
    mechanism, shares, scale = made(ADD_REMOVE)
    bits = ReplayBits(seed)
    table, count = np.array(rows, dtype=np.int64), 150 if exact else 400
    draws = [tuple(mechanism.release(table, bits=bits).value.tolist()) for _ in range(count)]
    assert fits(draws, joint_law(rows, 3, shares, scale))
    assert len(rows) < 6 or not fits(draws, joint_law(rows, 3, shares, scale / 6))


@pytest.mark.slow
def test_floats_that_are_off_are_made_up_for(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """With wrong sums to draw by, most tuples are rejected and the law stays; without the coin it breaks."""
    monkeypatch.setattr(MODULE, "_TIE_POINTS", 0)
    mechanism, shares, scale = made(ADD_REMOVE)
    rows, plain = [0, 1, 1, 2, 3, 3], MODULE._Chain._costs_ahead

    def wrong(chain: object) -> list[Any]:
        return [MODULE._Costs(each.whole, each.rest + np.linspace(0, 2, each.rest.size)) for each in plain(chain)]

    monkeypatch.setattr(MODULE._Chain, "_costs_ahead", wrong)
    monkeypatch.setattr(MODULE, "_SLACK", 0.5)  # wrong sums need this much room below 1

    def draws() -> list[tuple[int, ...]]:
        bits = ReplayBits(seed)
        return [tuple(mechanism.release(np.array(rows), bits=bits).value.tolist()) for _ in range(250)]

    assert fits(draws(), joint_law(rows, 3, shares, scale))
    monkeypatch.setattr(MODULE._Chain, "_kept", lambda *_: True)
    assert not fits(draws(), joint_law(rows, 3, shares, scale))


def test_ties_are_shared() -> None:
    rows = np.array([5] * 900 + [0] * 50 + [9] * 50)
    found = JointQuantiles([0.2, 0.4, 0.5, 0.8], lower=0, upper=9, grid=1, epsilon=5).release(rows).value
    assert found.tolist() == [5] * 4


def test_many_rows_are_close() -> None:
    rows = np.arange(1_000_000) % 1_000
    found = JointQuantiles([0.9, 0.1, 0.5], lower=0, upper=1_000, grid=4, epsilon=1).release(rows).value
    assert np.abs(found - [900, 100, 500]).max() <= 8


def test_fine_grids_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 4096"):
        JointQuantiles([0.5], lower=0, upper=10_000, grid=1, epsilon=1)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("scale", ["1/100", "1", "1000"])
def test_sums_of_weights_are_those_of_all_tuples(monkeypatch: pytest.MonkeyPatch, scale: str, large: bool) -> None:  # noqa: FBT001
    """Read off from stretches of points in whole numbers, of 64 bits or of any size."""
    monkeypatch.setattr(MODULE, "_MOST_PARTS", 0 if large else 1 << 24)
    twice, rows, width, parts = np.array([1, 2, 2, 7, 10, 14]), 7, Fraction(scale), (1, 2, 3, 4)
    for step, found in enumerate(MODULE._Chain((10, parts), width, twice, rows)._ahead):
        for start in range(twice.size):
            tails = itertools.combinations_with_replacement(range(start, twice.size), 2 - step)
            places = [[*(10 * twice[[start, *tail]]), 20 * rows] for tail in tails]
            gaps = [zip(np.diff(each), parts[step + 1 :], strict=True) for each in places]
            costs = [sum(abs(int(gap) - 2 * part * rows) for gap, part in each) for each in gaps]
            least = min(costs)
            rest = math.log(sum(math.exp(-float((cost - least) / (2 * width))) for cost in costs))
            off = float(Fraction(least - int(found.whole[start])) / (2 * width))
            assert found.rest[start] == pytest.approx(rest - off, abs=1e-9)


@pytest.mark.parametrize("epsilon", ["1e-400", "1e-5", "1e30", "1e400"])
def test_any_epsilon_is_answered_with_rows_and_without(epsilon: str) -> None:
    mechanism = JointQuantiles(["0.25", "0.5"], lower=0, upper=10, epsilon=epsilon)
    for rows in ([], [1.0, 2.0, 3.0]):
        assert mechanism.release(rows).value.shape == (2,)


def test_shares_of_many_digits_are_taken() -> None:
    rows = np.arange(100_000) % 1_000
    found = JointQuantiles(["0.12345679", "0.87654321"], lower=0, upper=1_000, grid=4, epsilon=1).release(rows).value
    assert np.abs(found - [123, 877]).max() <= 8
    shares = [f"1/{prime}" for prime in (9973, 9967, 9949, 9941, 9931, 9929, 9923, 9907, 9901, 9887)] * 3
    with pytest.raises(ParameterError, match="common denominator"):
        JointQuantiles([f"{k}/{99999989 - 2 * k}" for k in range(1, 12)], lower=0, upper=9, epsilon=1)
    assert JointQuantiles(shares, lower=0, upper=9, epsilon=1).release(rows).value.shape == (30,)


@pytest.mark.slow
def test_hundreds_of_quantiles_stay_within_floats() -> None:
    """There are exp(2000) tuples: their number must not overflow."""
    shares = [f"{k}/601" for k in range(1, 601)]
    found = JointQuantiles(shares, lower=0, upper=2047, grid=1, epsilon=500).release(np.arange(60_100) % 2_048).value
    assert (np.diff(found) >= 0).all()
    assert np.abs(found[::60] - 2_048 * np.arange(1, 601, 60) / 601).max() < 100
