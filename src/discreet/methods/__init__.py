"""Recipes made of the parts below, independent of each other.

>>> from discreet.methods import proposals
>>> proposals.__name__
'discreet.methods.proposals'
"""

from __future__ import annotations

__all__: list[str] = []
