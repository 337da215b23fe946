"""Measure wall time, CPU time, peak memory and latency; the standard library alone, so that peers can run it.

CPU time is that of the whole process with all its threads. Rates come from the best of several repeats: everything
else on the machine can only make a run slower, so the fastest run is the closest to the code's own cost.
"""

from __future__ import annotations

import math
import time
import tracemalloc
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from statistics import correlation, mean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONG_ENOUGH_NS = 200_000_000
"""A run this long is measured well by the clocks."""

ENOUGH_NS = 1_000_000_000
"""Runs are repeated for at least this long, so that a moment in which the machine is busy does not decide."""

TOO_LONG_NS = 5_000_000_000
"""A run this long is not repeated."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took."""

    wall_ns: int
    cpu_ns: int


@dataclass(frozen=True, slots=True)
class Timing:
    """What each of several equal runs took."""

    runs: tuple[Cost, ...]

    @property
    def best(self) -> Cost:
        """The least wall time and the least CPU time, perhaps of two different runs."""
        return Cost(min(run.wall_ns for run in self.runs), min(run.cpu_ns for run in self.runs))

    @property
    def median(self) -> Cost:
        """The middle of the wall times and of the CPU times."""
        return Cost(
            round(median(run.wall_ns for run in self.runs)),
            round(median(run.cpu_ns for run in self.runs)),
        )


@dataclass(frozen=True, slots=True)
class Rate:
    """How many draws a second of CPU and of wall time gives."""

    draws: int
    repeats: int
    cpu: float
    cpu_median: float
    wall: float
    wall_median: float


@dataclass(frozen=True, slots=True)
class Dependence:
    """How closely two columns move together, beside what chance alone would show.

    If the second column is shuffled, the correlation coefficient has mean 0 and standard deviation
    1 / sqrt(count - 1), whatever the two columns hold (Pitman 1937, JRSS Supplement 4, 225-232). The coefficient of the
    ranks is then close to normal, so beyond a few standard errors it means dependence. The plain one need not be: where
    one latency outweighs all others, it is little more than the magnitude of that one draw, which hides a small
    dependence and, for noise with heavy tails, passes three standard errors in more than one case of a hundred.
    """

    count: int
    plain: float
    ranked: float
    standard_error: float


def run_once(action: Callable[[], object]) -> Cost:
    """Run the action and return what it took."""
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    action()
    cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    return Cost(wall, cpu)


def run_repeatedly(action: Callable[[], object], *, repeats: int, enough_ns: int = 0) -> Timing:
    """Run the action so many times, and on until the runs have taken `enough_ns` of CPU time together."""
    runs: list[Cost] = []
    while len(runs) < repeats or sum(run.cpu_ns for run in runs) < enough_ns:
        runs.append(run_once(action))
    return Timing(tuple(runs))


def measure_rate(
    draw: Callable[[int], object], *, most: int, least: int = 1, repeats: int = 5, enough_ns: int = ENOUGH_NS
) -> Rate:
    """Find how many draws `draw(n)` makes a second, with an n that is large enough to tell and at most `most`.

    The search for n also warms caches and tables up. A run beyond TOO_LONG_NS is taken as it is.
    """
    draws = least
    cost = run_once(partial(draw, draws))
    while cost.cpu_ns < LONG_ENOUGH_NS and draws < most:
        growth = 2 * LONG_ENOUGH_NS / max(cost.cpu_ns, 1)
        draws = min(most, math.ceil(draws * min(max(growth, 2), 10)))
        cost = run_once(partial(draw, draws))
    timing = Timing((cost,))
    if cost.cpu_ns <= TOO_LONG_NS:
        timing = run_repeatedly(partial(draw, draws), repeats=repeats, enough_ns=enough_ns)
    return Rate(
        draws=draws,
        repeats=len(timing.runs),
        cpu=draws * 1e9 / max(timing.best.cpu_ns, 1),
        cpu_median=draws * 1e9 / max(timing.median.cpu_ns, 1),
        wall=draws * 1e9 / max(timing.best.wall_ns, 1),
        wall_median=draws * 1e9 / max(timing.median.wall_ns, 1),
    )


def measure_latencies(draw: Callable[[], float], count: int) -> tuple[list[int], list[float]]:
    """Time `count` single draws one by one; return the nanoseconds and the values.

    Both lists exist before the first draw, so that storing a value allocates and frees nothing between the clocks.
    """
    clock = time.perf_counter_ns
    latencies = [0] * count
    values: list[float] = [0] * count
    for i in range(count):
        start = clock()
        value = draw()
        end = clock()
        latencies[i] = end - start
        values[i] = value
    return latencies, values


def measure_peak_bytes(action: Callable[[], object]) -> int:
    """Return the most memory that the action held at once beyond what was held before it began.

    Python's own objects and NumPy's arrays report their memory to tracemalloc; other compiled code does not.
    """
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        kept = action()
        _, peak = tracemalloc.get_traced_memory()
        del kept
    finally:
        tracemalloc.stop()
    return peak - before


def ranks(column: Sequence[float]) -> list[float]:
    """Return the rank of each entry, from 1; equal entries share the mean of their ranks."""
    order = sorted(enumerate(column), key=itemgetter(1))
    result = [0.0] * len(order)
    start = 1
    for _, tied in groupby(order, key=itemgetter(1)):
        positions = [position for position, _ in tied]
        shared = start + (len(positions) - 1) / 2
        for position in positions:
            result[position] = shared
        start += len(positions)
    return result


def measure_dependence(latencies: Sequence[float], magnitudes: Sequence[float]) -> Dependence:
    """Compare the latencies of draws with their magnitudes; nothing is trimmed."""
    return Dependence(
        count=len(latencies),
        plain=correlation(latencies, magnitudes),
        ranked=correlation(ranks(latencies), ranks(magnitudes)),
        standard_error=1 / math.sqrt(len(latencies) - 1),
    )


def mean_magnitude(values: Sequence[float]) -> float:
    """Return the mean of the absolute values."""
    return mean(abs(float(value)) for value in values)
