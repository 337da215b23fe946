"""Ledgers: durable, shared, adaptive-safe accounts of what was spent, by whom, on what.

>>> from discreet.ledgers import MemoryLedger
>>> from discreet.tables import Policy
>>> MemoryLedger(Policy([], epsilon=1)).remaining
Pure(epsilon=1)
"""

from __future__ import annotations

from discreet._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
