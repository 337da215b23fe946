"""Accuracy and speed of the mechanisms: `python -m benchmarks.mechanisms`.

Every library answers the same questions on the same data, each in a process of its own, a thousand times; the figure is
its error, and the ratio is ours divided by it. A peer's best way carries the target: ours is no larger, beyond three
standard errors of the ratio. Beside it stand the best published algorithm, the numbers of the textbooks, what smooth
sensitivity saves, and the time of large releases.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

import discreet
from benchmarks import releases, textbook
from benchmarks.noise import fingerprint
from benchmarks.published import published
from benchmarks.questions import QUESTIONS, Question, Statistic
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
from benchmarks.statistics import OWN, PEERS, TITLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
REPETITIONS = 1_000
SECONDS = 120.0
SIGMAS = 3
WIDTH = 30
OTHER_STATISTICS = {"median": Statistic.TRIMMED_MEAN}
"""Ways that answer another question well: shown beside it, without a target."""


class Row(TypedDict):
    """What the worker says of one way to answer one question."""

    question: str
    way: str
    figure: float | None
    standard_error: float | None
    runs: int
    cpu: float | None
    refusal: str


class Result(TypedDict):
    """What the worker says of a library; `missing` is the reason if it could not run."""

    missing: str
    versions: dict[str, str]
    rows: list[Row]


Results = dict[str, Result]


class Progress:
    """A bar of what is done, redrawn on a terminal, a line for each tenth elsewhere."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0

    def step(self, what: str) -> None:
        """Count one more."""
        before, self._done = self._done, self._done + 1
        filled = WIDTH * self._done // self._total
        line = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {self._done}/{self._total} {what}"
        if sys.stderr.isatty():
            print(f"\r\033[K{line}", end="" if self._done < self._total else "\n", file=sys.stderr, flush=True)
        elif 10 * self._done // self._total > 10 * before // self._total:
            print(line, file=sys.stderr, flush=True)


