r"""Minima of regularized losses, as close to the exact ones as is asked for.

$J(w) = \sum_i s_i\,\ell(x_i w, y_i) + \langle b, w\rangle + \frac\Lambda2 |w|^2$, where the shares $s_i$ of each unit
add up to 1. It is $\Lambda$-strongly convex, so that $|w - w^*| \le |\nabla J(w)| / \Lambda$: a small gradient is the
proof that a minimum was found, whatever way led there. Newton's steps are taken where they make J, or its gradient,
smaller; they come to an end from wherever they start (Boyd & Vandenberghe 2004, Section 9.5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.methods.learning.tabular.features import SCALE
from discreet.methods.learning.tabular.sums import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.methods.learning.tabular.descent import Weighed
    from discreet.methods.learning.tabular.losses import Loss

    Floats = NDArray[np.float64]

__all__ = ["SMALL", "Objective", "minimizer"]

SMALL = 2.0**-20
"""How far the weights are from the exact minimum at most: the gradient, divided by the ridge."""


@dataclass(frozen=True, slots=True)
class Objective:
    """A loss on rows with a ridge and a linear part.

    >>> from discreet.methods.learning.tabular.descent import Weighed
    >>> from discreet.methods.learning.tabular.losses import Squared
    >>> rows = Weighed.of(np.ones((9, 1)), np.full(9, 0.5), np.arange(9))
    >>> minimizer(Objective(rows, Squared(), 1.0, np.zeros((1, 1)))).round(3).tolist()
    [[0.45]]
    """

    rows: Weighed
    loss: Loss
    ridge: float
    tilt: Floats

    def _parts(self, weights: Floats) -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
        for piece in blocks(self.rows.target.size):
            vectors = self.rows.vectors[piece] / SCALE
            yield vectors, vectors @ weights, self.rows.target[piece], self.rows.share[piece]

    def value(self, weights: Floats) -> float:
        """Return J."""
        losses = sum(float(share @ self.loss.values(scores, goal)) for _, scores, goal, share in self._parts(weights))
        return losses + float((self.tilt * weights).sum() + self.ridge / 2 * (weights**2).sum())

    def gradient(self, weights: Floats) -> Floats:
        """Return the gradient of J."""
        total: Floats = self.tilt + self.ridge * weights
        for vectors, scores, goal, share in self._parts(weights):
            total = total + vectors.T @ (self.loss.slopes(scores, goal) * share[:, None])
        return total

    def step(self, weights: Floats, gradient: Floats) -> Floats:
        """Return Newton's step."""
        width, outputs = weights.shape
        whole = np.zeros((outputs, width, outputs, width))
        for vectors, scores, goal, share in self._parts(weights):
            bends = self.loss.bends(scores, goal) * share[:, None, None]
            for one in range(outputs):
                for other in range(outputs):
                    whole[one, :, other] += (vectors * bends[:, one, other][:, None]).T @ vectors
        matrix = whole.reshape(width * outputs, -1) + self.ridge * np.eye(width * outputs)
        step: Floats = np.asarray(np.linalg.solve(matrix, gradient.T.ravel()), dtype=np.float64)
        return step.reshape(outputs, width).T


def minimizer(objective: Objective) -> Floats:
    """Return weights that are within SMALL / 2 of the exact minimum."""
    weights = np.zeros_like(objective.tilt)
    value, gradient = objective.value(weights), objective.gradient(weights)
    while (length := float(np.linalg.norm(gradient))) > SMALL / 2 * objective.ridge:
        step = objective.step(weights, gradient)
        falls, part = float((step * gradient).sum()), 1.0
        while True:
            there = weights - part * step
            new, slope = objective.value(there), objective.gradient(there)
            if new <= value - 1e-4 * part * falls or float(np.linalg.norm(slope)) <= (1 - part / 4) * length:
                break
            part /= 2
        weights, value, gradient = there, new, slope
    return weights
