"""Private learning: models whose training is one charged release.

>>> from discreet.methods.learning import LogisticRegression
>>> LogisticRegression(epsilon=1)
LogisticRegression(epsilon=1)
"""

from __future__ import annotations

from discreet.methods.learning.tabular.estimator import load
from discreet.methods.learning.tabular.linear import LinearSVC, LogisticRegression
from discreet.methods.learning.tabular.moments import PCA, GaussianNB, StandardScaler
from discreet.methods.learning.tabular.regression import LinearRegression
from discreet.methods.learning.tabular.trees import RandomDecisionTrees

__all__ = [
    "PCA",
    "GaussianNB",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "RandomDecisionTrees",
    "StandardScaler",
    "load",
]
