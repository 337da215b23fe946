"""How much private models learn: `python -m benchmarks.learning [--splits 10] [--data FOLDER]`.

Accuracy on rows that were not trained on, untuned, as the mean of random splits, beside the figures that peers reach
with tuning (Opacus' linear models, diffprivlib, DP-EBM; printed as they were measured elsewhere, not run here). The
digits, tumors and diabetes data come with scikit-learn.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import run_once
from benchmarks.report import Direction, Figure, Target, Verdict, format_table
from discreet.methods.learning import GaussianNB, LinearRegression, LinearSVC, LogisticRegression, RandomDecisionTrees
from discreet.tables import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
DELTA = "1e-5"
NUMBERS = {
    "age": (17, 90),
    "education_num": (1, 16),
    "gain": (0, 99999),
    "loss": (0, 4356),
    "hours": (1, 99),
}
NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation", "relationship", "race"),
    *("sex", "gain", "loss", "hours", "country", "income"),
)
KEYED = ("workclass", "education", "marital", "occupation", "relationship", "race", "sex", "country")
GOALS = {
    ("Adult", "0.1"): 0.838,
    ("Adult", "1"): 0.843,
    ("digits", "1"): 0.895,
    ("tumors", "1"): 0.95,
    ("diabetes", "1"): 0.42,
}
PEERS = {
    ("Adult", "0.1"): (("opacus", 0.840), ("diffprivlib", 0.734)),
    ("Adult", "1"): (("opacus", 0.844), ("diffprivlib", 0.838), ("dp-ebm", 0.802)),
    ("digits", "1"): (("opacus", 0.890), ("diffprivlib", 0.135)),
    ("tumors", "1"): (("opacus", 0.959), ("diffprivlib", 0.782)),
    ("diabetes", "1"): (("opacus", 0.454),),
}


class Rows:
    """A table of features by name, its target, and what is public about it."""

    def __init__(self, name: str, cells: dict[str, Any], target: np.ndarray, public: dict[str, Any]) -> None:
        self.name, self.cells, self.target, self.public = name, cells, target, public

    def part(self, places: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
        """Take some of the rows."""
        return {name: column[places] for name, column in self.cells.items()}, self.target[places]


def adult(folder: Path) -> Rows:
    """Read UCI Adult, both files."""
    records = []
    for name in ("adult.data", "adult.test"):
        with (folder / "adult-raw" / name).open() as file:
            records += [line for line in csv.reader(file, skipinitialspace=True) if len(line) == len(NAMES)]
    columns = dict(zip(NAMES, zip(*records, strict=True), strict=True))
    cells: dict[str, Any] = {name: np.array(columns[name], dtype=float) for name in NUMBERS}
    cells |= {name: np.array(columns[name], dtype=object) for name in KEYED}
    public = [Column(name, type="float", lower=low, upper=high) for name, (low, high) in NUMBERS.items()]
    public += [Column(name, keys=sorted(set(columns[name]))) for name in KEYED]
    rich = np.array([income.startswith(">50K") for income in columns["income"]]).astype(int)
    return Rows("Adult", cells, rich, {"columns": public, "classes": [0, 1]})


def shipped(name: str, load: Callable[..., Any]) -> Rows:
    """Read data that come with scikit-learn; their ends stand for bounds that are known."""
    data = load(scaled=False) if name == "diabetes" else load()
    cells = {f"x{place}": column for place, column in enumerate(data.data.T)}
    public: dict[str, Any] = {
        "columns": [
            Column(column, type="float", lower=float(values.min()), upper=float(values.max()) + 1e-9)
            for column, values in cells.items()
        ]
    }
    public |= {"target_bounds": (25, 346)} if name == "diabetes" else {"classes": sorted(set(data.target.tolist()))}
    return Rows(name, cells, data.target, public)


def measured(rows: Rows, model: Any, epsilon: str, splits: int) -> Figure:  # noqa: ANN401 - an estimator
    """Train on four fifths and score on the rest, so often."""
    scores = []

    def run() -> None:
        for split in range(splits):
            order = np.random.default_rng(split).permutation(rows.target.size)
            cut = rows.target.size * 4 // 5
            trained = model(epsilon=epsilon, delta=DELTA, **rows.public).fit(*rows.part(order[:cut]))
            scores.append(trained.score(*rows.part(order[cut:])))

    seconds = run_once(run).wall_ns / 1e9 / splits
    best = model in (LogisticRegression, LinearRegression)
    goal = GOALS.get((rows.name, epsilon)) if best else None
    target = None if goal is None else Target(Direction.AT_LEAST, goal, "")
    case = f"{rows.name}, ε = {epsilon}, {model.__name__}"
    unit = "R²" if model is LinearRegression else "share right"
    return Figure("learning", case, "discreet", float(np.mean(scores)), unit, wall=seconds, target=target)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data (adult-raw)")
    parser.add_argument("--strict", action="store_true", help="exit code 1 unless every target is met")
    given = parser.parse_args(arguments)
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

    tables = [
        *([adult(given.data)] if (given.data / "adult-raw").is_dir() else []),
        shipped("digits", load_digits),
        shipped("tumors", load_breast_cancer),
        shipped("diabetes", load_diabetes),
    ]
    figures = []
    for rows in tables:
        models: list[Any] = [LogisticRegression, GaussianNB, RandomDecisionTrees]
        models += [LinearSVC] if len(rows.public.get("classes", ())) == 2 else []
        for epsilon in ("0.1", "1"):
            for model in [LinearRegression] if rows.name == "diabetes" else models:
                figures.append(measured(rows, model, epsilon, given.splits))
                print(f"{figures[-1].case}: {figures[-1].value:.3f}", file=sys.stderr)
            for peer, value in PEERS.get((rows.name, epsilon), ()):
                figures.append(Figure("learning", f"{rows.name}, ε = {epsilon}, tuned", peer, value, "as published"))
    print(format_table(figures))
    missed = [figure for figure in figures if figure.verdict is Verdict.MISSED]
    return 1 if given.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
