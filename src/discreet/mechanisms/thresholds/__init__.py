"""Yes or no above a threshold, and which keys may be shown."""

from __future__ import annotations

__all__: list[str] = []
