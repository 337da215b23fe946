"""What a course asks its students to show, computed: each exercise returns the numbers that decide its statement.

>>> from discreet.checks.exercises import EXERCISES
>>> all(shown.holds for exercise in EXERCISES for shown in exercise())
True
"""

from __future__ import annotations

from discreet.checks.exercises.bounds import noisy_max, packing, renyi_bad_outcomes
from discreet.checks.exercises.chances import large_delta_leaks, nuclear_option, small_delta_is_useless
from discreet.checks.exercises.methods import (
    biased_predicate,
    deterministic_is_not_private,
    half_sample_mean,
    reconstruction_is_vacuous,
    sampling_is_not_private,
)
from discreet.checks.exercises.shown import Comparison, Shown, advantage

EXERCISES = (
    large_delta_leaks,
    small_delta_is_useless,
    nuclear_option,
    deterministic_is_not_private,
    sampling_is_not_private,
    half_sample_mean,
    biased_predicate,
    reconstruction_is_vacuous,
    noisy_max,
    renyi_bad_outcomes,
    packing,
)
"""All exercises, in the order of the course; each can be called without arguments."""

__all__ = [
    "Comparison",
    "Shown",
    "advantage",
    "biased_predicate",
    "deterministic_is_not_private",
    "half_sample_mean",
    "large_delta_leaks",
    "noisy_max",
    "nuclear_option",
    "packing",
    "reconstruction_is_vacuous",
    "renyi_bad_outcomes",
    "sampling_is_not_private",
    "small_delta_is_useless",
]
