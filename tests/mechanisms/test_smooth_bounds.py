"""Smooth bounds against every database of a tiny domain."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.mechanisms import SmoothQuantile, TrimmedMean
from discreet.mechanisms.sensitivity.spreads import smooth_maximum, spreads
from discreet.mechanisms.sensitivity.trimming import move_bounds, trimmed_mean
from tests.mechanisms.databases import ADD, CHANGE, Rows, databases, distance, local_sensitivities, pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.privacy import NeighborRelation

RELATIONS = pytest.mark.parametrize("neighbors", [ADD, CHANGE])
WIDTH, REACH = 3, 9


def sorted_rows(rows: Rows) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64)


def keeps_the_inequality(
    found: list[Rows],
    value: Callable[[Rows], Fraction],
    bounds: Callable[[Rows], NDArray[np.float64]],
    neighbors: NeighborRelation,
) -> bool:
    """Tell whether U_0 bounds every local sensitivity and U_k(x) <= U_(k+1)(x') for all neighbors."""
    listed = {rows: bounds(rows) for rows in found}
    moves = local_sensitivities(found, value, neighbors)
    if any(moves[rows] > listed[rows][0] * (1 + 1e-12) for rows in found):
        return False
    return all(
        bool((listed[one][:-1] <= listed[other][1:] * (1 + 1e-12)).all()) for one, other in pairs(found, neighbors)
    )


@pytest.mark.slow
@RELATIONS
@pytest.mark.parametrize("trim", [0, 1, 2, 5])
def test_trimmed_means_have_a_list_of_bounds(neighbors: NeighborRelation, trim: int) -> None:
    def bounds(rows: Rows) -> NDArray[np.float64]:
        return move_bounds(sorted_rows(rows), trim, WIDTH, REACH, exchanged=neighbors is CHANGE)

    for most in (4, 5) if neighbors is CHANGE else (5,):
        found = databases(WIDTH, most, neighbors)
        assert keeps_the_inequality(found, lambda rows: trimmed_mean(sorted_rows(rows), trim, WIDTH), bounds, neighbors)


@RELATIONS
def test_the_check_sees_a_window_that_is_one_rank_short(neighbors: NeighborRelation) -> None:
    """The off-by-one that is easy to make: U_k from W_k and not from W_(k+1)."""

    def bounds(rows: Rows) -> NDArray[np.float64]:
        listed = move_bounds(sorted_rows(rows), 1, WIDTH, REACH, exchanged=neighbors is CHANGE)
        return np.append([0.0], listed[:-1]) if rows else listed

    found = databases(WIDTH, 5, neighbors)
    assert not keeps_the_inequality(found, lambda rows: trimmed_mean(sorted_rows(rows), 1, WIDTH), bounds, neighbors)


def test_the_check_sees_a_divisor_that_ignores_rows_which_leave() -> None:
    """With a private number of rows, what is divided by shrinks as rows leave."""

    def bounds(rows: Rows) -> NDArray[np.float64]:
        return move_bounds(sorted_rows(rows), 0, WIDTH, REACH, exchanged=True)

    found = databases(WIDTH, 5, ADD)
    assert not keeps_the_inequality(found, lambda rows: trimmed_mean(sorted_rows(rows), 0, WIDTH), bounds, ADD)


def quantile(rows: Rows, q: Fraction) -> int:
    return rows[max(1, math.ceil(q * len(rows))) - 1] if rows else 0


@RELATIONS
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
def test_quantiles_have_a_list_of_bounds(neighbors: NeighborRelation, q: Fraction) -> None:
    def bounds(rows: Rows) -> NDArray[np.float64]:
        rank = max(min(1, len(rows)), math.ceil(q * len(rows)))
        return spreads(sorted_rows(rows), rank, rank, WIDTH, REACH)[1:].astype(np.float64)

    found = databases(WIDTH, 5, neighbors)
    assert keeps_the_inequality(found, lambda rows: Fraction(quantile(rows, q)), bounds, neighbors)


@pytest.mark.parametrize("smoothing", [Fraction(1, 16), Fraction(1, 4), Fraction(1)])
@pytest.mark.parametrize("count", [3, 4])
def test_the_bound_of_a_median_is_the_smallest_where_rows_are_exchanged(smoothing: Fraction, count: int) -> None:
    """Over all databases: max of local sensitivity times exp(-t distance), by its definition."""
    found = databases(WIDTH, count, CHANGE)
    moves = local_sensitivities(found, lambda rows: quantile(rows, Fraction(1, 2)), CHANGE)
    made = SmoothQuantile(
        "1/2", lower=0, upper=WIDTH, grid=1, epsilon=8, smoothing=smoothing, law="student_t", shape=1, neighbors=CHANGE
    )
    for rows in found:
        true = max(moves[other] * math.exp(-smoothing * distance(rows, other, CHANGE)) for other in found)  # type: ignore[operator]
        value, bound = made.value_and_bound(rows)
        assert value == quantile(rows, Fraction(1, 2))
        assert float(bound) == pytest.approx(true, rel=1e-9)


@RELATIONS
def test_bounds_of_trimmed_means_are_smooth_and_close_to_the_smallest(neighbors: NeighborRelation) -> None:
    smoothing = Fraction(1, 4)
    made = TrimmedMean(
        1, lower=0, upper=WIDTH, grid=1, epsilon=8, smoothing=smoothing, law="student_t", shape=3, neighbors=neighbors
    )
    found = databases(WIDTH, 5, neighbors)
    moves = local_sensitivities(found, lambda rows: trimmed_mean(sorted_rows(rows), 1, WIDTH), neighbors)
    bounds = {rows: made.value_and_bound(rows)[1] for rows in found}
    for one, other in pairs(found, neighbors):
        assert bounds[one] <= bounds[other] * Fraction(math.exp(float(smoothing)))
    inner = [rows for rows in found if 3 <= len(rows) <= 4] if neighbors is ADD else found
    for rows in inner:
        least = max(moves[other] * math.exp(-smoothing * distance(rows, other, neighbors)) for other in found)  # type: ignore[operator]
        assert least * (1 - 1e-9) <= float(bounds[rows]) <= 4 * least


def test_the_smooth_maximum_is_rounded_up() -> None:
    bounds = np.array([1.0, 3.0, 5.0])
    for smoothing in (Fraction(1, 10), Fraction(1), Fraction(3)):
        true = max(Fraction(bound) * Fraction(math.exp(-float(smoothing) * k)) for k, bound in enumerate(bounds))
        found = smooth_maximum(bounds, 5.0, smoothing)
        assert true <= found <= max(true, 5 * Fraction(math.exp(-3 * float(smoothing)))) * (1 + Fraction(1, 2**30))


@pytest.mark.parametrize("listed", [1, 4, 900])
def test_a_list_of_bounds_does_not_forget_what_lies_beyond_it(listed: int) -> None:
    """All zeros as far as the list goes, the whole width beyond: the bound is what that decays to."""
    smoothing = Fraction(1, 100)
    bound = float(smooth_maximum(np.zeros(listed), 8.0, smoothing))
    assert 8 * math.exp(-listed / 100) <= bound <= 8 * math.exp(-listed / 100) * (1 + 1e-6)
    kept = float(smooth_maximum(np.array([8.0]), 8.0, smoothing))
    assert 8 <= kept <= 8 * (1 + 1e-6)


def test_more_equal_rows_than_any_list_is_long_still_get_noise() -> None:
    """60,000 rows of one value at a small epsilon: far away there are data with another median."""
    made = SmoothQuantile("1/2", lower=0, upper=100, grid=1, epsilon="0.002")
    few, many = (made.value_and_bound([50] * count)[1] for count in (60_000, 60_001))
    assert many > 0
    assert abs(math.log(few / many)) <= made.smoothing
    whole = 100 * math.exp(-float(made.smoothing) * 30_001)
    assert float(many) >= whole
