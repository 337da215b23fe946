"""Sparse vector, partition selection and distinct counts, against laws written out by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from discreet.errors import BudgetError, ParameterError
from discreet.mechanisms import AboveThreshold, CountDistinct, PartitionSelection
from discreet.mechanisms.adding.reach import discrete_gaussian_above, discrete_laplace_above
from discreet.mechanisms.inputs.values import FARTHEST
from discreet.mechanisms.thresholds import above_threshold
from discreet.privacy import NeighborRelation
from tests.noise.replay import ReplayBits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

FALSE_ALARM = 1e-9
CHANGE_ONE = NeighborRelation.CHANGE_ONE


def tail(scale: float, distance: NDArray[np.int64]) -> NDArray[np.float64]:
    """Pr[Z >= distance] of discrete Laplace noise."""
    r = math.exp(-1 / scale)
    d = np.asarray(distance, dtype=np.float64)
    return np.where(d >= 1, r ** np.maximum(d, 0) / (1 + r), 1 - r ** (1 - np.minimum(d, 1)) / (1 + r))


def run_law(scales: tuple[float, float], answers: tuple[int, ...], above: int) -> dict[tuple[bool, ...], float]:
    """Write out the law of a run with threshold 0: sum over the noisy threshold, multiply over the answers."""
    first, rest = scales
    reach = math.ceil(45 * first)
    bars = np.arange(-reach, reach + 1)
    r = math.exp(-1 / first)
    chance = (1 - r) / (1 + r) * r ** np.abs(bars)
    up = [tail(rest, bars - answer) for answer in answers]
    found: dict[tuple[bool, ...], float] = {}
    for pattern in product((False, True), repeat=len(answers)):
        ends = [i for i, yes in enumerate(pattern) if yes]
        shown = pattern[: ends[above - 1] + 1] if len(ends) >= above else pattern
        if shown in found:
            continue
        weight = chance.copy()
        for yes, likely in zip(shown, up, strict=False):
            weight = weight * (likely if yes else 1 - likely)
        found[shown] = float(weight.sum())
    return found


def neighbors(length: int, *, monotone: bool) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Give pairs of answers that differ by at most 1 each, in one direction if monotone."""
    moves = [(0, 1)] if monotone else [(-1, 0, 1)]
    for start in product((0, 1), repeat=length):
        for move in product(*(moves * length)):
            yield start, tuple(a + b for a, b in zip(start, move, strict=True))


def worst_loss(scales: tuple[float, float], *, above: int, monotone: bool) -> float:
    """Return the largest log-ratio over all such pairs and all runs."""
    worst = 0.0
    for first, second in neighbors(3, monotone=monotone):
        left, right = run_law(scales, first, above), run_law(scales, second, above)
        assert sum(left.values()) == pytest.approx(1)
        worst = max(worst, *(abs(math.log(left[run] / right[run])) for run in left))
    return worst


@pytest.mark.parametrize("above, monotone", [(1, False), (2, False), (1, True), (2, True)])
@pytest.mark.parametrize("share", [None, "1/2"])
def test_no_run_tells_more_than_epsilon(above: int, monotone: bool, share: str | None) -> None:  # noqa: FBT001
    mechanism = AboveThreshold(
        0, sensitivity=1, epsilon=1, above=above, monotone=monotone, share=share, grid=1, inputs="snapped"
    )
    first, rest = (float(scale) for scale in mechanism.scales)
    assert worst_loss((first, rest), above=above, monotone=monotone) <= 1 + 1e-9
    # On three answers near the threshold the loss is well below epsilon, so the partner has a quarter of the noise.
    assert worst_loss((first / 4, rest / 4), above=above, monotone=monotone) > 1


def test_noise_for_one_answer_above_does_not_do_for_more() -> None:
    """Lee and Clifton's variant: answers above keep the noise of a single one, and the loss passes epsilon."""
    one = AboveThreshold(0, sensitivity=1, epsilon=2, grid=1, inputs="snapped", share="1/2")
    scales = (float(one.scales[0]), float(one.scales[1]) / 2)
    assert worst_loss(scales, above=3, monotone=False) > 2


