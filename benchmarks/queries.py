"""Speed, memory and accuracy of the query engine: `python -m benchmarks.queries`.

Count, sum and mean by group of ten million rows beside plain DuckDB on the same file; a hundred million rows of a
Parquet file; a million groups, known and unknown; small questions; the peers at the size that they can take; and the
error of every statistic beside the peers', on the same rows and public facts. With --spark, ten million rows on a
cluster of two workers.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

import discreet
from benchmarks import queries_spark
from benchmarks.mechanisms import Progress
from benchmarks.noise import fingerprint
from benchmarks.queries_cases import DATA, Rows, Statistic, tables
from benchmarks.queries_peers import FLOOR, OWN, PEERS, TITLES
from benchmarks.queries_speed import GROUPS, QUESTION, write_database, write_parquet
from benchmarks.report import (
    Direction,
    Figure,
    Target,
    Verdict,
    describe_machine,
    divide,
    format_table,
    make_document,
    summarize,
    write_document,
)
from benchmarks.setup import interpreter, why_missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
SIGMAS = 3
RACE_CAP = 150.0
"""So many seconds each worker of the race may take in all."""
CELLS, SPARE = 18, 300.0
"""Statistics of all tables; and so many seconds a worker may take in all beyond its time for each of them."""
GIGABYTE = 1_000
SPARK = "spark"
"""The part that runs only when it is asked for: a cluster takes a minute to start."""
ROW_LIMIT, FIRST_LIMIT, LATER_LIMIT, GROUPS_LIMIT, SMALL_LIMIT = 1.5, 20.0, 2.5, 2.0, 10.0
UNKNOWN_LIMIT, SHOWN_LIMIT = 2.0, 3.0
MANY_SHOWN = "20"
"""An epsilon at which nearly all keys of ten rows are shown; at 1 it is some hundred of a million."""
FEW_ROWS, USUAL_ROWS = 4, 20
"""Rows that a unit may have: below what nearly all have, and above it. On average they have 10."""
QUESTIONS = {
    "count of all": "SELECT COUNT(*) AS n FROM visits",
    "count, sum, mean of 5 groups": QUESTION,
    "median of 5 groups": "SELECT key, MEDIAN(value) AS m FROM visits GROUP BY key",
}


class Row(TypedDict):
    """What a worker says of one way to answer one question."""

    table: str
    statistic: str
    way: str
    figure: float | None
    standard_error: float | None
    runs: int
    refusal: str


class Sizes(TypedDict):
    """How large everything is."""

    rows: int
    parquet: int
    groups: int
    peers: int


FULL = Sizes(rows=10_000_000, parquet=100_000_000, groups=1_000_000, peers=1_000_000)
QUICK = Sizes(rows=1_000_000, parquet=5_000_000, groups=100_000, peers=50_000)


def run_step(*words: str) -> dict[str, float] | str:
    """Run a step of `benchmarks.queries_speed`; return what it measured, or why it failed."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.queries_speed", *words]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  our interpreter
    if run.returncode:
        return (run.stderr.strip().splitlines() or ["failed without a word"])[-1]
    return cast("dict[str, float]", json.loads(run.stdout.splitlines()[-1]))


def run_worker(library: str, words: Sequence[str], progress: Progress, most: float) -> dict[str, Any]:
    """Run a library's worker in its environment, for so many seconds at most.

    A peer without an environment, or whose worker fails or is stopped, is reported as missing, with the reason; what it
    has measured by then counts.
    """
    python = sys.executable
    if library in PEERS:
        if reason := why_missing(library):
            return {"missing": reason, "versions": {}, "rows": []}
        python = str(interpreter(library))
    command = [python, "-W", "ignore", "-m", "benchmarks.queries_worker", library, *words]
    said, stopped = [], threading.Event()
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(  # noqa: S603  our interpreters
            command, cwd=ROOT, stdout=output, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as worker,
        stopped_after(most, worker, stopped),
    ):
        assert worker.stderr is not None  # noqa: S101  for the type checker
        for line in worker.stderr:
            if line.startswith("done "):
                progress.step(f"{TITLES[library]}: {line.removeprefix('done ').strip()}")
            elif line.strip():
                said.append(line.strip())
        worker.wait()
        output.seek(0)
        versions, *rows = [json.loads(line) for line in output.read().splitlines() if line.endswith("}")] or [{}]
    missing = f"its worker failed: {(said or ['without a word'])[-1]}" if worker.returncode else ""
    if stopped.is_set():
        missing = f"its worker was stopped after {most:.0f} s"
    return {"missing": missing, "versions": versions, "rows": rows}


