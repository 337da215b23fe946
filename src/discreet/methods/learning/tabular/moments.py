r"""Models that are made of a few noisy sums: scaling, principal components, naive Bayes.

Privacy. Each row is a vector of whole numbers, a function of that row alone, whose length is at most a public L; of a
unit with m rows each counts 1/m, rounded toward 0. So one unit more moves the sum of all rows by at most L in L2, and
under change-one, where one leaves and one enters, by at most 2L.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.exact import integer
from discreet.methods.learning.tabular.descent import Weighed, moment_of
from discreet.methods.learning.tabular.estimator import Estimator, Task
from discreet.methods.learning.tabular.features import SCALE, Feature
from discreet.methods.learning.tabular.linear import Classifier
from discreet.methods.learning.tabular.sums import noisy_sums, shares
from discreet.methods.learning.tabular.training import Training

if TYPE_CHECKING:
    from typing import SupportsIndex

    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.noise import BitSource

__all__ = ["PCA", "GaussianNB", "StandardScaler", "Unsupervised"]

_LEAST_VARIANCE = 1e-3  # of numbers between -1 and 1: below it noise alone decides


def moments(values: NDArray[np.float64], share: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return (1, x, x²) of rows between -1 and 1 in steps of 1/SCALE, and how long such a row is at most.

    >>> cells, length = moments(np.array([[0.5, -1.0]]), np.ones(1))
    >>> cells.astype(int).tolist(), length
    ([[16384, 8192, -16384, 4096, 16384]], 36636)
    """
    rows = np.column_stack([np.ones(values.shape[0]), values, values**2])
    return np.trunc(np.trunc(rows * SCALE) * share[:, None]), math.isqrt((1 + 2 * values.shape[1]) * SCALE**2) + 1


