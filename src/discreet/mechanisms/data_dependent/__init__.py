"""Noise fit to the data at hand, beyond the worst case."""

from __future__ import annotations

__all__: list[str] = []
