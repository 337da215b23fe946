"""What a linear model is fitted by: derivatives of losses, each of one row's scores and target alone.

Scores and residuals are whole numbers of steps. Functions that processors may round one way here and another there
(exp, and all that is made of it) are read from a table of public points, so that a row's residual is the same whatever
rows are beside it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["STEPS", "Huber", "Logistic", "Loss", "Softmax", "Squared"]

STEPS = 1 << 12
"""How many steps of a residual make 1."""
_POINTS = 1 << 10  # points of a table per unit of a score
_FAR = 40  # beyond it e**-x is less than one step
_UNIT = 1 << 30


class Loss(ABC):
    """A convex loss of a linear model, by its derivative in the scores.

    >>> Logistic().residuals(np.zeros((1, 1)), np.array([1.0])).tolist()
    [[-2048.0]]
    """

    outputs: int = 1
    """How many scores a row has."""
    curvature: float
    """An upper bound of the second derivative, by which steps are scaled."""
    clip: float
    """How long a row's residual is at most, without further notice."""

    @abstractmethod
    def residuals(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative for each row, in steps, as whole numbers."""


def _places(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places of scores in a table from -_FAR to _FAR."""
    return np.rint(np.clip(scores, -_FAR, _FAR) * _POINTS).astype(np.int64)


@cache
def _exponentials() -> NDArray[np.int64]:
    """e**-x for x = 0 … _FAR, in steps of 2**-30."""
    table: NDArray[np.int64] = np.rint(np.exp(-np.arange(_FAR * _POINTS + 1) / _POINTS) * _UNIT).astype(np.int64)
    return table


@cache
def _sigmoid() -> NDArray[np.float64]:
    places = np.arange(-_FAR * _POINTS, _FAR * _POINTS + 1) / _POINTS
    table: NDArray[np.float64] = np.rint(STEPS / (1 + np.exp(-places)))
    return table


@dataclass(frozen=True)
class Logistic(Loss):
    """Of two classes, with targets 0 and 1: the sigmoid of the score less the target.

    >>> Logistic().residuals(np.array([[50.0], [-50.0]]), np.array([0.0, 0.0])).tolist()
    [[4096.0], [0.0]]
    """

    curvature: float = 0.25
    clip: float = 0.3

    def residuals(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative for each row, in steps."""
        return _sigmoid()[_places(scores) + _FAR * _POINTS] - target[:, None] * STEPS


@dataclass(frozen=True)
class Softmax(Loss):
    """Of several classes, whose targets are their numbers: all chances at once, less 1 for the class of the row.

    >>> Softmax(3).residuals(np.zeros((1, 3)), np.array([2.0])).tolist()
    [[1365.0, 1365.0, -2731.0]]
    """

    outputs: int = 2
    curvature: float = 0.25
    clip: float = 0.3

    def residuals(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative for each row, in steps."""
        places = _places(scores)
        below = np.minimum(places.max(axis=1, keepdims=True) - places, _FAR * _POINTS)
        weights = _exponentials()[below]
        chances: NDArray[np.float64] = (weights * STEPS // weights.sum(axis=1, keepdims=True)).astype(np.float64)
        chances[np.arange(target.size), target.astype(np.int64)] -= STEPS
        return chances


@dataclass(frozen=True)
class Squared(Loss):
    """Of numbers between -1 and 1: the score less the target.

    >>> Squared().residuals(np.array([[0.5]]), np.array([1.0])).tolist()
    [[-2048.0]]
    """

    curvature: float = 1.0
    clip: float = 0.1

    def residuals(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative for each row, in steps."""
        residuals: NDArray[Any] = np.rint(np.clip(scores, -4, 4) * STEPS) - np.rint(target * STEPS)[:, None]
        return residuals


@dataclass(frozen=True)
class Huber(Loss):
    """The hinge of a support vector machine with its corner rounded, of two classes with targets 0 and 1.

    With the margin m = ±score its derivative is 0 from 1 + h on, -1 below 1 - h and linear between (Chaudhuri,
    Monteleoni & Sarwate 2011, arXiv:0912.0071, Section 3.4.2).

    >>> Huber().residuals(np.array([[0.0], [1.0], [2.0]]), np.ones(3)).ravel().tolist()
    [-4096.0, -2048.0, -0.0]
    """

    width: float = 0.5
    curvature: float = 1.0
    clip: float = 0.3

    def residuals(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative for each row, in steps."""
        sign = 2 * target[:, None] - 1
        slope = np.clip((1 + self.width - sign * scores) / (2 * self.width), 0, 1)
        return -sign * np.rint(slope * STEPS)