def _spread(sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and variances from noisy sums of (1, x, x²), within what numbers between -1 and 1 can have."""
    width = (sums.shape[-1] - 1) // 2
    size = np.maximum(sums[..., :1], SCALE)
    mean = np.clip(sums[..., 1 : 1 + width] / size, -1, 1)
    variance = np.clip(sums[..., 1 + width :] / size - mean**2, _LEAST_VARIANCE, 1)
    return mean, variance


class Unsupervised(Estimator):
    """What learns without a target, and transforms rows.

    >>> Unsupervised.supervised
    False
    """

    supervised: ClassVar[bool] = False
    sort: ClassVar[str | None] = "transformer"

    def _target(self, facts: Feature | None) -> None:
        """Say that there is none."""
        del facts

    def fit_transform(self, X: Any, y: object = None, **fitted: Any) -> NDArray[np.float64]:  # noqa: ANN401, N803, ARG002
        """Train, and transform rows that the caller holds. What comes out of private rows is private."""
        return self.fit(X, **fitted).transform(X)

    def transform(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Transform rows that the caller holds; of each row it is a function of that row and of the model."""
        raise NotImplementedError


class StandardScaler(Unsupervised):
    """Scale features to mean 0 and variance 1, by private means and variances.

    >>> x = np.random.default_rng(0).normal(50, 10, (4000, 1))
    >>> scaler = StandardScaler(epsilon=3, bounds=(0, 100)).fit(x)
    >>> bool(abs(scaler.transform(x).mean()) < 0.1), bool(0.8 < scaler.transform(x).std() < 1.2)
    (True, True)
    """

    kind: ClassVar[str] = "standard_scaler"

    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        values = task.features.matrix(rows)[:, 1:]
        cells, length = moments(values, shares(rows.units))
        told: dict[str, Any] = {"length": length, "goal": task.goal, "share": Fraction(1), "times": 1}
        sums, step = noisy_sums(cells, np.zeros(len(cells), dtype=np.int64), 1, **told, bits=bits, name="moments")
        mean, variance = _spread(sums[0])
        value = {"mean": mean, "variance": variance, "size": float(sums[0, 0]) / SCALE}
        return value, Training(self.kind, task.goal.claim, [step])

    @property
    def mean_(self) -> NDArray[np.float64]:
        """The means of the features, each between -1 and 1."""
        mean: NDArray[np.float64] = self._value["mean"]
        return mean

    @property
    def var_(self) -> NDArray[np.float64]:
        """The variances of the features, each between -1 and 1."""
        variance: NDArray[np.float64] = self._value["variance"]
        return variance

    def transform(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return the features with means near 0 and variances near 1."""
        features = self.features
        scaled: NDArray[np.float64] = (features.matrix(features.rows(X))[:, 1:] - self.mean_) / np.sqrt(self.var_)
        return scaled


@dataclass(eq=False, repr=False)
class PCA(Unsupervised):
    """Principal components of a private second moment.

    Noise on the moment is the method of Dwork, Talwar, Thakurta & Zhang 2014, doi:10.1145/2591796.2591883. Features lie
    between -1 and 1, and their rows are divided by the largest length that a row can have.

    >>> x = np.random.default_rng(0).normal(0, 1, (4000, 1)) @ [[3.0, 4.0]]
    >>> pca = PCA(n_components=1, epsilon=3, bounds=(-20, 20)).fit(x)
    >>> np.abs(pca.components_).round(1).tolist()
    [[0.6, 0.8]]
    """

    kind: ClassVar[str] = "pca"

    n_components: SupportsIndex = field(default=2, kw_only=True)

    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        width = task.features.width
        wanted = integer(self.n_components, name="n_components", least=1, most=width - 1)
        largest = math.sqrt(width) * (1 + 2.0**-40)
        vectors = np.trunc(task.features.matrix(rows) * (SCALE / largest))
        moment, _, step = moment_of(
            Weighed(vectors, np.zeros(len(vectors)), shares(rows.units), rows.units), task.goal, Fraction(1), bits
        )
        size = max(float(moment[0, 0]) * width, 1.0)
        mean = np.clip(moment[0, 1:] * width / size, -1, 1)
        covariance = moment[1:, 1:] * width / size - np.outer(mean, mean)
        values, axes = np.linalg.eigh(covariance)
        order = np.argsort(values)[::-1][:wanted]
        value = {
            "mean": mean,
            "components": axes[:, order].T.copy(),
            "variances": np.maximum(values[order], 0),
            "size": size,
        }
        return value, Training(self.kind, task.goal.claim, [step])

    @property
    def components_(self) -> NDArray[np.float64]:
        """The components, for features between -1 and 1."""
        components: NDArray[np.float64] = self._value["components"]
        return components

    @property
    def explained_variance_(self) -> NDArray[np.float64]:
        """The variance along each component."""
        variances: NDArray[np.float64] = self._value["variances"]
        return variances

    def transform(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return the coordinates of rows along the components."""
        features = self.features
        shown: NDArray[np.float64] = (
            features.matrix(features.rows(X))[:, 1:] - self._value["mean"]
        ) @ self.components_.T
        return shown


class GaussianNB(Classifier):
    """Naive Bayes: in each class, each feature is normal, with private means and variances.

    >>> x = np.random.default_rng(0).normal(0, 1, (4000, 2)) + np.repeat([[0], [3]], 2000, axis=0)
    >>> model = GaussianNB(epsilon=3, classes=["a", "b"], bounds=(-9, 9)).fit(x, np.repeat(["a", "b"], 2000))
    >>> model.predict([[0, 0], [3, 3]]).tolist()
    ['a', 'b']
    """

    kind: ClassVar[str] = "gaussian_nb"

    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        labels, classes = self._labels(rows, task)
        there = ~np.isnan(labels)
        cells, length = moments(task.features.matrix(rows)[there, 1:], shares(rows.units[there]))
        told: dict[str, Any] = {"length": length, "goal": task.goal, "share": Fraction(1), "times": 1}
        sums, step = noisy_sums(
            cells, labels[there].astype(np.int64), len(classes), **told, bits=bits, name="moments of classes"
        )
        mean, variance = _spread(sums)
        sizes = np.maximum(sums[:, 0] / SCALE, 1)
        value = {"mean": mean, "variance": variance, "sizes": sizes, "classes": classes, "size": float(sizes.sum())}
        return value, Training(self.kind, task.goal.claim, [step])

    def decision_function(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return the logarithm of each class's chance, up to what all classes of a row share."""
        value, features = self._value, self.features
        rows = features.matrix(features.rows(X))[:, None, 1:]
        far = (rows - value["mean"]) ** 2 / value["variance"] + np.log(value["variance"])
        scores: NDArray[np.float64] = np.log(value["sizes"]) - far.sum(axis=2) / 2
        return scores
