"""What the peers of the query engine are asked for, on which data, and how answers are scored.

NumPy and the standard library alone, for the peers' environments. All get the same rows and the same public facts: the
keys, the bounds, how many rows a unit has, and for quantiles a grid of GRID equal steps between the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Answer = Sequence[float | None] | Sequence[Sequence[float | None]] | NDArray[np.float64]
    Way = Callable[[], Answer]

EPSILON = 1.0
GRID = 256
LEVELS = (0.1, 0.25, 0.75, 0.9)
DELTA = 1e-6
"""For peers that ask for a delta even where keys are known."""

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
"""Where real data lies, unless the caller says otherwise."""
EDUCATION, HOURS = 3, 12


class Statistic(Enum):
    """What is asked for in every group."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    MEDIAN = "median"
    QUANTILES = "quantiles .1 .25 .75 .9"


@dataclass(frozen=True, slots=True)
class Rows:
    """One table: a key from 0 to groups - 1, a number within bounds and a unit in every row.

    `rows_per_unit` is None where every row is a unit; else no unit has more rows, and none two of the same key.
    """

    name: str
    keys: NDArray[np.int64]
    values: NDArray[np.float64]
    units: NDArray[np.int64]
    groups: int
    bounds: tuple[float, float]
    rows_per_unit: int | None

    @property
    def grid(self) -> list[float]:
        """The candidates of quantiles.

        >>> rows = Rows("", np.zeros(1, int), np.zeros(1), np.zeros(1, int), 1, (0.0, 128.0), None)
        >>> rows.grid[:3], len(rows.grid)
        ([0.0, 0.5, 1.0], 257)
        """
        low, high = self.bounds
        return [low + (high - low) * place / GRID for place in range(GRID + 1)]

    def save(self, path: Path) -> None:
        """Write the table for another environment."""
        facts = (self.name, self.groups, *self.bounds, self.rows_per_unit or 0)
        np.savez(path, keys=self.keys, values=self.values, units=self.units, facts=np.array(facts, dtype=str))

    @staticmethod
    def load(path: Path) -> Rows:
        """Read what `save` wrote."""
        with np.load(path) as file:
            name, groups, low, high, limit = file["facts"].tolist()
            found = (file["keys"], file["values"], file["units"])
        return Rows(name, *found, int(groups), (float(low), float(high)), int(limit) or None)

    def by_group(self) -> Iterator[NDArray[np.float64]]:
        """Give each group's values."""
        order = np.argsort(self.keys, kind="stable")
        edges = np.searchsorted(self.keys[order], np.arange(1, self.groups))
        yield from np.split(self.values[order], edges)


class Library(Protocol):
    """A module of `benchmarks.queries_peers`."""

    DISTRIBUTIONS: tuple[str, ...]

    def ways(self, rows: Rows, statistic: Statistic) -> Mapping[str, Way]:
        """Say how the library answers; empty if it does not. All groups at once, at EPSILON."""

    def together(self, rows: Rows) -> Callable[[], object] | None:
        """Give count, sum and mean of all groups in one question at EPSILON; None if the library has no such thing."""


def truth(rows: Rows, statistic: Statistic) -> NDArray[np.float64]:
    """Compute what is asked for without noise: one line per group.

    >>> rows = Rows("", np.array([0, 1, 1]), np.array([3.0, 1.0, 2.0]), np.arange(3), 2, (0.0, 4.0), None)
    >>> truth(rows, Statistic.MEAN).tolist()
    [[3.0], [1.5]]
    """
    found: dict[Statistic, Callable[[Any], Any]] = {
        Statistic.COUNT: len,
        Statistic.SUM: np.sum,
        Statistic.MEAN: np.mean,
        Statistic.VARIANCE: np.var,
        Statistic.MEDIAN: np.median,
        Statistic.QUANTILES: lambda values: np.quantile(values, LEVELS),
    }
    compute = found[statistic]
    return np.array([np.atleast_1d(compute(values)) for values in rows.by_group()], dtype=np.float64)


def errors(rows: Rows, exact: NDArray[np.float64], answer: Answer) -> NDArray[np.float64]:
    """Subtract the truth; where a library gives nothing, the middle of the bounds stands for its answer.

    >>> rows = Rows("", np.array([0]), np.array([3.0]), np.arange(1), 1, (0.0, 4.0), None)
    >>> errors(rows, np.array([[3.0]]), [None]).tolist()
    [[-1.0]]
    """
    found = np.array(answer, dtype=np.float64).reshape(exact.shape)
    return np.where(np.isfinite(found), found, sum(rows.bounds) / 2) - exact


def summary(found: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Return the RMSE over all answers and its standard error.

    The square's mean has the standard error s / sqrt(m); the root's is that over twice the root. Groups of one answer
    count as independent draws, which they are for noise; what bias they share is in the mean itself.

    >>> summary([np.array([3.0, -3.0])])
    (3.0, 0.0)
    """
    squares = np.concatenate([each.ravel() for each in found]) ** 2
    root = float(np.sqrt(squares.mean()))
    spread = float(squares.std(ddof=1)) / np.sqrt(squares.size) if squares.size > 1 else root
    return root, float(spread / (2 * root)) if root else 0.0


def adult(data: Path) -> Rows | None:
    """Hours of work a week by education of the UCI Adult data (48,842 people, 16 keys); None where it is missing."""
    lines = []
    for name in ("adult.data", "adult.test"):
        path = data / "adult-raw" / name
        if not path.is_file():
            return None
        lines += path.read_text(encoding="utf-8").splitlines()
    cells = [each for each in (line.split(", ") for line in lines) if len(each) > HOURS]
    names, keys = np.unique([each[EDUCATION] for each in cells], return_inverse=True)
    values = np.array([float(each[HOURS]) for each in cells])
    return Rows("Adult, hours by education", keys, values, np.arange(len(keys)), len(names), (0.0, 100.0), None)


def skewed(groups: int = 16, size: int = 48_000) -> Rows:
    """Hours of invented people, in place of the Adult data: most have 40, groups of very different sizes."""
    draw = np.random.default_rng(16)
    keys = np.minimum(draw.geometric(0.25, size) - 1, groups - 1)
    values = np.where(draw.random(size) < 0.5, 40.0, np.clip(np.round(draw.normal(40, 13, size)), 1, 99))
    return Rows("generated, hours", keys, values, np.arange(size), groups, (0.0, 100.0), None)


def people(groups: int = 100, each: int = 500) -> Rows:
    """Costs of invented people, one row each, in equally large groups."""
    draw = np.random.default_rng(100)
    keys = np.tile(np.arange(groups), each)
    values = np.clip(draw.gamma(2, 8 + keys / 10), 0, 100)
    return Rows("generated, people", keys, values, np.arange(len(keys)), groups, (0.0, 100.0), None)


def patients(groups: int = 100, units: int = 25_000, limit: int = 4) -> Rows:
    """Costs of invented patients with so many visits each, in as many groups."""
    draw = np.random.default_rng(4)
    keys = (draw.integers(0, groups, units)[:, None] + draw.permutation(groups)[None, :limit]) % groups
    values = np.clip(draw.gamma(2, 8 + keys / 10), 0, 100)
    owners = np.repeat(np.arange(units), limit)
    return Rows("generated, 4 visits each", keys.ravel(), values.ravel(), owners, groups, (0.0, 100.0), limit)


def tables(data: Path = DATA, *, quick: bool = False) -> list[Rows]:
    """Give the tables of the benchmark of accuracy."""
    real = adult(data) or skewed()
    return [real, people(20, 500), patients(20, 2_500)] if quick else [real, people(), patients()]
