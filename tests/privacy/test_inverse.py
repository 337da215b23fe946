"""epsilon(delta) and delta(epsilon) are inverse: what one of them promises the other does not deny."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest

from discreet import privacy as p
from discreet.privacy import curves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from discreet.privacy.curve import Curve

ROUNDING = 1e-14
"""A float read as its decimal may move by a last digit."""

WIDTH = 1e-6
"""How wide, relatively, an interval of epsilon is at most where the loss has a law."""

BOUNDED = 1e-3
"""The same where nothing attains what is composed: its bounds are tables cut anew for every epsilon."""

ALL = [(f"{name}{i}", curve) for name, listed in curves.examples().items() for i, curve in enumerate(listed)]


def number(source: random.Random, low: float, high: float) -> str:
    """Return a number of four digits, spread evenly on the logarithmic scale."""
    return f"{math.exp(source.uniform(math.log(low), math.log(high))):.4g}"


MAKERS: list[Callable[[random.Random], Curve]] = [
    lambda s: p.gaussian(number(s, 0.3, 50)),
    lambda s: p.laplace(number(s, 0.2, 100)),
    lambda s: p.discrete_laplace(number(s, 0.3, 100), sensitivity=s.choice([1, 2, 5])),
    lambda s: p.discrete_gaussian(number(s, 0.4, 30), sensitivity=s.choice([1, 2])),
    lambda s: p.randomized_response(number(s, 0.01, 5), s.choice([2, 3, 10])),
    lambda s: p.staircase(number(s, 0.05, 3), s.choice(["0.3", "0.5", "0.8"])),
    lambda s: p.exponential(number(s, 0.05, 4)),
    lambda s: p.pure(number(s, 0.05, 4)),
    lambda s: p.approximate(number(s, 0.01, 2), number(s, 1e-12, 1e-8)),
    lambda s: p.zcdp(number(s, 1e-4, 1)),
    lambda _: p.finite_pair(["0.5", "0.3", "0.2"], ["0.4", "0.5", "0.1"]),
    lambda s: p.partition_selection(number(s, 1, 5), number(s, 60, 200), s.choice([1, 3, 20])),
]


def once(source: random.Random) -> Curve:
    return source.choice(MAKERS)(source)


KINDS: dict[str, Callable[[random.Random], Curve]] = {
    "once": once,
    "composed": lambda s: once(s) * s.choice([2, 5, 30, 1000]),
    "sampled": lambda s: p.laplace(number(s, 0.2, 100)).subsample(number(s, 1e-4, 0.7)),
    "samples composed": lambda s: s.choice(MAKERS[:2] + MAKERS[4:6])(s).subsample(number(s, 1e-3, 0.5)) * 4,
    "sums": lambda s: once(s) * s.choice([1, 5]) + once(s) * s.choice([1, 7]),
    "sums with samples": lambda s: once(s) * s.choice([1, 5]) + p.pure(number(s, 0.1, 1)).subsample("0.1") * 7,
    "groups": lambda s: once(s).group(s.choice([2, 3])) * s.choice([1, 2, 8]),
    "groups of samples": lambda s: s.choice(MAKERS[4:6])(s).subsample("0.2").group(2) * s.choice([1, 2]),
    "parallel": lambda s: once(s).parallel(MAKERS[s.choice([0, 1, 4])](s)),
    "with an error": lambda s: (once(s) * s.choice([1, 4])).with_sampling_error(number(s, 1e-15, 1e-12)),
}
DRAWS = 3


def check(curve: Curve, delta: float) -> None:
    """Go from delta to epsilon and back, and from epsilon to delta and back."""
    epsilon = curve.epsilon(delta)
    if not math.isfinite(epsilon):
        return
    assert curve.delta(epsilon) <= delta * (1 + ROUNDING), (curve, delta, epsilon)
    start = 0.7 * epsilon
    chance = curve.delta(start)
    if 0 < chance < 1:
        width = WIDTH if all(direction.attained for direction in curve.directions()) else BOUNDED
        assert curve.epsilon(chance) <= start * (1 + width) + 1e-12, (curve, start, chance)


SLOW = {"groups of samples", "groups", "a group of samples"}


def quick_and_slow(names: Iterable[str]) -> list[object]:
    """Mark what takes more than a few seconds."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in names]


@pytest.mark.parametrize("kind", quick_and_slow(KINDS))
def test_epsilon_and_delta_are_inverse(kind: str) -> None:
    source = random.Random(f"inverse, {kind}")
    for _ in range(DRAWS):
        curve = KINDS[kind](source)
        low, high = source.choice([(1e-11, 1e-3), (1e-11, 1e-3), (1e-25, 1e-12)])
        check(curve, float(number(source, low, high)))


@pytest.mark.parametrize("curve", [curve for _, curve in ALL], ids=[name for name, _ in ALL])
def test_epsilon_and_delta_are_inverse_over_the_registry(curve: Curve) -> None:
    check(curve * 2, 1e-4)


SEEN: dict[str, tuple[Curve, float]] = {
    "the largest loss": (
        p.finite_pair(["0.5", "0.3", "0.2"], ["0.4", "0.5", "0.1"]) + p.staircase("1.015") * 5,
        8.885e-22,
    ),
    "beside a leak": (
        p.approximate(0, "1.2e-15") * 5 + p.laplace("4.156") * 5 + p.pure("0.7749").subsample("0.1124"),
        1.572e-9,
    ),
    "a group of samples": (p.staircase("0.1777").subsample("0.166").group(3) * 2, 1.5e-8),
    "Renyi divergences": (p.zcdp("0.3802").group(2) * 8, 2.174e-24),
    "many uses": (p.laplace("44.05") * 1000, 1.108e-5),
    "sampled selections": (p.exponential("0.09578").subsample("0.004918") * 10, 6.137e-7),
}


@pytest.mark.parametrize("name", quick_and_slow(SEEN))
def test_what_delta_denied_is_promised_no_more(name: str) -> None:
    """Curves whose delta was up to 2.6e5 times the one that epsilon was asked for; epsilon moves by 0.1 % at most."""
    curve, delta = SEEN[name]
    check(curve, delta)
    lower, upper = curve.interval(delta)
    assert curve.delta_interval(upper * (1 - 2e-3))[1] > delta
    assert lower <= upper
