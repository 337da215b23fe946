"""Speed and memory of the query engine beside plain DuckDB: `python -m benchmarks.queries_speed STEP FOLDER ROWS …`.

Each step runs in a process of its own, so that its peak memory is its own, and prints JSON. A step asks another, tiny
table, which loads what Python loads once; then us, notes the peak, and then takes turns with the plain query on the
same file: everything else on the machine can only make a run slower, so the fastest of equally many runs is compared.
A first question is asked of a few sources that were opened anew, as it is there only once for each.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.queries_cases import EPSILON
from benchmarks.queries_peers.discreet import Asker, policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.tables import Policy

GROUPS = 100
TURNS = 15
OPENINGS = 3
LONG = 20.0
"""A first question that takes so many seconds is asked once."""
BOUNDS = (0.0, 100.0)
QUESTION = "SELECT key, COUNT(*) AS n, SUM(value) AS s, AVG(value) AS m FROM visits GROUP BY key"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a step took, in seconds and in bytes of resident memory; `first` is the first question alone."""

    plain: float
    first: float
    later: float
    wall: float
    peak: int


def fill(source: str, rows: int, groups: int, units: int) -> str:
    """Write the query that invents rows: keys, units and skewed numbers by hashing, the same in every run."""
    return (
        f"SELECT (hash(i * 3 + 2) % {groups})::INTEGER AS key, (hash(i * 7 + 1) % {units})::BIGINT AS unit, "  # noqa: S608
        f"100 * pow((hash(i * 11 + 5) % 1000003) / 1000003.0, 2) AS value FROM {source}({rows}) AS r(i)"
    )


def write_database(path: Path, rows: int, groups: int = GROUPS) -> None:
    """Make a DuckDB file with a tenth as many units as rows."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE visits AS {fill('range', rows, groups, max(rows // 10, 1))}")


def write_parquet(path: Path, rows: int, groups: int = GROUPS) -> None:
    """Make a Parquet file; it is written as it is invented, in little memory."""
    with duckdb.connect(config={"memory_limit": "1GB", "preserve_insertion_order": False}) as connection:
        query = fill("range", rows, groups, max(rows // 10, 1))
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def peak_bytes() -> int:
    """Return the most resident memory that this process ever had."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def cpu_of(action: Callable[[], object]) -> float:
    """Return the CPU seconds of all threads of this process."""
    start = time.process_time()
    action()
    return time.process_time() - start


def compare(ours: Callable[[], object], plain: Callable[[], object], turns: int = TURNS) -> Measured:
    """Ask us once, note the peak, then both in turns."""
    first = cpu_of(ours)
    times: list[tuple[float, float, float]] = []
    ours()
    peak = peak_bytes()
    for _ in range(turns):
        base, wall = cpu_of(plain), time.perf_counter()
        times.append((base, cpu_of(ours), time.perf_counter() - wall))
    base, later, wall = (min(column) for column in zip(*times, strict=True))
    return Measured(base, first, later, wall, peak)


def asked(folder: Path, name: str, facts: Policy, epsilon: float) -> tuple[Asker, Callable[[], object]]:
    """Open a file or a folder with the policy of the benchmark; give the question as an action."""
    source = folder / f"{name}.duckdb"
    asker = Asker.of(facts, str(source if source.is_file() else folder / name))
    return asker, lambda: asker.sql(QUESTION).release(epsilon=epsilon).to_arrow()


def plain(folder: Path, name: str) -> Callable[[], object]:
    """Give the same question to DuckDB alone."""
    source = folder / f"{name}.duckdb"
    if source.is_file():
        connection = duckdb.connect(str(source), read_only=True)
    else:
        connection = duckdb.connect()
        path = folder / name / "visits.parquet"
        connection.execute(f"CREATE VIEW visits AS SELECT * FROM '{path}'")  # noqa: S608  our own file
    return lambda: connection.sql(QUESTION).to_arrow_table()


def warm_up(rows_per_unit: int | None) -> None:
    """Ask the same question about three rows of another dataset."""
    data = pa.table({"key": [0, 1, 1], "unit": [1, 2, 2], "value": [1.0, 2.0, 3.0]})
    with closing(Asker.of(policy(GROUPS, BOUNDS, rows_per_unit), {"visits": data})) as asker:
        asker.sql(QUESTION).release(epsilon=EPSILON).to_arrow()


def large(folder: Path, name: str, groups: str, rows_per_unit: str, epsilon: str = str(EPSILON)) -> Measured:
    """Count, sum and mean of a large table; 0 groups are unknown ones, 0 rows per unit that a row is a unit."""
    warm_up(int(rows_per_unit) or None)
    facts = policy(int(groups) or None, BOUNDS, int(rows_per_unit) or None)
    asker, ours = asked(folder, name, facts, float(epsilon))
    with closing(asker):
        found = compare(ours, plain(folder, name))
    firsts = [found.first]
    for _ in range(OPENINGS - 1 if found.first < LONG else 0):
        asker, ours = asked(folder, name, facts, float(epsilon))
        with closing(asker):
            firsts.append(cpu_of(ours))
    return replace(found, first=min(firsts))


def small(query: str, rows_per_unit: str) -> Measured:
    """Ask a thousand rows in memory, planned anew each time."""
    draw = np.random.default_rng(1)
    rows = {"key": draw.integers(0, 5, 1000), "unit": draw.integers(0, 300, 1000), "value": draw.random(1000) * 100}
    data = pa.table(rows)
    with closing(Asker.of(policy(5, BOUNDS, int(rows_per_unit) or None), {"visits": data})) as asker:
        connection = duckdb.connect()
        connection.register("visits", data)
        return compare(
            lambda: asker.sql(query).release(epsilon=EPSILON).to_arrow(),
            lambda: connection.sql(query).to_arrow_table(),
            turns=30,
        )


def main() -> None:
    """Run the step that the arguments name."""
    step, *words = sys.argv[1:]
    if step == "large":
        found = large(Path(words[0]), *words[1:])
    elif step == "small":
        found = small(*words)
    else:
        message = f"step is {step}; it must be large or small"
        raise SystemExit(message)
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
