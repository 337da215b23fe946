"""Coins, integers, orders, subsets, races and spherical noise."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

FALSE_ALARM = 1e-9


def fits(counts: ArrayLike, probabilities: ArrayLike) -> bool:
    expected = np.array(probabilities) / np.sum(probabilities) * np.sum(counts)
    return bool(stats.chisquare(np.asarray(counts, dtype=np.float64), expected).pvalue > FALSE_ALARM)


@pytest.mark.parametrize("p", ["1/3", "0.001", 0.5, "65535/65536", Fraction(2**70 - 1, 2**71)])
def test_coins_have_their_bias(p: str, seed: int) -> None:
    heads = int(noise.bernoulli(p, 200_000, ReplayBits(seed)).sum())
    assert stats.binomtest(heads, 200_000, float(Fraction(p))).pvalue > FALSE_ALARM
    assert not stats.binomtest(heads, 200_000, min(1.0, float(Fraction(p)) * 0.5)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("x", ["1/100", 1, 3])
def test_exponential_coins_have_their_bias(x: str, seed: int) -> None:
    heads = int(noise.bernoulli_exp(x, 200_000, ReplayBits(seed)).sum())
    assert stats.binomtest(heads, 200_000, float(np.exp(-float(Fraction(x))))).pvalue > FALSE_ALARM
    assert not stats.binomtest(heads, 200_000, float(np.exp(-float(Fraction(x)) * 1.2))).pvalue > FALSE_ALARM


@pytest.mark.parametrize("epsilon, others", [(1, 1), ("1/2", 9), (3, "1/3"), (0, 4)])
def test_truth_is_told_with_its_chance(epsilon: str, others: str, seed: int) -> None:
    told = int(noise.truthful(epsilon, others, 200_000, ReplayBits(seed)).sum())
    grown = float(np.exp(float(Fraction(epsilon))))
    assert stats.binomtest(told, 200_000, grown / (grown + float(Fraction(others)))).pvalue > FALSE_ALARM
    assert not stats.binomtest(told, 200_000, grown / (grown + 1.2 * float(Fraction(others)))).pvalue > FALSE_ALARM


@pytest.mark.parametrize("upper", [1, 2, 3, 7, 256, 1000])
def test_integers_are_uniform(upper: int, seed: int) -> None:
    counts = np.bincount(noise.uniform_integer(upper, 50_000, ReplayBits(seed)), minlength=upper)
    assert counts.size == upper
    assert upper == 1 or fits(counts, [1] * upper)
    by_remainder = np.bincount(ReplayBits(seed).take(50_000) % 8 % 7, minlength=7)
    assert upper != 7 or not fits(by_remainder, [1] * 7)


def test_wide_integers_reach_both_ends() -> None:
    draws = noise.uniform_integer(2**63, 10_000, ReplayBits(0))
    assert draws.min() >= 0
    assert draws.max() > 2**62
    assert 0 <= noise.uniform_integer(3**200) < 3**200


def test_orders_are_uniform(seed: int) -> None:
    bits = ReplayBits(seed)
    counts = Counter(tuple(noise.permutation(4, bits).tolist()) for _ in range(12_000))
    assert len(counts) == 24
    assert fits(list(counts.values()), [1] * 24)
    sorting_by_few_bits = Counter(tuple(np.argsort(bits.take(4) & 3).tolist()) for _ in range(12_000))
    assert not fits(list(sorting_by_few_bits.values()), [1] * len(sorting_by_few_bits))


@pytest.mark.parametrize("chosen", [0, 1, 2, 3, 5])
def test_subsets_are_uniform(chosen: int, seed: int) -> None:
    bits = ReplayBits(seed)
    wanted = list(itertools.combinations(range(5), chosen))
    counts = Counter(tuple(noise.subset(5, chosen, bits).tolist()) for _ in range(5_000))
    assert set(counts) == set(wanted)
    assert len(wanted) == 1 or fits([counts[each] for each in wanted], [1] * len(wanted))


@pytest.mark.slow
@pytest.mark.parametrize("rate", ["1/4", "0.9"])
def test_poisson_subsets_toss_a_coin_for_each(rate: str, seed: int) -> None:
    bits = ReplayBits(seed)
    q = float(Fraction(rate))
    counts = Counter(tuple(noise.poisson_subset(3, rate, bits).tolist()) for _ in range(20_000))
    every = [tuple(s) for k in range(4) for s in itertools.combinations(range(3), k)]
    assert fits([counts[s] for s in every], [q ** len(s) * (1 - q) ** (3 - len(s)) for s in every])
    assert not fits([counts[s] for s in every], [(q * 0.9) ** len(s) * (1 - q * 0.9) ** (3 - len(s)) for s in every])


@pytest.mark.parametrize("count", [10, 10**6, 2**59])
def test_poisson_subsets_are_sorted_and_inside(count: int) -> None:
    rate = Fraction(1, 3) if count == 10 else Fraction(1000, count)
    found = noise.poisson_subset(count, rate, ReplayBits(5))
    assert (np.diff(found) > 0).all()
    assert found.size == 0 or (found[0] >= 0 and found[-1] < count)
    assert count == 10 or 800 < found.size < 1200


SCORES = np.array([0, 1, 3, 3, -2])


def exponential_mechanism(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(scores / 2.0)


def permute_and_flip(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average over all orders: the first whose coin exp((score - best) / scale) falls on heads."""
    chances = np.exp((scores - scores.max()) / 2.0)
    won = np.zeros(scores.size)
    for order in itertools.permutations(range(scores.size)):
        left = 1.0
        for i in order:
            won[i] += left * chances[i]
            left *= 1 - chances[i]
    return won


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw, law", [(noise.gumbel_race, exponential_mechanism), (noise.exponential_race, permute_and_flip)]
)
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_races_follow_their_mechanism(
    draw: Callable[..., int], law: Callable[[NDArray[np.float64]], NDArray[np.float64]], kind: type, seed: int
) -> None:
    bits = ReplayBits(seed)
    counts = np.bincount([draw(SCORES.astype(kind), 2, bits=bits) for _ in range(6_000)], minlength=5)
    assert fits(counts, law(SCORES))
    assert not fits(counts, law(SCORES * 0.8))


