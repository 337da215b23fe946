r"""Clusters of rows by noisy means: Lloyd's way, with noise on the sum and the count of each cluster in each turn.

Privacy. A row is a vector (w, x) of whole numbers, x between -1 and 1 in each of d features, whose length is at most
$\sqrt{w^2 + d}$, and lies in the cluster of the center that is closest, which is a function of the row and of released
centers. A unit's rows count 1/m each. So one unit more moves the sums of a turn by at most that length in L2, under
change-one by twice that. Su, Cao, Li, Bertino & Jin 2016 (doi:10.1145/2857705.2857708).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.exact import integer
from discreet.methods.learning.tabular.features import SCALE
from discreet.methods.learning.tabular.moments import Unsupervised
from discreet.methods.learning.tabular.sums import noisy_sums, shares
from discreet.methods.learning.tabular.training import Training
from discreet.noise import uniform_integer

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.methods.learning.tabular.estimator import Task
    from discreet.noise import BitSource

__all__ = ["KMeans"]

_DRAWS = 40  # how many sets of first centers are drawn, of which the one farthest apart is taken


@dataclass(eq=False, repr=False)
class KMeans(Unsupervised):
    """Clusters around private means; the first centers are drawn far apart within the bounds, without a look at rows.

    >>> x = np.random.default_rng(0).normal(0, 0.5, (4000, 2)) + np.repeat([[-3, -3], [3, 3]], 2000, axis=0)
    >>> model = KMeans(n_clusters=2, epsilon=3, bounds=(-5, 5)).fit(x)
    >>> sorted(model.cluster_centers_.round().tolist())
    [[-3.0, -3.0], [3.0, 3.0]]
    """

    n_clusters: SupportsIndex = field(default=8, kw_only=True)
    turns: SupportsIndex = field(default=6, kw_only=True)

    kind: ClassVar[str] = "k_means"
    sort: ClassVar[str | None] = "clusterer"

    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        count = integer(self.n_clusters, name="n_clusters", least=1, most=1000)
        turns = integer(self.turns, name="turns", least=1, most=1000)
        values, share = task.features.matrix(rows)[:, 1:], shares(rows.units)
        width = values.shape[1]
        weight = math.isqrt(max(width // 4, 1))
        cells = np.trunc(np.trunc(np.column_stack([np.full(len(values), weight), values]) * SCALE) * share[:, None])
        length = math.isqrt((weight**2 + width) * SCALE**2) + 1
        told: dict[str, Any] = {"length": length, "goal": task.goal, "share": Fraction(1), "times": turns}
        centers = _first(count, width, bits)
        for _ in range(turns):
            sums, step = noisy_sums(cells, closest(values, centers), count, **told, bits=bits, name="sums of clusters")
            sizes = np.maximum(sums[:, :1] / weight, SCALE)
            few = sums[:, 0] / weight < float(step.mechanism.sigma) / weight  # type: ignore[attr-defined]  # Gaussian
            moved = np.round(np.clip(sums[:, 1:] / sizes, -1, 1) * 2**20) / 2**20
            centers = np.where(few[:, None], centers, moved)
        value = {"centers": centers, "size": float(sums[:, 0].sum() / weight / SCALE)}
        return value, Training(self.kind, task.goal.claim, [step])

    @property
    def cluster_centers_(self) -> NDArray[np.float64]:
        """The centers: of numbers in their own units, of keys as shares between -1 and 1."""
        ends = [
            (float(feature.lower or 0), float(feature.upper or 0)) if feature.keys is None else (-1.0, 1.0)
            for feature in self.features.columns
            for _ in range(feature.width)
        ]
        low, high = np.array(ends).T
        centers: NDArray[np.float64] = (low + high) / 2 + self._value["centers"] * (high - low) / 2
        return centers

    def predict(self, X: object) -> NDArray[np.int64]:  # noqa: N803 - scikit-learn's name
        """Return the cluster of each row; it is free, and of whatever rows."""
        features = self.features
        return closest(features.matrix(features.rows(X))[:, 1:], self._value["centers"])

    def transform(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return how far each row is from each center, for features between -1 and 1."""
        features = self.features
        rows = features.matrix(features.rows(X))[:, 1:]
        far: NDArray[np.float64] = np.sqrt(((rows[:, None] - self._value["centers"]) ** 2).sum(axis=2))
        return far


def closest(values: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each row the center that is closest; each row by itself.

    >>> closest(np.array([[0.1], [0.9]]), np.array([[0.0], [1.0]])).tolist()
    [0, 1]
    """
    best, nearest = np.full(len(values), np.inf), np.zeros(len(values), dtype=np.int64)
    for number, center in enumerate(centers):
        far = np.zeros(len(values))
        for column, place in zip(values.T, center, strict=True):
            far += (column - place) ** 2
        best, nearest = np.minimum(best, far), np.where(far < best, number, nearest)
    return nearest


def _first(count: int, width: int, bits: BitSource) -> NDArray[np.float64]:
    """Draw centers within the bounds, and of several draws take the one whose centers are farthest apart."""
    drawn = uniform_integer(1 << 16, size=(_DRAWS, count, width), bits=bits) / (1 << 15) - 1 + 2.0**-16
    apart = ((drawn[:, :, None] - drawn[:, None]) ** 2).sum(axis=3) + 9 * width * np.eye(count)
    best: NDArray[np.float64] = drawn[int(apart.min(axis=(1, 2)).argmax())]
    return best
