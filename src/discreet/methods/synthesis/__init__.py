"""Synthetic tables: rows like those of a private table, drawn from a model that noisy marginals were fitted to.

>>> from discreet.methods.synthesis import METHODS
>>> METHODS
('aim', 'mst', 'mwem', 'independent')
"""

from __future__ import annotations

from discreet.methods.synthesis.asking import load, save, synthesize_rows
from discreet.methods.synthesis.domain import Attribute, Domain
from discreet.methods.synthesis.model import Marginal, SyntheticModel
from discreet.methods.synthesis.promise import METHODS, Synthesis

__all__ = [
    "METHODS",
    "Attribute",
    "Domain",
    "Marginal",
    "Synthesis",
    "SyntheticModel",
    "load",
    "save",
    "synthesize_rows",
]