def run_worker(library: str, repetitions: int, seconds: float, progress: Progress) -> Result:
    """Measure a library in its environment; a peer without one is reported as missing, with the reason."""
    python = sys.executable
    if library in PEERS:
        if reason := why_missing(library):
            return Result(missing=reason, versions={}, rows=[])
        python = str(interpreter(library))
    command = [python, "-W", "ignore", "-m", "benchmarks.mechanisms_worker", library, str(repetitions), str(seconds)]
    with subprocess.Popen(  # noqa: S603  our interpreters
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stderr is not None  # noqa: S101  for the type checker
        assert worker.stdout is not None  # noqa: S101
        said = []
        for line in worker.stderr:
            if line.startswith("done "):
                progress.step(f"{TITLES[library]}: {line.removeprefix('done ').strip()}")
            else:
                said.append(line)
        output = worker.stdout.read()
    if worker.returncode:
        reason = said[-1].strip() if said else "without a word"
        return Result(missing=f"its worker failed: {reason}", versions={}, rows=[])
    return cast("Result", {"missing": "", **json.loads(output)})


def best(rows: Sequence[Row]) -> Row | None:
    """Return the way with the least error."""
    found = [row for row in rows if row["figure"] is not None]
    return min(found, key=lambda row: row["figure"] or 0.0, default=None)


def rows_of(results: Results, library: str, question: Question) -> list[Row]:
    """Return all ways in which a library answers a question."""
    return [row for row in results[library]["rows"] if row["question"] == str(question)]


def is_other(question: Question, way: str) -> bool:
    """Tell whether a way answers another question than the one asked."""
    return OTHER_STATISTICS.get(way) is question.statistic


def target_of(ours: Row | None, theirs: Row) -> Target:
    """Allow the ratio three standard errors above 1.

    >>> row = Row(question="", way="", figure=2.0, standard_error=0.02, runs=1, cpu=0.0, refusal="")
    >>> str(target_of(row, row))
    '≤ 1.04243 ×'
    """
    spread = 0.0
    for row in (ours, theirs):
        if row is not None and row["figure"] and row["standard_error"]:
            spread += (row["standard_error"] / row["figure"]) ** 2
    return Target(Direction.AT_MOST, 1 + SIGMAS * math.sqrt(spread), "×")


def accuracy_figures(results: Results, yardsticks: Mapping[str, tuple[str, float]]) -> Iterator[Figure]:
    """Compare errors, question by question; a yardstick has a name and an error."""
    for question in QUESTIONS:
        section = f"Error of {question.statistic.value}, {question.statistic.unit}"
        mine = rows_of(results, OWN, question) if OWN in results else []
        ours = best([row for row in mine if not is_other(question, row["way"])])
        for library in results:
            yield from _library_figures(results, library, question, section, ours)
        if str(question) in yardsticks:
            name, value = yardsticks[str(question)]
            ratio = divide(None if ours is None else ours["figure"], value)
            yield Figure(section, f"ε={question.epsilon:g}", "published", value, name, ratio=ratio, compared=True)


def _library_figures(
    results: Results, library: str, question: Question, section: str, ours: Row | None
) -> Iterator[Figure]:
    case, rows = f"ε={question.epsilon:g}", rows_of(results, library, question)
    fair = best([row for row in rows if not is_other(question, row["way"])])
    if not rows and (results[library]["missing"] or library == OWN):
        target = None if library == OWN else Target(Direction.AT_MOST, 1, "×")
        note = results[library]["missing"]
        yield Figure(section, case, TITLES[library], None, "", compared=library != OWN, target=target, note=note)
    for row in rows:
        spread = row["standard_error"]
        note = row["refusal"] or f"± {spread:.2g}; {row['runs']:,} runs; {1e3 * (row['cpu'] or 0):.2g} ms each"
        compared = library != OWN
        yield Figure(
            section,
            case,
            TITLES[library],
            row["figure"],
            row["way"],
            ratio=divide(None if ours is None else ours["figure"], row["figure"]) if compared else None,
            compared=compared,
            target=target_of(ours, row) if compared and row is fair else None,
            note=note,
        )


def main() -> int:
    """Measure, print, write; with --strict return 1 unless every target is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mechanisms", description="Accuracy of the mechanisms.")
    known = (OWN, *PEERS)
    parser.add_argument("--only", nargs="+", choices=known, default=known, help="measure these libraries alone")
    parser.add_argument("--strict", action="store_true", help="exit with 1 unless every target is met")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="how often each question is asked")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="when a slow way is asked no more")
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error(f"--repetitions is {options.repetitions}; ask at least once")
    sources = Path(discreet.__file__).parent
    machine = {**describe_machine(), "sources": fingerprint(sources)}
    libraries = [library for library in known if library in options.only]
    progress = Progress(len(libraries) * len(QUESTIONS))
    results = {each: run_worker(each, options.repetitions, options.seconds, progress) for each in libraries}
    figures = [
        *accuracy_figures(results, {str(each): published(each, options.repetitions) for each in QUESTIONS}),
        *textbook.figures(),
        *releases.smooth_figures(options.repetitions),
        *releases.speed_figures(),
    ]
    versions = {name: found for result in results.values() for name, found in result["versions"].items()}
    print(format_table(figures), end="\n\n")
    print(summarize(figures))
    for library, result in results.items():
        if result["missing"]:
            print(f"  {TITLES[library]}: {result['missing']}")
    print(", ".join(f"{name} {found}" for name, found in {**machine, **versions}.items()))
    document = make_document("mechanisms", figures, machine=machine, versions=versions, details=results)
    print(f"written: {write_document(document).relative_to(ROOT)}")
    if fingerprint(sources) != machine["sources"]:
        print("The sources changed during the run: these figures mix versions. Run again.", file=sys.stderr)
        return 1
    return int(options.strict and any(figure.verdict in {Verdict.MISSED, Verdict.UNMEASURED} for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
