"""Lotteries: weights times exponentials of scores, by tickets and coins."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.errors import ParameterError
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FALSE_ALARM = 1e-9
MODULE = sys.modules[noise.lottery.__module__]  # the package exports the function under the module's name
SCORES = np.array([0, 1, 3, 3, -2])
WEIGHTS = np.array([5, 0, 1, 2, 40])


def fits(counts: ArrayLike, law: ArrayLike) -> bool:
    wanted = np.asarray(law, dtype=np.float64)
    seen = np.asarray(counts, dtype=np.float64)
    if seen[wanted == 0].any():
        return False
    kept = wanted > 0
    return bool(stats.chisquare(seen[kept], wanted[kept] / wanted.sum() * seen.sum()).pvalue > FALSE_ALARM)


def draws(scores: ArrayLike, scale: float, weights: ArrayLike | None, seed: int, count: int = 6_000) -> list[int]:
    bits = ReplayBits(seed)
    return [noise.lottery(scores, scale, weights, bits) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("weights", [None, WEIGHTS, WEIGHTS * 0.1])
def test_lotteries_follow_their_law(kind: type, weights: ArrayLike | None, seed: int) -> None:
    measure = np.ones(5) if weights is None else np.asarray(weights)
    counts = np.bincount(draws(SCORES.astype(kind), 2, weights, seed), minlength=5)
    assert fits(counts, measure * np.exp(SCORES / 2))
    assert not fits(counts, measure * np.exp(SCORES / 2.5))


@pytest.mark.slow
def test_many_lotteries_follow_their_laws(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Each part has its own best score, its own tickets, and its own number of them."""
    parts = [(SCORES, WEIGHTS), (SCORES[:1] - 10**9, WEIGHTS[:1]), (-30 * SCORES[::-1], WEIGHTS[::-1])]
    scores, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
    bits = ReplayBits(seed)

    def drawn() -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return np.array([noise.lotteries(scores, 20, weights, [5, 1, 5], bits) for _ in range(6_000)])

    def counted() -> list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
        return [np.bincount(each, minlength=11) for each in drawn().T]

    def laws(found: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]) -> bool:
        first, second = WEIGHTS * np.exp(SCORES / 20), WEIGHTS[::-1] * np.exp(-1.5 * SCORES[::-1])
        return fits(found[0][:5], first) and fits(found[2][6:], second) and found[1][5] == 6_000

    assert laws(counted())
    monkeypatch.setattr(MODULE, "_kept", lambda *_: True)
    monkeypatch.setattr(MODULE, "_ALL_TICKETS", 4)
    assert not laws(counted())


def test_one_of_many_lotteries_is_a_lottery(seed: int) -> None:
    one, many = ReplayBits(seed), ReplayBits(seed)
    for _ in range(50):
        assert [noise.lottery(SCORES, 2, WEIGHTS, one)] == noise.lotteries(SCORES, 2, WEIGHTS, [5], many)


@pytest.mark.slow
def test_coarse_tickets_change_nothing(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """With hardly more tickets than candidates most draws are rejected, and the law stays; without coins it breaks."""
    law = WEIGHTS * np.exp(SCORES / 2)
    monkeypatch.setattr(MODULE, "_ALL_TICKETS", 4)
    assert fits(np.bincount(draws(SCORES, 2, WEIGHTS, seed), minlength=5), law)
    monkeypatch.setattr(MODULE, "_kept", lambda *_: True)
    assert not fits(np.bincount(draws(SCORES, 2, WEIGHTS, seed), minlength=5), law)


@pytest.mark.slow
def test_coarse_tickets_of_many_lotteries_change_nothing(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Each lottery's coins go by its own number of tickets, here in both orders of a small and a large one."""
    law = WEIGHTS * np.exp(SCORES / 2)
    monkeypatch.setattr(MODULE, "_ALL_TICKETS", 4)
    for factors in ((1, 2**20), (2**20, 1)):
        weights, bits = np.concatenate([WEIGHTS * factor for factor in factors]), ReplayBits(seed)
        found = [noise.lotteries([*SCORES, *SCORES], 2, weights, [5, 5], bits) for _ in range(6_000)]
        first, second = (np.bincount(np.array(found)[:, place] - 5 * place, minlength=5) for place in (0, 1))
        assert fits(first, law)
        assert fits(second, law)


def test_floats_and_big_integers_agree(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """With the float's slack declared infinite, every coin goes to big integers, and the winners stay the same."""
    plain = draws(SCORES, 2, WEIGHTS, seed, 300)
    monkeypatch.setattr(MODULE, "_SLACK", np.inf)
    assert draws(SCORES, 2, WEIGHTS, seed, 300) == plain


@pytest.mark.parametrize("shift", [2**61, -(2**61), 1e9, 1e300])
def test_lotteries_lose_nothing_to_large_scores(shift: float, seed: int) -> None:
    scores = SCORES if shift == 1e300 else SCORES + shift
    if shift == 1e300:
        scores = np.array([0.0, 0.0, 1e300, 1e300, -1e300])
        assert set(draws(scores, 2, None, seed, 200)) == {2, 3}
    else:
        assert draws(scores, 2, None, seed, 300) == draws(SCORES, 2, None, seed, 300)


def test_a_lottery_of_a_million() -> None:
    scores = np.zeros(1_000_000)
    scores[123_456] = 100
    assert noise.lottery(scores, 1) == 123_456


def test_nobody_with_a_weight_of_zero_wins(seed: int) -> None:
    assert set(draws([10**6, 0, 0], 1, [0, 1, 1], seed, 100)) == {1, 2}


@pytest.mark.parametrize(
    "scores, scale, weights, message",
    [
        ([1, 2], 0, None, "scale is 0"),
        ([], 1, None, "scores have the shape"),
        ([1, 2], 1, [1], "weights have the shape"),
        ([1, 2], 1, [-1, 1], "weights must be finite"),
        ([1, 2], 1, [0, 0], "at least one of them"),
        ([1, 2], 1, ["a", "b"], "weights have the shape"),
    ],
)
def test_bad_arguments_are_named(scores: ArrayLike, scale: float, weights: ArrayLike, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        noise.lottery(scores, scale, weights)


@pytest.mark.parametrize("counts", [[1], [3], [2, 0], [1, 2]])
def test_every_lottery_has_candidates(counts: list[int]) -> None:
    with pytest.raises(ParameterError, match="counts are for"):
        noise.lotteries([1, 2], 1, None, counts)
    with pytest.raises(ParameterError, match="at least one of them"):
        noise.lotteries([1, 2], 1, [1, 0], [1, 1])