@contextmanager
def stopped_after(seconds: float, worker: subprocess.Popen[str], stopped: threading.Event) -> Iterator[None]:
    """End a worker that takes too long, with all processes that it started: they are a group of their own."""

    def stop() -> None:
        stopped.set()
        os.killpg(worker.pid, signal.SIGKILL)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def ratio_figure(section: str, case: str, times: tuple[float, float], limit: float | None) -> Figure:
    """Make a row of a CPU time as a multiple of the plain query's."""
    time, base = times
    note = f"{time:.3f} s CPU; plain {base:.3f} s"
    target = None if limit is None else Target(Direction.AT_MOST, limit, "× plain")
    return Figure(section, case, TITLES[OWN], time / base, "× plain", target=target, note=note)


def failed(section: str, case: str, unit: str, limit: float | None, reason: str) -> Figure:
    """Make a row of what could not be measured."""
    target = None if limit is None else Target(Direction.AT_MOST, limit, unit)
    return Figure(section, case, TITLES[OWN], None, unit, target=target, note=reason)


def memory_figure(section: str, case: str, peak: float) -> Figure:
    """Make a row of a process's peak of resident memory."""
    target = Target(Direction.AT_MOST, GIGABYTE, "MB")
    return Figure(section, f"{case}, peak memory", TITLES[OWN], peak / 1e6, "MB", target=target)


def large_figures(
    section: str, case: str, found: Mapping[str, float] | str, limits: tuple[float | None, float | None]
) -> Iterator[Figure]:
    """Compare the first and the later questions with the plain one, and the peak with a gigabyte."""
    if isinstance(found, str):
        yield failed(section, case, "× plain", next((limit for limit in limits if limit is not None), None), found)
        return
    for when, limit in zip(("first", "later"), limits, strict=True):
        if when == "later" or limit is not None:
            yield ratio_figure(section, f"{case}, {when}", (found[when], found["plain"]), limit)
    yield memory_figure(section, case, found["peak"])


def speed_figures(folder: Path, sizes: Sizes, progress: Progress) -> Iterator[Figure]:
    """Measure large tables of a DuckDB file."""
    section = f"{sizes['rows']:,} rows, {sizes['rows'] // 10:,} units, {GROUPS} known groups: count, sum, mean"
    write_database(folder / "large.duckdb", sizes["rows"])
    progress.step("large table written")
    cases = {
        "row unit": (0, (None, ROW_LIMIT)),
        f"user unit, {USUAL_ROWS} rows each": (USUAL_ROWS, (FIRST_LIMIT, LATER_LIMIT)),
        f"user unit, {FEW_ROWS} rows each": (FEW_ROWS, (FIRST_LIMIT, LATER_LIMIT)),
    }
    for case, (limit, limits) in cases.items():
        found = run_step("large", str(folder), "large", str(GROUPS), str(limit))
        yield from large_figures(section, case, found, limits)
        progress.step(case)
    (folder / "large.duckdb").unlink()


def groups_figures(folder: Path, sizes: Sizes, progress: Progress) -> Iterator[Figure]:
    """Measure many groups."""
    section = f"{sizes['groups']:,} known groups of {sizes['rows']:,} rows: count, sum, mean"
    write_database(folder / "groups.duckdb", sizes["rows"], sizes["groups"])
    found = run_step("large", str(folder), "groups", str(sizes["groups"]), "0")
    yield from large_figures(section, "release and table", found, (None, GROUPS_LIMIT))
    progress.step("many groups")
    section = f"{sizes['groups']:,} unknown groups of {sizes['rows']:,} rows: count, sum, mean"
    cases = {
        "row unit, hardly any shown": ("0", "1", UNKNOWN_LIMIT),
        "row unit, nearly all shown": ("0", MANY_SHOWN, SHOWN_LIMIT),
        f"user unit, {USUAL_ROWS} rows each": (str(USUAL_ROWS), "1", None),
    }
    for case, (rows, epsilon, limit) in cases.items():
        found = run_step("large", str(folder), "groups", "0", rows, epsilon)
        yield from large_figures(section, case, found, (None, limit))
        progress.step(case)
    (folder / "groups.duckdb").unlink()


def parquet_figures(folder: Path, sizes: Sizes, progress: Progress) -> Iterator[Figure]:
    """Measure a large Parquet file; only memory has a target."""
    section = f"{sizes['parquet']:,} rows of a Parquet file: count, sum, mean of {GROUPS} groups"
    (folder / "parquet").mkdir()
    write_parquet(folder / "parquet" / "visits.parquet", sizes["parquet"])
    progress.step("Parquet file written")
    for case, limit in (("row unit", 0), (f"user unit, {USUAL_ROWS} rows each", USUAL_ROWS)):
        found = run_step("large", str(folder), "parquet", str(GROUPS), str(limit))
        if isinstance(found, str):
            yield failed(section, case, "MB", GIGABYTE, found)
        else:
            for when in ("first", "later"):
                yield ratio_figure(section, f"{case}, {when}", (found[when], found["plain"]), None)
            yield memory_figure(section, case, found["peak"])
        progress.step(case)
    (folder / "parquet" / "visits.parquet").unlink()


