"""Speed, memory and timing of the samplers: `python -m benchmarks.noise`.

Ours, the unsafe floor (NumPy), the floor of random bits (AES-256-CTR) and the peers, each in a process of its own, one
after the other, in one run. Rates are draws per second of CPU time, with wall time beside them. Where a target is a
ratio, both sides are measured in several rounds, in turns, and the best round of each counts: what else the
machine does changes from minute to minute and would otherwise fall on one side alone.

A ratio is our median divided by the other's best. The best of many short runs is luckier than the best of a few
long ones, and ours are the short ones; so best against best would flatter us.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import discreet
from benchmarks import footprint
from benchmarks.cases import BATCH_CASES, LATENCY_CASES, SINGLE_CASES, Case, Family
from benchmarks.libraries import FLOORS, OWN, PEERS, TITLES
from benchmarks.report import (
    Direction,
    Figure,
    Target,
    Verdict,
    describe_machine,
    divide,
    format_number,
    format_table,
    make_document,
    summarize,
    write_document,
)
from benchmarks.setup import interpreter, why_missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
DISCRETE = (Family.DISCRETE_LAPLACE, Family.DISCRETE_GAUSSIAN)

OVER_OPENDP = Target(Direction.AT_LEAST, 500, "×")
OVER_OPENDP_FLOATS = Target(Direction.AT_LEAST, 100, "×")
OVER_NUMPY = Target(Direction.AT_LEAST, 0.8, "×")
NUMPY_SCALES = 1_000
SINGLE = Target(Direction.AT_MOST, 5, "µs")
TABLE = Target(Direction.AT_MOST, 50, "ms")
ROUNDS = 3
IN_ROUNDS = (OWN, "numpy", "opendp")
MEMORY = Target(Direction.AT_MOST, 3, "× output")


class Batch(TypedDict):
    """What the worker says of one way to make many draws."""

    family: str
    scale: int
    way: str
    draws: int
    repeats: int
    cpu: float
    cpu_median: float
    wall: float
    wall_median: float


class Single(TypedDict):
    """What the worker says of single draws."""

    family: str
    scale: int
    cpu: float
    wall: float


class Reference(TypedDict):
    """What the worker says of something that is no noise."""

    way: str
    cpu: float
    wall: float


class Timing(TypedDict):
    """What the worker says of latencies."""

    family: str
    scale: int
    count: int
    plain: float
    ranked: float
    standard_error: float
    p50_ns: int
    p99_ns: int
    max_ns: int


class Result(TypedDict):
    """What the worker says of a library; `missing` is the reason if it could not run."""

    missing: str
    versions: dict[str, str]
    batches: list[Batch]
    singles: list[Single]
    references: list[Reference]
    timing: list[Timing]


Results = dict[str, Result]


def run_worker(library: str, *parts: str) -> Result:
    """Measure a library in its environment; a peer without one is reported as missing, with the reason."""
    empty = Result(missing="", versions={}, batches=[], singles=[], references=[], timing=[])
    python = sys.executable
    if library in PEERS:
        if reason := why_missing(library):
            return Result(**{**empty, "missing": reason})
        python = str(interpreter(library))
    command = [python, "-m", "benchmarks.worker", library, *parts]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - our interpreters
    if run.returncode:
        return Result(**{**empty, "missing": f"its worker failed with exit code {run.returncode}, see above"})
    return Result(**{**empty, **json.loads(run.stdout)})


def _of(case: Case, rows: Sequence[Batch]) -> list[Batch]:
    return [row for row in rows if (row["family"], row["scale"]) == (case.family.value, case.scale)]


def fastest(results: Results, library: str, case: Case) -> Batch | None:
    """Return the library's best way to make many draws of a case."""
    rows = _of(case, results[library]["batches"]) if library in results else []
    return max(rows, key=lambda row: row["cpu"], default=None)


def target_of(library: str, case: Case) -> Target | None:
    """Say by how much ours should be faster than a library's fastest way."""
    if library == "opendp":
        if case.family in DISCRETE:
            return OVER_OPENDP
        return OVER_OPENDP_FLOATS if case.family is Family.LAPLACE else None
    if library == "numpy" and case.family in DISCRETE and case.scale <= NUMPY_SCALES:
        return OVER_NUMPY
    return None


