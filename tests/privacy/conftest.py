"""Hypothesis without a clock: timing never decides a test."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("without-a-clock", deadline=None)
settings.load_profile("without-a-clock")
