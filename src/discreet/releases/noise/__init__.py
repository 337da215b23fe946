"""Noise: from a plan and a price to noisy numbers."""

from __future__ import annotations

__all__: list[str] = []
