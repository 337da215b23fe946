"""Marginals with weights: which marginal tables to measure, and how well, for Laplace noise."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.methods.workloads.algebra.compounds import products_of
from discreet.methods.workloads.algebra.lines import Identity
from discreet.methods.workloads.strategies.descent import descend
from discreet.methods.workloads.strategies.strategy import STEPS, Reach, Strategy
from discreet.methods.workloads.tallies import tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from discreet.mechanisms.adding.grids import Norm
    from discreet.methods.workloads.algebra.workload import Floats, Workload

__all__ = ["WeightedMargins", "asked_sets", "below", "best_margins", "centered"]

Columns = tuple[int, ...]

_FEW_COLUMNS, _MOST_CANDIDATES, _MOST_MEASURED, _LEAST_LOG = 8, 600, 1 << 20, -9.0


def asked_sets(workload: Workload) -> list[tuple[float, Columns]]:
    """Return the marginals that a workload asks for, each with its importance; empty if it asks for something else.

    >>> from discreet.methods.workloads import Marginals
    >>> asked_sets(Marginals([2, 2], 1))
    [(1.0, (0,)), (1.0, (1,))]
    """
    products = products_of(workload)
    if not all(product.is_of_marginals for _, product in products):
        return []
    return [
        (weight, tuple(place for place, factor in enumerate(product.factors) if isinstance(factor, Identity)))
        for weight, product in products
    ]


def below(sets: Iterable[Columns]) -> list[Columns]:
    """Return all subsets of some sets of columns, the smallest first.

    >>> below([(0, 2)])
    [(), (0,), (2,), (0, 2)]
    """
    closed = {
        part for chosen in sets for size in range(len(chosen) + 1) for part in itertools.combinations(chosen, size)
    }
    return sorted(closed, key=lambda part: (len(part), part))


def centered(table: Floats) -> Floats:
    """Take the mean out of a table along every axis.

    >>> centered(np.array([[1.0, 3.0], [1.0, 3.0]])).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


@dataclass(frozen=True)
class WeightedMargins(Strategy):
    """Measure some marginals, each with a weight; a row is in one cell of each.

    One row moves the numbers by the sum of the weights in L1, and no weight is negative. The space of all tables splits
    into one part for each set C of columns (tables over C whose mean along each axis is 0). A marginal over A, written
    out as a matrix with weight w, has there the eigenvalue w**2 times the product of the sizes of all columns outside
    A, if C is in A, and 0 otherwise (McKenna, Miklau, Hay & Machanavajjhala 2018, arXiv:1808.03537, section 7.2). Sizes
    are divided by those of the whole table, so that nothing overflows: the estimate of the marginal over C's own part
    is the weighted mean over all A that hold C.

    >>> from discreet.methods.workloads import Marginals
    >>> strategy = WeightedMargins(Marginals([2, 3], 1), {(0,): 1, (1,): 2})
    >>> strategy.measure([[1, 0, 0], [2, 0, 5]]).tolist(), strategy.reach.l1
    ([1, 7, 6, 0, 10], 3)
    """

    name: ClassVar[str] = "weighted marginals"

    workload: Workload
    weights: Mapping[Columns, int]

    @property
    def _sizes(self) -> tuple[int, ...]:
        return self.workload.shape

    def _size(self, columns: Columns) -> int:
        return math.prod(self._sizes[place] for place in columns)

    @property
    def measurements(self) -> int:
        """All cells of all measured marginals."""
        return sum(self._size(columns) for columns in self.weights)

    @property
    def reach(self) -> Reach:
        """The weights, exactly."""
        return Reach(sum(self.weights.values()), sum(weight**2 for weight in self.weights.values()))

    @cached_property
    def _precision(self) -> dict[Columns, float]:
        """For each part C: the sum over measured A that hold C of w**2 / (cells of A)."""
        return {
            part: sum(w**2 / self._size(wide) for wide, w in self.weights.items() if set(part) <= set(wide))
            for part in below(columns for _, columns in asked_sets(self.workload))
        }

    def _variance(self, columns: Columns) -> float:
        """The variance of each cell of a marginal."""
        parts = below([columns])
        size = self._size(columns)
        return sum(self._part(part) / self._precision[part] for part in parts) / size**2

    def _part(self, columns: Columns) -> int:
        """How many dimensions the part of some columns has."""
        return math.prod(self._sizes[place] - 1 for place in columns)

    @cached_property
    def total(self) -> float:
        """The sum over all marginals that were asked for."""
        return sum(
            weight * self._size(columns) * self._variance(columns) for weight, columns in asked_sets(self.workload)
        )

    def variances(self) -> Floats:
        """The same for all cells of a marginal."""
        sets = [columns for _, columns in asked_sets(self.workload)]
        return np.concatenate([np.full(self._size(columns), self._variance(columns)) for columns in sets])

    def exact(self, counts: Any) -> NDArray[Any]:  # noqa: ANN401 - as the strategy says
        """Count, and weigh."""
        counted = tally(counts, self._sizes)
        return np.concatenate([weight * counted.marginal(columns).ravel() for columns, weight in self.weights.items()])

    def answers(self, noisy: Floats) -> Floats:
        """Estimate each part by its weighted mean, and put marginals together from parts."""
        tables, place = {}, 0
        for columns, weight in self.weights.items():
            size = self._size(columns)
            shape = [self._sizes[column] for column in columns]
            tables[columns] = (weight, noisy[place : place + size].reshape(shape) / weight)
            place += size
        parts = {part: self._estimated(part, tables) for part in self._precision}
        sets = [columns for _, columns in asked_sets(self.workload)]
        return np.concatenate([put_together(columns, parts, self._sizes).ravel() for columns in sets])

    def _estimated(self, part: Columns, tables: Mapping[Columns, tuple[int, Floats]]) -> Floats:
        """The table over a part's columns, centered."""
        summed = np.zeros([self._sizes[column] for column in part])
        for wide, (weight, table) in tables.items():
            if set(part) <= set(wide):
                others = tuple(axis for axis, column in enumerate(wide) if column not in part)
                # Over the cells outside: each has the variance of one cell times their number.
                summed = summed + weight**2 / self._size(wide) * self._size(part) * table.sum(axis=others)
        return centered(summed) / (self._precision[part] * self._size(part))


