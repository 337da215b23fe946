"""What `benchmarks.attacks` infers membership of: two sets of examples, a model trained with and without privacy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.noise import gaussian
from discreet.privacy import gaussian as gaussian_curve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

EPSILON = 4.0
DELTA = 1e-5
ODD = 40
"""So many of the purchases have labels that say nothing."""
STEPS, RATE = 100, 3.0
PRIVATE_STEPS, PRIVATE_RATE = 30, 1.0
CLIP = 1.0
SEED = 11


def purchases(many: int = 1000, width: int = 200, kinds: int = 10) -> tuple[Numbers, NDArray[np.int64]]:
    """Make up customers, yes or no for each of many goods: each kind of customer has tastes of its own, a third unlike.

    As wide and sparse as the sets of purchases that attacks on membership are usually shown on. The first ODD customers
    are of a kind that says nothing of what they buy.
    """
    chance = np.random.default_rng(SEED)
    tastes = chance.random((kinds, width)) < 0.5
    classes = chance.integers(0, kinds, many)
    bought = tastes[classes] ^ (chance.random((many, width)) < 0.35)
    classes[:ODD] = chance.integers(0, kinds, ODD)
    return bought / np.sqrt(width / 2), classes


def data_sets() -> Iterator[tuple[str, Any, Any]]:
    """Give names, examples and classes; where there are no examples, the reason in the place of the classes."""
    try:
        datasets = importlib.import_module("sklearn.datasets")
    except ImportError:
        yield "digits", None, "not measured: they come with scikit-learn, which is not installed"
    else:
        digits = datasets.load_digits()
        yield "digits", digits.data / np.linalg.norm(digits.data, axis=1, keepdims=True), digits.target
    yield ("purchases", *purchases())


class Softmax:
    """Linear classification by gradient descent, without privacy; as scikit-learn's classifiers are used."""

    def __init__(self, width: int, kinds: int) -> None:
        self.weights = np.zeros((width + 1, kinds))

    def fit(self, X: Numbers, y: NDArray[np.int64]) -> None:  # noqa: N803 - scikit-learn's names
        """Descend by whole gradients."""
        rows, aims = self._rows(X), np.eye(self.weights.shape[1])[y]
        for _ in range(STEPS):
            self.weights -= RATE * self._gradient(rows, aims) / 100

    def predict_proba(self, X: Numbers) -> Numbers:  # noqa: N803 - scikit-learn's names
        """Give each class's chance."""
        return self._chances(self._rows(X))

    def _gradient(self, rows: Numbers, aims: Numbers) -> Numbers:
        return np.asarray(rows.T @ (self._chances(rows) - aims))

    def _chances(self, rows: Numbers) -> Numbers:
        scores = rows @ self.weights
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    @staticmethod
    def _rows(examples: Numbers) -> Numbers:
        return np.column_stack([examples, np.full(len(examples), 0.1)])


class PrivateSoftmax(Softmax):
    """The same with clipped gradients and Gaussian noise: (4, 1e-5)-private for each example, added or removed."""

    def __init__(self, width: int, kinds: int, examples: int) -> None:
        super().__init__(width, kinds)
        self._examples = examples  # public: as many as there are
        self._sigma = noise_for(PRIVATE_STEPS)

    def fit(self, X: Numbers, y: NDArray[np.int64]) -> None:  # noqa: N803 - scikit-learn's names
        """Descend by sums of clipped gradients with noise."""
        rows, aims = self._rows(X), np.eye(self.weights.shape[1])[y]
        for _ in range(PRIVATE_STEPS):
            apart = self._chances(rows) - aims
            norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(apart, axis=1)
            total = rows.T @ (apart * np.minimum(1.0, CLIP / np.maximum(norms, 1e-12))[:, None])
            total = total + gaussian(self._sigma * CLIP, "1/1048576", total.shape)
            self.weights -= PRIVATE_RATE * 10 * total / self._examples


def noise_for(steps: int) -> float:
    """Return a sigma with which so many steps together are (EPSILON, DELTA)-private, to three digits."""
    low, high = 0.1, 100.0
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        kept = (gaussian_curve(sigma=round(middle, 6)) * steps).epsilon(DELTA) <= EPSILON
        low, high = (low, middle) if kept else (middle, high)
    return round(high, 6)
