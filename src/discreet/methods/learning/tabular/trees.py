r"""Random decision trees: their shape is drawn without a look at the data, and leaves count classes with noise.

Privacy. The shape of all trees is drawn from random bits and public bounds, before a row is read (Jagannathan,
Pillaipakkamnatt & Wright 2009, doi:10.1109/ICDMW.2009.93). A row falls into one leaf of each of K trees and counts 1/m
there if its unit has m rows, rounded toward 0. One unit's part of the counts of one tree has the length at most 1, as
its rows' shares add up to at most 1, so that of all K trees together has at most sqrt(K) in L2; under change-one, where
one unit leaves and another enters, twice that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.exact import integer, sqrt_upper
from discreet.methods.learning.tabular.descent import Descent, Weighed
from discreet.methods.learning.tabular.features import SCALE
from discreet.methods.learning.tabular.linear import Classifier, LinearScores
from discreet.methods.learning.tabular.losses import Logistic, Softmax
from discreet.methods.learning.tabular.sums import shares
from discreet.methods.learning.tabular.training import Step, Training, movers
from discreet.noise import uniform_integer

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.methods.learning.tabular.estimator import Task
    from discreet.methods.learning.tabular.features import Features
    from discreet.noise import BitSource

__all__ = ["RandomDecisionTrees", "RandomForest", "Shape"]

_POINTS = 1 << 16
_MOST_TREES, _MOST_DEPTH = 1000, 12


@dataclass(frozen=True, slots=True)
class Shape:
    """Complete binary trees: which feature each inner node asks about, and where it parts the rows.

    >>> from discreet.noise import SYSTEM
    >>> shape = Shape.drawn([1, 1], trees=3, depth=2, bits=SYSTEM)
    >>> shape.leaves(np.zeros((5, 2))).shape
    (5, 3)
    """

    features: NDArray[np.int64]
    thresholds: NDArray[np.float64]

    @staticmethod
    def drawn(widths: list[int], *, trees: int, depth: int, bits: BitSource) -> Shape:
        """Draw the shape: a column for each node, of a column with keys one of them, of a number a point of its range.

        `widths` has the number of features of each column: 1 for a number, which a parent may have parted before, so
        that a node parts what is left of its range.
        """
        starts = np.r_[0, np.cumsum(widths)]
        nodes = (1 << depth) - 1
        features, thresholds = np.zeros((trees, nodes), dtype=np.int64), np.zeros((trees, nodes))
        for tree in range(trees):
            ranges: dict[int, dict[int, tuple[float, float]]] = {0: {}}
            for node in range(nodes):
                column = uniform_integer(len(widths), bits=bits)
                left = dict(ranges[node])
                right = dict(left)
                features[tree, node] = starts[column] + uniform_integer(widths[column], bits=bits)
                thresholds[tree, node] = 0.5
                if widths[column] == 1:
                    low, high = left.get(column, (-1.0, 1.0))
                    part = low + (high - low) * (uniform_integer(_POINTS, bits=bits) + 0.5) / _POINTS
                    thresholds[tree, node] = part
                    left[column], right[column] = (low, part), (part, high)
                ranges[2 * node + 1], ranges[2 * node + 2] = left, right
        return Shape(features, thresholds)

    def leaves(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the leaf of each row in each tree."""
        rows, trees = np.arange(values.shape[0])[:, None], np.arange(self.features.shape[0])[None, :]
        nodes = np.zeros((values.shape[0], self.features.shape[0]), dtype=np.int64)
        inner = self.features.shape[1]
        for _ in range(inner.bit_length()):
            beyond = values[rows, self.features[trees, nodes]] > self.thresholds[trees, nodes]
            nodes = 2 * nodes + 1 + beyond
        places: NDArray[np.int64] = nodes - inner
        return places

    def widened(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return rows with an intercept, and behind each a 1 for each leaf that it is in."""
        leaves = self.leaves(values[:, 1:])
        count = self.features.shape[1] + 1
        there = np.zeros((len(values), leaves.shape[1] * count))
        np.put_along_axis(there, leaves + np.arange(leaves.shape[1]) * count, 1.0, axis=1)
        return np.column_stack([values, there])


@dataclass(eq=False, repr=False)
class RandomDecisionTrees(Classifier):
    """Decision trees whose shape is random and whose leaves count classes with noise: the baseline of private trees.

    >>> x = np.random.default_rng(0).uniform(0, 1, (5000, 1))
    >>> model = RandomDecisionTrees(epsilon=3, classes=["low", "high"], bounds=(0, 1))
    >>> model = model.fit(x, np.where(x[:, 0] > 0.5, "high", "low"))
    >>> model.predict([[0.05], [0.95]]).tolist()
    ['low', 'high']
    """

    kind: ClassVar[str] = "random_decision_trees"

    trees: SupportsIndex = field(default=20, kw_only=True)
    depth: SupportsIndex = field(default=6, kw_only=True)

    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        trees = integer(self.trees, name="trees", least=1, most=_MOST_TREES)
        depth = integer(self.depth, name="depth", least=1, most=_MOST_DEPTH)
        shape = Shape.drawn([feature.width for feature in task.features.columns], trees=trees, depth=depth, bits=bits)
        labels, classes = self._labels(rows, task)
        there = ~np.isnan(labels)
        leaves = shape.leaves(task.features.matrix(rows)[there, 1:])
        weights = np.trunc(shares(rows.units[there]) * SCALE)
        exact = np.zeros((trees, 1 << depth, len(classes)))
        for tree in range(trees):
            np.add.at(exact[tree], (leaves[:, tree], labels[there].astype(np.int64)), weights)
        mechanism = task.goal.gaussian(
            movers(task.goal.claim.neighbors) * SCALE * sqrt_upper(Fraction(trees)),
            share=Fraction(1),
            times=1,
            dimensions=exact.size,
        )
        noisy = np.asarray(mechanism.release(exact.astype(np.int64), bits=bits).value).reshape(exact.shape) / SCALE
        value = {
            "splits": shape.features,
            "thresholds": shape.thresholds,
            "counts": noisy,
            "classes": classes,
            "size": float(noisy.sum() / trees),
        }
        return value, Training(self.kind, task.goal.claim, [Step("counts of leaves", mechanism)])

    def decision_function(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return the logarithm of each class's chance: its share of the noisy counts in the leaves of all trees."""
        value = self._value
        features: Features = self.features
        leaves = Shape(value["splits"], value["thresholds"]).leaves(features.matrix(features.rows(X))[:, 1:])
        counts = value["counts"][np.arange(leaves.shape[1])[None, :], leaves].sum(axis=1)
        scores: NDArray[np.float64] = np.log(np.maximum(counts, 1))
        return scores


@dataclass(eq=False, repr=False)
class RandomForest(LinearScores):
    """Trees of random shape whose nodes are weighed together, by noisy gradients, beside the features themselves.

    Where `RandomDecisionTrees` counts classes in leaves, here each row is the vector of its features and of the nodes
    that it passes, scaled to length 1, and a logistic regression learns what each is worth: a unit's row moves a
    gradient by no more than in any linear model, however many trees there are.

    >>> x = np.random.default_rng(0).uniform(0, 1, (6000, 1))
    >>> model = RandomForest(epsilon=3, classes=["out", "in"], bounds=(0, 1))
    >>> model = model.fit(x, np.where(np.abs(x[:, 0] - 0.5) < 0.25, "in", "out"))
    >>> model.predict([[0.02], [0.5], [0.98]]).tolist()
    ['out', 'in', 'out']
    """

    trees: SupportsIndex = field(default=10, kw_only=True)
    depth: SupportsIndex = field(default=3, kw_only=True)

    kind: ClassVar[str] = "random_forest"

    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        trees = integer(self.trees, name="trees", least=1, most=_MOST_TREES)
        depth = integer(self.depth, name="depth", least=1, most=_MOST_DEPTH)
        shape = Shape.drawn([feature.width for feature in task.features.columns], trees=trees, depth=depth, bits=bits)
        labels, classes = self._labels(rows, task)
        weighed = Weighed.of(shape.widened(task.features.matrix(rows)), labels, rows.units)
        loss = Logistic() if len(classes) == 2 else Softmax(len(classes))
        fitted = Descent().fit(weighed, loss, task.goal, bits)
        value = {"splits": shape.features, "thresholds": shape.thresholds, "weights": fitted.weights}
        return value | {"classes": classes, "size": fitted.size}, Training(self.kind, task.goal.claim, fitted.steps)

    def _matrix(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        features, value = self.features, self._value
        rows = Shape(value["splits"], value["thresholds"]).widened(features.matrix(features.rows(X)))
        scaled: NDArray[np.float64] = rows / np.sqrt((rows**2).sum(axis=1))[:, None]
        return scaled
