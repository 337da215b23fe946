"""Answer questions to tables in the environment of one library: `python -m benchmarks.queries_worker NAME …`.

    NAME accuracy REPETITIONS SECONDS TABLE …     how far answers are off, for every statistic of every table
    NAME speed REPETITIONS SECONDS TABLE …        CPU time of count, sum and mean of all groups, for every table

The versions are printed as a line of JSON, then each result as another, so that what is done by the time the worker is
stopped is known; and one line goes to the error stream for every question that is done. CPU time is that of this
process and of all processes that it started: Spark works in one of its own.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, cast

from benchmarks.queries_cases import Rows, Statistic, errors, summary, truth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from benchmarks.queries_cases import Library, Way

FEWEST = 2
PROCESSES = Path("/proc")
CHILDREN_OF, USER, SYSTEM = 1, 11, 12
"""Where /proc/PID/stat says these, counted from behind the program's name."""


def descendants_cpu() -> float:
    """Sum the CPU seconds of all living processes below this one; 0 where the system does not tell."""
    found: dict[int, tuple[int, int]] = {}
    for path in PROCESSES.glob("[0-9]*/stat") if PROCESSES.is_dir() else ():
        try:
            words = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        found[int(path.parent.name)] = (int(words[CHILDREN_OF]), int(words[USER]) + int(words[SYSTEM]))
    below, ticks = {os.getpid()}, 0
    while more := {pid for pid, (parent, _) in found.items() if parent in below and pid not in below}:
        below |= more
        ticks += sum(found[pid][1] for pid in more)
    return ticks / os.sysconf("SC_CLK_TCK")


def tree_cpu() -> float:
    """Sum the CPU seconds of this process and all below it.

    >>> tree_cpu() > 0
    True
    """
    return time.process_time() + descendants_cpu()


def measure(rows: Rows, statistic: Statistic, way: Way, repetitions: int, seconds: float) -> dict[str, object]:
    """Ask again and again; a way that raises is reported with what it says."""
    exact = truth(rows, statistic)
    found: list[NDArray[np.float64]] = []
    start = time.perf_counter()
    try:
        while len(found) < repetitions:
            found.append(errors(rows, exact, way()))
            if time.perf_counter() - start > seconds and len(found) >= FEWEST:
                break
    except Exception as problem:  # noqa: BLE001  whatever a peer raises stands in the table
        return {"figure": None, "standard_error": None, "runs": len(found), "refusal": repr(problem)[:200]}
    figure, spread = summary(found)
    return {"figure": figure, "standard_error": spread, "runs": len(found), "refusal": ""}


def accuracy(library: Library, tables: list[Rows], repetitions: int, seconds: float) -> Iterator[dict[str, object]]:
    """Answer every statistic of every table."""
    for rows in tables:
        for statistic in Statistic:
            for way, answer in library.ways(rows, statistic).items():
                result = measure(rows, statistic, answer, repetitions, seconds)
                yield {"table": rows.name, "statistic": statistic.value, "way": way, **result}
            print(f"done {rows.name}: {statistic.value}", file=sys.stderr, flush=True)


def timed(action: Callable[[], object], repetitions: int, seconds: float) -> dict[str, object]:
    """Ask again and again; the fastest run is the closest to the library's own cost."""
    start = time.perf_counter()
    walls: list[float] = []
    cpus: list[float] = []
    try:
        while len(cpus) < repetitions and (not cpus or time.perf_counter() - start < seconds):
            wall, cpu = time.perf_counter(), tree_cpu()
            action()
            cpus.append(tree_cpu() - cpu)
            walls.append(time.perf_counter() - wall)
    except Exception as problem:  # noqa: BLE001  whatever a peer raises stands in the table
        return {"cpu": None, "wall": None, "runs": len(cpus), "refusal": repr(problem)[:200]}
    return {"cpu": min(cpus), "wall": min(walls), "runs": len(cpus), "refusal": ""}


def speed(library: Library, tables: list[Rows], repetitions: int, seconds: float) -> Iterator[dict[str, object]]:
    """Time count, sum and mean of every table."""
    for rows in tables:
        action = library.together(rows)
        if action is not None:
            yield {"table": rows.name, **timed(action, repetitions, seconds)}
        print(f"done {rows.name}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure the library whose name is the first argument."""
    name, kind, repetitions, seconds, *paths = sys.argv[1:]
    library = cast("Library", importlib.import_module(f"benchmarks.queries_peers.{name}"))
    tables = [Rows.load(Path(path)) for path in paths]
    work = {"accuracy": accuracy, "speed": speed}[kind]
    print(json.dumps({distribution: version(distribution) for distribution in library.DISTRIBUTIONS}), flush=True)
    for row in work(library, tables, int(repetitions), float(seconds)):
        print(json.dumps(row, allow_nan=False), flush=True)


if __name__ == "__main__":
    main()
