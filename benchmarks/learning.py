"""How much private models learn: `python -m benchmarks.learning [--splits 10] [--data FOLDER]`.

Accuracy on rows that were not trained on, untuned, as the mean of random splits, beside the figures that peers reach
with tuning (Opacus' linear models, diffprivlib, DP-EBM; printed as they were measured elsewhere, not run here). The
digits, tumors and diabetes data come with scikit-learn. Three more tables (incomes above the middle one of a census,
br2000, nltcs), on which nothing was chosen, are held against scikit-learn's logistic regression without noise. At last
comes the time of a training on 1,000,000 x 50 numbers, as a multiple of scikit-learn's.
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
from discreet.methods.learning import (
    AdditiveModel,
    GaussianNB,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    RandomDecisionTrees,
    RandomForest,
)
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


def coded(folder: Path, name: str, target: int) -> Rows:
    """Read a table of small whole numbers, each of them a key; one column is told from the others."""
    cells = np.loadtxt(folder / name / f"{name}.csv", delimiter=",", skiprows=1, dtype=np.int64)
    places = [place for place in range(cells.shape[1]) if place != target]
    public = [Column(f"x{place}", keys=sorted(set(cells[:, place].tolist()))) for place in places]
    return Rows(
        name,
        {f"x{place}": cells[:, place] for place in places},
        (cells[:, target] > np.median(cells[:, target]) - (np.median(cells[:, target]) > 0)).astype(int),
        {"columns": public, "classes": [0, 1]},
    )


def census(folder: Path, most: int = 20_000) -> Rows:
    """Read 20,000 people of the census, told whether their income is above the middle one."""
    with (folder / "nist-acs" / "national2019.csv").open() as file:
        records = [record for record in csv.DictReader(file) if record["PINCP"] != "N"]
    records = [records[place] for place in np.random.default_rng(0).permutation(len(records))[:most]]
    income = np.array([float(record["PINCP"]) for record in records])
    keyed = ["SEX", "MSP", "RAC1P", "OWN_RENT", "INDP_CAT", "EDU", "DREM", "DPHY"]
    cells: dict[str, Any] = {name: np.array([record[name] for record in records], dtype=object) for name in keyed}
    cells["AGEP"] = np.array([float(record["AGEP"]) for record in records])
    public = [Column(name, keys=sorted(set(cells[name]))) for name in keyed]
    public.append(Column("AGEP", type="float", lower=0, upper=99))
    return Rows("census", cells, (income > np.median(income)).astype(int), {"columns": public, "classes": [0, 1]})


def unprotected(rows: Rows, splits: int) -> Figure:
    """Score scikit-learn's logistic regression on the same vectors, without noise."""
    from sklearn.linear_model import LogisticRegression as Plain

    features = LogisticRegression(epsilon=1, **rows.public).fit(*rows.part(np.arange(2))).features
    scores = []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(rows.target.size)
        cut = rows.target.size * 4 // 5
        (x, y), (other, truth) = rows.part(order[:cut]), rows.part(order[cut:])
        plain = Plain(max_iter=2000).fit(features.matrix(features.rows(x)), y)
        scores.append(plain.score(features.matrix(features.rows(other)), truth))
    return Figure("learning", f"{rows.name}, no privacy", "scikit-learn", float(np.mean(scores)), "share right")


def speed(count: int) -> list[Figure]:
    """Train on many rows of 50 numbers: seconds of processor time, ours and scikit-learn's, in the same run."""
    from time import process_time

    from sklearn.linear_model import LogisticRegression as Plain

    chance = np.random.default_rng(0)
    x = chance.uniform(-1, 1, (count, 50))
    y = (x @ chance.normal(size=50) + chance.normal(size=count) > 0).astype(int)
    start = process_time()
    LogisticRegression(epsilon=1, classes=[0, 1], bounds=(-1, 1)).fit(x, y)
    middle = process_time()
    Plain().fit(x, y)
    ours, theirs = middle - start, process_time() - middle
    case = f"{count:,} x 50, processor time"
    goal = Target(Direction.AT_MOST, 3.0, "")
    return [
        Figure("learning", case, "discreet", ours, "s"),
        Figure("learning", case, "scikit-learn", theirs, "s"),
        Figure("learning", f"{case}, ratio", "discreet", ours / theirs, "times", target=goal),
    ]


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
    parser.add_argument("--only", default="", help="names of tables, and speed, separated by commas; all without it")
    parser.add_argument("--rows", type=int, default=1_000_000, help="how many rows the speed is measured on")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data (adult-raw)")
    parser.add_argument("--strict", action="store_true", help="exit code 1 unless every target is met")
    given = parser.parse_args(arguments)
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

    tables = [
        *([adult(given.data)] if (given.data / "adult-raw").is_dir() else []),
        *(
            [census(given.data), coded(given.data, "br2000", 2), coded(given.data, "nltcs", 15)]
            if (given.data / "nltcs").is_dir()
            else []
        ),
        shipped("digits", load_digits),
        shipped("tumors", load_breast_cancer),
        shipped("diabetes", load_diabetes),
    ]
    figures = []
    only = given.only.split(",") if given.only else [*(rows.name for rows in tables), "speed"]
    for rows in [rows for rows in tables if rows.name in only]:
        models: list[Any] = [LogisticRegression, AdditiveModel, RandomForest, GaussianNB, RandomDecisionTrees]
        models += [LinearSVC] if len(rows.public.get("classes", ())) == 2 else []
        for epsilon in ("0.1", "1"):
            for model in [LinearRegression] if rows.name == "diabetes" else models:
                figures.append(measured(rows, model, epsilon, given.splits))
                print(f"{figures[-1].case}: {figures[-1].value:.3f}", file=sys.stderr)
            for peer, value in PEERS.get((rows.name, epsilon), ()):
                figures.append(Figure("learning", f"{rows.name}, ε = {epsilon}, tuned", peer, value, "as published"))
        if rows.name in {"census", "br2000", "nltcs"}:
            figures.append(unprotected(rows, given.splits))
    figures += speed(given.rows) if "speed" in only else []
    print(format_table(figures))
    missed = [figure for figure in figures if figure.verdict is Verdict.MISSED]
    return 1 if given.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
