"""Strategies: which numbers get noise so that the answers of a workload err least; one file each."""

from __future__ import annotations

__all__: list[str] = []
