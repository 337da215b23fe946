"""Noise added to numbers, vectors and arrays."""

from __future__ import annotations

__all__: list[str] = []
