"""Outputs of many numbers, made into one: the direction that tells two inputs apart, learned on releases of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

__all__ = ["Score", "learn_score"]

MOST_COORDINATES = 24
RIDGE = 1.0
STEPS = 30
STEEPEST = 30.0
LARGEST = 1e100
"""The squares of larger ones are none."""


@dataclass(frozen=True)
class Score:
    """A number for each output: weights of the coordinates that differ most, of their squares and of what is missing.

    A coordinate that is missing or infinite is 0 for itself, and has coordinates of its own that say so.

    >>> rng = np.random.default_rng(0)
    >>> over, under = rng.normal(1, 1, (500, 3)), rng.normal(0, 1, (500, 3))
    >>> score = learn_score(over, under)
    >>> bool(score.of(over).mean() > score.of(under).mean())
    True
    """

    chosen: NDArray[np.intp]
    center: Numbers
    spread: Numbers
    weights: Numbers

    def of(self, outputs: Numbers) -> Numbers:
        """Score outputs, one row each."""
        return _features(outputs, self.chosen, self.center, self.spread) @ self.weights


def learn_score(over: Numbers, under: Numbers) -> Score:
    """Learn to tell the two samples apart, by logistic regression with a ridge.

    Bichsel, Steffen, Bogunovic & Vechev 2021, "DP-Sniper", IEEE S&P: any classifier's score, cut at a threshold, is an
    event that may be counted on other releases; the nearer to the likelihood ratio, the more it proves. A score that is
    learned badly proves less, and nothing wrong.

    >>> learn_score(np.zeros((9, 2)), np.zeros((9, 2))).of(np.zeros((1, 2))).tolist()
    [0.0]
    """
    filled = [_filled(part) for part in (over, under)]
    both = np.concatenate(filled)
    center, spread = np.median(both, axis=0), both.std(axis=0)
    apart = np.abs(filled[0].mean(axis=0) - filled[1].mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    chosen = np.argsort(-apart, kind="stable")[:MOST_COORDINATES]
    chosen = chosen[spread[chosen] > 0]
    score = Score(chosen, center, spread, np.zeros(2 * len(chosen)))
    if not len(chosen):
        return score
    features = [_features(part, chosen, center, spread) for part in (over, under)]
    return Score(chosen, center, spread, _logistic(*features))


def _filled(outputs: Numbers) -> Numbers:
    finite = np.clip(np.nan_to_num(outputs, nan=0.0, posinf=0.0, neginf=0.0), -LARGEST, LARGEST)
    return np.column_stack([finite, np.isnan(outputs), np.isposinf(outputs), np.isneginf(outputs)])


def _features(outputs: Numbers, chosen: NDArray[np.intp], center: Numbers, spread: Numbers) -> Numbers:
    filled = _filled(outputs)
    linear = np.clip((filled[:, chosen] - center[chosen]) / spread[chosen], -STEEPEST, STEEPEST)
    return np.column_stack([linear, linear**2])


def _logistic(over: Numbers, under: Numbers) -> Numbers:
    """Fit by Newton's method, with an intercept that is left out of the score: thresholds absorb it."""
    rows = np.column_stack([np.concatenate([over, under]), np.ones(len(over) + len(under))])
    aims = np.concatenate([np.ones(len(over)), np.zeros(len(under))])
    weights = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chances = 1 / (1 + np.exp(-np.clip(rows @ weights, -STEEPEST, STEEPEST)))
        slope = rows.T @ (chances - aims) + RIDGE * weights
        curvature = (rows * (chances * (1 - chances))[:, None]).T @ rows + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curvature, slope)
        weights = weights - step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-6:
            break
    return np.asarray(weights[:-1])
