"""Measures: one file for each, with how it is made of noisy numbers, read from them, and off by how much."""

from __future__ import annotations

__all__: list[str] = []
