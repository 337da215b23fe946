"""The Haar wavelet: differences of neighboring blocks, with the best weight for each size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.methods.workloads.strategies.levels import needed, spread
from discreet.methods.workloads.strategies.strategy import STEPS, Reach, Strategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.mechanisms.adding.grids import Norm
    from discreet.methods.workloads.algebra.workload import Floats, Workload

__all__ = ["Haar", "haar"]


@dataclass(frozen=True)
class Haar(Strategy):
    """Measure by how much each block of 2**j cells exceeds the next one, and the total, each level with a weight.

    A row is in one pair of blocks of each level and in the total, and moves each by 1 up or down, times the weight.
    Vectors of different levels and places are orthogonal, so what was measured is inverted without solving anything.

    Xiao, Wang & Gehrke 2010, "Differential privacy via wavelet transforms" (arXiv:0909.5530), with other weights.

    >>> from discreet.mechanisms.adding.grids import Norm
    >>> from discreet.methods.workloads import Identity
    >>> strategy = Haar(Identity(4), (1, 1, 1))
    >>> strategy.measure([5, 0, 2, 1]).tolist(), strategy.reach.l1
    ([5, 1, 2, 8], 3)
    """

    name: ClassVar[str] = "Haar wavelet"

    workload: Workload
    weights: tuple[int, ...]

    @property
    def size(self) -> int:
        """The cells of the padded axis."""
        return int(2 ** (len(self.weights) - 1))

    @property
    def measurements(self) -> int:
        """As many as there are cells."""
        return self.size

    @property
    def reach(self) -> Reach:
        """The weights, exactly; columns of two halves have opposite signs."""
        return Reach(sum(self.weights), sum(weight**2 for weight in self.weights), acute=False)

    @cached_property
    def _left(self) -> Floats:
        """The variance left on each level's part: 1 / (w**2 times the squared length of its vectors)."""
        depth = len(self.weights) - 1
        lengths = 2.0 ** np.minimum(np.arange(depth + 1) + 1, depth)
        left: Floats = 1 / (np.array(self.weights, dtype=float) ** 2 * lengths)
        return left

    @cached_property
    def total(self) -> float:
        """The sum over levels of what is needed there times what is left there."""
        return float(needed(self.workload, 2) @ self._left)

    def exact(self, counts: Any) -> NDArray[Any]:  # noqa: ANN401 - as the strategy says
        """Take differences and sums of neighbors, level by level."""
        cells = self.workload.read_counts(counts)
        level = np.append(cells, np.zeros(self.size - len(cells), dtype=cells.dtype))
        measured = []
        for weight in self.weights[:-1]:
            measured.append(weight * (level[::2] - level[1::2]))
            level = level[::2] + level[1::2]
        return np.concatenate([*measured, self.weights[-1] * level])

    def cells(self, noisy: Floats) -> Floats:
        """Invert, from the total down."""
        sums, place = noisy[-1:] / self.weights[-1], len(noisy) - 1
        for weight in reversed(self.weights[:-1]):
            gaps = noisy[place - len(sums) : place] / weight
            place -= len(sums)
            sums = np.stack([sums + gaps, sums - gaps], axis=1).ravel() / 2
        return sums[: self.workload.cells]

    def answers(self, noisy: Floats) -> Floats:
        """Add up cells."""
        return self.workload.answers(self.cells(noisy))

    def variances(self) -> Floats:
        """The sum over levels for each query."""
        return spread(self.workload, 2, self._left)


def haar(workload: Workload, norm: Norm) -> Haar:
    """Weigh the levels so that the workload's error is least, in closed form.

    The error is (sum of w)**2 or (sum of w**2) times the sum of n_j / w_j**2, n_j what is needed on level j over the
    squared length of its vectors: w_j is the third or the fourth root of n_j, by Hölder's inequality.

    >>> from discreet.mechanisms.adding.grids import Norm
    >>> from discreet.methods.workloads import Prefix
    >>> haar(Prefix(4), Norm.L2).weights[-1]
    1048576
    """
    wanted = needed(workload, 2)
    depth = len(wanted) - 1
    ratios = wanted / 2.0 ** np.minimum(np.arange(depth + 1) + 1, depth)
    weights = ratios ** (1 / 3 if norm.value == "l1" else 1 / 4)
    snapped = np.maximum(np.rint(weights / weights.max() * STEPS), 1)
    return Haar(workload, tuple(int(weight) for weight in snapped))
