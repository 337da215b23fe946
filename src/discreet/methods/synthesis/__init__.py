"""Synthetic tables: rows like those of a private table, drawn from a model that noisy marginals were fitted to.

>>> from discreet.methods.synthesis import Synthesis
>>> Synthesis.kind
'synthesis'
"""

from __future__ import annotations

from discreet.methods.synthesis.asking import load, save, synthesize_rows
from discreet.methods.synthesis.domain import Attribute, Domain
from discreet.methods.synthesis.model import Marginal, SyntheticModel
from discreet.methods.synthesis.promise import Synthesis
from discreet.methods.synthesis.report import SyntheticReport, report

__all__ = [
    "Attribute",
    "Domain",
    "Marginal",
    "Synthesis",
    "SyntheticModel",
    "SyntheticReport",
    "load",
    "report",
    "save",
    "synthesize_rows",
]
