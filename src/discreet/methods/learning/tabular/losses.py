"""What a linear model is fitted by: derivatives of losses, each of one row's scores and target alone.

They stand here twice. `slopes` and `bends` are for a minimum that is looked for in floats, whose distance from the
exact one is paid for. `residuals` are for gradients that are released themselves: scores and residuals are whole
numbers of steps there, and functions that processors may round one way here and another there (exp, and all that is
made of it) are read from a table of public points, so that a row's residual is the same whatever rows are beside it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

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

    steepest: float = 1.0
    """How long the vector of derivatives in the scores is at most."""
    trace: float
    """The largest trace of the second derivatives."""

    @abstractmethod
    def residuals(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative for each row, in steps, as whole numbers."""

    @abstractmethod
    def values(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of each row."""

    @abstractmethod
    def slopes(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivatives of each row, one for each score."""

    @abstractmethod
    def bends(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivatives of each row, one for each pair of scores."""


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
    trace: float = 0.25

    def residuals(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative for each row, in steps."""
        return _sigmoid()[_places(scores) + _FAR * _POINTS] - target[:, None] * STEPS

    def values(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log(1 + e**score), less the score in class 1."""
        loss: NDArray[np.float64] = np.logaddexp(0, scores[:, 0]) - target * scores[:, 0]
        return loss

    def slopes(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the chance of class 1, less the target."""
        slopes: NDArray[np.float64] = np.exp(-np.logaddexp(0, -scores)) - target[:, None]
        return slopes

    def bends(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return p (1 - p)."""
        del target
        bends: NDArray[np.float64] = np.exp(-np.logaddexp(0, -scores) - np.logaddexp(0, scores))
        return bends[:, :, None]


@dataclass(frozen=True)
class Softmax(Loss):
    """Of several classes, whose targets are their numbers: all chances at once, less 1 for the class of the row.

    >>> Softmax(3).residuals(np.zeros((1, 3)), np.array([2.0])).tolist()
    [[1365.0, 1365.0, -2731.0]]
    """

    outputs: int = 2
    curvature: float = 0.25
    clip: float = 0.3
    steepest: float = 1.4142135623730952
    trace: float = 1.0

    def residuals(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative for each row, in steps."""
        places = _places(scores)
        below = np.minimum(places.max(axis=1, keepdims=True) - places, _FAR * _POINTS)
        weights = _exponentials()[below]
        chances: NDArray[np.float64] = (weights * STEPS // weights.sum(axis=1, keepdims=True)).astype(np.float64)
        chances[np.arange(target.size), target.astype(np.int64)] -= STEPS
        return chances

    def values(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return minus the logarithm of the chance of the row's class."""
        most = scores.max(axis=1)
        whole = most + np.log(np.exp(scores - most[:, None]).sum(axis=1))
        loss: NDArray[np.float64] = whole - scores[np.arange(target.size), target.astype(np.int64)]
        return loss

    def slopes(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the chances, less 1 for the row's class: sqrt(2) long at most."""
        chances = _chances(scores)
        chances[np.arange(target.size), target.astype(np.int64)] -= 1
        return chances

    def bends(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return diag(p) - p p'; its trace is 1 less the squares of the chances."""
        del target
        chances = _chances(scores)
        bends: NDArray[np.float64] = chances[:, :, None] * (np.eye(self.outputs) - chances[:, None, :])
        return bends


def _chances(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return chances


@dataclass(frozen=True)
class Squared(Loss):
    """Of numbers between -1 and 1: the score less the target.

    Beyond `steepest` the square goes on as a straight line. With rows no longer than 1 and weights no longer than P it
    never comes to that if `steepest` is 1 + P: there this is the square itself, and elsewhere its slope stays bounded.

    >>> Squared().residuals(np.array([[0.5]]), np.array([1.0])).tolist()
    [[-2048.0]]
    """

    curvature: float = 1.0
    clip: float = 0.1
    steepest: float = 2.0
    trace: float = 1.0

    def residuals(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative for each row, in steps."""
        residuals: NDArray[Any] = np.rint(np.clip(scores, -4, 4) * STEPS) - np.rint(target * STEPS)[:, None]
        return residuals

    def values(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return half the square, or the line."""
        far = np.abs(scores[:, 0] - target)
        near = np.minimum(far, self.steepest)
        loss: NDArray[np.float64] = near * (far - near / 2)
        return loss

    def slopes(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far the score is off, as far as it counts."""
        slopes: NDArray[np.float64] = np.clip(scores - target[:, None], -self.steepest, self.steepest)
        return slopes

    def bends(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 1 where the loss is a square."""
        return (np.abs(scores - target[:, None]) < self.steepest).astype(np.float64)[:, :, None]


@dataclass(frozen=True)
class Huber(Loss):
    """The hinge of a support vector machine with its corner rounded, of two classes with targets 0 and 1.

    With the margin m = ±score its derivative is 0 from 1 + h on, -1 below 1 - h and linear between (Chaudhuri,
    Monteleoni & Sarwate 2011, arXiv:0912.0071, Section 3.4.2).

    >>> Huber().residuals(np.array([[0.0], [1.0], [2.0]]), np.ones(3)).ravel().tolist()
    [-4096.0, -2048.0, -0.0]
    """

    width: ClassVar[float] = 0.5
    curvature: float = 1.0
    clip: float = 0.3
    trace: float = 1.0

    def residuals(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative for each row, in steps."""
        sign = 2 * target[:, None] - 1
        slope = np.clip((1 + self.width - sign * scores) / (2 * self.width), 0, 1)
        return -sign * np.rint(slope * STEPS)

    def values(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rounded hinge."""
        short = 1 + self.width - (2 * target - 1) * scores[:, 0]
        near = np.clip(short, 0, 2 * self.width)
        loss: NDArray[np.float64] = near**2 / (4 * self.width) + np.maximum(short - 2 * self.width, 0)
        return loss

    def slopes(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative, between -1 and 1."""
        sign = 2 * target[:, None] - 1
        slopes: NDArray[np.float64] = -sign * np.clip((1 + self.width - sign * scores) / (2 * self.width), 0, 1)
        return slopes

    def bends(self, scores: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 1 / (2 h) within h of the corner."""
        margin = (2 * target[:, None] - 1) * scores
        return (np.abs(margin - 1) < self.width).astype(np.float64)[:, :, None] / (2 * self.width)
