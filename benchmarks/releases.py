"""What smooth sensitivity saves, and how long large releases take."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.report import Direction, Figure, Target, divide
from discreet import mechanisms as dp
from discreet.mechanisms.sensitivity.smooth_noise import Law, candidates
from discreet.privacy import ZCDP, NeighborRelation

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


LAWS = (Law.STUDENT_T, Law.LAPLACE_LOG_NORMAL, Law.UNIFORM_LOG_NORMAL, Law.ARCSINH_NORMAL, Law.POLYPLACE)
PROMISE = ZCDP(Fraction(1, 2), neighbors=NeighborRelation.CHANGE_ONE)
SMOOTHINGS = tuple(Fraction(1, share) for share in (3, 4, 6, 8, 12, 16, 24))
TRIMMED = (Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
SAMPLES = 5


def smooth_bounds(size: int) -> dict[tuple[Fraction, Fraction], float]:
    """Return the root mean square of the smooth bound over some normal samples, by share trimmed and smoothing."""
    draw, found = np.random.default_rng(23), {}
    samples = [draw.normal(size=size) for _ in range(SAMPLES)]
    for share, smoothing in product(TRIMMED, SMOOTHINGS):
        made = dp.TrimmedMean(
            int(share * size),
            lower=BOUNDS[0],
            upper=BOUNDS[1],
            rho=PROMISE.rho,
            smoothing=smoothing,
            neighbors=PROMISE.neighbors,
        )
        squares = [float(made.value_and_bound(rows)[1] * made.grid.step) ** 2 for rows in samples]
        found[share, smoothing] = math.sqrt(sum(squares) / SAMPLES)
    return found


def family_figures() -> Iterator[Figure]:
    """Compare the noise of each family on the trimmed mean with noise for its global sensitivity, as Bun & Steinke do.

    Bun & Steinke 2019 (arXiv:1906.02830): trimmed means of normal rows, n public and rows exchanged, 1/2-zCDP, which
    epsilon = 1 implies. Each family takes the share trimmed, the smoothing and the shape with the least noise. A row
    moves a mean of N kept rows in bounds of width w by at most w / N: normal noise of that deviation keeps 1/2-zCDP,
    and least trimmed is best for it. PolyPlace noise (Hladik & Tetek 2025, arXiv:2407.05067) is younger than the paper.
    """
    section, width = "Noise on a trimmed mean by family against global sensitivity, RMS", BOUNDS[1] - BOUNDS[0]
    for size in SIZES:
        case, bounds = f"N(0, 1) in ±500, n={size:,}, ½-zCDP", smooth_bounds(size)
        most = width / (size - 2 * int(min(TRIMMED) * size))
        yield Figure(section, case, "global sensitivity", most, "Gaussian")
        least: dict[Law, float] = {}
        for (_, smoothing), bound in bounds.items():
            for noise in candidates(PROMISE, smoothing):
                least[noise.law] = min(least.get(noise.law, math.inf), noise.rms * bound)
        for law in sorted(LAWS, key=least.__getitem__):
            note = f"{most / least[law]:.1f} times less noise"
            yield Figure(section, case, "discreet", least[law], law.value, None, None, False, None, note)  # noqa: FBT003
            if law in {Law.STUDENT_T, Law.LAPLACE_LOG_NORMAL}:
                ratio = divide(least[law], most)
                yield Figure(
                    section, case, "global sensitivity", most, law.value, ratio=ratio, compared=True, target=SMALLER
                )


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
