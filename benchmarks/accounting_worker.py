"""Measure one accountant in the environment that holds it: `python -m benchmarks.accounting_worker NAME` prints JSON.

`NAME memory INDEX` answers one case and prints the peak of the process's resident memory instead.
"""

from __future__ import annotations

import importlib
import json
import math
import resource
import signal
import sys
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

from benchmarks.accountants import OWN
from benchmarks.accounting_cases import CASES, FIXED_SIZE
from benchmarks.measure import Timing, run_once, run_repeatedly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.accounting_cases import Accountant, Answer

LIMIT_SECONDS = 8
"""An answer that takes more CPU time than this is given up."""

LIMIT_BYTES = 8 * 2**30
"""A peer that asks for more data than this gets a MemoryError, as it would on a smaller machine."""

REPEATED_NS = 1_000_000_000
"""An answer that takes longer is not repeated."""

ENOUGH_NS = 150_000_000
"""Answers are repeated for about this long, at least LEAST_REPEATS and at most MOST_REPEATS times."""

LEAST_REPEATS = 3
MOST_REPEATS = 50


class GaveUpError(Exception):
    """An answer took too long."""


def _stop(signum: int, frame: object) -> None:
    del signum, frame
    raise GaveUpError


@contextmanager
def limited() -> Iterator[None]:
    """Interrupt what takes more than the allowed CPU time, at the next Python instruction."""
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def measure_answer(answer: Answer) -> dict[str, object]:
    """Return what an accountant says and what that costs; `refusal` is what it said if it gave no number."""
    found: list[tuple[float | None, float]] = []
    try:
        with limited():
            first = run_once(lambda: found.append(answer()))
    except GaveUpError:
        return {"cpu": float(LIMIT_SECONDS), "refusal": f"gave up after {LIMIT_SECONDS} s of CPU time"}
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its answer
        return {"cpu": None, "refusal": f"{type(error).__name__}: {error}"[:100]}
    timing = Timing((first,))
    if first.cpu_ns <= REPEATED_NS:
        repeats = min(max(ENOUGH_NS // max(first.cpu_ns, 1), LEAST_REPEATS), MOST_REPEATS)
        runs = run_repeatedly(answer, repeats=repeats).runs
        timing = Timing(
            tuple(run for run in runs if run.cpu_ns > 0) or (first,)
        )  # a clock that stood still says nothing
    lower, epsilon = found[0]
    return {
        "lower": lower if lower is not None and math.isfinite(lower) else None,
        "epsilon": epsilon if math.isfinite(epsilon) else None,
        "cpu": timing.best.cpu_ns / 1e9,
        "cpu_median": timing.median.cpu_ns / 1e9,
        "wall": timing.best.wall_ns / 1e9,
        "repeats": len(timing.runs),
        "refusal": "" if math.isfinite(epsilon) else f"answers {epsilon}",
    }


def measure_cases(library: Accountant) -> list[dict[str, object]]:
    """Measure every way to answer every case."""
    rows = []
    for case in CASES:
        for way, answer in library.ways(case).items():
            print(f"  {case}: {way}", file=sys.stderr, flush=True)
            rows.append({"case": str(case), "way": way, **measure_answer(answer)})
    return rows


def peak_bytes() -> int:
    """Return the most resident memory that this process has held since it began."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the parent held when it forked
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measure the accountant whose name is the first argument."""
    name, *rest = sys.argv[1:]
    if name != OWN:
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES))
    library = cast("Accountant", importlib.import_module(f"benchmarks.accountants.{name}"))
    if rest[:1] == ["memory"]:
        (answer,) = library.ways(CASES[int(rest[1])]).values()
        with limited():
            answer()
        json.dump({"peak_bytes": peak_bytes()}, sys.stdout)
        return
    sigma, rate, steps, delta = FIXED_SIZE
    result = {
        "versions": {distribution: version(distribution) for distribution in library.DISTRIBUTIONS},
        "fixed_size": library.fixed_size(float(sigma), float(rate), steps, float(delta)),
        "rows": measure_cases(library),
    }
    json.dump(result, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main()
