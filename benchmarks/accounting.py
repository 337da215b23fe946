"""Tightness, CPU time and memory of the accountant: `python -m benchmarks.accounting`.

Ours and the peers, each in a process of its own, one after the other, in one run. Errors are against the values of
`accounting_reference.json`, which `python -m benchmarks.reference_accounting` computes without the package. A ratio is
the peer's best CPU time divided by our median, which leans against us; our own limits are judged by our best. Every
answer starts from nothing: what our package remembers about a mechanism is forgotten before each.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, TypedDict, cast

import discreet
from benchmarks.accountants import OWN, PEERS, TITLES
from benchmarks.accounting_cases import CASES, FIXED_SIZE, Case, Family
from benchmarks.noise import fingerprint
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
REFERENCE = Path(__file__).parent / "accounting_reference.json"

ERROR = Target(Direction.AT_MOST, 1e-6, "relative")
OUTSIDE = Target(Direction.AT_MOST, 0, "relative")
WIDTH = Target(Direction.AT_MOST, 1e-6, "of max(ε, 0.001)")
FASTER = Target(Direction.AT_LEAST, 20, "×")
NEVER_SLOWER = Target(Direction.AT_LEAST, 1, "×")
SAMPLED = Target(Direction.AT_MOST, 10, "ms")
MIXED = Target(Direction.AT_MOST, 500, "ms")
MEMORY = Target(Direction.AT_MOST, 100, "MB")
HALF = Target(Direction.AT_MOST, 0.5, "of dp-accounting's")
IMPORT = Target(Direction.AT_MOST, 2, "× NumPy and SciPy")

LEAST_EPSILON = 1e-3
REFERENCE_SLACK = 1e-12
IMPORT_REPEATS = 7
COMPARED = ("dp_accounting", "PLD")


class Row(TypedDict, total=False):
    """What the worker says of one way to answer one case; times in seconds."""

    case: str
    way: str
    lower: float | None
    epsilon: float | None
    cpu: float | None
    cpu_median: float
    wall: float
    repeats: int
    refusal: str


class Result(TypedDict):
    """What the worker says of a library; `missing` is the reason if it could not run."""

    missing: str
    versions: dict[str, str]
    fixed_size: float | None
    rows: list[Row]


class Truth(TypedDict):
    """A reference value: epsilon as text, and how far two computations of it lie apart, relatively."""

    epsilon: str
    spread: float
    method: str


Results = dict[str, Result]


def run(command: list[str], python: str = sys.executable) -> dict[str, object] | None:
    """Run a module of ours in an environment; return the JSON of its last line, or None if it failed."""
    done = subprocess.run([python, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - our interpreters
    if done.returncode:
        return None
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def run_worker(library: str) -> Result:
    """Measure a library in its environment; a peer without one is reported as missing, with the reason."""
    empty = Result(missing="", versions={}, fixed_size=None, rows=[])
    python = sys.executable
    if library in PEERS:
        if reason := why_missing(library):
            return Result(**{**empty, "missing": reason})
        python = str(interpreter(library))
    found = run(["-W", "ignore", "-m", "benchmarks.accounting_worker", library], python)
    if found is None:
        return Result(**{**empty, "missing": "its worker failed, see above"})
    return cast("Result", {**empty, **found})


def rows_of(result: Result, case: Case) -> list[Row]:
    """Return all answers to a case."""
    return [row for row in result["rows"] if row["case"] == str(case)]


def own_row(results: Results, case: Case) -> Row | None:
    """Return our answer to a case."""
    rows = rows_of(results[OWN], case) if OWN in results else []
    return rows[0] if rows else None


def relative_error(epsilon: float | None, truth: Truth | None) -> float | None:
    """Return how far an answer lies above the truth, relatively; negative below it.

    >>> relative_error(1.5, {"epsilon": "1.0", "spread": 0, "method": ""})
    0.5
    """
    if epsilon is None or truth is None:
        return None
    exact = float(truth["epsilon"])
    if exact == 0:
        return 0.0 if epsilon == 0 else math.inf
    return (epsilon - exact) / exact


def outside(row: Row, truth: Truth) -> float | None:
    """Return how far the truth lies outside the interval, relatively; the reference's own doubt is granted.

    >>> outside({"lower": 1.0, "epsilon": 1.1}, {"epsilon": "1.2", "spread": 0, "method": ""}) > 0.08
    True
    """
    above, below = relative_error(row.get("epsilon"), truth), relative_error(row.get("lower"), truth)
    if above is None or below is None:
        return None
    doubt = truth["spread"] * max(1.0, LEAST_EPSILON / max(float(truth["epsilon"]), 1e-300)) + REFERENCE_SLACK
    return max(0.0, -above - doubt, below - doubt)


def tightness_figures(results: Results, truths: Mapping[str, Truth]) -> Iterator[Figure]:
    """Judge our interval in every case."""
    for case in CASES if OWN in results else ():
        row = own_row(results, case) or Row()
        truth = truths.get(str(case))
        lower, upper = row.get("lower"), row.get("epsilon")
        error = relative_error(upper, truth)
        note = row.get("refusal") or f"[{lower:.12g}, {upper:.12g}]"
        note += f"; truth {truth['epsilon']} by {truth['method']}" if truth else "; no reference value"
        width = None if lower is None or upper is None else (upper - lower) / max(upper, LEAST_EPSILON)
        name = str(case)
        yield Figure("Tightness of our interval", name, "error of ε", error, "relative", target=ERROR, note=note)
        away = None if truth is None else outside(row, truth)
        yield Figure("Tightness of our interval", name, "truth outside", away, "relative", target=OUTSIDE)
        yield Figure("Tightness of our interval", name, "width", width, "of max(ε, 0.001)", target=WIDTH)


def speed_figures(results: Results, truths: Mapping[str, Truth]) -> Iterator[Figure]:
    """Compare CPU times; the ratio is how many times as long a peer takes as we do."""
    ratios = []
    for case in CASES:
        ours = own_row(results, case)
        median = None if ours is None else ours.get("cpu_median", ours.get("cpu"))
        for library, result in results.items():
            rows = rows_of(result, case) or ([Row(way="", refusal=result["missing"])] if result["missing"] else [])
            for row in rows:
                figure = _speed_figure(library, row, case, median, truths.get(str(case)))
                if (library, row["way"]) == COMPARED and figure.ratio:
                    ratios.append(figure.ratio)
                yield figure
    yield Figure(
        "CPU time, all cases",
        "geometric mean",
        "dp-accounting PLD",
        None,
        "",
        ratio=geometric_mean(ratios) if ratios else None,
        compared=True,
        target=FASTER,
        note=f"over {len(ratios)} cases",
    )


def _speed_figure(library: str, row: Row, case: Case, ours: float | None, truth: Truth | None) -> Figure:
    cpu, error = row.get("cpu"), relative_error(row.get("epsilon"), truth)
    said = row.get("refusal") or f"ε = {row.get('epsilon'):.9g}"
    note = said if error is None else f"{said}, error {error:+.1e}"
    target = None
    if library == OWN:
        target = {Family.SAMPLED_GAUSSIAN: SAMPLED, Family.MIX: MIXED}.get(case.family)
    elif (library, row["way"]) == COMPARED:
        target = NEVER_SLOWER
    return Figure(
        "CPU time of one answer",
        str(case),
        f"{TITLES[library]} {row['way']}".strip(),
        None if cpu is None else cpu * 1e3,
        "ms",
        wall=None if "wall" not in row else row["wall"] * 1e3,
        ratio=divide(cpu, ours) if library != OWN else None,
        compared=library != OWN,
        target=target,
        note=note,
    )


def memory_figures() -> Iterator[Figure]:
    """Answer every case in a process of its own; the interpreter, NumPy and SciPy are part of its memory."""
    for index, case in enumerate(CASES):
        found = run(["-W", "ignore", "-m", "benchmarks.accounting_worker", OWN, "memory", str(index)])
        peak = None if found is None else float(str(found["peak_bytes"])) / 1e6
        yield Figure("Peak resident memory of the process", str(case), "discreet", peak, "MB", target=MEMORY)


def fixed_size_figures(results: Results) -> Iterator[Figure]:
    """Compare samples of fixed size under change-one."""
    sigma, rate, steps, delta = FIXED_SIZE
    case = f"σ={sigma} q={rate}, ×{steps:,}, δ={delta}"
    ours = results[OWN]["fixed_size"] if OWN in results else None
    theirs = results["dp_accounting"]["fixed_size"] if "dp_accounting" in results else None
    section = "Samples of fixed size, ε under change-one"
    yield Figure(section, case, "discreet", ours, "ε")
    ratio = divide(ours, theirs)
    yield Figure(section, case, "dp-accounting RDP", theirs, "ε", ratio=ratio, compared=True, target=HALF)


def scipy_parts(folder: Path) -> list[str]:
    """Return the parts of SciPy that the modules in a folder import, anywhere in them."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        found.update(re.findall(r"^\s*(?:from|import) (scipy\.\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    return sorted(found)


def import_seconds(statement: str) -> float | None:
    """Return the least CPU time that a fresh interpreter takes for an import."""
    taken = "print(json.dumps({'cpu': time.process_time() - start}))"
    script = f"import json, time; start = time.process_time(); {statement}; {taken}"
    found = [run(["-c", script]) for _ in range(IMPORT_REPEATS)]
    times = [float(str(one["cpu"])) for one in found if one is not None]
    return min(times, default=None)


def import_figures() -> Iterator[Figure]:
    """Compare the import with those of what it needs; also the import followed by a first answer, which loads them."""
    parts = scipy_parts(Path(discreet.__file__).parent / "privacy")
    floor = import_seconds("import " + ", ".join(["numpy", *parts]))
    section, unit = "CPU time of imports", "ms"
    floor_name = " + ".join(["numpy", *parts])
    yield Figure(section, floor_name, "floor", None if floor is None else floor * 1e3, unit)
    for name, statement, target in (
        ("import discreet.privacy", "import discreet.privacy", IMPORT),
        ("every public name loaded", "from discreet.privacy import *", IMPORT),
        ("and a first answer", "from discreet.privacy import *; gaussian(1).subsample('0.01').epsilon(1e-5)", None),
    ):
        taken = import_seconds(statement)
        milliseconds = None if taken is None else taken * 1e3
        ratio = divide(taken, floor)
        yield Figure(section, name, "discreet", milliseconds, unit, ratio=ratio, compared=True, target=target)


def load_truths() -> dict[str, Truth]:
    """Read the reference values."""
    found: dict[str, Truth] = json.loads(REFERENCE.read_text(encoding="utf-8"))
    return found


def collect(libraries: Sequence[str]) -> Results:
    """Run one worker a library, one after the other."""
    results: Results = {}
    for library in libraries:
        print(f"{TITLES[library]} ...", file=sys.stderr, flush=True)
        results[library] = run_worker(library)
    return results


def main() -> int:
    """Measure, print, write; with --strict return 1 unless every target is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accounting", description="Tightness and speed.")
    known = (OWN, *PEERS)
    parser.add_argument("--only", nargs="+", choices=known, default=known, help="measure these libraries alone")
    parser.add_argument("--strict", action="store_true", help="exit with 1 unless every target is met")
    options = parser.parse_args()
    sources = Path(discreet.__file__).parent
    machine = {**describe_machine(), "sources": fingerprint(sources)}
    results = collect([library for library in known if library in options.only])
    truths = load_truths()
    figures = [*tightness_figures(results, truths), *speed_figures(results, truths), *fixed_size_figures(results)]
    if OWN in results:
        figures += [*memory_figures(), *import_figures()]
    report(figures, machine=machine, results=results)
    if fingerprint(sources) != machine["sources"]:
        print("The sources changed during the run: these figures mix versions. Run again.", file=sys.stderr)
        return 1
    return int(options.strict and any(figure.verdict in {Verdict.MISSED, Verdict.UNMEASURED} for figure in figures))


def report(figures: Sequence[Figure], *, machine: Mapping[str, object], results: Results) -> None:
    """Print the tables and write the JSON."""
    versions = {name: found for result in results.values() for name, found in result["versions"].items()}
    print(format_table(figures), end="\n\n")
    print(summarize(figures))
    for library, result in results.items():
        if result["missing"]:
            print(f"  {TITLES[library]}: {result['missing']}")
    print(", ".join(f"{name} {found}" for name, found in {**machine, **versions}.items()))
    document = make_document("accounting", figures, machine=machine, versions=versions, details=results)
    print(f"written: {write_document(document).relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
