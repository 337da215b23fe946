"""A tree of sums over an axis, with one weight per level: equal ones, or the best ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.inference import tree
from discreet.methods.workloads.strategies.descent import descend
from discreet.methods.workloads.strategies.levels import depth_of, needed, require_line, spread
from discreet.methods.workloads.strategies.strategy import STEPS, Reach, Strategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.mechanisms.adding.grids import Norm
    from discreet.methods.workloads.algebra.workload import Floats, Workload

__all__ = ["Tree", "best_tree", "hierarchical"]


@dataclass(frozen=True)
class Tree(Strategy):
    """Measure the sums of all blocks of b**0, b**1, … neighboring cells, each level with a weight of its own.

    A row is in one block of each level: it moves the numbers by the sum of the weights in L1, by the root of the sum of
    their squares in L2, and no weight is negative. On the part of level j (see `needed`) A'A is the number
    sum over l <= j of w_l**2 b**l, so the expected error of any workload is a sum over levels: nothing of the size of
    the axis squared is ever written out. Answers come from the estimate of least squares, in two passes.

    >>> from discreet.methods.workloads import Prefix
    >>> strategy = Tree(Prefix(4), 2, (1, 1, 1))
    >>> strategy.measure([5, 0, 2, 1]).tolist(), strategy.reach.l1
    ([5, 0, 2, 1, 5, 3, 8], 3)
    """

    name: ClassVar[str] = "tree"

    workload: Workload
    branching: int
    weights: tuple[int, ...]

    @property
    def size(self) -> int:
        """The cells of the padded axis."""
        return int(self.branching ** (len(self.weights) - 1))

    @property
    def measurements(self) -> int:
        """All blocks of all levels that have a weight."""
        return sum(self.size // self.branching**level for level in self._levels)

    @property
    def _levels(self) -> list[int]:
        return [level for level, weight in enumerate(self.weights) if weight]

    @property
    def reach(self) -> Reach:
        """The weights, exactly."""
        return Reach(sum(self.weights), sum(weight**2 for weight in self.weights))

    @cached_property
    def _left(self) -> Floats:
        """The variance that is left on each level's part: 1 over the eigenvalue of A'A there."""
        return 1 / _eigenvalues(np.array(self.weights, dtype=float) ** 2, self.branching)

    @cached_property
    def total(self) -> float:
        """The sum over levels of what is needed there times what is left there."""
        return float(needed(self.workload, self.branching) @ self._left)

    def exact(self, counts: Any) -> NDArray[Any]:  # noqa: ANN401 - as the strategy says
        """Sum blocks, from the leaves up."""
        cells = self.workload.read_counts(counts)
        level = np.append(cells, np.zeros(self.size - len(cells), dtype=cells.dtype))
        measured = []
        for weight in self.weights:
            if weight:
                measured.append(weight * level)
            if level.size > 1:
                level = level.reshape(-1, self.branching).sum(axis=1)
        return np.concatenate(measured)

    def cells(self, noisy: Floats) -> Floats:
        """Fit the leaves by least squares."""
        levels, place = [], 0
        for number, weight in enumerate(self.weights):
            size = self.size // self.branching**number
            levels.append(noisy[place : place + size] / weight if weight else np.zeros(size))
            place += size if weight else 0
        variances = [1 / weight**2 if weight else np.inf for weight in self.weights]
        return tree(levels, branching=self.branching, variances=variances)[0][: self.workload.cells]

    def answers(self, noisy: Floats) -> Floats:
        """Add up fitted leaves."""
        return self.workload.answers(self.cells(noisy))

    def variances(self) -> Floats:
        """The sum over levels for each query."""
        return spread(self.workload, self.branching, self._left)


class Hierarchical(Tree):
    """A tree whose levels all have the same weight.

    >>> from discreet.methods.workloads import Prefix
    >>> hierarchical(Prefix(4)).name
    'hierarchical'
    """

    name: ClassVar[str] = "hierarchical"


def hierarchical(workload: Workload, branching: int = 16) -> Tree:
    """Measure all levels alike.

    Hay, Rastogi, Miklau & Suciu 2010 (arXiv:0904.0942); branching 16 is what Qardaji, Yang & Li 2013,
    "Understanding hierarchical methods for differentially private histograms" (doi:10.14778/2556549.2556576), found
    about best for ranges.

    >>> from discreet.methods.workloads import Prefix
    >>> len(hierarchical(Prefix(256)).weights)
    3
    """
    return Hierarchical(workload, branching, (STEPS,) * (depth_of(require_line(workload), branching) + 1))


def best_tree(workload: Workload, norm: Norm, branching: int = 2) -> Tree:
    """Weigh the levels so that the workload's error is least, for noise of one norm.

    With v_l the squared weights, the error is (sum of v_l) times, or for L1 (sum of the roots of v_l)**2 times, the sum
    of what is needed on level j over sum over l <= j of v_l b**l. It is minimized over the few weights, and costs
    nothing but one pass over the queries.

    >>> from discreet.mechanisms.adding.grids import Norm
    >>> from discreet.methods.workloads import Total
    >>> best_tree(Total(64), Norm.L1).weights[-1] > 1000 * best_tree(Total(64), Norm.L1).weights[0]
    True
    """
    wanted = needed(workload, branching)
    sizes = float(branching) ** np.arange(len(wanted))
    power = 1.0 if norm.value == "l1" else 2.0

    def error(logs: Floats) -> tuple[float, Floats]:
        """The logarithm of the error by the logarithms of the weights, and its slope."""
        squares = np.exp(2 * logs)
        costs = np.exp(power * logs)
        values = np.cumsum(squares * sizes)
        parts = wanted / values
        slope = 2 * (costs / costs.sum() - squares * sizes * np.cumsum((parts / values)[::-1])[::-1] / parts.sum())
        return float((2 / power) * np.log(costs.sum()) + np.log(parts.sum())), slope

    found, _ = descend(error, np.zeros(len(wanted)), (-16.0, 16.0))
    weights = np.exp(found - found.max())
    snapped = np.rint(weights * STEPS).astype(int)
    snapped[0] = max(int(snapped[0]), 1)
    return Tree(workload, branching, tuple(int(weight) for weight in snapped))


def _eigenvalues(squares: Floats, branching: int) -> Floats:
    """Return A'A on each level's part."""
    values: Floats = np.cumsum(squares * float(branching) ** np.arange(len(squares)))
    return values