@pytest.mark.parametrize("answers", [(0, 0, 1), (2, -1, 0)])
def test_runs_follow_the_written_law(answers: tuple[int, ...]) -> None:
    mechanism = AboveThreshold(0, sensitivity=1, epsilon=1, above=2, grid=1, inputs="snapped")
    law = run_law((float(mechanism.scales[0]), float(mechanism.scales[1])), answers, 2)
    bits, count = ReplayBits(3), 2000
    batch: dict[tuple[bool, ...], int] = dict.fromkeys(law, 0)
    asked: dict[tuple[bool, ...], int] = dict.fromkeys(law, 0)
    for _ in range(count):
        batch[mechanism.release(answers, bits=bits).value] += 1
        watch, run = mechanism.start(bits=bits), list[bool]()
        for answer in answers:
            if not watch.over:
                run.append(watch.ask(answer))
        asked[tuple(run)] += 1
    for seen in (batch, asked):
        statistic = sum((seen[run] - count * law[run]) ** 2 / (count * law[run]) for run in law)
        assert stats.chi2.sf(statistic, len(law) - 1) > FALSE_ALARM
        wrong = run_law((float(mechanism.scales[0]), float(mechanism.scales[1]) / 2), answers, 2)
        statistic = sum((seen[run] - count * wrong[run]) ** 2 / (count * wrong[run]) for run in law)
        assert stats.chi2.sf(statistic, len(law) - 1) < FALSE_ALARM


def test_the_best_share_beats_halves() -> None:
    """1 : (2c)^(2/3) has the least variance of threshold and answer noise together (Lyu, Su, Li 2017)."""

    def variance(**options: object) -> float:
        first, rest = AboveThreshold(0, sensitivity=1, epsilon=1, above=10, **options).scales  # type: ignore[arg-type]
        return float(first**2 + rest**2)

    best = variance()
    assert best < 0.7 * variance(share="1/2")
    shares = [variance(share=str(share)) for share in np.linspace(0.02, 0.6, 59).round(3)]
    assert best <= min(shares) * (1 + 1e-6)
    assert variance(monotone=True) <= variance(monotone=True, share="1/2")


def test_the_error_of_a_threshold_holds() -> None:
    mechanism = AboveThreshold(0, sensitivity=1, epsilon=1, share="1/2", grid=1, inputs="snapped")
    reach, count = mechanism.error(0.9, questions=5), 3000
    assert reach <= 8 * (math.log(5) + math.log(2 / 0.1))
    bits = ReplayBits(1)
    below = [-math.ceil(reach)] * 4 + [math.ceil(reach)]
    right = sum(mechanism.release(below, bits=bits).value == (False,) * 4 + (True,) for _ in range(count))
    assert stats.binom.cdf(right, count, 0.9) > FALSE_ALARM


