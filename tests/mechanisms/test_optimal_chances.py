"""The chances of keys in closed form: the same as by their recursion, tossed exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.exact import Box, Interval
from discreet.mechanisms import PartitionSelection
from discreet.mechanisms.choosing.optimal_chances import OptimalChances, optimal_chances
from discreet.noise.bernoulli import coins
from tests.noise.replay import ReplayBits

FALSE_ALARM = 1e-9
RATES = [
    ("1", "1e-5"),
    ("0.1", "0.001"),
    ("3", "0.2"),
    ("0.5", "1e-10"),
    ("0.0125", "1e-9"),
    ("0.005", "0.3"),
    ("1e-12", "0.001"),
    ("40", "1e-30"),
    ("2", "0.5"),
    ("2", "0.9"),
]
DIGITS = mp.mpf(10) ** -60


def of(epsilon: str, delta: str) -> OptimalChances:
    return optimal_chances(Fraction(epsilon), Fraction(delta))


def recursion(epsilon: str, delta: str, most: int) -> list[mp.mpf]:
    """Desfontaines et al. 2022, (1): the least of the three, step by step, with 120 digits."""
    with mp.workdps(120):
        growth, small, found = mp.exp(mp.mpf(epsilon)), mp.mpf(delta), [mp.mpf(0)]
        while len(found) < most:
            last = found[-1]
            found.append(min(growth * last + small, 1 - (1 - last - small) / growth, mp.mpf(1)))
    return found


def agrees(chances: OptimalChances, wanted: list[mp.mpf]) -> bool:
    """Whether enclosures of 220 bits are narrow and hold the value of the recursion; all near the turns."""
    most = len(wanted)
    near = (range(turn - 3, turn + 4) for turn in (3, chances.turn, chances.full))
    counts = {*(count for some in near for count in some), *np.linspace(0, most - 1, 60).astype(int).tolist()}
    for count, value in ((count, wanted[count]) for count in sorted(counts) if 0 <= count < most):
        found = chances.enclosed(count, 220)
        with mp.workdps(120):
            low, high = (mp.mpf(end) / mp.mpf(2) ** 220 for end in (found.lo, found.hi))
            if not low - DIGITS <= value <= high + DIGITS or high - low > DIGITS:
                return False
    return True


@pytest.mark.parametrize("epsilon, delta", RATES)
def test_the_closed_form_is_the_recursion(epsilon: str, delta: str) -> None:
    chances = of(epsilon, delta)
    wanted = recursion(epsilon, delta, chances.full + 3)
    assert agrees(chances, wanted)
    assert wanted[chances.full - 1] < 1 <= wanted[chances.full]
    assert [chances.rounded_up(count) for count in (0, 1)] == [0, Fraction(delta)]
    assert chances.rounded_up(chances.full) == 1


@pytest.mark.parametrize("epsilon, delta", RATES[:6])
def test_the_check_sees_other_turns_and_rates(epsilon: str, delta: str) -> None:
    chances = of(epsilon, delta)
    wanted = recursion(epsilon, delta, chances.full + 3)
    assert not agrees(replace(chances, turn=chances.turn + 1), wanted)
    assert not agrees(replace(chances, full=chances.full - 1), wanted)
    assert not agrees(replace(chances, full=chances.full + 1), wanted)
    assert not agrees(of(f"{epsilon}00000000001" if "." in epsilon else f"{epsilon}.00000000001", delta), wanted)


@pytest.mark.parametrize("epsilon, delta", [*RATES, ("1e-6", "1e-9"), ("1e-9", "1e-15"), ("512", "1e-30")])
def test_floats_enclose_the_chances(epsilon: str, delta: str) -> None:
    chances = of(epsilon, delta)
    near = (chances.turn - 1, chances.turn, chances.turn + 1, chances.full - 1, chances.full, chances.full + 1)
    counts = sorted({*range(30), *near, *np.linspace(0, chances.full, 200).astype(int).tolist()})
    box = chances.floats(np.array(counts))
    for count, low, high in zip(counts, box.lo.tolist(), box.hi.tolist(), strict=True):
        exact = chances.enclosed(count, 300)
        assert Fraction(low) <= exact.upper
        assert exact.lower <= Fraction(high)
        assert high - low <= 1e-9 * high


def test_chances_of_tiny_rates_are_had_without_a_list() -> None:
    chances = of("1e-9", "1e-15")
    assert chances.full > 10**10
    below, above = (chances.rounded_up(count) for count in (chances.turn, chances.turn + 1))
    assert 0 < above - below < Fraction(1, 10**8)
    assert chances.toss(np.array([2**62 - 1, 0, -3, 2**62]), ReplayBits(1)).tolist() == [True, False, False, True]
    far = of("1e-30", "1e-30")
    assert far.full > 2**62
    assert not far.toss(np.full(1000, 2**63 - 1), ReplayBits(1)).any()  # shown with 1e-11, though not with 1


def test_a_delta_that_shows_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="below 2"):
        optimal_chances(Fraction(1), Fraction(1, 2**129))


def test_an_epsilon_beyond_all_use_counts_as_less() -> None:
    assert of("1e15", "0.01") == of("512", "0.01")


@pytest.mark.parametrize("epsilon, delta", [("1", "0.01"), ("0.2", "0.05"), ("0.01", "0.002")])
def test_keys_of_every_count_are_shown_as_often_as_the_recursion_says(epsilon: str, delta: str, seed: int) -> None:
    """All counts in one call: none may take the chance of its neighbor."""
    size, chances = 20_000, of(epsilon, delta)
    counts = sorted({*np.linspace(1, chances.full + 1, 12).astype(int).tolist(), chances.turn, chances.turn + 1})
    wanted = recursion(epsilon, delta, counts[-1] + 1)
    bolder = recursion(str(2 * float(epsilon)), delta, counts[-1] + 1)
    bits = ReplayBits(seed)
    keys = np.random.default_rng(seed).permutation(np.repeat(counts, size))
    shown = keys[PartitionSelection(epsilon=epsilon, delta=delta).select(keys, bits=bits)]
    level = FALSE_ALARM / len(counts)
    off = False
    for count in counts:
        seen = int((shown == count).sum())
        assert stats.binomtest(seen, size, float(wanted[count])).pvalue > level
        off |= bool(stats.binomtest(seen, size, float(bolder[count])).pvalue < level)
    assert off  # the partner: chances for twice the epsilon would be seen


def test_one_by_one_or_all_at_once_is_one_law() -> None:
    mechanism = PartitionSelection(epsilon=1, delta="0.01", keys=2)
    counts = np.random.default_rng(3).poisson(5, 5000)
    chosen = mechanism.select(counts, bits=ReplayBits(4)).tolist()
    assert chosen == list(mechanism.release(dict(enumerate(counts.tolist())), bits=ReplayBits(4)).value)
    few = mechanism.select(np.append(counts, 10**9), bits=ReplayBits(4)).tolist()  # chances by different counts
    assert few == [*chosen, counts.size]


@pytest.mark.parametrize("method", ["laplace", "gaussian"])
def test_noisy_counts_select_the_keys_that_they_show(method: str) -> None:
    mechanism = PartitionSelection(epsilon=1, delta="0.01", method=method)
    counts = np.random.default_rng(3).poisson(8, 2000)
    chosen = mechanism.select(counts, bits=ReplayBits(4)).tolist()
    assert 0 < len(chosen) < counts.size
    assert chosen == list(mechanism.release(dict(enumerate(counts.tolist())), bits=ReplayBits(4)).value)


SEVENTH = 2**128 // 7
"""The first 128 digits of 1/7; the second 64 of them are not like the first, as another real's would be."""


