"""Linear regression: by noisy gradients, or from noisy sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.methods.learning.tabular.descent import Descent, Statistics, Weighed
from discreet.methods.learning.tabular.estimator import Estimator, Task
from discreet.methods.learning.tabular.features import Feature, read_bounds
from discreet.methods.learning.tabular.losses import Squared
from discreet.methods.learning.tabular.training import Training

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.exact import Number
    from discreet.noise import BitSource

__all__ = ["LinearRegression"]

_METHODS = ("gradient", "statistics")


@dataclass(eq=False, repr=False)
class LinearRegression(Estimator):
    """Linear regression of a bounded number.

    `method="gradient"` takes noisy gradients, whose residuals count at most a twentieth of the range of the target: it
    is robust, and best at small epsilons. `method="statistics"` solves the normal equations from noisy sums.

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 4000)[:, None]
    >>> model = LinearRegression(epsilon=5, bounds=(-1, 1), target_bounds=(-10, 10)).fit(x, 8 * x[:, 0])
    >>> [round(float(number)) for number in model.predict([[0.0], [0.5]])]
    [0, 4]
    """

    kind: ClassVar[str] = "linear_regression"
    sort: ClassVar[str | None] = "regressor"

    method: str = field(default="gradient", kw_only=True)
    target_bounds: tuple[Number, Number] | None = field(default=None, kw_only=True)

    def _target(self, facts: Feature | None) -> Feature:
        if facts is not None and facts.keys is None:
            return facts
        if facts is not None:
            msg = f"{facts.name} has keys; a regression learns a number with bounds. LogisticRegression learns keys."
            raise ParameterError(msg)
        if self.target_bounds is None:
            msg = (
                "target_bounds are missing: without them one row can move the model without limit. Write "
                "target_bounds=(0, 100), from outside knowledge, not from the data."
            )
            raise ParameterError(msg)
        ((lower, upper),) = read_bounds(self.target_bounds, 1, name="target_bounds")
        return Feature("y", lower, upper)

    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        target = task.target
        assert target is not None  # noqa: S101 - by `_target`
        if self.method not in _METHODS:
            msg = f"method is {shown(self.method)}; it must be one of {', '.join(_METHODS)}."
            raise ParameterError(msg)
        scaled = np.zeros((rows.units.size, 1))
        target.written(rows.columns[target.name], rows.missing[target.name], scaled)
        values = np.where(rows.missing[target.name], np.nan, scaled[:, 0])
        weighed = Weighed.of(task.features.matrix(rows), values, rows.units, scaled=True)
        if self.method == "gradient":
            fitted = Descent(steps=20).fit(weighed, Squared(), task.goal, bits)
        else:
            fitted = Statistics().fit(weighed, task.goal, bits)
        value = {"weights": fitted.weights, "size": fitted.size, "method": self.method}
        return value, Training(self.kind, task.goal.claim, fitted.steps)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights of the features, each between -1 and 1, for the target scaled to -1 … 1."""
        weights: NDArray[np.float64] = self._value["weights"][1:, 0]
        return weights

    @property
    def intercept_(self) -> float:
        """The weight of the intercept."""
        return float(self._value["weights"][0, 0])

    def predict(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return a number within the bounds of the target for each row; it is free, and of whatever rows."""
        bounds = Feature.read(self._value["target"])
        lower, upper = float(Fraction(bounds.lower or 0)), float(Fraction(bounds.upper or 0))
        features = self.features
        scores = np.clip(features.matrix(features.rows(X)) @ self._value["weights"][:, 0], -1, 1)
        numbers: NDArray[np.float64] = (lower + upper) / 2 + scores * (upper - lower) / 2
        return numbers

    def score(self, X: object, y: object) -> float:  # noqa: N803 - scikit-learn's name
        """Return the share of the variance that is explained (R²). On private rows this is no release: it is exact."""
        truth = np.asarray(y, dtype=float)
        return float(1 - ((truth - self.predict(X)) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())
