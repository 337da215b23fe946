"""How a composition of losses becomes a number: each solver returns an interval that contains the truth.

`account` asks them in turn, until the interval is narrow.
"""

from __future__ import annotations

__all__: list[str] = []  # nothing here is for use from outside
