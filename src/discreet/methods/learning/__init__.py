"""Private learning: models whose training is one charged release.

>>> from discreet.methods.learning import LogisticRegression
>>> LogisticRegression(epsilon=1)
LogisticRegression(epsilon=1)
"""

from __future__ import annotations

from discreet.methods.learning.tabular.additive import AdditiveModel
from discreet.methods.learning.tabular.clusters import KMeans
from discreet.methods.learning.tabular.estimator import load
from discreet.methods.learning.tabular.linear import LinearSVC, LogisticRegression
from discreet.methods.learning.tabular.moments import PCA, GaussianNB, StandardScaler
from discreet.methods.learning.tabular.regression import LinearRegression
from discreet.methods.learning.tabular.scoring import cross_val_score
from discreet.methods.learning.tabular.trees import RandomDecisionTrees, RandomForest
from discreet.methods.learning.tabular.tuning import PrivateSearch
from discreet.methods.learning.tabular.votes import PATE

__all__ = [
    "PATE",
    "PCA",
    "AdditiveModel",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "PrivateSearch",
    "RandomDecisionTrees",
    "RandomForest",
    "StandardScaler",
    "cross_val_score",
    "load",
]
