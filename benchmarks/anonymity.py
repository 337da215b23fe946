"""How long the measures of anonymity take: `python -m benchmarks.anonymity [--data FOLDER] [--rows 10000000]`.

All measures at once with 8 quasi-identifiers, on the rows of UCI Adult (`adult-raw/adult.data` in FOLDER; without it,
on as many generated rows with as many values a column), and on many generated rows with one gigabyte of memory. Beside
it pycanon, one measure at a time, where `python -m benchmarks.setup pycanon` made its environment.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from benchmarks.measure import run_once
from benchmarks.report import Direction, Figure, Target, Verdict, format_table
from benchmarks.setup import interpreter, why_missing
from discreet.checks.anonymity import anonymity

if TYPE_CHECKING:
    from collections.abc import Sequence

ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
]
QUASI = ["age", "workclass", "education", "marital", "occupation", "race", "sex", "country"]
SENSITIVE = "relationship"
VALUES = {
    "age": 73,
    "workclass": 9,
    "education": 16,
    "marital": 7,
    "occupation": 15,
    "race": 5,
    "sex": 2,
    "country": 42,
}
ADULT_ROWS = 32_561
SECONDS = Target(Direction.AT_MOST, 0.5, "s")
MEMORY = "1GB"


def generated(rows: int) -> pa.Table:
    """Make people whose values are as many as Adult's, and as uneven: the j-th of a column is 1/j^1.5 as frequent."""
    chance = np.random.default_rng(0)
    columns = {}
    for name, values in {**VALUES, SENSITIVE: 6}.items():
        weights = 1 / np.arange(1, values + 1) ** 1.5
        columns[name] = pa.array(chance.choice(values, rows, p=weights / weights.sum()).astype(np.int16))
    return pa.table(columns)


def adult(folder: Path | None) -> tuple[str, pa.Table]:
    """Read Adult, or generate as much."""
    if folder is None:
        return "generated", generated(ADULT_ROWS)
    file = folder / "adult-raw" / "adult.data"
    return "adult", csv.read_csv(file, read_options=csv.ReadOptions(column_names=ADULT))


def peer(name: str, people: pa.Table) -> list[Figure]:
    """Time pycanon once on the same rows, in its own environment."""
    case, section = f"{name}, {people.num_rows:,} rows", "peers, one measure"
    reason = why_missing("pycanon")
    if reason is not None:
        return [Figure(section, f"{case}, l-diversity", "pycanon", None, "s", note=reason)]
    with tempfile.TemporaryDirectory() as kept:
        file = Path(kept) / "people.parquet"
        parquet.write_table(people.select([*QUASI, SENSITIVE]), file)
        command = [str(interpreter("pycanon")), "-m", "benchmarks.anonymity_peers.pycanon", str(file), SENSITIVE]
        run = subprocess.run(  # noqa: S603 - our own interpreter
            [*command, *QUASI], capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent
        )
    ours, theirs = anonymity(people, QUASI, SENSITIVE), json.loads(run.stdout)
    figures = []
    for title, value, said in (
        ("k-anonymity", ours.k, theirs["k"]),
        ("distinct l-diversity", ours.distinct, theirs["l"]),
    ):
        note = f"it says {said['value']}, ours {value}; {said['cpu']:.1f} s of CPU"
        figures.append(Figure(section, f"{case}, {title}", "pycanon", said["wall"], "s", note=note))
    return figures


def measure(folder: Path | None, rows: int) -> list[Figure]:
    """Time all measures by each distance, and once out of core."""
    name, people = adult(folder)
    tree = {value: (str(value).strip()[:1],) for value in people[SENSITIVE].unique().to_pylist()}
    tree = {str(value): above for value, above in tree.items()}
    figures = []
    for distance, given in (("equal", "equal"), ("ordered", "ordered"), ("hierarchy", tree)):
        seconds = min(
            run_once(partial(anonymity, people, QUASI, SENSITIVE, distance=given)).wall_ns / 1e9 for _ in range(3)
        )
        case = f"{name}, {people.num_rows:,} rows, {distance}"
        figures.append(Figure("all measures, 8 quasi-identifiers", case, "discreet", seconds, "s", target=SECONDS))
    figures += peer(name, people)
    with tempfile.TemporaryDirectory() as kept:
        file = Path(kept) / "people.parquet"
        parquet.write_table(generated(rows), file)
        seconds = run_once(lambda: anonymity(file, QUASI, SENSITIVE, memory=MEMORY)).wall_ns / 1e9
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    case = f"generated, {rows:,} rows, memory={MEMORY}"
    figures.append(Figure("out of core", case, "discreet", seconds, "s"))
    figures.append(Figure("out of core", case, "discreet", peak, "GB of the process at most"))
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables; exit code 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    wanted = parser.parse_args(arguments)
    figures = measure(wanted.data, wanted.rows)
    print(format_table(figures))
    sys.exit(any(figure.verdict is Verdict.MISSED for figure in figures))


if __name__ == "__main__":
    main()
