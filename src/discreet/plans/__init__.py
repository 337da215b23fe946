"""A question as a tree of frozen nodes, with the share that one unit has in it."""

from __future__ import annotations

__all__: list[str] = []
