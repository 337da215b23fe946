"""One or several of a set of candidates."""

from __future__ import annotations

__all__: list[str] = []
