"""What smooth sensitivity saves, and how long large releases take."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.report import Direction, Figure, Target, divide
from discreet import mechanisms as dp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS = 10_000_000
COUNTS = 1_000_000
REPEATS = 3
SORTS = Target(Direction.AT_MOST, 1.5, "× np.sort")
SMALLER = Target(Direction.AT_MOST, 1.0, "×")
BOUNDS = (-500.0, 500.0)
SIZES = (200, 1_000, 5_000)


def rmse(answer: Callable[[np.random.Generator], float], runs: int) -> float:
    """Return the root mean square of an answer whose truth is 0, over fresh data."""
    draw = np.random.default_rng(11)
    return math.sqrt(sum(answer(draw) ** 2 for _ in range(runs)) / runs)


def smooth_figures(repetitions: int) -> Iterator[Figure]:
    """Compare trimmed means with the mean, on normal data with bounds far too wide: as in Bun & Steinke's figure.

    Bun & Steinke 2019 (arXiv:1906.02830): noise fit to smooth sensitivity beats noise for the global sensitivity where
    the bounds are loose, the more so the more data there is; log-normal and Student t noise beat Cauchy noise.
    """
    runs = max(30, repetitions // 5)
    for size in SIZES:
        case, section = f"N(0, 1) in ±500, n={size:,}, ε=1", "Trimmed mean against global sensitivity, RMSE"

        def plain(draw: np.random.Generator, size: int = size) -> float:
            return dp.mean(draw.normal(size=size), bounds=BOUNDS, epsilon=1).value

        def trimmed(draw: np.random.Generator, size: int = size) -> float:
            made = dp.TrimmedMean.for_count(size, lower=BOUNDS[0], upper=BOUNDS[1], spread=1, epsilon=1)
            return float(made.release(draw.normal(size=size)).value)

        ours, theirs = rmse(trimmed, runs), rmse(plain, runs)
        yield Figure(section, case, "smooth sensitivity", ours, "RMSE", note=f"{runs} runs")
        note = f"{theirs / ours:.1f} times the error"
        yield Figure(section, case, "dp.mean", theirs, "RMSE", None, divide(ours, theirs), True, SMALLER, note)  # noqa: FBT003


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the best CPU and wall time of some repetitions."""
    found = []
    for _ in range(REPEATS):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return min(cpu for cpu, _ in found), min(wall for _, wall in found)


def speed_figures() -> Iterator[Figure]:
    """Time a quantile of many floats against one sort of them, and a million counts in one call."""
    section = "Speed of large releases, CPU time"
    rows = np.random.default_rng(5).normal(170, 10, ROWS)
    sort, wall = seconds(lambda: np.sort(rows))
    yield Figure(section, f"np.sort of {ROWS:,} floats", "numpy (floor)", 1e3 * sort, "ms", wall=1e3 * wall)
    for name, q in (("median", 0.5), ("99th percentile", 0.99)):
        ours, wall = seconds(partial(dp.quantile, rows, q, bounds=(0, 1000), epsilon=1))
        note = f"{ours / sort:.2f} × np.sort"
        case = f"{name} of {ROWS:,} floats"
        yield Figure(section, case, "discreet", ours / sort, "× np.sort", 1e3 * wall, target=SORTS, note=note)
    counts = np.arange(COUNTS)
    mechanism = dp.DiscreteLaplace(1, epsilon="0.1")
    ours, wall = seconds(lambda: mechanism.release(counts))
    yield Figure(section, f"{COUNTS:,} counts in one call", "discreet", 1e3 * ours, "ms", wall=1e3 * wall)