def put_together(columns: Columns, parts: Mapping[Columns, Floats], sizes: tuple[int, ...]) -> Floats:
    """Add up the parts of a marginal, each spread evenly over the columns that it does not have.

    >>> parts = {(): np.array(6.0), (0,): np.array([1.0, -1.0])}
    >>> put_together((0,), parts, (2,)).tolist()
    [4.0, 2.0]
    """
    table = np.zeros([sizes[column] for column in columns])
    for part in below([columns]):
        shape = [sizes[column] if column in part else 1 for column in columns]
        others = math.prod(sizes[column] for column in columns if column not in part)
        table = table + parts[part].reshape(shape) / others
    return table


def best_margins(workload: Workload, norm: Norm) -> WeightedMargins:
    """Weigh marginals so that the error is least, by descent over the logarithms of the weights from several starts.

    Measured may be the marginals that were asked for, smaller ones, and somewhat larger ones, of which several follow
    at once.

    >>> from discreet.mechanisms.adding.grids import Norm
    >>> from discreet.methods.workloads import Marginals
    >>> sorted(best_margins(Marginals([4, 4], [(0, 1)]), Norm.L1).weights)
    [(0, 1)]
    """
    sets = asked_sets(workload)
    sizes = workload.shape
    wide = _candidates(sizes, [columns for _, columns in sets])
    parts = below(columns for _, columns in sets)
    cells = np.array([float(math.prod(sizes[place] for place in columns)) for columns in wide])
    holds = np.array([[float(set(part) <= set(columns)) for columns in wide] for part in parts]) / cells
    free = np.array([float(math.prod(sizes[place] - 1 for place in part)) for part in parts])
    wanted = np.zeros(len(parts))
    for weight, columns in sets:
        inside = np.array([set(part) <= set(columns) for part in parts])
        wanted += np.where(inside, weight * free / math.prod(sizes[place] for place in columns), 0.0)
    power = 1.0 if norm.value == "l1" else 2.0

    def error(logs: Floats) -> tuple[float, Floats]:
        """The logarithm of the error by the logarithms of the weights, and its slope."""
        squares, costs = np.exp(2 * logs), np.exp(power * logs)
        values = holds @ squares
        each = wanted / values
        slope = 2 * (costs / costs.sum() - squares * (holds.T @ (each / values)) / each.sum())
        return float((2 / power) * np.log(costs.sum()) + np.log(each.sum())), slope

    asked = dict.fromkeys(columns for _, columns in sets)
    starts = [
        np.where([columns in asked for columns in wide], 0.0, -3.0),
        np.zeros(len(wide)),
        np.log(cells) / 3,
    ]
    found = [descend(error, start, (-30.0, 30.0)) for start in starts]
    best = min(found, key=lambda one: one[1])[0]
    return WeightedMargins(workload, _snapped(dict(zip(wide, (best - best.max()).tolist(), strict=True)), asked))


def _candidates(sizes: tuple[int, ...], sets: list[Columns]) -> list[Columns]:
    """The marginals that may be measured: all of a few columns; else those asked for, with one column more or fewer."""
    places = range(len(sizes))
    if len(sizes) <= _FEW_COLUMNS:
        larger = [tuple(places)]
    else:
        larger = [tuple(sorted({*columns, place})) for columns in sets for place in places]
    asked = set(below(sets))
    extra = [
        part
        for part in below(larger)
        if part not in asked and math.prod(sizes[place] for place in part) <= _MOST_MEASURED
    ]
    return sorted(asked) + (extra if len(asked) + len(extra) <= _MOST_CANDIDATES else [])


def _snapped(logs: Mapping[Columns, float], asked: Iterable[Columns]) -> dict[Columns, int]:
    """Snap weights to whole steps; whatever was asked for stays determined."""
    kept = {part: round(math.exp(log) * STEPS) for part, log in logs.items() if log > _LEAST_LOG}
    for columns in asked:
        if not any(set(columns) <= set(wide) for wide in kept):
            kept[columns] = max(1, round(math.exp(logs[columns]) * STEPS))
    return kept
