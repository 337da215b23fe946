"""Mixed compositions of finite pairs against exact enumeration in multiple precision, apart from the package.

Every pair is written down here as two lists of masses, sampled by mixing the lists, and multiplied out; outcomes with
equal losses are joined. Epsilon then follows from suffix sums, without a search.
"""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from mpmath import mp, mpf

from discreet import privacy as p

if TYPE_CHECKING:
    from discreet.privacy import Curve

Pair = tuple[list[mpf], list[mpf]]

DIGITS = 60
SAME = 40
"""Losses that agree in so many digits are one."""

ABOVE = mpf("1e-15")
"""An upper end may lie below the truth by a rounding of the truth to a float, relatively."""

BELOW = mpf("1e-13")
"""A lower end may lie above it by the rounding of parameters."""


def exact(text: str | Fraction) -> mpf:
    """A decimal or a fraction, in multiple precision."""
    number = Fraction(text)
    return mpf(number.numerator) / number.denominator


def response(epsilon: str, answers: int) -> Pair:
    """Randomized response."""
    high, low = mp.exp(exact(epsilon)), mpf(1)
    total = high + answers - 1
    present, absent = [low] * answers, [low] * answers
    present[0] = absent[1] = high
    return [mass / total for mass in present], [mass / total for mass in absent]


def box(epsilon: str, delta: str) -> Pair:
    """The worst pair of an (epsilon, delta) promise."""
    leak = exact(delta)
    present, absent = response(epsilon, 2)
    return [leak, *((1 - leak) * m for m in present), mpf(0)], [mpf(0), *((1 - leak) * m for m in absent), leak]


def discrete_laplace(scale: str, shift: int) -> Pair:
    """Discrete Laplace noise: 0, ..., shift, where both ends stand for all beyond them."""
    ratio = mp.exp(-1 / exact(scale))
    inner = [(1 - ratio) * ratio**k for k in range(1, shift)]
    masses = [mass / (1 + ratio) for mass in (mpf(1), *inner, ratio**shift)]
    return masses, masses[::-1]


def staircase(epsilon: str, share: str) -> Pair:
    """Staircase noise at sensitivity 1: below 0, above 1, and the three pieces between."""
    fall, g = mp.exp(-exact(epsilon)), exact(share)
    height = (1 - fall) / (2 * (g + fall * (1 - g)))
    present, absent = [mpf(1) / 2, fall / 2], [fall / 2, mpf(1) / 2]
    edges = sorted((mpf(0), g, 1 - g, mpf(1)))
    for low, high in itertools.pairwise(edges):
        middle = (low + high) / 2
        present.append((height if middle < g else height * fall) * (high - low))
        absent.append((height if 1 - middle < g else height * fall) * (high - low))
    return present, absent


def sampled(pair: Pair, rate: str) -> Pair:
    """Mix the law with the unit with the law without it."""
    q = exact(rate)
    return [(1 - q) * absent + q * present for present, absent in zip(*pair, strict=True)], pair[1]


def composed(pairs: list[Pair]) -> list[tuple[mpf, mpf]]:
    """Multiply out; both masses of each loss."""
    state = [(mpf(1), mpf(1))]
    for pair in pairs:
        joined: dict[str, tuple[mpf, mpf]] = {}
        for left, right in state:
            for present, absent in zip(*pair, strict=True):
                over, under = left * present, right * absent
                if over == under == 0:
                    continue
                key = "never" if over == 0 else "inf" if under == 0 else mp.nstr(mp.log(over / under), SAME)
                before = joined.get(key, (mpf(0), mpf(0)))
                joined[key] = before[0] + over, before[1] + under
        state = list(joined.values())
    return state


def epsilon_of(state: list[tuple[mpf, mpf]], delta: mpf) -> mpf:
    """The smallest epsilon of at least 0 at this delta."""
    above, under = mp.fsum(over for over, q in state if q == 0), mpf(0)
    if above > delta:
        return mpf(mp.inf)
    finite = sorted(((mp.log(over / q), over, q) for over, q in state if q and over), reverse=True)
    for i, (_, over, q) in enumerate(finite):
        above, under = above + over, under + q
        below = finite[i + 1][0] if i + 1 < len(finite) else -mp.inf
        found = mp.log((above - delta) / under) if above > delta else mpf(-mp.inf)
        if found >= below:
            return max(found, mpf(0))
    return mpf(0)


def truth_of(pairs: list[Pair], delta: mpf) -> mpf:
    """The larger epsilon of both directions."""
    back = [(absent, present) for present, absent in pairs]
    return max(epsilon_of(composed(pairs), delta), epsilon_of(composed(back), delta))


def holds(interval: tuple[float, float], truth: mpf) -> bool:
    """Whether an interval contains the truth."""
    if truth == mp.inf:
        return interval[1] == math.inf
    return bool(interval[1] >= truth * (1 - ABOVE) and interval[0] <= truth + BELOW * max(truth, mpf("1e-9")))


def number(source: random.Random, low: float, high: float) -> str:
    """A decimal with three digits between 10^low and 10^high."""
    return f"{10 ** source.uniform(low, high):.3g}"


