"""The parts of the harness that do not depend on a clock."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.measure import (
    Cost,
    Timing,
    mean_magnitude,
    measure_dependence,
    measure_latencies,
    measure_peak_bytes,
    measure_rate,
    ranks,
    run_repeatedly,
)


def test_best_and_median_are_taken_for_each_clock_by_itself() -> None:
    timing = Timing((Cost(30, 3), Cost(10, 9), Cost(20, 6)))
    assert timing.best == Cost(10, 3)
    assert timing.median == Cost(20, 6)


def test_a_rate_never_asks_for_more_draws_than_allowed() -> None:
    asked: list[int] = []
    rate = measure_rate(asked.append, most=700, least=10, repeats=3, enough_ns=0)
    assert asked[0] == 10
    assert max(asked) == 700
    assert asked[-3:] == [700] * 3
    assert (rate.draws, rate.repeats) == (700, 3)
    assert rate.cpu >= rate.cpu_median > 0


def test_short_runs_are_repeated_until_they_have_taken_enough_time() -> None:
    few = run_repeatedly(lambda: None, repeats=3)
    many = run_repeatedly(lambda: sum(range(1_000)), repeats=3, enough_ns=20_000_000)
    assert len(few.runs) == 3
    assert sum(run.cpu_ns for run in many.runs) >= 20_000_000
    assert sum(run.cpu_ns for run in many.runs[:-1]) < 20_000_000 or len(many.runs) == 3


def test_every_latency_belongs_to_its_value() -> None:
    values = iter([3, -1, 4])
    latencies, drawn = measure_latencies(lambda: next(values), 3)
    assert drawn == [3, -1, 4]
    assert len(latencies) == 3
    assert min(latencies) >= 0


def test_peak_memory_sees_what_is_freed_again() -> None:
    def wasteful() -> None:
        np.zeros(4_000_000, dtype=np.uint8)

    assert 4_000_000 <= measure_peak_bytes(wasteful) < 4_200_000
    assert measure_peak_bytes(lambda: None) < 100_000


def test_equal_entries_share_a_rank() -> None:
    assert ranks([5, 1, 5, 0]) == [3.5, 2, 3.5, 1]


def test_dependence_is_seen_and_independence_is_not() -> None:
    column = list(range(1_000))
    found = measure_dependence([value**3 for value in column], column)
    assert found.ranked == pytest.approx(1)
    assert 0.8 < found.plain < 1
    assert found.standard_error == 1 / math.sqrt(999)
    shuffled = np.random.default_rng(7).permutation(column).tolist()
    apart = measure_dependence(shuffled, column)
    assert abs(apart.plain) < 6 * apart.standard_error
    assert abs(apart.ranked) < 6 * apart.standard_error


def test_one_outlier_blinds_the_plain_correlation_but_not_the_ranks() -> None:
    magnitudes = list(range(1_000))
    latencies = [*magnitudes[:-1], 0]
    latencies[0] = 10**9
    found = measure_dependence(latencies, magnitudes)
    assert abs(found.plain) < 3 * found.standard_error
    assert found.ranked > 0.9


def test_mean_magnitude_ignores_signs() -> None:
    assert mean_magnitude([-1, 1, 4]) == 2
