"""Answers that a unit randomizes itself."""

from __future__ import annotations

__all__: list[str] = []
