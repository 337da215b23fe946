"""Ratios of noisy sums: their ± against the exact worst case, for noise of any size."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import DiscreteLaplace
from discreet.mechanisms.adding.combinations import NoisyNumbers, laplace_sum_reach
from discreet.mechanisms.adding.ratios import Average, Product, correlated, over_one_less
from discreet.mechanisms.adding.sums import Partition, corners, pair, squares

NOISE = DiscreteLaplace(1, epsilon="0.2")


def made(split: Partition, place: int, ends: tuple[int, int]) -> Average:
    terms = split.terms(0)
    return Average(NoisyNumbers((), (NOISE,)), terms[place], terms[0], ends, 0.0, 1.0)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_an_average_is_off_by_no_more_than_the_noise_of_one_part(confidence: float) -> None:
    """Of a pair each end is one part; no mean between is moved farther than one at an end, but for whole numbers."""
    average = made(pair(0, 1, (-3, 5)), 1, (-3, 5))
    assert NOISE.error(confidence) <= average.reach(confidence) <= NOISE.error(confidence) + 2
    assert average.reach(confidence) <= NOISE.error((1 + confidence) / 2)
    public = Average(NoisyNumbers((), (NOISE,)), ((0, 0, Fraction(1)),), (), (-3, 5), 0.0, 1.0)
    assert public.reach(confidence) == NOISE.error(confidence)  # a count without noise: both ends are one


def covered(average: Average, noise: DiscreteLaplace, mean: int, shrunk: float = 1.0) -> float:
    """The exact chance that a mean lies within its ±, over all draws of both parts that are likely at all."""
    split, rows = pair(0, 1, (-3, 5)), 40
    ratio = float(np.exp(-1 / float(noise.scale)))
    draws = np.arange(-60, 61)
    chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(draws)
    exact = [a * rows + b * mean * rows for a, b in split.matrix]
    (total, count) = ([float(c) for _, _, c in sorted(terms)] for terms in (average.total, average.count))
    hit = shown = 0.0
    for (one, p), (two, q) in itertools.product(zip(draws.tolist(), chances.tolist(), strict=True), repeat=2):
        parts = (exact[0] + one, exact[1] + two)
        s, n = (sum(c * part for c, part in zip(row, parts, strict=True)) for row in (total, count))
        if n >= 1:
            shown += p * q
            hit += p * q * (abs(average.mean(s, n) - mean) <= shrunk * average.error(n, 0.9, s) + 1e-9)
    return hit / shown


@pytest.mark.parametrize("mean", [-3, -1, 1, 4])
def test_the_error_of_a_mean_holds_as_often_as_it_says_and_not_much_more(mean: int) -> None:
    noise = DiscreteLaplace(8, epsilon=2)
    terms = pair(0, 1, (-3, 5)).terms(0)
    average = Average(NoisyNumbers((), (noise,)), terms[1], terms[0], (-3, 5), 0.0, 1.0)
    chance = covered(average, noise, mean)
    assert chance >= 0.9
    if mean in (-1, 1):
        assert chance <= 0.97
    assert covered(average, noise, mean, shrunk=0.5) < 0.9  # the check sees half the ±


def test_a_mean_in_the_middle_has_a_smaller_error_than_one_at_an_end() -> None:
    noise = DiscreteLaplace(120, epsilon="0.1")
    terms = pair(0, 1, (-60, 60)).terms(0)
    average = Average(NoisyNumbers((), (noise,)), terms[1], terms[0], (-60, 60), 0.0, 1.0)
    middle, end = (average.error(2000.0, 0.95, 2000.0 * mean) for mean in (0, 60))
    assert middle < 0.75 * end
    assert end <= average.error(2000.0, 0.95)
    # The exact law at 0, where both parts count half: (X + Y) / 2 of two draws of the scale 1200.
    assert middle * 2000 >= laplace_sum_reach([600.0, 600.0], 0.05)


@pytest.mark.parametrize(
    "split", [squares(0, 1, 2, (-4, 4)), corners(0, (1, 2), 3, ((-4, 4), (-4, 4)))], ids=["var", "cov"]
)
def test_a_mean_product_is_off_by_no_more_than_its_error_for_noise_within_its_bounds(split: Partition) -> None:
    """Rows at the upper ends, where the means count most, and the largest noise that the ratios' bounds allow."""
    last = len(split.places) - 1
    first = made(split, 1, (-4, 4))
    second = first if last == 2 else made(split, 2, (-4, 4))
    product = Product(first, second, made(split, last, (0, 16) if last == 2 else (-16, 16)))
    count, confidence = 400.0, 0.9
    away = (4.0, 4.0)
    offs = [part * average.error(count, 1 - 0.1 / (2 if last == 2 else 3)) for part in (-1, 1) for average in (first,)]
    worst = max(abs((4 + e) * (4 + f) - 16) for e, f in itertools.product(offs, repeat=2))
    assert product.error(count, away, confidence) >= worst + product.mixed.error(count, confidence)
    assert product.error(count, away, confidence) > 2 * product.error(count, (0.0, 0.0), confidence)


def test_a_correlation_lies_between_the_ratios_of_all_ends() -> None:
    cross, first, second = (1.0, 0.25), (2.0, 0.5), (3.0, 0.125)
    value, error = correlated(cross, first, second)
    corners_of = itertools.product((-1, 1), repeat=3)
    ratios = [(1 + a * 0.25) / np.sqrt((2 + b * 0.5) * (3 + c * 0.125)) for a, b, c in corners_of]
    assert value - error <= min(ratios) <= max(ratios) <= value + error
    assert error == pytest.approx(max(max(ratios) - value, value - min(ratios)))


@pytest.mark.parametrize("value", [-3.0, 0.5, 4.0])
@pytest.mark.parametrize("count", [1.25, 2.0, 3.5, 40.0])
def test_a_mean_over_one_less_is_off_by_the_ends_of_both_and_no_more(value: float, count: float) -> None:
    error, off = 0.75, 1.5
    released, reach = over_one_less((value, error), (count, off))
    rows = [max(count - off, 2.0), max(count + off, 2.0)]
    truths = [(value + sign * error) * n / (n - 1) for sign in (-1, 1) for n in rows]
    assert reach == pytest.approx(max(abs(truth - released) for truth in truths))
    assert min(truths) <= released <= max(truths)
