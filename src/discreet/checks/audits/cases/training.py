"""Trained models, on no unit and on one: what one row moves at most, through the whole way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.checks.audits.case import Case, in_cells
from discreet.mechanisms.release import Release
from discreet.methods.learning.tabular.descent import Descent, Statistics, Weighed
from discreet.methods.learning.tabular.losses import Logistic, Squared
from discreet.methods.learning.tabular.training import Goal, Training
from discreet.noise import SYSTEM

if TYPE_CHECKING:
    from discreet.methods.learning.tabular.losses import Loss
    from discreet.noise import BitSource
    from discreet.privacy import Curve

__all__ = ["Run", "cases"]


@dataclass(frozen=True)
class Run:
    """A short training whose first weight is looked at: rows are vectors, each of its own unit, with a target.

    >>> Run(Logistic(), Goal.of(rho=2)).release([]).mechanism.kind
    'training'
    """

    kind: ClassVar[str] = "training"

    loss: Loss | None
    goal: Goal

    def release(self, value: list[tuple[float, ...]], *, bits: BitSource = SYSTEM) -> Release[float]:
        """Train on rows of a number and a target."""
        given = np.array(value, dtype=float).reshape(-1, 2)
        rows = Weighed.of(given[:, :1], given[:, 1], np.arange(len(value)), scaled=self.loss is None)
        if self.loss is None:
            fitted = Statistics().fit(rows, self.goal, bits)
        else:
            fitted = Descent(steps=2).fit(rows, self.loss, self.goal, bits)
        return Release(float(fitted.weights[0, 0]), Training("audited", self.goal.claim, fitted.steps))

    @cached_property
    def privacy(self) -> Curve:
        """What it promises."""
        return self.release([]).privacy


def cases() -> tuple[Case, ...]:
    """Return the pairs: one unit at the end of its range, or none."""
    goal, cells = Goal.of(rho=2), in_cells([-1, -0.3, -0.1, -0.03, 0, 0.03, 0.1, 0.3, 1])
    told: dict[str, Any] = {"draw": cells, "delta": "0.05", "draws": 4_000, "coarse": True}
    return (
        Case("logistic, by gradients", Run(Logistic(), goal), [], [(1.0, 1.0)], **told),
        Case("squares, by gradients", Run(Squared(), goal), [], [(1.0, 1.0)], **told),
        Case("squares, by sums", Run(None, goal), [], [(1.0, 1.0)], **told),
    )
