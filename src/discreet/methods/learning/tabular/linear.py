"""Linear models by noisy gradient descent: classes by logistic regression or a support vector machine."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.mechanisms.inputs.parameters import read_positive
from discreet.methods.learning.tabular.descent import Descent, Weighed
from discreet.methods.learning.tabular.estimator import Estimator, Task
from discreet.methods.learning.tabular.features import Feature
from discreet.methods.learning.tabular.losses import Huber, Logistic, Loss, Softmax
from discreet.methods.learning.tabular.perturbing import LEAST_RIDGE, Price, fit_objective, fit_output
from discreet.methods.learning.tabular.training import Training

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.exact import Number
    from discreet.noise import BitSource
    from discreet.tables import Value

__all__ = [
    "Classifier",
    "LinearClassifier",
    "LinearSVC",
    "LinearScores",
    "LogisticRegression",
    "read_method",
    "read_rate",
    "read_ridge",
]

_METHODS = ("gradient", "objective", "output")


@dataclass(eq=False, repr=False)
class Classifier(Estimator):
    """What tells classes apart: by a score for each, or one for two.

    >>> Classifier.sort
    'classifier'
    """

    sort: ClassVar[str | None] = "classifier"
    classes: Iterable[Value] | None = field(default=None, kw_only=True)

    def _target(self, facts: Feature | None) -> Feature:
        """Take the classes from the policy's keys, or as they are given."""
        given = None if self.classes is None else tuple(_value(label) for label in self.classes)
        known = facts.keys if facts is not None else None
        if given is None and known is None:
            msg = (
                "the classes are missing: which labels occur is private. Write classes=['no', 'yes'], or keys of the "
                "target in the policy."
            )
            raise ParameterError(msg)
        if given is not None and known is not None and set(given) - set(known):
            msg = f"classes is {shown(given)}; they must be among the keys of the target: {', '.join(map(str, known))}."
            raise ParameterError(msg)
        keys = tuple(key for key in (known or given or ()) if key is not None and (given is None or key in given))
        if len(set(keys)) < 2 or len(set(keys)) != len(keys):
            msg = f"classes is {shown(keys)}; a classifier needs two different classes or more."
            raise ParameterError(msg)
        return Feature("y" if facts is None else facts.name, keys=keys if known is None else known)

    def _wanted(self, target: Feature) -> list[int]:
        """Return the places of the classes among the keys of the target."""
        given = None if self.classes is None else {_value(label) for label in self.classes}
        keys = target.keys or ()
        return [place for place, key in enumerate(keys) if key is not None and (given is None or key in given)]

    def _labels(self, rows: BoundedRows, task: Task) -> tuple[NDArray[np.float64], list[Value]]:
        """Return the place of each row's class among the classes, NaN where it has none of them; and the classes."""
        target = task.target
        assert target is not None and target.keys is not None  # noqa: PT018, S101 - by `_target`
        wanted = self._wanted(target)
        numbers = np.full(len(target.keys) + 1, np.nan)
        numbers[wanted] = np.arange(len(wanted))
        return numbers[rows.columns[target.name]], [target.keys[place] for place in wanted]

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of scores and chances."""
        return np.array(self._value["classes"])

    @abstractmethod
    def decision_function(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return the score of each row, for each class where there are more than two."""

    def predict(self, X: object) -> NDArray[Any]:  # noqa: N803 - scikit-learn's name
        """Return the likeliest class of each row; it is free, and of whatever rows."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[places]
        return labels

    def _plain_score(self, X: object, y: object) -> float:  # noqa: N803 - scikit-learn's name
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def predict_proba(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return the chance of each class, as the model sees it."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(scores.size), scores])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return chances


@dataclass(eq=False, repr=False)
class LinearScores(Classifier):
    """What has a linear score for each class, or one for two, however its weights were learned.

    >>> LinearScores.sort
    'classifier'
    """

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights of the features, for rows that are scaled as `Features` says."""
        weights: NDArray[np.float64] = self._value["weights"][1:].T
        return weights

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The weights of the intercept."""
        weights: NDArray[np.float64] = self._value["weights"][0]
        return weights

    def decision_function(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return the score of each row, for each class where there are more than two."""
        scores: NDArray[np.float64] = self._matrix(X) @ self._value["weights"]
        return scores[:, 0] if scores.shape[1] == 1 else scores