def batch_figures(results: Results) -> Iterator[Figure]:
    """Compare the rates of many draws a call."""
    for case in BATCH_CASES:
        discrete = case.family in DISCRETE
        section = f"{'Discrete noise' if discrete else 'Noise on floats'}, many draws a call"
        ours = fastest(results, OWN, case)
        rate = None if ours is None else ours["cpu_median"]
        for library in results:
            yield from _library_figures(results, library, case, section, rate)
        if case.family is Family.GAUSSIAN and "opendp" in results:
            other = fastest(results, "opendp", Case(Family.LAPLACE, case.scale))
            theirs = None if other is None else other["cpu"]
            yield Figure(
                section,
                str(case),
                "opendp's Laplace",
                None if theirs is None else theirs / 1e6,
                "M draws/s",
                ratio=divide(rate, theirs),
                compared=True,
                target=OVER_OPENDP_FLOATS,
                note="the same figure as in the Laplace case",
            )


def _library_figures(results: Results, library: str, case: Case, section: str, ours: float | None) -> Iterator[Figure]:
    best = fastest(results, library, case)
    compared = library != OWN
    if best is None:
        target = target_of(library, case)
        if results[library]["missing"] or target is not None:
            note = results[library]["missing"]
            yield Figure(section, str(case), TITLES[library], None, "M draws/s", None, None, compared, target, note)
        return
    for row in _of(case, results[library]["batches"]):
        yield Figure(
            section,
            str(case),
            TITLES[library],
            row["cpu"] / 1e6,
            "M draws/s",
            wall=row["wall"] / 1e6,
            ratio=divide(ours, row["cpu"]) if compared else None,
            compared=compared,
            target=target_of(library, case) if row is best else None,
            note=f"{row['way']}; {row['draws']:,} draws; median {format_number(row['cpu_median'] / 1e6)}",
        )


def single_figures(results: Results) -> Iterator[Figure]:
    """List what one draw a call costs; for ours, refilling the pool is part of it."""
    section = "Single draws, one a call, mean"
    for case in SINGLE_CASES:
        for library, result in results.items():
            target = SINGLE if library == OWN and case.family in DISCRETE else None
            rows = [
                row for row in result["singles"] if (row["family"], row["scale"]) == (case.family.value, case.scale)
            ]
            for row in rows:
                title = TITLES[library]
                wall = 1e6 / row["wall"]
                yield Figure(section, str(case), title, 1e6 / row["cpu"], "µs", wall=wall, target=target)
            if not rows and (result["missing"] or target):
                yield Figure(section, str(case), TITLES[library], None, "µs", target=target, note=result["missing"])


def timing_figures(results: Results) -> Iterator[Figure]:
    """List how far the latency of a single draw betrays its magnitude."""
    section = "Latency of a single draw against its magnitude, nothing trimmed"
    for case in LATENCY_CASES:
        for library, result in results.items():
            for row in result["timing"]:
                if (row["family"], row["scale"]) != (case.family.value, case.scale):
                    continue
                note = (
                    f"± {row['standard_error']:.4f}; {row['count']:,} draws; ns: median {row['p50_ns']:,}, "
                    f"p99 {row['p99_ns']:,}, max {row['max_ns']:,}"
                )
                yield Figure(section, str(case), TITLES[library], row["plain"], "correlation", note=note)
                ranked_note = f"± {row['standard_error']:.4f}"
                yield Figure(section, str(case), TITLES[library], row["ranked"], "rank correlation", note=ranked_note)


def reference_figures(results: Results) -> Iterator[Figure]:
    """List floors and overheads."""
    for library, result in results.items():
        for row in result["references"]:
            yield Figure(
                "Floors and overheads",
                row["way"],
                TITLES[library],
                row["cpu"] / 1e6,
                "M draws/s",
                wall=row["wall"] / 1e6,
            )


