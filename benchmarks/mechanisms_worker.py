"""Answer every question often in the environment of one library: `python -m benchmarks.mechanisms_worker NAME`.

The arguments are the library, the number of repetitions and the seconds after which a slow way is given up; the result
is printed as JSON, and one line to the error stream for every way that is done.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from benchmarks.questions import QUESTIONS, Question, error, summary

if TYPE_CHECKING:
    from benchmarks.questions import Library, Way

FEWEST = 30


def measure(question: Question, way: Way, repetitions: int, seconds: float) -> dict[str, object]:
    """Ask again and again; a way that raises is reported with what it says."""
    errors: list[float] = []
    start, cpu = time.perf_counter(), time.process_time_ns()
    try:
        while len(errors) < repetitions:
            errors.append(error(question, way()))
            if time.perf_counter() - start > seconds and len(errors) >= FEWEST:
                break
    except Exception as problem:  # noqa: BLE001  whatever a peer raises stands in the table
        return {
            "figure": None,
            "standard_error": None,
            "runs": len(errors),
            "cpu": None,
            "refusal": repr(problem)[:200],
        }
    figure, spread = summary(question, errors)
    each = (time.process_time_ns() - cpu) / 1e9 / len(errors)
    return {"figure": figure, "standard_error": spread, "runs": len(errors), "cpu": each, "refusal": ""}


def main() -> None:
    """Measure the library whose name is the first argument."""
    name, repetitions, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    library = cast("Library", importlib.import_module(f"benchmarks.statistics.{name}"))
    rows = []
    for question in QUESTIONS:
        for way, answer in library.ways(question).items():
            rows.append({"question": str(question), "way": way, **measure(question, answer, repetitions, seconds)})
        print(f"done {question}", file=sys.stderr, flush=True)
    versions = {distribution: version(distribution) for distribution in library.DISTRIBUTIONS}
    json.dump({"versions": versions, "rows": rows}, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main()