@pytest.mark.parametrize("digits, heads", [(SEVENTH - 1, True), (SEVENTH + 1, False), (SEVENTH - 2**60, True)])
def test_a_toss_that_floats_do_not_settle_is_settled_by_the_same_real(digits: int, heads: bool) -> None:  # noqa: FBT001
    """The first 64 digits of the real are those of 1/7, the next 64 lie below or above."""
    script = (digits >> 64).to_bytes(8, "little") + (digits % 2**64).to_bytes(8, "little")
    rough = Box(np.array([0.142]), np.array([0.143]))
    bits = ReplayBits(0, script)
    found = coins(rough, np.array([0]), lambda _, precision: Interval.of(Fraction(1, 7), precision), bits)
    assert found.tolist() == [heads]
    assert bits.taken == 16
    by_floats = coins(Box.of(np.array([1 / 7 + 1e-9])), np.array([0]), no_refinement, ReplayBits(0, script))
    assert by_floats.tolist() == [True]  # the partner: floats alone would take all of them


def no_refinement(place: int, precision: int) -> Interval:
    raise AssertionError((place, precision))


@pytest.mark.parametrize("slack", [0.0, 1e-4, 1.0])
def test_coins_have_their_own_bias_however_rough_the_floats_are(slack: float, seed: int) -> None:
    chances = [Fraction(0), Fraction(1, 3), Fraction(9, 10), Fraction(1)]
    middle = np.array([float(each) for each in chances])
    rough = Box(np.maximum(middle * (1 - 1e-12) - slack, 0), np.minimum(middle * (1 + 1e-12) + slack, 1))
    which = np.tile(np.arange(4), 5000)
    found = coins(rough, which, lambda place, precision: Interval.of(chances[place], precision), ReplayBits(seed))
    seen = [int(found[which == place].sum()) for place in range(4)]
    assert (seen[0], seen[3]) == (0, 5000)
    for place in (1, 2):
        assert stats.binomtest(seen[place], 5000, float(chances[place])).pvalue > FALSE_ALARM
        assert stats.binomtest(seen[place], 5000, float(chances[place]) * 0.8).pvalue < FALSE_ALARM