def footprint_figures(uses: Sequence[footprint.FirstUse], memories: Sequence[footprint.Memory]) -> Iterator[Figure]:
    """List tables and memory, which only ours are measured for."""
    for use in uses:
        note = f"worst of {footprint.FRESH_SCALES} fresh scales; median {format_number(use.table_median)} ms"
        section, case = "Tables, CPU time at the first use of a scale", str(use.case)
        yield Figure(section, case, "discreet: table", use.table_worst, "ms", target=TABLE, note=note)
        note = "array of one draw, table found"
        yield Figure(section, case, "discreet: cached", use.cached_median, "ms", note=note)
        note = "first single draw: table and filled pool"
        yield Figure(section, case, "discreet: first", use.single_worst, "ms", note=note)
    for memory in memories:
        ratio = memory.peak_bytes / memory.output_bytes
        note = f"{memory.peak_bytes:,} bytes for {memory.output_bytes:,} bytes of draws"
        section, case = "Peak memory of one call", str(memory.case)
        yield Figure(section, case, "discreet", ratio, "× output", target=MEMORY, note=note)


def best_of(first: Result, second: Result) -> Result:
    """Keep the better of each statistic of many draws; everything else is that of the first round."""
    again = {(row["family"], row["scale"], row["way"]): row for row in second["batches"]}
    rows = [_better(row, again.get((row["family"], row["scale"], row["way"]), row)) for row in first["batches"]]
    return Result(**{**first, "batches": rows, "missing": first["missing"] or second["missing"]})


def _better(row: Batch, other: Batch) -> Batch:
    return Batch(
        **{
            **row,
            "cpu": max(row["cpu"], other["cpu"]),
            "cpu_median": max(row["cpu_median"], other["cpu_median"]),
            "wall": max(row["wall"], other["wall"]),
            "wall_median": max(row["wall_median"], other["wall_median"]),
        }
    )


def fingerprint(folder: Path) -> str:
    """Name the state of the sources, so that figures belong to a version of them."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def collect(libraries: Sequence[str], rounds: int) -> Results:
    """Run one worker a library, one after the other; then again for those that a target compares."""
    results: Results = {}
    for turn in range(rounds):
        for library in libraries:
            if turn and (library not in IN_ROUNDS or results[library]["missing"]):
                continue
            print(f"{TITLES[library]}, round {turn + 1} ...", file=sys.stderr, flush=True)
            found = run_worker(library, *(["batches"] if turn else []))
            results[library] = best_of(results[library], found) if turn else found
    return results


def main() -> int:
    """Measure, print, write; with --strict return 1 unless every target is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.noise", description="Speed of the samplers.")
    known = (OWN, *FLOORS, *PEERS)
    parser.add_argument("--only", nargs="+", choices=known, default=known, help="measure these libraries alone")
    parser.add_argument("--strict", action="store_true", help="exit with 1 unless every target is met")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often compared rates are measured")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}; measure at least once")
    sources = Path(discreet.__file__).parent
    machine = {**describe_machine(), "sources": fingerprint(sources)}
    results = collect([library for library in known if library in options.only], options.rounds)
    uses, memories = [], []
    if OWN in results:
        uses, memories = footprint.measure_all_first_uses(), footprint.measure_all_memory()
    figures = [
        *batch_figures(results),
        *single_figures(results),
        *footprint_figures(uses, memories),
        *timing_figures(results),
        *reference_figures(results),
    ]
    versions = {name: found for result in results.values() for name, found in result["versions"].items()}
    report(figures, machine=machine, versions=versions, results=results)
    if fingerprint(sources) != machine["sources"]:
        print("The sources changed during the run: these figures mix versions. Run again.", file=sys.stderr)
        return 1
    return int(options.strict and any(figure.verdict in {Verdict.MISSED, Verdict.UNMEASURED} for figure in figures))


def report(
    figures: Sequence[Figure],
    *,
    machine: Mapping[str, object],
    versions: Mapping[str, str],
    results: Results,
) -> None:
    """Print the tables and write the JSON."""
    print(format_table(figures), end="\n\n")
    print(summarize(figures))
    for library, result in results.items():
        if result["missing"]:
            print(f"  {TITLES[library]}: {result['missing']}")
    print(", ".join(f"{name} {found}" for name, found in {**machine, **versions}.items()))
    document = make_document("noise", figures, machine=machine, versions=versions, details=results)
    print(f"written: {write_document(document).relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
