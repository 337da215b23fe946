"""What mechanisms whose noise fits the data at hand share: bounds, the noise for them, and tests of distances."""

from __future__ import annotations

__all__: list[str] = []