def small_figures(progress: Progress) -> Iterator[Figure]:
    """Measure small questions end to end."""
    section = "Small questions: parse, plan, bound, run, noise, table; 1,000 rows in memory, CPU time"
    for unit, limit in (("row unit", 0), ("user unit", FEW_ROWS)):
        for case, query in QUESTIONS.items():
            found = run_step("small", query, str(limit))
            if isinstance(found, str):
                yield failed(section, f"{case}, {unit}", "ms", SMALL_LIMIT, found)
            else:
                target = Target(Direction.AT_MOST, SMALL_LIMIT, "ms")
                cpu, wall, base = (1e3 * found[each] for each in ("later", "wall", "plain"))
                note = f"plain DuckDB {base:.2f} ms"
                yield Figure(section, f"{case}, {unit}", TITLES[OWN], cpu, "ms", wall=wall, target=target, note=note)
            progress.step(f"{case}, {unit}")


def invented(rows: int, limit: int | None) -> Rows:
    """Make the table of the peers' race: as in `benchmarks.queries_speed`, in arrays."""
    import numpy as np

    draw = np.random.default_rng(rows)
    keys, units = draw.integers(0, GROUPS, rows), draw.integers(0, max(rows // 10, 1), rows)
    name = "row unit" if limit is None else f"user unit, {limit} rows each"
    return Rows(name, keys, 100 * draw.random(rows) ** 2, units, GROUPS, (0.0, 100.0), limit)


def race_figures(
    folder: Path, sizes: Sizes, libraries: Sequence[str], seconds: float, progress: Progress
) -> tuple[list[Figure], dict[str, Any]]:
    """Compare CPU times of all libraries, as multiples of the plain query's on the same rows."""
    section = f"{sizes['peers']:,} rows in memory, {GROUPS} known groups: count, sum, mean; CPU time"
    races = [invented(sizes["peers"], limit) for limit in (None, FEW_ROWS)]
    paths = []
    for place, rows in enumerate(races):
        paths.append(folder / f"race-{place}.npz")
        rows.save(paths[-1])
    words = ["speed", "5", str(seconds), *map(str, paths)]
    results = {each: run_worker(each, words, progress, RACE_CAP) for each in (FLOOR, *libraries)}
    figures = []
    for rows in races:
        times = {name: row for name, result in results.items() for row in result["rows"] if row["table"] == rows.name}
        base = times.get(FLOOR, {}).get("cpu")
        for name, result in results.items():
            row = times.get(name, {})
            cpu, wall = row.get("cpu"), row.get("wall")
            measured = f"{cpu:.3f} s CPU, best of {row['runs']}" if cpu else ""
            note = measured or row.get("refusal") or result["missing"]
            ours = divide(times.get(OWN, {}).get("cpu"), base)
            figures.append(
                Figure(
                    section,
                    rows.name,
                    TITLES[name],
                    divide(cpu, base),
                    "× plain",
                    wall=wall,
                    ratio=divide(ours, divide(cpu, base)) if name in PEERS else None,
                    compared=name in PEERS,
                    note=note,
                )
            )
    return figures, results


def target_of(ours: Row | None, theirs: Row) -> Target:
    """Allow the ratio three standard errors above 1.

    A slow peer gives few answers, and errors have heavy tails: two answers rarely hold a large one, so that both their
    RMSE and its standard error come out too small. The relative error of one answer is therefore taken from whoever
    gave more of them: a peer's is at least that of ours, for as many answers as it gave.

    >>> row = Row(table="", statistic="", way="", figure=2.0, standard_error=0.02, runs=200, refusal="")
    >>> str(target_of(row, row)), str(target_of(row, row | {"runs": 2, "standard_error": 0.0}))
    ('≤ 1.04243 ×', '≤ 1.3015 ×')
    """
    spread, single = 0.0, 0.0
    for row in (ours, theirs):
        if row is not None and row["figure"] and row["standard_error"] is not None:
            own = row["standard_error"] / row["figure"] * math.sqrt(row["runs"])
            single = max(single, own)
            spread += single**2 / row["runs"]
    return Target(Direction.AT_MOST, 1 + SIGMAS * math.sqrt(spread), "×")


def accuracy_figures(results: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> Iterator[Figure]:
    """Compare errors, question by question; what a peer does not offer is left out, a missing peer is not."""
    for table in names:
        section = f"RMSE by group at ε = 1: {table}"
        for library, result in results.items():
            if result.get("missing"):
                target = Target(Direction.AT_MOST, 1, "×")
                yield Figure(
                    section, "all", TITLES[library], None, "RMSE", compared=True, target=target, note=result["missing"]
                )
        for statistic in Statistic:
            found: dict[str, list[Row]] = {
                library: [row for row in result["rows"] if (row["table"], row["statistic"]) == (table, statistic.value)]
                for library, result in results.items()
            }
            ours = next((row for row in found.get(OWN, []) if row["figure"] is not None), None)
            for library, rows in found.items():
                for row in rows:
                    compared = library != OWN
                    note = row["refusal"] or f"{row['way']}; {row['runs']} answers"
                    yield Figure(
                        section,
                        statistic.value,
                        TITLES[library],
                        row["figure"],
                        "RMSE",
                        ratio=divide(None if ours is None else ours["figure"], row["figure"]) if compared else None,
                        compared=compared,
                        target=target_of(ours, row) if compared and row["figure"] is not None else None,
                        note=note,
                    )


def measure_accuracy(
    folder: Path, options: argparse.Namespace, libraries: Sequence[str], progress: Progress
) -> tuple[list[Figure], dict[str, Any]]:
    """Let every library answer every question to every table."""
    found = tables(options.data, quick=options.quick)
    paths = []
    for place, rows in enumerate(found):
        paths.append(folder / f"accuracy-{place}.npz")
        rows.save(paths[-1])
    words = ["accuracy", str(options.repetitions), str(options.seconds), *map(str, paths)]
    results = {each: run_worker(each, words, progress, CELLS * options.seconds + SPARE) for each in libraries}
    return list(accuracy_figures(results, [rows.name for rows in found])), results


def parsed() -> argparse.Namespace:
    """Read the arguments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queries", description="The query engine and its peers.")
    known, parts = (OWN, *PEERS), ("speed", "peers", "accuracy")
    spark = "start a cluster and measure Spark too (Java 17); --parts spark measures it alone"
    parser.add_argument("--only", nargs="+", choices=known, default=known, help="measure these libraries alone")
    parser.add_argument("--parts", nargs="+", choices=(*parts, SPARK), default=parts, help="measure these parts alone")
    parser.add_argument("--quick", action="store_true", help="smaller tables; the ratios are then rough")
    parser.add_argument("--spark", action="store_true", help=spark)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data (adult-raw)")
    parser.add_argument("--repetitions", type=int, default=200, help="how often each question is asked")
    parser.add_argument("--seconds", type=float, default=5.0, help="when a way is asked no more for one table")
    parser.add_argument("--strict", action="store_true", help="exit with 1 unless every target is met")
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error(f"--repetitions is {options.repetitions}; ask at least once")
    return options


def measure(options: argparse.Namespace) -> tuple[list[Figure], dict[str, Any]]:
    """Run all parts that are asked for."""
    sizes = QUICK if options.quick else FULL
    libraries = [library for library in (OWN, *PEERS) if library in options.only]
    racing = [library for library in libraries if library != "diffprivlib"]
    speed, race, accurate = (part in options.parts for part in ("speed", "peers", "accuracy"))
    spark = options.spark or SPARK in options.parts
    steps = 17 * speed + 2 * (len(racing) + 1) * race + CELLS * len(libraries) * accurate
    progress = Progress(steps + queries_spark.STEPS * spark)
    figures: list[Figure] = []
    details: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="discreet-queries-") as name:
        folder = Path(name)
        if speed:
            for part in (speed_figures, groups_figures, parquet_figures):
                figures += part(folder, sizes, progress)
            figures += small_figures(progress)
        if race:
            found, details["peers"] = race_figures(folder, sizes, racing, options.seconds, progress)
            figures += found
        if accurate:
            found, details["accuracy"] = measure_accuracy(folder, options, libraries, progress)
            figures += found
        if spark:
            figures += queries_spark.figures(folder, sizes["rows"], progress)
    return figures, details


def main() -> int:
    """Measure, print, write; with --strict return 1 unless every target is met."""
    options = parsed()
    sources = Path(discreet.__file__).parent
    machine = {**describe_machine(), "sources": fingerprint(sources)}
    figures, details = measure(options)
    results = [(library, result) for part in details.values() for library, result in part.items()]
    versions = {name: found for _, result in results for name, found in result["versions"].items()}
    print(format_table(figures), end="\n\n")
    print(summarize(figures))
    for line in dict.fromkeys(f"  {TITLES[name]}: {each['missing']}" for name, each in results):
        if not line.endswith(": "):
            print(line)
    print(", ".join(f"{name} {found}" for name, found in {**machine, **versions}.items()))
    document = make_document("queries", figures, machine=machine, versions=versions, details=details)
    print(f"written: {write_document(document).relative_to(ROOT)}")
    if fingerprint(sources) != machine["sources"]:
        print("The sources changed during the run: these figures mix versions. Run again.", file=sys.stderr)
        return 1
    return int(options.strict and any(figure.verdict in {Verdict.MISSED, Verdict.UNMEASURED} for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
