"""Linear regression: by noisy gradients, from noisy sums, with noise in the objective or on the minimum, by a draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms.inputs.parameters import miss, read_positive
from discreet.methods.learning.tabular.descent import Descent, Fitted, Statistics, Weighed
from discreet.methods.learning.tabular.estimator import Estimator, Task
from discreet.methods.learning.tabular.features import Feature, read_bounds
from discreet.methods.learning.tabular.linear import read_method, read_rate, read_ridge
from discreet.methods.learning.tabular.losses import Squared
from discreet.methods.learning.tabular.perturbing import Price, fit_adapted, fit_objective, fit_output, fit_posterior
from discreet.methods.learning.tabular.training import Training

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.exact import Number
    from discreet.methods.learning.tabular.perturbing import Fit
    from discreet.methods.learning.tabular.training import Goal
    from discreet.noise import BitSource

__all__ = ["LinearRegression"]

_FITS: dict[str, Fit] = {"objective": fit_objective, "output": fit_output, "posterior": fit_posterior}
_ADAPTED = {"adaptive objective": fit_objective, "adaptive posterior": fit_posterior}
_METHODS = ("gradient", "statistics", *_FITS, *_ADAPTED)


@dataclass(eq=False, repr=False)
class LinearRegression(Estimator):
    """Linear regression of a bounded number, by one of these methods.

    - `"gradient"`: noisy gradients, whose residuals count at most a twentieth of the range of the target. It is robust,
      and best at small epsilons. `rate` draws a sample of units for each step.
    - `"statistics"`: the normal equations from noisy sums, with a ridge that is chosen from them; it alone knows how
      uncertain its predictions are (`predict_interval`).
    - `"output"` and `"objective"`: noise on the minimum, or in the objective. Scores beyond `radius` plus 1 count no
      further (half the range of the target is 1), which is what bounds a unit's gradient.
    - `"posterior"`: one draw from the posterior, its mode no longer than `radius`.
    - `"adaptive objective"`, `"adaptive posterior"`: a third of the price buys sums; the rest is spent near the model
      that follows from them, at the scale of what it leaves over.

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
    rate: Number = field(default=1, kw_only=True)
    ridge: Number | None = field(default=None, kw_only=True)
    radius: Number = field(default=1, kw_only=True)

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
        scaled = np.zeros((rows.units.size, 1))
        target.written(rows.columns[target.name], rows.missing[target.name], scaled)
        values = np.where(rows.missing[target.name], np.nan, scaled[:, 0])
        weighed = Weighed.of(task.features.matrix(rows), values, rows.units, scaled=True)
        fitted = self._by(weighed, task.goal, bits)
        value = {"weights": fitted.weights, "size": fitted.size, "method": self.method}
        if fitted.covariance is not None:
            value |= {"covariance": fitted.covariance, "spread": fitted.spread}
        return value, Training(self.kind, task.goal.claim, fitted.steps)

    def _by(self, rows: Weighed, goal: Goal, bits: BitSource) -> Fitted:
        """Fit by the chosen method."""
        method = read_method(self.method, _METHODS)
        if method == "gradient":
            return Descent(steps=20, rate=read_rate(self.rate)).fit(rows, Squared(), goal, bits)
        if method == "statistics":
            return Statistics().fit(rows, goal, bits)
        radius = read_positive(self.radius, "radius", zero="it bounds the length of the weights")
        price = Price(goal, read_ridge(self.ridge))
        if method in _ADAPTED:
            return fit_adapted(rows, _ADAPTED[method], price, bits, radius=float(radius))
        return _FITS[method](rows, Squared(steepest=1 + float(radius)), price, bits)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights of the features, each between -1 and 1, for the target scaled to -1 … 1."""
        weights: NDArray[np.float64] = self._value["weights"][1:, 0]
        return weights

    @property
    def intercept_(self) -> float:
        """The weight of the intercept."""
        return float(self._value["weights"][0, 0])

    def _predicted(self, X: object) -> tuple[NDArray[np.float64], NDArray[np.float64], float, float]:  # noqa: N803
        """Return rows and their scores, the middle of the target's bounds, and half of their range."""
        bounds = Feature.read(self._value["target"])
        lower, upper = float(Fraction(bounds.lower or 0)), float(Fraction(bounds.upper or 0))
        features = self.features
        rows = features.matrix(features.rows(X))
        return rows, rows @ self._value["weights"][:, 0], (lower + upper) / 2, (upper - lower) / 2

    def predict(self, X: object) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return a number within the bounds of the target for each row; it is free, and of whatever rows."""
        _, scores, middle, half = self._predicted(X)
        numbers: NDArray[np.float64] = middle + np.clip(scores, -1, 1) * half
        return numbers

    def predict_interval(self, X: object, confidence: float = 0.95) -> NDArray[np.float64]:  # noqa: N803
        """Return for each row the ends between which its target lies, with about this probability.

        They include the noise of the training, the ridge, the rows that there were, and what a linear model leaves
        over; all of it from released numbers, so they are free. Where rows scatter more in one place than in another,
        they are right on average only.

        >>> x = np.random.default_rng(0).uniform(-1, 1, (4000, 1))
        >>> y = 3 * x[:, 0] + np.random.default_rng(1).normal(0, 1, 4000)
        >>> model = LinearRegression(epsilon=2, bounds=(-1, 1), target_bounds=(-10, 10), method="statistics").fit(x, y)
        >>> low, high = model.predict_interval([[0.5]])[0]
        >>> bool(-1.5 < low < 0 < 3 < high < 4.5)
        True
        """
        from scipy.special import ndtri

        if "covariance" not in self._value:
            msg = f"the method {self._value['method']!r} does not know its errors; train with method='statistics'."
            raise ParameterError(msg)
        rows, scores, middle, half = self._predicted(X)
        variance = np.einsum("ij,jk,ik->i", rows, self._value["covariance"], rows)
        variance += self._value["spread"] * (rows**2).sum(axis=1)
        far = float(ndtri(1 - float(miss(confidence)) / 2)) * np.sqrt(np.maximum(variance, 0))
        ends: NDArray[np.float64] = middle + np.clip(np.column_stack([scores - far, scores + far]), -1, 1) * half
        return ends

    def _plain_score(self, X: object, y: object) -> float:  # noqa: N803 - scikit-learn's name
        truth = np.asarray(y, dtype=float)
        return float(1 - ((truth - self.predict(X)) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())
