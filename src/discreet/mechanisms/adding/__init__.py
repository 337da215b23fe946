"""What mechanisms that add noise share: norms, grids, exact sums, and how far noise reaches."""

from __future__ import annotations

__all__: list[str] = []