def drawn(source: random.Random) -> tuple[Curve, Pair]:
    """One mechanism as a curve of the package and as a pair of this file."""
    kind = source.randrange(6)
    if kind == 0:
        epsilon, answers = number(source, -3, 1), source.choice([2, 3, 7])
        return p.randomized_response(epsilon, answers), response(epsilon, answers)
    if kind == 1:
        epsilon, delta = number(source, -3, 0.7), number(source, -25, -1)
        return p.approximate(epsilon, delta), box(epsilon, delta)
    if kind == 2:
        scale, shift = number(source, -0.7, 2), source.randint(1, 4)
        return p.discrete_laplace(scale, shift), discrete_laplace(scale, shift)
    if kind == 3:
        epsilon, share = number(source, -2, 0.5), f"{source.uniform(0.05, 0.95):.2f}"
        return p.staircase(epsilon, share), staircase(epsilon, share)
    if kind == 4:
        epsilon = number(source, -4, 1)
        return p.pure(epsilon), response(epsilon, 2)
    laws = [[source.randint(0, 3) or source.randint(1, 1000) for _ in range(3)] for _ in range(2)]
    present, absent = ([Fraction(mass, sum(law)) for mass in law] for law in laws)
    return p.finite_pair(present, absent), ([exact(m) for m in present], [exact(m) for m in absent])


def composition(seed: int) -> tuple[Curve, list[Pair], Fraction]:
    """Up to three mechanisms, some of them sampled, each up to four times; and a delta."""
    source = random.Random(seed)
    curve = p.pure(0)
    pairs: list[Pair] = []
    for _ in range(source.randint(1, 3)):
        one, pair = drawn(source)
        if source.random() < 0.35:
            rate = number(source, -5, -0.01)
            one, pair = one.subsample(rate), sampled(pair, rate)
        count = source.randint(1, 4) if len(pair[0]) <= 3 else source.randint(1, 2)
        curve, pairs = curve + one * count, pairs + [pair] * count
    return curve, pairs, Fraction(number(source, -30, -0.5)) if source.random() < 0.85 else Fraction(0)


def wrong(seeds: range, scale: Fraction = Fraction(1)) -> list[int]:
    """The seeds whose interval does not hold the truth; the package is asked at `scale` times delta."""
    found = []
    with mp.workdps(DIGITS):
        for seed in seeds:
            curve, pairs, delta = composition(seed)
            if not holds(curve.interval(delta * scale), truth_of(pairs, exact(delta))):
                found.append(seed)
    return found


def test_mixed_compositions_hold_the_enumerated_truth() -> None:
    assert wrong(range(60)) == []


def test_the_check_sees_a_delta_that_is_off_by_a_millionth() -> None:
    assert len(wrong(range(60), 1 + Fraction(1, 10**6))) > 10


def pair(*laws: list[str]) -> tuple[Curve, Pair]:
    """A pair given by its masses."""
    return p.finite_pair(*laws), ([exact(mass) for mass in laws[0]], [exact(mass) for mass in laws[1]])


def beside_large_losses(which: int) -> tuple[Curve, list[Pair]]:
    """Losses on several lattices, many times, beside a pair whose moments all fall as the order grows."""
    steps, one = p.staircase("1.19", "0.35"), staircase("1.19", "0.35")
    if which == 0:
        rare, few = pair(["1/1005", "1004/1005"], ["0", "1"])
        half, both = p.randomized_response("0.101").subsample("0.686"), sampled(response("0.101", 2), "0.686")
        return half + steps * 30 + rare * 6, [both, *[one] * 30, *[few] * 6]
    if which == 1:
        rare, few = pair(["1/452", "451/452"], ["0", "1"])
        other, two = p.staircase("1.29", "0.7"), staircase("1.29", "0.7")
        return rare * 10 + steps * 6 + other, [*[few] * 10, *[one] * 6, two]
    if which == 2:
        rare, few = pair(["1", "0"], ["912/913", "1/913"])
        ways, two = p.randomized_response("1.59", 7), response("1.59", 7)
        return rare + p.pure("0.187") * 40 + ways * 2, [few, *[response("0.187", 2)] * 40, *[two] * 2]
    if which == 3:
        three, law = pair(["0.5", "0.3", "0.2"], ["0.45", "0.33", "0.22"])
        return three * 8 + steps * 10, [*[law] * 8, *[one] * 10]
    rare, few = pair(["1", "0"], ["0", "1"])
    rare, few = rare.subsample("0.00382"), sampled(few, "0.00382")
    return rare * 10 + steps * 20 + p.pure("0.4"), [*[few] * 10, *[one] * 20, response("0.4", 2)]


@pytest.mark.parametrize("which", range(5))
@pytest.mark.parametrize("delta", ["0.4267", "0.07", "0.0001"])
def test_sums_on_several_lattices_are_narrow_and_hold_the_enumerated_truth(which: int, delta: str) -> None:
    with mp.workdps(DIGITS):
        curve, pairs = beside_large_losses(which)
        lower, upper = curve.interval(delta)
        assert holds((lower, upper), truth_of(pairs, exact(delta)))
    assert upper == math.inf or upper - lower <= 1e-6 * max(upper, 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_many_mixed_compositions_hold_the_enumerated_truth(block: int) -> None:
    assert wrong(range(1_000 + 200 * block, 1_200 + 200 * block)) == []
