"""Answers that stay true when the next question depends on them: sparse vectors, reusable holdouts, discoveries.

>>> from discreet.methods.adaptive import SparseVector
>>> SparseVector(threshold=100, sensitivity=1, epsilon=1, above=3).promise
'ε = 1'
"""

from __future__ import annotations

from discreet.methods.adaptive.discoveries import AlphaInvesting, Lord, OnlineTesting, Saffron, benjamini_hochberg
from discreet.methods.adaptive.generalization import (
    AdaptiveQuestions,
    GeneralizationBound,
    Notion,
    adaptive_questions,
    generalization_bound,
)
from discreet.methods.adaptive.multiplicative import (
    BinomialTest,
    ComparisonTest,
    DeclaredTest,
    MultiplicativeSensitivity,
    TruncatedExponentialTest,
)
from discreet.methods.adaptive.paprika import Levels, Paprika, PaprikaSession
from discreet.methods.adaptive.private_tests import PrivateTest, Side, chi_square_test, mean_test, proportion_test
from discreet.methods.adaptive.sparse_vector import SparseSession, SparseVector
from discreet.methods.adaptive.thresholdout import AnswerNoise, ReusableHoldout, Thresholdout
from discreet.methods.adaptive.watching import Watching

__all__ = [
    "AdaptiveQuestions",
    "AlphaInvesting",
    "AnswerNoise",
    "BinomialTest",
    "ComparisonTest",
    "DeclaredTest",
    "GeneralizationBound",
    "Levels",
    "Lord",
    "MultiplicativeSensitivity",
    "Notion",
    "OnlineTesting",
    "Paprika",
    "PaprikaSession",
    "PrivateTest",
    "ReusableHoldout",
    "Saffron",
    "Side",
    "SparseSession",
    "SparseVector",
    "Thresholdout",
    "TruncatedExponentialTest",
    "Watching",
    "adaptive_questions",
    "benjamini_hochberg",
    "chi_square_test",
    "generalization_bound",
    "mean_test",
    "proportion_test",
]
