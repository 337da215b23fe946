"""What our samplers cost beside their speed: tables at the first use of a scale, and peak memory."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.cases import BATCH_CASES, Case, Family
from benchmarks.libraries.discreet import sampler, taker
from benchmarks.measure import measure_peak_bytes, run_once

if TYPE_CHECKING:
    from collections.abc import Callable

FRESH_SCALES = 9
MEMORY_DRAWS = 1_000_000


@dataclass(frozen=True, slots=True)
class FirstUse:
    """CPU time in milliseconds; a table's is the first call's minus that of the next call, which finds the table."""

    case: Case
    table_worst: float
    table_median: float
    cached_median: float
    single_worst: float
    """The first single draw of a scale: the table and a filled pool."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The peak of one call, beside the size of what it returns."""

    case: Case
    peak_bytes: int
    output_bytes: int


def _milliseconds(action: Callable[[], object]) -> float:
    return run_once(action).cpu_ns / 1e6


def measure_first_use(case: Case) -> FirstUse:
    """Use scales near the case's that nothing has used before."""
    draw = sampler(case.family)
    tables, cached, singles = [], [], []
    for i in range(1, FRESH_SCALES + 1):
        scale = case.scale + Fraction(i, 1009)
        first, again = (_milliseconds(partial(draw, scale, 1)) for _ in range(2))
        tables.append(first - again)
        cached.append(again)
        singles.append(_milliseconds(taker(case.family, scale + Fraction(1, 2))))
    return FirstUse(case, max(tables), median(tables), median(cached), max(singles))


def measure_memory(case: Case) -> Memory:
    """Measure one call that returns a million draws, with its table already there."""
    draw = sampler(case.family)
    scale = Fraction(case.scale)
    draw(scale, 1)
    peak = measure_peak_bytes(partial(draw, scale, MEMORY_DRAWS))
    return Memory(case, peak, 8 * MEMORY_DRAWS)


def measure_all_first_uses() -> list[FirstUse]:
    """Measure the first use of every family at every scale."""
    draw = sampler(Family.DISCRETE_LAPLACE)
    draw(Fraction(7, 3), 1)  # imports, keys and the first block of bits are not part of a table
    return [measure_first_use(case) for case in BATCH_CASES]


def measure_all_memory() -> list[Memory]:
    """Measure the peak memory of every family at every scale."""
    return [measure_memory(case) for case in BATCH_CASES]
