"""Sums of losses on several lattices against the plain list of all outcomes, apart from the package.

A mechanism with two outcomes that runs n times has n + 1 different outcomes, with binomial masses under both laws. All
combinations of all mechanisms are listed here, up to some million, and delta is the sum of (p - exp(epsilon) q)+.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet import privacy as p
from discreet.privacy.numerics.solvers import enumerated as module
from discreet.privacy.numerics.solvers.enumerated import Enumerated, enumerated

Two = tuple[Fraction, Fraction, int]
"""The chance of the first outcome with and without the unit, and how often the mechanism runs."""

SIZES: dict[str, list[Two]] = {
    "one half": [(Fraction(3, 5), Fraction(2, 5), 20), (Fraction(1, 2), Fraction(9, 20), 15)],
    "two halves": [
        (Fraction(3, 5), Fraction(2, 5), 40),
        (Fraction(1, 2), Fraction(9, 20), 35),
        (Fraction(7, 10), Fraction(16, 25), 30),
        (Fraction(1, 3), Fraction(2, 7), 25),
    ],
    "infinite losses": [
        (Fraction(1, 1005), Fraction(0), 6),
        (Fraction(3, 4), Fraction(1, 4), 30),
        (Fraction(1, 2), Fraction(12, 25), 40),
        (Fraction(1, 3), Fraction(3, 10), 50),
        (Fraction(0), Fraction(1, 300), 9),
    ],
    "rare outcomes": [
        (Fraction(1, 10**7), Fraction(1, 10**9), 20),
        (Fraction(11, 20), Fraction(1, 2), 60),
        (Fraction(2, 3), Fraction(3, 5), 60),
    ],
}
EPSILONS = (0.0, 0.3, 1.0, 2.5, 6.0, 11.0)
ROUNDED = 1e-12
"""The list's own rounding, relative to the mass above epsilon."""


def curve(parts: list[Two]) -> p.Curve:
    """The package's curve."""
    total = p.pure(0)
    for one, other, n in parts:
        total += p.finite_pair([one, 1 - one], [other, 1 - other]) * n
    return total


def masses(chance: Fraction, n: int) -> np.ndarray:
    """Binomial masses, each rounded once."""
    return np.array([float(math.comb(n, k) * chance**k * (1 - chance) ** (n - k)) for k in range(n + 1)])


def outcomes(parts: list[Two]) -> tuple[np.ndarray, np.ndarray]:
    """Both masses of every outcome."""
    over = under = np.ones(1)
    for one, other, n in parts:
        over = np.multiply.outer(over, masses(one, n)).ravel()
        under = np.multiply.outer(under, masses(other, n)).ravel()
    return over, under


def missed(found: Enumerated, over: np.ndarray, under: np.ndarray) -> list[float]:
    """The epsilons whose interval does not hold the sum over the list."""
    wrong = []
    for epsilon in EPSILONS:
        above = np.maximum(over - math.exp(epsilon) * under, 0.0)
        truth, slack = float(above.sum()), ROUNDED * float(over[above > 0].sum())
        low, high = found.delta(epsilon)
        if not low - slack <= truth <= high + slack:
            wrong.append(epsilon)
    return wrong


def both_ways(parts: list[Two]) -> list[tuple[Enumerated, np.ndarray, np.ndarray]]:
    """Each direction's enumeration with the list that it should agree with."""
    over, under = outcomes(parts)
    found = [enumerated(direction) for direction in curve(parts).directions()]
    assert len(found) == 2
    pairs = zip(found, ((over, under), (under, over)), strict=True)
    return [(sums, *lists) for sums, lists in pairs if sums is not None]


@pytest.mark.parametrize("name", SIZES)
def test_both_directions_hold_the_sum_over_all_outcomes(name: str) -> None:
    ways = both_ways(SIZES[name])
    assert len(ways) == 2
    for found, over, under in ways:
        assert missed(found, over, under) == []
        low, high = found.delta(1.0)
        assert high - low <= 1e-9 * high
        assert (len(found.summed.values) > 1) == (int(((over > 0) & (under > 0)).sum()) > module.MOST_LISTED)


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_the_check_sees_broken_sums(name: str) -> None:
    for found, over, under in both_ways(SIZES[name]):
        listed = found.listed
        broken = (
            replace(found, over=np.roll(found.over, -20), under=np.roll(found.under, -20)),
            replace(found, under=found.under * (1 + 1e-9)),
            replace(found, summed=replace(found.summed, values=found.summed.values + 1e-9)),
            replace(found, listed=replace(listed, infinity=listed.infinity + 1e-9)),
        )
        assert all(missed(each, over, under) for each in broken)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-9])
def test_epsilon_lies_where_the_list_crosses_delta(name: str, delta: float) -> None:
    over, under = outcomes(SIZES[name])
    lower, upper = curve(SIZES[name]).interval(delta)

    def profile(epsilon: float) -> float:
        growth = math.exp(epsilon)
        return max(float(np.maximum(one - growth * two, 0).sum()) for one, two in ((over, under), (under, over)))

    if upper == math.inf:
        assert max(over[under == 0].sum(), under[over == 0].sum()) > delta
        return
    assert upper - lower <= 1e-6 * max(upper, 1e-3)
    assert profile(upper) <= delta * (1 + 1e-10)
    assert lower == 0 or profile(lower) >= delta * (1 - 1e-10)


def test_a_step_that_is_not_taken_back_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = SIZES["two halves"]
    over, under = outcomes(parts)
    monkeypatch.setattr(module, "SAME", 1e-4)  # joins different values, which blur has to cover
    coarse = enumerated(curve(parts).directions()[0])
    assert coarse is not None
    assert missed(coarse, over, under) == []
    assert coarse.listed.blur > 1e-4
    sure = replace(coarse, listed=replace(coarse.listed, blur=1e-13), summed=replace(coarse.summed, blur=1e-13))
    assert missed(sure, over, under) != []