@pytest.mark.slow
def test_the_laplace_race_is_report_noisy_max(seed: int) -> None:
    bits = ReplayBits(seed)
    wins = sum(noise.laplace_race([0, 1], 1, bits=bits) for _ in range(20_000))
    loses = (2 + 1) * np.exp(-1) / 4  # Pr[Lap - Lap' >= 1] = (2 + t) exp(-t) / 4 at t = 1
    assert stats.binomtest(wins, 20_000, 1 - loses).pvalue > FALSE_ALARM
    assert not stats.binomtest(wins, 20_000, 0.67).pvalue > FALSE_ALARM


@pytest.mark.slow
def test_a_gumbel_race_for_the_best_two_is_two_rounds(seed: int) -> None:
    bits = ReplayBits(seed)
    weights = np.exp(SCORES[:3] / 2.0)
    counts = Counter(tuple(noise.gumbel_race(SCORES[:3], 2, top=2, bits=bits).tolist()) for _ in range(8_000))
    every = list(itertools.permutations(range(3), 2))
    law = [weights[i] / weights.sum() * weights[j] / (weights.sum() - weights[i]) for i, j in every]
    assert fits([counts[each] for each in every], law)


@pytest.mark.parametrize("draw", [noise.gumbel_race, noise.exponential_race, noise.laplace_race])
def test_races_lose_nothing_to_large_scores(draw: Callable[..., int], seed: int) -> None:
    """Scores near 2**61 that differ by one, and floats near 1e9: the same winners as with the offset removed."""
    offset = 2**61
    for shift in (offset, 1e9):
        small = [draw(SCORES, 2, bits=ReplayBits(seed + i)) for i in range(200)]
        large = [draw(SCORES + shift, 2, bits=ReplayBits(seed + i)) for i in range(200)]
        assert small == large


def test_close_runners_are_settled_by_more_bits(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """With floats declared useless every comparison goes to big integers, and the winners stay the same."""
    plain = [noise.gumbel_race(SCORES, 2, bits=ReplayBits(seed + i)) for i in range(50)]
    monkeypatch.setattr(np, "nan_to_num", lambda array, nan, **_: np.full_like(array, nan))
    assert [noise.gumbel_race(SCORES, 2, bits=ReplayBits(seed + i)) for i in range(50)] == plain


def test_a_race_of_a_million() -> None:
    scores = np.zeros(1_000_000)
    scores[123_456] = 100
    assert noise.gumbel_race(scores, 1) == 123_456


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_spherical_noise_has_a_gamma_radius_and_no_direction(dimensions: int, seed: int) -> None:
    draws = noise.l2_laplace(3, "1/1024", dimensions, size=20_000, bits=ReplayBits(seed))
    radius = np.linalg.norm(draws, axis=1)
    law = stats.gamma(dimensions, scale=3)
    counts = np.histogram(radius, law.ppf(np.linspace(0, 1, 41)))[0]
    assert fits(counts, [1] * 40)
    assert not fits(np.histogram(radius * 0.93, law.ppf(np.linspace(0, 1, 41)))[0], [1] * 40)
    assert stats.binomtest(int((draws[:, 0] > 0).sum()), 20_000).pvalue > FALSE_ALARM
    if dimensions == 2:
        angle = np.histogram(np.arctan2(draws[:, 0], draws[:, 1]), 24)[0]
        assert fits(angle, [1] * 24)
        box = noise.laplace(3, "1/1024", (20_000, 2), ReplayBits(seed))
        assert not fits(np.histogram(np.arctan2(box[:, 0], box[:, 1]), 24)[0], [1] * 24)


def test_spherical_noise_is_settled_exactly_where_floats_cannot() -> None:
    """On a grid 2**-40 of the scale, floats leave some vectors open; the exact path must agree with floats nearby."""
    fine = noise.l2_laplace(1, Fraction(1, 2**39), 3, size=50, bits=ReplayBits(4))
    coarse = noise.l2_laplace(1, Fraction(1, 2**10), 3, size=50, bits=ReplayBits(4))
    assert np.abs(fine - coarse).max() <= 2**-11 + 2**-39