@dataclass(eq=False, repr=False)
class LinearClassifier(LinearScores):
    """What classifiers with a linear score for each class share: three places to put the noise.

    `method="gradient"` follows noisy gradients, on all units or, with `rate`, on those of a sample for each step;
    `"objective"` minimizes with noise in the objective; `"output"` adds noise to the minimum. For the last two `ridge`
    is the weight of the squared length of the weights, in units; without it, it follows from the price.

    >>> LinearClassifier.sort
    'classifier'
    """

    method: str = field(default="gradient", kw_only=True)
    rate: Number = field(default=1, kw_only=True)
    ridge: Number | None = field(default=None, kw_only=True)

    @staticmethod
    @abstractmethod
    def _loss(classes: int) -> Loss:
        """Return the loss for so many classes."""

    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        labels, classes = self._labels(rows, task)
        weighed = Weighed.of(task.features.matrix(rows), labels, rows.units)
        loss, method = self._loss(len(classes)), read_method(self.method, _METHODS)
        if method == "gradient":
            fitted = Descent(rate=read_rate(self.rate)).fit(weighed, loss, task.goal, bits)
        else:
            fit = fit_objective if method == "objective" else fit_output
            fitted = fit(weighed, loss, Price(task.goal, read_ridge(self.ridge)), bits)
        value = {"weights": fitted.weights, "classes": classes, "size": fitted.size, "method": method}
        return value, Training(self.kind, task.goal.claim, fitted.steps)


def read_method(method: object, known: Sequence[str]) -> str:
    """Read the name of a method.

    >>> read_method("output", ["gradient", "output"])
    'output'
    """
    if method not in known:
        msg = f"method is {shown(method)}; it must be one of {', '.join(known)}."
        raise ParameterError(msg)
    return str(method)


def read_ridge(ridge: Number | None) -> Fraction | None:
    """Read a ridge of at least 1/64, if there is one: below that, floats do not tell how close a minimum is.

    >>> read_ridge("2.5")
    Fraction(5, 2)
    """
    if ridge is None:
        return None
    strong = read_positive(ridge, "ridge", zero="without one, minima move without limit")
    if strong < LEAST_RIDGE:
        msg = f"ridge is {shown(ridge)}; it must be at least 1/64 of a unit, or left out."
        raise ParameterError(msg)
    return strong


def read_rate(rate: Number) -> Fraction:
    """Read the chance of a unit to be drawn, above 0 and at most 1.

    >>> read_rate("0.5")
    Fraction(1, 2)
    """
    chance = read_positive(rate, "rate", zero="no unit is drawn")
    if chance > 1:
        msg = f"rate is {shown(rate)}; it must be at most 1, the chance that a unit takes part in a step."
        raise ParameterError(msg)
    return chance


def _value(label: object) -> Value:
    """Read a label as Python's own type."""
    value: Value = label.item() if isinstance(label, np.generic) else label  # type: ignore[assignment]
    return value


class LogisticRegression(LinearClassifier):
    """Logistic regression of two classes or more, by noisy gradients.

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 2000)[:, None]
    >>> model = LogisticRegression(epsilon=5, classes=["low", "high"], bounds=(-1, 1))
    >>> model = model.fit(x, np.where(x[:, 0] > 0, "high", "low"))
    >>> model.predict([[-0.9], [0.9]]).tolist(), model.release_.mechanism.promise
    (['low', 'high'], 'ε = 5, δ = 1e-06')
    """

    kind: ClassVar[str] = "logistic_regression"

    @staticmethod
    def _loss(classes: int) -> Loss:
        return Logistic() if classes == 2 else Softmax(classes)


class LinearSVC(LinearClassifier):
    """A linear support vector machine of two classes, its hinge rounded at the corner, by noisy gradients.

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 2000)[:, None]
    >>> model = LinearSVC(epsilon=5, classes=[0, 1], bounds=(-1, 1)).fit(x, (x[:, 0] > 0).astype(int))
    >>> model.predict([[-0.9], [0.9]]).tolist()
    [0, 1]
    """

    kind: ClassVar[str] = "linear_svc"

    @staticmethod
    def _loss(classes: int) -> Loss:
        if classes != 2:
            msg = f"classes are {classes}; this machine tells two apart. LogisticRegression takes more."
            raise ParameterError(msg)
        return Huber()
