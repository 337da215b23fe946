"""Showing: answers and previews, as cells, tables, texts and records."""

from __future__ import annotations

__all__: list[str] = []
