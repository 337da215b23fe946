"""What mechanisms that choose share: scores of candidates, ranks of grid points, rungs, and chances of keys."""

from __future__ import annotations

__all__: list[str] = []
