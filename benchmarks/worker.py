"""Measure one noise library in the environment that holds it: `python -m benchmarks.worker NAME` prints JSON.

With a second argument, `batches`, only many draws a call are measured.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from benchmarks.cases import BATCH_CASES, LATENCY_CASES, SINGLE_CASES, Case, expected_magnitude
from benchmarks.libraries import FLOORS
from benchmarks.measure import (
    mean_magnitude,
    measure_dependence,
    measure_latencies,
    measure_rate,
    run_once,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.cases import Batch, Library, Single

MOST_DRAWS = 1_000_000
LEAST_DRAWS = 10
CHECKED_DRAWS = 2_000
TOLERANCE = 0.25
LATENCY_DRAWS = 200_000
LATENCY_BUDGET_NS = 4_000_000_000


class WrongLawError(Exception):
    """A library was called in a way that gives other noise than the case asks for."""


def check_law(case: Case, draw: Batch) -> float:
    """Return the mean magnitude of some draws; raise if it is far from the law's.

    The mean of 2,000 draws has a standard error below 4 percent, and integers that are rounded floats (python-dp's) are
    13 percent too wide at scale 1. The check is there to catch a scale given in the wrong unit, not a subtle bias.
    """
    found = mean_magnitude(cast("Sequence[float]", draw(CHECKED_DRAWS)))
    expected = expected_magnitude(case)
    if abs(found / expected - 1) > TOLERANCE:
        message = f"{case}: the mean magnitude is {found:g}, the law's is {expected:g}"
        raise WrongLawError(message)
    return found


def _name(case: Case) -> dict[str, object]:
    return {"family": case.family.value, "scale": case.scale}


def measure_batches(library: Library, *, exempt: bool) -> list[dict[str, object]]:
    """Measure every way to make many draws, in every case; a floor is exempt from following the case's law."""
    rows = []
    for case in BATCH_CASES:
        for way, draw in library.batches(case).items():
            print(f"  {case}: {way}", file=sys.stderr, flush=True)
            rate = measure_rate(draw, most=MOST_DRAWS, least=LEAST_DRAWS)
            checked = check_law(case, draw) if rate.cpu > CHECKED_DRAWS and not exempt else None
            rows.append({**_name(case), "way": way, "mean_magnitude": checked, **asdict(rate)})
    return rows


def measure_singles(library: Library) -> list[dict[str, object]]:
    """Measure single draws in a plain loop; a pool's refills are part of it."""
    rows = []
    for case in SINGLE_CASES:
        draw = library.single(case)
        if draw is None:
            continue
        print(f"  single {case}", file=sys.stderr, flush=True)
        rate = measure_rate(partial(_loop, draw), most=MOST_DRAWS, least=LEAST_DRAWS)
        rows.append({**_name(case), **asdict(rate)})
    return rows


def _loop(draw: Single, count: int) -> None:
    for _ in range(count):
        draw()


def measure_references(library: Library) -> list[dict[str, object]]:
    """Measure what is timed beside the noise."""
    return [
        {"way": way, **asdict(measure_rate(make, most=MOST_DRAWS, least=LEAST_DRAWS))}
        for way, make in library.references().items()
    ]


def measure_timing(library: Library) -> list[dict[str, object]]:
    """Compare the latency of single draws with their magnitudes."""
    rows = []
    for case in LATENCY_CASES:
        draw = library.single(case)
        if draw is None:
            continue
        print(f"  latency {case}", file=sys.stderr, flush=True)
        trial = run_once(partial(measure_latencies, draw, 100))
        count = min(LATENCY_DRAWS, LATENCY_BUDGET_NS * 100 // max(trial.wall_ns, 1))
        if count < CHECKED_DRAWS:
            continue
        latencies, values = measure_latencies(draw, count)
        dependence = measure_dependence(latencies, [abs(float(value)) for value in values])
        latencies.sort()
        quantiles = {f"p{q}_ns": latencies[count * q // 100] for q in (50, 99)} | {"max_ns": latencies[-1]}
        rows.append({**_name(case), **quantiles, **asdict(dependence)})
    return rows


def main() -> None:
    """Measure the library whose name is the first argument."""
    name, *parts = sys.argv[1:]
    library = cast("Library", importlib.import_module(f"benchmarks.libraries.{name}"))
    result: dict[str, object] = {
        "versions": {distribution: version(distribution) for distribution in library.DISTRIBUTIONS},
        "batches": measure_batches(library, exempt=name in FLOORS),
    }
    if parts != ["batches"]:
        result["singles"] = measure_singles(library)
        result["references"] = measure_references(library)
        result["timing"] = measure_timing(library)
    json.dump(result, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main()
