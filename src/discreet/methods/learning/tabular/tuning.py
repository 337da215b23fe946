r"""Search over parameters whose cost is charged: the best of a random number of private runs.

Privacy. The number of runs K is geometric, $\Pr[K = k] = \gamma(1-\gamma)^{k-1}$, and drawn without a look at the data.
Each run takes one of the candidates at random, trains it, and releases a noisy score; all of a run together is
$\rho$-zCDP, so that its Renyi divergence of order $\lambda$ is at most $\rho\lambda$. Shown is only the run with the
best score. By Papernot & Steinke 2022 (arXiv:2110.03620, Theorem 2 with $\eta = 1$), for every $\hat\lambda \ge 1$ its
divergence of order $\lambda$ is at most

$$\rho\lambda + 2(1 - 1/\hat\lambda)\,\rho\hat\lambda + 2\ln(1/\gamma)/\hat\lambda + \ln(1/\gamma)/(\lambda - 1).$$

With $L = \ln(1/\gamma) \ge \rho$ and $\hat\lambda = \sqrt{L/\rho}$ it is
$\rho\lambda - 2\rho + 4\sqrt{\rho L} + L/(\lambda-1)$. As divergences grow with the order, it is also
$6\sqrt{\rho L}$-zCDP: up to $\lambda_0 = 1 + \sqrt{L/\rho}$ they are at most that at $\lambda_0$, which is
$6\sqrt{\rho L} - \rho$, and beyond it the bound divided by $\lambda$ is at most $5\sqrt{\rho L} - \rho$. To try five
settings and show the best one untold would cost five times the price of one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.errors import ParameterError
from discreet.exact import log_upper, shown, sqrt_upper
from discreet.mechanisms.inputs.parameters import read_positive
from discreet.mechanisms.mechanism import Mechanism
from discreet.methods.learning.tabular.estimator import KINDS, Estimator, Task
from discreet.methods.learning.tabular.scoring import score_of
from discreet.methods.learning.tabular.training import Goal, Step, Training, kept
from discreet.noise import bernoulli, uniform_integer
from discreet.privacy import ZCDP, NeighborRelation, curves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.engines.bounded_rows import BoundedRows
    from discreet.exact import Number
    from discreet.mechanisms.release import Release
    from discreet.methods.learning.tabular.features import Feature
    from discreet.noise import BitSource
    from discreet.privacy import Curve
    from discreet.privacy.relations import Relation

__all__ = ["BestOfRuns", "PrivateSearch"]

_ORDERS = (1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, *(1 << power for power in range(7, 45)))
_SCORE = Fraction(1, 10)  # what the score of a run costs, of the run
_UP = 1 + 2.0**-40


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfRuns(Mechanism[Any, Any]):
    """The best of a geometric number of runs, each of which is rho-zCDP.

    >>> BestOfRuns(rho="0.01", runs=10).claim.rho < 1
    True
    """

    kind: ClassVar[str] = "best_of_runs"
    guarantee: ClassVar[str] = (
        "The run with the best score among a geometric number of runs, each of them rho-zCDP, has Renyi divergences of "
        "at most rho * order - 2 rho + 4 sqrt(rho L) + L / (order - 1), with L = ln(expected number of runs)."
    )
    accuracy: ClassVar[str] = "that of predictions is measured on rows that were not trained on"
    source: ClassVar[str] = "Papernot & Steinke 2022, arXiv:2110.03620, Theorem 2"
    no_error_because: ClassVar[str] = "which run is best depends on the rows."

    rho: Fraction
    runs: Fraction
    """How many runs there are on average: 1 / gamma."""
    neighbors: Relation = NeighborRelation.ADD_REMOVE

    def __post_init__(self) -> None:
        for name in ("rho", "runs"):
            object.__setattr__(self, name, read_positive(getattr(self, name), name, zero="there is no run"))
        if self.runs < 2 or self.rho > log_upper(self.runs) / 2:
            msg = f"runs is {shown(self.runs)}; at least 2 on average, and more where each has a price above 0.3."
            raise ParameterError(msg)

    @property
    def privacy(self) -> Curve:
        """The bound at fixed orders."""
        rho, log = float(self.rho), math.log(self.runs)
        values = [(rho * order - 2 * rho + 4 * math.sqrt(rho * log) + log / (order - 1)) * _UP for order in _ORDERS]
        return curves.rdp(_ORDERS, values, neighbors=self.neighbors)

    @property
    def claim(self) -> ZCDP:
        """As zCDP."""
        return ZCDP(6 * sqrt_upper(self.rho * log_upper(self.runs)), neighbors=self.neighbors)

    def release(self, value: Any, *, bits: BitSource | None = None) -> Release[Any]:  # noqa: ANN401 - as any
        """Refuse: `PrivateSearch` makes the runs."""
        del value, bits
        msg = "runs are made by PrivateSearch; this says what they cost."
        raise ParameterError(msg)


@dataclass(eq=False, repr=False)
class PrivateSearch(Estimator):
    """The best of several settings of a model, for one price that includes the search.

    `model` is the estimator whose parameters are varied, `grid` a list of settings, `runs` how many of them are tried
    on average, drawn at random, one perhaps more than once. Prices, bounds and classes of the model itself are not
    used: those of the search are. Defaults of estimators need no search; it costs accuracy, and pays where settings
    matter much.

    >>> import numpy as np
    >>> from discreet.methods.learning import RandomDecisionTrees
    >>> x = np.random.default_rng(0).uniform(0, 1, (8000, 1))
    >>> model = RandomDecisionTrees(classes=["low", "high"])
    >>> search = PrivateSearch(model=model, grid=[{"depth": 2}, {"depth": 5}], runs=4, epsilon=4, bounds=(0, 1))
    >>> search = search.fit(x, np.where(x[:, 0] > 0.5, "high", "low"))
    >>> type(search.best_).__name__, search.predict([[0.05], [0.95]]).tolist()
    ('RandomDecisionTrees', ['low', 'high'])
    """

    model: Estimator | None = field(default=None, kw_only=True)
    grid: Sequence[Mapping[str, Any]] = field(default=(), kw_only=True)
    runs: Number = field(default=10, kw_only=True)

    kind: ClassVar[str] = "private_search"

    def __post_init__(self) -> None:
        if self.model is not None:
            self.sort = self.model.sort  # type: ignore[misc]  # what scikit-learn takes it for

    def _made(self, setting: Mapping[str, Any]) -> Estimator:
        """Return the model with a setting."""
        if not isinstance(self.model, Estimator) or not self.model.supervised:
            msg = f"model is {shown(self.model)}; it must be one of the classifiers or regressions here."
            raise ParameterError(msg)
        return type(self.model)(**{**self.model.get_params(), **setting})

    def _target(self, facts: Feature | None) -> Feature | None:
        return self._made({})._target(facts)  # noqa: SLF001 - of its own family

    def _fitted(self, rows: BoundedRows, task: Task, bits: BitSource) -> tuple[dict[str, Any], Training]:
        self._made({})
        candidates = [self._made(setting) for setting in self.grid]
        if not candidates:
            msg = "grid is empty; write a list of settings, such as grid=[{'depth': 4}, {'depth': 8}]."
            raise ParameterError(msg)
        law = _calibrated(task.goal, read_positive(self.runs, "runs", zero="there is no run"))
        parts = [Goal.of(rho=law.rho * part, neighbors=law.neighbors) for part in (1 - _SCORE, _SCORE)]
        trial, best, most = Task(task.features, task.target, parts[0]), {}, -math.inf
        while True:
            model = candidates[uniform_integer(len(candidates), bits=bits)]
            model.release_ = model._released(rows, trial, bits)  # noqa: SLF001 - of its own family
            score, _, _ = score_of(model, rows, trial, parts[1], share=Fraction(1), bits=bits)
            if score > most:
                best, most = dict(model.release_.value), score
            if bernoulli(1 / law.runs, bits=bits):
                break
        return best | {"score": most}, Training(best["model"], task.goal.claim, [Step("best of runs", law)])

    @property
    def best_(self) -> Estimator:
        """The model that scored best, with the promise of the whole search."""
        model = KINDS[self._value["model"]]()
        model.release_ = self.release_
        return model

    def predict(self, X: object) -> NDArray[Any]:  # noqa: N803 - scikit-learn's name
        """Predict by the model that scored best."""
        labels: NDArray[Any] = self.best_.predict(X)  # type: ignore[attr-defined]  # as all that is supervised
        return labels

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the model that scored best."""
        classes: NDArray[Any] = self.best_.classes_  # type: ignore[attr-defined]  # of a classifier
        return classes

    def _plain_score(self, X: object, y: object) -> float:  # noqa: N803 - scikit-learn's name
        return self.best_._plain_score(X, y)  # noqa: SLF001 - of its own family


@cache
def _calibrated(goal: Goal, runs: Fraction) -> BestOfRuns:
    """Return the best of runs with the largest price of a run that the whole price allows."""
    low, high = Fraction(0), min(goal.rho, log_upper(max(runs, Fraction(2))) / 2)
    for _ in range(26):
        middle = (low + high) / 2
        law = BestOfRuns(rho=middle, runs=runs, neighbors=goal.claim.neighbors)
        low, high = (middle, high) if kept(goal.claim, [Step("best of runs", law)]) else (low, middle)
    if not low:
        msg = f"runs is {shown(runs)}; at this price no search is possible. Take fewer runs, or give more epsilon."
        raise ParameterError(msg)
    return BestOfRuns(rho=low, runs=runs, neighbors=goal.claim.neighbors)
