"""From plan nodes to SQL: what all engines share. Only `discreet.engines` uses it."""

from __future__ import annotations

__all__: list[str] = []
