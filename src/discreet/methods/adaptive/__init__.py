"""Answers that stay true when the next question depends on them: sparse vectors, reusable holdouts, discoveries.

>>> from discreet.methods.adaptive import SparseVector
>>> SparseVector(threshold=100, sensitivity=1, epsilon=1, above=3).promise
'ε = 1'
"""

from __future__ import annotations

from discreet.methods.adaptive.generalization import (
    AdaptiveQuestions,
    GeneralizationBound,
    Notion,
    adaptive_questions,
    generalization_bound,
)
from discreet.methods.adaptive.holdout import ReusableHoldout
from discreet.methods.adaptive.sparse_vector import SparseSession, SparseVector
from discreet.methods.adaptive.thresholdout import AnswerNoise, Thresholdout
from discreet.methods.adaptive.watching import Watching

__all__ = [
    "AdaptiveQuestions",
    "AnswerNoise",
    "GeneralizationBound",
    "Notion",
    "ReusableHoldout",
    "SparseSession",
    "SparseVector",
    "Thresholdout",
    "Watching",
    "adaptive_questions",
    "generalization_bound",
]
