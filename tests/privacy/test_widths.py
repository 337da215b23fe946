"""Intervals of epsilon are at most 1e-6 of it wide, from delta = 1e-2 to 1e-30."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest

from discreet import privacy as p

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.privacy.curve import Curve

DRAWS = 40


def number(source: random.Random, low: float, high: float) -> str:
    """Return a number of four digits, spread evenly on the logarithmic scale."""
    return f"{math.exp(source.uniform(math.log(low), math.log(high))):.4g}"


def boxes(source: random.Random) -> Curve:
    """Different (epsilon, delta) boxes."""
    found = p.approximate(number(source, 1e-3, 3), number(source, 1e-40, 1e-31))
    for _ in range(source.randrange(3)):
        found += p.approximate(number(source, 1e-3, 3), number(source, 1e-40, 1e-31)) * source.choice([1, 2, 20])
    return found


FAMILIES: dict[str, Callable[[random.Random], Curve]] = {
    "binary response": lambda s: p.randomized_response(number(s, 1e-4, 20)),
    "k-ary response": lambda s: p.randomized_response(number(s, 1e-4, 20), s.choice([3, 4, 12, 100, 10**6])),
    "one box": lambda s: p.approximate(number(s, 1e-4, 10), number(s, 1e-40, 1e-3)),
    "boxes": boxes,
    "Laplace": lambda s: p.laplace(number(s, 0.05, 1000)),
    "discrete Laplace": lambda s: p.discrete_laplace(number(s, 0.05, 1000), sensitivity=s.choice([1, 2, 7])),
    "discrete Gaussian": lambda s: p.discrete_gaussian(number(s, 0.3, 100), sensitivity=s.choice([1, 2, 7])),
    "sampled Gaussian": lambda s: p.gaussian(number(s, 0.3, 50)).subsample(number(s, 1e-5, 1)),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_are_narrow(family: str) -> None:
    source = random.Random(f"widths of {family}")
    for _ in range(DRAWS):
        curve = FAMILIES[family](source) * source.choice([1, 1, 2, 5, 10, 50, 1000, 10**5])
        delta = number(source, 1e-30, 1e-2)
        lower, upper = curve.interval(delta)
        assert math.isinf(upper) or upper - lower <= 1e-6 * max(upper, 1e-3), (curve, delta)


@pytest.mark.parametrize("delta", ["1e-15", "1e-20", "3.2e-22", "1e-25", "1e-30"])
@pytest.mark.parametrize("epsilon, answers", [("1.487", 12), ("0.37", 3), ("0.01", 2), ("7.3", 5)])
def test_one_response_has_nearly_its_own_epsilon_at_tiny_deltas(epsilon: str, answers: int, delta: str) -> None:
    """Delta(e) is at most p (1 - exp(e - epsilon)), p the chance of the truth: a tiny delta leaves nothing off."""
    lower, upper = p.randomized_response(epsilon, answers).interval(delta)
    assert float(epsilon) * (1 - 1e-12) <= lower <= upper <= float(epsilon) * (1 + 1e-15)