def test_far_thresholds_are_compared_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the noisy threshold leaves 62 bits, answers are compared one by one in integers of any length."""
    mechanism = AboveThreshold(0, sensitivity=1, epsilon=1, above=2, grid=1, inputs="snapped")
    draws = iter([FARTHEST + 5, FARTHEST + 5, 0])
    monkeypatch.setattr(above_threshold, "unbounded_laplace", lambda _scale, _bits: next(draws))
    assert mechanism.release([0, 1], bits=ReplayBits(0)).value == (True, False)


def test_a_run_halts() -> None:
    mechanism = AboveThreshold(0, sensitivity=1, epsilon=50, above=2)
    assert mechanism.release([100, -100, 100, 100]).value == (True, False, True)
    watch = mechanism.start()
    assert [watch.ask(each) for each in (100, -100, 100)] == [True, False, True]
    with pytest.raises(BudgetError, match="told of 2 answers above"):
        watch.ask(0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308, 10**400])
def test_no_answer_raises(value: float) -> None:
    mechanism = AboveThreshold(0, sensitivity=1, epsilon=50)
    assert len(mechanism.release([value]).value) == 1
    assert mechanism.start().ask(value) in {True, False}


def keep_chances(mechanism: PartitionSelection, most: int) -> list[Fraction]:
    return [mechanism.keep(count) for count in range(most)]


@pytest.mark.parametrize("epsilon, delta", [("1", "1e-5"), ("0.1", "0.001"), ("3", "0.2"), ("0.5", "1e-10")])
def test_optimal_chances_keep_and_exhaust_the_promise(epsilon: str, delta: str) -> None:
    mechanism = PartitionSelection(epsilon=epsilon, delta=delta)
    chances, small = keep_chances(mechanism, 400), Fraction(delta)
    with mp.workdps(60):
        growth = Fraction(mp.nstr(mp.exp(mp.mpf(epsilon)), 50))
    slack, rounding = 0.0, (1 + growth) / 2**127  # `keep` rounds up by less than 2**-127
    for low, high in pairwise(chances):
        assert low <= high <= growth * low + small + rounding
        assert 1 - low <= growth * (1 - high) + small + rounding
        tight = min(growth * low + small, 1 - (1 - low - small) / growth, Fraction(1))
        slack = max(slack, float(tight - high))
    assert chances[0] == 0
    assert chances[-1] == 1
    assert slack < 1e-15  # no larger chances are private


def test_the_optimum_is_that_of_the_paper() -> None:
    """Desfontaines et al. 2022: pi_n = delta (e^(n epsilon) - 1) / (e^epsilon - 1) up to the crossover."""
    mechanism = PartitionSelection(epsilon=1, delta="1e-5")
    crossover = 1 + math.floor(math.log((math.exp(1) + 2e-5 - 1) / (1e-5 * (math.exp(1) + 1))))
    for count in range(crossover + 1):
        expected = 1e-5 * (math.exp(count) - 1) / (math.e - 1)
        assert float(mechanism.keep(count)) == pytest.approx(expected, rel=1e-12)
    beyond = float(mechanism.keep(crossover + 2))
    at = float(mechanism.keep(crossover))
    assert beyond == pytest.approx((1 - math.exp(-2)) * (1 + 1e-5 / (math.e - 1)) + math.exp(-2) * at, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["optimal", "laplace", "gaussian"])
@pytest.mark.parametrize("keys", [1, 3, 10])
@pytest.mark.parametrize("neighbors", [NeighborRelation.ADD_REMOVE, CHANGE_ONE])
def test_a_unit_alone_in_all_its_keys_is_hidden(method: str, keys: int, neighbors: NeighborRelation) -> None:
    """The chance that any of its keys appears is at most delta, all of them together; delta = 0.1."""
    mechanism = PartitionSelection(epsilon=1, delta="0.1", keys=keys, method=method, neighbors=neighbors)
    assert 1 - (1 - float(mechanism.keep(1))) ** mechanism.touched <= 0.1 + 1e-12
    assert mechanism.privacy.delta(1) <= 0.1 + 1e-9
    held, bits, count = {f"key {i}": 1 for i in range(keys)}, ReplayBits(5), 1000
    seen = sum(bool(mechanism.release(held, bits=bits).value) for _ in range(count))
    assert stats.binom.sf(seen - 1, count, 0.1) > FALSE_ALARM


@pytest.mark.slow
def test_a_threshold_per_key_would_be_seen() -> None:
    """The partner: delta for each key instead of for all; with ten keys a unit shows most of the time."""
    alone, bits, count = PartitionSelection(epsilon=1, delta="0.1"), ReplayBits(5), 3000
    seen = sum(bool(alone.release(dict.fromkeys(range(10), 1), bits=bits).value) for _ in range(count))
    assert stats.binom.sf(seen - 1, count, 0.1) < FALSE_ALARM


@pytest.mark.parametrize("method", ["optimal", "laplace", "gaussian"])
@pytest.mark.parametrize("count", [1, 3, 6, 12])
def test_keys_are_shown_as_often_as_stated(method: str, count: int) -> None:
    mechanism = PartitionSelection(epsilon=1, delta="0.01", method=method)
    chance = float(mechanism.keep(count))
    held = dict.fromkeys(range(5000), count)
    seen = len(mechanism.release(held, bits=ReplayBits(8)).value)
    assert stats.binomtest(seen, 5000, chance).pvalue > FALSE_ALARM
    assert mechanism.release({"nobody": 0, "less": -5}).value in ({}, ())


def test_tails_agree_with_sums() -> None:
    for scale in (Fraction(1, 2), Fraction(7), Fraction(40)):
        weights = np.exp(-np.abs(np.arange(-3000, 3001)) / float(scale))
        for distance in (-20, -1, 0, 1, 2, 30):
            exact = weights[3000 + distance :].sum() / weights.sum()
            assert float(discrete_laplace_above(scale, distance)) == pytest.approx(exact, rel=1e-9)
            square = np.exp(-((np.arange(-3000, 3001) / float(scale)) ** 2) / 2)
            exact = square[3000 + distance :].sum() / square.sum()
            assert float(discrete_gaussian_above(scale, distance)) == pytest.approx(exact, rel=1e-9, abs=1e-299)
    for distance in (-5000, 0, 1, 1500, 4000, 9000):
        near, far = (float(discrete_gaussian_above(Fraction(s), distance)) for s in (2000, "2000.0001"))
        assert near <= far * (1 + 1e-4) + 1e-300 or distance <= 0


def test_the_order_of_keys_is_theirs() -> None:
    mechanism = PartitionSelection(epsilon=5, delta="0.1")
    assert mechanism.release({"b": 10**6, "a": 10**6, "c": 10**6}).value == ("a", "b", "c")
    mixed = {("x", None): 10**6, 10: 10**6, 9: 10**6, "a": 10**6}
    assert mechanism.release(mixed).value == (9, 10, "a", ("x", None))


def test_keys_are_selected_at_any_large_epsilon() -> None:
    mechanism = PartitionSelection(epsilon=100_000, delta="0.1")
    assert mechanism.keep(1) == Fraction(1, 10)
    assert mechanism.release({"a": 10, "b": 0}).value == ("a",)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"delta": 0}, "With delta = 0 give the list of keys"),
        ({"delta": 1}, "delta is 1"),
        ({"epsilon": 0}, "epsilon is 0"),
        ({"keys": 0}, "keys is 0"),
        ({"method": "best"}, "method is 'best'; it must be one of 'optimal', 'laplace', 'gaussian'"),
        ({"scale": 1}, "has neither scale nor threshold"),
        ({"method": "laplace", "threshold": 2, "delta": "1e-6"}, "do not keep the promise"),
        ({"method": "laplace", "scale": "0.5"}, "do not keep the promise"),
        ({"neighbors": NeighborRelation.ADD_REMOVE.group(2)}, "state the promise for single units"),
    ],
)
def test_wrong_selections_are_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        PartitionSelection(**{"epsilon": 1, "delta": "0.01", **arguments})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"share": 0}, "share is 0"),
        ({"share": 1}, "share is 1"),
        ({"above": 0}, "above is 0"),
        ({"sensitivity": 0}, "sensitivity is 0"),
        ({"monotone": True, "neighbors": CHANGE_ONE}, "monotone=True with neighbors=change_one"),
    ],
)
def test_wrong_thresholds_are_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        AboveThreshold(0, **{"sensitivity": 1, "epsilon": 1, **arguments})  # type: ignore[arg-type]


def test_distinct_values_are_counted_with_noise_for_all_of_a_unit() -> None:
    mechanism = CountDistinct(values=4, epsilon=2)
    assert mechanism.noise.scale == 2
    exact = CountDistinct(epsilon=60)
    given: list[tuple[Iterable[object], int]] = [
        ([], 0),
        ([1, 1.0, True, "1"], 2),
        ([None, math.nan, float("nan")], 0),
        (np.array([3, 3, 4]), 2),
        (iter("abca"), 3),
        ([[1], [2], "a"], 1),
    ]
    for values, count in given:
        assert exact.release(values).value == count
    with pytest.raises(ParameterError, match="single units"):
        CountDistinct(epsilon=1, neighbors=CHANGE_ONE.group(3))
