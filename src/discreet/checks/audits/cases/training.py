"""Trained models, on no unit and on one: what one row moves at most, through the whole way."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.checks.audits.case import Case, in_cells
from discreet.engines.bounded_rows import BoundedRows
from discreet.mechanisms.release import Release
from discreet.methods.learning import (
    PATE,
    PCA,
    GaussianNB,
    KMeans,
    RandomDecisionTrees,
    StandardScaler,
)
from discreet.methods.learning.tabular.descent import Descent, Statistics, Weighed
from discreet.methods.learning.tabular.estimator import Task
from discreet.methods.learning.tabular.features import Feature, Features
from discreet.methods.learning.tabular.losses import Huber, Logistic, Squared
from discreet.methods.learning.tabular.perturbing import Price, fit_output
from discreet.methods.learning.tabular.training import Goal, Training
from discreet.noise import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.mechanisms.numbers.gaussian import Gaussian
    from discreet.methods.learning.tabular.descent import Fitted
    from discreet.methods.learning.tabular.estimator import Estimator
    from discreet.methods.learning.tabular.losses import Loss
    from discreet.noise import BitSource
    from discreet.privacy import Curve

__all__ = ["Run", "Whole", "cases"]


class _Heard:
    """A mechanism that keeps what it releases, relative to its noise."""

    def __init__(self, made: Gaussian, heard: list[NDArray[np.float64]]) -> None:
        self._made, self._heard = made, heard

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the mechanism has
        return getattr(self._made, name)

    def release(self, value: object, *, bits: BitSource) -> Release[Any]:
        """Release, and keep it."""
        released = self._made.release(value, bits=bits)  # type: ignore[arg-type]  # as it is given
        self._heard.append(np.asarray(released.value, dtype=float) / float(self._made.sigma))
        return released


@dataclass(frozen=True)
class _Listening(Goal):
    """A goal whose mechanisms keep what they release."""

    heard: list[NDArray[np.float64]] = field(default_factory=list, compare=False)

    def gaussian(self, sensitivity: Fraction | int, **named: Any) -> Any:  # noqa: ANN401 - as a goal
        return _Heard(super().gaussian(sensitivity, **named), self.heard)


@dataclass(frozen=True)
class Run:
    """A way to fit, whose noisy answers are looked at as one number; rows are numbers with a target, one of each unit.

    >>> Run(Statistics().fit, lambda heard: float(heard[0][0]), Goal.of(rho=2)).release([]).mechanism.kind
    'training'
    """

    kind: ClassVar[str] = "training"

    fit: Callable[[Weighed, Goal, BitSource], Fitted]
    seen: Callable[[list[NDArray[np.float64]]], float]
    goal: Goal

    def release(self, value: list[tuple[float, ...]], *, bits: BitSource = SYSTEM) -> Release[float]:
        """Train on rows of a number and a target."""
        given, goal = np.array(value, dtype=float).reshape(-1, 2), _Listening(self.goal.claim, self.goal.rho)
        rows = Weighed.of(given[:, :1], given[:, 1], np.arange(len(value)))
        fitted = self.fit(rows, goal, bits)
        return Release(self.seen([part.ravel() for part in goal.heard]), Training("audited", goal.claim, fitted.steps))

    @cached_property
    def privacy(self) -> Curve:
        """What it promises."""
        return self.release([]).privacy


@dataclass(frozen=True)
class Whole:
    """An estimator, whose first noisy sums are looked at as one number; rows have a number and one of two classes.

    >>> Whole(StandardScaler(), np.sum, Goal.of(rho=2)).release([]).mechanism.kind
    'training'
    """

    kind: ClassVar[str] = "training"

    model: Estimator
    seen: Callable[[NDArray[np.float64]], float]
    goal: Goal

    def release(self, value: list[tuple[float, int]], *, bits: BitSource = SYSTEM) -> Release[float]:
        """Train on rows."""
        target = Feature("class", keys=(0, 1)) if self.model.supervised else None
        goal = _Listening(self.goal.claim, self.goal.rho)
        task = Task(Features((Feature("number", -1, 1),)), target, goal)
        given = {"number": [number for number, _ in value], "class": [label for _, label in value]}
        columns = [feature.column for feature in (*task.features.columns, *filter(None, [target]))]
        _, training = self.model._fitted(BoundedRows.of(given, columns), task, bits)  # noqa: SLF001 - its whole way
        return Release(float(self.seen(goal.heard[0])), training)

    @cached_property
    def privacy(self) -> Curve:
        """What it promises."""
        return self.release([]).privacy


def _walked(heard: list[NDArray[np.float64]]) -> float:
    """Look at the moment and at both gradients, each as much as it tells."""
    return float(0.39 * heard[0][0] - 0.65 * (heard[1][0] + heard[2][0]))


def _minimized(loss: Loss, ridge: int) -> Callable[[Weighed, Goal, BitSource], Fitted]:
    return lambda rows, goal, bits: fit_output(rows, loss, Price(goal, Fraction(ridge)), bits)


def cases() -> tuple[Case, ...]:
    """Return the pairs: one unit at the end of its range, or none.

    Noise in the objective and draws from a posterior are audited by their exact laws, in the tests.
    """
    goal, edges = Goal.of(rho="0.5"), np.linspace(-5, 5, 51).tolist()
    told: dict[str, Any] = {"draw": in_cells(edges), "delta": "0.2", "draws": 1_400, "coarse": True}
    ways: dict[str, tuple[Any, Any]] = {
        "logistic, by gradients": (lambda rows, *given: Descent(steps=2).fit(rows, Logistic(), *given), _walked),
        "squares, by gradients": (lambda rows, *given: Descent(steps=2).fit(rows, Squared(), *given), _walked),
        "squares, by sums": (
            Statistics().fit,
            lambda heard: float(0.55 * heard[0][0] + 0.79 * heard[1][0] + 0.26 * heard[1][1]),
        ),
        "a hinge, on the minimum": (_minimized(Huber(), 4), lambda heard: float(heard[0][0])),
        "squares, on the minimum": (_minimized(Squared(steepest=1), 20), lambda heard: float(heard[0][0])),
    }
    models: dict[str, tuple[Estimator, Callable[[NDArray[np.float64]], float]]] = {
        "means and variances": (StandardScaler(), lambda sums: float(sums.sum()) / 3**0.5),
        "components": (PCA(n_components=1), lambda sums: float(sums @ (0.5, 0.7, 0.5))),
        "normal classes": (GaussianNB(), lambda sums: float(sums[1].sum()) / 3**0.5),
        "leaves of a tree": (RandomDecisionTrees(trees=1, depth=1), lambda sums: float(sums[0, 1, 1])),
        "clusters": (KMeans(n_clusters=1, turns=1), lambda sums: float(sums.sum()) / 2**0.5),
        "votes": (PATE(public=[[1.0]], teachers=1), lambda sums: float(sums[0, 1] - sums[0, 0]) / 2**0.5),
    }
    return (
        *(Case(name, Run(fit, seen, goal), [], [(1.0, 1.0)], **told) for name, (fit, seen) in ways.items()),
        *(Case(name, Whole(model, seen, goal), [], [(1.0, 1)], **told) for name, (model, seen) in models.items()),
    )
